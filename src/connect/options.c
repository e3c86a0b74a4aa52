/* Options: one table drives reading, checking and the descriptor. */
#include "connect/connect.h"
#include "text/text.h"

enum { OPTION_BYTES_MAX = 65536 };

typedef struct {
    const char *place;
    sf_arena *arena;
    uint8_t *into;
    sf_error *err;
} option_reader;

static sf_status refuse(const option_reader *reader, const sf_option *option, const char *want)
{
    return sf_fail(reader->err, SF_INVALID, "%s.%s must be %s", reader->place, option->key, want);
}

/* The allowed words, for a hint: "a, b, c". */
static void list_words(char *out, size_t size, const char *const *words)
{
    size_t len = 0;
    out[0] = 0;
    for (; *words; words++) {
        size_t word = strlen(*words);
        if (len + word + 3 > size)
            return;
        if (len > 0) {
            memcpy(out + len, ", ", 2);
            len += 2;
        }
        memcpy(out + len, *words, word + 1);
        len += word;
    }
}

static sf_status store_string(const option_reader *reader, const sf_option *option, sf_str text)
{
    size_t max = option->max > 0 ? (size_t)option->max : OPTION_BYTES_MAX;
    if (text.len > max)
        return sf_fail(reader->err, SF_INVALID, "%s.%s has %zu bytes, %zu are allowed",
                       reader->place, option->key, text.len, max);
    if (text.len > 0 && memchr(text.data, 0, text.len))
        return refuse(reader, option, "text without NUL characters");
    const char *copy = sf_arena_strndup(reader->arena, text.data ? text.data : "", text.len);
    if (!copy)
        return sf_fail_memory(reader->err);
    memcpy(reader->into + option->offset, &copy, sizeof copy);
    return SF_OK;
}

static sf_status store_choice(const option_reader *reader, const sf_option *option, sf_str text)
{
    for (uint32_t i = 0; option->choices[i]; i++) {
        if (sf_str_eq_nocase(text, sf_str_of(option->choices[i]))) {
            memcpy(reader->into + option->offset, &i, sizeof i);
            return SF_OK;
        }
    }
    sf_fail(reader->err, SF_INVALID, "%s.%s does not know \"%.*s\"", reader->place, option->key,
            text.len > 64 ? 64 : (int)text.len, text.data);
    char words[200];
    list_words(words, sizeof words, option->choices);
    sf_error_hint(reader->err, "choose one of: %s", words);
    return SF_INVALID;
}

static sf_status store_number(const option_reader *reader, const sf_option *option, sf_str raw)
{
    int64_t value;
    bool bounded = option->min != 0 || option->max != 0;
    if (sf_parse_whole(raw, &value) != SF_PARSE_OK ||
        (bounded && (value < option->min || value > option->max))) {
        if (!bounded)
            return refuse(reader, option, "a whole number");
        return sf_fail(reader->err, SF_INVALID, "%s.%s must be a whole number from %lld to %lld",
                       reader->place, option->key, (long long)option->min, (long long)option->max);
    }
    memcpy(reader->into + option->offset, &value, sizeof value);
    return SF_OK;
}

static void store_bool(const option_reader *reader, const sf_option *option, bool value)
{
    memcpy(reader->into + option->offset, &value, sizeof value);
}

/* From the table's own text: strings, choices, numbers and words need no JSON here. */
static sf_status store_fallback(const option_reader *reader, const sf_option *option)
{
    sf_str text = sf_str_of(option->fallback);
    if (option->required)
        return sf_fail(reader->err, SF_INVALID, "%s.%s is missing", reader->place, option->key);
    switch (option->type) {
    case SF_OPTION_STRING:
    case SF_OPTION_SECRET:
    case SF_OPTION_TEXT: return store_string(reader, option, text);
    case SF_OPTION_NUMBER:
        return store_number(reader, option, option->fallback ? text : SF_STR("0"));
    case SF_OPTION_BOOL: store_bool(reader, option, sf_str_eq(text, SF_STR("true"))); return SF_OK;
    case SF_OPTION_SELECT:
        return store_choice(reader, option,
                            option->fallback ? text : sf_str_of(option->choices[0]));
    case SF_OPTION_JSON: break;
    }
    memcpy(reader->into + option->offset, &text, sizeof text);
    return SF_OK;
}

