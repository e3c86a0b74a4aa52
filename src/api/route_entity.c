/* Definitions of sources, pipelines and tables: one handler a verb, for all three. */
#include "api/http/url.h"
#include "api/inside.h"
#include "text/text.h"

/* The first segment after /api says what the route is about. */
static sf_noun noun_of(const sf_http_call *call)
{
    const sf_route *route = call->route;
    char first = route->pattern[sizeof "/api/" - 1];
    return first == 's' ? SF_NOUN_SOURCE : first == 'p' ? SF_NOUN_PIPELINE : SF_NOUN_TABLE;
}

/* If-Match: "7" names the revision the client has seen; * and nothing are any. */
static sf_status read_if_match(const sf_http_call *call, uint64_t *revision, sf_error *err)
{
    sf_str tag = sf_text_trim(sf_http_head_field(&call->head, "if-match"));
    int64_t number;
    *revision = 0;
    if (tag.len == 0 || sf_str_eq(tag, SF_STR("*")))
        return SF_OK;
    if (tag.len > 2 && tag.data[0] == '"' && tag.data[tag.len - 1] == '"' &&
        sf_parse_i64((sf_str){tag.data + 1, tag.len - 2}, &number) == SF_PARSE_OK && number > 0) {
        *revision = (uint64_t)number;
        return SF_OK;
    }
    sf_fail(err, SF_INVALID, "If-Match must be one entity tag of this server, not %.*s",
            (int)(tag.len < 100 ? tag.len : 100), tag.data);
    sf_error_hint(err, "send the ETag of the last GET, quotes included");
    return SF_INVALID;
}

sf_status sf_route_list(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    sf_status status = sf_service_list(api->service, call->caller, noun_of(call), &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

sf_status sf_route_get(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    sf_status status =
        sf_service_get(api->service, call->caller, noun_of(call), call->params[0], &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

sf_status sf_route_create(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    sf_status status = sf_service_create(api->service, call->caller, noun_of(call),
                                         sf_buf_str(&call->body), &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

/* ?allowBreaking=false refuses a change of shape that breaks readers. */
static sf_status read_gate(sf_http_call *call, bool *gate, sf_error *err)
{
    sf_str text;
    bool found, allow = true;
    SF_TRY(sf_http_query_get(&call->arena, call->head.query, "allowBreaking", &text, &found, err));
    if (found && text.len && sf_parse_bool(text, &allow) != SF_PARSE_OK)
        return sf_fail(err, SF_INVALID,
                       "query parameter \"allowBreaking\" must be true or false, not \"%.*s\"",
                       (int)(text.len < 100 ? text.len : 100), text.data);
    *gate = !allow;
    return SF_OK;
}

sf_status sf_route_update(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    sf_update_options options = {0};
    SF_TRY(read_if_match(call, &options.if_revision, err));
    SF_TRY(read_gate(call, &options.gate_breaking, err));
    sf_status status = sf_service_update(api->service, call->caller, noun_of(call), call->params[0],
                                         sf_buf_str(&call->body), &options, &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

sf_status sf_route_delete(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    uint64_t revision;
    SF_TRY(read_if_match(call, &revision, err));
    sf_status status = sf_service_delete(api->service, call->caller, noun_of(call), call->params[0],
                                         revision, &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

sf_status sf_route_start(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    sf_status status =
        sf_service_start(api->service, call->caller, noun_of(call), call->params[0], &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

sf_status sf_route_stop(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    sf_status status =
        sf_service_stop(api->service, call->caller, noun_of(call), call->params[0], &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

sf_status sf_route_validate(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    sf_status status = sf_service_validate(api->service, call->caller, noun_of(call),
                                           sf_buf_str(&call->body), &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

sf_status sf_route_complete(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    sf_status status = sf_service_complete(api->service, call->caller, noun_of(call),
                                           sf_buf_str(&call->body), &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

/* ---- what runs, of pipelines and tables alike ---- */

sf_status sf_route_metrics(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    sf_status status = sf_service_metrics(api->service, call->caller, noun_of(call),
                                          call->params[0], &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

sf_status sf_route_plan(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    sf_status status =
        sf_service_plan(api->service, call->caller, noun_of(call), call->params[0], &answer, err);
    return sf_api_reply(status, &answer, out, err);
}
