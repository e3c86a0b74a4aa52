/* -> and ->>: values and texts inside Json, borrowed from the argument's bytes where they can be;
 * the canonical form that Json groups by. */
#include "expr/kernel.h"

#include "text/text.h"

void sf_literal_put_json(sf_type type, const sf_literal *value, sf_buf *out)
{
    if (value->is_null) {
        sf_buf_puts(out, "null");
        return;
    }
    switch (type) {
    case SF_TYPE_BOOL: sf_buf_puts(out, value->as.boolean ? "true" : "false"); break;
    case SF_TYPE_F64: sf_json_put_f64(out, value->as.f64); break;
    case SF_TYPE_JSON: sf_buf_put(out, value->as.str.data, value->as.str.len); break;
    case SF_TYPE_UTF8: sf_json_put_string(out, value->as.str); break;
    default: sf_buf_put_i64_text(out, value->as.i64); break;
    }
}

static bool find_key(const sf_call *call, uint32_t lane, sf_str *value)
{
    return sf_json_get_key(sf_operand_str(&call->args[0], lane),
                           sf_operand_str(&call->args[1], lane), value);
}

static bool find_index(const sf_call *call, uint32_t lane, sf_str *value)
{
    return sf_json_get_index(sf_operand_str(&call->args[0], lane),
                             sf_operand_i64(&call->args[1], lane), value);
}

static bool find_self(const sf_call *call, uint32_t lane, sf_str *value)
{
    *value = sf_operand_str(&call->args[0], lane);
    return true;
}

typedef bool finder(const sf_call *call, uint32_t lane, sf_str *value);

static bool path(sf_call *call, finder *find, bool as_text)
{
    const sf_column *shared = call->args[0].column;
    sf_text_out out;
    if (!sf_text_begin(&out, call, shared))
        return false;
    sf_buf scratch = {0};
    bool ok = true;
    for (uint32_t i = 0; i < call->rows && ok; i++) {
        sf_str value, text;
        if (sf_call_is_null(call, i))
            continue;
        if (!find(call, i, &value) || sf_json_kind_of(value) == SF_JSON_NULL) {
            ok = sf_call_null(call, i);
        } else if (!as_text) {
            sf_text_slice(&out, i, value);
        } else {
            ok = sf_json_text_of(value, &scratch, &text);
            if (ok && text.data == scratch.data)
                sf_text_put(&out, i, text);
            else if (ok)
                sf_text_slice(&out, i, text);
        }
    }
    sf_buf_deinit(&scratch);
    return sf_text_end(&out) && ok;
}

bool sf_fn_json_key(sf_call *call)
{
    return path(call, find_key, false);
}

bool sf_fn_json_index(sf_call *call)
{
    return path(call, find_index, false);
}

bool sf_fn_json_key_text(sf_call *call)
{
    return path(call, find_key, true);
}

bool sf_fn_json_index_text(sf_call *call)
{
    return path(call, find_index, true);
}

bool sf_fn_json_to_str(sf_call *call)
{
    return path(call, find_self, true);
}

bool sf_fn_key_json(sf_call *call)
{
    sf_text_out out;
    if (!sf_text_begin(&out, call, NULL))
        return false;
    sf_buf canonical = {0};
    bool ok = true;
    for (uint32_t i = 0; i < call->rows && ok; i++) {
        if (sf_call_is_null(call, i))
            continue;
        sf_str value = sf_operand_str(&call->args[0], i);
        sf_buf_clear(&canonical);
        sf_status status = sf_json_canonical(value, &canonical, NULL);
        ok = status != SF_LIMIT;
        /* Json columns hold valid texts; any other would be its own key. */
        sf_text_put(&out, i, status == SF_OK ? sf_buf_str(&canonical) : value);
    }
    sf_buf_deinit(&canonical);
    return sf_text_end(&out) && ok;
}
