/* The ordered index against sorted arrays. */
#include "tests.h"

struct ordered {
    sf_arr *arr;
    sf_order *order;
    sf_batch *batch;
    sf_ref refs[BATCH_MAX];
};

static bool ordered_new(struct ordered *out, const int64_t (*rows)[2], uint32_t count,
                        const sf_order_by *by, uint32_t by_count)
{
    uint64_t hashes[BATCH_MAX];
    sf_error err;
    out->arr = pairs_arr(SF_ARR_UNIQUE, 2, 0, NULL);
    out->batch = pairs_batch(rows, count);
    sf_batch_hash(out->batch, identity, 2, sf_sel_all(count), hashes);
    if (sf_arr_upsert(out->arr, out->batch, identity, sf_sel_all(count), hashes, out->refs, NULL,
                      &err) != SF_OK ||
        sf_order_new(out->arr, by, by_count, &out->order, &err) != SF_OK)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (sf_order_insert(out->order, out->refs[i], &err) != SF_OK)
            return false;
    return true;
}

static void ordered_free(struct ordered *ordered)
{
    sf_order_free(ordered->order);
    sf_arr_free(ordered->arr);
    sf_batch_unref(ordered->batch);
}

#define NULL_LONG INT64_MIN
static const int64_t rows[][2] = {{2, 5}, {1, 9}, {2, NULL_LONG}, {NULL_LONG, 3}, {1, -4}, {2, 7}};

void order_walks_sorted(void)
{
    static const struct {
        sf_order_by by[2];
        uint32_t want[6]; /* rows in order */
    } cases[] = {
        {{{0, false, false}, {1, false, false}}, {3, 4, 1, 2, 0, 5}},
        {{{0, false, false}, {1, true, false}}, {3, 1, 4, 5, 0, 2}},
        {{{0, true, false}, {1, false, false}}, {2, 0, 5, 4, 1, 3}},
        {{{1, false, false}, {0, false, false}}, {2, 4, 3, 0, 5, 1}},
    };
    for (size_t c = 0; c < SF_COUNT_OF(cases); c++) {
        struct ordered o;
        REQUIRE(ordered_new(&o, rows, 6, cases[c].by, 2));
        sf_ref ref = sf_order_first(o.order, 0, 0);
        for (int i = 0; i < 6; i++, ref = sf_order_next(o.order, ref))
            CHECK_INT(ref, o.refs[cases[c].want[i]]);
        CHECK_INT(ref, 0);
        ref = sf_order_last(o.order, 0, 0);
        for (int i = 5; i >= 0; i--, ref = sf_order_prev(o.order, ref))
            CHECK_INT(ref, o.refs[cases[c].want[i]]);
        CHECK_INT(ref, 0);
        ordered_free(&o);
    }
}

void order_prefixes(void)
{
    static const sf_order_by by[] = {{0, false, false}, {1, false, false}};
    struct ordered o;
    REQUIRE(ordered_new(&o, rows, 6, by, 2));
    CHECK_INT(sf_order_first(o.order, o.refs[5], 1), o.refs[2]);
    CHECK_INT(sf_order_last(o.order, o.refs[2], 1), o.refs[5]);
    CHECK_INT(sf_order_first(o.order, o.refs[1], 1), o.refs[4]);
    CHECK_INT(sf_order_last(o.order, o.refs[3], 1), o.refs[3]);
    CHECK_INT(sf_order_count(o.order, o.refs[0], 1), 3);
    CHECK_INT(sf_order_count(o.order, o.refs[0], 0), 6);
    CHECK_INT(sf_order_count(o.order, o.refs[0], 2), 1);
    CHECK_INT(sf_order_at(o.order, o.refs[0], 1, 0), o.refs[2]);
    CHECK_INT(sf_order_at(o.order, o.refs[0], 1, 2), o.refs[5]);
    CHECK_INT(sf_order_at(o.order, o.refs[0], 1, 3), 0);
    CHECK_INT(sf_order_at(o.order, o.refs[1], 1, 1), o.refs[1]);
    CHECK_INT(sf_order_at(o.order, o.refs[1], 1, 2), 0); /* a row of another prefix */
    sf_order_remove(o.order, o.refs[2]);
    CHECK_INT(sf_order_first(o.order, o.refs[5], 1), o.refs[0]);
    sf_order_remove(o.order, o.refs[0]);
    sf_order_remove(o.order, o.refs[5]);
    CHECK_INT(sf_order_first(o.order, o.refs[5], 1), 0);
    CHECK_INT(sf_order_last(o.order, o.refs[5], 1), 0);
    CHECK_INT(sf_order_count(o.order, o.refs[5], 1), 0);
    ordered_free(&o);
}

