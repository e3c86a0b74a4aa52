/* Aggregates: binding, accumulating, taking back. */
#include "tests.h"

#include "base/seam.h"
#include "expr/aggregate.h"

#include <math.h>

/* ---- binding ---- */

static sf_status bind(sf_arena *arena, const char *name, const char *const *texts, uint32_t count,
                      bool distinct, bool append_only, sf_agg_call *out, sf_error *err)
{
    const sf_expr *args[4];
    bool star = count == 1 && strcmp(texts[0], "*") == 0;
    for (uint32_t i = 0; i < count && !star; i++)
        SF_TRY(read_expr(arena, texts[i], &args[i], err));
    sf_agg_spec spec = {.name = sf_str_of(name),
                        .args = args,
                        .arg_count = star ? 0 : count,
                        .star = star,
                        .distinct = distinct,
                        .append_only = append_only,
                        .span = {2, 3}};
    return sf_aggregate_bind(arena, &spec, out, err);
}

static const sf_expr *value_of(const sf_agg_call *call)
{
    return call->column_count ? call->columns[call->value].expr : NULL;
}

typedef struct {
    const char *name, *args[2];
    bool distinct, append_only;
    const char *form; /* kind, argument type, result type, distinct, warning */
} bind_row;

static uint32_t count_args(const char *const *args)
{
    return args[0] ? args[1] ? 2 : 1 : 0;
}

void aggregates_bind(void)
{
    static const bind_row rows[] = {
        {"count", {"*"}, false, false, "inline - Long"},
        {"COUNT", {"s"}, false, false, "inline String Long"},
        {"COUNT", {"d"}, true, false, "values2 Double Long"},
        {"COUNT", {"j"}, true, false, "values2 Json Long"},
        {"Sum", {"l"}, false, false, "inline Long Long"},
        {"SUM", {"l"}, true, false, "inline Long Long distinct"},
        {"SUM", {"(+ l d)"}, false, false, "inline Double Double"},
        {"SUM", {"j"}, false, false, "inline Double Double"},
        {"SUM", {"null"}, false, false, "inline Long Long"},
        {"SUM", {"s"}, false, false, "inline Double Double warns"},
        {"AVG", {"(->> j 'a')"}, false, false, "inline Double Double warns"},
        {"AVG", {"l"}, false, false, "inline Long Double"},
        {"MIN", {"l"}, false, true, "inline Long Long"},
        {"MIN", {"l"}, false, false, "values0 Long Long"},
        {"MIN", {"s"}, false, true, "values0 String String"},
        {"MAX", {"t"}, true, true, "inline Timestamp Timestamp"},
        {"MAX", {"b"}, false, false, "values1 Bool Bool"},
        {"VARIANCE", {"l"}, false, false, "inline Long Double"},
        {"STDDEV_POP", {"d"}, true, false, "inline Double Double distinct"},
        {"MEDIAN", {"l"}, false, false, "values3 Double Double"},
        {"PERCENTILE_CONT", {"0.25", "d"}, false, false, "values3 Double Double"},
        {"PERCENTILE_CONT", {"1", "j"}, false, false, "values3 Double Double"},
        {"BOOL_AND", {"(> l 1)"}, true, false, "inline Bool Bool"},
        {"EVERY", {"b"}, false, false, "inline Bool Bool"},
        {"COUNT_IF", {"b"}, true, false, "inline Bool Long distinct"},
        {"BIT_XOR", {"l"}, true, false, "inline Long Long distinct"},
        {"APPROX_COUNT_DISTINCT", {"s"}, false, false, "values2 String Long"},
        {"PERCENTILE_DISC", {"0.5", "s"}, false, false, "values4 String String"},
        {"MODE", {"t"}, true, false, "values5 Timestamp Timestamp distinct"},
        {"ARG_MAX", {"s", "d"}, false, true, "values6 String String"},
        {"STRING_AGG", {"l"}, true, false, "values7 String String distinct"},
        {"ARRAY_AGG", {"j"}, false, false, "values8 Json Json"},
        {"ANY_VALUE", {"j"}, false, false, "values0 Json Json"},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_arena arena;
        sf_arena_init(&arena, 0);
        sf_agg_call call;
        sf_error err = {0};
        sf_status status = bind(&arena, rows[i].name, rows[i].args, count_args(rows[i].args),
                                rows[i].distinct, rows[i].append_only, &call, &err);
        if (status != SF_OK)
            printf("  %s: %s\n", rows[i].name, err.message);
        REQUIRE(status == SF_OK);
        const sf_aggregate *a = call.aggregate;
        sf_buf form = {0};
        sf_buf_puts(&form, a->kind == SF_AGG_INLINE ? "inline" : "values");
        if (a->kind == SF_AGG_VALUES)
            sf_buf_printf(&form, "%d", (int)a->values_op);
        else
            CHECK(a->state_bytes && a->state_bytes % 8 == 0 && a->update && a->finish);
        sf_buf_printf(&form, " %s %s", value_of(&call) ? sf_type_name(a->arg_type) : "-",
                      sf_type_name(a->result_type));
        sf_buf_puts(&form, call.distinct ? " distinct" : "");
        sf_buf_puts(&form, call.warning ? " warns" : "");
        CHECK_STR(form.data, rows[i].form);
        CHECK(!value_of(&call) || value_of(&call)->type == a->arg_type);
        CHECK(!call.warning || (strstr(call.warning, "->") && strstr(call.warning, "TO_DOUBLE")));
        sf_buf_deinit(&form);
        sf_arena_deinit(&arena);
    }
    sf_arena arena;
    sf_arena_init(&arena, 0);
    sf_agg_call call;
    sf_error err = {0};
    const char *share[] = {"0.25", "d"}, *one[] = {"d"};
    REQUIRE_OK(bind(&arena, "PERCENTILE_CONT", share, 2, false, false, &call, &err), err);
    CHECK(call.parameter == 0.25);
    REQUIRE_OK(bind(&arena, "MEDIAN", one, 1, false, false, &call, &err), err);
    CHECK(call.parameter == 0.5);
    CHECK_INT(call.span.offset, 2);
    sf_arena_deinit(&arena);
}

