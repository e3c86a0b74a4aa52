/* chars.h: walking texts by characters (code points). Bytes that are no UTF-8 count as one each.
 * Private to this module. */
#ifndef SF_EXPR_CHARS_H
#define SF_EXPR_CHARS_H

#include "base/base.h"

static inline bool sf_is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Bytes of the character at `at`, which lies before end. */
static inline size_t sf_char_bytes(const char *at, const char *end)
{
    unsigned char lead = (unsigned char)*at;
    size_t bytes = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if ((size_t)(end - at) < bytes)
        return 1;
    for (size_t k = 1; k < bytes; k++)
        if (!sf_is_continuation(at[k]))
            return 1;
    return bytes;
}

/* The character that ends at end. */
static inline const char *sf_char_before(const char *begin, const char *end)
{
    for (const char *at = end - 1; at >= begin && end - at <= 4; at--)
        if (!sf_is_continuation(*at))
            return sf_char_bytes(at, end) == (size_t)(end - at) ? at : end - 1;
    return end - 1;
}

static inline size_t sf_char_count(sf_str text)
{
    size_t count = 0;
    for (const char *at = text.data, *end = at + text.len; at < end; count++)
        at += sf_char_bytes(at, end);
    return count;
}

/* The text behind its first count characters; empty when there are no more. */
static inline sf_str sf_skip_chars(sf_str text, size_t count)
{
    const char *at = text.data, *end = at + text.len;
    for (; count && at < end; count--)
        at += sf_char_bytes(at, end);
    return (sf_str){at, (size_t)(end - at)};
}

#endif
