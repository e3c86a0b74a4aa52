/* Random trees over random batches: every way of evaluating gives the same lanes and errors. */
#include "tests.h"

#include "base/seam.h"

static const sf_type column_types[] = {
    SF_TYPE_I64,  SF_TYPE_I64,  SF_TYPE_F64,       SF_TYPE_F64,       SF_TYPE_UTF8, SF_TYPE_UTF8,
    SF_TYPE_BOOL, SF_TYPE_BOOL, SF_TYPE_TIMESTAMP, SF_TYPE_TIMESTAMP, SF_TYPE_JSON};

static int64_t random_long(sf_rng *rng)
{
    static const int64_t odd[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_MAX - 1, 1LL << 53};
    if (sf_rng_below(rng, 4) == 0)
        return odd[sf_rng_below(rng, SF_COUNT_OF(odd))];
    if (sf_rng_below(rng, 8) == 0)
        return (int64_t)sf_rng_next(rng);
    return (int64_t)sf_rng_below(rng, 21) - 10;
}

static double random_double(sf_rng *rng)
{
    static const double odd[] = {0, -0.0, 1e308, -1e308, 5e-324, 0.5, 9007199254740993.0};
    if (sf_rng_below(rng, 4) == 0)
        return odd[sf_rng_below(rng, SF_COUNT_OF(odd))];
    return (double)((int64_t)sf_rng_below(rng, 81) - 40) / 4;
}

static sf_str random_text(sf_rng *rng)
{
    static const char *const texts[] = {"",
                                        "a",
                                        "ab",
                                        "abc%",
                                        "A_b",
                                        "12",
                                        " 3.5 ",
                                        "true",
                                        "caf\xc3\xa9",
                                        "2024-01-01",
                                        "a text of more than twelve bytes",
                                        "a text of more than twelve bytez",
                                        "\xf0\x9f\x98\x80"};
    return sf_str_of(texts[sf_rng_below(rng, SF_COUNT_OF(texts))]);
}

static sf_str random_json(sf_rng *rng)
{
    static const char *const texts[] = {"{\"a\":1,\"b\":\"text longer than twelve bytes\"}",
                                        "{\"a\":{\"b\":[1,2,\"x\"]}}",
                                        "[1,2.5,null]",
                                        "\"a \\u00e9 with an escape, long enough\"",
                                        "12",
                                        "null",
                                        "true",
                                        "{}",
                                        "{\"a\":null,\"b\":\"7\"}"};
    return sf_str_of(texts[sf_rng_below(rng, SF_COUNT_OF(texts))]);
}

static void append_random(sf_builder *builder, sf_rng *rng, bool nulls)
{
    if (nulls && sf_rng_below(rng, 5) == 0) {
        sf_builder_null(builder);
        return;
    }
    switch (builder->type) {
    case SF_TYPE_BOOL: sf_builder_bool(builder, sf_rng_below(rng, 2)); break;
    case SF_TYPE_F64: sf_builder_f64(builder, random_double(rng)); break;
    case SF_TYPE_UTF8: sf_builder_str(builder, random_text(rng)); break;
    case SF_TYPE_JSON: sf_builder_str(builder, random_json(rng)); break;
    default: sf_builder_i64(builder, random_long(rng)); break;
    }
}

static sf_batch *random_batch(sf_rng *rng, uint32_t rows)
{
    sf_schema *schema = sample_schema();
    sf_batch_builder builder;
    bool nulls[SF_COUNT_OF(column_types)];
    for (size_t k = 0; k < SF_COUNT_OF(nulls); k++)
        nulls[k] = sf_rng_below(rng, 2);
    sf_batch *batch = NULL;
    if (sf_batch_builder_init(&builder, schema)) {
        for (uint32_t i = 0; i < rows; i++) {
            for (uint32_t k = 0; k < schema->count; k++)
                append_random(&builder.columns[k], rng, nulls[k]);
            sf_batch_builder_row(&builder, 1);
        }
        batch = sf_batch_builder_finish(&builder);
    }
    sf_batch_builder_deinit(&builder);
    sf_schema_unref(schema);
    return batch;
}

typedef struct {
    sf_arena arena;
    sf_rng rng;
    sf_error err;
    bool failed;
} grower;

static const sf_expr *grow(grower *g, sf_type type, int depth);

