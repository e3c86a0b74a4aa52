/* What binding accepts, refuses and builds. */
#include "tests.h"

void refusals(void)
{
    static const refusal_row rows[] = {
        {"(flor d)", "function \"flor\" does not exist", NULL},
        {"(uper s)", "function \"uper\" does not exist", "did you mean UPPER?"},
        {"(nvl l 1)", "function \"nvl\" does not exist", "did you mean COALESCE?"},
        {"(frobnicate l)", "function \"frobnicate\" does not exist", "reference"},
        {"(abs)", "ABS takes 1 argument, not 0", "write ABS(x)"},
        {"(round d 1 2)", "ROUND takes 1 to 2 arguments, not 3", "write ROUND(x [, digits])"},
        {"(to_long)", "takes 1 argument, not 0", "TO_LONG(x)"},
        {"(if b 1)", "takes 3 arguments, not 2", "IF(condition, then, else)"},
        {"(coalesce)", "takes at least 1 argument, not 0", NULL},
        {"(abs s)", "ABS cannot take String", "write ABS(x)"},
        {"(+ s 1)", "+ cannot take String and Long", "TO_LONG or TO_DOUBLE"},
        {"(+ (-> j 'a') 1)", "+ cannot take Json and Long", "TO_DOUBLE(... -> 'key')"},
        {"(* b 2)", "* cannot take Bool and Long", "convert"},
        {"(+ t t)", "+ cannot take Timestamp and Timestamp", NULL},
        {"(upper j)", "UPPER cannot take Json", "->>"},
        {"(-> s 'a')", "-> cannot take String and String", "declare the field as Json"},
        {"(->> j d)", "->> cannot take Json and Double", "the key is"},
        {"(= s 1)", "cannot compare String with Long", "convert one side"},
        {"(= b 1)", "cannot compare Bool with Long", NULL},
        {"(= j 'x')", "cannot compare Json with String", "->>"},
        {"(< j j)", "cannot compare Json with Json", "only = NULL"},
        {"(= t 'yesterday')", "'yesterday' is no time", "2024-05-01"},
        {"(= t '2023-02-29')", "'2023-02-29' is no time", NULL},
        {"(in l 1 'a')", "cannot compare Long with String", NULL},
        {"(between d 0 'a')", "cannot compare Double with String", NULL},
        {"(is_distinct_from j j)", "cannot compare Json with Json", NULL},
        {"(not l)", "not cannot take Long", NULL},
        {"(and b l)", "AND needs conditions, not Long", "TO_BOOL"},
        {"(or s b)", "OR needs conditions, not String", "TO_BOOL"},
        {"(case l 1 2)", "condition is Long, not Bool", "TO_BOOL"},
        {"(if (-> j 'a') 1 2)", "condition is Json, not Bool", "TO_BOOL"},
        {"(case b 1 'x')", "CASE mixes Long and String", "TO_STRING"},
        {"(case b 1 c 'x' 2)", "CASE mixes Long and String", NULL},
        {"(coalesce l s)", "COALESCE mixes Long and String", NULL},
        {"(coalesce t l)", "COALESCE mixes Timestamp and Long", NULL},
        {"(cast Timestamp b)", "Bool cannot be converted to Timestamp", "TO_STRING"},
        {"(cast Json s)", "String cannot be converted to Json", "PARSE_JSON"},
        {"(like l 'a')", "like cannot take Long and String", NULL},
    };
    check_refusals(rows, SF_COUNT_OF(rows));
}

void types_of_results(void)
{
    static const struct {
        const char *expr, *type;
    } rows[] = {
        {"(+ l m)", "Long"},
        {"(+ l d)", "Double"},
        {"(+ null l)", "Long"},
        {"(/ l m)", "Double"},
        {"(- t t)", "Long"},
        {"(- t 5)", "Timestamp"},
        {"(= l d)", "Bool"},
        {"(abs l)", "Long"},
        {"(abs d)", "Double"},
        {"(round l 2)", "Long"},
        {"(round d)", "Double"},
        {"(-> j 'a')", "Json"},
        {"(->> j 'a')", "String"},
        {"(case b l d)", "Double"},
        {"(case b null t)", "Timestamp"},
        {"(case b null null)", "String"},
        {"(coalesce l d)", "Double"},
        {"(coalesce null j)", "Json"},
        {"(cast Double null)", "Double"},
        {"(+ (cast Double null) l)", "Double"},
        {"(key j)", "Json"},
        {"(if true l d)", "Double"},
        {"(|| s l)", "String"},
        {"(nullif 5 d)", "Long"},
        {"(greatest 5 d)", "Double"},
        {"(hour t)", "Long"},
        {"(second t)", "Double"},
        {"(now)", "Timestamp"},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_arena arena;
        sf_arena_init(&arena, 0);
        const sf_expr *expr = NULL;
        sf_error err = {0};
        if (read_expr(&arena, rows[i].expr, &expr, &err) != SF_OK)
            printf("  %s: %s\n", rows[i].expr, err.message);
        CHECK(expr);
        if (expr)
            CHECK_STR(sf_type_name(expr->type), rows[i].type);
        sf_arena_deinit(&arena);
    }
}

