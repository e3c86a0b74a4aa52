/* Json as a whole: kinds, lengths, paths, made of values and of text. */
#include "expr/kernel.h"

#include "text/text.h"

enum { DOCUMENT_BYTES_MAX = 16 << 20 };

/* ---- asking ---- */

bool sf_fn_json_typeof(sf_call *call)
{
    static const char *const names[] = {
        [SF_JSON_NONE] = "",         [SF_JSON_NULL] = "null",     [SF_JSON_BOOL] = "boolean",
        [SF_JSON_NUMBER] = "number", [SF_JSON_STRING] = "string", [SF_JSON_ARRAY] = "array",
        [SF_JSON_OBJECT] = "object",
    };
    sf_text_out out;
    if (!sf_text_begin(&out, call, NULL))
        return false;
    for (uint32_t i = 0; i < call->rows; i++)
        if (!sf_call_is_null(call, i))
            sf_text_put(&out, i,
                        sf_str_of(names[sf_json_kind_of(sf_operand_str(&call->args[0], i))]));
    return sf_text_end(&out);
}

bool sf_fn_json_array_length(sf_call *call)
{
    for (uint32_t i = 0; i < call->rows; i++) {
        SF_OUT(call, int64_t)[i] = 0;
        if (sf_call_is_null(call, i))
            continue;
        sf_str value = sf_operand_str(&call->args[0], i);
        if (sf_json_kind_of(value) == SF_JSON_ARRAY)
            SF_OUT(call, int64_t)[i] = (int64_t)sf_json_array_len(value);
        else if (!sf_call_null(call, i))
            return false;
    }
    return true;
}

/* ---- paths: $.name, $."a name", $[0], one behind the other ---- */

typedef enum { STEP_FOUND, STEP_MISSING, STEP_BAD } step;

static step name_step(sf_str *path, sf_str *value)
{
    sf_str name = {path->data + 1, 0}, inner;
    size_t left = path->len - 1, used;
    if (left && *name.data == '"') {
        name.data++;
        const char *quote = memchr(name.data, '"', left - 1);
        if (!quote)
            return STEP_BAD;
        name.len = (size_t)(quote - name.data);
        used = name.len + 3;
    } else {
        while (name.len < left && name.data[name.len] != '.' && name.data[name.len] != '[')
            name.len++;
        used = name.len + 1;
        if (name.len == 0)
            return STEP_BAD;
    }
    *path = (sf_str){path->data + used, path->len - used};
    if (!sf_json_get_key(*value, name, &inner))
        return STEP_MISSING;
    *value = inner;
    return STEP_FOUND;
}

static step index_step(sf_str *path, sf_str *value)
{
    const char *close = memchr(path->data, ']', path->len);
    int64_t index;
    sf_str inner;
    if (!close || sf_parse_i64((sf_str){path->data + 1, (size_t)(close - path->data - 1)},
                               &index) != SF_PARSE_OK)
        return STEP_BAD;
    size_t used = (size_t)(close - path->data) + 1;
    *path = (sf_str){path->data + used, path->len - used};
    if (!sf_json_get_index(*value, index, &inner))
        return STEP_MISSING;
    *value = inner;
    return STEP_FOUND;
}

static step walk(sf_str path, sf_str *value)
{
    if (path.len && path.data[0] == '$')
        path = (sf_str){path.data + 1, path.len - 1};
    else
        return STEP_BAD;
    step found = STEP_FOUND;
    while (path.len && found == STEP_FOUND) {
        if (path.data[0] != '.' && path.data[0] != '[')
            return STEP_BAD;
        found = path.data[0] == '.' ? name_step(&path, value) : index_step(&path, value);
    }
    return found;
}

static bool extracted(sf_call *call, bool as_text)
{
    sf_text_out out;
    if (!sf_text_begin(&out, call, NULL))
        return false;
    sf_buf scratch = {0};
    bool ok = true;
    for (uint32_t i = 0; i < call->rows && ok; i++) {
        if (sf_call_is_null(call, i))
            continue;
        sf_str value = sf_operand_str(&call->args[0], i), text;
        step found = walk(sf_operand_str(&call->args[1], i), &value);
        if (found == STEP_BAD) {
            ok = sf_call_fail(call, i, SF_EVAL_DOMAIN);
        } else if (found == STEP_MISSING || sf_json_kind_of(value) == SF_JSON_NULL) {
            ok = sf_call_null(call, i);
        } else if (!as_text) {
            sf_text_put(&out, i, value);
        } else {
            ok = sf_json_text_of(value, &scratch, &text);
            if (ok)
                sf_text_put(&out, i, text);
        }
    }
    sf_buf_deinit(&scratch);
    return sf_text_end(&out) && ok;
}

