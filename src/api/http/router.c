/* Matching paths against patterns, segment by segment. */
#include "api/http/router.h"

#include "api/http/url.h"

enum { SEGMENTS_MAX = 12 };

typedef struct {
    sf_str text[SEGMENTS_MAX];
    size_t count;
} segments;

/* Splits at '/'; one slash at the end changes nothing. False: more segments than any route has. */
static bool split(sf_str path, segments *out)
{
    out->count = 0;
    const char *at = path.data, *end = path.data + path.len;
    while (at < end) {
        at++; /* the slash */
        const char *slash = memchr(at, '/', (size_t)(end - at));
        const char *stop = slash ? slash : end;
        if (stop == at && stop == end)
            break;
        if (out->count == SEGMENTS_MAX)
            return false;
        out->text[out->count++] = (sf_str){at, (size_t)(stop - at)};
        at = stop;
    }
    return true;
}

static sf_status decode_all(segments *path, sf_arena *arena, sf_error *err)
{
    for (size_t i = 0; i < path->count; i++)
        if (memchr(path->text[i].data, '%', path->text[i].len))
            SF_TRY(sf_http_decode(arena, path->text[i], false, &path->text[i], err));
    return SF_OK;
}

/* How many literal segments match; -1: the pattern does not match. */
static int match(const char *pattern, const segments *path, sf_str params[SF_HTTP_PARAMS_MAX])
{
    int literals = 0;
    size_t param_count = 0, index = 0;
    while (*pattern == '/' && pattern[1]) {
        pattern++;
        size_t len = strcspn(pattern, "/");
        if (index == path->count)
            return -1;
        sf_str segment = path->text[index++];
        if (pattern[0] == '{') {
            if (segment.len == 0)
                return -1;
            SF_ASSERT(param_count < SF_HTTP_PARAMS_MAX);
            params[param_count++] = segment;
        } else if (sf_str_eq(segment, (sf_str){pattern, len})) {
            literals++;
        } else {
            return -1;
        }
        pattern += len;
    }
    return index == path->count ? literals : -1;
}

sf_routed sf_router_match(const sf_router *router, sf_http_method method, sf_str path,
                          sf_arena *arena, const sf_route **out, sf_str params[SF_HTTP_PARAMS_MAX],
                          unsigned *allow_out, sf_error *err)
{
    segments parts;
    int best = -1;
    *allow_out = 0;
    if (!split(path, &parts))
        return SF_ROUTE_UNKNOWN;
    if (decode_all(&parts, arena, err) != SF_OK)
        return SF_ROUTE_BAD_PATH;
    sf_http_method wanted = method == SF_HTTP_HEAD ? SF_HTTP_GET : method;
    for (size_t i = 0; i < router->count; i++) {
        const sf_route *route = &router->routes[i];
        sf_str found[SF_HTTP_PARAMS_MAX] = {{0}};
        int literals = match(route->pattern, &parts, found);
        if (literals < 0)
            continue;
        *allow_out |= 1U << route->method;
        if (route->method == wanted && literals > best) {
            best = literals;
            *out = route;
            memcpy(params, found, sizeof found);
        }
    }
    if (best >= 0)
        return SF_ROUTED;
    return *allow_out ? SF_ROUTE_OTHER_METHOD : SF_ROUTE_UNKNOWN;
}

void sf_router_put_allow(sf_buf *buf, unsigned allow)
{
    if (allow & (1U << SF_HTTP_GET))
        allow |= 1U << SF_HTTP_HEAD;
    allow |= 1U << SF_HTTP_OPTIONS;
    const char *comma = "";
    for (int method = 0; method < SF_HTTP_OTHER; method++) {
        if (!(allow & (1U << method)))
            continue;
        sf_buf_puts(buf, comma);
        sf_buf_puts(buf, sf_http_method_name((sf_http_method)method));
        comma = ", ";
    }
}
