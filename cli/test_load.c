/* A case from its JSON. Fields that no case has are refused: a misspelt one would test nothing. */
#include "cli/test.h"
#include "text/text.h"

#define FIELDS_CASE                                                                                \
    "id title kind note mode input sources tables sql events sql_steps compare optional_rows "     \
    "or_rows or_error_contains manual expect flush"
#define FIELDS_SOURCE "name fields lateness_ms idle_ms"
#define FIELDS_FIELD  "name type children isArray"
#define FIELDS_QUERY  "name sql kind"
#define FIELDS_EVENT  "source row retract advance_ms watermark restart expect"
#define FIELDS_EXPECT                                                                              \
    "rows error_contains line column flush optional_rows or_rows or_error_contains report"
#define FIELDS_INPUT "format source text bytes_b64 onCoercionFailure rejectUnknownFields delimiter"

static bool is_word_of(const char *words, sf_str word)
{
    while (*words) {
        size_t length = strcspn(words, " ");
        if (sf_str_eq((sf_str){words, length}, word))
            return true;
        words += length + (words[length] == ' ');
    }
    return false;
}

static sf_status check_fields(sf_str object, const char *what, const char *words, sf_error *err)
{
    size_t cursor = 0;
    sf_json_string key;
    sf_str value;
    if (sf_json_kind_of(object) != SF_JSON_OBJECT)
        return sf_fail(err, SF_INVALID, "%s is not a JSON object", what);
    while (sf_json_each_member(object, &cursor, &key, &value)) {
        if (is_word_of(words, key.raw))
            continue;
        sf_fail(err, SF_INVALID, "%s has an unknown field \"%.*s\"", what,
                key.raw.len > 60 ? 60 : (int)key.raw.len, key.raw.data);
        sf_error_hint(err, "the fields are: %s", words);
        return SF_INVALID;
    }
    return SF_OK;
}

/* ---- members by kind; absent ones leave *out as it is ---- */

static bool member(sf_str object, const char *key, sf_str *out)
{
    return sf_json_get_key(object, sf_str_of(key), out) && sf_json_kind_of(*out) != SF_JSON_NULL;
}

static sf_status get_text(sf_arena *arena, sf_str object, const char *key, sf_str *out,
                          sf_error *err)
{
    sf_str value, plain;
    sf_buf scratch = {0};
    if (!member(object, key, &value))
        return SF_OK;
    if (sf_json_kind_of(value) != SF_JSON_STRING)
        return sf_fail(err, SF_INVALID, "\"%s\" is not a text", key);
    bool read = sf_json_text_of(value, &scratch, &plain);
    char *kept = read ? sf_arena_strndup(arena, plain.data, plain.len) : NULL;
    *out = (sf_str){kept, kept ? plain.len : 0};
    sf_buf_deinit(&scratch);
    return kept ? SF_OK : sf_fail_memory(err);
}

static sf_status get_name(sf_arena *arena, sf_str object, const char *key, const char **out,
                          sf_error *err)
{
    sf_str text = {NULL, 0};
    SF_TRY(get_text(arena, object, key, &text, err));
    if (text.data)
        *out = text.data;
    return SF_OK;
}

static sf_status need_name(sf_arena *arena, sf_str object, const char *what, const char *key,
                           const char **out, sf_error *err)
{
    *out = "";
    SF_TRY(get_name(arena, object, key, out, err));
    return **out ? SF_OK : sf_fail(err, SF_INVALID, "%s has no \"%s\"", what, key);
}

static sf_status get_number(sf_str object, const char *key, int64_t *out, sf_error *err)
{
    sf_str value;
    if (!member(object, key, &value))
        return SF_OK;
    if (sf_json_kind_of(value) != SF_JSON_NUMBER || sf_parse_whole(value, out) != SF_PARSE_OK)
        return sf_fail(err, SF_INVALID, "\"%s\" is not a whole number", key);
    return SF_OK;
}

static sf_status get_bool(sf_str object, const char *key, bool *out, sf_error *err)
{
    sf_str value;
    if (!member(object, key, &value))
        return SF_OK;
    if (sf_json_kind_of(value) != SF_JSON_BOOL)
        return sf_fail(err, SF_INVALID, "\"%s\" is neither true nor false", key);
    *out = value.data[0] == 't';
    return SF_OK;
}

