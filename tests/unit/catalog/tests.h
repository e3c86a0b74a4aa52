/* tests.h: the parts of this test program, and what they share. */
#ifndef SF_TESTS_UNIT_CATALOG_TESTS_H
#define SF_TESTS_UNIT_CATALOG_TESTS_H

#include "catalog/catalog.h"
#include "unit/check.h"

int run_definition_cases(void);
int run_catalog_cases(void);

/* A catalog in a directory of its own. Time stands still until told otherwise. */
typedef struct {
    char dir[64];
    sf_disk disk, real;
    int64_t now_ms;
    sf_rng rng;
    bool fail_writes; /* every write fails as if the disk were full */
    sf_catalog_rules rules;
    sf_catalog *catalog;
    sf_error err;
} world;

bool world_open(world *w);
bool world_reopen(world *w);
void world_close(world *w);

/* A new entity from JSON with single quotes for double ones. NULL: w->err says why. */
sf_def *parse(world *w, sf_entity_kind kind, const char *json, const sf_def *stored);
const sf_def *create(world *w, sf_entity_kind kind, const char *json);
const sf_def *update(world *w, const sf_def *stored, const char *json);
/* What put_json gives, with single quotes; valid until the next call. */
const char *shown(world *w, const sf_def *def);

#endif
