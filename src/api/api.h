/* api.h: the server's door over HTTP: REST routes and the hub, in front of one service. Routes
 * translate; the service decides.
 *
 * Owns     the listening socket, its loop threads, every connection.
 * Life     new (listens, so that a taken port is known before anything is opened) -> start -> stop
 *          -> free. The service outlives the API.
 * Threads  new, start, stop and free belong to one thread. Slow handlers run on the service's
 *          threads, never on a loop.
 * Fails    SF_UNAVAILABLE: the port is taken. */
#ifndef SF_API_API_H
#define SF_API_API_H

#include "service/service.h"

typedef struct sf_api sf_api;

typedef struct {
    const char *address; /* NULL: every interface */
    uint16_t port;       /* 0: any */
    unsigned threads;    /* loops; 0 = 1 */
    sf_clock clock;
    sf_random random;
    const sf_log *log;
} sf_api_options;

SF_MUST_USE sf_status sf_api_new(const sf_api_options *options, sf_api **out, sf_error *err);
uint16_t sf_api_port(const sf_api *api);
SF_MUST_USE sf_status sf_api_start(sf_api *api, sf_service *service, sf_error *err);
/* No new connections; what is under way is finished within grace_ms, what is left is cut. Afterwards
 * no call of the service runs any more and every subscription is closed. NULL is allowed. */
void sf_api_stop(sf_api *api, unsigned grace_ms);
void sf_api_free(sf_api *api); /* stops it when that was not done; NULL allowed */

#endif
