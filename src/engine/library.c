/* The public C API: a thin face of sf_engine. */
#include "engine/library.h"
#include "text/text.h"

#include <math.h>
#include <stdio.h>

#define LIBRARY_VERSION "0.1.0"

const char *sf_world_version(void)
{
    return LIBRARY_VERSION;
}

/* ---- errors ---- */

static sf_world_status status_of(sf_status status)
{
    switch (status) {
    case SF_OK: return SF_WORLD_OK;
    case SF_NOT_FOUND: return SF_WORLD_NOT_FOUND;
    case SF_EXISTS: return SF_WORLD_EXISTS;
    case SF_LIMIT: return SF_WORLD_LIMIT;
    case SF_SYNTAX:
    case SF_UNSUPPORTED:
    case SF_INVALID: return SF_WORLD_INVALID;
    default: return SF_WORLD_FAILED;
    }
}

sf_world_status sf_library_fail(sf_world_error *error, const sf_error *err)
{
    sf_world_status status = status_of(err->status);
    if (error) {
        *error = (sf_world_error){.status = status};
        snprintf(error->message, sizeof error->message, "%s", err->message);
        snprintf(error->hint, sizeof error->hint, "%s", err->hint);
    }
    return status;
}

static sf_world_status refuse_sql(sf_world_error *error, const sf_diagnostics *diagnostics,
                                  const sf_error *err)
{
    for (size_t i = 0; i < diagnostics->list.len; i++) {
        const sf_diagnostic *item = &diagnostics->list.data[i];
        if (item->warning)
            continue;
        if (error) {
            *error = (sf_world_error){
                .status = SF_WORLD_SQL, .line = item->line, .column = item->column};
            snprintf(error->message, sizeof error->message, "%s", item->message);
        }
        return SF_WORLD_SQL;
    }
    return sf_library_fail(error, err);
}

/* ---- building ---- */

sf_world *sf_world_new(void)
{
    sf_world *world = sf_calloc(1, sizeof *world);
    sf_engine *engine = sf_engine_new();
    if (!world || !engine) {
        sf_free(world);
        sf_engine_free(engine);
        return NULL;
    }
    world->engine = engine;
    sf_engine_set_now(engine, 0);
    return world;
}

static void free_source(library_source *source)
{
    sf_batch_builder_deinit(&source->builder);
    sf_free(source->name);
    sf_free(source);
}

void sf_world_free(sf_world *world)
{
    if (!world)
        return;
    for (size_t i = 0; i < world->sources.len; i++)
        free_source(world->sources.data[i]);
    SF_VEC_DEINIT(&world->sources);
    sf_engine_free(world->engine);
    sf_free(world);
}

static const sf_type types[] = {
    [SF_WORLD_STRING] = SF_TYPE_UTF8,
    [SF_WORLD_DOUBLE] = SF_TYPE_F64,
    [SF_WORLD_LONG] = SF_TYPE_I64,
    [SF_WORLD_BOOL] = SF_TYPE_BOOL,
    [SF_WORLD_TIMESTAMP] = SF_TYPE_TIMESTAMP,
    [SF_WORLD_JSON] = SF_TYPE_JSON,
};

sf_world_type sf_library_type(sf_type type)
{
    for (int i = SF_WORLD_STRING; i <= SF_WORLD_JSON; i++)
        if (types[i] == type)
            return (sf_world_type)i;
    return SF_WORLD_NULL;
}

static sf_status make_fields(const sf_world_field *fields, size_t count, sf_field **out,
                             sf_error *err)
{
    if (count == 0 || count > SF_COLUMNS_MAX - 2)
        return sf_fail(err, SF_INVALID, "a source has 1 to %d fields", SF_COLUMNS_MAX - 2);
    for (size_t i = 0; i < count; i++)
        if (!fields[i].name || !*fields[i].name || (int)fields[i].type < SF_WORLD_STRING ||
            (int)fields[i].type > SF_WORLD_JSON)
            return sf_fail(err, SF_INVALID, "field %zu has no name or no type", i + 1);
    *out = sf_calloc(count, sizeof **out);
    for (size_t i = 0; *out && i < count; i++)
        (*out)[i] = (sf_field){fields[i].name, types[fields[i].type], false};
    return *out ? SF_OK : sf_fail_memory(err);
}

