/* The routes: one line each in the table at the end; what they decode and which use case they call. */
#include "api/inside.h"

#include <stdio.h>
#include <stdlib.h>

static const char json_type[] = "application/json; charset=utf-8";

/* ---- from answers to responses ---- */

/* Takes what the service answered. A body given with an error is the answer as it stands. */
static sf_status respond(sf_status status, sf_answer *answer, sf_http_response *out,
                         const sf_error *err)
{
    bool told = status != SF_OK && answer->http_status && answer->body.len > 0;
    if (status == SF_OK || told) {
        out->status = answer->http_status ? answer->http_status : answer->body.len ? 200 : 204;
        out->content_type = out->status == 204 ? NULL : json_type;
        out->body = answer->body;
        answer->body = (sf_buf){0};
        if (answer->revision) {
            char tag[32];
            int n = snprintf(tag, sizeof tag, "\"%llu\"", (unsigned long long)answer->revision);
            sf_http_response_field(out, "ETag", (sf_str){tag, (size_t)n});
        }
        if (answer->location[0])
            sf_http_response_field(out, "Location", sf_str_of(answer->location));
    } else if (answer->http_status) {
        sf_http_response_error(out, answer->http_status, err->message, err->hint);
    }
    if (answer->retry_ms) {
        if (out->status == 0)
            sf_http_response_error(out, 429, err->message, err->hint);
        uint32_t seconds = (answer->retry_ms + 999) / 1000;
        char text[16];
        int n = snprintf(text, sizeof text, "%u", seconds < 1 ? 1 : seconds > 30 ? 30 : seconds);
        sf_http_response_field(out, "Retry-After", (sf_str){text, (size_t)n});
    }
    bool made = out->status != 0;
    sf_answer_deinit(answer);
    return made ? SF_OK : status;
}

/* ---- queries and headers ---- */

static sf_status number_query(sf_http_call *call, const char *name, int64_t otherwise, int64_t *out,
                              sf_error *err)
{
    sf_str text;
    bool found;
    *out = otherwise;
    SF_TRY(sf_http_query_get(&call->arena, call->head.query, name, &text, &found, err));
    if (!found)
        return SF_OK;
    char *copy = sf_arena_strndup(&call->arena, text.data, text.len), *end;
    if (!copy)
        return sf_fail_memory(err);
    long long value = strtoll(copy, &end, 10);
    if (text.len == 0 || text.len > 18 || *end)
        return sf_fail(err, SF_INVALID, "?%s= takes a whole number, not \"%.*s\"", name,
                       text.len < 40 ? (int)text.len : 40, text.data);
    *out = value;
    return SF_OK;
}

/* If-Match: "7"; absent or *: any. */
static sf_status if_match(sf_http_call *call, uint64_t *out, sf_error *err)
{
    sf_str text = sf_http_head_field(&call->head, "if-match");
    *out = 0;
    if (text.len == 0 || sf_str_eq(text, SF_STR("*")))
        return SF_OK;
    char digits[32];
    if (text.len < 3 || text.len > sizeof digits || text.data[0] != '"' ||
        text.data[text.len - 1] != '"')
        return sf_fail(err, SF_INVALID, "If-Match takes an entity tag such as \"7\"");
    memcpy(digits, text.data + 1, text.len - 2);
    digits[text.len - 2] = '\0';
    char *end;
    *out = strtoull(digits, &end, 10);
    return *end || *out == 0
               ? sf_fail(err, SF_INVALID, "If-Match takes an entity tag such as \"7\"")
               : SF_OK;
}

/* The noun of a path: /api/sources..., /api/pipelines..., /api/tables... */
static sf_noun noun_of(const sf_http_call *call)
{
    const char *pattern = ((const sf_route *)call->route)->pattern;
    return pattern[5] == 's'   ? SF_NOUN_SOURCE
           : pattern[5] == 'p' ? SF_NOUN_PIPELINE
                               : SF_NOUN_TABLE;
}

/* ---- handlers ---- */