void trees(void)
{
    sf_arena arena;
    sf_arena_init(&arena, 0);
    sf_error err = {0};
    const sf_expr *a, *b, *c, *moved;
    REQUIRE_OK(read_expr(&arena, "(+ l (case b 1 (coalesce m 2)))", &a, &err), err);
    REQUIRE_OK(read_expr(&arena, "  (+   l (case b 1 (coalesce m 2)))", &b, &err), err);
    REQUIRE_OK(read_expr(&arena, "(+ l (case b 1 (coalesce m 3)))", &c, &err), err);
    CHECK(sf_expr_equal(a, b));
    CHECK(!sf_expr_equal(a, c));
    CHECK(!sf_expr_is_constant(a));
    uint64_t columns[1] = {0};
    sf_expr_columns(a, columns);
    CHECK_INT(columns[0], 1 << 0 | 1 << 1 | 1 << 6);
    uint32_t map[11] = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
    REQUIRE_OK(sf_expr_remap(&arena, a, map, &moved, &err), err);
    columns[0] = 0;
    sf_expr_columns(moved, columns);
    CHECK_INT(columns[0], 1 << 10 | 1 << 9 | 1 << 4);
    REQUIRE_OK(read_expr(&arena, "(= s 'a')", &a, &err), err);
    REQUIRE_OK(read_expr(&arena, "(= s 'b')", &b, &err), err);
    REQUIRE_OK(read_expr(&arena, "(= s null)", &c, &err), err);
    CHECK(!sf_expr_equal(a, b));
    CHECK(!sf_expr_equal(a, c));
    sf_arena_deinit(&arena);
}

void printing(void)
{
    static const value_row rows[] = {
        {"(+ l (* m 2))", "(l + (m * 2))"},
        {"(and b (not c) (is_null s))", "(b AND (NOT c) AND (s IS NULL))"},
        {"(or b (= s 'it''s'))", "(b OR (s = 'it''s'))"},
        {"(case b 1.5 null)", "CASE WHEN b THEN 1.5 ELSE NULL END"},
        {"(coalesce l m 0)", "COALESCE(l, m, 0)"},
        {"(round d 2)", "ROUND(d, 2)"},
        {"(neg l)", "(-l)"},
        {"(+ l d)", "(TO_DOUBLE(l) + d)"},
        {"(->> (-> j 'a') 0)", "((j -> 'a') ->> 0)"},
        {"(in m 1 2 3)", "(m IN (1, 2, 3))"},
        {"(between (+ m 1) 1 2)", "((m + 1) BETWEEN 1 AND 2)"},
        {"(like s 'a%' '!')", "(s LIKE 'a%' ESCAPE '!')"},
        {"(> t '1970-01-02')", "(t > TIMESTAMP '1970-01-02T00:00:00.000Z')"},
        {"(= b true)", "(b = TRUE)"},
        {"(is_not_distinct_from l m)", "(l IS NOT DISTINCT FROM m)"},
        {"(key j)", "GROUP KEY(j)"},
    };
    sf_schema *schema = sample_schema();
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_arena arena;
        sf_arena_init(&arena, 0);
        const sf_expr *expr;
        sf_error err = {0};
        sf_buf out = {0};
        REQUIRE_OK(read_expr(&arena, rows[i].expr, &expr, &err), err);
        sf_expr_print(expr, schema, &out);
        CHECK_STR(out.data, rows[i].lane);
        sf_buf_deinit(&out);
        sf_arena_deinit(&arena);
    }
    sf_schema_unref(schema);
}

void registry(void)
{
    uint32_t count = sf_function_count();
    CHECK(count > 20);
    CHECK(!sf_function_at(count));
    for (uint32_t i = 0; i < count; i++) {
        const sf_function_info *info = sf_function_at(i);
        REQUIRE(info);
        /* the signature starts with the name, and names come once */
        CHECK(strncmp(info->signature, info->name, strlen(info->name)) == 0);
        CHECK(info->doc[0] && info->family[0] && info->example[0] && info->result);
        for (uint32_t k = 0; k < i; k++)
            CHECK(strcmp(sf_function_at(k)->name, info->name) != 0);
    }
    CHECK(sf_is_aggregate_name(SF_STR("count")));
    CHECK(sf_is_aggregate_name(SF_STR("Percentile_Cont")));
    CHECK(!sf_is_aggregate_name(SF_STR("abs")));
}

void depth_is_bounded(void)
{
    sf_arena arena;
    sf_arena_init(&arena, 0);
    sf_error err = {0};
    const sf_expr *expr;
    sf_span span = {3, 1};
    REQUIRE_OK(sf_expr_column(&arena, 0, SF_TYPE_I64, span, &expr, &err), err);
    sf_status status = SF_OK;
    int depth = 1;
    for (; depth < 5000 && status == SF_OK; depth++)
        status = sf_expr_call(&arena, SF_STR("neg"), &expr, 1, span, &expr, &err);
    CHECK_INT(status, SF_LIMIT);
    CHECK_INT(depth, SF_EXPR_DEPTH_MAX + 1);
    CHECK(strstr(err.message, "nests deeper"));
    sf_arena_deinit(&arena);
}