static sf_status open_source(sf_world *world, const char *name, const sf_field *fields,
                             uint32_t count, const sf_world_source_options *options, sf_error *err)
{
    library_source *source = sf_calloc(1, sizeof *source);
    sf_schema *schema = sf_relation_schema(fields, count, SF_INPUT_SOURCE);
    bool ok = source && schema && sf_batch_builder_init(&source->builder, schema);
    sf_schema_unref(schema);
    if (!ok) {
        sf_free(source);
        return sf_fail_memory(err);
    }
    source->name = sf_strdup(name);
    source->takes_retractions = options->takes_retractions;
    if (!source->name || !SF_VEC_PUSH(&world->sources, source)) {
        free_source(source);
        return sf_fail_memory(err);
    }
    sf_status status = sf_engine_add_source(world->engine, name, fields, count,
                                            options->lateness_ms, !options->takes_retractions, err);
    if (status != SF_OK) {
        world->sources.len--;
        free_source(source);
    }
    return status;
}

sf_world_status sf_world_add_source(sf_world *world, const char *name, const sf_world_field *fields,
                                    size_t count, const sf_world_source_options *options,
                                    sf_world_error *error)
{
    static const sf_world_source_options usual = {.lateness_ms = 1000};
    sf_error err = {0};
    sf_field *own = NULL;
    options = options ? options : &usual;
    sf_status status = SF_OK;
    if (!name || !*name || options->lateness_ms < 0)
        status = sf_fail(&err, SF_INVALID, "a source needs a name and a lateness from 0 on");
    if (status == SF_OK)
        status = make_fields(fields, count, &own, &err);
    if (status == SF_OK)
        status = open_source(world, name, own, (uint32_t)count, options, &err);
    sf_free(own);
    return status == SF_OK ? SF_WORLD_OK : sf_library_fail(error, &err);
}

static sf_world_status add_query(sf_world *world, const char *name, sf_plan_kind kind,
                                 const char *sql, sf_world_error *error)
{
    sf_error err = {0};
    sf_diagnostics diagnostics = {0};
    if (!name || !*name || !sql) {
        sf_fail(&err, SF_INVALID, "a query needs a name and a text");
        return sf_library_fail(error, &err);
    }
    sf_status status =
        sf_engine_add_query(world->engine, name, kind, sf_str_of(sql), &diagnostics, &err);
    sf_world_status result = status == SF_OK ? SF_WORLD_OK : refuse_sql(error, &diagnostics, &err);
    sf_diagnostics_deinit(&diagnostics);
    return result;
}

sf_world_status sf_world_add_table(sf_world *world, const char *name, const char *sql,
                                   sf_world_error *error)
{
    return add_query(world, name, SF_PLAN_TABLE, sql, error);
}

sf_world_status sf_world_add_pipeline(sf_world *world, const char *name, const char *sql,
                                      sf_world_error *error)
{
    return add_query(world, name, SF_PLAN_PIPELINE, sql, error);
}

/* ---- columns ---- */

size_t sf_library_visible(const sf_schema *schema)
{
    size_t count = 0;
    for (uint32_t i = 0; i < schema->count; i++)
        count += !schema->fields[i].hidden;
    return count;
}

static const sf_field *field_of(const sf_world *world, const char *query, size_t column)
{
    const sf_plan *plan = sf_engine_plan(world->engine, query);
    const sf_schema *schema = plan ? sf_plan_schema(plan) : NULL;
    for (uint32_t i = 0; schema && i < schema->count; i++)
        if (!schema->fields[i].hidden && column-- == 0)
            return &schema->fields[i];
    return NULL;
}

size_t sf_world_column_count(const sf_world *world, const char *query)
{
    const sf_plan *plan = sf_engine_plan(world->engine, query);
    return plan ? sf_library_visible(sf_plan_schema(plan)) : 0;
}

const char *sf_world_column_name(const sf_world *world, const char *query, size_t column)
{
    const sf_field *field = field_of(world, query, column);
    return field ? field->name : NULL;
}

sf_world_type sf_world_column_type(const sf_world *world, const char *query, size_t column)
{
    const sf_field *field = field_of(world, query, column);
    return field ? sf_library_type(field->type) : SF_WORLD_NULL;
}

/* ---- rows in ---- */

