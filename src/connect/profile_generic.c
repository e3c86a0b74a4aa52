/* Profile generic: values by declared type, nested as declared. */
#include "connect/generator.h"
#include "text/text.h"

#include <math.h>

enum { SHAPES_MAX = 1024, SHAPE_DEPTH_MAX = 16, LIST_DEPTH_MAX = 3, LIST_ITEMS_MAX = 3, KEYS = 5 };

static const sf_field generic_fields[] = {
    {"key", SF_TYPE_UTF8, false},
    {"value", SF_TYPE_F64, false},
};

/* ---- declared shapes ---- */

typedef struct {
    const char *name, *type;
    sf_str children;
    bool is_array;
} field_def;

static const sf_option field_options[] = {
    {.key = "name",
     .type = SF_OPTION_STRING,
     .required = true,
     .max = 256,
     .offset = offsetof(field_def, name)},
    {.key = "type",
     .type = SF_OPTION_STRING,
     .required = true,
     .max = 32,
     .offset = offsetof(field_def, type)},
    {.key = "children", .type = SF_OPTION_JSON, .offset = offsetof(field_def, children)},
    {.key = "isArray", .type = SF_OPTION_BOOL, .offset = offsetof(field_def, is_array)},
};

static sf_status read_shapes(sf_generator *generator, sf_str fields, uint32_t depth,
                             uint32_t *budget, const field_shape **out, uint32_t *count,
                             sf_error *err);

static sf_status read_shape(sf_generator *generator, sf_str field, uint32_t depth, uint32_t *budget,
                            field_shape *out, sf_error *err)
{
    field_def def;
    sf_option_list list = {field_options, SF_COUNT_OF(field_options)};
    SF_TRY(sf_options_read(list, field, "fields[]", &generator->arena, &def, err));
    *out = (field_shape){.name = def.name, .is_array = def.is_array};
    if (!sf_type_from_name(sf_str_of(def.type), &out->type)) {
        sf_fail(err, SF_INVALID, "field \"%s\" has the unknown type \"%s\"", def.name, def.type);
        sf_error_hint(err, "types: String, Double, Long, Bool, Timestamp, Json");
        return SF_INVALID;
    }
    sf_buf *key = &generator->text;
    sf_buf_clear(key);
    sf_json_put_string(key, sf_str_of(def.name));
    sf_buf_putc(key, ':');
    char *copy = key->failed ? NULL : sf_arena_strndup(&generator->arena, key->data, key->len);
    if (!copy)
        return sf_fail_memory(err);
    out->key = sf_str_of(copy);
    if (def.children.len == 0)
        return SF_OK;
    if (out->type != SF_TYPE_JSON && sf_json_array_len(def.children) > 0)
        return sf_fail(err, SF_INVALID, "field \"%s\" has children but is not Json", def.name);
    return read_shapes(generator, def.children, depth + 1, budget, &out->children,
                       &out->child_count, err);
}

static sf_status read_shapes(sf_generator *generator, sf_str fields, uint32_t depth,
                             uint32_t *budget, const field_shape **out, uint32_t *count,
                             sf_error *err)
{
    if (sf_json_kind_of(fields) != SF_JSON_ARRAY)
        return sf_fail(err, SF_INVALID, "fields must be a list");
    if (depth > SHAPE_DEPTH_MAX)
        return sf_fail(err, SF_INVALID, "fields are nested deeper than %d", SHAPE_DEPTH_MAX);
    size_t total = sf_json_array_len(fields);
    if (total > *budget)
        return sf_fail(err, SF_INVALID, "there are more than %d fields", SHAPES_MAX);
    *budget -= (uint32_t)total;
    field_shape *shapes = SF_ARENA_ARRAY(&generator->arena, field_shape, total ? total : 1);
    if (!shapes)
        return sf_fail_memory(err);
    size_t cursor = 0;
    sf_str field;
    for (size_t i = 0; i < total && sf_json_each(fields, &cursor, &field); i++)
        SF_TRY(read_shape(generator, field, depth, budget, &shapes[i], err));
    *out = shapes;
    *count = (uint32_t)total;
    return SF_OK;
}

sf_status generic_read_shapes(sf_generator *generator, sf_str fields, sf_error *err)
{
    uint32_t budget = SHAPES_MAX;
    fields = sf_text_trim(fields);
    if (fields.len == 0 || sf_json_kind_of(fields) == SF_JSON_NULL)
        return SF_OK;
    SF_TRY(sf_json_validate(fields, err));
    return read_shapes(generator, fields, 1, &budget, &generator->shapes, &generator->shape_count,
                       err);
}

/* ---- values ---- */

/* 0 to 100 in hundredths, as double column and inside Json alike. */
static double draw_double(sf_rng *rng)
{
    return (double)sf_rng_below(rng, 10001) / 100;
}

static void put_key(sf_buf *out, sf_rng *rng)
{
    sf_buf_puts(out, "\"k");
    sf_buf_putc(out, (char)('1' + sf_rng_below(rng, KEYS)));
    sf_buf_putc(out, '"');
}

static void put_value(const field_shape *shape, int64_t ts_ms, uint32_t depth, sf_rng *rng,
                      sf_buf *out);

static void put_object(const field_shape *shape, int64_t ts_ms, uint32_t depth, sf_rng *rng,
                       sf_buf *out)
{
    sf_buf_putc(out, '{');
    for (uint32_t i = 0; i < shape->child_count; i++) {
        if (i > 0)
            sf_buf_putc(out, ',');
        sf_buf_put(out, shape->children[i].key.data, shape->children[i].key.len);
        put_value(&shape->children[i], ts_ms, depth + 1, rng, out);
    }
    sf_buf_putc(out, '}');
}

