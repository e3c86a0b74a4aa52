/* Arrow arrays of other programs become batches. */
#include "column/arrow.h"

#include <math.h>

/* How values lie in the array's buffers. */
typedef enum {
    WIRE_NULL,
    WIRE_BOOL,
    WIRE_I8,
    WIRE_I16,
    WIRE_I32,
    WIRE_I64,
    WIRE_U8,
    WIRE_U16,
    WIRE_U32,
    WIRE_U64,
    WIRE_F32,
    WIRE_F64,
    WIRE_TEXT,       /* 32-bit offsets */
    WIRE_LARGE_TEXT, /* 64-bit offsets */
    WIRE_VIEW,
    WIRE_DAYS, /* days since 1970, 32 bits */
    WIRE_TIME, /* a count of units since 1970, 64 bits */
} wire_kind;

typedef struct {
    wire_kind kind;
    int64_t per_ms, ms_per; /* WIRE_TIME: units in a millisecond, or milliseconds in a unit */
} wire;

/* One column of the batch, bound to a child of the array; array NULL: it has none. */
typedef struct {
    const char *name;
    sf_type type;
    bool is_ts, is_retract, is_weight;
    const struct ArrowArray *array; /* the values, or their dictionary */
    wire values;
    const struct ArrowArray *index; /* of a dictionary; NULL: plain */
    wire index_wire;
    sf_buffer *dictionary_text; /* its bytes, copied once */
    int64_t dictionary_base;    /* offset of its first byte in the producer's buffer */
} bound;

struct sf_arrow_reader {
    sf_arrow_options options;
    sf_schema *schema;
    struct ArrowArray array;
    struct ArrowSchema array_schema;
    bound *columns; /* of the schema, then _weight */
    bool has_weight;
    int64_t next;
    uint64_t *lanes_at; /* index of each row's value in the child or dictionary */
    sf_arrow_report report;
};

/* ---- formats ---- */

static bool wire_of_time(const char *format, wire *out)
{
    if (strcmp(format, "tdD") == 0) {
        *out = (wire){.kind = WIRE_DAYS};
        return true;
    }
    *out = (wire){.kind = WIRE_TIME, .per_ms = 1, .ms_per = 1};
    if (strcmp(format, "tdm") == 0)
        return true;
    if (format[1] != 's' || !format[2] || format[3] != ':')
        return false;
    switch (format[2]) {
    case 's': out->ms_per = 1000; return true;
    case 'm': return true;
    case 'u': out->per_ms = 1000; return true;
    case 'n': out->per_ms = 1000000; return true;
    default: return false;
    }
}

static bool wire_of(const char *format, wire *out)
{
    static const struct {
        const char *format;
        wire_kind kind;
    } plain[] = {
        {"n", WIRE_NULL}, {"b", WIRE_BOOL},  {"c", WIRE_I8},         {"s", WIRE_I16},
        {"i", WIRE_I32},  {"l", WIRE_I64},   {"C", WIRE_U8},         {"S", WIRE_U16},
        {"I", WIRE_U32},  {"L", WIRE_U64},   {"f", WIRE_F32},        {"g", WIRE_F64},
        {"u", WIRE_TEXT}, {"vu", WIRE_VIEW}, {"U", WIRE_LARGE_TEXT},
    };
    for (size_t i = 0; i < SF_COUNT_OF(plain); i++) {
        if (strcmp(format, plain[i].format) == 0) {
            *out = (wire){.kind = plain[i].kind};
            return true;
        }
    }
    return format[0] == 't' && format[1] && wire_of_time(format, out);
}

static bool is_whole(wire_kind kind)
{
    return kind >= WIRE_I8 && kind <= WIRE_U64;
}

static bool is_text(wire_kind kind)
{
    return kind == WIRE_TEXT || kind == WIRE_LARGE_TEXT || kind == WIRE_VIEW;
}

static bool wire_fits(const bound *column)
{
    wire_kind kind = column->values.kind;
    if (kind == WIRE_NULL)
        return true;
    if (column->is_ts)
        return is_whole(kind) || kind == WIRE_DAYS || kind == WIRE_TIME;
    switch (column->type) {
    case SF_TYPE_BOOL: return kind == WIRE_BOOL;
    case SF_TYPE_I64:
    case SF_TYPE_F64: return is_whole(kind) || kind == WIRE_F32 || kind == WIRE_F64;
    case SF_TYPE_TIMESTAMP: return is_whole(kind) || kind == WIRE_DAYS || kind == WIRE_TIME;
    case SF_TYPE_UTF8:
    case SF_TYPE_JSON: return is_text(kind);
    default: return false;
    }
}