void aggregates_refuse(void)
{
    static const struct {
        const char *name, *args[2], *message, *hint;
    } rows[] = {
        {"SUM", {"b"}, "SUM cannot take Bool", "SUM(IF(condition, 1, 0))"},
        {"AVG", {"t"}, "AVG cannot take Timestamp", "TO_LONG"},
        {"MIN", {"j"}, "MIN cannot take Json", "->>"},
        {"SUM", {"*"}, "SUM cannot take *", "SUM(x)"},
        {"SUM", {NULL}, "SUM takes 1 argument, not 0", "SUM(x)"},
        {"AVG", {"l", "m"}, "AVG takes 1 argument, not 2", NULL},
        {"MEDIAN", {"b"}, "MEDIAN cannot take Bool", NULL},
        {"PERCENTILE_CONT", {"d"}, "takes 2 arguments, not 1", "PERCENTILE_CONT(p, x)"},
        {"PERCENTILE_CONT", {"l", "d"}, "no constant from 0 to 1", "PERCENTILE_CONT(0.95, x)"},
        {"PERCENTILE_CONT", {"1.5", "d"}, "no constant from 0 to 1", NULL},
        {"PERCENTILE_CONT", {"null", "d"}, "no constant from 0 to 1", NULL},
        {"BOOL_OR", {"l"}, "BOOL_OR cannot take Long", NULL},
        {"FIRST", {"l"}, "FIRST has no time to go by here", "FIRST(x ORDER BY y)"},
        {"STRING_AGG", {"s", "l"}, "no constant text", "STRING_AGG(x, ', ')"},
        {"STRING_AGG", {NULL}, "takes 1 to 2 arguments, not 0", "STRING_AGG"},
        {"ARG_MIN", {"l", "j"}, "cannot order by Json", "->>"},
        {"FROB", {"l"}, "aggregate \"FROB\" does not exist", NULL},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_arena arena;
        sf_arena_init(&arena, 0);
        sf_agg_call call;
        sf_error err = {0};
        sf_status status = bind(&arena, rows[i].name, rows[i].args, count_args(rows[i].args), false,
                                false, &call, &err);
        if (status == SF_OK || !strstr(err.message, rows[i].message) ||
            (rows[i].hint && !strstr(err.hint, rows[i].hint)) || err.where.length == 0) {
            printf("  %s: %s (%s)\n", rows[i].name, status == SF_OK ? "accepted" : err.message,
                   err.hint);
            sf_check_failures++;
        }
        sf_arena_deinit(&arena);
    }
}

/* ---- accumulating ---- */