/* ---- at length ---- */

enum { MANY = 60 * BATCH_MAX };

typedef struct {
    sf_ref ref;
    int64_t key, value;
} sorted_row;

static int compare_rows(const void *a, const void *b)
{
    const sorted_row *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return x->ref < y->ref ? -1 : x->ref > y->ref;
}

static void check_all(const sf_order *order, sorted_row *rows_, uint32_t count)
{
    qsort(rows_, count, sizeof *rows_, compare_rows);
    sf_ref ref = sf_order_first(order, 0, 0);
    uint32_t group = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (rows_[i].ref != ref) {
            CHECK_INT(ref, rows_[i].ref);
            return;
        }
        ref = sf_order_next(order, ref);
        if (rows_[i].key != rows_[group].key)
            group = i;
        if (i % 97 == 0) {
            CHECK_INT(sf_order_first(order, rows_[i].ref, 1), rows_[group].ref);
            CHECK_INT(sf_order_at(order, rows_[i].ref, 1, i - group), rows_[i].ref);
            CHECK_INT(sf_order_prev(order, rows_[i].ref), i ? rows_[i - 1].ref : 0);
        }
    }
    CHECK_INT(ref, 0);
    CHECK(count == 0 || sf_order_count(order, rows_[0].ref, 0) == count);
}

/* Rows enter in some order, and leave in another; checked against qsort now and then. */
void order_random(void)
{
    static const sf_order_by by[] = {{0, false, false}, {1, true, false}};
    for (int pattern = 0; pattern < 3; pattern++) {
        sf_arr *arr = pairs_arr(SF_ARR_BAG, 1, 0, NULL); /* equal rows are several */
        sf_rng rng = {900 + (uint64_t)pattern};
        sf_order *order;
        sf_error err;
        REQUIRE(arr);
        for (uint32_t from = 0; from < MANY; from += BATCH_MAX) {
            int64_t pairs[BATCH_MAX][2];
            uint64_t hashes[BATCH_MAX];
            for (uint32_t i = 0; i < BATCH_MAX; i++) {
                pairs[i][0] = pattern == 0 ? from + i : (int64_t)sf_rng_below(&rng, 50);
                pairs[i][1] = (int64_t)sf_rng_below(&rng, 400);
            }
            sf_batch *batch = pairs_batch(pairs, BATCH_MAX);
            sf_batch_hash(batch, identity, 1, sf_sel_all(BATCH_MAX), hashes);
            REQUIRE_OK(
                sf_arr_add(arr, batch, identity, sf_sel_all(BATCH_MAX), hashes, NULL, NULL, &err),
                err);
            sf_batch_unref(batch);
        }
        static sf_ref refs[MANY];
        static sorted_row in[MANY];
        uint32_t count = sf_arr_scan(arr, 0, refs, MANY), here = 0;
        REQUIRE(count == MANY);
        REQUIRE_OK(sf_order_new(arr, by, 2, &order, &err), err);
        for (uint32_t i = 0; i < count && !sf_check_failures; i++) {
            sorted_row row = {.ref = refs[i]};
            sf_arr_lane_i64(arr, row.ref, 0, &row.key);
            sf_arr_lane_i64(arr, row.ref, 1, &row.value);
            REQUIRE_OK(sf_order_insert(order, row.ref, &err), err);
            in[here++] = row;
            if (pattern == 2 && i % 3 == 2) {
                uint32_t out = (uint32_t)sf_rng_below(&rng, here);
                sf_order_remove(order, in[out].ref);
                in[out] = in[--here];
            }
            if (i % 10000 == 5000)
                check_all(order, in, here);
        }
        check_all(order, in, here);
        while (here > 0 && !sf_check_failures) {
            uint32_t out = pattern == 0 ? here - 1 : (uint32_t)sf_rng_below(&rng, here);
            sf_order_remove(order, in[out].ref);
            in[out] = in[--here];
            if (here % 7000 == 0 || here == 3)
                check_all(order, in, here);
        }
        REQUIRE_OK(sf_order_rebuild(order, &err), err);
        CHECK_INT(sf_order_count(order, refs[0], 0), MANY);
        sf_order_free(order);
        sf_arr_free(arr);
    }
}

