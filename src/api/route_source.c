/* What only sources have: their driver's state, pushed rows, keys. */
#include "api/inside.h"

sf_status sf_route_source_status(void *app, sf_http_call *call, sf_http_response *out,
                                 sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    sf_status status =
        sf_service_source_status(api->service, call->caller, call->params[0], &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

/* ---- pushing ---- */

/* A push that waits for its rows to be kept. */
typedef struct {
    sf_api *api;
    sf_http_call *call;
} pushing;

static void pushed(void *arg, sf_status status, sf_answer *answer, const sf_error *err)
{
    pushing *push = arg;
    sf_api *api = push->api;
    sf_http_response response = {0};
    sf_error error = {0};
    if (err)
        error = *err;
    status = sf_api_reply(status, answer, &response, &error);
    sf_front_finish(push->call, status, &response, &error);
    sf_free(push);
    sf_api_end(api);
}

sf_status sf_route_push(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    pushing *push = sf_alloc(sizeof *push);
    if (!push)
        return sf_fail_memory(err);
    *push = (pushing){api, call};
    sf_ingest_request request = {
        .caller = call->caller,
        .key = sf_http_head_field(&call->head, "x-sf-ingest-key"),
        .idempotency_key = sf_http_head_field(&call->head, "idempotency-key"),
        .body = sf_buf_str(&call->body),
    };
    sf_api_begin(api);
    sf_status status =
        sf_service_ingest(api->service, call->params[0], &request, pushed, push, &answer, err);
    if (status == SF_OK)
        return SF_OK; /* answered, or soon to be: the call may be gone already */
    sf_free(push);
    sf_api_end(api);
    return sf_api_reply(status, &answer, out, err);
}

sf_status sf_route_ingest_status(void *app, sf_http_call *call, sf_http_response *out,
                                 sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    sf_status status =
        sf_service_ingest_status(api->service, call->caller, call->params[0], &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

/* ---- keys ---- */

sf_status sf_route_keys(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    sf_status status = sf_service_keys(api->service, call->caller, call->params[0], &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

sf_status sf_route_make_key(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    sf_status status = sf_service_make_key(api->service, call->caller, call->params[0],
                                           sf_buf_str(&call->body), &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

sf_status sf_route_revoke_key(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    sf_answer answer = {0};
    sf_status status = sf_service_revoke_key(api->service, call->caller, call->params[0],
                                             call->params[1], &answer, err);
    return sf_api_reply(status, &answer, out, err);
}
