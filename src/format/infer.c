/* Fields from a sample of rows. */
#include "format/parser.h"

enum { PIECE_BYTES = 4096 };

/* What the values of a field had in common so far: one bit a kind seen. */
enum {
    SAW_LONG = 1,
    SAW_DOUBLE = 2,
    SAW_BOOL = 4,
    SAW_TIME = 8,
    SAW_TEXT = 16,
    SAW_NESTED = 32,
};

typedef struct {
    sf_str name; /* in the arena */
    unsigned saw;
} guess;

typedef struct {
    sf_arena *arena;
    SF_VEC(guess) guesses;
    size_t next; /* where the next key is likely to be */
    sf_buf scratch;
    bool no_memory;
} inference;

static guess *guess_of(inference *in, sf_str name)
{
    size_t count = in->guesses.len;
    for (size_t i = 0; i < count; i++) {
        size_t at = (in->next + i) % count;
        if (sf_str_eq(in->guesses.data[at].name, name)) {
            in->next = at + 1;
            return &in->guesses.data[at];
        }
    }
    if (count >= SF_COLUMNS_MAX - 2)
        return NULL;
    guess fresh = {.name = {sf_arena_strndup(in->arena, name.data, name.len), name.len}};
    if (!fresh.name.data || !SF_VEC_PUSH(&in->guesses, fresh)) {
        in->no_memory = true;
        return NULL;
    }
    in->next = count + 1;
    return &in->guesses.data[count];
}

/* A date alone stays text: only with a time of day is it surely a moment. */
static bool is_moment(sf_str text)
{
    int64_t ms;
    return text.len > 10 && sf_parse_time(text, &ms) == SF_PARSE_OK &&
           memchr(text.data, ':', text.len) != NULL;
}

static unsigned saw_number(const sf_decimal *decimal, sf_str raw)
{
    int64_t whole;
    double number;
    if (decimal->integer && sf_decimal_to_i64(decimal, raw, &whole) == SF_PARSE_OK)
        return SAW_LONG;
    return sf_decimal_to_f64(decimal, raw, &number) == SF_PARSE_OK ? SAW_DOUBLE : SAW_TEXT;
}

static sf_type type_of(unsigned saw)
{
    switch (saw) {
    case SAW_LONG: return SF_TYPE_I64;
    case SAW_DOUBLE:
    case SAW_LONG | SAW_DOUBLE: return SF_TYPE_F64;
    case SAW_BOOL: return SF_TYPE_BOOL;
    case SAW_TIME: return SF_TYPE_TIMESTAMP;
    default: return saw & SAW_NESTED ? SF_TYPE_JSON : SF_TYPE_UTF8;
    }
}

/* ---- JSON ---- */

static unsigned saw_value(sf_json *json)
{
    sf_json_string string;
    sf_json_number number;
    switch (sf_json_peek(json)) {
    case SF_JSON_NULL: sf_json_skip(json, NULL); return 0;
    case SF_JSON_BOOL: sf_json_skip(json, NULL); return SAW_BOOL;
    case SF_JSON_STRING:
        if (!sf_json_string_take(json, &string))
            return 0;
        return is_moment(string.raw) ? SAW_TIME : SAW_TEXT;
    case SF_JSON_NUMBER:
        return sf_json_number_take(json, &number) ? saw_number(&number.decimal, number.raw) : 0;
    default: sf_json_skip(json, NULL); return SAW_NESTED;
    }
}

static bool take_field(inference *in, sf_json *json, const sf_json_string *key)
{
    sf_str name = key->raw;
    if (key->escaped) {
        sf_buf_clear(&in->scratch);
        if (!sf_json_unescape(key->raw, &in->scratch)) {
            in->no_memory = true;
            return false;
        }
        name = sf_buf_str(&in->scratch);
    }
    /* Names end in a 0 byte from here on: one with a 0 inside cannot be declared. */
    bool left_out = reserved_name(name) || name.len == 0 || memchr(name.data, 0, name.len);
    guess *field = left_out ? NULL : guess_of(in, name);
    unsigned saw = saw_value(json);
    if (field)
        field->saw |= saw;
    return !in->no_memory;
}

/* An object whose text is whole; one that is malformed has no say. */
static void take_object(inference *in, sf_str row)
{
    sf_json json;
    sf_json_string key;
    if (sf_json_kind_of(row) != SF_JSON_OBJECT || sf_json_validate(row, NULL) != SF_OK)
        return;
    sf_json_init(&json, row);
    if (sf_json_object_begin(&json))
        while (sf_json_object_next(&json, &key) && take_field(in, &json, &key)) {
        }
}

static void infer_lines(inference *in, sf_str sample, bool whole)
{
    while (sample.len > 0) {
        const char *end = memchr(sample.data, '\n', sample.len);
        size_t len = end ? (size_t)(end - sample.data) : sample.len;
        if (end || whole)
            take_object(in, (sf_str){sample.data, len});
        len += end != NULL;
        sample = (sf_str){sample.data + len, sample.len - len};
    }
}

/* Top-level values, and the elements of top-level arrays. */
static void infer_document(inference *in, sf_str sample)
{
    sf_json json;
    sf_str row;
    sf_json_init(&json, sample);
    for (;;) {
        sf_json_kind kind = sf_json_peek(&json);
        if (kind == SF_JSON_NONE)
            return;
        if (kind == SF_JSON_ARRAY && sf_json_array_begin(&json)) {
            while (sf_json_array_next(&json) && sf_json_skip(&json, &row))
                take_object(in, row);
        } else if (sf_json_skip(&json, &row)) {
            take_object(in, row);
        }
        if (json.problem || in->no_memory)
            return;
    }
}

