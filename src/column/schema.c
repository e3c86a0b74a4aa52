/* Type facts and schemas. */
#include "column/column.h"

static const struct {
    const char *name;
    uint8_t lane_bytes;
} types[SF_TYPE_COUNT] = {
#define X(id, name, bytes, ctype) {name, bytes},
    SF_TYPE_LIST(X)
#undef X
};

#define X(id, name, bytes, ctype) _Static_assert(sizeof(ctype) == (bytes), name);
SF_TYPE_LIST(X)
#undef X

const char *sf_type_name(sf_type type)
{
    SF_ASSERT(type < SF_TYPE_COUNT);
    return types[type].name;
}

size_t sf_type_lane_bytes(sf_type type)
{
    SF_ASSERT(type < SF_TYPE_COUNT);
    return types[type].lane_bytes;
}

bool sf_type_from_name(sf_str name, sf_type *out)
{
    static const sf_type sql_types[] = {SF_TYPE_UTF8, SF_TYPE_F64,       SF_TYPE_I64,
                                        SF_TYPE_BOOL, SF_TYPE_TIMESTAMP, SF_TYPE_JSON};
    for (size_t i = 0; i < SF_COUNT_OF(sql_types); i++) {
        if (sf_str_eq_nocase(name, sf_str_of(types[sql_types[i]].name))) {
            *out = sql_types[i];
            return true;
        }
    }
    return false;
}

sf_schema *sf_schema_new(const sf_field *fields, uint32_t count)
{
    size_t text_bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        text_bytes += strlen(fields[i].name) + 1;
    sf_schema *schema = sf_alloc(sizeof *schema + count * sizeof(sf_field) + text_bytes);
    if (!schema)
        return NULL;
    atomic_init(&schema->refs, 1);
    schema->count = count;
    char *text = (char *)(schema->fields + count);
    for (uint32_t i = 0; i < count; i++) {
        size_t len = strlen(fields[i].name) + 1;
        memcpy(text, fields[i].name, len);
        schema->fields[i] = fields[i];
        schema->fields[i].name = text;
        text += len;
    }
    return schema;
}

sf_schema *sf_schema_ref(const sf_schema *schema)
{
    sf_schema *shared = (sf_schema *)schema;
    if (shared)
        atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
    return shared;
}

void sf_schema_unref(const sf_schema *schema)
{
    sf_schema *shared = (sf_schema *)schema;
    if (shared && atomic_fetch_sub_explicit(&shared->refs, 1, memory_order_acq_rel) == 1)
        sf_free(shared);
}

int sf_schema_find(const sf_schema *schema, sf_str name)
{
    int found = -1;
    for (uint32_t i = 0; i < schema->count; i++) {
        sf_str field = sf_str_of(schema->fields[i].name);
        if (sf_str_eq(field, name))
            return (int)i;
        if (sf_str_eq_nocase(field, name))
            found = found == -1 ? (int)i : -2;
    }
    return found;
}

bool sf_schema_same(const sf_schema *a, const sf_schema *b)
{
    if (a == b)
        return true;
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->fields[i].type != b->fields[i].type || a->fields[i].hidden != b->fields[i].hidden ||
            strcmp(a->fields[i].name, b->fields[i].name) != 0)
            return false;
    }
    return true;
}