/* ---- arrays that hold together ---- */

static sf_status invalid(const bound *column, sf_error *err, const char *why)
{
    return sf_fail(err, SF_INVALID, "invalid arrow column \"%s\": %s", column->name, why);
}

/* length and offset as they are used everywhere below: sums of the two never overflow. */
static bool sane_extent(const struct ArrowArray *array)
{
    const int64_t most = INT64_MAX / 64;
    return array->length >= 0 && array->offset >= 0 && array->length < most &&
           array->offset < most && array->null_count >= -1 && array->null_count <= array->length;
}

static sf_status check_buffers(const bound *column, const struct ArrowArray *array, wire_kind kind,
                               sf_error *err)
{
    if (!sane_extent(array))
        return invalid(column, err, "its length, offset or null count cannot be");
    if (kind == WIRE_NULL)
        return SF_OK;
    int64_t wanted = kind == WIRE_TEXT || kind == WIRE_LARGE_TEXT ? 3 : 2;
    bool views = kind == WIRE_VIEW; /* any number of byte buffers, then their sizes */
    if (views ? array->n_buffers < 3 || array->n_buffers > 1 << 20 : array->n_buffers != wanted)
        return invalid(column, err, "it has a wrong number of buffers");
    if (!array->buffers)
        return invalid(column, err, "it has no buffers");
    if (array->null_count > 0 && !array->buffers[0])
        return invalid(column, err, "it has NULLs and no validity buffer");
    if (array->length > 0 && !array->buffers[1])
        return invalid(column, err, "it has rows and no values");
    if (views && array->n_buffers > 3 && !array->buffers[array->n_buffers - 1])
        return invalid(column, err, "its buffers have no sizes");
    return SF_OK;
}

static bool lane_valid(const struct ArrowArray *array, uint64_t at)
{
    const uint8_t *bits = array->null_count == 0 ? NULL : array->buffers[0];
    return !bits || (bits[at >> 3] >> (at & 7) & 1);
}

/* Start and end of a text; false when they cannot be. */
static bool text_extent(const struct ArrowArray *array, wire_kind kind, uint64_t at, int64_t *start,
                        int64_t *end)
{
    if (kind == WIRE_TEXT) {
        const int32_t *offsets = (const int32_t *)array->buffers[1] + at;
        *start = offsets[0];
        *end = offsets[1];
    } else {
        const int64_t *offsets = (const int64_t *)array->buffers[1] + at;
        *start = offsets[0];
        *end = offsets[1];
    }
    return *start >= 0 && *end >= *start;
}

/* Every pair of offsets of `count` texts from `at` on, and what they span in all. */
static sf_status check_offsets(const bound *column, const struct ArrowArray *array, wire_kind kind,
                               uint64_t at, uint64_t count, int64_t *first, int64_t *last,
                               sf_error *err)
{
    int64_t start = 0, end = 0;
    *first = *last = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!text_extent(array, kind, at + i, &start, &end))
            return invalid(column, err, "its offsets go back");
        if (end - start > INT32_MAX)
            return invalid(column, err, "a text is longer than 2 GiB");
        if (i == 0)
            *first = start;
    }
    *last = end;
    if (*last > *first && !array->buffers[2])
        return invalid(column, err, "it has text and no bytes");
    return SF_OK;
}

static sf_status copy_text(const bound *column, const struct ArrowArray *array, int64_t first,
                           int64_t last, sf_buffer **out, sf_error *err)
{
    size_t size = (size_t)(last - first);
    if (size > UINT32_MAX)
        return invalid(column, err, "the texts of one batch are longer than 4 GiB");
    *out = sf_buffer_new(size ? size : 1);
    if (!*out)
        return sf_fail_memory(err);
    if (size)
        memcpy((*out)->data, (const char *)array->buffers[2] + first, size);
    return SF_OK;
}

/* ---- binding ---- */

