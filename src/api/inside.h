/* inside.h: what the routes share. Private to the module. */
#ifndef SF_API_INSIDE_H
#define SF_API_INSIDE_H

#include "api/api.h"
#include "api/http/front.h"
#include "api/hub/hub.h"

#include <pthread.h>

struct sf_api {
    sf_service *service; /* NULL until it starts */
    sf_front *front;
    sf_hub *hub;
    bool stopped;
    pthread_mutex_t lock;
    pthread_cond_t quiet; /* calls became 0 */
    size_t calls;         /* handlers and pushes that the service still has to end */
};

/* A call of the service that ends later begins and ends: stop waits for it. */
void sf_api_begin(sf_api *api);
void sf_api_end(sf_api *api);

/* Makes the response of an answer, which is emptied. A failure the answer says nothing about is
 * handed back, for the front to report. */
sf_status sf_api_reply(sf_status status, sf_answer *answer, sf_http_response *out, sf_error *err);

/* A whole number in the query; otherwise when it is not there. SF_INVALID: no number. */
SF_MUST_USE sf_status sf_api_number(sf_http_call *call, const char *name, int64_t otherwise,
                                    int64_t *out, sf_error *err);

/* Where the hub gets what is listened to. */
sf_hub_source sf_api_hub_source(sf_api *api);

#define R(method, path, floor, action, handler, ...)                                               \
    sf_status sf_route_##handler(void *app, sf_http_call *call, sf_http_response *out,             \
                                 sf_error *err);
#include "api/routes.def"
#undef R

#endif