static const sf_expr *leaf(grower *g, sf_type type)
{
    const sf_expr *out = NULL;
    sf_status status;
    sf_span span = {0, 1};
    uint32_t column = (uint32_t)sf_rng_below(&g->rng, SF_COUNT_OF(column_types));
    while (column_types[column] != type)
        column = (column + 1) % (uint32_t)SF_COUNT_OF(column_types);
    if (sf_rng_below(&g->rng, 3)) {
        status = sf_expr_column(&g->arena, column, type, span, &out, &g->err);
    } else {
        sf_literal value = {.is_null = sf_rng_below(&g->rng, 12) == 0};
        switch (type) {
        case SF_TYPE_BOOL: value.as.boolean = sf_rng_below(&g->rng, 2); break;
        case SF_TYPE_F64: value.as.f64 = random_double(&g->rng); break;
        case SF_TYPE_UTF8: value.as.str = random_text(&g->rng); break;
        case SF_TYPE_JSON: value.as.str = random_json(&g->rng); break;
        default: value.as.i64 = random_long(&g->rng); break;
        }
        status = sf_expr_literal(&g->arena, type, &value, span, &out, &g->err);
        if (status == SF_OK && value.is_null) /* a bare NULL could change what is chosen */
            status = sf_expr_cast(&g->arena, out, type, span, &out, &g->err);
    }
    g->failed |= status != SF_OK;
    return out;
}

/* What gives each type: name, then the types of its arguments. Special names build other nodes. */
typedef struct {
    sf_type type;
    const char *name, *args;
} rule;
static const rule rules[] = {
    {SF_TYPE_I64, "+", "ll"},
    {SF_TYPE_I64, "-", "ll"},
    {SF_TYPE_I64, "*", "ll"},
    {SF_TYPE_I64, "%", "ll"},
    {SF_TYPE_I64, "neg", "l"},
    {SF_TYPE_I64, "abs", "l"},
    {SF_TYPE_I64, "round", "ll"},
    {SF_TYPE_I64, "to_long", "d"},
    {SF_TYPE_I64, "to_long", "s"},
    {SF_TYPE_I64, "to_long", "j"},
    {SF_TYPE_I64, "case", "blbll"},
    {SF_TYPE_I64, "case", "bll"},
    {SF_TYPE_I64, "coalesce", "lll"},
    {SF_TYPE_I64, "-", "tt"},
    {SF_TYPE_F64, "+", "dd"},
    {SF_TYPE_F64, "-", "ld"},
    {SF_TYPE_F64, "*", "dd"},
    {SF_TYPE_F64, "/", "ld"},
    {SF_TYPE_F64, "%", "dd"},
    {SF_TYPE_F64, "round", "dl"},
    {SF_TYPE_F64, "to_double", "j"},
    {SF_TYPE_F64, "case", "bdd"},
    {SF_TYPE_F64, "coalesce", "dd"},
    {SF_TYPE_UTF8, "||", "ss"},
    {SF_TYPE_UTF8, "||", "sd"},
    {SF_TYPE_UTF8, "upper", "s"},
    {SF_TYPE_UTF8, "lower", "s"},
    {SF_TYPE_UTF8, "->>", "js"},
    {SF_TYPE_UTF8, "->>", "jl"},
    {SF_TYPE_UTF8, "case", "bss"},
    {SF_TYPE_UTF8, "case", "bsbss"},
    {SF_TYPE_UTF8, "coalesce", "sss"},
    {SF_TYPE_UTF8, "to_string", "d"},
    {SF_TYPE_UTF8, "to_string", "j"},
    {SF_TYPE_JSON, "->", "js"},
    {SF_TYPE_JSON, "->", "jl"},
    {SF_TYPE_JSON, "case", "bjj"},
    {SF_TYPE_TIMESTAMP, "+", "tl"},
    {SF_TYPE_TIMESTAMP, "-", "tl"},
    {SF_TYPE_TIMESTAMP, "to_timestamp", "s"},
    {SF_TYPE_TIMESTAMP, "case", "btt"},
    {SF_TYPE_BOOL, "=", "ll"},
    {SF_TYPE_BOOL, "<", "ld"},
    {SF_TYPE_BOOL, ">=", "dl"},
    {SF_TYPE_BOOL, "<>", "dd"},
    {SF_TYPE_BOOL, "=", "ss"},
    {SF_TYPE_BOOL, "<=", "ss"},
    {SF_TYPE_BOOL, ">", "tt"},
    {SF_TYPE_BOOL, "<", "bb"},
    {SF_TYPE_BOOL, "between", "ldl"},
    {SF_TYPE_BOOL, "between", "sss"},
    {SF_TYPE_BOOL, "in", "llld"},
    {SF_TYPE_BOOL, "in", "sss"},
    {SF_TYPE_BOOL, "is null", "s"},
    {SF_TYPE_BOOL, "is not null", "j"},
    {SF_TYPE_BOOL, "is distinct from", "ld"},
    {SF_TYPE_BOOL, "is not distinct from", "ss"},
    {SF_TYPE_BOOL, "is true", "b"},
    {SF_TYPE_BOOL, "is not false", "b"},
    {SF_TYPE_BOOL, "not", "b"},
    {SF_TYPE_BOOL, "and", "bb"},
    {SF_TYPE_BOOL, "and", "bbb"},
    {SF_TYPE_BOOL, "or", "bb"},
    {SF_TYPE_BOOL, "or", "bbb"},
    {SF_TYPE_BOOL, "like", "ss"},
    {SF_TYPE_BOOL, "ilike", "ss"},
    {SF_TYPE_BOOL, "to_bool", "s"},
    {SF_TYPE_BOOL, "coalesce", "bb"},
    {SF_TYPE_UTF8, "substring", "sll"},
    {SF_TYPE_UTF8, "left", "sl"},
    {SF_TYPE_UTF8, "trim", "ss"},
    {SF_TYPE_UTF8, "replace", "sss"},
    {SF_TYPE_UTF8, "split_part", "ssl"},
    {SF_TYPE_UTF8, "lpad", "sls"},
    {SF_TYPE_UTF8, "concat", "sdb"},
    {SF_TYPE_UTF8, "reverse", "s"},
    {SF_TYPE_UTF8, "nullif", "ss"},
    {SF_TYPE_UTF8, "greatest", "sss"},
    {SF_TYPE_UTF8, "regexp_replace", "sss"},
    {SF_TYPE_UTF8, "regexp_extract", "ss"},
    {SF_TYPE_UTF8, "date_format", "ts"},
    {SF_TYPE_I64, "length", "s"},
    {SF_TYPE_I64, "position", "ss"},
    {SF_TYPE_I64, "least", "lll"},
    {SF_TYPE_I64, "nullif", "ld"},
    {SF_TYPE_I64, "hour", "t"},
    {SF_TYPE_I64, "sign", "l"},
    {SF_TYPE_F64, "second", "t"},
    {SF_TYPE_F64, "greatest", "ldd"},
    {SF_TYPE_F64, "sqrt", "d"},
    {SF_TYPE_F64, "power", "dl"},
    {SF_TYPE_F64, "ln", "d"},
    {SF_TYPE_F64, "floor", "d"},
    {SF_TYPE_TIMESTAMP, "date_trunc", "st"},
    {SF_TYPE_TIMESTAMP, "add_months", "tl"},
    {SF_TYPE_BOOL, "starts_with", "ss"},
};

