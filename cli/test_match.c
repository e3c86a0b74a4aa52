/* Answers against expected rows: as multisets, numbers by value, Json by structure. */
#include "cli/test.h"
#include "text/text.h"

#include <math.h>

/* ---- answers ---- */

void sf_test_answer_deinit(sf_test_answer *answer)
{
    for (size_t i = 0; i < answer->batches.len; i++)
        sf_batch_unref(answer->batches.data[i]);
    SF_VEC_DEINIT(&answer->batches);
    SF_VEC_DEINIT(&answer->rows);
    sf_schema_unref(answer->schema);
    answer->schema = NULL;
}

sf_status sf_test_answer_add(sf_test_answer *answer, const sf_batch *batch, sf_error *err)
{
    if (!answer->schema)
        answer->schema = sf_schema_ref(batch->schema);
    sf_batch *kept = sf_batch_ref(batch);
    if (!SF_VEC_PUSH(&answer->batches, kept)) {
        sf_batch_unref(kept);
        return sf_fail_memory(err);
    }
    for (uint32_t row = 0; row < batch->rows; row++) {
        int64_t weight = sf_batch_weight(batch, row);
        if (weight < 0 || weight > 1000000)
            return sf_fail(err, SF_INTERNAL, "the answer has a row of weight %lld",
                           (long long)weight);
        for (int64_t i = 0; i < weight; i++)
            if (!SF_VEC_PUSH(&answer->rows, ((sf_test_row_ref){kept, row})))
                return sf_fail_memory(err);
    }
    return SF_OK;
}

static void key_text(sf_buf *buf, sf_test_row_ref ref, const uint32_t *columns, uint32_t count)
{
    sf_buf_clear(buf);
    for (uint32_t i = 0; i < count; i++) {
        sf_write_json_value(buf, ref.batch->columns[columns[i]], ref.row);
        sf_buf_putc(buf, ',');
    }
}

sf_status sf_test_answer_last(sf_test_answer *answer, const uint32_t *columns, uint32_t count,
                              sf_error *err)
{
    sf_test_fold seen = {0};
    sf_buf key = {0};
    bool ok = true;
    size_t kept = answer->rows.len;
    for (size_t i = answer->rows.len; ok && i > 0; i--) { /* from the end: the first seen is last */
        key_text(&key, answer->rows.data[i - 1], columns, count);
        if (sf_test_fold_count(&seen, sf_buf_str(&key)) == 0)
            answer->rows.data[--kept] = answer->rows.data[i - 1];
        ok = !key.failed && sf_test_fold_add(&seen, sf_buf_str(&key), 1);
    }
    answer->rows.len -= kept;
    memmove(answer->rows.data, answer->rows.data + kept,
            answer->rows.len * sizeof *answer->rows.data);
    sf_buf_deinit(&key);
    sf_test_fold_deinit(&seen);
    return ok ? SF_OK : sf_fail_memory(err);
}

/* ---- expected values ---- */

typedef struct {
    uint32_t column;
    sf_json_kind kind;
    sf_str text; /* STRING: its value */
    bool has_i64;
    int64_t i64;
    double f64;
    sf_str canonical; /* as Json */
} want_value;

typedef struct {
    want_value *values;
    uint32_t count;
} want_row;

typedef struct {
    sf_arena arena;
    const sf_test_answer *answer;
    want_row *rows; /* expected, then optional */
    size_t count, must;
    sf_buf *why;
} matcher;

static bool keep(matcher *m, const sf_buf *buf, sf_str *out)
{
    char *text =
        buf->failed ? NULL : sf_arena_strndup(&m->arena, buf->data ? buf->data : "", buf->len);
    *out = (sf_str){text, buf->len};
    return text != NULL;
}

static bool read_value(matcher *m, sf_str raw, want_value *out)
{
    sf_buf scratch = {0}, canonical = {0};
    bool ok =
        sf_json_canonical(raw, &canonical, NULL) == SF_OK && keep(m, &canonical, &out->canonical);
    out->kind = sf_json_kind_of(raw);
    if (ok && out->kind == SF_JSON_STRING) {
        ok = sf_json_text_of(raw, &scratch, &out->text);
        char *text = ok ? sf_arena_strndup(&m->arena, out->text.data, out->text.len) : NULL;
        out->text.data = text;
        ok = text != NULL;
    }
    if (ok && out->kind == SF_JSON_NUMBER) {
        out->has_i64 = sf_parse_whole(raw, &out->i64) == SF_PARSE_OK;
        if (sf_parse_f64(raw, &out->f64) != SF_PARSE_OK)
            out->f64 = NAN;
    }
    sf_buf_deinit(&scratch);
    sf_buf_deinit(&canonical);
    if (!ok)
        sf_buf_puts(m->why, "an expected value cannot be read");
    return ok;
}