static sf_status get_array(sf_str object, const char *key, sf_str *out, sf_error *err)
{
    *out = SF_STR("[]");
    if (member(object, key, out) && sf_json_kind_of(*out) != SF_JSON_ARRAY)
        return sf_fail(err, SF_INVALID, "\"%s\" is not an array", key);
    return SF_OK;
}

/* ---- sources ---- */

static sf_status load_field(sf_test_case *test, sf_str json, sf_field *out, sf_error *err)
{
    sf_str type = {"", 0};
    bool is_array = false;
    sf_str children;
    SF_TRY(check_fields(json, "a field", FIELDS_FIELD, err));
    SF_TRY(need_name(&test->arena, json, "a field", "name", &out->name, err));
    SF_TRY(get_text(&test->arena, json, "type", &type, err));
    SF_TRY(get_bool(json, "isArray", &is_array, err));
    if (!sf_type_from_name(type, &out->type)) {
        sf_fail(err, SF_INVALID, "field \"%s\" has the unknown type \"%.*s\"", out->name,
                SF_STR_ARG(type));
        sf_error_hint(err, "the types are String, Double, Long, Bool, Timestamp and Json");
        return SF_INVALID;
    }
    if (is_array || member(json, "children", &children))
        out->type = SF_TYPE_JSON;
    return SF_OK;
}

static sf_status load_source(sf_test_case *test, sf_str json, sf_error *err)
{
    sf_test_source source = {.lateness_ms = 1000, .idle_ms = 1000};
    sf_str fields, field;
    size_t cursor = 0;
    SF_TRY(check_fields(json, "a source", FIELDS_SOURCE, err));
    SF_TRY(need_name(&test->arena, json, "a source", "name", &source.name, err));
    SF_TRY(get_number(json, "lateness_ms", &source.lateness_ms, err));
    SF_TRY(get_number(json, "idle_ms", &source.idle_ms, err));
    SF_TRY(get_array(json, "fields", &fields, err));
    size_t count = sf_json_array_len(fields);
    if (count > SF_COLUMNS_MAX - 2)
        return sf_fail(err, SF_LIMIT, "source \"%s\" has too many fields", source.name);
    source.fields = SF_ARENA_ARRAY(&test->arena, sf_field, count + 1);
    if (!source.fields)
        return sf_fail_memory(err);
    while (sf_json_each(fields, &cursor, &field))
        SF_TRY(load_field(test, field, &source.fields[source.field_count++], err));
    source.schema = sf_relation_schema(source.fields, source.field_count, SF_INPUT_SOURCE);
    if (!source.schema)
        return sf_fail_memory(err);
    if (SF_VEC_PUSH(&test->sources, source))
        return SF_OK;
    sf_schema_unref(source.schema);
    return sf_fail_memory(err);
}

static sf_status find_source(const sf_test_case *test, const char *name, uint32_t *out,
                             sf_error *err)
{
    for (size_t i = 0; i < test->sources.len; i++) {
        if (strcmp(test->sources.data[i].name, name) == 0) {
            *out = (uint32_t)i;
            return SF_OK;
        }
    }
    return sf_fail(err, SF_INVALID, "there is no source \"%s\" in this case", name);
}

/* ---- queries ---- */

static sf_status load_query(sf_test_case *test, sf_str json, const char *what, sf_test_query *out,
                            sf_error *err)
{
    const char *kind = "table";
    SF_TRY(check_fields(json, what, FIELDS_QUERY, err));
    SF_TRY(need_name(&test->arena, json, what, "name", &out->name, err));
    SF_TRY(get_text(&test->arena, json, "sql", &out->sql, err));
    SF_TRY(get_name(&test->arena, json, "kind", &kind, err));
    if (!out->sql.data)
        return sf_fail(err, SF_INVALID, "%s \"%s\" has no \"sql\"", what, out->name);
    if (strcmp(kind, "table") != 0 && strcmp(kind, "pipeline") != 0)
        return sf_fail(err, SF_INVALID, "%s \"%s\" is neither a table nor a pipeline", what,
                       out->name);
    out->kind = strcmp(kind, "table") == 0 ? SF_PLAN_TABLE : SF_PLAN_PIPELINE;
    return SF_OK;
}

