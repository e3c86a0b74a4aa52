/* url.h: percent-encoded paths and queries.
 *
 * Memory   Decoded text lives in the arena that was given.
 * Fails    SF_INVALID: broken percent-encoding, a NUL, or bytes that are not UTF-8. */
#ifndef SF_API_HTTP_URL_H
#define SF_API_HTTP_URL_H

#include "base/base.h"

/* plus_is_space: the rule of query strings. */
SF_MUST_USE sf_status sf_http_decode(sf_arena *arena, sf_str encoded, bool plus_is_space,
                                     sf_str *out, sf_error *err);

/* The first value of a name in a query; *found false when it is not there. A name without '=' has
 * the value "". */
SF_MUST_USE sf_status sf_http_query_get(sf_arena *arena, sf_str query, const char *name,
                                        sf_str *out, bool *found, sf_error *err);

/* Appends text so that it is one path segment or one query value. */
void sf_http_encode(sf_buf *buf, sf_str text);

#endif
