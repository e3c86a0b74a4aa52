/* Percent-decoding and query lookup. */
#include "api/http/url.h"

#include "text/text.h"

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

sf_status sf_http_decode(sf_arena *arena, sf_str encoded, bool plus_is_space, sf_str *out,
                         sf_error *err)
{
    char *text = sf_arena_alloc(arena, encoded.len + 1);
    if (!text)
        return sf_fail_memory(err);
    size_t len = 0;
    for (size_t i = 0; i < encoded.len; i++) {
        char c = encoded.data[i];
        if (c == '%') {
            int high = i + 2 < encoded.len ? hex_value(encoded.data[i + 1]) : -1;
            int low = high >= 0 ? hex_value(encoded.data[i + 2]) : -1;
            if (low < 0)
                return sf_fail(err, SF_INVALID,
                               "the URL has a %% that two hexadecimal digits do not follow");
            c = (char)(high * 16 + low);
            if (c == '\0')
                return sf_fail(err, SF_INVALID, "the URL holds %%00, which no name can contain");
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        text[len++] = c;
    }
    if (!sf_utf8_valid((sf_str){text, len}))
        return sf_fail(err, SF_INVALID, "the URL is not UTF-8 once it is decoded");
    *out = (sf_str){text, len};
    return SF_OK;
}

sf_status sf_http_query_get(sf_arena *arena, sf_str query, const char *name, sf_str *out,
                            bool *found, sf_error *err)
{
    *found = false;
    *out = (sf_str){"", 0};
    while (query.len) {
        const char *amp = memchr(query.data, '&', query.len);
        size_t len = amp ? (size_t)(amp - query.data) : query.len;
        const char *equals = memchr(query.data, '=', len);
        size_t name_len = equals ? (size_t)(equals - query.data) : len;
        sf_str key;
        SF_TRY(sf_http_decode(arena, (sf_str){query.data, name_len}, true, &key, err));
        if (sf_str_eq(key, sf_str_of(name))) {
            *found = true;
            if (!equals)
                return SF_OK;
            return sf_http_decode(arena, (sf_str){equals + 1, len - name_len - 1}, true, out, err);
        }
        size_t skip = amp ? len + 1 : len;
        query = (sf_str){query.data + skip, query.len - skip};
    }
    return SF_OK;
}

void sf_http_encode(sf_buf *buf, sf_str text)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
            (c && strchr("-._~", c))) {
            sf_buf_putc(buf, (char)c);
        } else {
            sf_buf_putc(buf, '%');
            sf_buf_putc(buf, digits[c >> 4]);
            sf_buf_putc(buf, digits[c & 15]);
        }
    }
}