static sf_status load_queries(sf_test_case *test, sf_str json, sf_error *err)
{
    sf_str array, item;
    size_t cursor = 0;
    SF_TRY(get_array(json, "tables", &array, err));
    while (sf_json_each(array, &cursor, &item)) {
        sf_test_query query = {0};
        SF_TRY(load_query(test, item, "a table", &query, err));
        if (!SF_VEC_PUSH(&test->tables, query))
            return sf_fail_memory(err);
    }
    cursor = 0;
    SF_TRY(get_array(json, "sql_steps", &array, err));
    while (sf_json_each(array, &cursor, &item)) {
        sf_test_query query = {0};
        SF_TRY(load_query(test, item, "a step", &query, err));
        if (!SF_VEC_PUSH(&test->steps, query))
            return sf_fail_memory(err);
    }
    SF_TRY(get_text(&test->arena, json, "sql", &test->sql, err));
    return test->sql.data ? SF_OK : sf_fail(err, SF_INVALID, "the case has no \"sql\"");
}

/* ---- expectations ---- */

static sf_status load_rows(sf_str array, sf_test_rows *out, sf_error *err)
{
    size_t cursor = 0;
    sf_str row;
    while (sf_json_each(array, &cursor, &row)) {
        if (sf_json_kind_of(row) != SF_JSON_OBJECT)
            return sf_fail(err, SF_INVALID, "an expected row is not a JSON object");
        if (!SF_VEC_PUSH(out, row))
            return sf_fail_memory(err);
    }
    return SF_OK;
}

/* An array of rows, or an array of such arrays. */
static sf_status load_alternatives(sf_str array, sf_test_expect *expect, sf_error *err)
{
    size_t cursor = 0;
    sf_str item;
    bool nested = sf_json_get_index(array, 0, &item) && sf_json_kind_of(item) == SF_JSON_ARRAY;
    for (;;) {
        if (nested && !sf_json_each(array, &cursor, &item))
            return SF_OK;
        if (nested && sf_json_kind_of(item) != SF_JSON_ARRAY)
            return sf_fail(err, SF_INVALID, "\"or_rows\" mixes rows and lists of rows");
        sf_test_rows rows = {0};
        sf_status status = load_rows(nested ? item : array, &rows, err);
        if (status == SF_OK && !SF_VEC_PUSH(&expect->or_rows, rows))
            status = sf_fail_memory(err);
        if (status != SF_OK)
            SF_VEC_DEINIT(&rows);
        if (status != SF_OK || !nested)
            return status;
    }
}

/* What may stand in "expect" or beside it. */
static sf_status load_alternative_fields(sf_test_case *test, sf_str json, sf_test_expect *expect,
                                         sf_error *err)
{
    sf_str value;
    if (member(json, "optional_rows", &value))
        SF_TRY(load_rows(value, &expect->optional_rows, err));
    if (member(json, "or_rows", &value))
        SF_TRY(load_alternatives(value, expect, err));
    if (member(json, "or_error_contains", &value)) {
        expect->or_error = true;
        SF_TRY(get_text(&test->arena, json, "or_error_contains", &expect->or_error_contains, err));
    }
    return get_bool(json, "flush", &test->flush, err);
}

static sf_status load_expect(sf_test_case *test, sf_str json, sf_test_expect *out, sf_error *err)
{
    sf_str rows;
    int64_t line = 0, column = 0;
    SF_TRY(check_fields(json, "\"expect\"", FIELDS_EXPECT, err));
    out->given = true;
    bool has_rows = member(json, "rows", &rows);
    if (has_rows && sf_json_kind_of(rows) != SF_JSON_ARRAY)
        return sf_fail(err, SF_INVALID, "\"rows\" is not an array");
    if (has_rows)
        SF_TRY(load_rows(rows, &out->rows, err));
    SF_TRY(get_text(&test->arena, json, "error_contains", &out->error_contains, err));
    SF_TRY(get_number(json, "line", &line, err));
    SF_TRY(get_number(json, "column", &column, err));
    out->refused = out->error_contains.data != NULL;
    out->line = line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
    out->column = column > 0 && column <= INT32_MAX ? (uint32_t)column : 0;
    if (member(json, "report", &out->report) && sf_json_kind_of(out->report) != SF_JSON_OBJECT)
        return sf_fail(err, SF_INVALID, "\"report\" is not an object");
    if (has_rows == out->refused)
        return sf_fail(err, SF_INVALID, "\"expect\" needs either \"rows\" or \"error_contains\"");
    return load_alternative_fields(test, json, out, err);
}