/* One accumulator behind some other bytes, as in a state row. */
typedef struct {
    sf_arena arena;
    sf_agg_call call;
    _Alignas(8) uint8_t row[8 + 65 * 8];
    uint32_t out_of_range;
} accumulator;

static bool accumulator_init(accumulator *a, const char *name, const char *column)
{
    *a = (accumulator){0};
    sf_arena_init(&a->arena, 0);
    sf_error err = {0};
    const char *args[] = {column};
    return bind(&a->arena, name, args, 1, false, true, &a->call, &err) == SF_OK &&
           a->call.aggregate->state_bytes <= 65 * 8;
}

static void accumulator_deinit(accumulator *a)
{
    for (int i = 0; i < 8; i++) /* nobody wrote before the offset */
        CHECK_INT(a->row[i], 0);
    sf_arena_deinit(&a->arena);
}

static void add_column(accumulator *a, const sf_column *column, const int64_t *weights)
{
    uint8_t **states = sf_alloc((column->rows + 1u) * sizeof *states);
    for (uint32_t i = 0; i < column->rows; i++)
        states[i] = a->row;
    a->call.aggregate->update(states, 8, &column, weights, column->rows);
    sf_free(states);
}

static void add_double(accumulator *a, double value, int64_t weight)
{
    sf_builder builder;
    sf_builder_init(&builder, SF_TYPE_F64, 1);
    sf_builder_f64(&builder, value);
    sf_column *column = sf_builder_finish(&builder);
    sf_builder_deinit(&builder);
    add_column(a, column, weight == 1 ? NULL : &weight);
    sf_column_unref(column);
}

static void add_long(accumulator *a, int64_t value, int64_t weight)
{
    sf_builder builder;
    sf_builder_init(&builder, SF_TYPE_I64, 1);
    sf_builder_i64(&builder, value);
    sf_column *column = sf_builder_finish(&builder);
    sf_builder_deinit(&builder);
    add_column(a, column, weight == 1 ? NULL : &weight);
    sf_column_unref(column);
}

static sf_column *result_of(accumulator *a)
{
    uint8_t *states[] = {a->row};
    sf_builder builder;
    sf_builder_init(&builder, a->call.aggregate->result_type, 1);
    a->out_of_range = a->call.aggregate->finish(states, 8, 1, &builder);
    sf_column *column = sf_builder_finish(&builder);
    sf_builder_deinit(&builder);
    return column;
}

static void check_result(accumulator *a, const char *want)
{
    sf_column *column = result_of(a);
    sf_buf text = {0};
    put_lanes(&text, column);
    CHECK_STR(text.data, want);
    sf_buf_deinit(&text);
    sf_column_unref(column);
}

static double double_of(accumulator *a)
{
    sf_column *column = result_of(a);
    double value = sf_column_is_valid(column, 0) ? SF_LANES(column, double)[0] : NAN;
    sf_column_unref(column);
    return value;
}

void counts_and_sums(void)
{
    static const struct {
        const char *name, *column, *result;
    } rows[] = {
        {"COUNT", "l", "5"},
        {"COUNT", "s", "5"},
        {"COUNT", "m", "5"},
        {"SUM", "m", "5"},
        {"SUM", "l", "-2"}, /* the extremes leave -1 */
        {"AVG", "m", "1"},
        {"AVG", "l", "-0.4"},
        {"SUM", "x", "1e+308"},
        {"MIN", "m", "-1"},
        {"MAX", "m", "3"},
        {"MIN", "d", "-0.5"},
        {"MAX", "t", "1699173600000"},
        {"MIN", "b", "false"},
        {"MAX", "b", "true"},
        {"VAR_POP", "m", "2"}, /* 2 3 1 -1 0: mean 1, squares 1 4 0 4 1 */
        {"VAR_SAMP", "m", "2.5"},
        {"STDDEV_SAMP", "m", "1.5811388300841898"},
        {"BOOL_AND", "b", "false"},
        {"BOOL_OR", "b", "true"},
        {"COUNT_IF", "b", "3"},
        {"BIT_AND", "m", "0"}, /* 2 3 1 -1 0 */
        {"BIT_OR", "m", "-1"},
        {"BIT_XOR", "m", "-1"},
    };
    sf_batch *batch = sample_batch();
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        accumulator a;
        REQUIRE(accumulator_init(&a, rows[i].name, rows[i].column));
        check_result(&a, strncmp(rows[i].name, "COUNT", 5) == 0 ? "0" : "NULL");
        const sf_column *column = batch->columns[value_of(&a.call)->column];
        add_column(&a, column, NULL);
        check_result(&a, rows[i].result);
        bool growing = strcmp(rows[i].name, "MIN") == 0 || strcmp(rows[i].name, "MAX") == 0;
        if (!growing) { /* taken back, nothing is left; twice and once back is once */
            int64_t minus[6] = {-1, -1, -1, -1, -1, -1}, two[6] = {2, 2, 2, 2, 2, 2};
            add_column(&a, column, minus);
            check_result(&a, strncmp(rows[i].name, "COUNT", 5) == 0 ? "0" : "NULL");
            add_column(&a, column, two);
            add_column(&a, column, minus);
            check_result(&a, rows[i].result);
        }
        accumulator_deinit(&a);
    }
    accumulator a;
    REQUIRE(accumulator_init(&a, "COUNT", "*"));
    uint8_t *states[] = {a.row, a.row, a.row};
    int64_t weights[] = {3, -1, 5};
    a.call.aggregate->update(states, 8, NULL, weights, 3);
    a.call.aggregate->update(states, 8, NULL, NULL, 2);
    check_result(&a, "9");
    accumulator_deinit(&a);
    sf_batch_unref(batch);
}