static sf_type type_of(char letter)
{
    switch (letter) {
    case 'b': return SF_TYPE_BOOL;
    case 'd': return SF_TYPE_F64;
    case 's': return SF_TYPE_UTF8;
    case 't': return SF_TYPE_TIMESTAMP;
    case 'j': return SF_TYPE_JSON;
    default: return SF_TYPE_I64;
    }
}

static const sf_expr *grow(grower *g, sf_type type, int depth)
{
    if (depth == 0 || sf_rng_below(&g->rng, 8) == 0)
        return leaf(g, type);
    const rule *pick = &rules[sf_rng_below(&g->rng, SF_COUNT_OF(rules))];
    while (pick->type != type)
        pick = pick + 1 < rules + SF_COUNT_OF(rules) ? pick + 1 : rules;
    const sf_expr *args[8] = {0}, *out = NULL;
    bool regex = strncmp(pick->name, "regexp", 6) == 0;
    uint32_t count = (uint32_t)strlen(pick->args);
    for (uint32_t i = 0; i < count && !g->failed; i++)
        args[i] = grow(g, type_of(pick->args[i]), depth - 1);
    if (g->failed)
        return NULL;
    sf_span span = {0, 1};
    if (regex && args[1] &&
        args[1]->kind == SF_EXPR_LITERAL) /* a constant pattern may be refused */
        return args[0];
    bool is_case = strcmp(pick->name, "case") == 0;
    sf_status status =
        is_case ? sf_expr_case(&g->arena, args, count, span, &out, &g->err)
                : sf_expr_call(&g->arena, sf_str_of(pick->name), args, count, span, &out, &g->err);
    g->failed |= status != SF_OK;
    return out;
}

