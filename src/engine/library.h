/* library.h: the inside of the public C API. Private to src/engine. */
#ifndef SF_ENGINE_LIBRARY_H
#define SF_ENGINE_LIBRARY_H

#include "column/arrow.h"
#include "engine/engine.h"
#include "streamsforge/engine.h"

/* Rows of one source that were pushed one by one and wait for the next run. */
typedef struct {
    char *name;
    sf_batch_builder builder;
    bool takes_retractions;
} library_source;

struct sf_world {
    sf_engine *engine;
    SF_VEC(library_source *) sources;
};

/* Fills error (NULL allowed) and gives its status. */
sf_world_status sf_library_fail(sf_world_error *error, const sf_error *err);
/* The rows a batch row stands for; values: one for each visible column. */
void sf_library_row(const sf_batch *batch, uint32_t row, sf_world_value *values, sf_world_row *out);
size_t sf_library_visible(const sf_schema *schema);
sf_world_type sf_library_type(sf_type type);

#endif