void long_sums_come_back_into_range(void)
{
    accumulator a;
    REQUIRE(accumulator_init(&a, "SUM", "l"));
    add_long(&a, INT64_MAX, 1);
    check_result(&a, "9223372036854775807");
    add_long(&a, 1, 1);
    check_result(&a, "NULL");
    CHECK_INT(a.out_of_range, 1);
    add_long(&a, INT64_MAX, 1000000);
    add_long(&a, -5, 1);
    check_result(&a, "NULL");
    add_long(&a, INT64_MAX, -1000000);
    check_result(&a, "9223372036854775803");
    CHECK_INT(a.out_of_range, 0);
    add_long(&a, INT64_MIN, 1);
    check_result(&a, "-5");
    accumulator_deinit(&a);
    REQUIRE(accumulator_init(&a, "AVG", "l"));
    add_long(&a, INT64_MAX, 1);
    add_long(&a, INT64_MAX, 1);
    CHECK(double_of(&a) == 9.223372036854776e18);
    accumulator_deinit(&a);
}

void double_sums_leave_no_trace(void)
{
    static const double values[] = {0.1, 1e15, -3.7e-3, 1.5e-15, 1e14, 0x1p50, 0x1p-50, -0x1.8p49};
    for (size_t order = 0; order < SF_COUNT_OF(values); order++) {
        accumulator a;
        REQUIRE(accumulator_init(&a, "SUM", "d"));
        for (size_t i = 0; i < SF_COUNT_OF(values); i++)
            add_double(&a, values[(i + order) % SF_COUNT_OF(values)], 1);
        for (size_t i = 1; i < SF_COUNT_OF(values); i++)
            add_double(&a, values[(i * 5 + order) % SF_COUNT_OF(values)], -1);
        CHECK(double_of(&a) == values[order]);
        add_double(&a, values[order], 7);
        add_double(&a, values[order], -8);
        check_result(&a, "NULL");
        add_double(&a, 0.3, 1);
        CHECK(double_of(&a) == 0.3);
        accumulator_deinit(&a);
    }
    accumulator a;
    REQUIRE(accumulator_init(&a, "SUM", "d")); /* a span of 2^100, either end first */
    add_double(&a, 0x1p60, 1);
    add_double(&a, 0x1p-40, 1);
    add_double(&a, 0x1p60, -1);
    CHECK(double_of(&a) == 0x1p-40);
    add_double(&a, 0x1.fffffffffffffp60, 100000);
    add_double(&a, 0x1p-40, 1);
    add_double(&a, 0x1.fffffffffffffp60, -100000);
    CHECK(double_of(&a) == 0x1p-39);
    accumulator_deinit(&a);
    REQUIRE(accumulator_init(&a, "SUM", "d")); /* beyond: defined, and nothing worse than cut off */
    add_double(&a, 1e300, 1);
    add_double(&a, 1e-300, 1);
    CHECK(double_of(&a) == 1e300);
    add_double(&a, 1e300, -1);
    CHECK(fabs(double_of(&a)) <= 1e-290);
    add_double(&a, 5e-324, 1);
    accumulator_deinit(&a);
}

