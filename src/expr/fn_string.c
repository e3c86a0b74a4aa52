/* Text functions. Positions and lengths count characters (code points). */
#include "expr/chars.h"
#include "expr/kernel.h"

#include "text/text.h"

#include <stdio.h>
#include <utf8proc.h>

/* Longer results fail: nested calls could double a text without end. */
enum { RESULT_BYTES_MAX = 16 << 20 };

static bool put_result(sf_call *call, sf_text_out *out, uint32_t lane, const sf_buf *buf)
{
    if (buf->len > RESULT_BYTES_MAX)
        return sf_call_fail(call, lane, SF_EVAL_OVERFLOW);
    sf_text_put(out, lane, sf_buf_str(buf));
    return !buf->failed;
}

/* ---- UPPER, LOWER ---- */

enum { SHARP_S = 0xdf }; /* has no capital of one letter in Unicode's simple mapping */

static void put_cased(sf_buf *buf, sf_str text, bool up)
{
    const uint8_t *at = (const uint8_t *)text.data;
    size_t left = text.len;
    while (left) {
        utf8proc_int32_t c;
        utf8proc_ssize_t used = utf8proc_iterate(at, (utf8proc_ssize_t)left, &c);
        if (used > 0) {
            uint8_t bytes[4];
            utf8proc_int32_t to = !up            ? utf8proc_tolower(c)
                                  : c == SHARP_S ? c
                                                 : utf8proc_toupper(c);
            sf_buf_put(buf, bytes, (size_t)utf8proc_encode_char(to, bytes));
        } else { /* not UTF-8: stays as it is */
            sf_buf_putc(buf, (char)*at);
            used = 1;
        }
        at += used;
        left -= (size_t)used;
    }
}

static void ascii_cased(sf_buf *buf, sf_str text, bool up)
{
    if (!sf_buf_reserve(buf, text.len))
        return;
    char *to = buf->data + buf->len;
    char first = up ? 'a' : 'A';
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        bool letter = (unsigned char)(c - first) < 26;
        to[i] = (char)(c ^ (letter ? 0x20 : 0));
    }
    buf->len += text.len;
    buf->data[buf->len] = 0;
}

/* Texts inside their views need no bytes elsewhere; zero bytes behind them stay zero. */
static inline sf_view view_cased(sf_view view, bool up)
{
    char first = up ? 'a' : 'A';
    for (int k = 0; k < SF_VIEW_INLINE; k++) {
        char c = view.u.inlined[k];
        view.u.inlined[k] = (char)(c ^ ((unsigned char)(c - first) < 26 ? 0x20 : 0));
    }
    return view;
}

static bool view_is_ascii(const sf_view *view)
{
    uint64_t head;
    uint32_t tail;
    memcpy(&head, view->u.inlined, sizeof head);
    memcpy(&tail, view->u.inlined + 8, sizeof tail);
    return ((head | tail) & 0x8080808080808080ULL) == 0;
}

static bool cased(sf_call *call, bool up)
{
    sf_text_out out;
    const sf_column *source = call->args[0].column;
    if (!sf_text_begin(&out, call, NULL))
        return false;
    sf_buf buf = {0};
    bool ok = true;
    for (uint32_t i = 0; i < call->rows && ok; i++) {
        if (sf_call_is_null(call, i))
            continue;
        const sf_view *view = source ? SF_LANES(source, sf_view) + i : NULL;
        if (view && view->len <= SF_VIEW_INLINE && view_is_ascii(view)) {
            out.lanes[i] = view_cased(*view, up);
            continue;
        }
        sf_str text = sf_operand_str(&call->args[0], i);
        sf_buf_clear(&buf);
        if (sf_text_is_ascii(text))
            ascii_cased(&buf, text, up);
        else
            put_cased(&buf, text, up);
        ok = put_result(call, &out, i, &buf);
    }
    sf_buf_deinit(&buf);
    return sf_text_end(&out) && ok;
}

bool sf_fn_upper(sf_call *call)
{
    return cased(call, true);
}

bool sf_fn_lower(sf_call *call)
{
    return cased(call, false);
}

/* ---- joining ---- */

static void put_part(sf_buf *buf, sf_str part)
{
    if (buf->len <= RESULT_BYTES_MAX)
        sf_buf_put(buf, part.data, part.len);
}

/* The arguments from `first` on that are not NULL, `between` them. */
static bool join(sf_call *call, uint32_t first, bool separated)
{
    sf_text_out out;
    if (!sf_text_begin(&out, call, NULL))
        return false;
    sf_buf buf = {0};
    bool ok = true;
    for (uint32_t i = 0; i < call->rows && ok; i++) {
        if (separated && sf_operand_is_null(&call->args[0], i)) {
            ok = sf_call_null(call, i);
            continue;
        }
        if (sf_call_is_null(call, i))
            continue;
        sf_buf_clear(&buf);
        bool any = false;
        for (uint32_t k = first; k < call->arg_count; k++) {
            if (sf_operand_is_null(&call->args[k], i))
                continue;
            if (separated && any)
                put_part(&buf, sf_operand_str(&call->args[0], i));
            put_part(&buf, sf_operand_str(&call->args[k], i));
            any = true;
        }
        ok = put_result(call, &out, i, &buf);
    }
    sf_buf_deinit(&buf);
    return sf_text_end(&out) && ok;
}

