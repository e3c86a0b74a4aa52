/* Opening and closing the API; who calls; where slow calls run. */
#include "api/inside.h"

enum { STOP_GRACE_MS = 5000 };

/* ---- who calls ---- */

static sf_status verify(void *self, sf_str token, void **caller, sf_error *err)
{
    sf_caller *verified;
    SF_TRY(sf_service_verify(((sf_api *)self)->service, token, &verified, err));
    *caller = verified;
    return SF_OK;
}

static sf_status at_least(void *self, const void *caller, sf_floor floor, sf_error *err)
{
    SF_UNUSED(self);
    switch (floor) {
    case SF_FLOOR_ANYONE: return SF_OK;
    case SF_FLOOR_VIEWER: return sf_service_at_least(caller, SF_LEVEL_VIEWER, err);
    case SF_FLOOR_EDITOR: return sf_service_at_least(caller, SF_LEVEL_EDITOR, err);
    case SF_FLOOR_ADMIN: break;
    }
    return sf_service_at_least(caller, SF_LEVEL_ADMIN, err);
}

static void release(void *self, void *caller)
{
    SF_UNUSED(self);
    sf_service_release(caller);
}

static sf_status environment(void *self, sf_str name, sf_error *err)
{
    return sf_service_environment(((sf_api *)self)->service, name, err);
}

/* ---- where slow calls run ---- */

void sf_api_call_left(sf_api *api)
{
    pthread_mutex_lock(&api->lock);
    api->away++;
    pthread_mutex_unlock(&api->lock);
}

void sf_api_call_returned(sf_api *api)
{
    pthread_mutex_lock(&api->lock);
    if (--api->away == 0)
        pthread_cond_broadcast(&api->changed);
    pthread_mutex_unlock(&api->lock);
}

typedef struct {
    sf_api *api;
    void (*run)(void *arg);
    void *arg;
} slow_call;

static void run_slow(void *arg)
{
    slow_call call = *(slow_call *)arg;
    sf_free(arg);
    call.run(call.arg);
    sf_api_call_returned(call.api);
}

static bool submit(void *self, void (*run)(void *arg), void *arg)
{
    sf_api *api = self;
    slow_call *call = sf_alloc(sizeof *call);
    if (!call)
        return false;
    *call = (slow_call){api, run, arg};
    sf_api_call_left(api);
    if (sf_service_run(api->service, run_slow, call))
        return true;
    sf_api_call_returned(api);
    sf_free(call);
    return false;
}

/* ---- open and close ---- */

static sf_status open_parts(sf_api *api, const sf_api_options *options, sf_error *err)
{
    sf_hub_config hub = {.clock = options->clock,
                         .random = options->random,
                         .log = options->log,
                         .source = sf_api_hub_source(api),
                         .release_caller = release,
                         .release_self = api};
    SF_TRY(sf_hub_new(&hub, &api->hub, err));
    sf_front_config front = {.http = {.address = options->address ? options->address : "127.0.0.1",
                                      .port = options->port,
                                      .threads = options->threads,
                                      .clock = options->clock,
                                      .log = options->log},
                             .router = {sf_api_routes, sf_api_route_count},
                             .app = api,
                             .auth = {verify, at_least, release, environment, api},
                             .executor = {submit, api}};
    SF_TRY(sf_front_new(&front, &api->front, err));
    return sf_http_server_start(sf_front_server(api->front), err);
}

sf_status sf_api_open(const sf_api_options *options, sf_api **out, sf_error *err)
{
    sf_api *api = sf_calloc(1, sizeof *api);
    if (!api)
        return sf_fail_memory(err);
    api->service = options->service;
    pthread_mutex_init(&api->lock, NULL);
    pthread_cond_init(&api->changed, NULL);
    sf_status status = open_parts(api, options, err);
    if (status != SF_OK) {
        sf_api_close(api);
        return status;
    }
    *out = api;
    return SF_OK;
}

uint16_t sf_api_port(const sf_api *api)
{
    return sf_http_server_port(sf_front_server(api->front));
}

void sf_api_close(sf_api *api)
{
    if (!api)
        return;
    if (api->front)
        sf_http_server_stop(sf_front_server(api->front), STOP_GRACE_MS);
    pthread_mutex_lock(&api->lock);
    while (api->away > 0)
        pthread_cond_wait(&api->changed, &api->lock);
    pthread_mutex_unlock(&api->lock);
    if (api->front)
        sf_front_free(api->front);
    if (api->hub)
        sf_hub_free(api->hub);
    pthread_cond_destroy(&api->changed);
    pthread_mutex_destroy(&api->lock);
    sf_free(api);
}
