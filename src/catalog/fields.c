/* FieldDef lists: from JSON, to JSON, to columns, compared. */
#include "catalog/def.h"
#include "text/text.h"

#include <stdio.h>

static const char *const reserved[] = {"_ts", "_source", "_weight", "_op", "_retract", "_final"};

static void check_field_name(sf_json_in *in, const char *name, bool reserved_refused)
{
    size_t len = strlen(name);
    if (len == 0)
        sf_json_in_fail(in, SF_INVALID, "\"name\" is missing or empty");
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
            sf_json_in_fail(in, SF_INVALID, "\"name\" has a control character");
    for (size_t i = 0; reserved_refused && i < SF_COUNT_OF(reserved); i++) {
        if (!sf_str_eq_nocase(sf_str_of(name), sf_str_of(reserved[i])))
            continue;
        if (sf_json_in_fail(in, SF_INVALID, "the name \"%s\" is reserved for the platform", name))
            sf_error_hint(in->err, "choose a name without the leading underscore");
    }
}

/* Columns compare without case: two that differ only in case could never be told apart. */
static void check_unique(sf_json_in *in, const sf_field_def *items, uint32_t count)
{
    const sf_field_def *last = &items[count];
    for (uint32_t i = 0; i < count; i++)
        if (sf_str_eq_nocase(sf_str_of(items[i].name), sf_str_of(last->name)))
            sf_json_in_fail(in, SF_INVALID, "field \"%s\" is declared twice", last->name);
}

typedef struct {
    sf_json_in *in; /* of the outermost object: keeps the status */
    bool declared;  /* by somebody, so names are checked */
    uint32_t total;
} field_reader;

static const sf_field_def *read_list(field_reader *reader, const json_t *array, int depth);

static void read_field(field_reader *reader, const json_t *json, int depth, size_t index,
                       sf_field_def *out)
{
    static const char *const known[] = {"name", "type", "children", "isArray", NULL};
    char place[96];
    sf_json_in in = *reader->in;
    in.object = json;
    in.place = place;
    snprintf(place, sizeof place, "%.60s, field %zu", reader->in->place, index + 1);
    if (!json_is_object(json))
        sf_json_in_fail(&in, SF_INVALID, "a field must be an object");
    sf_json_in_known(&in, known, NULL);
    out->name = sf_json_in_text(&in, "name", SF_NAME_BYTES_MAX, "");
    check_field_name(&in, out->name, reader->declared && depth == 0);
    const char *type = sf_json_in_text(&in, "type", 32, "");
    if (!sf_type_from_name(sf_str_of(type), &out->type))
        sf_json_in_fail(&in, SF_INVALID,
                        "\"type\" of \"%s\" must be one of String, Double, Long, Bool, Timestamp, "
                        "Json",
                        out->name);
    out->is_array = sf_json_in_bool(&in, "isArray", false);
    const json_t *children = sf_json_in_array(&in, "children", SF_FIELDS_MAX);
    if (json_array_size(children) > 0 && in.status == SF_OK) {
        if (out->type != SF_TYPE_JSON)
            sf_json_in_fail(&in, SF_INVALID, "\"%s\" has children, which only Json fields can have",
                            out->name);
        else if (depth + 1 >= SF_FIELD_DEPTH_MAX)
            sf_json_in_fail(&in, SF_INVALID, "children are nested deeper than %d",
                            SF_FIELD_DEPTH_MAX);
    }
    reader->in->status = in.status;
    if (json_array_size(children) > 0 && in.status == SF_OK) {
        out->child_count = (uint32_t)json_array_size(children);
        out->children = read_list(reader, children, depth + 1);
    }
}

static const sf_field_def *read_list(field_reader *reader, const json_t *array, int depth)
{
    size_t count = json_array_size(array);
    reader->total += (uint32_t)count;
    if (reader->total > 4 * SF_FIELDS_MAX)
        sf_json_in_fail(reader->in, SF_INVALID, "more than %d fields are declared",
                        4 * SF_FIELDS_MAX);
    sf_field_def *items = sf_json_in_alloc(reader->in, count, sizeof *items);
    for (uint32_t i = 0; items && i < count && reader->in->status == SF_OK; i++) {
        read_field(reader, json_array_get(array, i), depth, i, &items[i]);
        if (reader->in->status == SF_OK && reader->declared)
            check_unique(reader->in, items, i);
    }
    return items;
}

