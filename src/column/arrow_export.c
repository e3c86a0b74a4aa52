/* Batches as Arrow arrays for other programs. */
#include "column/arrow.h"

/* ---- schemas ---- */

static const char *format_of(sf_type type)
{
    static const char *const formats[SF_TYPE_COUNT] = {
        [SF_TYPE_BOOL] = "b",
        [SF_TYPE_I8] = "c",
        [SF_TYPE_I16] = "s",
        [SF_TYPE_I32] = "i",
        [SF_TYPE_I64] = "l",
        [SF_TYPE_U8] = "C",
        [SF_TYPE_U16] = "S",
        [SF_TYPE_U32] = "I",
        [SF_TYPE_U64] = "L",
        [SF_TYPE_F32] = "f",
        [SF_TYPE_F64] = "g",
        [SF_TYPE_UTF8] = "u",
        [SF_TYPE_BINARY] = "z",
        [SF_TYPE_TIMESTAMP] = "tsm:UTC",
        [SF_TYPE_TIMESTAMP_NS] = "tsn:UTC",
        [SF_TYPE_JSON] = "u",
    };
    return formats[type];
}

/* Key and value of the metadata that marks Json, in the interface's binary form. */
static bool put_json_metadata(sf_buf *out)
{
    sf_str pair[2] = {SF_STR("ARROW:extension:name"), SF_STR("arrow.json")};
    int32_t count = 1;
    sf_buf_put(out, &count, sizeof count);
    for (int i = 0; i < 2; i++) {
        int32_t length = (int32_t)pair[i].len;
        sf_buf_put(out, &length, sizeof length);
        sf_buf_put(out, pair[i].data, pair[i].len);
    }
    return !out->failed;
}

static void release_field(struct ArrowSchema *schema)
{
    sf_free((void *)schema->name);
    sf_free((void *)schema->metadata);
    schema->release = NULL;
}

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->release)
            schema->children[i]->release(schema->children[i]);
    sf_free(schema->private_data);
    sf_free(schema->children);
    schema->release = NULL;
}

static bool export_field(const sf_field *field, struct ArrowSchema *out)
{
    sf_buf metadata = {0};
    if (field->type == SF_TYPE_JSON && !put_json_metadata(&metadata)) {
        sf_buf_deinit(&metadata);
        return false;
    }
    *out = (struct ArrowSchema){.format = format_of(field->type),
                                .name = sf_strdup(field->name),
                                .metadata = metadata.data,
                                .flags = ARROW_FLAG_NULLABLE,
                                .release = release_field};
    return out->name != NULL;
}

static uint32_t shown_columns(const sf_schema *schema, bool with_hidden)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < schema->count; i++)
        count += with_hidden || !schema->fields[i].hidden;
    return count;
}

sf_status sf_arrow_export_schema(const sf_schema *schema, bool with_hidden, struct ArrowSchema *out,
                                 sf_error *err)
{
    uint32_t count = shown_columns(schema, with_hidden);
    struct ArrowSchema *fields = sf_calloc(count + 1u, sizeof *fields);
    struct ArrowSchema **children = sf_calloc(count + 1u, sizeof *children);
    *out = (struct ArrowSchema){.format = "+s",
                                .name = "",
                                .children = children,
                                .release = release_schema,
                                .private_data = fields};
    bool ok = fields && children;
    for (uint32_t i = 0; ok && i < schema->count; i++) {
        if (!with_hidden && schema->fields[i].hidden)
            continue;
        children[out->n_children] = &fields[out->n_children];
        ok = export_field(&schema->fields[i], &fields[out->n_children++]);
    }
    if (ok)
        return SF_OK;
    out->release(out);
    return sf_fail_memory(err);
}

/* ---- arrays ---- */

/* What an exported column holds on to. */
typedef struct {
    sf_column *column; /* its lanes and validity are shown as they are */
    sf_buffer *first, *second;
    const void *buffers[3];
} held_column;

static void release_column(struct ArrowArray *array)
{
    held_column *held = array->private_data;
    sf_column_unref(held->column);
    sf_buffer_unref(held->first);
    sf_buffer_unref(held->second);
    sf_free(held);
    array->release = NULL;
}

