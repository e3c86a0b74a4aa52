/* A whole world in one thread: in-memory logs, one group. For tests, sf query and benchmarks. */
#include "engine/engine.h"

typedef struct {
    char *name;
    sf_schema *schema;
    bool append_only;
    sf_marker marker;
    uint64_t first, end; /* positions kept */
    SF_VEC(sf_log_entry) entries;
    sf_log_reader reader;
    uint32_t id; /* in the group */
} world_source;

typedef struct {
    char *name;
    sf_plan *plan;
    uint32_t id;
} world_query;

struct sf_engine {
    SF_VEC(world_source *) sources;
    SF_VEC(world_query) queries;
    sf_group *group;
    int64_t now_ms;
};

/* ---- logs ---- */

static uint64_t log_end(void *self)
{
    return ((const world_source *)self)->end;
}

static sf_status log_read(void *self, uint64_t from, sf_log_entry *out, sf_error *err)
{
    const world_source *source = self;
    size_t low = 0, high = source->entries.len;
    while (low < high) { /* first entry that ends after `from` */
        size_t middle = (low + high) / 2;
        const sf_log_entry *entry = &source->entries.data[middle];
        if (entry->position + entry->count > from)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == source->entries.len || source->entries.data[low].position > from)
        return sf_fail(err, SF_STALE, "position %llu is no longer kept", (unsigned long long)from);
    *out = source->entries.data[low];
    out->batch = sf_batch_ref(out->batch);
    return SF_OK;
}

static sf_status log_append(world_source *source, sf_batch *batch, sf_error *err)
{
    sf_log_entry entry = {.position = source->end,
                          .count = batch ? batch->rows : 1,
                          .batch = batch,
                          .mark = source->marker.watermark};
    if (!SF_VEC_PUSH(&source->entries, entry)) {
        sf_batch_unref(batch);
        return sf_fail_memory(err);
    }
    source->end += entry.count;
    return SF_OK;
}

/* Lets go of entries that every query has read. */
static void log_trim(sf_engine *engine, world_source *source)
{
    uint64_t least = source->end;
    for (size_t q = 0; q < engine->queries.len; q++) {
        const world_query *query = &engine->queries.data[q];
        for (uint32_t i = 0; i < query->plan->inputs.len; i++) {
            if (strcmp(query->plan->inputs.data[i].name, source->name) != 0)
                continue;
            uint64_t position = sf_group_position(engine->group, query->id, i);
            least = position < least ? position : least;
        }
    }
    size_t gone = 0;
    while (gone < source->entries.len &&
           source->entries.data[gone].position + source->entries.data[gone].count <= least)
        sf_batch_unref(source->entries.data[gone++].batch);
    if (gone == 0)
        return;
    source->entries.len -= gone;
    memmove(source->entries.data, source->entries.data + gone,
            source->entries.len * sizeof *source->entries.data);
}

/* ---- building ---- */

sf_engine *sf_engine_new(void)
{
    sf_engine *engine = sf_calloc(1, sizeof *engine);
    sf_group *group = sf_group_new();
    if (!engine || !group) {
        sf_free(engine);
        sf_group_free(group);
        return NULL;
    }
    engine->group = group;
    return engine;
}

static void free_source(world_source *source)
{
    for (size_t i = 0; i < source->entries.len; i++)
        sf_batch_unref(source->entries.data[i].batch);
    SF_VEC_DEINIT(&source->entries);
    sf_schema_unref(source->schema);
    sf_free(source->name);
    sf_free(source);
}

void sf_engine_free(sf_engine *engine)
{
    if (!engine)
        return;
    sf_group_free(engine->group);
    for (size_t i = 0; i < engine->queries.len; i++) {
        sf_plan_free(engine->queries.data[i].plan);
        sf_free(engine->queries.data[i].name);
    }
    for (size_t i = 0; i < engine->sources.len; i++)
        free_source(engine->sources.data[i]);
    SF_VEC_DEINIT(&engine->queries);
    SF_VEC_DEINIT(&engine->sources);
    sf_free(engine);
}

static world_source *source_named(const sf_engine *engine, sf_str name)
{
    for (size_t i = 0; i < engine->sources.len; i++)
        if (sf_str_eq(sf_str_of(engine->sources.data[i]->name), name))
            return engine->sources.data[i];
    return NULL;
}

static world_query *query_named(const sf_engine *engine, sf_str name)
{
    for (size_t i = 0; i < engine->queries.len; i++)
        if (sf_str_eq(sf_str_of(engine->queries.data[i].name), name))
            return &engine->queries.data[i];
    return NULL;
}

