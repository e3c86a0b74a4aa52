/* Answers through the public C API: row by row, and as an Arrow stream. */
#include "engine/library.h"

#include <errno.h>

static sf_world_value value_at(const sf_column *column, uint32_t row)
{
    sf_world_value value = sf_world_null();
    if (!sf_column_is_valid(column, row))
        return value;
    value.type = sf_library_type(column->type);
    switch (column->type) {
    case SF_TYPE_BOOL: value.as.truth = SF_LANES(column, uint8_t)[row] != 0; break;
    case SF_TYPE_F64: value.as.real = SF_LANES(column, double)[row]; break;
    case SF_TYPE_UTF8:
    case SF_TYPE_JSON: {
        sf_str text = sf_column_str(column, row);
        value.as.text.data = text.data;
        value.as.text.len = text.len;
        break;
    }
    default: value.as.whole = SF_LANES(column, int64_t)[row]; break;
    }
    return value;
}

void sf_library_row(const sf_batch *batch, uint32_t row, sf_world_value *values, sf_world_row *out)
{
    const sf_schema *schema = batch->schema;
    size_t count = 0;
    for (uint32_t i = 0; i < schema->count; i++)
        if (!schema->fields[i].hidden)
            values[count++] = value_at(batch->columns[i], row);
    const sf_column *ts = batch->columns[schema->count - 1];
    *out = (sf_world_row){.values = values,
                          .count = count,
                          .ts_ms = SF_LANES(ts, int64_t)[row],
                          .weight = sf_batch_weight(batch, row)};
}

/* ---- rows ---- */

struct sf_world_reader {
    sf_snapshot *snapshot;
    sf_schema *schema;
    sf_snapshot_cursor cursor;
    sf_batch *batch;
    uint32_t row;
    int64_t given; /* streams: how often this row was given already */
    sf_world_value *values;
    sf_error err;
};

static sf_status open_reader(sf_world *world, const char *table, sf_world_reader **out,
                             sf_error *err)
{
    const sf_plan *plan = table ? sf_engine_plan(world->engine, table) : NULL;
    if (!plan)
        return sf_fail(err, SF_NOT_FOUND, "there is no table \"%s\"", table ? table : "");
    if (plan->kind != SF_PLAN_TABLE)
        return sf_fail(err, SF_INVALID, "\"%s\" is a pipeline: its results come from sf_world_run",
                       table);
    sf_world_reader *reader = sf_calloc(1, sizeof *reader);
    if (!reader)
        return sf_fail_memory(err);
    reader->schema = sf_schema_ref(sf_plan_schema(plan));
    reader->snapshot = sf_engine_snapshot(world->engine, table);
    reader->values = sf_calloc(reader->schema->count, sizeof *reader->values);
    if (!reader->snapshot || !reader->values) {
        sf_world_reader_free(reader);
        return sf_fail_memory(err);
    }
    *out = reader;
    return SF_OK;
}

void sf_world_reader_free(sf_world_reader *reader)
{
    if (!reader)
        return;
    sf_batch_unref(reader->batch);
    sf_snapshot_unref(reader->snapshot);
    sf_schema_unref(reader->schema);
    sf_free(reader->values);
    sf_free(reader);
}

/* Makes reader->row a row of reader->batch; batch NULL: there is none. */
static sf_status advance(sf_world_reader *reader, sf_error *err)
{
    while (!reader->batch || reader->row >= reader->batch->rows) {
        sf_batch_unref(reader->batch);
        reader->batch = NULL;
        reader->row = 0;
        SF_TRY(sf_snapshot_read(reader->snapshot, reader->schema, 0, SF_BATCH_ROWS, &reader->cursor,
                                &reader->batch, err));
        if (!reader->batch)
            return SF_OK;
    }
    return SF_OK;
}

sf_world_status sf_world_read(sf_world *world, const char *table, sf_world_reader **out,
                              sf_world_error *error)
{
    sf_error err = {0};
    sf_status status = open_reader(world, table, out, &err);
    return status == SF_OK ? SF_WORLD_OK : sf_library_fail(error, &err);
}

bool sf_world_reader_next(sf_world_reader *reader, sf_world_row *row, sf_world_error *error)
{
    sf_error err = {0};
    if (error)
        *error = (sf_world_error){0};
    if (advance(reader, &err) != SF_OK) {
        (void)sf_library_fail(error, &err);
        return false;
    }
    if (!reader->batch)
        return false;
    sf_library_row(reader->batch, reader->row++, reader->values, row);
    return true;
}

/* ---- Arrow ---- */

/* Rows of the batch in hand, each as often as its weight says, up to a batch full. */
static sf_status take_rows(sf_world_reader *reader, sf_batch **out, sf_error *err)
{
    uint32_t rows[SF_BATCH_ROWS], count = 0;
    *out = NULL;
    SF_TRY(advance(reader, err));
    if (!reader->batch)
        return SF_OK;
    while (reader->row < reader->batch->rows && count < SF_BATCH_ROWS) {
        rows[count++] = reader->row;
        if (++reader->given >= sf_batch_weight(reader->batch, reader->row)) {
            reader->row++;
            reader->given = 0;
        }
    }
    *out = sf_batch_gather(reader->batch, (sf_sel){rows, count});
    return *out ? SF_OK : sf_fail_memory(err);
}

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    sf_world_reader *reader = stream->private_data;
    return sf_arrow_export_schema(reader->schema, false, out, &reader->err) == SF_OK ? 0 : ENOMEM;
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    sf_world_reader *reader = stream->private_data;
    sf_batch *batch;
    *out = (struct ArrowArray){0}; /* released: the end */
    if (take_rows(reader, &batch, &reader->err) != SF_OK)
        return ENOMEM;
    if (!batch)
        return 0;
    sf_status status = sf_arrow_export(batch, false, out, &reader->err);
    sf_batch_unref(batch);
    return status == SF_OK ? 0 : ENOMEM;
}

static const char *stream_error(struct ArrowArrayStream *stream)
{
    sf_world_reader *reader = stream->private_data;
    return reader->err.message[0] ? reader->err.message : NULL;
}

static void stream_release(struct ArrowArrayStream *stream)
{
    sf_world_reader_free(stream->private_data);
    stream->release = NULL;
}

sf_world_status sf_world_read_arrow(sf_world *world, const char *table,
                                    struct ArrowArrayStream *out, sf_world_error *error)
{
    sf_error err = {0};
    sf_world_reader *reader;
    if (open_reader(world, table, &reader, &err) != SF_OK)
        return sf_library_fail(error, &err);
    *out = (struct ArrowArrayStream){.get_schema = stream_schema,
                                     .get_next = stream_next,
                                     .get_last_error = stream_error,
                                     .release = stream_release,
                                     .private_data = reader};
    return SF_WORLD_OK;
}
