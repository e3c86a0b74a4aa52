/* Reading expressions of tests and evaluating them every way there is. */
#include "harness.h"

#include "base/seam.h"
#include "text/text.h"

/* ---- the sample batch ---- */

enum { ROWS = 6, COLUMNS = 11 };

static const sf_field fields[COLUMNS] = {
    {"l", SF_TYPE_I64, false},       {"m", SF_TYPE_I64, false},  {"d", SF_TYPE_F64, false},
    {"x", SF_TYPE_F64, false},       {"s", SF_TYPE_UTF8, false}, {"r", SF_TYPE_UTF8, false},
    {"b", SF_TYPE_BOOL, false},      {"c", SF_TYPE_BOOL, false}, {"t", SF_TYPE_TIMESTAMP, false},
    {"u", SF_TYPE_TIMESTAMP, false}, {"j", SF_TYPE_JSON, false},
};

#define NONE "\1" /* NULL */

/* Row by row, one cell a column. */
static const char *const cells[ROWS][COLUMNS] = {
    {"1", "2", "1.5", "2.5", "abc", "abd", "1", "1", "0", "1",
     "{\"a\":1,\"b\":[10,20.5],\"s\":\"txt\"}"},
    {NONE, "3", NONE, "0", NONE, "x", NONE, "0", NONE, "5", NONE},
    {"9223372036854775807", "1", "1e308", "1e308", "", "", "0", "0", "1699173600000",
     "1699173600000", "{\"a\":null,\"b\":[]}"},
    {"-9223372036854775808", "-1", "-0.5", "0", "a text longer than twelve bytes",
     "a text longer than twelve bytes!", "1", "0", "-1", "-86400000",
     "{\"a\":{\"k\":\"a value of some length\"},\"n\":\"12\"}"},
    {"-7", "0", "2.5", "-2.5", "Straße", "STRASSE", "0", NONE, "86400000", NONE,
     "[1,\"two\\n\",{\"z\":true}]"},
    {"5", NONE, "7", NONE, " 42 ", NONE, "1", NONE, NONE, "7", "\"2024-02-29T12:00:00Z\""},
};

sf_schema *sample_schema(void)
{
    return sf_schema_new(fields, COLUMNS);
}

static void append_cell(sf_builder *builder, const char *cell)
{
    if (strcmp(cell, NONE) == 0)
        sf_builder_null(builder);
    else if (sf_type_is_view(builder->type))
        sf_builder_str(builder, sf_str_of(cell));
    else if (builder->type == SF_TYPE_BOOL)
        sf_builder_bool(builder, cell[0] == '1');
    else if (builder->type == SF_TYPE_F64)
        sf_builder_f64(builder, strtod(cell, NULL));
    else
        sf_builder_i64(builder, strtoll(cell, NULL, 10));
}

sf_batch *sample_batch(void)
{
    sf_schema *schema = sample_schema();
    sf_batch_builder builder;
    bool ok = sf_batch_builder_init(&builder, schema);
    for (int row = 0; ok && row < ROWS; row++) {
        for (int k = 0; k < COLUMNS; k++)
            append_cell(&builder.columns[k], cells[row][k]);
        sf_batch_builder_row(&builder, 1);
    }
    sf_batch *batch = sf_batch_builder_finish(&builder);
    sf_batch_builder_deinit(&builder);
    sf_schema_unref(schema);
    return batch;
}

/* ---- reading ---- */

typedef struct {
    sf_arena *arena;
    const char *begin, *at;
    sf_error *err;
} reader;

static void blanks(reader *r)
{
    while (*r->at == ' ' || *r->at == '\n')
        r->at++;
}

static sf_span span_from(const reader *r, const char *from)
{
    return (sf_span){(uint32_t)(from - r->begin), (uint32_t)(r->at - from)};
}

static sf_str word(reader *r)
{
    const char *from = r->at;
    while (*r->at && *r->at != ' ' && *r->at != ')' && *r->at != '(')
        r->at++;
    return (sf_str){from, (size_t)(r->at - from)};
}

static sf_status read_any(reader *r, const sf_expr **out);