/* Random values over a span of 2^100 somewhere in the range come and go; what stays is exact. */
void double_sums_forget_random_values(void)
{
    enum { VALUES = 40 };
    sf_rng rng = {11};
    for (int round = 0; round < 300; round++) {
        accumulator a;
        REQUIRE(accumulator_init(&a, "SUM", "d"));
        double values[VALUES];
        int64_t weights[VALUES];
        int lowest = (int)sf_rng_below(&rng, 1900) - 1074;
        for (int i = 0; i < VALUES; i++) {
            double digits = (double)((sf_rng_next(&rng) >> 11) | 1ULL << 52);
            int place = lowest + (int)sf_rng_below(&rng, 48); /* 53 digits: a span of 2^100 */
            values[i] = ldexp(sf_rng_below(&rng, 2) ? digits : -digits, place);
            weights[i] = sf_rng_below(&rng, 2) ? 1 : (int64_t)sf_rng_below(&rng, 1000000) + 1;
            add_double(&a, values[i], weights[i]);
        }
        for (int i = VALUES - 1; i > 0; i--)
            add_double(&a, values[i], -weights[i]);
        add_double(&a, values[0], 1 - weights[0]);
        CHECK(double_of(&a) == values[0]);
        accumulator_deinit(&a);
    }
}

/* The window moves up while sums grow and keeps what it holds. */
void windows_move(void)
{
    uint64_t window[SF_WINDOW_SUM] = {0}, term[3] = {0, 5, 1ULL << 61};
    uint32_t base = 0;
    for (int i = 0; i < 5000; i++)
        sf_window_add(window, SF_WINDOW_SUM, &base, term, 3, 7, false);
    CHECK(base > 6);
    int32_t exponent;
    double fraction = sf_wide_to_f64(window, SF_WINDOW_SUM, &exponent);
    CHECK(ldexp(fraction, exponent + 64 * (int)base) == ldexp(5000 * 0x1p61, 64 * 9));
    for (int i = 0; i < 5000; i++)
        sf_window_add(window, SF_WINDOW_SUM, &base, term, 3, 7, true);
    for (int k = 0; k < SF_WINDOW_SUM; k++)
        CHECK_INT(window[k], 0);
    /* both ends in use: what lies below is cut off, towards zero */
    uint64_t high[3] = {1, 1, 1}, low[2] = {9, 1};
    base = 0;
    sf_window_add(window, SF_WINDOW_SUM, &base, high, 3, 10, false);
    uint64_t bottom[2] = {3, 0};
    sf_window_add(window, SF_WINDOW_SUM, &base, bottom, 2, 9, false);
    sf_window_add(window, SF_WINDOW_SUM, &base, low, 2, 8, true);
    CHECK_INT(base, 9);
    CHECK_INT(window[0], 2); /* 3 - 1, the 9 below is gone */
    sf_window_add(window, SF_WINDOW_SUM, &base, low, 2, 3, false);
    CHECK_INT(window[0], 2);
}

/* Sums of dyadic fractions that 128 bits hold exactly, in any order. */
void double_sums_are_exact(void)
{
    sf_rng rng = {5};
    for (int round = 0; round < 200; round++) {
        accumulator a;
        REQUIRE(accumulator_init(&a, "SUM", "d"));
        __int128 exact = 0;
        int count = 1 + (int)sf_rng_below(&rng, 200);
        for (int i = 0; i < count; i++) {
            int64_t digits = (int64_t)(sf_rng_next(&rng) >> 11);
            int shift = (int)sf_rng_below(&rng, 40);
            int64_t weight = sf_rng_below(&rng, 3) ? 1 : (int64_t)sf_rng_below(&rng, 9) - 4;
            if (sf_rng_below(&rng, 2))
                digits = -digits;
            add_double(&a, ldexp((double)digits, shift - 30), weight);
            exact += (__int128)digits * (1LL << shift) * weight;
        }
        double want = ldexp((double)exact, -30);
        double got = double_of(&a);
        CHECK(got == want || isnan(got)); /* NULL when the weights cancel */
        accumulator_deinit(&a);
    }
    accumulator a;
    REQUIRE(accumulator_init(&a, "SUM", "d")); /* the ends of the range */
    add_double(&a, 5e-324, 3);
    CHECK(double_of(&a) == 1.5e-323);
    add_double(&a, 5e-324, -2);
    CHECK(double_of(&a) == 5e-324);
    accumulator_deinit(&a);
    REQUIRE(accumulator_init(&a, "SUM", "d"));
    add_double(&a, 1.7976931348623157e308, 2);
    check_result(&a, "NULL");
    CHECK_INT(a.out_of_range, 1);
    add_double(&a, 1.7976931348623157e308, -1);
    CHECK(double_of(&a) == 1.7976931348623157e308);
    accumulator_deinit(&a);
    REQUIRE(accumulator_init(&a, "AVG", "d"));
    add_double(&a, 1.7e308, 2);
    CHECK(double_of(&a) == 1.7e308);
    add_double(&a, -0.0, 1);
    add_double(&a, 1.7e308, -2);
    check_result(&a, "0");
    accumulator_deinit(&a);
    /* ties go to even: 2^53 + 1 lies between two doubles, 2^53 + 1 + 2^-60 above the middle */
    REQUIRE(accumulator_init(&a, "SUM", "d"));
    add_double(&a, 0x1p53, 1);
    add_double(&a, 1, 1);
    CHECK(double_of(&a) == 0x1p53);
    add_double(&a, 0x1p-60, 1);
    CHECK(double_of(&a) == 0x1p53 + 2);
    accumulator_deinit(&a);
}

