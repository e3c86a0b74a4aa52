/* Text functions. Positions and lengths count characters (code points). */
#include "expr/kernel.h"

#include "text/text.h"

#include <utf8proc.h>

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

static bool cased(sf_call *call, bool up)
{
    sf_text_out out;
    if (!sf_text_begin(&out, call, NULL))
        return false;
    sf_buf buf = {0};
    for (uint32_t i = 0; i < call->rows; i++) {
        if (sf_call_is_null(call, i))
            continue;
        sf_str text = sf_operand_str(&call->args[0], i);
        sf_buf_clear(&buf);
        if (sf_text_is_ascii(text))
            ascii_cased(&buf, text, up);
        else
            put_cased(&buf, text, up);
        sf_text_put(&out, i, sf_buf_str(&buf));
    }
    bool ok = !buf.failed;
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

/* ---- || ---- */

bool sf_fn_concat_op(sf_call *call)
{
    sf_text_out out;
    if (!sf_text_begin(&out, call, NULL))
        return false;
    sf_buf buf = {0};
    for (uint32_t i = 0; i < call->rows; i++) {
        if (sf_call_is_null(call, i))
            continue;
        sf_buf_clear(&buf);
        for (uint32_t k = 0; k < call->arg_count; k++) {
            sf_str part = sf_operand_str(&call->args[k], i);
            sf_buf_put(&buf, part.data, part.len);
        }
        sf_text_put(&out, i, sf_buf_str(&buf));
    }
    bool ok = !buf.failed;
    sf_buf_deinit(&buf);
    return sf_text_end(&out) && ok;
}