/* ---- events ---- */

static sf_status load_event_source(sf_test_case *test, sf_str json, sf_test_event *event,
                                   sf_error *err)
{
    const char *name;
    SF_TRY(need_name(&test->arena, json, "an event", "source", &name, err));
    return find_source(test, name, &event->source, err);
}

static sf_status load_event(sf_test_case *test, sf_str json, sf_test_event *event, sf_error *err)
{
    sf_str value;
    bool restart = false;
    SF_TRY(check_fields(json, "an event", FIELDS_EVENT, err));
    SF_TRY(get_bool(json, "restart", &restart, err));
    if (restart) {
        event->kind = SF_TEST_RESTART;
        return SF_OK;
    }
    if (member(json, "expect", &value)) {
        event->kind = SF_TEST_EXPECT;
        return load_expect(test, value, &event->expect, err);
    }
    if (member(json, "advance_ms", &value)) {
        event->kind = SF_TEST_ADVANCE;
        return get_number(json, "advance_ms", &event->amount, err);
    }
    SF_TRY(load_event_source(test, json, event, err));
    if (member(json, "watermark", &value)) {
        event->kind = SF_TEST_WATERMARK;
        return get_number(json, "watermark", &event->amount, err);
    }
    event->kind = SF_TEST_ROW;
    event->retract = member(json, "retract", &event->row);
    if (event->retract)
        test->sources.data[event->source].retracts = true;
    if (!event->retract && !member(json, "row", &event->row))
        return sf_fail(err, SF_INVALID, "an event says neither \"row\" nor anything else");
    return SF_OK;
}

static sf_status load_events(sf_test_case *test, sf_str json, sf_error *err)
{
    sf_str array, item;
    size_t cursor = 0;
    SF_TRY(get_array(json, "events", &array, err));
    while (sf_json_each(array, &cursor, &item)) {
        sf_test_event event = {.number = (uint32_t)test->events.len + 1};
        if (!SF_VEC_PUSH(&test->events, event))
            return sf_fail_memory(err);
        sf_status status = load_event(test, item, &test->events.data[test->events.len - 1], err);
        if (status != SF_OK) {
            sf_error_context(err, "event %u", event.number);
            return status;
        }
    }
    return SF_OK;
}

/* ---- bytes of a format ---- */

static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static sf_status decode_base64(sf_arena *arena, sf_str text, sf_str *out, sf_error *err)
{
    char *bytes = sf_arena_alloc(arena, text.len + 1);
    size_t count = 0;
    uint32_t bits = 0, held = 0;
    if (!bytes)
        return sf_fail_memory(err);
    while (text.len && text.data[text.len - 1] == '=')
        text.len--;
    for (size_t i = 0; i < text.len; i++) {
        int value = base64_value(text.data[i]);
        if (value < 0)
            return sf_fail(err, SF_INVALID, "\"bytes_b64\" is not base64");
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            bytes[count++] = (char)(bits >> held & 0xFF);
        }
    }
    *out = (sf_str){bytes, count};
    return SF_OK;
}

static sf_status load_input(sf_test_case *test, sf_str json, sf_error *err)
{
    const char *format, *source, *policy = "Null", *delimiter = "";
    sf_str input, coded = {NULL, 0};
    if (!member(json, "input", &input))
        return sf_fail(err, SF_INVALID, "a case of mode format has no \"input\"");
    SF_TRY(check_fields(input, "\"input\"", FIELDS_INPUT, err));
    SF_TRY(need_name(&test->arena, input, "\"input\"", "format", &format, err));
    SF_TRY(need_name(&test->arena, input, "\"input\"", "source", &source, err));
    SF_TRY(find_source(test, source, &test->input.source, err));
    if (!sf_format_from_name(sf_str_of(format), &test->input.format))
        return sf_fail(err, SF_INVALID, "there is no format \"%s\"", format);
    SF_TRY(get_name(&test->arena, input, "onCoercionFailure", &policy, err));
    if (!sf_coercion_from_name(sf_str_of(policy), &test->input.on_misfit))
        return sf_fail(err, SF_INVALID, "there is no coercion policy \"%s\"", policy);
    SF_TRY(get_bool(input, "rejectUnknownFields", &test->input.reject_unknown_fields, err));
    SF_TRY(get_name(&test->arena, input, "delimiter", &delimiter, err));
    test->input.delimiter = delimiter[0];
    SF_TRY(get_text(&test->arena, input, "text", &test->input.bytes, err));
    SF_TRY(get_text(&test->arena, input, "bytes_b64", &coded, err));
    if (!coded.data == !test->input.bytes.data)
        return sf_fail(err, SF_INVALID, "\"input\" needs either \"text\" or \"bytes_b64\"");
    return coded.data ? decode_base64(&test->arena, coded, &test->input.bytes, err) : SF_OK;
}