static sf_status read_call(reader *r, const sf_expr **out)
{
    enum { ARGS_MAX = 16 };
    const sf_expr *args[ARGS_MAX] = {0};
    uint32_t count = 0;
    const char *from = r->at++;
    sf_str name = word(r), type_name = {0};
    char *spaced = sf_arena_strndup(r->arena, name.data, name.len);
    if (!spaced)
        return sf_fail_memory(r->err);
    for (char *p = spaced; strncmp(spaced, "is_", 3) == 0 || strncmp(spaced, "is ", 3) == 0; p++) {
        if (!*p)
            break;
        *p = *p == '_' ? ' ' : *p;
    }
    if (sf_str_eq(name, SF_STR("cast"))) {
        blanks(r);
        type_name = word(r);
    }
    for (blanks(r); *r->at && *r->at != ')' && count < ARGS_MAX; blanks(r))
        SF_TRY(read_any(r, &args[count++]));
    r->at += *r->at == ')';
    sf_span span = span_from(r, from);
    if (sf_str_eq(name, SF_STR("case")))
        return sf_expr_case(r->arena, args, count, span, out, r->err);
    if (sf_str_eq(name, SF_STR("key")))
        return sf_expr_key(r->arena, args[0], out, r->err);
    if (type_name.len) {
        sf_type type;
        if (!sf_type_from_name(type_name, &type))
            return sf_fail(r->err, SF_INVALID, "test names an unknown type");
        return sf_expr_cast(r->arena, args[0], type, span, out, r->err);
    }
    return sf_expr_call(r->arena, sf_str_of(spaced), args, count, span, out, r->err);
}

static sf_status read_text(reader *r, sf_type type, const sf_expr **out)
{
    const char *from = r->at++;
    sf_buf text = {0};
    while (*r->at && (*r->at != '\'' || r->at[1] == '\'')) {
        r->at += *r->at == '\'';
        sf_buf_putc(&text, *r->at++);
    }
    r->at += *r->at == '\'';
    sf_literal value = {.as.str = sf_buf_str(&text)};
    sf_status status =
        text.failed ? sf_fail_memory(r->err)
                    : sf_expr_literal(r->arena, type, &value, span_from(r, from), out, r->err);
    sf_buf_deinit(&text);
    return status;
}

static sf_status read_any(reader *r, const sf_expr **out)
{
    blanks(r);
    const char *from = r->at;
    if (*r->at == '(')
        return read_call(r, out);
    if (*r->at == '\'')
        return read_text(r, SF_TYPE_UTF8, out);
    if (r->at[0] == 'j' && r->at[1] == '\'') {
        r->at++;
        return read_text(r, SF_TYPE_JSON, out);
    }
    bool time = *r->at == '@';
    r->at += time;
    sf_str leaf = word(r);
    sf_span span = span_from(r, from);
    for (uint32_t k = 0; k < COLUMNS; k++)
        if (sf_str_eq(leaf, sf_str_of(fields[k].name)))
            return sf_expr_column(r->arena, k, fields[k].type, span, out, r->err);
    sf_literal value = {0};
    sf_type type = time ? SF_TYPE_TIMESTAMP : SF_TYPE_I64;
    if (sf_str_eq(leaf, SF_STR("null"))) {
        value.is_null = true;
        type = SF_TYPE_UTF8;
    } else if (sf_str_eq(leaf, SF_STR("true")) || sf_str_eq(leaf, SF_STR("false"))) {
        value.as.boolean = leaf.data[0] == 't';
        type = SF_TYPE_BOOL;
    } else if (sf_parse_i64(leaf, &value.as.i64) != SF_PARSE_OK) {
        type = SF_TYPE_F64;
        if (sf_parse_f64(leaf, &value.as.f64) != SF_PARSE_OK)
            return sf_fail(r->err, SF_INVALID, "test has a leaf \"%.*s\"", SF_STR_ARG(leaf));
    }
    return sf_expr_literal(r->arena, type, &value, span, out, r->err);
}

sf_status read_expr(sf_arena *arena, const char *text, const sf_expr **out, sf_error *err)
{
    reader r = {arena, text, text, err};
    return read_any(&r, out);
}

/* ---- showing ---- */

static void put_lane(sf_buf *out, const sf_column *column, uint32_t row)
{
    if (!sf_column_is_valid(column, row)) {
        sf_buf_puts(out, "NULL");
        return;
    }
    switch (column->type) {
    case SF_TYPE_BOOL:
        CHECK(SF_LANES(column, uint8_t)[row] <= 1);
        sf_buf_puts(out, SF_LANES(column, uint8_t)[row] ? "true" : "false");
        break;
    case SF_TYPE_F64: {
        double value = SF_LANES(column, double)[row];
        if (value == 0 && 1 / value < 0)
            sf_buf_puts(out, "-0");
        else
            sf_buf_put_f64_text(out, value);
        break;
    }
    case SF_TYPE_I64:
    case SF_TYPE_TIMESTAMP: sf_buf_put_i64_text(out, SF_LANES(column, int64_t)[row]); break;
    default: {
        sf_str text = sf_column_str(column, row);
        sf_buf_put(out, text.data, text.len);
    }
    }
}