static const struct ArrowArray *child_named(sf_arrow_reader *reader, const char *name,
                                            const struct ArrowSchema **schema, bool *twice)
{
    const struct ArrowArray *found = NULL;
    for (int64_t i = 0; i < reader->array_schema.n_children; i++) {
        const struct ArrowSchema *child = reader->array_schema.children[i];
        if (!child->name || strcmp(child->name, name) != 0)
            continue;
        *twice |= found != NULL;
        found = reader->array.children[i];
        *schema = child;
    }
    return found;
}

static sf_status bind_dictionary(bound *column, const struct ArrowSchema *schema, sf_error *err)
{
    column->index = column->array;
    column->array = column->index->dictionary;
    if (!column->array || !schema->dictionary->format)
        return invalid(column, err, "its dictionary is missing");
    if (!wire_of(schema->format, &column->index_wire) || !is_whole(column->index_wire.kind))
        return invalid(column, err, "its dictionary is not indexed by whole numbers");
    SF_TRY(check_buffers(column, column->index, column->index_wire.kind, err));
    if (!wire_of(schema->dictionary->format, &column->values))
        return sf_fail(err, SF_INVALID, "arrow column \"%s\": format \"%s\" is not read here",
                       column->name, schema->dictionary->format);
    return SF_OK;
}

static sf_status copy_dictionary(bound *column, sf_error *err)
{
    wire_kind kind = column->values.kind;
    if (!column->index || (kind != WIRE_TEXT && kind != WIRE_LARGE_TEXT))
        return SF_OK;
    int64_t first, last;
    const struct ArrowArray *array = column->array;
    SF_TRY(check_offsets(column, array, kind, (uint64_t)array->offset, (uint64_t)array->length,
                         &first, &last, err));
    column->dictionary_base = first;
    return copy_text(column, array, first, last, &column->dictionary_text, err);
}

static sf_status bind_column(sf_arrow_reader *reader, bound *column, sf_error *err)
{
    const struct ArrowSchema *schema = NULL;
    bool twice = false;
    column->array = child_named(reader, column->name, &schema, &twice);
    if (!column->array)
        return SF_OK;
    if (twice)
        return invalid(column, err, "there are two of this name");
    if (!schema->format)
        return invalid(column, err, "it has no format");
    if (schema->dictionary)
        SF_TRY(bind_dictionary(column, schema, err));
    else if (!wire_of(schema->format, &column->values))
        return sf_fail(err, SF_INVALID, "arrow column \"%s\": format \"%s\" is not read here",
                       column->name, schema->format);
    SF_TRY(check_buffers(column, column->array, column->values.kind, err));
    if (!wire_fits(column))
        return sf_fail(err, SF_INVALID, "arrow column \"%s\": format \"%s\" does not fit type %s",
                       column->name,
                       schema->dictionary ? schema->dictionary->format : schema->format,
                       column->is_ts ? "Timestamp" : sf_type_name(column->type));
    const struct ArrowArray *rows = column->index ? column->index : column->array;
    if (rows->length < reader->array.offset + reader->array.length)
        return invalid(column, err, "it has fewer values than the batch has rows");
    return copy_dictionary(column, err);
}

static sf_status check_batch(const sf_arrow_reader *reader, sf_error *err)
{
    const struct ArrowArray *array = &reader->array;
    const struct ArrowSchema *schema = &reader->array_schema;
    if (!array->release || !schema->release)
        return sf_fail(err, SF_INVALID, "invalid arrow array: it was released already");
    if (!schema->format || strcmp(schema->format, "+s") != 0)
        return sf_fail(err, SF_INVALID, "invalid arrow array: a batch is a struct (+s), not \"%s\"",
                       schema->format ? schema->format : "");
    if (!sane_extent(array) || array->n_children != schema->n_children || array->n_children < 0 ||
        array->n_children > SF_COLUMNS_MAX)
        return sf_fail(err, SF_INVALID,
                       "invalid arrow array: its length, offset or number of columns cannot be");
    if (array->null_count > 0 ||
        (array->n_buffers > 0 && array->buffers && array->buffers[0] && array->null_count != 0))
        return sf_fail(err, SF_INVALID, "invalid arrow array: a whole row cannot be NULL");
    if (array->n_children > 0 && (!array->children || !schema->children))
        return sf_fail(err, SF_INVALID, "invalid arrow array: its columns are missing");
    for (int64_t i = 0; i < array->n_children; i++)
        if (!array->children[i] || !schema->children[i])
            return sf_fail(err, SF_INVALID, "invalid arrow array: its columns are missing");
    return SF_OK;
}

