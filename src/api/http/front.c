/* From a head to a handler, from a handler's result to an answer. */
#include "api/http/front.h"

#include "api/http/url.h"

#include <stdio.h>

struct sf_front {
    sf_front_config config;
    sf_http_server *server;
};

/* A handler on its way through the executor. */
typedef struct {
    sf_front *front;
    sf_http_call *call;
} job;

/* ---- answers ---- */

int sf_http_status_of(sf_status status)
{
    switch (status) {
    case SF_OK: return 200;
    case SF_SYNTAX:
    case SF_INVALID: return 400;
    case SF_UNAUTHENTICATED: return 401;
    case SF_FORBIDDEN: return 403;
    case SF_NOT_FOUND: return 404;
    case SF_EXISTS:
    case SF_CONFLICT: return 409;
    case SF_STALE: return 412;
    case SF_LIMIT: return 413;
    case SF_OVERLOADED: return 429;
    case SF_UNSUPPORTED: return 501;
    case SF_UNAVAILABLE:
    case SF_CANCELLED: return 503;
    case SF_TIMEOUT: return 504;
    case SF_IO:
    case SF_CORRUPT:
    case SF_INTERNAL: return 500;
    }
    return 500;
}

static void respond_error(sf_http_call *call, int status, const char *message, const char *hint)
{
    sf_http_response response = {0};
    sf_http_response_error(&response, status, message, hint);
    if (status == 401)
        sf_http_response_field(&response, "WWW-Authenticate", SF_STR("Bearer"));
    if (status == 429 || status == 503)
        sf_http_response_field(&response, "Retry-After", SF_STR("1"));
    sf_http_respond(call, &response);
}

void sf_front_finish(sf_http_call *call, sf_status status, sf_http_response *response,
                     const sf_error *err)
{
    if (status == SF_OK) {
        sf_http_respond(call, response);
        return;
    }
    sf_http_response_deinit(response);
    respond_error(call, sf_http_status_of(status), err->message, err->hint);
}

/* ---- before the body ---- */

static bool refuse_route(sf_http_call *call, sf_routed routed, unsigned allow, const sf_error *err)
{
    if (routed == SF_ROUTED)
        return false;
    if (routed == SF_ROUTE_BAD_PATH) {
        respond_error(call, 400, err->message, err->hint);
        return true;
    }
    if (routed == SF_ROUTE_UNKNOWN) {
        char sentence[300];
        sf_str path = call->head.path;
        snprintf(sentence, sizeof sentence, "there is nothing at %.*s",
                 (int)(path.len < 200 ? path.len : 200), path.data);
        respond_error(call, 404, sentence, NULL);
        return true;
    }
    sf_buf allowed = {0};
    sf_router_put_allow(&allowed, allow);
    sf_http_response response = {0};
    if (call->head.method == SF_HTTP_OPTIONS) {
        response.status = 204;
    } else {
        char sentence[200];
        snprintf(sentence, sizeof sentence, "this path does not take %s; it takes %s",
                 call->head.method == SF_HTTP_OTHER ? "that method"
                                                    : sf_http_method_name(call->head.method),
                 allowed.data ? allowed.data : "");
        sf_http_response_error(&response, 405, sentence, NULL);
    }
    sf_http_response_field(&response, "Allow", sf_buf_str(&allowed));
    sf_buf_deinit(&allowed);
    sf_http_respond(call, &response);
    return true;
}

static sf_status find_token(const sf_route *route, sf_http_call *call, sf_str *out, sf_error *err)
{
    sf_str header = sf_http_head_field(&call->head, "authorization");
    *out = (sf_str){"", 0};
    if (header.len > 7 && sf_str_eq_nocase((sf_str){header.data, 7}, SF_STR("bearer "))) {
        *out = (sf_str){header.data + 7, header.len - 7};
        while (out->len && out->data[0] == ' ')
            *out = (sf_str){out->data + 1, out->len - 1};
        return SF_OK;
    }
    bool found;
    if (route->flags & SF_ROUTE_TOKEN_IN_QUERY)
        return sf_http_query_get(&call->arena, call->head.query, "access_token", out, &found, err);
    return SF_OK;
}

/* A route for everyone still learns who calls, when the caller says so. */
static sf_status sign_in(sf_front *front, const sf_route *route, sf_http_call *call, sf_error *err)
{
    const sf_front_auth *auth = &front->config.auth;
    sf_str token;
    SF_TRY(find_token(route, call, &token, err));
    if (token.len == 0) {
        if (route->floor == SF_FLOOR_ANYONE)
            return SF_OK;
        sf_fail(err, SF_UNAUTHENTICATED, "this route needs a token");
        sf_error_hint(err, "sign in at POST /api/auth/login and send Authorization: Bearer TOKEN");
        return SF_UNAUTHENTICATED;
    }
    void *caller = NULL;
    sf_status status = auth->verify(auth->self, token, &caller, err);
    if (status != SF_OK)
        return route->floor == SF_FLOOR_ANYONE ? SF_OK : status;
    call->caller = caller;
    if (route->floor == SF_FLOOR_ANYONE)
        return SF_OK;
    return auth->at_least(auth->self, caller, route->floor, err);
}