static void no_column(matcher *m, sf_str name)
{
    const sf_schema *schema = m->answer->schema;
    sf_buf_printf(m->why, "the answer has no column \"%.*s\"; it has", SF_STR_ARG(name));
    for (uint32_t i = 0; i < schema->count; i++)
        if (!schema->fields[i].hidden)
            sf_buf_printf(m->why, " %s", schema->fields[i].name);
}

static bool read_row(matcher *m, sf_str json, want_row *out)
{
    size_t cursor = 0, count = 0;
    sf_json_string key;
    sf_str value;
    while (sf_json_each_member(json, &cursor, &key, &value))
        count++;
    out->values = SF_ARENA_ARRAY(&m->arena, want_value, count + 1);
    if (!out->values)
        return false;
    sf_buf name = {0};
    bool ok = true;
    for (cursor = 0; ok && sf_json_each_member(json, &cursor, &key, &value); out->count++) {
        sf_buf_clear(&name);
        ok = sf_json_unescape(key.raw, &name);
        int column = ok ? sf_schema_find(m->answer->schema, sf_buf_str(&name)) : -1;
        if (ok && column < 0)
            no_column(m, sf_buf_str(&name));
        ok = ok && column >= 0;
        if (ok) {
            out->values[out->count].column = (uint32_t)column;
            ok = read_value(m, value, &out->values[out->count]);
        }
    }
    sf_buf_deinit(&name);
    return ok;
}

/* ---- one value ---- */

static bool close_enough(double a, double b)
{
    double larger = fmax(fabs(a), fabs(b));
    return a == b || fabs(a - b) <= 1e-9 * larger;
}

static bool equals_json(const want_value *want, sf_str text)
{
    sf_buf canonical = {0};
    bool same = sf_json_canonical(text, &canonical, NULL) == SF_OK &&
                sf_str_eq(sf_buf_str(&canonical), want->canonical);
    sf_buf_deinit(&canonical);
    double number;
    if (!same && want->kind == SF_JSON_NUMBER && sf_json_kind_of(text) == SF_JSON_NUMBER)
        same = sf_parse_f64(text, &number) == SF_PARSE_OK && close_enough(number, want->f64);
    return same;
}

static bool equals(const want_value *want, const sf_column *column, uint32_t row)
{
    if (!sf_column_is_valid(column, row))
        return want->kind == SF_JSON_NULL;
    int64_t ms;
    switch (column->type) {
    case SF_TYPE_BOOL:
        return want->kind == SF_JSON_BOOL &&
               SF_LANES(column, uint8_t)[row] == (want->canonical.data[0] == 't');
    case SF_TYPE_TIMESTAMP:
        if (want->kind == SF_JSON_STRING)
            return sf_parse_time(want->text, &ms) == SF_PARSE_OK &&
                   ms == SF_LANES(column, int64_t)[row];
        return want->kind == SF_JSON_NUMBER && want->has_i64 &&
               want->i64 == SF_LANES(column, int64_t)[row];
    case SF_TYPE_I64:
        return want->kind == SF_JSON_NUMBER && want->has_i64 &&
               want->i64 == SF_LANES(column, int64_t)[row];
    case SF_TYPE_F64:
        return want->kind == SF_JSON_NUMBER &&
               close_enough(want->f64, SF_LANES(column, double)[row]);
    case SF_TYPE_UTF8:
        return want->kind == SF_JSON_STRING && sf_str_eq(want->text, sf_column_str(column, row));
    case SF_TYPE_JSON: return equals_json(want, sf_column_str(column, row));
    default: return false;
    }
}

static bool row_equals(const matcher *m, size_t want, size_t got)
{
    sf_test_row_ref ref = m->answer->rows.data[got];
    for (uint32_t i = 0; i < m->rows[want].count; i++) {
        const want_value *value = &m->rows[want].values[i];
        if (!equals(value, ref.batch->columns[value->column], ref.row))
            return false;
    }
    return true;
}

/* ---- pairing: every expected row with a row of its own ---- */

typedef struct {
    size_t left_count, right_count;
    bool turned; /* left are rows of the answer, right are wanted ones */
    size_t *right_of, *left_of, *parent, *queue;
} pairing;

#define NOBODY SIZE_MAX

static bool fits(const matcher *m, const pairing *p, size_t left, size_t right)
{
    return p->turned ? row_equals(m, right, left) : row_equals(m, left, right);
}

/* A path from a free left to a free right that alternates; breadth first, so that nothing recurses. */
static bool augment(const matcher *m, pairing *p, size_t start)
{
    size_t head = 0, tail = 0;
    for (size_t r = 0; r < p->right_count; r++)
        p->parent[r] = NOBODY;
    p->queue[tail++] = start;
    while (head < tail) {
        size_t left = p->queue[head++];
        for (size_t i = 0; i < p->right_count; i++) {
            size_t right = (i + left) % p->right_count; /* rows often come in the same order */
            if (p->parent[right] != NOBODY || !fits(m, p, left, right))
                continue;
            p->parent[right] = left;
            if (p->left_of[right] != NOBODY) {
                p->queue[tail++] = p->left_of[right];
                continue;
            }
            while (right != NOBODY) {
                size_t owner = p->parent[right], next = p->right_of[owner];
                p->left_of[right] = owner;
                p->right_of[owner] = right;
                right = owner == start ? NOBODY : next;
            }
            return true;
        }
    }
    return false;
}