static void put_fields(const sf_field_def *items, uint32_t count, sf_buf *out)
{
    sf_buf_putc(out, '[');
    for (uint32_t i = 0; i < count; i++) {
        const sf_field_def *field = &items[i];
        sf_buf_puts(out, i ? ",{\"name\":" : "{\"name\":");
        sf_json_put_string(out, sf_str_of(field->name));
        sf_buf_printf(out, ",\"type\":\"%s\",\"children\":", sf_type_name(field->type));
        if (field->child_count > 0)
            put_fields(field->children, field->child_count, out);
        else
            sf_buf_puts(out, "null");
        sf_buf_puts(out, field->is_array ? ",\"isArray\":true}" : ",\"isArray\":false}");
    }
    sf_buf_putc(out, ']');
}

/* Fills columns and json from items. */
static sf_status complete(sf_arena *arena, sf_field_list *list, sf_error *err)
{
    sf_field *columns = SF_ARENA_ARRAY(arena, sf_field, list->count ? list->count : 1);
    if (!columns)
        return sf_fail_memory(err);
    for (uint32_t i = 0; i < list->count; i++) {
        columns[i].name = list->items[i].name;
        columns[i].type = list->items[i].is_array ? SF_TYPE_JSON : list->items[i].type;
    }
    list->columns = columns;
    sf_buf json = {0};
    put_fields(list->items, list->count, &json);
    list->json = json.failed ? NULL : sf_arena_strndup(arena, json.data, json.len);
    sf_buf_deinit(&json);
    return list->json ? SF_OK : sf_fail_memory(err);
}

sf_field_list sf_fields_read(sf_json_in *in, const char *key, bool declared)
{
    sf_field_list list = {.json = "[]"};
    const json_t *array = sf_json_in_array(in, key, SF_FIELDS_MAX);
    field_reader reader = {.in = in, .declared = declared};
    list.items = read_list(&reader, array, 0);
    list.count = (uint32_t)json_array_size(array);
    if (in->status == SF_OK)
        in->status = complete(in->arena, &list, in->err);
    return list;
}

sf_status sf_fields_from_columns(sf_arena *arena, const sf_field *columns, uint32_t count,
                                 sf_field_list *out, sf_error *err)
{
    *out = (sf_field_list){0};
    sf_field_def *items = SF_ARENA_ARRAY(arena, sf_field_def, count ? count : 1);
    if (!items)
        return sf_fail_memory(err);
    for (uint32_t i = 0; i < count; i++) {
        items[i].name = sf_arena_strndup(arena, columns[i].name, strlen(columns[i].name));
        items[i].type = columns[i].type;
        if (!items[i].name)
            return sf_fail_memory(err);
    }
    out->items = items;
    out->count = count;
    return complete(arena, out, err);
}

/* ---- comparing ---- */

static bool same_fields(const sf_field_def *a, uint32_t a_count, const sf_field_def *b,
                        uint32_t b_count)
{
    if (a_count != b_count)
        return false;
    for (uint32_t i = 0; i < a_count; i++)
        if (strcmp(a[i].name, b[i].name) != 0 || a[i].type != b[i].type ||
            a[i].is_array != b[i].is_array ||
            !same_fields(a[i].children, a[i].child_count, b[i].children, b[i].child_count))
            return false;
    return true;
}

static const sf_field_def *find_field(const sf_field_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    return NULL;
}

/* Added, removed or of another type; their order is not their shape. */
bool sf_fields_same(const sf_field_list *a, const sf_field_list *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        const sf_field_def *other = find_field(b, a->items[i].name);
        if (!other || !same_fields(&a->items[i], 1, other, 1))
            return false;
    }
    return true;
}

static void put_type(const sf_field_def *field, char *out, size_t size)
{
    snprintf(out, size, "%s%s", sf_type_name(field->type), field->is_array ? "[]" : "");
}

uint32_t sf_fields_breaking(const sf_field_list *before, const sf_field_list *after, sf_buf *out)
{
    uint32_t count = 0;
    sf_buf reason = {0};
    sf_buf_putc(out, '[');
    for (uint32_t i = 0; i < before->count; i++) {
        const sf_field_def *old = &before->items[i], *new = find_field(after, old->name);
        char from[32], to[32];
        if (new &&new->type == old->type &&new->is_array == old->is_array)
            continue;
        sf_buf_clear(&reason);
        put_type(old, from, sizeof from);
        if (new) {
            put_type(new, to, sizeof to);
            sf_buf_printf(&reason, "field '%s' changed type: %s -> %s", old->name, from, to);
        } else {
            sf_buf_printf(&reason, "field '%s' was removed", old->name);
        }
        if (count++)
            sf_buf_putc(out, ',');
        sf_json_put_string(out, sf_buf_str(&reason));
    }
    sf_buf_putc(out, ']');
    out->failed = out->failed || reason.failed;
    sf_buf_deinit(&reason);
    return count;
}
