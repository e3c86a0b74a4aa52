/* Functions that give a part of their first argument, without copying it, or measure it. */
#include "expr/chars.h"
#include "expr/kernel.h"

#include "text/text.h"

#include <utf8proc.h>

/* Finds the part of a lane; false: the lane fails (outside the domain). */
typedef bool slicer(const sf_call *call, uint32_t lane, sf_str text, sf_str *part);

static bool sliced(sf_call *call, slicer *find)
{
    const sf_operand *source = &call->args[0];
    sf_text_out out;
    if (!sf_text_begin(&out, call, source->column))
        return false;
    bool ok = true;
    for (uint32_t i = 0; i < call->rows && ok; i++) {
        sf_str part;
        if (sf_call_is_null(call, i))
            continue;
        if (find(call, i, sf_operand_str(source, i), &part))
            sf_text_slice(&out, i, part);
        else
            ok = sf_call_fail(call, i, SF_EVAL_DOMAIN);
    }
    return sf_text_end(&out) && ok;
}

/* The characters from..to-1, counted from 1; out of the text means less, not wrong. */
static sf_str chars_between(sf_str text, int64_t from, int64_t to)
{
    if (from < 1)
        from = 1;
    if (to <= from)
        return (sf_str){text.data, 0};
    sf_str start = sf_skip_chars(text, (size_t)from - 1);
    sf_str rest = sf_skip_chars(start, (size_t)(to - from));
    return (sf_str){start.data, (size_t)(rest.data - start.data)};
}

static bool find_substring(const sf_call *call, uint32_t lane, sf_str text, sf_str *part)
{
    int64_t from = sf_operand_i64(&call->args[1], lane), to = INT64_MAX;
    if (call->arg_count > 2) {
        int64_t length = sf_operand_i64(&call->args[2], lane);
        if (length < 0)
            return false;
        to = sf_sat_add(from, length);
    }
    *part = chars_between(text, from, to);
    return true;
}

/* n characters, all but -n when negative. */
static bool find_left(const sf_call *call, uint32_t lane, sf_str text, sf_str *part)
{
    int64_t n = sf_operand_i64(&call->args[1], lane);
    if (n < 0)
        n = sf_sat_add((int64_t)sf_char_count(text), n);
    *part = chars_between(text, 1, sf_sat_add(n, 1));
    return true;
}

static bool find_right(const sf_call *call, uint32_t lane, sf_str text, sf_str *part)
{
    int64_t n = sf_operand_i64(&call->args[1], lane), count = (int64_t)sf_char_count(text);
    int64_t skip = n < 0 ? (n == INT64_MIN ? INT64_MAX : -n) : n < count ? count - n : 0;
    *part = sf_skip_chars(text, (size_t)skip);
    return true;
}

/* ---- trimming ---- */

static bool is_one_of(const char *at, size_t bytes, sf_str chars)
{
    for (const char *c = chars.data, *end = c + chars.len; c < end;) {
        size_t width = sf_char_bytes(c, end);
        if (width == bytes && memcmp(c, at, bytes) == 0)
            return true;
        c += width;
    }
    return false;
}

static sf_str trimmed(const sf_call *call, uint32_t lane, sf_str text, bool left, bool right)
{
    sf_str chars = call->arg_count > 1 ? sf_operand_str(&call->args[1], lane) : SF_STR(" ");
    const char *at = text.data, *end = at + text.len;
    while (left && at < end) {
        size_t bytes = sf_char_bytes(at, end);
        if (!is_one_of(at, bytes, chars))
            break;
        at += bytes;
    }
    while (right && at < end) {
        const char *last = sf_char_before(at, end);
        if (!is_one_of(last, (size_t)(end - last), chars))
            break;
        end = last;
    }
    return (sf_str){at, (size_t)(end - at)};
}

static bool find_trim(const sf_call *call, uint32_t lane, sf_str text, sf_str *part)
{
    *part = trimmed(call, lane, text, true, true);
    return true;
}
static bool find_ltrim(const sf_call *call, uint32_t lane, sf_str text, sf_str *part)
{
    *part = trimmed(call, lane, text, true, false);
    return true;
}
static bool find_rtrim(const sf_call *call, uint32_t lane, sf_str text, sf_str *part)
{
    *part = trimmed(call, lane, text, false, true);
    return true;
}

/* ---- SPLIT_PART ---- */

static int64_t parts_of(sf_str text, sf_str between)
{
    int64_t parts = 1;
    const char *at = text.data, *end = at + text.len, *found;
    while ((found = memmem(at, (size_t)(end - at), between.data, between.len))) {
        at = found + between.len;
        parts++;
    }
    return parts;
}