static sf_status bind_columns(sf_arrow_reader *reader, sf_error *err)
{
    const sf_schema *schema = reader->schema;
    uint32_t found = 0;
    for (uint32_t i = 0; i < schema->count; i++) {
        const sf_field *field = &schema->fields[i];
        bound *column = &reader->columns[i];
        *column = (bound){.name = field->name, .type = field->type};
        column->is_ts = field->hidden && strcmp(field->name, SF_COL_TS) == 0;
        column->is_retract = field->hidden && strcmp(field->name, SF_COL_RETRACT) == 0;
        SF_TRY(bind_column(reader, column, err));
        found += column->array != NULL;
    }
    bound *weight = &reader->columns[schema->count];
    *weight = (bound){.name = "_weight", .type = SF_TYPE_I64, .is_weight = true};
    if (reader->options.weights) {
        SF_TRY(bind_column(reader, weight, err));
        reader->has_weight = weight->array != NULL;
        found += reader->has_weight;
    }
    reader->report.unknown_columns = (uint32_t)reader->array.n_children - found;
    return SF_OK;
}

sf_status sf_arrow_open(struct ArrowArray *array, struct ArrowSchema *schema,
                        const sf_arrow_options *options, sf_arrow_reader **out, sf_error *err)
{
    sf_arrow_reader *reader = sf_calloc(1, sizeof *reader);
    if (!reader) {
        if (array->release)
            array->release(array);
        if (schema->release)
            schema->release(schema);
        return sf_fail_memory(err);
    }
    reader->options = *options;
    reader->schema = sf_schema_ref(options->schema);
    reader->array = *array;
    reader->array_schema = *schema;
    array->release = NULL;
    schema->release = NULL;
    reader->columns = sf_calloc(reader->schema->count + 1u, sizeof *reader->columns);
    reader->lanes_at = sf_calloc(SF_BATCH_ROWS_MAX, sizeof *reader->lanes_at);
    sf_status status =
        reader->columns && reader->lanes_at ? check_batch(reader, err) : sf_fail_memory(err);
    if (status == SF_OK)
        status = bind_columns(reader, err);
    if (status == SF_OK)
        *out = reader;
    else
        sf_arrow_close(reader);
    return status;
}

void sf_arrow_close(sf_arrow_reader *reader)
{
    if (!reader)
        return;
    for (uint32_t i = 0; reader->columns && i <= reader->schema->count; i++)
        sf_buffer_unref(reader->columns[i].dictionary_text);
    if (reader->array.release)
        reader->array.release(&reader->array);
    if (reader->array_schema.release)
        reader->array_schema.release(&reader->array_schema);
    sf_schema_unref(reader->schema);
    sf_free(reader->columns);
    sf_free(reader->lanes_at);
    sf_free(reader);
}

const sf_arrow_report *sf_arrow_reader_report(const sf_arrow_reader *reader)
{
    return &reader->report;
}

/* ---- values ---- */

/* One column of a batch in the making. */
typedef struct {
    sf_arrow_reader *reader;
    const bound *source;
    uint32_t rows;
    sf_column *column;
    uint64_t *valid;
} lanes;

static void misfit(lanes *l, uint32_t row)
{
    if (l->valid[row >> 6] >> (row & 63) & 1)
        l->reader->report.misfits++;
    sf_valid_clear(l->valid, row);
}

static int64_t whole_at(const struct ArrowArray *array, wire_kind kind, uint64_t at)
{
    const void *values = array->buffers[1];
    switch (kind) {
    case WIRE_I8: return ((const int8_t *)values)[at];
    case WIRE_I16: return ((const int16_t *)values)[at];
    case WIRE_I32: return ((const int32_t *)values)[at];
    case WIRE_U8: return ((const uint8_t *)values)[at];
    case WIRE_U16: return ((const uint16_t *)values)[at];
    case WIRE_U32: return ((const uint32_t *)values)[at];
    default: return ((const int64_t *)values)[at]; /* I64; U64 beyond 2^63 comes out negative */
    }
}

