/* UTF-8 and ASCII. */
#include "text/scan.h"

/* The first byte that is not ASCII, or end. */
static const char *skip_ascii(const char *at, const char *end)
{
#if defined(__AVX2__)
    while (end - at >= 32) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)at);
        uint32_t high = (uint32_t)_mm256_movemask_epi8(v);
        if (high)
            return at + __builtin_ctz(high);
        at += 32;
    }
#endif
    while (end - at >= 8) {
        uint64_t high = sf_load_u64(at) & SF_BYTES(0x80);
        if (high)
            return at + (__builtin_ctzll(high) >> 3);
        at += 8;
    }
    while (at < end && (unsigned char)*at < 0x80)
        at++;
    return at;
}

bool sf_text_is_ascii(sf_str text)
{
    const char *end = text.data + text.len;
    return text.len == 0 || skip_ascii(text.data, end) == end;
}

static bool continues(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Length of the sequence that starts with a byte >= 0x80; 0: not valid. */
static size_t sequence(const unsigned char *at, size_t left)
{
    unsigned char lead = at[0];
    if (lead < 0xc2 || left < 2 || !continues(at[1]))
        return 0;
    if (lead < 0xe0)
        return 2;
    if (left < 3 || !continues(at[2]))
        return 0;
    if (lead < 0xf0) {
        bool overlong = lead == 0xe0 && at[1] < 0xa0, surrogate = lead == 0xed && at[1] > 0x9f;
        return overlong || surrogate ? 0 : 3;
    }
    if (lead > 0xf4 || left < 4 || !continues(at[3]))
        return 0;
    bool overlong = lead == 0xf0 && at[1] < 0x90, beyond = lead == 0xf4 && at[1] > 0x8f;
    return overlong || beyond ? 0 : 4;
}

bool sf_utf8_valid(sf_str text)
{
    if (text.len == 0)
        return true;
    const char *at = text.data, *end = text.data + text.len;
    while ((at = skip_ascii(at, end)) < end) {
        /* Text that is not ASCII seldom is so for one sequence only. */
        while (at < end && (unsigned char)*at >= 0x80) {
            size_t len = sequence((const unsigned char *)at, (size_t)(end - at));
            if (len == 0)
                return false;
            at += len;
        }
    }
    return true;
}

size_t sf_utf8_encode(char out[4], uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    static const unsigned char lead[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(lead[len] | c);
    return len;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

sf_str sf_text_trim(sf_str text)
{
    while (text.len && is_blank(text.data[0])) {
        text.data++;
        text.len--;
    }
    while (text.len && is_blank(text.data[text.len - 1]))
        text.len--;
    return text;
}
