/* Definitions as objects: their life, their names, what the last compilation found out. */
#include "catalog/def.h"
#include "text/text.h"

const char *sf_entity_kind_name(sf_entity_kind kind)
{
    static const char *const names[] = {"source", "pipeline", "table"};
    return (size_t)kind < SF_COUNT_OF(names) ? names[kind] : "entity";
}

sf_def *sf_def_new(sf_entity_kind kind)
{
    static const size_t sizes[] = {
        sizeof(sf_source_def),
        sizeof(sf_pipeline_def),
        sizeof(sf_table_def),
    };
    sf_def *def = sf_calloc(1, sizes[kind]);
    if (!def)
        return NULL;
    def->refs = 1;
    def->kind = kind;
    sf_arena_init(&def->arena, 0);
    def->name = def->description = def->id = def->environment = "";
    def->created_by = def->updated_by = "";
    if (kind != SF_ENTITY_SOURCE) {
        sf_query_part *query = sf_def_query_part(def);
        query->sql = "";
        query->sinks = query->derived.output.json = "[]";
    }
    return def;
}

const sf_def *sf_def_ref(const sf_def *def)
{
    atomic_fetch_add_explicit(&((sf_def *)def)->refs, 1, memory_order_relaxed);
    return def;
}

void sf_def_unref(const sf_def *def)
{
    sf_def *mine = (sf_def *)def;
    if (!mine || atomic_fetch_sub_explicit(&mine->refs, 1, memory_order_acq_rel) != 1)
        return;
    sf_arena_deinit(&mine->arena);
    sf_free(mine->body);
    sf_free(mine);
}

sf_query_part *sf_def_query_part(sf_def *def)
{
    SF_ASSERT(def->kind != SF_ENTITY_SOURCE);
    return def->kind == SF_ENTITY_TABLE ? &((sf_table_def *)def)->query
                                        : &((sf_pipeline_def *)def)->query;
}

const sf_query_part *sf_def_query(const sf_def *def)
{
    return sf_def_query_part((sf_def *)def);
}

sf_status sf_name_check(const char *what, sf_str name, sf_error *err)
{
    if (name.len == 0)
        return sf_fail(err, SF_INVALID, "a %s needs a name", what);
    if (name.len > SF_NAME_BYTES_MAX)
        return sf_fail(err, SF_INVALID, "the name of a %s has %zu bytes, more than the %d allowed",
                       what, name.len, SF_NAME_BYTES_MAX);
    if (!sf_utf8_valid(name))
        return sf_fail(err, SF_INVALID, "the name of a %s is not valid UTF-8", what);
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.data[i];
        if (c < 0x20 || c == 0x7f)
            return sf_fail(err, SF_INVALID, "the name of a %s has a control character", what);
        if (c == '.') {
            sf_fail(err, SF_INVALID, "the name of a %s has a dot: \"%.*s\"", what,
                    SF_STR_ARG(name));
            sf_error_hint(err, "use another character: dots separate the parts of a name in SQL");
            return SF_INVALID;
        }
    }
    return SF_OK;
}

/* ---- what a compilation found out ---- */

static bool copy_names(sf_arena *arena, const sf_name_list *from, sf_name_list *to)
{
    const char **items = SF_ARENA_ARRAY(arena, const char *, from->count ? from->count : 1);
    for (uint32_t i = 0; items && i < from->count; i++) {
        items[i] = sf_arena_strndup(arena, from->items[i], strlen(from->items[i]));
        if (!items[i])
            return false;
    }
    *to = (sf_name_list){items, from->count};
    return items != NULL;
}

sf_status sf_def_set_derived(sf_def *def, const sf_derived *derived, sf_error *err)
{
    sf_query_part *query = sf_def_query_part(def);
    const sf_field_list *output = &derived->output;
    if (output->count > SF_FIELDS_MAX)
        return sf_fail(err, SF_LIMIT, "a query gives %u columns, more than the %d allowed",
                       output->count, SF_FIELDS_MAX);
    for (uint32_t i = 0; i < output->count; i++)
        if (strlen(output->columns[i].name) > SF_NAME_BYTES_MAX)
            return sf_fail(err, SF_LIMIT, "the name of column %u is longer than %d bytes", i + 1,
                           SF_NAME_BYTES_MAX);
    sf_derived copy = {.has_key = derived->has_key};
    if (!copy_names(&def->arena, &derived->stream_inputs, &copy.stream_inputs) ||
        !copy_names(&def->arena, &derived->table_inputs, &copy.table_inputs) ||
        !copy_names(&def->arena, &derived->pipeline_inputs, &copy.pipeline_inputs) ||
        !copy_names(&def->arena, &derived->key_fields, &copy.key_fields))
        return sf_fail_memory(err);
    SF_TRY(sf_fields_from_columns(&def->arena, output->columns, output->count, &copy.output, err));
    query->derived = copy;
    query->compiled = true;
    return SF_OK;
}

sf_status sf_def_set_error(sf_def *def, const char *text, sf_error *err)
{
    def->error = NULL;
    if (text && !(def->error = sf_arena_strndup(&def->arena, text, strlen(text))))
        return sf_fail_memory(err);
    return SF_OK;
}

void sf_names_put_json(const sf_name_list *names, sf_buf *out)
{
    sf_buf_putc(out, '[');
    for (uint32_t i = 0; i < names->count; i++) {
        if (i)
            sf_buf_putc(out, ',');
        sf_json_put_string(out, sf_str_of(names->items[i]));
    }
    sf_buf_putc(out, ']');
}

void sf_derived_put_json(const sf_query_part *query, sf_buf *out)
{
    const sf_derived *derived = &query->derived;
    sf_buf_printf(out,
                  "{\"compiled\":%s,\"output\":%s,\"streams\":", query->compiled ? "true" : "false",
                  derived->output.json);
    sf_names_put_json(&derived->stream_inputs, out);
    sf_buf_puts(out, ",\"tables\":");
    sf_names_put_json(&derived->table_inputs, out);
    sf_buf_puts(out, ",\"pipelines\":");
    sf_names_put_json(&derived->pipeline_inputs, out);
    sf_buf_puts(out, ",\"key\":");
    if (derived->has_key)
        sf_names_put_json(&derived->key_fields, out);
    else
        sf_buf_puts(out, "null");
    sf_buf_putc(out, '}');
}

sf_status sf_derived_read(sf_def *def, sf_str json, sf_error *err)
{
    sf_query_part *query = sf_def_query_part(def);
    json_t *root = NULL;
    SF_TRY(sf_json_load(json, "what is kept of a compilation", &root, err));
    sf_json_in in = {&def->arena, root, "what is kept of a compilation", SF_OK, err};
    query->derived = (sf_derived){
        .output = sf_fields_read(&in, "output", false),
        .stream_inputs = sf_json_in_names(&in, "streams", SF_FIELDS_MAX, SF_NAME_BYTES_MAX),
        .table_inputs = sf_json_in_names(&in, "tables", SF_FIELDS_MAX, SF_NAME_BYTES_MAX),
        .pipeline_inputs = sf_json_in_names(&in, "pipelines", SF_FIELDS_MAX, SF_NAME_BYTES_MAX),
        .key_fields = sf_json_in_names(&in, "key", SF_FIELDS_MAX, SF_NAME_BYTES_MAX),
        .has_key = sf_json_in_get(&in, "key") != NULL,
    };
    query->compiled = sf_json_in_bool(&in, "compiled", false);
    json_decref(root);
    return in.status;
}