/* Where each row's value is, and which rows are NULL. */
static sf_status locate(lanes *l, sf_error *err)
{
    const bound *source = l->source;
    const sf_arrow_reader *reader = l->reader;
    const struct ArrowArray *rows = source->index ? source->index : source->array;
    uint64_t base = (uint64_t)(rows->offset + reader->array.offset + reader->next);
    for (uint32_t i = 0; i < l->rows; i++) {
        uint64_t at = base + i;
        if (source->values.kind == WIRE_NULL || !lane_valid(rows, at)) {
            sf_valid_clear(l->valid, i);
            reader->lanes_at[i] = source->index ? 0 : at;
            continue;
        }
        if (source->index) {
            int64_t index = whole_at(source->index, source->index_wire.kind, at);
            if (index < 0 || index >= source->array->length)
                return invalid(source, err, "an index lies outside its dictionary");
            at = (uint64_t)(source->array->offset + index);
            if (!lane_valid(source->array, at))
                sf_valid_clear(l->valid, i);
        }
        reader->lanes_at[i] = at;
    }
    return SF_OK;
}

static bool is_set(const lanes *l, uint32_t row)
{
    return l->valid[row >> 6] >> (row & 63) & 1;
}

static void read_bools(lanes *l)
{
    const uint8_t *bits = l->source->array->buffers[1];
    uint8_t *out = sf_column_lanes(l->column);
    for (uint32_t i = 0; i < l->rows; i++) {
        uint64_t at = l->reader->lanes_at[i];
        out[i] = is_set(l, i) && (bits[at >> 3] >> (at & 7) & 1);
    }
}

static void read_whole(lanes *l)
{
    const bound *source = l->source;
    int64_t *out = sf_column_lanes(l->column);
    for (uint32_t i = 0; i < l->rows; i++) {
        out[i] =
            is_set(l, i) ? whole_at(source->array, source->values.kind, l->reader->lanes_at[i]) : 0;
        if (source->values.kind == WIRE_U64 && out[i] < 0)
            misfit(l, i);
    }
}

static double real_at(const struct ArrowArray *array, wire_kind kind, uint64_t at)
{
    const void *values = array->buffers[1];
    if (kind == WIRE_F32)
        return (double)((const float *)values)[at];
    if (kind == WIRE_F64)
        return ((const double *)values)[at];
    if (kind == WIRE_U64)
        return (double)((const uint64_t *)values)[at];
    return (double)whole_at(array, kind, at);
}

static void read_reals(lanes *l)
{
    const bound *source = l->source;
    double *out = sf_column_lanes(l->column);
    for (uint32_t i = 0; i < l->rows; i++) {
        out[i] =
            is_set(l, i) ? real_at(source->array, source->values.kind, l->reader->lanes_at[i]) : 0;
        if (!isfinite(out[i])) {
            misfit(l, i);
            out[i] = 0;
        }
    }
}

/* Whole numbers that were written as doubles. */
static void read_whole_reals(lanes *l)
{
    const bound *source = l->source;
    int64_t *out = sf_column_lanes(l->column);
    for (uint32_t i = 0; i < l->rows; i++) {
        double value =
            is_set(l, i) ? real_at(source->array, source->values.kind, l->reader->lanes_at[i]) : 0;
        bool fits = value >= -0x1p63 && value < 0x1p63 && floor(value) == value;
        out[i] = fits ? (int64_t)value : 0;
        if (!fits)
            misfit(l, i);
    }
}

static bool to_ms(const wire *values, int64_t count, int64_t *ms)
{
    if (values->kind == WIRE_DAYS)
        return !__builtin_mul_overflow(count, 86400000, ms);
    if (values->kind != WIRE_TIME) {
        *ms = count;
        return true;
    }
    if (values->ms_per > 1)
        return !__builtin_mul_overflow(count, values->ms_per, ms);
    *ms = sf_floor_div(count, values->per_ms);
    return true;
}

static void read_times(lanes *l)
{
    const bound *source = l->source;
    wire_kind kind = source->values.kind;
    int64_t *out = sf_column_lanes(l->column);
    for (uint32_t i = 0; i < l->rows; i++) {
        int64_t count = 0;
        if (is_set(l, i))
            count = kind == WIRE_DAYS ? whole_at(source->array, WIRE_I32, l->reader->lanes_at[i])
                                      : whole_at(source->array, kind, l->reader->lanes_at[i]);
        out[i] = 0;
        if ((kind == WIRE_U64 && count < 0) || !to_ms(&source->values, count, &out[i]))
            misfit(l, i);
    }
}

/* ---- text ---- */

