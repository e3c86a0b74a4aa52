/* LIKE and ILIKE: % any run, _ one character, an escape character (backslash unless given) takes
 * the next one literally. */
#include "expr/kernel.h"

#include "text/text.h"

#include <utf8proc.h>

enum { ANY_RUN = -1, ANY_ONE = -2, BAD_BYTE = 1 << 24 };

/* The next character at *at; bytes that are no UTF-8 stand for themselves. */
static int32_t next_char(const char **at, const char *end, bool fold)
{
    utf8proc_int32_t c = (unsigned char)**at;
    if (c < 0x80) {
        (*at)++;
        return fold && c >= 'A' && c <= 'Z' ? c + 0x20 : c;
    }
    utf8proc_ssize_t used =
        utf8proc_iterate((const uint8_t *)*at, (utf8proc_ssize_t)(end - *at), &c);
    if (used <= 0) {
        c = BAD_BYTE + (unsigned char)**at;
        used = 1;
    } else if (fold) {
        c = utf8proc_tolower(c);
    }
    *at += used;
    return c;
}

typedef SF_VEC(int32_t) pattern_vec;

/* SF_PARSE_BAD: ends in the escape character. SF_PARSE_RANGE: memory is short. */
static sf_parse compile(sf_str pattern, int32_t escape, bool fold, pattern_vec *out)
{
    out->len = 0;
    const char *at = pattern.data, *end = at + pattern.len;
    while (at < end) {
        const char *from = at;
        int32_t c = next_char(&at, end, false);
        int32_t item = c == '%' ? ANY_RUN : c == '_' ? ANY_ONE : c;
        if (c == escape) {
            if (at == end)
                return SF_PARSE_BAD;
            item = next_char(&at, end, fold);
        } else if (item >= 0) {
            at = from;
            item = next_char(&at, end, fold);
        }
        if (item == ANY_RUN && out->len && out->data[out->len - 1] == ANY_RUN)
            continue;
        if (!SF_VEC_PUSH(out, item))
            return SF_PARSE_RANGE;
    }
    return SF_PARSE_OK;
}

/* After a failed match the last run takes one character more; earlier runs need not change. */
static bool matches(const pattern_vec *pattern, sf_str text, bool fold)
{
    const char *at = text.data, *end = at + text.len, *retry_at = NULL;
    size_t p = 0, retry_p = 0;
    while (at < end) {
        if (p < pattern->len && pattern->data[p] == ANY_RUN) {
            retry_p = ++p;
            retry_at = at;
            if (p == pattern->len)
                return true;
            continue;
        }
        const char *next = at;
        int32_t c = next_char(&next, end, fold);
        if (p < pattern->len && (pattern->data[p] == c || pattern->data[p] == ANY_ONE)) {
            p++;
            at = next;
        } else if (retry_at) {
            next_char(&retry_at, end, false);
            at = retry_at;
            p = retry_p;
        } else {
            return false;
        }
    }
    while (p < pattern->len && pattern->data[p] == ANY_RUN)
        p++;
    return p == pattern->len;
}

/* ---- patterns that are plain searches ---- */

typedef enum { WHOLE, STARTS, ENDS, CONTAINS, GENERAL } shape;

/* The shape of a constant pattern, and the text between its runs. */
static shape shape_of(sf_str pattern, sf_str *middle)
{
    bool front = pattern.len && pattern.data[0] == '%';
    bool back = pattern.len > front && pattern.data[pattern.len - 1] == '%';
    *middle = (sf_str){pattern.data + front, pattern.len - front - back};
    for (size_t i = 0; i < middle->len; i++)
        if (middle->data[i] == '%' || middle->data[i] == '_' || middle->data[i] == '\\')
            return GENERAL;
    return front ? (back ? CONTAINS : ENDS) : back ? STARTS : WHOLE;
}

static bool simple_match(shape form, sf_str text, sf_str middle)
{
    if (text.len < middle.len)
        return false;
    switch (form) {
    case WHOLE: return sf_str_eq(text, middle);
    case STARTS: return memcmp(text.data, middle.data, middle.len) == 0;
    case ENDS: return memcmp(text.data + text.len - middle.len, middle.data, middle.len) == 0;
    default: return memmem(text.data, text.len, middle.data, middle.len) != NULL;
    }
}

static bool like_simple(sf_call *call, shape form, sf_str middle)
{
    uint8_t *out = SF_OUT(call, uint8_t);
    for (uint32_t i = 0; i < call->rows; i++)
        out[i] = simple_match(form, sf_operand_str(&call->args[0], i), middle);
    return true;
}

/* ---- the kernels ---- */

/* The escape character of a lane: -3 for none (''). False: more than one character. */
static bool escape_of(const sf_call *call, uint32_t lane, int32_t *escape)
{
    *escape = '\\';
    if (call->arg_count < 3)
        return true;
    sf_str text = sf_operand_str(&call->args[2], lane);
    const char *at = text.data;
    *escape = text.len ? next_char(&at, text.data + text.len, false) : -3;
    return text.len == 0 || at == text.data + text.len;
}

static bool like(sf_call *call, bool fold)
{
    const sf_operand *pattern = &call->args[1];
    sf_str middle;
    shape form = pattern->column || fold || call->arg_count > 2
                     ? GENERAL
                     : shape_of(pattern->constant->as.str, &middle);
    if (form != GENERAL)
        return like_simple(call, form, middle);
    uint8_t *out = SF_OUT(call, uint8_t);
    pattern_vec compiled = {0};
    bool fixed = !pattern->column && (call->arg_count < 3 || !call->args[2].column);
    bool ready = false, ok = true;
    sf_parse parsed = SF_PARSE_OK;
    for (uint32_t i = 0; i < call->rows && ok; i++) {
        out[i] = 0;
        if (sf_call_is_null(call, i))
            continue;
        int32_t escape;
        if (!ready || !fixed)
            parsed = escape_of(call, i, &escape)
                         ? compile(sf_operand_str(pattern, i), escape, fold, &compiled)
                         : SF_PARSE_BAD;
        ready = true;
        if (parsed == SF_PARSE_OK)
            out[i] = matches(&compiled, sf_operand_str(&call->args[0], i), fold);
        else
            ok = parsed == SF_PARSE_BAD && sf_call_fail(call, i, SF_EVAL_DOMAIN);
    }
    SF_VEC_DEINIT(&compiled);
    return ok;
}

bool sf_fn_like(sf_call *call)
{
    return like(call, false);
}

bool sf_fn_ilike(sf_call *call)
{
    return like(call, true);
}
