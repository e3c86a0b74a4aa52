/* reader.h: reading the members of a JSON object that came from outside. The first problem stays and
 * is reported; whatever is read after it is a fallback, so that a parser checks once, at its end. */
#ifndef SF_CATALOG_READER_H
#define SF_CATALOG_READER_H

#include "catalog/catalog.h"

#include <jansson.h>

typedef struct {
    sf_arena *arena; /* of every string that is given back */
    const json_t *object;
    const char *place; /* whose members: "source", "source field \"x\"" */
    sf_status status;
    sf_error *err;
} sf_json_in;

/* True: this is the first problem, so that a hint belongs to it. */
bool sf_json_in_fail(sf_json_in *in, sf_status status, const char *format, ...) SF_PRINTF(3, 4);
void sf_json_in_memory(sf_json_in *in); /* memory is short */

/* NULL when absent or null. */
const json_t *sf_json_in_get(const sf_json_in *in, const char *key);
/* Refuses members that no list (ended by NULL) names. */
void sf_json_in_known(sf_json_in *in, const char *const *known, const char *const *passed_over);

/* fallback when absent or null. Texts may be fallback NULL. */
const char *sf_json_in_text(sf_json_in *in, const char *key, size_t max_bytes,
                            const char *fallback);
bool sf_json_in_bool(sf_json_in *in, const char *key, bool fallback);
int64_t sf_json_in_integer(sf_json_in *in, const char *key, int64_t min, int64_t max,
                           int64_t fallback);
double sf_json_in_number(sf_json_in *in, const char *key, double max, double fallback);
/* names ended by NULL; gives the index. */
uint32_t sf_json_in_choice(sf_json_in *in, const char *key, const char *const *names,
                           uint32_t fallback);
sf_name_list sf_json_in_names(sf_json_in *in, const char *key, size_t max_count, size_t max_bytes);
/* An array or object of at most max members, NULL when absent, null or refused. */
const json_t *sf_json_in_array(sf_json_in *in, const char *key, size_t max);
const json_t *sf_json_in_object(sf_json_in *in, const char *key, size_t max);

/* Compact text with sorted keys, in the arena. */
const char *sf_json_in_dump(sf_json_in *in, const json_t *value);
/* Copies into the arena; never NULL unless memory was short (status says so). */
const char *sf_json_in_copy(sf_json_in *in, const char *text, size_t len);
void *sf_json_in_alloc(sf_json_in *in, size_t count, size_t size_bytes);

/* One JSON value; SF_SYNTAX with line and column. */
SF_MUST_USE sf_status sf_json_load(sf_str text, const char *what, json_t **out, sf_error *err);

#endif