static sf_status find_source(const sf_world *world, const char *name, library_source **out,
                             sf_error *err)
{
    for (size_t i = 0; name && i < world->sources.len; i++) {
        if (strcmp(world->sources.data[i]->name, name) == 0) {
            *out = world->sources.data[i];
            return SF_OK;
        }
    }
    return sf_fail(err, SF_NOT_FOUND, "there is no source \"%s\"", name ? name : "");
}

static bool is_json(sf_str text)
{
    return sf_json_validate(text, NULL) == SF_OK;
}

static sf_status put_text(sf_builder *builder, const sf_field *field, const sf_world_value *value,
                          sf_error *err)
{
    sf_str text = {value->as.text.data, value->as.text.len};
    if (text.len > INT32_MAX || (text.len && !text.data) || !sf_utf8_valid(text))
        return sf_fail(err, SF_INVALID, "the value of \"%s\" is not UTF-8 text", field->name);
    if (field->type == SF_TYPE_JSON && !is_json(text))
        return sf_fail(err, SF_INVALID, "the value of \"%s\" is not JSON", field->name);
    sf_builder_str(builder, text);
    return SF_OK;
}

static sf_status put_value(sf_builder *builder, const sf_field *field, const sf_world_value *value,
                           sf_error *err)
{
    sf_world_type wanted = sf_library_type(field->type);
    if (value->type == SF_WORLD_NULL) {
        sf_builder_null(builder);
    } else if (value->type == wanted && sf_type_is_view(field->type)) {
        return put_text(builder, field, value, err);
    } else if (value->type == wanted && wanted == SF_WORLD_DOUBLE) {
        if (!isfinite(value->as.real))
            return sf_fail(err, SF_INVALID, "the value of \"%s\" is not finite", field->name);
        sf_builder_f64(builder, value->as.real);
    } else if (value->type == wanted && wanted == SF_WORLD_BOOL) {
        sf_builder_bool(builder, value->as.truth);
    } else if (value->type == wanted ||
               (value->type == SF_WORLD_LONG && wanted == SF_WORLD_TIMESTAMP)) {
        sf_builder_i64(builder, value->as.whole);
    } else if (value->type == SF_WORLD_LONG && wanted == SF_WORLD_DOUBLE) {
        sf_builder_f64(builder, (double)value->as.whole);
    } else {
        return sf_fail(err, SF_INVALID, "the value of \"%s\" is not a %s", field->name,
                       sf_type_name(field->type));
    }
    return SF_OK;
}

static sf_status put_row(sf_world *world, library_source *source, const sf_world_row *row,
                         sf_error *err)
{
    sf_batch_builder *builder = &source->builder;
    const sf_schema *schema = builder->schema;
    uint32_t fields = schema->count - 2;
    if (row->count != fields)
        return sf_fail(err, SF_INVALID, "source \"%s\" has %u columns, the row %zu", source->name,
                       fields, row->count);
    if (row->weight == 0 || (row->weight < 0 && !source->takes_retractions))
        return sf_fail(err, SF_INVALID, "source \"%s\" takes no row of weight %lld", source->name,
                       (long long)row->weight);
    for (uint32_t i = 0; i < fields; i++)
        SF_TRY(put_value(&builder->columns[i], &schema->fields[i], &row->values[i], err));
    sf_builder_bool(&builder->columns[fields], false);
    sf_builder_i64(&builder->columns[fields + 1],
                   row->ts_ms == SF_WORLD_STAMP_NOW ? sf_engine_now(world->engine) : row->ts_ms);
    sf_batch_builder_row(builder, row->weight);
    return builder->failed ? sf_fail_memory(err) : SF_OK;
}

static sf_status release_rows(sf_world *world, library_source *source, sf_error *err)
{
    if (source->builder.rows == 0)
        return SF_OK;
    sf_batch *batch = sf_batch_builder_finish(&source->builder);
    if (!batch)
        return sf_fail_memory(err);
    sf_status status = sf_engine_push(world->engine, source->name, batch, err);
    sf_batch_unref(batch);
    return status;
}

sf_world_status sf_world_push(sf_world *world, const char *source, const sf_world_row *row,
                              sf_world_error *error)
{
    sf_error err = {0};
    library_source *found;
    sf_status status = find_source(world, source, &found, &err);
    if (status == SF_OK && found->builder.rows >= SF_BATCH_ROWS)
        status = release_rows(world, found, &err);
    if (status == SF_OK) {
        uint32_t rows = found->builder.rows;
        status = put_row(world, found, row, &err);
        for (uint32_t i = 0; status != SF_OK && i < found->builder.schema->count; i++)
            sf_builder_truncate(&found->builder.columns[i], rows);
    }
    return status == SF_OK ? SF_WORLD_OK : sf_library_fail(error, &err);
}

