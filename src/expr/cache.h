/* cache.h: compiled regular expressions of one sf_eval. Private to this module. */
#ifndef SF_EXPR_CACHE_H
#define SF_EXPR_CACHE_H

#include "base/base.h"

struct sf_eval_cache;
void sf_eval_cache_free(struct sf_eval_cache *cache); /* NULL is allowed */

/* Whether a pattern with these flags compiles; the error names the place in the pattern. */
sf_status sf_regex_check(sf_str pattern, sf_str flags, sf_span span, sf_error *err);

#endif