#define HANDLER(name)                                                                              \
    static sf_status name(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
#define SERVICE (((sf_api *)app)->service)

HANDLER(login)
{
    sf_answer answer = {0};
    sf_status status = sf_service_login(SERVICE, sf_buf_str(&call->body), &answer, err);
    return respond(status, &answer, out, err);
}

HANDLER(logout)
{
    SF_UNUSED(app);
    SF_UNUSED(call);
    SF_UNUSED(err);
    out->status = 204; /* tokens end by themselves: the client forgets its own */
    return SF_OK;
}

HANDLER(me)
{
    sf_answer answer = {0};
    return respond(sf_service_me(SERVICE, call->caller, &answer, err), &answer, out, err);
}

HANDLER(health)
{
    sf_answer answer = {0};
    SF_UNUSED(call);
    return respond(sf_service_health(SERVICE, &answer, err), &answer, out, err);
}

HANDLER(instance)
{
    sf_answer answer = {0};
    SF_UNUSED(call);
    return respond(sf_service_instance(SERVICE, &answer, err), &answer, out, err);
}

HANDLER(environments)
{
    sf_answer answer = {0};
    return respond(sf_service_environments(SERVICE, call->caller, &answer, err), &answer, out, err);
}

HANDLER(transports)
{
    sf_answer answer = {0};
    SF_UNUSED(call);
    return respond(sf_service_transports(SERVICE, &answer, err), &answer, out, err);
}

HANDLER(functions)
{
    sf_answer answer = {0};
    SF_UNUSED(call);
    return respond(sf_service_functions(SERVICE, &answer, err), &answer, out, err);
}

HANDLER(list)
{
    sf_answer answer = {0};
    sf_status status = sf_service_list(SERVICE, call->caller, noun_of(call), &answer, err);
    return respond(status, &answer, out, err);
}

HANDLER(get)
{
    sf_answer answer = {0};
    sf_status status =
        sf_service_get(SERVICE, call->caller, noun_of(call), call->params[0], &answer, err);
    return respond(status, &answer, out, err);
}

HANDLER(create)
{
    sf_answer answer = {0};
    sf_status status = sf_service_create(SERVICE, call->caller, noun_of(call),
                                         sf_buf_str(&call->body), &answer, err);
    return respond(status, &answer, out, err);
}

HANDLER(update)
{
    sf_answer answer = {0};
    sf_update_options options = {0};
    sf_str gate;
    bool found;
    SF_TRY(if_match(call, &options.if_revision, err));
    SF_TRY(sf_http_query_get(&call->arena, call->head.query, "allowBreaking", &gate, &found, err));
    options.gate_breaking = found && sf_str_eq_nocase(gate, SF_STR("false"));
    if (found && !options.gate_breaking && !sf_str_eq_nocase(gate, SF_STR("true")))
        return sf_fail(err, SF_INVALID, "?allowBreaking= takes true or false, not \"%.*s\"",
                       gate.len < 40 ? (int)gate.len : 40, gate.data);
    sf_status status = sf_service_update(SERVICE, call->caller, noun_of(call), call->params[0],
                                         sf_buf_str(&call->body), &options, &answer, err);
    return respond(status, &answer, out, err);
}

HANDLER(delete)
{
    sf_answer answer = {0};
    uint64_t revision;
    SF_TRY(if_match(call, &revision, err));
    sf_status status = sf_service_delete(SERVICE, call->caller, noun_of(call), call->params[0],
                                         revision, &answer, err);
    return respond(status, &answer, out, err);
}

HANDLER(start)
{
    sf_answer answer = {0};
    sf_status status =
        sf_service_start(SERVICE, call->caller, noun_of(call), call->params[0], &answer, err);
    return respond(status, &answer, out, err);
}

HANDLER(stop)
{
    sf_answer answer = {0};
    sf_status status =
        sf_service_stop(SERVICE, call->caller, noun_of(call), call->params[0], &answer, err);
    return respond(status, &answer, out, err);
}

HANDLER(validate)
{
    sf_answer answer = {0};
    sf_status status = sf_service_validate(SERVICE, call->caller, noun_of(call),
                                           sf_buf_str(&call->body), &answer, err);
    return respond(status, &answer, out, err);
}

HANDLER(rows)
{
    sf_answer answer = {0};
    int64_t limit, offset;
    SF_TRY(number_query(call, "limit", 100, &limit, err));
    SF_TRY(number_query(call, "offset", 0, &offset, err));
    sf_status status =
        sf_service_rows(SERVICE, call->caller, call->params[0], limit, offset, &answer, err);
    return respond(status, &answer, out, err);
}

HANDLER(results)
{
    sf_answer answer = {0};
    int64_t limit;
    SF_TRY(number_query(call, "limit", 100, &limit, err));
    sf_status status =
        sf_service_results(SERVICE, call->caller, call->params[0], limit, &answer, err);
    return respond(status, &answer, out, err);
}

static void as_download(const sf_answer *answer, sf_http_response *out)
{
    sf_buf field = {0};
    sf_buf_puts(&field, "attachment; filename*=UTF-8''");
    sf_http_encode(&field, sf_str_of(answer->file_name));
    if (!field.failed)
        sf_http_response_field(out, "Content-Disposition", sf_buf_str(&field));
    sf_buf_deinit(&field);
    out->status = 200;
    out->content_type = "text/csv; charset=utf-8";
}

static sf_http_stream_state take_csv(void *self, size_t max_bytes, sf_buf *out)
{
    bool more;
    if (sf_csv_take(self, max_bytes, out, &more, NULL) != SF_OK)
        return SF_HTTP_STREAM_FAILED;
    return more ? SF_HTTP_STREAM_MORE : SF_HTTP_STREAM_END;
}

static void free_csv(void *self)
{
    sf_csv_free(self);
}

HANDLER(rows_csv)
{
    sf_answer answer = {0};
    int64_t limit, offset;
    sf_csv *csv;
    SF_TRY(number_query(call, "limit", 10000, &limit, err));
    SF_TRY(number_query(call, "offset", 0, &offset, err));
    SF_TRY(sf_service_rows_csv(SERVICE, call->caller, call->params[0], limit, offset, &csv, &answer,
                               err));
    as_download(&answer, out);
    out->stream = (sf_http_stream){take_csv, free_csv, csv};
    sf_answer_deinit(&answer);
    return SF_OK;
}

HANDLER(results_csv)
{
    sf_answer answer = {0};
    int64_t limit;
    SF_TRY(number_query(call, "limit", 10000, &limit, err));
    sf_status status =
        sf_service_results_csv(SERVICE, call->caller, call->params[0], limit, &answer, err);
    if (status == SF_OK) {
        as_download(&answer, out);
        out->body = answer.body;
        answer.body = (sf_buf){0};
    }
    sf_answer_deinit(&answer);
    return status;
}

HANDLER(metrics)
{
    sf_answer answer = {0};
    sf_status status =
        sf_service_metrics(SERVICE, call->caller, noun_of(call), call->params[0], &answer, err);
    return respond(status, &answer, out, err);
}

HANDLER(plan)
{
    sf_answer answer = {0};
    sf_status status =
        sf_service_plan(SERVICE, call->caller, noun_of(call), call->params[0], &answer, err);
    return respond(status, &answer, out, err);
}

HANDLER(source_status)
{
    sf_answer answer = {0};
    sf_status status =
        sf_service_source_status(SERVICE, call->caller, call->params[0], &answer, err);
    return respond(status, &answer, out, err);
}

/* ---- ingest: answered when the rows are as durable as the source promises ---- */

typedef struct {
    sf_api *api;
    sf_http_call *call;
} ingest_call;

static void ingest_done(void *arg, sf_status status, sf_answer *answer, const sf_error *err)
{
    ingest_call waiting = *(ingest_call *)arg;
    sf_http_response out = {0};
    sf_error own = err ? *err : (sf_error){0};
    sf_free(arg);
    status = respond(status, answer, &out, &own);
    sf_front_finish(waiting.call, status, &out, &own);
    sf_api_call_returned(waiting.api);
}

HANDLER(ingest)
{
    sf_api *api = app;
    sf_answer answer = {0};
    ingest_call *waiting = sf_alloc(sizeof *waiting);
    if (!waiting)
        return sf_fail_memory(err);
    *waiting = (ingest_call){api, call};
    sf_ingest_request request = {.caller = call->caller,
                                 .key = sf_http_head_field(&call->head, "x-sf-ingest-key"),
                                 .idempotency_key =
                                     sf_http_head_field(&call->head, "idempotency-key"),
                                 .body = sf_buf_str(&call->body)};
    sf_api_call_left(api);
    sf_status status = sf_service_ingest(api->service, call->params[0], &request, ingest_done,
                                         waiting, &answer, err);
    if (status == SF_OK)
        return SF_OK; /* ingest_done has it, or had it */
    sf_api_call_returned(api);
    sf_free(waiting);
    return respond(status, &answer, out, err);
}

HANDLER(ingest_status)
{
    sf_answer answer = {0};
    sf_status status =
        sf_service_ingest_status(SERVICE, call->caller, call->params[0], &answer, err);
    return respond(status, &answer, out, err);
}

HANDLER(keys)
{
    sf_answer answer = {0};
    sf_status status = sf_service_keys(SERVICE, call->caller, call->params[0], &answer, err);
    return respond(status, &answer, out, err);
}

HANDLER(make_key)
{
    sf_answer answer = {0};
    sf_status status = sf_service_make_key(SERVICE, call->caller, call->params[0],
                                           sf_buf_str(&call->body), &answer, err);
    return respond(status, &answer, out, err);
}

HANDLER(revoke_key)
{
    sf_answer answer = {0};
    sf_status status = sf_service_revoke_key(SERVICE, call->caller, call->params[0],
                                             call->params[1], &answer, err);
    return respond(status, &answer, out, err);
}

/* ---- the hub ---- */

HANDLER(negotiate)
{
    int64_t version;
    SF_TRY(number_query(call, "negotiateVersion", 0, &version, err));
    out->status = 200;
    out->content_type = json_type;
    return sf_hub_negotiate(((sf_api *)app)->hub, sf_str_of(sf_caller_name(call->caller)),
                            version ? 1 : 0, &out->body, err);
}

HANDLER(connect_hub)
{
    sf_str id;
    bool found;
    SF_UNUSED(out);
    SF_TRY(sf_http_query_get(&call->arena, call->head.query, "id", &id, &found, err));
    sf_caller *caller = call->caller;
    call->caller = NULL;
    if (!sf_hub_connect(((sf_api *)app)->hub, call, sf_str_of(sf_caller_name(caller)), id,
                        call->environment, caller))
        sf_service_release(caller);
    return SF_OK;
}

/* ---- the table ---- */

enum { SMALL = 64 * 1024, DEFINITION = 1024 * 1024, PUSH = 16 * 1024 * 1024 };
#define OPEN SF_FLOOR_ANYONE
#define V    SF_FLOOR_VIEWER
#define E    SF_FLOOR_EDITOR

#define GET(path, floor, action, handler, place, text)                                             \
    {                                                                                              \
        SF_HTTP_GET, path, floor, action, handler, SF_BODY_NONE, 0, place, 0, text                 \
    }
#define SEND(method, path, floor, action, handler, bytes, text)                                    \
    {                                                                                              \
        SF_HTTP_##method, path, floor, action, handler, SF_BODY_JSON, bytes, SF_ON_POOL, 0, text   \
    }
#define DO(method, path, floor, action, handler, text)                                             \
    {                                                                                              \
        SF_HTTP_##method, path, floor, action, handler, SF_BODY_NONE, 0, SF_ON_POOL, 0, text       \
    }
/* The routes that pipelines and tables share. */
#define QUERY_ROUTES(noun, plural)                                                                 \
    GET("/api/" plural, V, noun ".read", list, SF_ON_POOL, "all of them"),                         \
        GET("/api/" plural "/{key}", V, noun ".read", get, SF_ON_POOL, "one of them"),             \
        SEND(POST, "/api/" plural, E, noun ".write", create, DEFINITION, "a new one"),             \
        SEND(PUT, "/api/" plural "/{key}", E, noun ".write", update, DEFINITION, "change it"),     \
        DO(DELETE, "/api/" plural "/{key}", E, noun ".delete", delete, "delete it"),               \
        DO(POST, "/api/" plural "/{key}/start", E, noun ".control", start, "run it"),              \
        DO(POST, "/api/" plural "/{key}/stop", E, noun ".control", stop, "stop it"),               \
        SEND(POST, "/api/" plural "/validate", E, noun ".write", validate, DEFINITION,             \
             "what the compiler says"),                                                            \
        GET("/api/" plural "/{key}/metrics", V, noun ".read", metrics, SF_ON_POOL, "its figures"), \
        GET("/api/" plural "/{key}/plan", V, noun ".read", plan, SF_ON_POOL, "its plan")

const sf_route sf_api_routes[] = {
    {SF_HTTP_GET, "/healthz", OPEN, "", health, SF_BODY_NONE, 0, SF_ON_LOOP,
     SF_ROUTE_NO_ENVIRONMENT, "is it alive"},
    {SF_HTTP_GET, "/api/healthz", OPEN, "", health, SF_BODY_NONE, 0, SF_ON_LOOP,
     SF_ROUTE_NO_ENVIRONMENT, "is it alive"},
    {SF_HTTP_POST, "/api/auth/login", OPEN, "", login, SF_BODY_JSON, SMALL, SF_ON_POOL,
     SF_ROUTE_NO_ENVIRONMENT, "a token for a name and a password"},
    {SF_HTTP_POST, "/api/auth/logout", OPEN, "", logout, SF_BODY_ANY, SMALL, SF_ON_LOOP,
     SF_ROUTE_NO_ENVIRONMENT, "forget the token"},
    {SF_HTTP_GET, "/api/auth/me", V, "", me, SF_BODY_NONE, 0, SF_ON_LOOP, SF_ROUTE_NO_ENVIRONMENT,
     "who is signed in, and what they may do"},
    {SF_HTTP_GET, "/api/meta/instance", OPEN, "", instance, SF_BODY_NONE, 0, SF_ON_POOL,
     SF_ROUTE_NO_ENVIRONMENT, "what this instance is"},
    {SF_HTTP_GET, "/api/environments", V, "", environments, SF_BODY_NONE, 0, SF_ON_POOL,
     SF_ROUTE_NO_ENVIRONMENT, "all environments"},
    GET("/api/transports", V, "", transports, SF_ON_LOOP, "source and sink kinds"),
    GET("/api/sql/functions", V, "", functions, SF_ON_LOOP, "functions and aggregates"),

    GET("/api/sources", V, "source.read", list, SF_ON_POOL, "all of them"),
    GET("/api/sources/{name}", V, "source.read", get, SF_ON_POOL, "one of them"),
    SEND(POST, "/api/sources", E, "source.write", create, DEFINITION, "a new one"),
    SEND(PUT, "/api/sources/{name}", E, "source.write", update, DEFINITION, "change it"),
    DO(DELETE, "/api/sources/{name}", E, "source.delete", delete, "delete it"),
    GET("/api/sources/{name}/status", V, "source.read", source_status, SF_ON_POOL,
        "how its driver fares"),
    {SF_HTTP_POST, "/api/sources/{name}/events", OPEN, "source.ingest", ingest, SF_BODY_JSON, PUSH,
     SF_ON_LOOP, 0, "push rows: an Editor's token or X-SF-Ingest-Key"},
    GET("/api/sources/{name}/ingest", V, "source.read", ingest_status, SF_ON_POOL,
        "counters of pushed rows"),
    GET("/api/sources/{name}/ingest/keys", E, "source.write", keys, SF_ON_POOL, "its ingest keys"),
    SEND(POST, "/api/sources/{name}/ingest/keys", E, "source.write", make_key, SMALL,
         "a new key, shown once"),
    DO(DELETE, "/api/sources/{name}/ingest/keys/{id}", E, "source.write", revoke_key,
       "revoke a key"),

    QUERY_ROUTES("pipeline", "pipelines"),
    GET("/api/pipelines/{key}/results", V, "pipeline.read", results, SF_ON_POOL, "newest results"),
    GET("/api/pipelines/{key}/results.csv", V, "pipeline.read", results_csv, SF_ON_POOL,
        "newest results as CSV"),

    QUERY_ROUTES("table", "tables"),
    GET("/api/tables/{key}/rows", V, "table.read", rows, SF_ON_POOL, "rows of the answer"),
    GET("/api/tables/{key}/rows.csv", V, "table.read", rows_csv, SF_ON_POOL, "rows as CSV"),

    {SF_HTTP_POST, "/hubs/stream/negotiate", V, "", negotiate, SF_BODY_ANY, SMALL, SF_ON_LOOP,
     SF_ROUTE_TOKEN_IN_QUERY, "negotiate a hub connection"},
    {SF_HTTP_GET, "/hubs/stream", V, "", connect_hub, SF_BODY_NONE, 0, SF_ON_LOOP,
     SF_ROUTE_TOKEN_IN_QUERY, "the hub"},
};
const size_t sf_api_route_count = SF_COUNT_OF(sf_api_routes);
