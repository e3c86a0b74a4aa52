/* A service's answer as an HTTP response; numbers in queries. */
#include "api/http/url.h"
#include "api/inside.h"
#include "text/text.h"

#include <stdio.h>

static const char json_type[] = "application/json; charset=utf-8";
static const char csv_type[] = "text/csv; charset=utf-8";

/* Old readers get ASCII, new ones the name itself. */
static void put_disposition(sf_http_response *out, const char *name)
{
    sf_buf value = {0};
    sf_buf_puts(&value, "attachment; filename=\"");
    for (const char *c = name; *c; c++)
        sf_buf_putc(&value, *c < ' ' || *c > '~' || *c == '"' || *c == '\\' ? '_' : *c);
    sf_buf_puts(&value, "\"; filename*=UTF-8''");
    sf_http_encode(&value, sf_str_of(name));
    sf_http_response_field(out, "Content-Disposition", sf_buf_str(&value));
    if (value.failed)
        out->fields.failed = true;
    sf_buf_deinit(&value);
}

static void put_fields(const sf_answer *answer, sf_http_response *out)
{
    char text[32];
    if (answer->retry_ms) {
        unsigned seconds = (answer->retry_ms + 999) / 1000;
        snprintf(text, sizeof text, "%u", seconds < 30 ? seconds : 30);
        sf_http_response_field(out, "Retry-After", sf_str_of(text));
    }
    if (answer->revision) {
        snprintf(text, sizeof text, "\"%llu\"", (unsigned long long)answer->revision);
        sf_http_response_field(out, "ETag", sf_str_of(text));
    }
    if (answer->location[0])
        sf_http_response_field(out, "Location", sf_str_of(answer->location));
    if (answer->file_name)
        put_disposition(out, answer->file_name);
    if (out->status == 401)
        sf_http_response_field(out, "WWW-Authenticate", SF_STR("Bearer"));
}

sf_status sf_api_reply(sf_status status, sf_answer *answer, sf_http_response *out, sf_error *err)
{
    if (status != SF_OK && answer->http_status == 0 && answer->retry_ms == 0) {
        sf_answer_deinit(answer);
        return status;
    }
    int usual = status != SF_OK ? sf_http_status_of(status) : answer->body.len ? 200 : 204;
    int http = answer->http_status ? answer->http_status : usual;
    /* What a failed call had written so far is no answer, unless it said how to report it. */
    if (status != SF_OK && !(answer->http_status && answer->body.len)) {
        sf_http_response_error(out, http, err->message, err->hint);
    } else {
        out->status = http;
        if (answer->body.len) {
            out->content_type = answer->file_name ? csv_type : json_type;
            out->body = answer->body;
            answer->body = (sf_buf){0};
        }
    }
    put_fields(answer, out);
    sf_answer_deinit(answer);
    return SF_OK;
}

sf_status sf_api_number(sf_http_call *call, const char *name, int64_t otherwise, int64_t *out,
                        sf_error *err)
{
    sf_str text;
    bool found;
    *out = otherwise;
    SF_TRY(sf_http_query_get(&call->arena, call->head.query, name, &text, &found, err));
    if (!found || sf_parse_i64(text, out) == SF_PARSE_OK)
        return SF_OK;
    return sf_fail(err, SF_INVALID, "query parameter \"%s\" must be a whole number, not \"%.*s\"",
                   name, (int)(text.len < 100 ? text.len : 100), text.data);
}