void put_lanes(sf_buf *out, const sf_column *column)
{
    for (uint32_t row = 0; row < column->rows; row++) {
        if (row)
            sf_buf_putc(out, '|');
        put_lane(out, column, row);
    }
    sf_buf_puts(out, "");
}

bool same_lanes(const sf_column *a, const sf_column *b)
{
    sf_buf x = {0}, y = {0};
    put_lanes(&x, a);
    put_lanes(&y, b);
    bool same =
        a->type == b->type && a->rows == b->rows && sf_str_eq(sf_buf_str(&x), sf_buf_str(&y));
    sf_buf_deinit(&x);
    sf_buf_deinit(&y);
    return same;
}

/* ---- every way ---- */

static bool spare_bits_are_clear(const sf_column *column)
{
    if (!column->valid || column->rows % 64 == 0)
        return true;
    return column->valid[column->rows / 64] >> (column->rows % 64) == 0;
}

/* Buffers long enough, views inside, as the batch's own check sees it. */
static bool is_sound(const sf_column *column)
{
    sf_field field = {"x", column->type, false};
    sf_schema *schema = sf_schema_new(&field, 1);
    sf_column *columns[] = {sf_column_ref(column)};
    sf_batch *batch = schema ? sf_batch_new(schema, column->rows, columns, NULL, NULL) : NULL;
    sf_error err = {0};
    bool ok = batch && sf_batch_verify(batch, &err);
    sf_batch_unref(batch);
    sf_schema_unref(schema);
    return ok;
}

static bool column_agrees(const sf_expr *expr, const sf_batch *batch, sf_sel sel,
                          const sf_column *full, uint64_t *errors)
{
    sf_eval eval;
    sf_eval_init(&eval);
    eval.list_errors = true;
    sf_column *part = NULL;
    sf_error err;
    bool ok = sf_eval_column(&eval, expr, batch, sel, &part, &err) == SF_OK;
    sf_column *want = sf_column_gather(full, sel);
    ok = ok && want && same_lanes(part, want) && spare_bits_are_clear(part) && is_sound(part);
    uint64_t listed = eval.errors.len, counted = 0;
    for (int i = 0; i < SF_EVAL_ERROR_COUNT; i++)
        counted += eval.error_counts[i];
    for (size_t i = 0; ok && i < eval.errors.len; i++) { /* rows are the batch's */
        bool selected = false;
        for (uint32_t k = 0; k < sel.count; k++)
            selected |= sf_sel_row(sel, k) == eval.errors.data[i].row;
        ok = selected;
    }
    *errors += counted;
    sf_column_unref(part);
    sf_column_unref(want);
    sf_eval_deinit(&eval);
    return ok && listed == counted;
}

static bool filter_agrees(const sf_expr *expr, const sf_batch *batch, sf_sel sel,
                          const sf_column *full)
{
    uint32_t *rows = sf_alloc((sel.count + 1u) * sizeof *rows), count = 0, want = 0;
    sf_eval eval;
    sf_eval_init(&eval);
    sf_error err;
    bool ok = rows && sf_eval_filter(&eval, expr, batch, sel, rows, &count, &err) == SF_OK;
    for (uint32_t i = 0; ok && i < sel.count; i++) {
        uint32_t row = sf_sel_row(sel, i);
        if (sf_column_is_valid(full, row) && SF_LANES(full, uint8_t)[row]) {
            ok = want < count && rows[want] == row;
            want++;
        }
    }
    sf_free(rows);
    sf_eval_deinit(&eval);
    return ok && want == count;
}

bool ways_agree(const sf_expr *expr, const sf_batch *batch, uint64_t seed)
{
    sf_eval eval;
    sf_eval_init(&eval);
    sf_error err;
    sf_column *full = NULL;
    if (sf_eval_column(&eval, expr, batch, sf_sel_all(batch->rows), &full, &err) != SF_OK)
        return false;
    uint64_t whole = 0, halves = 0, singles = 0, prefix = 0;
    for (int i = 0; i < SF_EVAL_ERROR_COUNT; i++)
        whole += eval.error_counts[i];
    sf_eval_deinit(&eval);
    uint32_t *rows = sf_alloc((2u * batch->rows + 1u) * sizeof *rows), *others = rows + batch->rows;
    uint32_t taken = 0, left = 0;
    sf_rng rng = {seed};
    for (uint32_t i = 0; i < batch->rows; i++) {
        if (sf_rng_below(&rng, 3))
            rows[taken++] = i;
        else
            others[left++] = i;
    }
    sf_sel all = sf_sel_all(batch->rows), some = {rows, taken}, rest = {others, left};
    bool ok = column_agrees(expr, batch, some, full, &halves) &&
              column_agrees(expr, batch, rest, full, &halves) && halves == whole;
    ok = ok && column_agrees(expr, batch, sf_sel_all(batch->rows / 2), full, &prefix);
    for (uint32_t i = 0; ok && i < batch->rows && batch->rows < 100; i++)
        ok = column_agrees(expr, batch, (sf_sel){&i, 1}, full, &singles);
    ok = ok && (batch->rows >= 100 || singles == whole);
    if (expr->type == SF_TYPE_BOOL)
        ok = ok && filter_agrees(expr, batch, all, full) && filter_agrees(expr, batch, some, full);
    sf_free(rows);
    sf_column_unref(full);
    return ok;
}