static bool find_part(const sf_call *call, uint32_t lane, sf_str text, sf_str *part)
{
    sf_str between = sf_operand_str(&call->args[1], lane);
    int64_t n = sf_operand_i64(&call->args[2], lane);
    if (n == 0)
        return false;
    *part = (sf_str){text.data, 0};
    if (between.len == 0) {
        if (n == 1 || n == -1)
            *part = text;
        return true;
    }
    if (n < 0) /* from the end */
        n = sf_sat_add(parts_of(text, between) + 1, n);
    if (n < 1)
        return true;
    const char *at = text.data, *end = at + text.len, *found;
    for (;; n--) {
        found = memmem(at, (size_t)(end - at), between.data, between.len);
        if (n == 1) {
            *part = (sf_str){at, (size_t)((found ? found : end) - at)};
            return true;
        }
        if (!found)
            return true;
        at = found + between.len;
    }
}

#define DEFINE_SLICE(NAME, FIND)                                                                   \
    bool sf_fn_##NAME(sf_call *call)                                                               \
    {                                                                                              \
        return sliced(call, FIND);                                                                 \
    }
DEFINE_SLICE(substring, find_substring)
DEFINE_SLICE(left, find_left)
DEFINE_SLICE(right, find_right)
DEFINE_SLICE(trim, find_trim)
DEFINE_SLICE(ltrim, find_ltrim)
DEFINE_SLICE(rtrim, find_rtrim)
DEFINE_SLICE(split_part, find_part)

/* ---- measuring ---- */

static int64_t length_of(const sf_call *call, uint32_t lane)
{
    return (int64_t)sf_char_count(sf_operand_str(&call->args[0], lane));
}

static int64_t octets_of(const sf_call *call, uint32_t lane)
{
    return (int64_t)sf_operand_str(&call->args[0], lane).len;
}

static int64_t place_of(sf_str part, sf_str text)
{
    if (part.len == 0)
        return 1;
    const char *found = memmem(text.data, text.len, part.data, part.len);
    if (!found)
        return 0;
    return 1 + (int64_t)sf_char_count((sf_str){text.data, (size_t)(found - text.data)});
}

static int64_t position_of(const sf_call *call, uint32_t lane)
{
    return place_of(sf_operand_str(&call->args[0], lane), sf_operand_str(&call->args[1], lane));
}

static int64_t strpos_of(const sf_call *call, uint32_t lane)
{
    return place_of(sf_operand_str(&call->args[1], lane), sf_operand_str(&call->args[0], lane));
}

static int64_t ascii_of(const sf_call *call, uint32_t lane)
{
    sf_str text = sf_operand_str(&call->args[0], lane);
    utf8proc_int32_t c = 0;
    if (text.len &&
        utf8proc_iterate((const uint8_t *)text.data, (utf8proc_ssize_t)text.len, &c) < 0)
        c = (unsigned char)text.data[0];
    return c;
}

#define DEFINE_MEASURE(NAME, OF)                                                                   \
    bool sf_fn_##NAME(sf_call *call)                                                               \
    {                                                                                              \
        for (uint32_t i = 0; i < call->rows; i++)                                                  \
            SF_OUT(call, int64_t)[i] = sf_call_is_null(call, i) ? 0 : OF(call, i);                 \
        return true;                                                                               \
    }
DEFINE_MEASURE(length, length_of)
DEFINE_MEASURE(octet_length, octets_of)
DEFINE_MEASURE(position, position_of)
DEFINE_MEASURE(strpos, strpos_of)
DEFINE_MEASURE(ascii, ascii_of)

/* ---- testing ---- */

static bool starts(sf_str text, sf_str part)
{
    return text.len >= part.len && memcmp(text.data, part.data, part.len) == 0;
}
static bool ends(sf_str text, sf_str part)
{
    return text.len >= part.len &&
           memcmp(text.data + text.len - part.len, part.data, part.len) == 0;
}
static bool holds(sf_str text, sf_str part)
{
    return memmem(text.data, text.len, part.data, part.len) != NULL;
}

#define DEFINE_TEST(NAME, IS)                                                                      \
    bool sf_fn_##NAME(sf_call *call)                                                               \
    {                                                                                              \
        for (uint32_t i = 0; i < call->rows; i++)                                                  \
            SF_OUT(call, uint8_t)                                                                  \
        [i] = !sf_call_is_null(call, i) &&                                                         \
              IS(sf_operand_str(&call->args[0], i), sf_operand_str(&call->args[1], i));            \
        return true;                                                                               \
    }
DEFINE_TEST(starts_with, starts)
DEFINE_TEST(ends_with, ends)
DEFINE_TEST(contains, holds)
