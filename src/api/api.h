/* api.h: the server's face: REST and the SignalR hub over one service. Routes translate, they decide
 * nothing.
 *
 * Threads  Loop threads of its own; slow calls run on the service's blocking threads.
 * Memory   The service stays the caller's and outlives the API.
 * Fails    SF_UNAVAILABLE when the port is taken. */
#ifndef SF_API_API_H
#define SF_API_API_H

#include "service/service.h"

typedef struct sf_api sf_api;

typedef struct {
    sf_service *service;
    const char *address; /* NULL: 127.0.0.1 */
    uint16_t port;       /* 0: any */
    unsigned threads;    /* loops; 0 = 1 */
    sf_clock clock;
    sf_random random;
    const sf_log *log;
} sf_api_options;

SF_MUST_USE sf_status sf_api_open(const sf_api_options *options, sf_api **out, sf_error *err);
uint16_t sf_api_port(const sf_api *api);
/* No new calls; those in flight get a few seconds; every subscription is closed. NULL allowed. */
void sf_api_close(sf_api *api);

#endif