static sf_status find_environment(sf_front *front, const sf_route *route, sf_http_call *call,
                                  sf_error *err)
{
    call->environment = (sf_str){"", 0};
    if (route->flags & SF_ROUTE_NO_ENVIRONMENT)
        return SF_OK;
    bool found;
    sf_str name;
    SF_TRY(sf_http_query_get(&call->arena, call->head.query, "env", &name, &found, err));
    if (!found)
        name = sf_http_head_field(&call->head, "x-streamsforge-environment");
    if (name.len == 0 || sf_str_eq(name, SF_STR("default")))
        return SF_OK;
    call->environment = name;
    /* Nobody learns which environments exist before signing in. */
    if (!call->caller)
        return SF_OK;
    return front->config.auth.environment(front->config.auth.self, name, err);
}

static bool is_json(sf_str type)
{
    const char *semicolon = type.len ? memchr(type.data, ';', type.len) : NULL;
    sf_str media = {type.data, semicolon ? (size_t)(semicolon - type.data) : type.len};
    while (media.len && (media.data[media.len - 1] == ' ' || media.data[media.len - 1] == '\t'))
        media.len--;
    if (sf_str_eq_nocase(media, SF_STR("application/json")) ||
        sf_str_eq_nocase(media, SF_STR("text/json")))
        return true;
    return media.len > 5 &&
           sf_str_eq_nocase((sf_str){media.data + media.len - 5, 5}, SF_STR("+json"));
}

/* Empty: the body's description is fine. */
static const char *judge_body(const sf_route *route, const sf_http_head *head)
{
    if (!head->chunked && head->length == 0)
        return "";
    sf_str encoding = sf_http_head_field(head, "content-encoding");
    if (encoding.len && !sf_str_eq_nocase(encoding, SF_STR("identity")))
        return "compressed request bodies are not accepted; send the bytes as they are";
    sf_str type = sf_http_head_field(head, "content-type");
    if (route->body == SF_BODY_JSON && type.len && !is_json(type))
        return "this route takes JSON; send Content-Type: application/json";
    return "";
}

static void on_head(void *self, sf_http_call *call)
{
    sf_front *front = self;
    const sf_route *route = NULL;
    unsigned allow = 0;
    sf_error err = {0};
    if (sf_str_eq(call->head.path, SF_STR("*"))) {
        sf_http_response response = {.status = 204};
        sf_http_respond(call, &response);
        return;
    }
    sf_routed routed = sf_router_match(&front->config.router, call->head.method, call->head.path,
                                       &call->arena, &route, call->params, &allow, &err);
    if (refuse_route(call, routed, allow, &err))
        return;
    call->route = route;
    call->body_max = route->body_max;
    sf_status status = sign_in(front, route, call, &err);
    if (status == SF_OK)
        status = find_environment(front, route, call, &err);
    if (status != SF_OK) {
        respond_error(call, sf_http_status_of(status), err.message, err.hint);
        return;
    }
    const char *reason = judge_body(route, &call->head);
    if (reason[0])
        respond_error(call, 415, reason, NULL);
}

/* ---- the handler ---- */

static void run_handler(sf_front *front, sf_http_call *call)
{
    const sf_route *route = call->route;
    sf_http_response response = {0};
    sf_error err = {0};
    sf_status status = route->handler(front->config.app, call, &response, &err);
    if (status == SF_OK && response.status == 0)
        return; /* answered elsewhere: the call may be gone */
    if (status != SF_OK && sf_http_status_of(status) >= 500)
        sf_log_write(front->config.http.log, SF_LOG_ERROR, "http", "%s: %s", route->pattern,
                     err.message);
    sf_front_finish(call, status, &response, &err);
}

static void run_job(void *arg)
{
    job *j = arg;
    run_handler(j->front, j->call);
    sf_free(j);
}

static void on_ready(void *self, sf_http_call *call)
{
    sf_front *front = self;
    const sf_route *route = call->route;
    if (route->place == SF_ON_LOOP || !front->config.executor.submit) {
        run_handler(front, call);
        return;
    }
    job *j = sf_alloc(sizeof *j);
    if (j)
        *j = (job){front, call};
    if (!j || !front->config.executor.submit(front->config.executor.self, run_job, j)) {
        sf_free(j);
        respond_error(call, 503, "too many requests are waiting", "try again later");
    }
}

static void on_gone(void *self, sf_http_call *call)
{
    sf_front *front = self;
    if (call->caller)
        front->config.auth.release(front->config.auth.self, call->caller);
}

/* ---- life ---- */

sf_status sf_front_new(const sf_front_config *config, sf_front **out, sf_error *err)
{
    sf_front *front = sf_calloc(1, sizeof *front);
    if (!front)
        return sf_fail_memory(err);
    front->config = *config;
    front->config.http.app = (sf_http_app){on_head, on_ready, on_gone, front};
    sf_status status = sf_http_server_new(&front->config.http, &front->server, err);
    if (status != SF_OK) {
        sf_free(front);
        return status;
    }
    *out = front;
    return SF_OK;
}

sf_http_server *sf_front_server(sf_front *front)
{
    return front->server;
}

void sf_front_free(sf_front *front)
{
    if (!front)
        return;
    sf_http_server_free(front->server);
    sf_free(front);
}
