/* SignalR JSON messages. */
#include "api/hub/signalr.h"

#include "text/text.h"

#include <stdio.h>

/* ---- reading ---- */

static bool copy_text(sf_json *json, char *out, size_t max, sf_buf *scratch)
{
    sf_json_string text;
    if (!sf_json_string_take(json, &text))
        return false;
    sf_str plain = text.raw;
    if (text.escaped) {
        sf_buf_clear(scratch);
        if (!sf_json_unescape(text.raw, scratch))
            return false;
        plain = sf_buf_str(scratch);
    }
    if (plain.len > max || memchr(plain.data, '\0', plain.len)) {
        json->problem = "a name in a hub message is too long";
        return false;
    }
    memcpy(out, plain.data, plain.len);
    out[plain.len] = '\0';
    return true;
}

static bool take_arguments(sf_json *json, sf_signalr_message *out)
{
    if (sf_json_peek(json) != SF_JSON_ARRAY) {
        json->problem = "the arguments of a hub message must be an array";
        return false;
    }
    out->has_arguments = true;
    out->argument_count = 0;
    if (!sf_json_array_begin(json))
        return false;
    while (sf_json_array_next(json)) {
        sf_str value;
        if (!sf_json_skip(json, &value))
            return false;
        if (out->argument_count < SF_SIGNALR_ARGUMENTS_MAX)
            out->arguments[out->argument_count] = value;
        out->argument_count++;
    }
    return json->problem == NULL;
}

static bool take_type(sf_json *json, int64_t *out)
{
    sf_json_number number;
    if (!sf_json_number_take(json, &number) ||
        sf_decimal_to_i64(&number.decimal, number.raw, out) != SF_PARSE_OK) {
        json->problem = "the type of a hub message must be a whole number";
        return false;
    }
    return true;
}

static bool take_member(sf_json *json, sf_str key, sf_signalr_message *out, sf_buf *scratch)
{
    if (sf_str_eq(key, SF_STR("type")))
        return take_type(json, &out->type);
    if (sf_str_eq(key, SF_STR("target")) && sf_json_peek(json) != SF_JSON_NULL)
        return copy_text(json, out->target, SF_SIGNALR_TARGET_MAX, scratch);
    if (sf_str_eq(key, SF_STR("invocationId")) && sf_json_peek(json) != SF_JSON_NULL)
        return copy_text(json, out->invocation_id, SF_SIGNALR_ID_MAX, scratch);
    if (sf_str_eq(key, SF_STR("arguments")) && sf_json_peek(json) != SF_JSON_NULL)
        return take_arguments(json, out);
    return sf_json_skip(json, NULL);
}

static sf_status json_failure(sf_json *json, sf_error *err)
{
    if (json->problem)
        return sf_fail(err, SF_SYNTAX, "a hub message cannot be read at byte %zu: %s",
                       sf_json_offset(json), json->problem);
    return sf_fail_memory(err);
}

sf_status sf_signalr_parse(sf_str text, sf_signalr_message *out, sf_error *err)
{
    memset(out, 0, sizeof *out);
    sf_json json;
    sf_json_init(&json, text);
    if (sf_json_peek(&json) != SF_JSON_OBJECT)
        return sf_fail(err, SF_SYNTAX, "a hub message must be a JSON object");
    sf_buf scratch = {0};
    sf_json_string key;
    bool good = sf_json_object_begin(&json);
    while (good && sf_json_object_next(&json, &key))
        good = take_member(&json, key.raw, out, &scratch);
    good = good && !json.problem && sf_json_finish(&json);
    sf_buf_deinit(&scratch);
    if (!good)
        return json_failure(&json, err);
    if (out->type == 0)
        return sf_fail(err, SF_SYNTAX, "a hub message has no type");
    if (out->type == SF_SIGNALR_INVOCATION && out->target[0] == '\0')
        return sf_fail(err, SF_SYNTAX, "a hub invocation has no target");
    return SF_OK;
}