/* ---- every type ---- */

static int compare_values(const sf_column *column, uint32_t a, uint32_t b)
{
    bool valid_a = sf_column_is_valid(column, a), valid_b = sf_column_is_valid(column, b);
    if (!valid_a || !valid_b)
        return (int)valid_a - (int)valid_b;
    if (sf_type_is_view(column->type))
        return sf_str_cmp(sf_column_str(column, a), sf_column_str(column, b));
    if (column->type == SF_TYPE_F64) {
        double x = SF_LANES(column, double)[a], y = SF_LANES(column, double)[b];
        return (x > y) - (x < y);
    }
    if (column->type == SF_TYPE_U64) {
        uint64_t x = SF_LANES(column, uint64_t)[a], y = SF_LANES(column, uint64_t)[b];
        return (x > y) - (x < y);
    }
    if (column->type == SF_TYPE_I8) {
        int x = (int)SF_LANES(column, int8_t)[a], y = (int)SF_LANES(column, int8_t)[b];
        return (x > y) - (x < y);
    }
    int64_t x = SF_LANES(column, int64_t)[a], y = SF_LANES(column, int64_t)[b];
    return (x > y) - (x < y);
}

/* Values at the ends and next to each other, where a shortened one could mislead. */
static sf_batch *edge_values(const sf_schema *schema, sf_rng *rng, uint32_t rows_)
{
    static const char *const texts[] = {"",         "a",      "abcdefg", "abcdefgh",
                                        "abcdefgi", "abcdef", "b",       "abcdefgha"};
    static const double doubles[] = {-1e308, -1, -0.0, 0.0, 1, 1.5, 1e308, -1.5};
    static const uint64_t words[] = {0, 1, 2, UINT64_MAX, INT64_MAX, 1ULL << 63, (1ULL << 63) + 1,
                                     5};
    sf_batch_builder builder;
    if (!sf_batch_builder_init(&builder, schema))
        return NULL;
    for (uint32_t i = 0; i < rows_; i++) {
        for (uint32_t c = 0; c < schema->count; c++) {
            uint64_t pick = sf_rng_below(rng, 9);
            if (pick == 8)
                sf_builder_null(&builder.columns[c]);
            else if (sf_type_is_view(schema->fields[c].type))
                sf_builder_str(&builder.columns[c], sf_str_of(texts[pick]));
            else if (schema->fields[c].type == SF_TYPE_F64)
                sf_builder_f64(&builder.columns[c], doubles[pick]);
            else
                sf_builder_lane(&builder.columns[c], &words[pick]);
        }
        sf_batch_builder_row(&builder, 1);
    }
    sf_batch *batch = sf_batch_builder_finish(&builder);
    sf_batch_builder_deinit(&builder);
    return batch;
}

static int compare_ordered(const sf_column *column, uint32_t a, uint32_t b, const sf_order_by *by)
{
    int sign = compare_values(column, a, b);
    if (by->nulls_swapped && sf_column_is_valid(column, a) != sf_column_is_valid(column, b))
        sign = -sign;
    return by->descending ? -sign : sign;
}