bool sf_fn_concat_op(sf_call *call)
{
    return join(call, 0, false);
}

bool sf_fn_concat(sf_call *call)
{
    return join(call, 0, false);
}

bool sf_fn_concat_ws(sf_call *call)
{
    return join(call, 1, true);
}

/* ---- REPLACE, TRANSLATE ---- */

static void replace_all(sf_buf *buf, sf_str text, sf_str from, sf_str to)
{
    const char *at = text.data, *end = at + text.len, *found;
    while (from.len && (found = memmem(at, (size_t)(end - at), from.data, from.len))) {
        put_part(buf, (sf_str){at, (size_t)(found - at)});
        put_part(buf, to);
        at = found + from.len;
    }
    put_part(buf, (sf_str){at, (size_t)(end - at)});
}

/* Each character of `from` becomes the one at its place in `to`, or goes. */
static void translate_all(sf_buf *buf, sf_str text, sf_str from, sf_str to)
{
    const char *end = text.data + text.len, *from_end = from.data + from.len;
    for (const char *at = text.data; at < end;) {
        size_t bytes = sf_char_bytes(at, end), place = 0;
        const char *f = from.data;
        while (f < from_end) {
            size_t width = sf_char_bytes(f, from_end);
            if (width == bytes && memcmp(f, at, bytes) == 0)
                break;
            f += width;
            place++;
        }
        if (f >= from_end) {
            sf_buf_put(buf, at, bytes);
        } else {
            sf_str rest = sf_skip_chars(to, place);
            if (rest.len)
                sf_buf_put(buf, rest.data, sf_char_bytes(rest.data, rest.data + rest.len));
        }
        at += bytes;
    }
}

typedef void exchange(sf_buf *buf, sf_str text, sf_str from, sf_str to);

static bool exchanged(sf_call *call, exchange *each)
{
    sf_text_out out;
    if (!sf_text_begin(&out, call, NULL))
        return false;
    sf_buf buf = {0};
    bool ok = true;
    for (uint32_t i = 0; i < call->rows && ok; i++) {
        if (sf_call_is_null(call, i))
            continue;
        sf_buf_clear(&buf);
        each(&buf, sf_operand_str(&call->args[0], i), sf_operand_str(&call->args[1], i),
             sf_operand_str(&call->args[2], i));
        ok = put_result(call, &out, i, &buf);
    }
    sf_buf_deinit(&buf);
    return sf_text_end(&out) && ok;
}

bool sf_fn_replace(sf_call *call)
{
    return exchanged(call, replace_all);
}

bool sf_fn_translate(sf_call *call)
{
    return exchanged(call, translate_all);
}

/* ---- made from one text and a number ---- */

/* Larger ones fail: a short argument must not make gigabytes. */
enum { MADE_BYTES_MAX = 64 << 10 };

static bool pad(sf_call *call, bool left)
{
    sf_text_out out;
    if (!sf_text_begin(&out, call, NULL))
        return false;
    sf_buf buf = {0};
    bool ok = true;
    for (uint32_t i = 0; i < call->rows && ok; i++) {
        if (sf_call_is_null(call, i))
            continue;
        sf_str text = sf_operand_str(&call->args[0], i);
        sf_str fill = call->arg_count > 2 ? sf_operand_str(&call->args[2], i) : SF_STR(" ");
        int64_t wanted = sf_operand_i64(&call->args[1], i);
        int64_t have = (int64_t)sf_char_count(text);
        sf_buf_clear(&buf);
        if (wanted <= have) {
            sf_str rest = sf_skip_chars(text, wanted < 0 ? 0 : (size_t)wanted);
            sf_text_put(&out, i, (sf_str){text.data, (size_t)(rest.data - text.data)});
            continue;
        }
        if (fill.len && wanted > MADE_BYTES_MAX) {
            ok = sf_call_fail(call, i, SF_EVAL_OVERFLOW);
            continue;
        }
        if (!left)
            sf_buf_put(&buf, text.data, text.len);
        const char *at = fill.data, *end = fill.data + fill.len;
        for (int64_t k = have; fill.len && k < wanted; k++) {
            size_t bytes = sf_char_bytes(at, end);
            sf_buf_put(&buf, at, bytes);
            at = at + bytes < end ? at + bytes : fill.data;
        }
        if (left)
            sf_buf_put(&buf, text.data, text.len);
        ok = put_result(call, &out, i, &buf);
    }
    sf_buf_deinit(&buf);
    return sf_text_end(&out) && ok;
}

bool sf_fn_lpad(sf_call *call)
{
    return pad(call, true);
}

bool sf_fn_rpad(sf_call *call)
{
    return pad(call, false);
}