static void grow_and_check(uint64_t seed, const sf_batch *batch)
{
    grower g = {.rng = {seed}};
    sf_arena_init(&g.arena, 0);
    static const sf_type types[] = {SF_TYPE_BOOL, SF_TYPE_I64,       SF_TYPE_F64,
                                    SF_TYPE_UTF8, SF_TYPE_TIMESTAMP, SF_TYPE_JSON};
    const sf_expr *expr =
        grow(&g, types[sf_rng_below(&g.rng, SF_COUNT_OF(types))], 1 + (int)sf_rng_below(&g.rng, 4));
    if (g.failed) {
        printf("  seed %llu: %s\n", (unsigned long long)seed, g.err.message);
        sf_check_failures++;
    } else if (!ways_agree(expr, batch, seed)) {
        sf_buf text = {0};
        sf_expr_print(expr, batch->schema, &text);
        printf("  seed %llu: %s depends on how it is evaluated\n", (unsigned long long)seed,
               text.data);
        sf_buf_deinit(&text);
        sf_check_failures++;
    }
    sf_arena_deinit(&g.arena);
}

void random_trees_agree(void)
{
    for (uint64_t round = 0; round < 60 && sf_check_failures < 5; round++) {
        sf_rng rng = {round * 1000 + 7};
        sf_batch *batch = random_batch(&rng, round % 4 == 0 ? 500 : 1 + (uint32_t)round);
        REQUIRE(batch);
        CHECK(sf_batch_verify(batch, NULL));
        for (uint64_t i = 0; i < 60; i++)
            grow_and_check(round * 1000 + i, batch);
        sf_batch_unref(batch);
    }
}

/* ---- against 128-bit arithmetic ---- */

static void check_exact(const char *name, int64_t a, int64_t b, bool fits, __int128 want)
{
    sf_arena arena;
    sf_arena_init(&arena, 0);
    sf_error err = {0};
    const sf_expr *args[2], *out = NULL;
    sf_span span = {0, 1};
    bool ok = sf_expr_literal(&arena, SF_TYPE_I64, &(sf_literal){.as.i64 = a}, span, &args[0],
                              &err) == SF_OK &&
              sf_expr_literal(&arena, SF_TYPE_I64, &(sf_literal){.as.i64 = b}, span, &args[1],
                              &err) == SF_OK &&
              sf_expr_call(&arena, sf_str_of(name), args, 2, span, &out, &err) == SF_OK;
    fits = fits && want >= INT64_MIN && want <= INT64_MAX;
    /* what fails is not folded: it counts its error at every row */
    ok = ok && (fits ? out->kind == SF_EXPR_LITERAL && out->literal.as.i64 == (int64_t)want
                     : out->kind == SF_EXPR_CALL);
    if (!ok) {
        printf("  %lld %s %lld\n", (long long)a, name, (long long)b);
        sf_check_failures++;
    }
    sf_arena_deinit(&arena);
}

void random_arithmetic_is_exact(void)
{
    sf_rng rng = {42};
    for (int i = 0; i < 3000; i++) {
        int64_t a = random_long(&rng), b = random_long(&rng);
        check_exact("+", a, b, true, (__int128)a + b);
        check_exact("-", a, b, true, (__int128)a - b);
        check_exact("*", a, b, true, (__int128)a * b);
        check_exact("%", a, b, b != 0, b ? (__int128)a % b : 0);
    }
}

/* ---- every allocation fails once ---- */

void memory_shortage_is_reported(void)
{
    static const char *const texts[] = {
        "(and b (= (|| s r) 'x') (> (/ l m) 1))",
        "(case (like s 'a%') (upper s) b r (->> j 'a'))",
        "(coalesce (+ l m) (to_long s) 7)",
        "(in s 'a' r)",
        "(key (-> j 'a'))",
        "(case (> d 1) x 2.5)",
    };
    sf_batch *batch = sample_batch();
    REQUIRE(batch);
    for (size_t t = 0; t < SF_COUNT_OF(texts); t++) {
        sf_status status = SF_LIMIT;
        for (uint64_t n = 1; status != SF_OK && n < 300; n++) {
            sf_arena arena;
            sf_arena_init(&arena, 0);
            sf_error err = {0};
            const sf_expr *expr;
            sf_eval eval;
            sf_column *column = NULL;
            sf_eval_init(&eval);
            eval.list_errors = true;
            sf_alloc_fail_after(n);
            status = read_expr(&arena, texts[t], &expr, &err);
            if (status == SF_OK)
                status = sf_eval_column(&eval, expr, batch, sf_sel_all(batch->rows), &column, &err);
            sf_alloc_fail_after(0);
            CHECK(status == SF_OK || status == SF_LIMIT);
            CHECK((status == SF_OK) == (column != NULL));
            sf_column_unref(column);
            sf_eval_deinit(&eval);
            sf_arena_deinit(&arena);
        }
        CHECK_INT(status, SF_OK);
    }
    sf_batch_unref(batch);
}