static sf_status push_batches(sf_world *world, const char *name, sf_arrow_reader *reader,
                              sf_error *err)
{
    SF_VEC(sf_batch *) batches = {0};
    sf_status status = SF_OK;
    sf_batch *batch;
    do { /* all are read before the first is pushed: nothing of a broken array arrives */
        status = sf_arrow_next(reader, &batch, err);
        if (status == SF_OK && batch && !SF_VEC_PUSH(&batches, batch)) {
            sf_batch_unref(batch);
            status = sf_fail_memory(err);
        }
    } while (status == SF_OK && batch);
    for (size_t i = 0; i < batches.len; i++) {
        if (status == SF_OK)
            status = sf_engine_push(world->engine, name, batches.data[i], err);
        sf_batch_unref(batches.data[i]);
    }
    SF_VEC_DEINIT(&batches);
    return status;
}

sf_world_status sf_world_push_arrow(sf_world *world, const char *source, struct ArrowArray *array,
                                    struct ArrowSchema *schema, uint64_t *misfits,
                                    sf_world_error *error)
{
    sf_error err = {0};
    library_source *found;
    sf_arrow_reader *reader = NULL;
    sf_status status = find_source(world, source, &found, &err);
    if (status == SF_OK)
        status = release_rows(world, found, &err);
    if (status != SF_OK) {
        if (array->release)
            array->release(array);
        if (schema->release)
            schema->release(schema);
        return sf_library_fail(error, &err);
    }
    sf_arrow_options options = {.schema = found->builder.schema,
                                .stamp_ms = sf_engine_now(world->engine),
                                .weights = found->takes_retractions,
                                .valid_text = sf_utf8_valid,
                                .valid_json = is_json};
    status = sf_arrow_open(array, schema, &options, &reader, &err);
    if (status == SF_OK)
        status = push_batches(world, source, reader, &err);
    if (misfits)
        *misfits = reader ? sf_arrow_reader_report(reader)->misfits : 0;
    sf_arrow_close(reader);
    return status == SF_OK ? SF_WORLD_OK : sf_library_fail(error, &err);
}

sf_world_status sf_world_watermark(sf_world *world, const char *source, int64_t ts_ms,
                                   sf_world_error *error)
{
    sf_error err = {0};
    library_source *found;
    sf_status status = find_source(world, source, &found, &err);
    if (status == SF_OK)
        status = release_rows(world, found, &err);
    if (status == SF_OK)
        status = sf_engine_watermark(world->engine, source, ts_ms, &err);
    return status == SF_OK ? SF_WORLD_OK : sf_library_fail(error, &err);
}

void sf_world_set_now(sf_world *world, int64_t now_ms)
{
    sf_engine_set_now(world->engine, now_ms);
}

/* ---- work ---- */

typedef struct {
    sf_world_on_change *on_change;
    void *arg;
    sf_status status;
} changes;

static void hand_out(void *arg, const char *query, const sf_batch *batch)
{
    changes *to = arg;
    if (to->status != SF_OK)
        return;
    sf_world_value *values = sf_calloc(batch->schema->count, sizeof *values);
    to->status = values ? SF_OK : SF_LIMIT;
    for (uint32_t i = 0; values && i < batch->rows; i++) {
        sf_world_row row;
        sf_library_row(batch, i, values, &row);
        to->on_change(to->arg, query, &row);
    }
    sf_free(values);
}

sf_world_status sf_world_run(sf_world *world, sf_world_on_change *on_change, void *arg,
                             sf_world_error *error)
{
    sf_error err = {0};
    changes to = {.on_change = on_change, .arg = arg};
    sf_status status = SF_OK;
    for (size_t i = 0; status == SF_OK && i < world->sources.len; i++)
        status = release_rows(world, world->sources.data[i], &err);
    if (status == SF_OK)
        status = sf_engine_run(world->engine, on_change ? hand_out : NULL, &to, &err);
    if (status == SF_OK && to.status != SF_OK)
        status = sf_fail_memory(&err);
    return status == SF_OK ? SF_WORLD_OK : sf_library_fail(error, &err);
}