bool sf_fn_repeat(sf_call *call)
{
    sf_text_out out;
    if (!sf_text_begin(&out, call, NULL))
        return false;
    sf_buf buf = {0};
    bool ok = true;
    for (uint32_t i = 0; i < call->rows && ok; i++) {
        if (sf_call_is_null(call, i))
            continue;
        sf_str text = sf_operand_str(&call->args[0], i);
        int64_t times = text.len ? sf_operand_i64(&call->args[1], i) : 0;
        sf_buf_clear(&buf);
        if (times > 0 && (uint64_t)times > MADE_BYTES_MAX / text.len) {
            ok = sf_call_fail(call, i, SF_EVAL_OVERFLOW);
            continue;
        }
        for (int64_t k = 0; k < times; k++)
            sf_buf_put(&buf, text.data, text.len);
        ok = put_result(call, &out, i, &buf);
    }
    sf_buf_deinit(&buf);
    return sf_text_end(&out) && ok;
}

/* ---- rewritten character by character ---- */

static void put_reversed(sf_buf *buf, sf_str text)
{
    const char *end = text.data + text.len;
    while (end > text.data) {
        const char *at = sf_char_before(text.data, end);
        sf_buf_put(buf, at, (size_t)(end - at));
        end = at;
    }
}

static bool is_word(utf8proc_int32_t c)
{
    utf8proc_category_t category = utf8proc_category(c);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO;
}

static void put_capitalised(sf_buf *buf, sf_str text)
{
    const char *end = text.data + text.len;
    bool inside = false;
    for (const char *at = text.data; at < end;) {
        size_t bytes = sf_char_bytes(at, end);
        utf8proc_int32_t c;
        bool known = utf8proc_iterate((const uint8_t *)at, (utf8proc_ssize_t)bytes, &c) > 0;
        put_cased(buf, (sf_str){at, bytes}, !inside);
        inside = known && is_word(c);
        at += bytes;
    }
}

static bool rewritten(sf_call *call, void (*put)(sf_buf *buf, sf_str text))
{
    sf_text_out out;
    if (!sf_text_begin(&out, call, NULL))
        return false;
    sf_buf buf = {0};
    bool ok = true;
    for (uint32_t i = 0; i < call->rows && ok; i++) {
        if (sf_call_is_null(call, i))
            continue;
        sf_buf_clear(&buf);
        put(&buf, sf_operand_str(&call->args[0], i));
        ok = put_result(call, &out, i, &buf);
    }
    sf_buf_deinit(&buf);
    return sf_text_end(&out) && ok;
}

bool sf_fn_reverse(sf_call *call)
{
    return rewritten(call, put_reversed);
}

bool sf_fn_initcap(sf_call *call)
{
    return rewritten(call, put_capitalised);
}

bool sf_fn_chr(sf_call *call)
{
    sf_text_out out;
    if (!sf_text_begin(&out, call, NULL))
        return false;
    bool ok = true;
    for (uint32_t i = 0; i < call->rows && ok; i++) {
        int64_t c = sf_operand_i64(&call->args[0], i);
        char bytes[4];
        size_t len = c >= 0 && c <= 0x10ffff ? sf_utf8_encode(bytes, (uint32_t)c) : 0;
        if (len == 0)
            ok = sf_call_fail(call, i, SF_EVAL_DOMAIN);
        else if (!sf_call_is_null(call, i))
            sf_text_put(&out, i, (sf_str){bytes, len});
    }
    return sf_text_end(&out) && ok;
}

bool sf_fn_to_hex(sf_call *call)
{
    sf_text_out out;
    if (!sf_text_begin(&out, call, NULL))
        return false;
    for (uint32_t i = 0; i < call->rows; i++) {
        char digits[17];
        uint64_t value = (uint64_t)sf_operand_i64(&call->args[0], i);
        int len = snprintf(digits, sizeof digits, "%llx", (unsigned long long)value);
        sf_text_put(&out, i, (sf_str){digits, (size_t)len});
    }
    return sf_text_end(&out);
}

/* substring(text, 1, from - 1) || part || substring(text, from + count) */
bool sf_fn_overlay(sf_call *call)
{
    sf_text_out out;
    if (!sf_text_begin(&out, call, NULL))
        return false;
    sf_buf buf = {0};
    bool ok = true;
    for (uint32_t i = 0; i < call->rows && ok; i++) {
        if (sf_call_is_null(call, i))
            continue;
        sf_str text = sf_operand_str(&call->args[0], i), part = sf_operand_str(&call->args[1], i);
        int64_t from = sf_operand_i64(&call->args[2], i), next;
        int64_t count =
            call->arg_count > 3 ? sf_operand_i64(&call->args[3], i) : (int64_t)sf_char_count(part);
        if (from < 1 || !sf_add_i64(from, count, &next)) {
            ok = sf_call_fail(call, i, SF_EVAL_DOMAIN);
            continue;
        }
        sf_buf_clear(&buf);
        sf_str rest = sf_skip_chars(text, (size_t)from - 1);
        put_part(&buf, (sf_str){text.data, (size_t)(rest.data - text.data)});
        put_part(&buf, part);
        put_part(&buf, sf_skip_chars(text, next < 1 ? 0 : (size_t)next - 1));
        ok = put_result(call, &out, i, &buf);
    }
    sf_buf_deinit(&buf);
    return sf_text_end(&out) && ok;
}