void variances(void)
{
    static const struct {
        const char *name;
        double want;
    } rows[] = {{"VAR_POP", 4}, {"VAR_SAMP", 32.0 / 7}, {"STDDEV_POP", 2}};
    static const int64_t values[] = {2, 4, 4, 4, 5, 5, 7, 9}; /* mean 5, squares sum to 32 */
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        for (int as_double = 0; as_double < 2; as_double++) {
            accumulator a;
            REQUIRE(accumulator_init(&a, rows[i].name, as_double ? "d" : "l"));
            if (as_double)
                add_double(&a, 1e6, 1);
            else
                add_long(&a, 1000000, 1);
            for (size_t k = 0; k < SF_COUNT_OF(values); k++) {
                if (as_double)
                    add_double(&a, (double)values[k], 1);
                else
                    add_long(&a, values[k], 1);
            }
            if (as_double)
                add_double(&a, 1e6, -1);
            else
                add_long(&a, 1000000, -1);
            CHECK(double_of(&a) == rows[i].want);
            accumulator_deinit(&a);
        }
    }
    accumulator a;
    REQUIRE(accumulator_init(&a, "VAR_SAMP", "d"));
    add_double(&a, 3, 1);
    check_result(&a, "NULL"); /* one value has no sample variance */
    add_double(&a, 3, 4);
    check_result(&a, "0");
    accumulator_deinit(&a);
    REQUIRE(accumulator_init(&a, "VAR_POP", "l"));
    add_long(&a, 3, 1);
    check_result(&a, "0");
    accumulator_deinit(&a);
    REQUIRE(accumulator_init(&a, "STDDEV", "d"));
    add_double(&a, 1e9 + 1, 2);
    add_double(&a, 1e9 + 1, 0);
    add_double(&a, 1e9 + 4, 1); /* mean 2 above, squares 1 1 4: 6 / 2 */
    CHECK(double_of(&a) == sqrt(3));
    accumulator_deinit(&a);
    REQUIRE(accumulator_init(&a, "VAR_POP", "d")); /* far beyond the span: never below zero */
    add_double(&a, 1e150, 1);
    add_double(&a, 1e-150, 3);
    add_double(&a, 1e150, -1);
    add_double(&a, 1e-100, 3);
    CHECK(double_of(&a) >= 0);
    accumulator_deinit(&a);
}

