/* The table of routes. */
#include "api/http/router.h"
#include "tests.h"

static const sf_route routes[] = {
    {.method = SF_HTTP_GET, .pattern = "/a", .summary = "a"},
    {.method = SF_HTTP_GET, .pattern = "/a/{x}", .summary = "a x"},
    {.method = SF_HTTP_GET, .pattern = "/a/lit", .summary = "a lit"},
    {.method = SF_HTTP_POST, .pattern = "/a/lit", .summary = "post a lit"},
    {.method = SF_HTTP_DELETE, .pattern = "/a/{x}/b/{y}", .summary = "a x b y"},
};
static const sf_router router = {routes, SF_COUNT_OF(routes)};

void routes_match(void)
{
    static const struct {
        sf_http_method method;
        const char *path;
        sf_routed routed;
        const char *summary, *first, *second;
    } cases[] = {
        {SF_HTTP_GET, "/a", SF_ROUTED, "a", "", ""},
        {SF_HTTP_GET, "/a/", SF_ROUTED, "a", "", ""},
        {SF_HTTP_HEAD, "/a", SF_ROUTED, "a", "", ""},
        {SF_HTTP_GET, "/a/v%2Fw", SF_ROUTED, "a x", "v/w", ""},
        {SF_HTTP_GET, "/a/lit", SF_ROUTED, "a lit", "", ""},
        {SF_HTTP_GET, "/a/%6cit", SF_ROUTED, "a lit", "", ""},
        {SF_HTTP_POST, "/a/lit", SF_ROUTED, "post a lit", "", ""},
        {SF_HTTP_DELETE, "/a/1/b/2", SF_ROUTED, "a x b y", "1", "2"},
        {SF_HTTP_DELETE, "/a/1/c/2", SF_ROUTE_UNKNOWN, NULL, NULL, NULL},
        {SF_HTTP_GET, "/", SF_ROUTE_UNKNOWN, NULL, NULL, NULL},
        {SF_HTTP_GET, "/b", SF_ROUTE_UNKNOWN, NULL, NULL, NULL},
        {SF_HTTP_GET, "/A", SF_ROUTE_UNKNOWN, NULL, NULL, NULL},
        {SF_HTTP_GET, "/a//", SF_ROUTE_UNKNOWN, NULL, NULL, NULL},
        {SF_HTTP_GET, "//a", SF_ROUTE_UNKNOWN, NULL, NULL, NULL},
        {SF_HTTP_GET, "/a/../a", SF_ROUTE_UNKNOWN, NULL, NULL, NULL},
        {SF_HTTP_GET, "/1/2/3/4/5/6/7/8/9/10/11/12/13", SF_ROUTE_UNKNOWN, NULL, NULL, NULL},
        {SF_HTTP_GET, "/a/%00", SF_ROUTE_BAD_PATH, NULL, NULL, NULL},
        {SF_HTTP_PUT, "/a/x", SF_ROUTE_OTHER_METHOD, NULL, NULL, NULL},
        {SF_HTTP_OTHER, "/a", SF_ROUTE_OTHER_METHOD, NULL, NULL, NULL},
    };
    for (size_t i = 0; i < SF_COUNT_OF(cases); i++) {
        sf_arena arena;
        sf_arena_init(&arena, 0);
        const sf_route *route = NULL;
        sf_str params[SF_HTTP_PARAMS_MAX] = {{0}};
        unsigned allow;
        sf_error err;
        sf_routed routed = sf_router_match(&router, cases[i].method, sf_str_of(cases[i].path),
                                           &arena, &route, params, &allow, &err);
        CHECK_INT(routed, cases[i].routed);
        if (routed == SF_ROUTED) {
            CHECK_STR(route->summary, cases[i].summary);
            CHECK(sf_str_eq(params[0], sf_str_of(cases[i].first)));
            CHECK(sf_str_eq(params[1], sf_str_of(cases[i].second)));
        }
        sf_arena_deinit(&arena);
    }
}

void routes_list_their_methods(void)
{
    sf_buf buf = {0};
    sf_router_put_allow(&buf, 1U << SF_HTTP_GET | 1U << SF_HTTP_POST);
    CHECK_STR(buf.data, "GET, HEAD, POST, OPTIONS");
    sf_buf_clear(&buf);
    sf_router_put_allow(&buf, 1U << SF_HTTP_DELETE);
    CHECK_STR(buf.data, "DELETE, OPTIONS");
    sf_buf_deinit(&buf);
}