/* Lefts that find no partner are listed in `alone`. */
static bool pair_all(const matcher *m, size_t left_count, size_t right_count, bool turned,
                     size_t *alone, size_t *alone_count)
{
    size_t *memory = sf_alloc((2 * left_count + 2 * right_count + 4) * sizeof *memory);
    if (!memory)
        return false;
    pairing p = {.left_count = left_count, .right_count = right_count, .turned = turned};
    p.right_of = memory;
    p.left_of = p.right_of + left_count + 1;
    p.parent = p.left_of + right_count + 1;
    p.queue = p.parent + right_count + 1;
    for (size_t i = 0; i < left_count; i++)
        p.right_of[i] = NOBODY;
    for (size_t i = 0; i < right_count; i++)
        p.left_of[i] = NOBODY;
    *alone_count = 0;
    for (size_t left = 0; left < left_count; left++)
        if (!augment(m, &p, left))
            alone[(*alone_count)++] = left;
    sf_free(memory);
    return true;
}

/* ---- the whole ---- */

enum { SHOWN_MAX = 20 };

void sf_test_print_rows(sf_buf *out, const sf_test_rows *rows)
{
    sf_buf_putc(out, '[');
    for (size_t i = 0; i < rows->len && i < SHOWN_MAX; i++)
        sf_buf_printf(out, "%s%.*s", i ? ", " : "", SF_STR_ARG(rows->data[i]));
    if (rows->len > SHOWN_MAX)
        sf_buf_printf(out, ", ... %zu rows in all", rows->len);
    sf_buf_putc(out, ']');
}

void sf_test_print_answer(sf_buf *out, const sf_test_answer *answer)
{
    sf_buf_putc(out, '[');
    for (size_t i = 0; i < answer->rows.len && i < SHOWN_MAX; i++) {
        if (i)
            sf_buf_puts(out, ", ");
        sf_write_json_row(out, answer->rows.data[i].batch, answer->rows.data[i].row, false);
    }
    if (answer->rows.len > SHOWN_MAX)
        sf_buf_printf(out, ", ... %zu rows in all", answer->rows.len);
    sf_buf_putc(out, ']');
}

static bool read_rows(matcher *m, const sf_test_rows *rows, const sf_test_rows *optional)
{
    size_t optional_count = optional ? optional->len : 0;
    m->must = rows->len;
    m->rows = SF_ARENA_ARRAY(&m->arena, want_row, rows->len + optional_count + 1);
    if (!m->rows)
        return false;
    for (size_t i = 0; i < rows->len + optional_count; i++, m->count++) {
        sf_str json = i < rows->len ? rows->data[i] : optional->data[i - rows->len];
        if (!read_row(m, json, &m->rows[i]))
            return false;
    }
    return true;
}

/* There is a pairing that covers both sides exactly when each side can be covered. */
static bool match(matcher *m, const sf_test_rows *rows)
{
    size_t got = m->answer->rows.len, alone_count = 0;
    size_t *alone = sf_alloc((got + m->count + 1) * sizeof *alone);
    bool ok = alone && pair_all(m, m->must, got, false, alone, &alone_count);
    for (size_t i = 0; ok && i < alone_count && i < SHOWN_MAX; i++)
        sf_buf_printf(m->why, "%smissing %.*s", m->why->len ? ", " : "",
                      SF_STR_ARG(rows->data[alone[i]]));
    ok = ok && pair_all(m, got, m->count, true, alone, &alone_count);
    for (size_t i = 0; ok && i < alone_count && i < SHOWN_MAX; i++) {
        sf_test_row_ref ref = m->answer->rows.data[alone[i]];
        sf_buf_puts(m->why, m->why->len ? ", unexpected " : "unexpected ");
        sf_write_json_row(m->why, ref.batch, ref.row, false);
    }
    sf_free(alone);
    if (!ok)
        sf_buf_puts(m->why, "out of memory");
    return ok && m->why->len == 0;
}

bool sf_test_match(const sf_test_answer *answer, const sf_test_rows *rows,
                   const sf_test_rows *optional, sf_buf *why)
{
    sf_buf_clear(why);
    if (!answer->schema) { /* nothing was ever emitted */
        if (rows->len)
            sf_buf_printf(why, "missing %.*s", SF_STR_ARG(rows->data[0]));
        return rows->len == 0;
    }
    matcher m = {.answer = answer, .why = why};
    sf_arena_init(&m.arena, 0);
    bool same = read_rows(&m, rows, optional);
    if (!same && why->len == 0)
        sf_buf_puts(why, "out of memory");
    same = same && match(&m, rows);
    sf_arena_deinit(&m.arena);
    return same;
}