bool sf_fn_json_extract(sf_call *call)
{
    return extracted(call, false);
}

bool sf_fn_json_value(sf_call *call)
{
    return extracted(call, true);
}

/* ---- making ---- */

static void put_operand(const sf_operand *operand, uint32_t lane, sf_buf *buf)
{
    sf_literal value = {.is_null = sf_operand_is_null(operand, lane)};
    if (value.is_null)
        value.as.i64 = 0;
    else if (sf_type_is_view(operand->type))
        value.as.str = sf_operand_str(operand, lane);
    else if (operand->type == SF_TYPE_BOOL)
        value.as.boolean = sf_operand_bool(operand, lane);
    else if (operand->type == SF_TYPE_F64)
        value.as.f64 = sf_operand_f64(operand, lane);
    else
        value.as.i64 = sf_operand_i64(operand, lane);
    sf_literal_put_json(operand->type, &value, buf);
}

/* False: the lane has no value. */
typedef bool maker(const sf_call *call, uint32_t lane, sf_buf *buf);

static bool made(sf_call *call, maker *make)
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
        if (!make(call, i, &buf))
            ok = sf_call_fail(call, i, SF_EVAL_CAST);
        else if (buf.len > DOCUMENT_BYTES_MAX)
            ok = sf_call_fail(call, i, SF_EVAL_OVERFLOW);
        else
            sf_text_put(&out, i, sf_buf_str(&buf));
        ok = ok && !buf.failed;
    }
    sf_buf_deinit(&buf);
    return sf_text_end(&out) && ok;
}

static bool make_one(const sf_call *call, uint32_t lane, sf_buf *buf)
{
    put_operand(&call->args[0], lane, buf);
    return true;
}

static bool make_array(const sf_call *call, uint32_t lane, sf_buf *buf)
{
    sf_buf_putc(buf, '[');
    for (uint32_t k = 0; k < call->arg_count && buf->len <= DOCUMENT_BYTES_MAX; k++) {
        if (k)
            sf_buf_putc(buf, ',');
        put_operand(&call->args[k], lane, buf);
    }
    sf_buf_putc(buf, ']');
    return true;
}

/* Keys and values in turn; a key is no NULL. */
static bool make_object(const sf_call *call, uint32_t lane, sf_buf *buf)
{
    if (call->arg_count % 2 == 1)
        return false;
    sf_buf_putc(buf, '{');
    for (uint32_t k = 0; k < call->arg_count && buf->len <= DOCUMENT_BYTES_MAX; k += 2) {
        const sf_operand *key = &call->args[k];
        if (sf_operand_is_null(key, lane) || key->type != SF_TYPE_UTF8)
            return false;
        if (k)
            sf_buf_putc(buf, ',');
        sf_json_put_string(buf, sf_operand_str(key, lane));
        sf_buf_putc(buf, ':');
        put_operand(&call->args[k + 1], lane, buf);
    }
    sf_buf_putc(buf, '}');
    return true;
}

static bool make_parsed(const sf_call *call, uint32_t lane, sf_buf *buf)
{
    sf_str text = sf_text_trim(sf_operand_str(&call->args[0], lane));
    if (sf_json_validate(text, NULL) != SF_OK)
        return false;
    sf_buf_put(buf, text.data, text.len);
    return true;
}

static bool make_keys(const sf_call *call, uint32_t lane, sf_buf *buf)
{
    sf_str object = sf_operand_str(&call->args[0], lane), value;
    size_t cursor = 0;
    sf_json_string key;
    bool any = false;
    if (sf_json_kind_of(object) != SF_JSON_OBJECT)
        return false;
    sf_buf_putc(buf, '[');
    while (sf_json_each_member(object, &cursor, &key, &value)) {
        sf_buf_puts(buf, any ? ",\"" : "\"");
        sf_buf_put(buf, key.raw.data, key.raw.len);
        sf_buf_putc(buf, '"');
        any = true;
    }
    sf_buf_putc(buf, ']');
    return true;
}

bool sf_fn_to_json(sf_call *call)
{
    return made(call, make_one);
}

bool sf_fn_json_array(sf_call *call)
{
    return made(call, make_array);
}

bool sf_fn_json_object(sf_call *call)
{
    return made(call, make_object);
}

bool sf_fn_parse_json(sf_call *call)
{
    return made(call, make_parsed);
}

bool sf_fn_json_keys(sf_call *call)
{
    return made(call, make_keys);
}
