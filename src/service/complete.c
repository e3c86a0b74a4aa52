/* complete.c: what may stand at a place of a half-typed query. Names come from the catalog; only
 * those the caller may read are offered. Places are UTF-16 units, as editors count. */
#include "service/internal.h"

typedef struct {
    sf_service *service;
    const sf_caller *caller;
    SF_VEC(const sf_def *) held;
    SF_VEC(sf_schema *) schemas;
} catalog_names;

static sf_noun noun_of_kind(sf_entity_kind kind)
{
    return kind == SF_ENTITY_SOURCE  ? SF_NOUN_SOURCE
           : kind == SF_ENTITY_TABLE ? SF_NOUN_TABLE
                                     : SF_NOUN_PIPELINE;
}

static sf_input_kind input_kind_of(sf_entity_kind kind)
{
    return kind == SF_ENTITY_SOURCE  ? SF_INPUT_SOURCE
           : kind == SF_ENTITY_TABLE ? SF_INPUT_TABLE
                                     : SF_INPUT_PIPELINE;
}

static bool may_read(catalog_names *names, const sf_def *def)
{
    return sf_may(names->service, names->caller, noun_of_kind(def->kind), "read", def, (sf_str){0},
                  NULL) == SF_OK;
}

static const sf_field_list *fields_of(const sf_def *def)
{
    return def->kind == SF_ENTITY_SOURCE ? &sf_def_source(def)->fields
                                         : &sf_def_query(def)->derived.output;
}

/* The definition, held until the answer is written; NULL: none that the caller may read. */
static const sf_def *hold(catalog_names *names, sf_str name)
{
    const sf_def *def;
    for (size_t i = 0; i < names->held.len; i++)
        if (sf_str_eq(sf_str_of(names->held.data[i]->name), name))
            return names->held.data[i];
    if (sf_catalog_find_name(names->service->catalog, "", name, &def, NULL) != SF_OK)
        return NULL;
    if (may_read(names, def) && SF_VEC_PUSH(&names->held, def))
        return def;
    sf_def_unref(def);
    return NULL;
}

static sf_status find(void *self, sf_str name, sf_relation *out, sf_error *err)
{
    catalog_names *names = self;
    const sf_def *def = hold(names, name);
    if (!def || !fields_of(def)->count)
        return sf_fail(err, SF_NOT_FOUND, "there is no source or table of this name");
    sf_input_kind kind = input_kind_of(def->kind);
    sf_schema *schema = sf_relation_schema(fields_of(def)->columns, fields_of(def)->count, kind);
    if (!schema || !SF_VEC_PUSH(&names->schemas, schema)) {
        sf_schema_unref(schema);
        return sf_fail_memory(err);
    }
    *out = (sf_relation){
        .name = def->name, .kind = kind, .schema = schema, .append_only = kind != SF_INPUT_TABLE};
    return SF_OK;
}

static void list(void *self, bool (*visit)(void *arg, const sf_relation *relation), void *arg)
{
    catalog_names *names = self;
    bool more = true;
    for (int kind = SF_ENTITY_SOURCE; more && kind <= SF_ENTITY_TABLE; kind++) {
        sf_def_list defs;
        if (sf_catalog_list(names->service->catalog, (sf_entity_kind)kind, "", &defs, NULL) !=
            SF_OK)
            continue;
        for (uint32_t i = 0; more && i < defs.count; i++) {
            sf_relation relation = {.name = defs.items[i]->name,
                                    .kind = input_kind_of(defs.items[i]->kind)};
            if (may_read(names, defs.items[i]))
                more = visit(arg, &relation);
        }
        sf_def_list_free(&defs);
    }
}

static const sf_field_def *child(const sf_field_def *fields, uint32_t count, sf_str name,
                                 bool exact)
{
    for (uint32_t i = 0; i < count; i++)
        if (exact ? sf_str_eq(sf_str_of(fields[i].name), name)
                  : sf_str_eq_nocase(sf_str_of(fields[i].name), name))
            return &fields[i];
    return NULL;
}