/* ---- CSV ---- */

static unsigned saw_cell(sf_str text)
{
    bool flag;
    sf_decimal decimal;
    sf_str trimmed = sf_text_trim(text);
    if (trimmed.len == 0)
        return text.len == 0 ? 0 : SAW_TEXT;
    if (sf_parse_bool(trimmed, &flag) == SF_PARSE_OK)
        return SAW_BOOL;
    const char *end = trimmed.data + trimmed.len;
    /* The JSON form: 007 is a code, not a count. */
    if (sf_decimal_scan_json(trimmed.data, end, &decimal) == end)
        return saw_number(&decimal, trimmed);
    return is_moment(trimmed) ? SAW_TIME : SAW_TEXT;
}

/* A relation of strings, one a header cell, so that the row parser splits the sample. */
static sf_status csv_schema(inference *in, sf_str sample, char *delimiter, sf_schema **out,
                            sf_error *err)
{
    sf_schema *none = sf_schema_new(NULL, 0);
    sf_parser_options options = {.format = SF_FORMAT_CSV, .schema = none};
    sf_parser *parser = NULL;
    sf_status status = none ? sf_parser_new(&options, &parser, err) : sf_fail_memory(err);
    while (status == SF_OK && sample.len > 0 && !parser->csv.headed) {
        size_t n = sample.len < PIECE_BYTES ? sample.len : PIECE_BYTES;
        status = sf_parser_feed(parser, (sf_str){sample.data, n}, err);
        sample = (sf_str){sample.data + n, sample.len - n};
    }
    if (status == SF_OK)
        status = sf_parser_finish(parser, err);
    SF_VEC(sf_field) fields = {0};
    for (size_t i = 0; status == SF_OK && i < parser->csv.columns.len; i++) {
        sf_str name = sf_text_trim(csv_header_name(parser, i));
        bool left_out = reserved_name(name) || name.len == 0 || memchr(name.data, 0, name.len);
        guess *field = left_out || !sf_utf8_valid(name) ? NULL : guess_of(in, name);
        bool fresh = field && (size_t)(field - in->guesses.data) == fields.len;
        if (in->no_memory ||
            (fresh && !SF_VEC_PUSH(&fields, ((sf_field){field->name.data, SF_TYPE_UTF8, false}))))
            status = sf_fail_memory(err);
    }
    if (status == SF_OK) {
        *delimiter = parser->csv.delimiter;
        *out = sf_schema_new(fields.data, (uint32_t)fields.len);
        status = *out ? SF_OK : sf_fail_memory(err);
    }
    SF_VEC_DEINIT(&fields);
    sf_parser_free(parser);
    sf_schema_unref(none);
    return status;
}

static void take_batch(inference *in, const sf_batch *batch)
{
    for (uint32_t i = 0; i < in->guesses.len; i++) {
        unsigned saw = 0;
        for (uint32_t row = 0; row < batch->rows; row++)
            if (sf_column_is_valid(batch->columns[i], row))
                saw |= saw_cell(sf_column_str(batch->columns[i], row));
        in->guesses.data[i].saw |= saw;
    }
}

static sf_status infer_csv(inference *in, sf_str sample, bool whole, sf_error *err)
{
    sf_schema *schema = NULL;
    sf_parser *parser = NULL;
    char delimiter = 0;
    SF_TRY(csv_schema(in, sample, &delimiter, &schema, err));
    sf_parser_options options = {.format = SF_FORMAT_CSV, .schema = schema, .delimiter = delimiter};
    sf_status status = sf_parser_new(&options, &parser, err);
    if (status == SF_OK)
        status = sf_parser_feed(parser, sample, err);
    if (status == SF_OK)
        status = whole ? sf_parser_finish(parser, err) : sf_parser_flush(parser, err);
    for (sf_batch *batch; status == SF_OK && (batch = sf_parser_next(parser)) != NULL;) {
        take_batch(in, batch);
        sf_batch_unref(batch);
    }
    sf_parser_free(parser);
    sf_schema_unref(schema);
    return status;
}

/* ---- the answer ---- */

static sf_status answer(inference *in, sf_field **fields, uint32_t *count, sf_error *err)
{
    if (in->no_memory)
        return sf_fail_memory(err);
    if (in->guesses.len == 0) {
        sf_fail(err, SF_INVALID, "the sample has no row with a field, so that no schema follows");
        sf_error_hint(err, "name the fields and their types, or give more of the input");
        return SF_INVALID;
    }
    *count = (uint32_t)in->guesses.len;
    *fields = SF_ARENA_ARRAY(in->arena, sf_field, *count);
    if (!*fields)
        return sf_fail_memory(err);
    for (uint32_t i = 0; i < *count; i++)
        (*fields)[i] =
            (sf_field){in->guesses.data[i].name.data, type_of(in->guesses.data[i].saw), false};
    return SF_OK;
}

sf_status sf_infer_fields(sf_format format, sf_str sample, bool whole, sf_arena *arena,
                          sf_field **fields, uint32_t *count, sf_error *err)
{
    inference in = {.arena = arena};
    sf_status status = SF_OK;
    if (sample.len >= 3 && memcmp(sample.data, "\xef\xbb\xbf", 3) == 0)
        sample = (sf_str){sample.data + 3, sample.len - 3};
    if (format == SF_FORMAT_NDJSON)
        infer_lines(&in, sample, whole);
    else if (format == SF_FORMAT_JSON)
        infer_document(&in, sample);
    else
        status = infer_csv(&in, sample, whole, err);
    if (status == SF_OK)
        status = answer(&in, fields, count, err);
    SF_VEC_DEINIT(&in.guesses);
    sf_buf_deinit(&in.scratch);
    return status;
}