/* ---- the case ---- */

static sf_status load_mode(sf_test_case *test, sf_str json, sf_error *err)
{
    const char *mode = "table", *compare = NULL;
    SF_TRY(get_name(&test->arena, json, "mode", &mode, err));
    SF_TRY(get_name(&test->arena, json, "compare", &compare, err));
    if (strcmp(mode, "table") == 0)
        test->mode = SF_TEST_TABLE;
    else if (strcmp(mode, "pipeline") == 0)
        test->mode = SF_TEST_PIPELINE;
    else if (strcmp(mode, "format") == 0)
        test->mode = SF_TEST_FORMAT;
    else
        return sf_fail(err, SF_UNSUPPORTED, "sf test runs no cases of mode \"%s\"", mode);
    if (compare && strcmp(compare, "last_per_window_key") != 0)
        return sf_fail(err, SF_INVALID, "there is no comparison \"%s\"", compare);
    test->last_per_window_key = compare != NULL;
    return SF_OK;
}

static sf_status load_parts(sf_test_case *test, sf_str json, sf_error *err)
{
    sf_str array, item;
    size_t cursor = 0;
    SF_TRY(check_fields(json, "the case", FIELDS_CASE, err));
    SF_TRY(get_array(json, "sources", &array, err));
    while (sf_json_each(array, &cursor, &item))
        SF_TRY(load_source(test, item, err));
    SF_TRY(load_queries(test, json, err));
    SF_TRY(load_events(test, json, err));
    if (test->mode == SF_TEST_FORMAT)
        SF_TRY(load_input(test, json, err));
    if (!member(json, "expect", &item))
        return sf_fail(err, SF_INVALID, "the case has no \"expect\"");
    SF_TRY(load_expect(test, item, &test->expect, err));
    return load_alternative_fields(test, json, &test->expect, err);
}

sf_status sf_test_load(sf_test_case *test, const char *file, uint32_t line, sf_str json,
                       sf_error *err)
{
    *test = (sf_test_case){
        .file = file, .line = line, .id = "", .title = "", .kind = "", .flush = true};
    sf_arena_init(&test->arena, 0);
    SF_TRY(sf_json_validate(json, err));
    if (sf_json_kind_of(json) != SF_JSON_OBJECT)
        return sf_fail(err, SF_INVALID, "a case is a JSON object");
    SF_TRY(get_name(&test->arena, json, "id", &test->id, err));
    SF_TRY(get_name(&test->arena, json, "title", &test->title, err));
    SF_TRY(get_name(&test->arena, json, "kind", &test->kind, err));
    SF_TRY(get_bool(json, "manual", &test->manual, err));
    if (test->manual)
        return SF_OK;
    SF_TRY(load_mode(test, json, err));
    return load_parts(test, json, err);
}

static void deinit_expect(sf_test_expect *expect)
{
    SF_VEC_DEINIT(&expect->rows);
    SF_VEC_DEINIT(&expect->optional_rows);
    for (size_t i = 0; i < expect->or_rows.len; i++)
        SF_VEC_DEINIT(&expect->or_rows.data[i]);
    SF_VEC_DEINIT(&expect->or_rows);
}

void sf_test_deinit(sf_test_case *test)
{
    for (size_t i = 0; i < test->events.len; i++) {
        sf_batch_unref(test->events.data[i].batch);
        deinit_expect(&test->events.data[i].expect);
    }
    for (size_t i = 0; i < test->sources.len; i++)
        sf_schema_unref(test->sources.data[i].schema);
    SF_VEC_DEINIT(&test->events);
    SF_VEC_DEINIT(&test->sources);
    SF_VEC_DEINIT(&test->tables);
    SF_VEC_DEINIT(&test->steps);
    deinit_expect(&test->expect);
    sf_arena_deinit(&test->arena);
}
