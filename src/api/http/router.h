/* router.h: the table of routes: which one a request means.
 *
 * A route is data: method, path, the right it needs, how its body is read, where it runs. The right
 * is not optional, so no route is open by omission.
 *
 * Memory   Decoded parameters live in the arena that was given. */
#ifndef SF_API_HTTP_ROUTER_H
#define SF_API_HTTP_ROUTER_H

#include "api/http/server.h"

/* The least role; the action is what the service asks for at the entity. */
typedef enum { SF_FLOOR_ANYONE = 1, SF_FLOOR_VIEWER, SF_FLOOR_EDITOR, SF_FLOOR_ADMIN } sf_floor;

typedef enum {
    SF_BODY_NONE, /* a body is read and dropped */
    SF_BODY_JSON, /* anything that says it is not JSON is 415 */
    SF_BODY_ANY,  /* the handler looks at Content-Type */
} sf_body_kind;

typedef enum {
    SF_ON_LOOP, /* on the loop thread: fast, never blocks */
    SF_ON_POOL, /* on the executor */
} sf_route_place;

enum {
    SF_ROUTE_TOKEN_IN_QUERY = 1, /* browsers cannot set a header on a WebSocket */
    SF_ROUTE_NO_ENVIRONMENT = 2, /* the environment header is not looked at */
};

/* Fills out and returns SF_OK, or fails and the error is the answer. One that answers by itself, now
 * or later, through sf_front_finish or an upgrade, returns SF_OK and leaves out->status 0. */
typedef sf_status (*sf_route_handler)(void *app, sf_http_call *call, sf_http_response *out,
                                      sf_error *err);

typedef struct {
    sf_http_method method;
    const char *pattern; /* "/api/tables/{key}/rows" */
    sf_floor floor;
    const char *action; /* "table.read"; "" where the floor says it all */
    sf_route_handler handler;
    sf_body_kind body;
    size_t body_max;
    sf_route_place place;
    unsigned flags;
    const char *summary;
} sf_route;

typedef struct {
    const sf_route *routes;
    size_t count;
} sf_router;

typedef enum { SF_ROUTED, SF_ROUTE_UNKNOWN, SF_ROUTE_OTHER_METHOD, SF_ROUTE_BAD_PATH } sf_routed;

/* Finds the route of a path that is still encoded, literal segments before parameters; HEAD finds
 * GET. OTHER_METHOD: allow_out gets the bits (1 << method) that the path has. */
sf_routed sf_router_match(const sf_router *router, sf_http_method method, sf_str path,
                          sf_arena *arena, const sf_route **out, sf_str params[SF_HTTP_PARAMS_MAX],
                          unsigned *allow_out, sf_error *err);
/* "GET, HEAD, OPTIONS" */
void sf_router_put_allow(sf_buf *buf, unsigned allow);

#endif
