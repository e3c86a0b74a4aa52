/* The strict pull scanner. Containers that are only passed over are walked with a bit per open
 * bracket, never by recursion. */
#include "text/scan.h"

void sf_json_init(sf_json *json, sf_str text)
{
    *json = (sf_json){.begin = text.data, .at = text.data, .end = text.data + text.len};
    if (!text.data)
        json->begin = json->at = json->end = "";
}

static bool fail(sf_json *json, const char *at, const char *problem)
{
    if (!json->problem) {
        json->problem = problem;
        json->at = at;
    }
    return false;
}

sf_status sf_json_status(const sf_json *json, sf_error *err)
{
    if (!json->problem)
        return SF_OK;
    size_t offset = sf_json_offset(json);
    sf_span where = {(uint32_t)(offset > UINT32_MAX ? UINT32_MAX : offset), 1};
    return sf_fail_at(err, SF_SYNTAX, where, "JSON text is not valid at byte %zu: %s", offset,
                      json->problem);
}

static inline void skip_space(sf_json *json)
{
    const char *at = json->at;
    while (at < json->end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    json->at = at;
}

static inline sf_json_kind kind_of_byte(char c)
{
    switch (c) {
    case '{': return SF_JSON_OBJECT;
    case '[': return SF_JSON_ARRAY;
    case '"': return SF_JSON_STRING;
    case 't':
    case 'f': return SF_JSON_BOOL;
    case 'n': return SF_JSON_NULL;
    case '-': return SF_JSON_NUMBER;
    default: return (unsigned char)(c - '0') < 10 ? SF_JSON_NUMBER : SF_JSON_NONE;
    }
}

sf_json_kind sf_json_peek(sf_json *json)
{
    if (json->problem)
        return SF_JSON_NONE;
    skip_space(json);
    return json->at < json->end ? kind_of_byte(*json->at) : SF_JSON_NONE;
}

/* ---- scalars ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hexadecimal digits; -1: not. */
static int32_t hex4(const char *at, const char *end)
{
    int32_t value = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* at: a backslash. Past the escape, NULL on a problem. */
static const char *check_escape(sf_json *json, const char *at)
{
    if (json->end - at < 2) {
        fail(json, at, "a string ends inside an escape");
        return NULL;
    }
    switch (at[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't': return at + 2;
    case 'u': break;
    default: fail(json, at, "this escape does not exist"); return NULL;
    }
    int32_t first = hex4(at + 2, json->end);
    if (first < 0) {
        fail(json, at, "\\u wants four hexadecimal digits");
        return NULL;
    }
    if (first < 0xd800 || first > 0xdfff)
        return at + 6;
    bool paired = first < 0xdc00 && json->end - at >= 12 && at[6] == '\\' && at[7] == 'u';
    int32_t second = paired ? hex4(at + 8, json->end) : -1;
    if (second < 0xdc00 || second > 0xdfff) {
        fail(json, at, "a surrogate stands alone");
        return NULL;
    }
    return at + 12;
}

bool sf_json_string_take(sf_json *json, sf_json_string *out)
{
    if (sf_json_peek(json) != SF_JSON_STRING)
        return fail(json, json->at, "a string is expected");
    const char *first = json->at + 1, *at = first;
    bool high = false, escaped = false;
    for (;;) {
        at = sf_scan_json_plain(at, json->end, &high);
        if (at == json->end)
            return fail(json, json->at, "a string has no closing quote");
        if (*at == '"')
            break;
        if (*at != '\\')
            return fail(json, at, "a control character in a string must be escaped");
        escaped = true;
        at = check_escape(json, at);
        if (!at)
            return false;
    }
    sf_str raw = {first, (size_t)(at - first)};
    if (SF_UNLIKELY(high) && !sf_utf8_valid(raw))
        return fail(json, first, "a string is not valid UTF-8");
    *out = (sf_json_string){raw, escaped};
    json->at = at + 1;
    json->fresh = false;
    return true;
}

bool sf_json_number_take(sf_json *json, sf_json_number *out)
{
    if (sf_json_peek(json) != SF_JSON_NUMBER)
        return fail(json, json->at, "a number is expected");
    const char *stop = sf_decimal_scan_json(json->at, json->end, &out->decimal);
    if (!stop)
        return fail(json, json->at, "this is not a number as JSON writes it");
    out->raw = (sf_str){json->at, (size_t)(stop - json->at)};
    json->at = stop;
    json->fresh = false;
    return true;
}

static bool take_word(sf_json *json, const char *word, size_t len)
{
    if (json->problem)
        return false;
    if ((size_t)(json->end - json->at) < len || memcmp(json->at, word, len) != 0)
        return fail(json, json->at, "only true, false and null are words");
    json->at += len;
    json->fresh = false;
    return true;
}

bool sf_json_bool_take(sf_json *json, bool *out)
{
    *out = sf_json_peek(json) == SF_JSON_BOOL && *json->at == 't';
    return *out ? take_word(json, "true", 4) : take_word(json, "false", 5);
}

bool sf_json_null_take(sf_json *json)
{
    sf_json_peek(json);
    return take_word(json, "null", 4);
}

/* ---- containers ---- */

static bool enter(sf_json *json, sf_json_kind kind)
{
    if (sf_json_peek(json) != kind)
        return fail(json, json->at,
                    kind == SF_JSON_OBJECT ? "an object is expected" : "an array is expected");
    if (json->depth >= SF_JSON_DEPTH_MAX)
        return fail(json, json->at, "objects and arrays are nested deeper than 256");
    json->at++;
    json->depth++;
    json->fresh = true;
    return true;
}

bool sf_json_object_begin(sf_json *json)
{
    return enter(json, SF_JSON_OBJECT);
}

bool sf_json_array_begin(sf_json *json)
{
    return enter(json, SF_JSON_ARRAY);
}

/* Between the values of a container: true before another one, false at the end or on a problem. */
static bool advance(sf_json *json, char closing)
{
    if (json->problem)
        return false;
    skip_space(json);
    if (json->at == json->end)
        return fail(json, json->at, "the text ends inside an object or array");
    if (*json->at == closing) {
        json->at++;
        json->depth--;
        json->fresh = false;
        return false;
    }
    if (!json->fresh) {
        if (*json->at != ',')
            return fail(json, json->at,
                        closing == '}' ? "a comma or } is expected" : "a comma or ] is expected");
        json->at++;
        skip_space(json);
    }
    json->fresh = false;
    return true;
}

/* A key and its colon. */
static bool take_key(sf_json *json, sf_json_string *key)
{
    if (sf_json_peek(json) != SF_JSON_STRING)
        return fail(json, json->at, "a key in quotes is expected");
    if (!sf_json_string_take(json, key))
        return false;
    skip_space(json);
    if (json->at == json->end || *json->at != ':')
        return fail(json, json->at, "a colon is expected after a key");
    json->at++;
    return true;
}

bool sf_json_object_next(sf_json *json, sf_json_string *key)
{
    return advance(json, '}') && take_key(json, key);
}

bool sf_json_array_next(sf_json *json)
{
    return advance(json, ']');
}

static bool skip_scalar(sf_json *json, sf_json_kind kind)
{
    sf_json_string string;
    sf_json_number number;
    bool flag;
    switch (kind) {
    case SF_JSON_STRING: return sf_json_string_take(json, &string);
    case SF_JSON_NUMBER: return sf_json_number_take(json, &number);
    case SF_JSON_BOOL: return sf_json_bool_take(json, &flag);
    case SF_JSON_NULL: return sf_json_null_take(json);
    default: return fail(json, json->at, "a value is expected");
    }
}

/* At an opening bracket: to behind its closing one. */
static bool skip_container(sf_json *json)
{
    uint64_t
        objects[SF_JSON_DEPTH_MAX / 64]; /* bit set: the container at this depth is an object */
    uint32_t outer = json->depth;
    sf_json_string key;
    do {
        sf_json_kind kind = sf_json_peek(json);
        if (kind == SF_JSON_OBJECT || kind == SF_JSON_ARRAY) {
            if (!enter(json, kind))
                return false;
            uint32_t depth = json->depth - 1;
            uint64_t bit = UINT64_C(1) << (depth % 64);
            objects[depth / 64] &= ~bit;
            objects[depth / 64] |= kind == SF_JSON_OBJECT ? bit : 0;
        } else if (!skip_scalar(json, kind)) {
            return false;
        }
        /* On to the next value, through every bracket that closes here. */
        bool more = false;
        while (json->depth > outer && !more) {
            uint32_t depth = json->depth - 1;
            bool object = objects[depth / 64] >> (depth % 64) & 1;
            more = object ? sf_json_object_next(json, &key) : sf_json_array_next(json);
            if (json->problem)
                return false;
        }
    } while (json->depth > outer);
    return true;
}

bool sf_json_skip(sf_json *json, sf_str *raw)
{
    sf_json_kind kind = sf_json_peek(json);
    const char *first = json->at;
    bool good = kind == SF_JSON_OBJECT || kind == SF_JSON_ARRAY ? skip_container(json)
                                                                : skip_scalar(json, kind);
    if (good && raw)
        *raw = (sf_str){first, (size_t)(json->at - first)};
    return good;
}

bool sf_json_finish(sf_json *json)
{
    if (json->problem)
        return false;
    skip_space(json);
    return json->at == json->end || fail(json, json->at, "text follows the value");
}

sf_status sf_json_validate(sf_str text, sf_error *err)
{
    sf_json json;
    sf_json_init(&json, text);
    if (sf_json_skip(&json, NULL))
        sf_json_finish(&json);
    return sf_json_status(&json, err);
}