void variances_of_large_numbers(void)
{
    accumulator a;
    REQUIRE(accumulator_init(&a, "VAR_POP", "d"));
    for (int i = 0; i < 3; i++)
        add_double(&a, 1751932800000.0, 1);
    CHECK(double_of(&a) == 0);
    accumulator_deinit(&a);
    REQUIRE(accumulator_init(&a, "VAR_POP", "d"));
    for (int i = 1; i <= 3; i++)
        add_double(&a, 1e9 + i, 1);
    CHECK(double_of(&a) == 2.0 / 3);
    add_double(&a, 0.1, 5); /* weights other than one */
    add_double(&a, 0.1, -5);
    CHECK(double_of(&a) == 2.0 / 3);
    accumulator_deinit(&a);
    REQUIRE(accumulator_init(&a, "STDDEV_POP", "d"));
    for (int i = 1; i <= 3; i++)
        add_double(&a, 1e9 + i, 1);
    CHECK(fabs(double_of(&a) - 0.816496580927726) < 1e-15);
    accumulator_deinit(&a);
    REQUIRE(accumulator_init(&a, "VAR_POP", "l")); /* the extremes: (2^63)^2 and a bit less */
    add_long(&a, INT64_MAX, 1);
    add_long(&a, INT64_MIN, 1);
    CHECK(double_of(&a) == 0x1p126);
    add_long(&a, INT64_MAX, 3);
    add_long(&a, INT64_MIN, -1);
    CHECK(double_of(&a) == 0);
    accumulator_deinit(&a);
    REQUIRE(accumulator_init(&a, "VAR_POP", "d"));
    add_double(&a, 1e200, 1);
    add_double(&a, -1e200, 1);
    check_result(&a, "NULL"); /* 1e400 is beyond Double */
    CHECK_INT(a.out_of_range, 1);
    accumulator_deinit(&a);
    REQUIRE(accumulator_init(&a, "STDDEV_POP", "d"));
    add_double(&a, 1e200, 1);
    add_double(&a, -1e200, 1);
    CHECK(double_of(&a) == 1e200);
    add_double(&a, 1e-200, 1);
    CHECK(isfinite(double_of(&a)));
    accumulator_deinit(&a);
}

void extremes(void)
{
    accumulator a;
    REQUIRE(accumulator_init(&a, "MIN", "l"));
    add_long(&a, INT64_MAX, 1);
    check_result(&a, "9223372036854775807");
    add_long(&a, 0, 1);
    add_long(&a, 4, 1);
    check_result(&a, "0");
    add_long(&a, INT64_MIN, 1);
    check_result(&a, "-9223372036854775808");
    accumulator_deinit(&a);
    REQUIRE(accumulator_init(&a, "MAX", "d"));
    add_double(&a, -2.5, 1);
    check_result(&a, "-2.5");
    add_double(&a, -7, 1);
    check_result(&a, "-2.5");
    add_double(&a, 1e-300, 1);
    check_result(&a, "1e-300");
    accumulator_deinit(&a);
}

void booleans(void)
{
    accumulator a;
    REQUIRE(accumulator_init(&a, "BOOL_AND", "b"));
    sf_builder builder;
    sf_builder_init(&builder, SF_TYPE_BOOL, 4);
    sf_builder_bool(&builder, true);
    sf_builder_bool(&builder, false);
    sf_builder_null(&builder);
    sf_column *column = sf_builder_finish(&builder);
    sf_builder_deinit(&builder);
    int64_t first[] = {1, 0, 1}, second[] = {0, 1, 0}, back[] = {0, -1, 0};
    add_column(&a, column, first);
    check_result(&a, "true");
    add_column(&a, column, second);
    check_result(&a, "false");
    add_column(&a, column, back);
    check_result(&a, "true");
    accumulator_deinit(&a);
    sf_column_unref(column);
}

/* The argument of SUM over Json and over text, evaluated as an operator would. */
void sums_of_json_and_text(void)
{
    static const struct {
        const char *arg, *result;
    } rows[] = {
        {"(-> j 'a')", "1"}, /* 1, then a null, then an object: only numbers add */
        {"(-> (-> j 'b') 1)", "20.5"},
        {"(-> j 'n')", "NULL"}, /* "12" is text */
        {"(to_double (-> j 'n'))", "12"},
        {"(->> j 'a')", "NULL"},
        {"s", "NULL"},
    };
    sf_batch *batch = sample_batch();
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        accumulator a;
        REQUIRE(accumulator_init(&a, "SUM", rows[i].arg));
        sf_eval eval;
        sf_eval_init(&eval);
        sf_column *column = NULL;
        sf_error err = {0};
        REQUIRE_OK(
            sf_eval_column(&eval, value_of(&a.call), batch, sf_sel_all(batch->rows), &column, &err),
            err);
        add_column(&a, column, NULL);
        check_result(&a, rows[i].result);
        CHECK_INT(eval.error_counts[SF_EVAL_CAST], 0);
        sf_column_unref(column);
        sf_eval_deinit(&eval);
        accumulator_deinit(&a);
    }
    sf_batch_unref(batch);
}