static bool text_fits(const sf_arrow_reader *reader, sf_type type, sf_str text)
{
    if (!reader->options.valid_text || !reader->options.valid_text(text))
        return false;
    return type != SF_TYPE_JSON || (reader->options.valid_json && reader->options.valid_json(text));
}

/* The bytes of a view; false when it does not lie in its buffer. */
static bool view_text(const struct ArrowArray *array, uint64_t at, sf_str *out)
{
    const uint8_t *view = (const uint8_t *)array->buffers[1] + at * 16;
    int32_t length, buffer, offset;
    memcpy(&length, view, 4);
    if (length < 0)
        return false;
    if (length <= SF_VIEW_INLINE) {
        *out = (sf_str){(const char *)view + 4, (size_t)length};
        return true;
    }
    memcpy(&buffer, view + 8, 4);
    memcpy(&offset, view + 12, 4);
    int64_t count = array->n_buffers - 3;
    if (buffer < 0 || buffer >= count || offset < 0)
        return false;
    const int64_t *sizes = array->buffers[array->n_buffers - 1];
    const char *bytes = array->buffers[2 + buffer];
    if (!bytes || (int64_t)offset + length > sizes[buffer])
        return false;
    *out = (sf_str){bytes + offset, (size_t)length};
    return true;
}

/* Texts of one batch in builder form; shared NULL: they are copied one by one (views, whose buffers
 * may be far larger than what is shown of them). */
typedef struct {
    sf_builder builder;
    sf_buffer *shared;
    int64_t base;
} texts;

static sf_status put_text(lanes *l, texts *t, uint32_t row, sf_error *err)
{
    const bound *source = l->source;
    uint64_t at = l->reader->lanes_at[row];
    sf_str text = {NULL, 0};
    int64_t start, end;
    if (!is_set(l, row)) {
        sf_builder_null(&t->builder);
        return SF_OK;
    }
    if (source->values.kind == WIRE_VIEW) {
        if (!view_text(source->array, at, &text))
            return invalid(source, err, "a text lies outside its buffer");
    } else if (text_extent(source->array, source->values.kind, at, &start, &end)) {
        text = (sf_str){(const char *)t->shared->data + (start - t->base), (size_t)(end - start)};
    } else {
        return invalid(source, err, "its offsets go back");
    }
    if (!text_fits(l->reader, source->type, text)) {
        l->reader->report.misfits++;
        sf_builder_null(&t->builder);
    } else if (t->shared) {
        sf_builder_str_shared(&t->builder, text, t->shared);
    } else {
        sf_builder_str(&t->builder, text);
    }
    return SF_OK;
}

static sf_status open_texts(lanes *l, texts *t, sf_error *err)
{
    const bound *source = l->source;
    *t = (texts){.base = source->dictionary_base};
    if (!sf_builder_init(&t->builder, source->type, l->rows))
        return sf_fail_memory(err);
    if (source->values.kind == WIRE_VIEW)
        return SF_OK;
    if (source->index) {
        t->shared = sf_buffer_ref(source->dictionary_text);
        return SF_OK;
    }
    int64_t last;
    uint64_t at = (uint64_t)(source->array->offset + l->reader->array.offset + l->reader->next);
    SF_TRY(check_offsets(source, source->array, source->values.kind, at, l->rows, &t->base, &last,
                         err));
    return copy_text(source, source->array, t->base, last, &t->shared, err);
}

static sf_status read_texts(lanes *l, sf_column **out, sf_error *err)
{
    texts t;
    sf_status status = open_texts(l, &t, err);
    for (uint32_t row = 0; status == SF_OK && row < l->rows; row++)
        status = put_text(l, &t, row, err);
    if (status == SF_OK) {
        *out = sf_builder_finish(&t.builder);
        status = *out ? SF_OK : sf_fail_memory(err);
    }
    sf_builder_deinit(&t.builder);
    sf_buffer_unref(t.shared);
    return status;
}

/* ---- columns and batches ---- */

static void read_lanes(lanes *l)
{
    wire_kind kind = l->source->values.kind;
    if (kind == WIRE_NULL)
        memset(sf_column_lanes(l->column), 0, l->rows * sf_type_lane_bytes(l->column->type));
    else if (l->source->is_ts || l->source->type == SF_TYPE_TIMESTAMP)
        read_times(l);
    else if (l->source->type == SF_TYPE_BOOL)
        read_bools(l);
    else if (l->source->type == SF_TYPE_F64)
        read_reals(l);
    else if (is_whole(kind))
        read_whole(l);
    else
        read_whole_reals(l);
}

