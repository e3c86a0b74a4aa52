/* JSON texts that were validated before: path access without a tree, strings in and out. Nothing
 * here checks grammar, and nothing reads past the end whatever the bytes are. */
#include "text/scan.h"

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

/* at: behind the opening quote. Behind the closing one, or end. */
static const char *skip_string(const char *at, const char *end, bool *escaped)
{
    bool high = false;
    while ((at = sf_scan_json_plain(at, end, &high)) < end) {
        if (*at == '"')
            return at + 1;
        if (*at == '\\') {
            *escaped = true;
            at++;
        }
        at += at < end;
    }
    return end;
}

/* at < end, not a blank. Behind the value that starts here. */
static const char *skip_value(const char *at, const char *end)
{
    bool escaped = false;
    if (*at == '"')
        return skip_string(at + 1, end, &escaped);
    if (*at != '{' && *at != '[') {
        while (at < end && *at != ',' && *at != '}' && *at != ']' && (unsigned char)*at > ' ')
            at++;
        return at;
    }
    size_t depth = 0;
    while ((at = sf_scan_json_structure(at, end)) < end) {
        char c = *at++;
        if (c == '"')
            at = skip_string(at, end, &escaped);
        else if (c == '{' || c == '[')
            depth++;
        else if (--depth == 0)
            return at;
    }
    return end;
}

sf_json_kind sf_json_kind_of(sf_str text)
{
    const char *end = text.data + text.len, *at = skip_space(text.data, end);
    if (at == end)
        return SF_JSON_NONE;
    switch (*at) {
    case '{': return SF_JSON_OBJECT;
    case '[': return SF_JSON_ARRAY;
    case '"': return SF_JSON_STRING;
    case 't':
    case 'f': return SF_JSON_BOOL;
    case 'n': return SF_JSON_NULL;
    case '-': return SF_JSON_NUMBER;
    default: return *at >= '0' && *at <= '9' ? SF_JSON_NUMBER : SF_JSON_NONE;
    }
}

/* ---- walking ---- */

/* From *cursor (0: the start) to the next item of a container that opens with `open`: past white
 * space and a comma, or past the bracket. NULL when there is none. */
static const char *next_item(sf_str text, size_t cursor, char open)
{
    const char *end = text.data + text.len;
    if (cursor > text.len)
        return NULL;
    const char *at = skip_space(text.data + cursor, end);
    if (at == end || *at != (cursor == 0 ? open : ','))
        return NULL;
    at = skip_space(at + 1, end);
    return at == end || *at == '}' || *at == ']' || *at == ',' ? NULL : at;
}

bool sf_json_each(sf_str text, size_t *cursor, sf_str *element)
{
    const char *at = next_item(text, *cursor, '[');
    if (!at)
        return false;
    const char *stop = skip_value(at, text.data + text.len);
    *element = (sf_str){at, (size_t)(stop - at)};
    *cursor = (size_t)(stop - text.data);
    return true;
}

bool sf_json_each_member(sf_str text, size_t *cursor, sf_json_string *key, sf_str *value)
{
    const char *end = text.data + text.len, *at = next_item(text, *cursor, '{');
    if (!at || *at != '"')
        return false;
    bool escaped = false;
    const char *stop = skip_string(at + 1, end, &escaped);
    if (stop < at + 2 || stop == end)
        return false;
    *key = (sf_json_string){{at + 1, (size_t)(stop - at) - 2}, escaped};
    at = skip_space(stop, end);
    if (at == end || *at != ':')
        return false;
    at = skip_space(at + 1, end);
    if (at == end)
        return false;
    stop = skip_value(at, end);
    *value = (sf_str){at, (size_t)(stop - at)};
    *cursor = (size_t)(stop - text.data);
    return true;
}

size_t sf_json_array_len(sf_str text)
{
    size_t cursor = 0, count = 0;
    sf_str element;
    while (sf_json_each(text, &cursor, &element))
        count++;
    return count;
}

bool sf_json_get_index(sf_str text, int64_t index, sf_str *out)
{
    size_t cursor = 0;
    if (index < 0)
        return false;
    while (sf_json_each(text, &cursor, out))
        if (index-- == 0)
            return true;
    return false;
}

/* ---- strings ---- */

static uint32_t hex4(const char *at)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        value = value << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return value & 0xffff;
}

