/* inside.h: what the routes share. Private to the module. */
#ifndef SF_API_INSIDE_H
#define SF_API_INSIDE_H

#include "api/api.h"
#include "api/http/front.h"
#include "api/http/url.h"
#include "api/hub/hub.h"

#include <pthread.h>

struct sf_api {
    sf_service *service;
    sf_front *front;
    sf_hub *hub;
    /* calls that are not on a loop: they must be over before the front goes */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t away;
};

extern const sf_route sf_api_routes[];
extern const size_t sf_api_route_count;

void sf_api_call_left(sf_api *api);     /* a call waits for another thread */
void sf_api_call_returned(sf_api *api); /* and has been answered */
sf_hub_source sf_api_hub_source(sf_api *api);

#endif
