/* Signing in, and what the server says about itself. */
#include "api/inside.h"

static sf_service *service_of(void *app)
{
    return ((sf_api *)app)->service;
}

sf_status sf_route_login(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_answer answer = {0};
    sf_status status = sf_service_login(service_of(app), sf_buf_str(&call->body), &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

/* A token is not kept anywhere: it ends by itself, or with the user's password. */
sf_status sf_route_logout(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    SF_UNUSED(app);
    SF_UNUSED(call);
    SF_UNUSED(err);
    out->status = 204;
    return SF_OK;
}

sf_status sf_route_me(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_answer answer = {0};
    sf_status status = sf_service_me(service_of(app), call->caller, &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

sf_status sf_route_health(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    SF_UNUSED(call);
    sf_answer answer = {0};
    sf_status status = sf_service_health(service_of(app), &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

sf_status sf_route_instance(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    SF_UNUSED(call);
    sf_answer answer = {0};
    sf_status status = sf_service_instance(service_of(app), &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

sf_status sf_route_environments(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_answer answer = {0};
    sf_status status = sf_service_environments(service_of(app), call->caller, &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

sf_status sf_route_transports(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    SF_UNUSED(call);
    sf_answer answer = {0};
    sf_status status = sf_service_transports(service_of(app), &answer, err);
    return sf_api_reply(status, &answer, out, err);
}

sf_status sf_route_functions(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    SF_UNUSED(call);
    sf_answer answer = {0};
    sf_status status = sf_service_functions(service_of(app), &answer, err);
    return sf_api_reply(status, &answer, out, err);
}