static sf_status refuse_taken(const sf_engine *engine, const char *name, sf_error *err)
{
    sf_str text = sf_str_of(name);
    if (!source_named(engine, text) && !query_named(engine, text))
        return SF_OK;
    return sf_fail(err, SF_EXISTS, "the name \"%s\" is taken", name);
}

sf_status sf_engine_add_source(sf_engine *engine, const char *name, const sf_field *fields,
                               uint32_t count, int64_t lateness_ms, bool append_only, sf_error *err)
{
    SF_TRY(refuse_taken(engine, name, err));
    world_source *source = sf_calloc(1, sizeof *source);
    if (!source)
        return sf_fail_memory(err);
    source->append_only = append_only;
    source->name = sf_strdup(name);
    source->schema = sf_relation_schema(fields, count, SF_INPUT_SOURCE);
    source->reader = (sf_log_reader){.end = log_end, .read = log_read, .self = source};
    sf_marker_init(&source->marker, lateness_ms);
    sf_status status = source->name && source->schema ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK)
        status = sf_group_add_source(engine->group, name, &source->reader, &source->id, err);
    if (status == SF_OK && !SF_VEC_PUSH(&engine->sources, source))
        status = sf_fail_memory(err);
    if (status != SF_OK)
        free_source(source);
    return status;
}

/* ---- names for the compiler ---- */

static void relation_of_query(const world_query *query, sf_relation *out)
{
    bool table = query->plan->kind == SF_PLAN_TABLE;
    *out = (sf_relation){.name = query->name,
                         .kind = table ? SF_INPUT_TABLE : SF_INPUT_PIPELINE,
                         .schema = sf_plan_schema(query->plan),
                         .append_only = sf_plan_at(query->plan, query->plan->output)->append_only};
}

static void relation_of_source(const world_source *source, sf_relation *out)
{
    *out = (sf_relation){.name = source->name,
                         .kind = SF_INPUT_SOURCE,
                         .schema = source->schema,
                         .append_only = source->append_only};
}

static sf_status find_relation(void *self, sf_str name, sf_relation *out, sf_error *err)
{
    const sf_engine *engine = self;
    const world_source *source = source_named(engine, name);
    const world_query *query = query_named(engine, name);
    if (source)
        relation_of_source(source, out);
    else if (query)
        relation_of_query(query, out);
    else
        return sf_fail(err, SF_NOT_FOUND, "there is no \"%.*s\"", SF_STR_ARG(name));
    return SF_OK;
}

static void list_relations(void *self, bool (*visit)(void *arg, const sf_relation *relation),
                           void *arg)
{
    const sf_engine *engine = self;
    sf_relation relation;
    bool more = true;
    for (size_t i = 0; more && i < engine->sources.len; i++) {
        relation_of_source(engine->sources.data[i], &relation);
        more = visit(arg, &relation);
    }
    for (size_t i = 0; more && i < engine->queries.len; i++) {
        relation_of_query(&engine->queries.data[i], &relation);
        more = visit(arg, &relation);
    }
}

/* Makes the query a member of the group; sources are read from their first kept row. */
static sf_status join_group(sf_engine *engine, world_query *query, sf_error *err)
{
    uint32_t count = (uint32_t)query->plan->inputs.len;
    sf_member_input *inputs = sf_calloc(count + 1u, sizeof *inputs);
    if (!inputs)
        return sf_fail_memory(err);
    for (uint32_t i = 0; i < count; i++) {
        sf_str name = sf_str_of(query->plan->inputs.data[i].name);
        const world_source *source = source_named(engine, name);
        const world_query *input = query_named(engine, name);
        SF_ASSERT(source || input);
        inputs[i].is_source = source != NULL;
        inputs[i].id = source ? source->id : input->id;
        if (source)
            inputs[i].position =
                source->entries.len ? source->entries.data[0].position : source->end;
    }
    sf_member_spec spec = {.name = query->name, .plan = query->plan, .inputs = inputs};
    sf_status status = sf_group_add_member(engine->group, &spec, &query->id, err);
    sf_free(inputs);
    return status;
}