static void check_sorted(const sf_arr *arr, const sf_order *order, const sf_order_by *by)
{
    sf_ref refs[BATCH_MAX];
    uint32_t count = 0;
    for (sf_ref ref = sf_order_first(order, 0, 0); ref && count < BATCH_MAX;
         ref = sf_order_next(order, ref))
        refs[count++] = ref;
    CHECK_INT(count, sf_arr_rows(arr));
    sf_column *columns[3];
    for (int i = 0; i < 3; i++)
        columns[i] = sf_arr_gather(arr, by[i].column, refs, count);
    for (uint32_t r = 1; r < count; r++) {
        int sign = 0;
        for (int i = 0; i < 3 && !sign; i++)
            sign = compare_ordered(columns[i], r - 1, r, &by[i]);
        CHECK(sf_order_compare(order, refs[r - 1], refs[r]) < 0);
        CHECK(sf_order_compare(order, refs[r], refs[r - 1]) > 0);
        CHECK_INT(sf_order_same(order, refs[r - 1], refs[r], 1),
                  compare_values(columns[0], r - 1, r) == 0);
        CHECK(sign < 0 || (sign == 0 && refs[r - 1] < refs[r]));
    }
    for (int i = 0; i < 3; i++)
        sf_column_unref(columns[i]);
}

void order_of_every_type(void)
{
    static const struct shape shape = {
        .mode = SF_ARR_BAG,
        .column_count = 5,
        .key_count = 5,
        .types = {SF_TYPE_UTF8, SF_TYPE_F64, SF_TYPE_U64, SF_TYPE_I64, SF_TYPE_I8}};
    sf_schema *schema = shape_schema(&shape);
    sf_arr *arr = shape_arr(&shape, NULL);
    sf_rng rng = {950};
    sf_batch *batch = edge_values(schema, &rng, BATCH_MAX);
    uint64_t hashes[BATCH_MAX];
    sf_error err;
    REQUIRE(schema && arr && batch);
    sf_batch_hash(batch, identity, 5, sf_sel_all(BATCH_MAX), hashes);
    REQUIRE_OK(sf_arr_add(arr, batch, identity, sf_sel_all(BATCH_MAX), hashes, NULL, NULL, &err),
               err);
    for (uint32_t first = 0; first < 5; first++) {
        for (uint32_t second = 0; second < 10; second++) {
            sf_order_by by[] = {
                {first, second % 2, second % 4 > 1},
                {second / 2, second % 3 == 0, second > 5},
                {(first + 1) % 5, false, true},
            };
            sf_order *order;
            REQUIRE_OK(sf_order_new(arr, by, 3, &order, &err), err);
            REQUIRE_OK(sf_order_rebuild(order, &err), err);
            check_sorted(arr, order, by);
            sf_order_free(order);
        }
    }
    sf_batch_unref(batch);
    sf_schema_unref(schema);
    sf_arr_free(arr);
}

void order_without_memory(void)
{
    static const sf_order_by by[] = {{0, false, false}};
    static int64_t many[BATCH_MAX][2];
    for (int i = 0; i < BATCH_MAX; i++)
        many[i][0] = (i * 7919) % 10007;
    struct ordered o;
    REQUIRE(ordered_new(&o, (const int64_t(*)[2])many, BATCH_MAX, by, 1));
    sf_order_free(o.order);
    sf_error err;
    REQUIRE_OK(sf_order_new(o.arr, by, 1, &o.order, &err), err);
    uint32_t refused = 0;
    for (uint32_t i = 0; i < BATCH_MAX; i++) {
        for (uint64_t n = 1;; n++) {
            sf_alloc_fail_after(n);
            sf_status status = sf_order_insert(o.order, o.refs[i], &err);
            sf_alloc_fail_after(0);
            CHECK_INT(sf_order_count(o.order, o.refs[0], 0), i + (status == SF_OK));
            if (status == SF_OK)
                break;
            refused++;
        }
    }
    CHECK(refused >= 4); /* 512 rows fill more than 4 leaves */
    ordered_free(&o);
}