sf_status sf_signalr_parse_handshake(sf_str text, sf_error *err)
{
    SF_TRY(sf_json_validate(text, err));
    sf_str protocol, version;
    if (!sf_json_get_key(text, SF_STR("protocol"), &protocol) ||
        !sf_json_get_key(text, SF_STR("version"), &version))
        return sf_fail(err, SF_INVALID, "the handshake must name protocol and version");
    if (!sf_str_eq(protocol, SF_STR("\"json\"")))
        return sf_fail(err, SF_INVALID, "the hub protocol %.*s is not spoken here; use \"json\"",
                       (int)(protocol.len < 64 ? protocol.len : 64), protocol.data);
    if (!sf_str_eq(version, SF_STR("1")))
        return sf_fail(err, SF_INVALID, "the hub protocol has version 1");
    return SF_OK;
}

sf_status sf_signalr_text(sf_str argument, const char *name, sf_buf *buf, sf_str *out,
                          sf_error *err)
{
    if (sf_json_kind_of(argument) != SF_JSON_STRING)
        return sf_fail(err, SF_INVALID, "argument \"%s\" must be text", name);
    if (!sf_json_text_of(argument, buf, out))
        return sf_fail_memory(err);
    return SF_OK;
}

sf_status sf_signalr_integer(sf_str argument, const char *name, bool *given, int64_t *out,
                             sf_error *err)
{
    *given = false;
    sf_json_kind kind = sf_json_kind_of(argument);
    if (kind == SF_JSON_NULL)
        return SF_OK;
    if (kind != SF_JSON_NUMBER || sf_parse_whole(argument, out) != SF_PARSE_OK)
        return sf_fail(err, SF_INVALID, "argument \"%s\" must be a whole number or null", name);
    *given = true;
    return SF_OK;
}

/* ---- writing ---- */

static void put_error_member(sf_buf *out, const char *text)
{
    sf_buf_puts(out, "\"error\":");
    sf_json_put_string(out, sf_str_of(text));
}

void sf_signalr_put_handshake(sf_buf *out, const char *error)
{
    sf_buf_putc(out, '{');
    if (error)
        put_error_member(out, error);
    sf_buf_putc(out, '}');
    sf_buf_putc(out, SF_SIGNALR_END);
}

void sf_signalr_put_ping(sf_buf *out)
{
    sf_buf_puts(out, "{\"type\":6}");
    sf_buf_putc(out, SF_SIGNALR_END);
}

void sf_signalr_put_close(sf_buf *out, const char *error, bool allow_reconnect)
{
    sf_buf_puts(out, "{\"type\":7");
    if (error) {
        sf_buf_putc(out, ',');
        put_error_member(out, error);
    }
    sf_buf_puts(out, allow_reconnect ? ",\"allowReconnect\":true}" : "}");
    sf_buf_putc(out, SF_SIGNALR_END);
}

static void begin_completion(sf_buf *out, const char *invocation_id)
{
    sf_buf_puts(out, "{\"type\":3,\"invocationId\":");
    sf_json_put_string(out, sf_str_of(invocation_id));
}

void sf_signalr_put_result(sf_buf *out, const char *invocation_id, sf_str result)
{
    begin_completion(out, invocation_id);
    sf_buf_puts(out, ",\"result\":");
    if (result.len)
        sf_buf_put(out, result.data, result.len);
    else
        sf_buf_puts(out, "null");
    sf_buf_putc(out, '}');
    sf_buf_putc(out, SF_SIGNALR_END);
}

void sf_signalr_put_error(sf_buf *out, const char *invocation_id, const sf_error *err)
{
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s%s%s", err->message, err->hint[0] ? "; " : "",
             err->hint);
    begin_completion(out, invocation_id);
    sf_buf_putc(out, ',');
    put_error_member(out, sentence);
    sf_buf_putc(out, '}');
    sf_buf_putc(out, SF_SIGNALR_END);
}

void sf_signalr_begin_event(sf_buf *out, const char *target)
{
    sf_buf_puts(out, "{\"type\":1,\"target\":\"");
    sf_buf_puts(out, target); /* a constant of the protocol: nothing to escape */
    sf_buf_puts(out, "\",\"arguments\":[");
}

void sf_signalr_end_event(sf_buf *out)
{
    sf_buf_puts(out, "]}");
    sf_buf_putc(out, SF_SIGNALR_END);
}