sf_status sf_engine_add_query(sf_engine *engine, const char *name, sf_plan_kind kind, sf_str sql,
                              sf_diagnostics *diagnostics, sf_error *err)
{
    SF_TRY(refuse_taken(engine, name, err));
    sf_diagnostics own = {0};
    sf_resolver resolver = {.find = find_relation, .list = list_relations, .self = engine};
    world_query query = {.name = sf_strdup(name)};
    sf_status status = query.name ? sf_sql_compile(sql, kind, &resolver, &query.plan,
                                                   diagnostics ? diagnostics : &own, err)
                                  : sf_fail_memory(err);
    sf_diagnostics_deinit(&own);
    if (status == SF_OK)
        status = join_group(engine, &query, err);
    if (status == SF_OK && SF_VEC_PUSH(&engine->queries, query))
        return SF_OK;
    if (status == SF_OK) {
        status = sf_fail_memory(err);
        (void)!sf_group_remove_member(engine->group, query.id, NULL);
    }
    sf_plan_free(query.plan);
    sf_free(query.name);
    return status;
}

const sf_schema *sf_engine_source_schema(const sf_engine *engine, const char *name)
{
    const world_source *source = source_named(engine, sf_str_of(name));
    return source ? source->schema : NULL;
}

const sf_plan *sf_engine_plan(const sf_engine *engine, const char *name)
{
    const world_query *query = query_named(engine, sf_str_of(name));
    return query ? query->plan : NULL;
}

sf_circuit *sf_engine_circuit(sf_engine *engine, const char *name)
{
    const world_query *query = query_named(engine, sf_str_of(name));
    return query ? sf_group_circuit(engine->group, query->id) : NULL;
}

/* ---- running ---- */

static sf_status find_source(const sf_engine *engine, const char *name, world_source **out,
                             sf_error *err)
{
    *out = source_named(engine, sf_str_of(name));
    return *out ? SF_OK : sf_fail(err, SF_NOT_FOUND, "there is no source \"%s\"", name);
}

sf_status sf_engine_push(sf_engine *engine, const char *name, const sf_batch *batch, sf_error *err)
{
    world_source *source;
    SF_TRY(find_source(engine, name, &source, err));
    if (!sf_schema_same(batch->schema, source->schema))
        return sf_fail(err, SF_INVALID, "the rows do not have the columns of source \"%s\"", name);
    if (source->append_only && batch->weights)
        return sf_fail(err, SF_INVALID, "source \"%s\" takes no retractions", name);
    if (batch->rows == 0)
        return SF_OK;
    sf_batch *stamped = sf_marker_stamp(&source->marker, batch);
    return stamped ? log_append(source, stamped, err) : sf_fail_memory(err);
}

sf_status sf_engine_watermark(sf_engine *engine, const char *name, int64_t watermark, sf_error *err)
{
    world_source *source;
    SF_TRY(find_source(engine, name, &source, err));
    return sf_marker_advance(&source->marker, watermark) ? log_append(source, NULL, err) : SF_OK;
}

void sf_engine_set_now(sf_engine *engine, int64_t now_ms)
{
    engine->now_ms = now_ms;
}

int64_t sf_engine_now(const sf_engine *engine)
{
    return engine->now_ms;
}

static sf_status deliver(sf_engine *engine,
                         void (*on_output)(void *arg, const char *query, const sf_batch *batch),
                         void *arg, sf_error *err)
{
    for (size_t q = 0; q < engine->queries.len; q++) {
        const world_query *query = &engine->queries.data[q];
        sf_member_info info;
        sf_group_member(engine->group, query->id, &info);
        if (info.state == SF_MEMBER_FAILED) {
            *err = info.error;
            sf_error_context(err, "query \"%s\"", query->name);
            return info.error.status;
        }
        for (uint32_t i = 0; on_output && i < sf_group_output_count(engine->group, query->id); i++)
            on_output(arg, query->name, sf_group_output(engine->group, query->id, i));
    }
    return SF_OK;
}

sf_status sf_engine_run(sf_engine *engine,
                        void (*on_output)(void *arg, const char *query, const sf_batch *batch),
                        void *arg, sf_error *err)
{
    sf_error own;
    for (;;) {
        sf_group_event event = sf_group_step(engine->group, engine->now_ms, UINT64_MAX);
        if (event == SF_GROUP_IDLE)
            break;
        if (event == SF_GROUP_EPOCH)
            SF_TRY(deliver(engine, on_output, arg, err ? err : &own));
    }
    for (size_t s = 0; s < engine->sources.len; s++)
        log_trim(engine, engine->sources.data[s]);
    return SF_OK;
}