typedef struct {
    struct ArrowArray *columns;
    const void *buffers[1];
} held_batch;

static void release_batch(struct ArrowArray *array)
{
    held_batch *held = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release)
            array->children[i]->release(array->children[i]);
    sf_free(held->columns);
    sf_free(held);
    sf_free(array->children);
    array->release = NULL;
}

static bool pack_bools(held_column *held)
{
    const sf_column *column = held->column;
    held->first = sf_buffer_new(((size_t)column->rows + 7) / 8 + 1);
    if (!held->first)
        return false;
    memset(held->first->data, 0, ((size_t)column->rows + 7) / 8);
    for (uint32_t row = 0; row < column->rows; row++)
        if (SF_LANES(column, uint8_t)[row])
            held->first->data[row >> 3] |= (uint8_t)(1 << (row & 7));
    held->buffers[1] = held->first->data;
    return true;
}

/* Offsets and bytes; false: memory, or more than 32-bit offsets can say. */
static bool pack_text(held_column *held)
{
    const sf_column *column = held->column;
    uint64_t size = 0;
    for (uint32_t row = 0; row < column->rows; row++)
        if (sf_column_is_valid(column, row))
            size += sf_column_str(column, row).len;
    if (size > INT32_MAX)
        return false;
    held->first = sf_buffer_new(((size_t)column->rows + 1) * sizeof(int32_t));
    held->second = sf_buffer_new(size ? size : 1);
    if (!held->first || !held->second)
        return false;
    int32_t *offsets = (int32_t *)(void *)held->first->data, at = 0;
    for (uint32_t row = 0; row < column->rows; row++) {
        offsets[row] = at;
        sf_str text =
            sf_column_is_valid(column, row) ? sf_column_str(column, row) : (sf_str){NULL, 0};
        if (text.len)
            memcpy(held->second->data + at, text.data, text.len);
        at += (int32_t)text.len;
    }
    offsets[column->rows] = at;
    held->buffers[1] = held->first->data;
    held->buffers[2] = held->second->data;
    return true;
}

static bool export_column(const sf_column *column, struct ArrowArray *out)
{
    held_column *held = sf_calloc(1, sizeof *held);
    if (!held)
        return false;
    held->column = sf_column_ref(column);
    held->buffers[0] = column->valid;
    held->buffers[1] = column->data;
    *out = (struct ArrowArray){.length = column->rows,
                               .null_count = sf_column_null_count(column),
                               .n_buffers = sf_type_is_view(column->type) ? 3 : 2,
                               .buffers = held->buffers,
                               .release = release_column,
                               .private_data = held};
    if (column->type == SF_TYPE_BOOL)
        return pack_bools(held);
    return !sf_type_is_view(column->type) || pack_text(held);
}

sf_status sf_arrow_export(const sf_batch *batch, bool with_hidden, struct ArrowArray *out,
                          sf_error *err)
{
    uint32_t count = shown_columns(batch->schema, with_hidden);
    held_batch *held = sf_calloc(1, sizeof *held);
    struct ArrowArray *columns = sf_calloc(count + 1u, sizeof *columns);
    struct ArrowArray **children = sf_calloc(count + 1u, sizeof *children);
    if (!held || !columns || !children) {
        sf_free(held);
        sf_free(columns);
        sf_free(children);
        return sf_fail_memory(err);
    }
    held->columns = columns;
    *out = (struct ArrowArray){.length = batch->rows,
                               .n_buffers = 1,
                               .buffers = held->buffers,
                               .children = children,
                               .release = release_batch,
                               .private_data = held};
    bool ok = true;
    for (uint32_t i = 0; ok && i < batch->schema->count; i++) {
        if (!with_hidden && batch->schema->fields[i].hidden)
            continue;
        children[out->n_children] = &columns[out->n_children];
        ok = export_column(batch->columns[i], &columns[out->n_children++]);
    }
    if (ok)
        return SF_OK;
    out->release(out);
    return sf_fail(err, SF_LIMIT, "the rows do not fit into memory as an arrow array");
}