static void keys(void *self, sf_str relation, sf_str column, const sf_str *path, size_t path_len,
                 void (*visit)(void *arg, const char *key, const char *type), void *arg)
{
    const sf_def *def = hold(self, relation);
    if (!def)
        return;
    const sf_field_def *at = child(fields_of(def)->items, fields_of(def)->count, column, false);
    for (size_t i = 0; at && i < path_len; i++)
        at = child(at->children, at->child_count, path[i], true);
    for (uint32_t i = 0; at && i < at->child_count; i++)
        visit(arg, at->children[i].name,
              at->children[i].is_array ? "Json" : sf_type_name(at->children[i].type));
}

/* ---- places ---- */

static size_t units_of(unsigned char first)
{
    return (first & 0xc0) == 0x80 ? 0 : first >= 0xf0 ? 2 : 1;
}

static uint32_t byte_at(sf_str text, int64_t units)
{
    uint32_t at = 0;
    for (; at < text.len; at++) {
        units -= (int64_t)units_of((unsigned char)text.data[at]);
        if (units < 0)
            break;
    }
    return at;
}

static unsigned long long units_before(sf_str text, uint32_t offset)
{
    unsigned long long units = 0;
    for (uint32_t i = 0; i < offset && i < text.len; i++)
        units += units_of((unsigned char)text.data[i]);
    return units;
}

/* ---- the use case ---- */

static sf_status read_position(sf_str body, sf_str text, uint32_t *offset, sf_error *err)
{
    sf_str raw;
    int64_t units;
    *offset = (uint32_t)text.len;
    if (!sf_json_get_key(body, SF_STR("position"), &raw))
        return SF_OK;
    if (sf_parse_i64(raw, &units) != SF_PARSE_OK || units < 0) {
        sf_fail(err, SF_INVALID, "\"position\" must be a whole number from 0");
        sf_error_hint(err, "it counts UTF-16 units before the cursor, as editors do");
        return SF_INVALID;
    }
    *offset = byte_at(text, units);
    return SF_OK;
}

static void put_items(const sf_completions *found, sf_str text, sf_buf *out)
{
    sf_buf_printf(out, "{\"from\":%llu,\"to\":%llu,\"items\":[", units_before(text, found->from),
                  units_before(text, found->to));
    for (size_t i = 0; i < found->items.len; i++) {
        const sf_completion *item = &found->items.data[i];
        sf_buf_puts(out, i ? ",{\"label\":" : "{\"label\":");
        sf_put_text(out, item->label);
        sf_buf_puts(out, ",\"insert\":");
        sf_put_text(out, item->insert);
        sf_buf_printf(out, ",\"kind\":\"%s\",\"detail\":", sf_completion_kind_name(item->kind));
        sf_put_text(out, item->detail);
        sf_buf_puts(out, ",\"doc\":");
        sf_put_text(out, item->doc);
        sf_buf_putc(out, '}');
    }
    sf_buf_puts(out, "]}");
}

sf_status sf_service_complete(sf_service *service, const sf_caller *caller, sf_noun noun,
                              sf_str body, sf_answer *out, sf_error *err)
{
    SF_TRY(sf_may(service, caller, noun, "write", NULL, (sf_str){0}, err));
    sf_buf sql = {0};
    SF_TRY(sf_read_sql(body, &sql, err));
    catalog_names names = {.service = service, .caller = caller};
    sf_resolver resolver = {.find = find, .list = list, .keys = keys, .self = &names};
    sf_plan_kind kind = noun == SF_NOUN_TABLE ? SF_PLAN_TABLE : SF_PLAN_PIPELINE;
    sf_str text = sf_buf_str(&sql);
    uint32_t offset;
    sf_status status = read_position(body, text, &offset, err);
    if (status == SF_OK) {
        sf_completions found;
        status = sf_sql_complete(text, offset, kind, &resolver, &found, err);
        if (status == SF_OK)
            put_items(&found, text, &out->body);
        sf_completions_deinit(&found);
    }
    for (size_t i = 0; i < names.held.len; i++)
        sf_def_unref(names.held.data[i]);
    for (size_t i = 0; i < names.schemas.len; i++)
        sf_schema_unref(names.schemas.data[i]);
    SF_VEC_DEINIT(&names.held);
    SF_VEC_DEINIT(&names.schemas);
    sf_buf_deinit(&sql);
    return status == SF_OK ? sf_answered(out, err) : status;
}
