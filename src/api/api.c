/* The API's life: routes and hub in front of a service. */
#include "api/inside.h"

enum { KIB = 1024, MIB = 1024 * 1024 };

#define SF_ROUTE_0 0
static const sf_route routes[] = {
#define R(verb, path, least, asked, name, kind, bytes, where, flag, text)                          \
    {.method = SF_HTTP_##verb,                                                                     \
     .pattern = path,                                                                              \
     .floor = SF_FLOOR_##least,                                                                    \
     .action = asked,                                                                              \
     .handler = sf_route_##name,                                                                   \
     .body = SF_BODY_##kind,                                                                       \
     .body_max = bytes,                                                                            \
     .place = SF_ON_##where,                                                                       \
     .flags = SF_ROUTE_##flag,                                                                     \
     .summary = text},
#include "api/routes.def"
#undef R
};

/* ---- who calls ---- */

static sf_status verify(void *self, sf_str token, void **caller, sf_error *err)
{
    sf_api *api = self;
    sf_caller *found;
    SF_TRY(sf_service_verify(api->service, token, &found, err));
    *caller = found;
    return SF_OK;
}

static sf_status at_least(void *self, const void *caller, sf_floor floor, sf_error *err)
{
    SF_UNUSED(self);
    sf_level level = floor == SF_FLOOR_ADMIN    ? SF_LEVEL_ADMIN
                     : floor == SF_FLOOR_EDITOR ? SF_LEVEL_EDITOR
                                                : SF_LEVEL_VIEWER;
    return sf_service_at_least(caller, level, err);
}

static void release(void *self, void *caller)
{
    SF_UNUSED(self);
    sf_service_release(caller);
}

static sf_status environment(void *self, sf_str name, sf_error *err)
{
    sf_api *api = self;
    return sf_service_environment(api->service, name, err);
}

/* ---- what is under way ---- */

void sf_api_begin(sf_api *api)
{
    pthread_mutex_lock(&api->lock);
    api->calls++;
    pthread_mutex_unlock(&api->lock);
}

void sf_api_end(sf_api *api)
{
    pthread_mutex_lock(&api->lock);
    if (--api->calls == 0)
        pthread_cond_broadcast(&api->quiet);
    pthread_mutex_unlock(&api->lock);
}

/* A handler on its way to a thread that may block. */
typedef struct {
    sf_api *api;
    void (*run)(void *arg);
    void *arg;
} errand;

static void run_errand(void *arg)
{
    errand *one = arg;
    sf_api *api = one->api;
    one->run(one->arg);
    sf_free(one);
    sf_api_end(api);
}

static bool submit(void *self, void (*run)(void *arg), void *arg)
{
    sf_api *api = self;
    errand *one = sf_alloc(sizeof *one);
    if (!one)
        return false;
    *one = (errand){api, run, arg};
    sf_api_begin(api);
    if (sf_service_run(api->service, run_errand, one))
        return true;
    sf_free(one);
    sf_api_end(api);
    return false;
}

/* ---- life ---- */

static sf_status open_parts(sf_api *api, const sf_api_options *options, sf_error *err)
{
    sf_hub_config hub = {
        .clock = options->clock,
        .random = options->random,
        .log = options->log,
        .source = sf_api_hub_source(api),
        .release_caller = release,
        .release_self = api,
    };
    SF_TRY(sf_hub_new(&hub, &api->hub, err));
    sf_front_config front = {
        .http = {.address = options->address,
                 .port = options->port,
                 .threads = options->threads,
                 .clock = options->clock,
                 .log = options->log},
        .router = {routes, SF_COUNT_OF(routes)},
        .app = api,
        .auth = {verify, at_least, release, environment, api},
        .executor = {submit, api},
    };
    return sf_front_new(&front, &api->front, err);
}

sf_status sf_api_new(const sf_api_options *options, sf_api **out, sf_error *err)
{
    sf_api *api = sf_calloc(1, sizeof *api);
    if (!api)
        return sf_fail_memory(err);
    pthread_mutex_init(&api->lock, NULL);
    pthread_cond_init(&api->quiet, NULL);
    sf_status status = open_parts(api, options, err);
    if (status != SF_OK) {
        sf_api_free(api);
        return status;
    }
    *out = api;
    return SF_OK;
}

uint16_t sf_api_port(const sf_api *api)
{
    return sf_http_server_port(sf_front_server(api->front));
}

sf_status sf_api_start(sf_api *api, sf_service *service, sf_error *err)
{
    api->service = service;
    return sf_http_server_start(sf_front_server(api->front), err);
}

void sf_api_stop(sf_api *api, unsigned grace_ms)
{
    if (!api || api->stopped || !api->front)
        return;
    api->stopped = true;
    sf_http_server_stop(sf_front_server(api->front), grace_ms);
    pthread_mutex_lock(&api->lock);
    while (api->calls > 0)
        pthread_cond_wait(&api->quiet, &api->lock);
    pthread_mutex_unlock(&api->lock);
}

void sf_api_free(sf_api *api)
{
    if (!api)
        return;
    sf_api_stop(api, 0);
    sf_front_free(api->front);
    sf_hub_free(api->hub);
    pthread_mutex_destroy(&api->lock);
    pthread_cond_destroy(&api->quiet);
    sf_free(api);
}