static void put_item(const field_shape *shape, int64_t ts_ms, uint32_t depth, sf_rng *rng,
                     sf_buf *out)
{
    switch (shape->type) {
    case SF_TYPE_F64: sf_buf_put_f64_text(out, draw_double(rng)); break;
    case SF_TYPE_I64: sf_buf_put_i64_text(out, (int64_t)sf_rng_below(rng, 101)); break;
    case SF_TYPE_BOOL: sf_buf_puts(out, sf_rng_below(rng, 2) ? "true" : "false"); break;
    case SF_TYPE_TIMESTAMP: sf_buf_put_i64_text(out, ts_ms); break;
    case SF_TYPE_JSON:
        if (shape->child_count > 0) {
            put_object(shape, ts_ms, depth, rng, out);
            break;
        }
        sf_buf_puts(out, "{\"key\":");
        put_key(out, rng);
        sf_buf_puts(out, ",\"value\":");
        sf_buf_put_f64_text(out, draw_double(rng));
        sf_buf_putc(out, '}');
        break;
    default: put_key(out, rng);
    }
}

/* Lists hold one to three items; deep ones just one, which bounds the row. Depth is that of the
 * shapes, so it is limited. */
static void put_value(const field_shape *shape, int64_t ts_ms, uint32_t depth, sf_rng *rng,
                      sf_buf *out)
{
    if (!shape->is_array) {
        put_item(shape, ts_ms, depth, rng, out);
        return;
    }
    uint64_t items = depth <= LIST_DEPTH_MAX ? 1 + sf_rng_below(rng, LIST_ITEMS_MAX) : 1;
    sf_buf_putc(out, '[');
    for (uint64_t i = 0; i < items; i++) {
        if (i > 0)
            sf_buf_putc(out, ',');
        put_item(shape, ts_ms, depth, rng, out);
    }
    sf_buf_putc(out, ']');
}

/* ---- columns ---- */

static const field_shape *shape_of(const sf_generator *generator, const char *name)
{
    static const field_shape free_json = {.type = SF_TYPE_JSON};
    for (uint32_t i = 0; i < generator->shape_count; i++) {
        if (strcmp(generator->shapes[i].name, name) == 0)
            return &generator->shapes[i];
    }
    return &free_json;
}

static sf_column *generic_json(sf_generator *generator, const generator_frame *frame,
                               uint32_t field)
{
    const field_shape *shape = shape_of(generator, generator->schema->fields[field].name);
    sf_builder builder;
    if (!sf_builder_init(&builder, SF_TYPE_JSON, frame->rows))
        return NULL;
    for (uint32_t row = 0; row < frame->rows; row++) {
        sf_rng rng = generator_row_rng(generator, field, frame->first + row);
        sf_buf_clear(&generator->text);
        put_value(shape, frame->ts[row], 1, &rng, &generator->text);
        builder.failed |= generator->text.failed;
        sf_builder_str(&builder, sf_buf_str(&generator->text));
    }
    sf_column *column = sf_builder_finish(&builder);
    sf_builder_deinit(&builder);
    return column;
}

static sf_column *generic_doubles(const generator_frame *frame, sf_rng rng)
{
    sf_column *column = sf_column_new(SF_TYPE_F64, frame->rows, false);
    if (!column)
        return NULL;
    double *lanes = sf_column_lanes(column);
    for (uint32_t row = 0; row < frame->rows; row++)
        lanes[row] = draw_double(&rng);
    return column;
}

static sf_column *generic_longs(const generator_frame *frame, sf_rng rng)
{
    sf_column *column = sf_column_new(SF_TYPE_I64, frame->rows, false);
    if (!column)
        return NULL;
    int64_t *lanes = sf_column_lanes(column);
    for (uint32_t row = 0; row < frame->rows; row++)
        lanes[row] = (int64_t)sf_rng_below(&rng, 101);
    return column;
}

static sf_column *generic_bools(const generator_frame *frame, sf_rng rng)
{
    sf_column *column = sf_column_new(SF_TYPE_BOOL, frame->rows, false);
    if (!column)
        return NULL;
    uint8_t *lanes = sf_column_lanes(column);
    for (uint32_t row = 0; row < frame->rows; row++)
        lanes[row] = (uint8_t)sf_rng_below(&rng, 2);
    return column;
}

static sf_column *generic_times(const generator_frame *frame)
{
    sf_column *column = sf_column_new(SF_TYPE_TIMESTAMP, frame->rows, false);
    if (column)
        memcpy(sf_column_lanes(column), frame->ts, sizeof(int64_t) * frame->rows);
    return column;
}

static sf_column *generic_column(sf_generator *generator, const generator_frame *frame,
                                 uint32_t field)
{
    static const char *const keys[KEYS] = {"k1", "k2", "k3", "k4", "k5"};
    sf_type type = generator->schema->fields[field].type;
    sf_rng rng = generator_stream(generator, field, frame->first);
    switch (type) {
    case SF_TYPE_UTF8: return generator_words(frame, rng, keys, KEYS);
    case SF_TYPE_F64: return generic_doubles(frame, rng);
    case SF_TYPE_I64: return generic_longs(frame, rng);
    case SF_TYPE_BOOL: return generic_bools(frame, rng);
    case SF_TYPE_TIMESTAMP: return generic_times(frame);
    case SF_TYPE_JSON: return generic_json(generator, frame, field);
    default: return sf_column_nulls(type, frame->rows);
    }
}

const generator_profile profile_generic = {
    .name = "generic",
    .fields = generic_fields,
    .field_count = SF_COUNT_OF(generic_fields),
    .column = generic_column,
};
