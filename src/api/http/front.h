/* front.h: what stands before every handler: routing, sign-in, the least role, the environment, the
 * kind and size of the body; and behind it: errors become answers.
 *
 * Threads  auth's functions are called on loop threads and must not block. Handlers run where their
 *          route says.
 * Memory   A caller is auth's; it is released when its call ends, unless a handler took it away by
 *          setting call->caller to NULL. */
#ifndef SF_API_HTTP_FRONT_H
#define SF_API_HTTP_FRONT_H

#include "api/http/router.h"

typedef struct {
    /* Whose token is this? SF_UNAUTHENTICATED when it is nobody's. */
    sf_status (*verify)(void *self, sf_str token, void **caller, sf_error *err);
    /* SF_FORBIDDEN when the caller is less than the floor. */
    sf_status (*at_least)(void *self, const void *caller, sf_floor floor, sf_error *err);
    void (*release)(void *self, void *caller);
    /* SF_NOT_FOUND when there is no such environment. Never asked for the default one. */
    sf_status (*environment)(void *self, sf_str name, sf_error *err);
    void *self;
} sf_front_auth;

/* Where slow handlers run. False: too much is waiting. */
typedef struct {
    bool (*submit)(void *self, void (*run)(void *arg), void *arg);
    void *self;
} sf_front_executor;

typedef struct {
    sf_http_config http; /* app is filled in by the front */
    sf_router router;
    void *app; /* what handlers get */
    sf_front_auth auth;
    sf_front_executor executor; /* submit NULL: everything runs on the loop */
} sf_front_config;

typedef struct sf_front sf_front;
SF_MUST_USE sf_status sf_front_new(const sf_front_config *config, sf_front **out, sf_error *err);
sf_http_server *sf_front_server(sf_front *front);
void sf_front_free(sf_front *front); /* stops the server when that was not done */

int sf_http_status_of(sf_status status);
/* Answers with what a handler made, or with its error. Takes *response. */
void sf_front_finish(sf_http_call *call, sf_status status, sf_http_response *response,
                     const sf_error *err);

#endif