/* Columns that have no NULL: _ts has the stamp instead, _retract false, _weight 1. */
static void fill_defaults(lanes *l)
{
    for (uint32_t row = 0; row < l->rows; row++) {
        if (is_set(l, row))
            continue;
        if (l->source->is_retract)
            ((uint8_t *)sf_column_lanes(l->column))[row] = 0;
        else
            ((int64_t *)sf_column_lanes(l->column))[row] =
                l->source->is_ts ? l->reader->options.stamp_ms : 1;
        l->valid[row >> 6] |= 1ULL << (row & 63);
    }
}

static sf_status absent_column(sf_arrow_reader *reader, const bound *source, uint32_t rows,
                               sf_column **out, sf_error *err)
{
    if (!source->is_ts && !source->is_retract) {
        *out = sf_column_nulls(source->type, rows);
        return *out ? SF_OK : sf_fail_memory(err);
    }
    *out = sf_column_new(source->type, rows, false);
    if (!*out)
        return sf_fail_memory(err);
    if (source->is_retract)
        memset(sf_column_lanes(*out), 0, rows);
    for (uint32_t i = 0; source->is_ts && i < rows; i++)
        ((int64_t *)sf_column_lanes(*out))[i] = reader->options.stamp_ms;
    return SF_OK;
}

/* A column without NULLs has no validity: kernels are faster on it. */
static void drop_validity(sf_column *column)
{
    if (column->valid_buffer && sf_column_null_count(column) == 0) {
        sf_buffer_unref(column->valid_buffer);
        column->valid_buffer = NULL;
        column->valid = NULL;
    }
}

static sf_status read_column(sf_arrow_reader *reader, const bound *source, uint32_t rows,
                             sf_column **out, sf_error *err)
{
    if (!source->array)
        return absent_column(reader, source, rows, out, err);
    bool text = is_text(source->values.kind);
    lanes l = {.reader = reader, .source = source, .rows = rows};
    l.column = sf_column_new(text ? SF_TYPE_BOOL : source->type, rows, true);
    if (!l.column)
        return sf_fail_memory(err);
    l.valid = sf_column_valid(l.column);
    sf_status status = locate(&l, err);
    if (status == SF_OK && text) {
        status = read_texts(&l, out, err);
        sf_column_unref(l.column); /* only its validity was needed */
        return status;
    }
    if (status == SF_OK) {
        read_lanes(&l);
        if (source->is_ts || source->is_retract || source->is_weight)
            fill_defaults(&l);
        drop_validity(l.column);
        *out = l.column;
        return SF_OK;
    }
    sf_column_unref(l.column);
    return status;
}

static sf_status check_weights(const bound *source, const sf_column *weights, sf_error *err)
{
    for (uint32_t i = 0; i < weights->rows; i++)
        if (SF_LANES(weights, int64_t)[i] == 0)
            return invalid(source, err, "a row has the weight 0");
    return SF_OK;
}

sf_status sf_arrow_next(sf_arrow_reader *reader, sf_batch **out, sf_error *err)
{
    int64_t left = reader->array.length - reader->next;
    uint32_t rows = left > SF_BATCH_ROWS_MAX ? SF_BATCH_ROWS_MAX : (uint32_t)left;
    uint32_t count = reader->schema->count;
    *out = NULL;
    if (rows == 0)
        return SF_OK;
    sf_column **columns = sf_calloc(count + 1u, sizeof *columns);
    sf_status status = columns ? SF_OK : sf_fail_memory(err);
    for (uint32_t i = 0; status == SF_OK && i < count + reader->has_weight; i++)
        status = read_column(reader, &reader->columns[i], rows, &columns[i], err);
    if (status == SF_OK && reader->has_weight)
        status = check_weights(&reader->columns[count], columns[count], err);
    if (status == SF_OK) {
        *out = sf_batch_new(reader->schema, rows, columns, columns[count], NULL);
        status = *out ? SF_OK : sf_fail_memory(err);
        reader->next += rows;
        reader->report.rows += rows;
    } else {
        for (uint32_t i = 0; columns && i <= count; i++)
            sf_column_unref(columns[i]);
    }
    sf_free(columns);
    return status;
}