sf_snapshot *sf_engine_snapshot(sf_engine *engine, const char *table)
{
    sf_circuit *circuit = sf_engine_circuit(engine, table);
    return circuit ? sf_circuit_snapshot(circuit) : NULL;
}

/* ---- restart: an image in memory ---- */

typedef struct {
    char *key;
    uint32_t page_no;
    sf_buf bytes;
} kept_page;

typedef struct {
    SF_VEC(kept_page) blobs, pages;
} memory_image;

static sf_status keep_bytes(kept_page item, const void *bytes, size_t len, kept_page **data,
                            size_t *count, size_t *cap, sf_error *err)
{
    sf_buf_put(&item.bytes, bytes, len);
    bool grown = *count < *cap || sf_vec_grow((void **)data, cap, sizeof **data);
    if (!item.key || item.bytes.failed || !grown) {
        sf_free(item.key);
        sf_buf_deinit(&item.bytes);
        return sf_fail_memory(err);
    }
    (*data)[(*count)++] = item;
    return SF_OK;
}

static sf_status keep_blob(void *self, const char *key, const void *bytes, size_t len,
                           sf_error *err)
{
    memory_image *image = self;
    return keep_bytes((kept_page){.key = sf_strdup(key)}, bytes, len, &image->blobs.data,
                      &image->blobs.len, &image->blobs.cap, err);
}

static sf_status keep_page(void *self, const char *arrangement, uint32_t page_no, const void *bytes,
                           sf_error *err)
{
    memory_image *image = self;
    if (!bytes)
        return SF_OK;
    return keep_bytes((kept_page){.key = sf_strdup(arrangement), .page_no = page_no}, bytes,
                      SF_PAGE_BYTES, &image->pages.data, &image->pages.len, &image->pages.cap, err);
}

static sf_status get_blob(void *self, const char *key, sf_buf *out, sf_error *err)
{
    const memory_image *image = self;
    for (size_t i = 0; i < image->blobs.len; i++) {
        if (strcmp(image->blobs.data[i].key, key) != 0)
            continue;
        sf_buf_put(out, image->blobs.data[i].bytes.data, image->blobs.data[i].bytes.len);
        return out->failed ? sf_fail_memory(err) : SF_OK;
    }
    return SF_NOT_FOUND;
}

static sf_status each_page(void *self, const char *arrangement,
                           sf_status (*visit)(void *arg, uint32_t page_no, const void *bytes,
                                              sf_error *err),
                           void *arg, sf_error *err)
{
    const memory_image *image = self;
    for (size_t i = 0; i < image->pages.len; i++)
        if (strcmp(image->pages.data[i].key, arrangement) == 0)
            SF_TRY(visit(arg, image->pages.data[i].page_no, image->pages.data[i].bytes.data, err));
    return SF_OK;
}

static void free_kept(memory_image *image)
{
    for (size_t i = 0; i < image->blobs.len; i++) {
        sf_free(image->blobs.data[i].key);
        sf_buf_deinit(&image->blobs.data[i].bytes);
    }
    for (size_t i = 0; i < image->pages.len; i++) {
        sf_free(image->pages.data[i].key);
        sf_buf_deinit(&image->pages.data[i].bytes);
    }
    SF_VEC_DEINIT(&image->blobs);
    SF_VEC_DEINIT(&image->pages);
}

static sf_status rebuild(sf_engine *engine, const memory_image *kept, sf_error *err)
{
    sf_group_free(engine->group);
    engine->group = sf_group_new();
    if (!engine->group)
        return sf_fail_memory(err);
    for (size_t s = 0; s < engine->sources.len; s++) {
        world_source *source = engine->sources.data[s];
        SF_TRY(sf_group_add_source(engine->group, source->name, &source->reader, &source->id, err));
    }
    for (size_t q = 0; q < engine->queries.len; q++)
        SF_TRY(join_group(engine, &engine->queries.data[q], err));
    sf_image_source source = {.get_blob = get_blob, .each_page = each_page, .self = (void *)kept};
    return sf_group_load(engine->group, &source, NULL, err);
}

sf_status sf_engine_restart(sf_engine *engine, sf_error *err)
{
    sf_image *image;
    memory_image kept = {0};
    SF_TRY(sf_image_take(engine->group, &image, err));
    sf_image_sink sink = {.put_blob = keep_blob, .put_page = keep_page, .self = &kept};
    sf_status status = sf_image_write(image, true, &sink, err);
    sf_image_free(image);
    if (status == SF_OK)
        status = rebuild(engine, &kept, err);
    free_kept(&kept);
    return status;
}