static sf_status read_string(const option_reader *reader, const sf_option *option, sf_str value)
{
    if (sf_json_kind_of(value) != SF_JSON_STRING)
        return refuse(reader, option, "a string");
    sf_buf scratch = {0};
    sf_str plain;
    sf_status status = SF_OK;
    if (!sf_json_text_of(value, &scratch, &plain))
        status = sf_fail_memory(reader->err);
    else if (option->required && plain.len == 0)
        status = refuse(reader, option, "a string that is not empty");
    else if (option->type == SF_OPTION_SELECT)
        status = store_choice(reader, option, plain);
    else
        status = store_string(reader, option, plain);
    sf_buf_deinit(&scratch);
    return status;
}

static sf_status read_value(const option_reader *reader, const sf_option *option, sf_str value)
{
    sf_json_kind kind = sf_json_kind_of(value);
    switch (option->type) {
    case SF_OPTION_STRING:
    case SF_OPTION_SECRET:
    case SF_OPTION_TEXT:
    case SF_OPTION_SELECT: return read_string(reader, option, value);
    case SF_OPTION_NUMBER:
        if (kind != SF_JSON_NUMBER)
            return refuse(reader, option, "a number");
        return store_number(reader, option, value);
    case SF_OPTION_BOOL:
        if (kind != SF_JSON_BOOL)
            return refuse(reader, option, "true or false");
        store_bool(reader, option, value.data[0] == 't');
        return SF_OK;
    case SF_OPTION_JSON: break;
    }
    char *copy = sf_arena_strndup(reader->arena, value.data, value.len);
    if (!copy)
        return sf_fail_memory(reader->err);
    memcpy(reader->into + option->offset, &(sf_str){copy, value.len}, sizeof(sf_str));
    return SF_OK;
}

static const sf_option *find_option(sf_option_list list, sf_str key)
{
    for (uint32_t i = 0; i < list.count; i++) {
        if (sf_str_eq(key, sf_str_of(list.options[i].key)))
            return &list.options[i];
    }
    return NULL;
}

static sf_status refuse_unknown(sf_option_list list, sf_str object, const option_reader *reader)
{
    size_t cursor = 0;
    sf_json_string key;
    sf_str value;
    while (sf_json_each_member(object, &cursor, &key, &value)) {
        if (!key.escaped && find_option(list, key.raw))
            continue;
        if (sf_json_kind_of(value) == SF_JSON_NULL)
            continue;
        sf_fail(reader->err, SF_INVALID, "%s has no field \"%.*s\"", reader->place,
                key.raw.len > 64 ? 64 : (int)key.raw.len, key.raw.data);
        char words[200];
        const char *names[64] = {0};
        for (uint32_t i = 0; i < list.count && i + 1 < SF_COUNT_OF(names); i++)
            names[i] = list.options[i].key;
        list_words(words, sizeof words, names);
        sf_error_hint(reader->err, "fields: %s", words);
        return SF_INVALID;
    }
    return SF_OK;
}

sf_status sf_options_read(sf_option_list list, sf_str object, const char *place, sf_arena *arena,
                          void *into, sf_error *err)
{
    option_reader reader = {.place = place, .arena = arena, .into = into, .err = err};
    object = sf_text_trim(object);
    if (object.len == 0 || sf_json_kind_of(object) == SF_JSON_NULL)
        object = SF_STR("{}");
    if (sf_json_validate(object, err) != SF_OK) {
        sf_error_context(err, "%s", place);
        return SF_SYNTAX;
    }
    if (sf_json_kind_of(object) != SF_JSON_OBJECT)
        return sf_fail(err, SF_INVALID, "%s must be an object", place);
    SF_TRY(refuse_unknown(list, object, &reader));
    for (uint32_t i = 0; i < list.count; i++) {
        const sf_option *option = &list.options[i];
        sf_str value;
        bool present = sf_json_get_key(object, sf_str_of(option->key), &value) &&
                       sf_json_kind_of(value) != SF_JSON_NULL;
        SF_TRY(present ? read_value(&reader, option, value) : store_fallback(&reader, option));
    }
    return SF_OK;
}