/* at: a backslash of a validated string. Its UTF-8 bytes, and behind the escape; NULL when the
 * string was not validated after all. */
static const char *read_escape(const char *at, const char *end, char bytes[4], size_t *len)
{
    if (end - at < 2)
        return NULL;
    *len = 1;
    bytes[0] = at[1];
    switch (at[1]) {
    case 'b': bytes[0] = '\b'; break;
    case 'f': bytes[0] = '\f'; break;
    case 'n': bytes[0] = '\n'; break;
    case 'r': bytes[0] = '\r'; break;
    case 't': bytes[0] = '\t'; break;
    case 'u': {
        if (end - at < 6)
            return NULL;
        uint32_t c = hex4(at + 2);
        bool pair = c >= 0xd800 && c <= 0xdfff;
        if (pair && end - at < 12)
            return NULL;
        if (pair)
            c = 0x10000 + ((c - 0xd800) << 10) + (hex4(at + 8) - 0xdc00);
        *len = sf_utf8_encode(bytes, c);
        return *len == 0 ? NULL : at + (pair ? 12 : 6);
    }
    default: break;
    }
    return at + 2;
}

bool sf_json_unescape(sf_str raw, sf_buf *buf)
{
    const char *at = raw.data, *end = raw.data + raw.len;
    if (raw.len == 0)
        return sf_buf_reserve(buf, 1);
    while (at < end) {
        const char *back = memchr(at, '\\', (size_t)(end - at));
        size_t run = (size_t)((back ? back : end) - at);
        sf_buf_put(buf, at, run);
        at += run;
        if (back) {
            char bytes[4];
            size_t len = 0;
            at = read_escape(at, end, bytes, &len);
            if (!at)
                return false;
            sf_buf_put(buf, bytes, len);
        }
    }
    return !buf->failed;
}

/* Does the inside of a key, as written, say this plain text? */
static bool key_says(const sf_json_string *written, sf_str plain)
{
    if (!written->escaped)
        return sf_str_eq(written->raw, plain);
    const char *at = written->raw.data, *end = at + written->raw.len;
    size_t done = 0;
    while (at < end) {
        char bytes[4] = {*at};
        size_t len = 1;
        at = *at == '\\' ? read_escape(at, end, bytes, &len) : at + 1;
        if (!at || plain.len - done < len || memcmp(plain.data + done, bytes, len) != 0)
            return false;
        done += len;
    }
    return done == plain.len;
}

bool sf_json_get_key(sf_str text, sf_str key, sf_str *out)
{
    size_t cursor = 0;
    sf_json_string written;
    sf_str value;
    bool found = false;
    while (sf_json_each_member(text, &cursor, &written, &value)) {
        if (key_says(&written, key)) {
            *out = value;
            found = true;
        }
    }
    return found;
}

bool sf_json_text_of(sf_str value, sf_buf *scratch, sf_str *plain)
{
    *plain = value;
    if (value.len < 2 || value.data[0] != '"')
        return true;
    *plain = (sf_str){value.data + 1, value.len - 2};
    if (plain->len == 0 || !memchr(plain->data, '\\', plain->len))
        return true;
    sf_buf_clear(scratch);
    if (!sf_json_unescape(*plain, scratch))
        return false;
    *plain = sf_buf_str(scratch);
    return true;
}

void sf_json_put_string(sf_buf *buf, sf_str text)
{
    static const char hex[] = "0123456789abcdef";
    const char *at = text.data, *end = text.data + text.len;
    if (!sf_buf_reserve(buf, text.len + 2))
        return;
    sf_buf_putc(buf, '"');
    while (at < end) {
        bool high = false;
        const char *stop = sf_scan_json_plain(at, end, &high);
        sf_buf_put(buf, at, (size_t)(stop - at));
        at = stop;
        if (at == end)
            break;
        unsigned char c = (unsigned char)*at++;
        char escape[6] = {'\\', (char)c, '0', '0', hex[c >> 4], hex[c & 15]};
        const char *names = "\b\f\n\r\t", *letters = "bfnrt";
        const char *named = c ? strchr(names, c) : NULL;
        if (named)
            escape[1] = letters[named - names];
        else if (c < 0x20)
            escape[1] = 'u';
        sf_buf_put(buf, escape, escape[1] == 'u' ? 6 : 2);
    }
    sf_buf_putc(buf, '"');
}
