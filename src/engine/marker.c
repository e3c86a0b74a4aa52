/* Watermarks of sources and the hidden columns of relations. */
#include "engine/engine.h"

void sf_marker_init(sf_marker *marker, int64_t lateness_ms)
{
    *marker = (sf_marker){.lateness_ms = lateness_ms, .watermark = SF_MARK_NONE};
}

sf_batch *sf_marker_stamp(sf_marker *marker, const sf_batch *batch)
{
    const sf_column *ts = batch->columns[batch->schema->count - 1];
    sf_column *marks = sf_column_new(SF_TYPE_I64, batch->rows, false);
    sf_column **columns = sf_alloc(batch->schema->count * sizeof *columns);
    if (!marks || !columns) {
        sf_column_unref(marks);
        sf_free(columns);
        return NULL;
    }
    int64_t *lanes = sf_column_lanes(marks), watermark = marker->watermark;
    for (uint32_t i = 0; i < batch->rows; i++) {
        int64_t mark = sf_sat_add(SF_LANES(ts, int64_t)[i], -marker->lateness_ms);
        watermark = mark > watermark ? mark : watermark;
        lanes[i] = watermark;
    }
    marker->watermark = watermark;
    for (uint32_t i = 0; i < batch->schema->count; i++)
        columns[i] = sf_column_ref(batch->columns[i]);
    sf_batch *stamped =
        sf_batch_new(batch->schema, batch->rows, columns, sf_column_ref(batch->weights), marks);
    sf_free(columns);
    return stamped;
}

bool sf_marker_advance(sf_marker *marker, int64_t watermark)
{
    if (watermark <= marker->watermark)
        return false;
    marker->watermark = watermark;
    return true;
}

sf_schema *sf_relation_schema(const sf_field *fields, uint32_t count, sf_input_kind kind)
{
    sf_field *all = sf_alloc((count + 2u) * sizeof *all);
    if (!all)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        all[i] = (sf_field){fields[i].name, fields[i].type, false};
    if (kind == SF_INPUT_SOURCE)
        all[count++] = (sf_field){SF_COL_RETRACT, SF_TYPE_BOOL, true};
    all[count++] = (sf_field){SF_COL_TS, SF_TYPE_I64, true};
    sf_schema *schema = sf_schema_new(all, count);
    sf_free(all);
    return schema;
}