/* ---- tables of cases ---- */

static void put_errors(sf_buf *out, const sf_eval *eval)
{
    for (size_t i = 0; i < eval->errors.len; i++) {
        if (i)
            sf_buf_putc(out, ' ');
        sf_buf_printf(out, "%s@%u", sf_eval_code_text(eval->errors.data[i].code),
                      eval->errors.data[i].row);
    }
    sf_buf_puts(out, "");
}

static void check_row(const expr_row *row, const sf_batch *batch)
{
    sf_arena arena;
    sf_arena_init(&arena, 0);
    const sf_expr *expr = NULL;
    sf_error err = {0};
    sf_eval eval;
    sf_eval_init(&eval);
    eval.list_errors = true;
    sf_column *column = NULL;
    sf_buf lanes = {0}, errors = {0};
    if (read_expr(&arena, row->expr, &expr, &err) != SF_OK ||
        sf_eval_column(&eval, expr, batch, sf_sel_all(batch->rows), &column, &err) != SF_OK) {
        printf("  %s: %s\n", row->expr, err.message);
        sf_check_failures++;
    } else {
        put_lanes(&lanes, column);
        put_errors(&errors, &eval);
        const char *want = row->errors ? row->errors : "";
        if (strcmp(lanes.data, row->lanes) != 0 || strcmp(errors.data, want) != 0 ||
            column->type != expr->type) {
            printf("  %s is %s (%s), not %s (%s)\n", row->expr, lanes.data, errors.data, row->lanes,
                   want);
            sf_check_failures++;
        }
        if (!ways_agree(expr, batch, 1) || !ways_agree(expr, batch, 2)) {
            printf("  %s depends on how it is evaluated\n", row->expr);
            sf_check_failures++;
        }
    }
    sf_buf_deinit(&lanes);
    sf_buf_deinit(&errors);
    sf_column_unref(column);
    sf_eval_deinit(&eval);
    sf_arena_deinit(&arena);
}

void check_rows(const expr_row *rows, size_t count)
{
    sf_batch *batch = sample_batch();
    REQUIRE(batch);
    for (size_t i = 0; i < count; i++)
        check_row(&rows[i], batch);
    sf_batch_unref(batch);
}

void check_values(const value_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sf_arena arena;
        sf_arena_init(&arena, 0);
        const sf_expr *expr = NULL;
        sf_error err = {0};
        sf_eval eval;
        sf_eval_init(&eval);
        sf_column *column = NULL;
        sf_buf lane = {0};
        if (read_expr(&arena, rows[i].expr, &expr, &err) != SF_OK ||
            sf_eval_column(&eval, expr, NULL, sf_sel_all(1), &column, &err) != SF_OK) {
            printf("  %s: %s\n", rows[i].expr, err.message);
            sf_check_failures++;
        } else {
            put_lanes(&lane, column);
            if (strcmp(lane.data, rows[i].lane) != 0 || !sf_expr_is_constant(expr)) {
                printf("  %s is %s%s, not %s\n", rows[i].expr, lane.data,
                       sf_expr_is_constant(expr) ? "" : " and not folded", rows[i].lane);
                sf_check_failures++;
            }
        }
        sf_buf_deinit(&lane);
        sf_column_unref(column);
        sf_eval_deinit(&eval);
        sf_arena_deinit(&arena);
    }
}

void check_refusals(const refusal_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sf_arena arena;
        sf_arena_init(&arena, 0);
        const sf_expr *expr;
        sf_error err = {0};
        sf_status status = read_expr(&arena, rows[i].expr, &expr, &err);
        if (status == SF_OK || !strstr(err.message, rows[i].message) ||
            (rows[i].hint && !strstr(err.hint, rows[i].hint)) || err.where.length == 0) {
            printf("  %s: %s (%s)\n", rows[i].expr, status == SF_OK ? "accepted" : err.message,
                   err.hint);
            sf_check_failures++;
        }
        sf_arena_deinit(&arena);
    }
}
