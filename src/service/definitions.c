/* Definitions: list, get, create, update, delete, validate; what a compilation finds out. */
#include "service/internal.h"

#include <stdio.h>

/* ---- compiling ---- */

/* Tables and pipelines that do not run, by what their last good compilation gave. */
typedef struct {
    sf_service *service;
    SF_VEC(const sf_def *) held;
    SF_VEC(sf_schema *) schemas;
} stopped_names;

static sf_status find_stopped(void *self, sf_str name, sf_relation *out, sf_error *err)
{
    stopped_names *names = self;
    const sf_def *def;
    SF_TRY(sf_catalog_find_name(names->service->catalog, "", name, &def, err));
    if (def->kind == SF_ENTITY_SOURCE || !sf_def_query(def)->derived.output.count) {
        sf_fail(err, SF_NOT_FOUND, "\"%s\" has never been compiled", def->name);
        sf_def_unref(def);
        return SF_NOT_FOUND;
    }
    const sf_field_list *fields = &sf_def_query(def)->derived.output;
    sf_input_kind kind = def->kind == SF_ENTITY_TABLE ? SF_INPUT_TABLE : SF_INPUT_PIPELINE;
    sf_schema *schema = sf_relation_schema(fields->columns, fields->count, kind);
    if (!schema || !SF_VEC_PUSH(&names->schemas, schema)) {
        sf_schema_unref(schema);
        sf_def_unref(def);
        return sf_fail_memory(err);
    }
    if (!SF_VEC_PUSH(&names->held, def)) {
        sf_def_unref(def);
        return sf_fail_memory(err);
    }
    *out = (sf_relation){.name = def->name,
                         .kind = kind,
                         .schema = schema,
                         .append_only = kind == SF_INPUT_PIPELINE};
    return SF_OK;
}

sf_status sf_compile_query(sf_service *service, sf_entity_kind kind, sf_str sql, sf_plan **plan,
                           sf_diagnostics *diagnostics, sf_error *err)
{
    stopped_names names = {.service = service};
    sf_resolver also = {.find = find_stopped, .self = &names};
    sf_plan_kind plan_kind = kind == SF_ENTITY_TABLE ? SF_PLAN_TABLE : SF_PLAN_PIPELINE;
    sf_status status =
        sf_runtime_compile(service->runtime, plan_kind, sql, &also, plan, diagnostics, err);
    for (size_t i = 0; i < names.held.len; i++)
        sf_def_unref(names.held.data[i]);
    for (size_t i = 0; i < names.schemas.len; i++)
        sf_schema_unref(names.schemas.data[i]);
    SF_VEC_DEINIT(&names.held);
    SF_VEC_DEINIT(&names.schemas);
    return status;
}

static sf_status derive_inputs(const sf_plan *plan, sf_arena *arena, sf_input_kind kind,
                               sf_name_list *out, sf_error *err)
{
    const char **items = SF_ARENA_ARRAY(arena, const char *, plan->inputs.len + 1);
    if (!items)
        return sf_fail_memory(err);
    for (size_t i = 0; i < plan->inputs.len; i++) {
        if (plan->inputs.data[i].kind != kind)
            continue;
        const char *name = plan->inputs.data[i].name;
        items[out->count] = sf_arena_strndup(arena, name, strlen(name));
        if (!items[out->count++])
            return sf_fail_memory(err);
    }
    out->items = items;
    return SF_OK;
}

sf_status sf_derive(const sf_plan *plan, sf_arena *arena, sf_derived *out, sf_error *err)
{
    *out = (sf_derived){0};
    const sf_schema *schema = sf_plan_schema(plan);
    sf_field *columns = SF_ARENA_ARRAY(arena, sf_field, schema->count + 1u);
    const char **keys = SF_ARENA_ARRAY(arena, const char *, plan->key_columns.len + 1);
    if (!columns || !keys)
        return sf_fail_memory(err);
    uint32_t count = 0;
    for (uint32_t i = 0; i < schema->count; i++)
        if (!schema->fields[i].hidden)
            columns[count++] = schema->fields[i];
    SF_TRY(sf_fields_from_columns(arena, columns, count, &out->output, err));
    SF_TRY(derive_inputs(plan, arena, SF_INPUT_SOURCE, &out->stream_inputs, err));
    SF_TRY(derive_inputs(plan, arena, SF_INPUT_TABLE, &out->table_inputs, err));
    SF_TRY(derive_inputs(plan, arena, SF_INPUT_PIPELINE, &out->pipeline_inputs, err));
    out->has_key = plan->key_known;
    for (size_t i = 0; i < plan->key_columns.len; i++) {
        const char *name = schema->fields[plan->key_columns.data[i]].name;
        keys[i] = sf_arena_strndup(arena, name, strlen(name));
        if (!keys[i])
            return sf_fail_memory(err);
    }
    out->key_fields = (sf_name_list){keys, (uint32_t)plan->key_columns.len};
    return SF_OK;
}

void sf_put_diagnostics_text(const sf_diagnostics *diagnostics, sf_buf *out)
{
    for (size_t i = 0; i < diagnostics->list.len; i++) {
        const sf_diagnostic *one = &diagnostics->list.data[i];
        if (!one->warning)
            sf_buf_printf(out, "%s%u:%u %s", out->len ? "; " : "", one->line, one->column,
                          one->message);
    }
}

/* Fills in what the SQL gives, when it compiles; a draft that does not is kept as it is. */
static sf_status compile_draft(sf_service *service, sf_def *def, sf_error *err)
{
    sf_plan *plan = NULL;
    sf_diagnostics diagnostics = {0};
    sf_error own = {0};
    sf_status status = sf_compile_query(service, def->kind, sf_str_of(sf_def_query(def)->sql),
                                        &plan, &diagnostics, &own);
    sf_diagnostics_deinit(&diagnostics);
    if (status == SF_LIMIT && err)
        *err = own;
    if (status != SF_OK)
        return status == SF_LIMIT ? status : SF_OK;
    sf_arena arena;
    sf_derived derived;
    sf_arena_init(&arena, 4 << 20);
    status = sf_derive(plan, &arena, &derived, err);
    if (status == SF_OK)
        status = sf_def_set_derived(def, &derived, err);
    sf_arena_deinit(&arena);
    sf_plan_free(plan);
    return status;
}

/* INSERT INTO sink SELECT ...: no sink kind is there yet, so no target can be known. */
static sf_status refuse_insert(const sf_def *def, sf_error *err)
{
    sf_str target, rest;
    sf_error own;
    if (sf_sql_strip_insert(sf_str_of(sf_def_query(def)->sql), &target, &rest, &own) != SF_OK ||
        target.len == 0)
        return SF_OK;
    sf_fail(err, SF_INVALID, "there is no sink \"%.*s\"", SF_STR_ARG(target));
    sf_error_hint(err, "begin with SELECT");
    return SF_INVALID;
}

/* ---- reading ---- */

void sf_put_entity(sf_service *service, const sf_def *def, sf_answer *out)
{
    sf_catalog_put_json(service->catalog, def, &out->body);
    out->revision = def->revision;
}

sf_status sf_service_list(sf_service *service, const sf_caller *caller, sf_noun noun,
                          sf_answer *out, sf_error *err)
{
    SF_TRY(sf_service_at_least(caller, SF_LEVEL_VIEWER, err));
    sf_def_list list;
    SF_TRY(sf_catalog_list(service->catalog, sf_noun_kind(noun), "", &list, err));
    sf_buf_putc(&out->body, '[');
    for (uint32_t i = 0; i < list.count; i++) {
        if (sf_may(service, caller, noun, "read", list.items[i], (sf_str){0}, NULL) != SF_OK)
            continue;
        if (out->body.len > 1)
            sf_buf_putc(&out->body, ',');
        sf_catalog_put_json(service->catalog, list.items[i], &out->body);
    }
    sf_buf_putc(&out->body, ']');
    sf_def_list_free(&list);
    return sf_answered(out, err);
}

sf_status sf_service_get(sf_service *service, const sf_caller *caller, sf_noun noun, sf_str key,
                         sf_answer *out, sf_error *err)
{
    const sf_def *def;
    SF_TRY(sf_find_readable(service, caller, noun, key, &def, err));
    sf_put_entity(service, def, out);
    sf_def_unref(def);
    return sf_answered(out, err);
}

/* ---- creating ---- */

sf_status sf_create_def(sf_service *service, sf_noun noun, sf_str body, const char *actor,
                        const sf_def **out, sf_error *err)
{
    sf_def *def;
    SF_TRY(sf_def_parse(service->catalog, sf_noun_kind(noun), "", body, NULL, &def, err));
    sf_status status = SF_OK;
    if (noun != SF_NOUN_SOURCE) {
        status = refuse_insert(def, err);
        if (status == SF_OK)
            status = compile_draft(service, def, err);
    }
    if (status != SF_OK) {
        sf_def_unref(def);
        return status;
    }
    SF_TRY(sf_catalog_create(service->catalog, def, actor, out, err));
    if (noun != SF_NOUN_SOURCE)
        return SF_OK;
    status = sf_source_run(service, sf_def_source(*out), false, err);
    if (status != SF_OK) { /* it cannot be: nothing of it stays */
        sf_status gone = sf_catalog_delete(service->catalog, *out, 0, NULL);
        SF_UNUSED(gone);
        sf_def_unref(*out);
    }
    return status;
}

sf_status sf_service_create(sf_service *service, const sf_caller *caller, sf_noun noun, sf_str body,
                            sf_answer *out, sf_error *err)
{
    static const char *const paths[] = {"sources", "pipelines", "tables"};
    sf_str name = {0};
    sf_buf plain = {0};
    sf_status status = sf_json_validate(body, err);
    bool named = status == SF_OK && sf_json_get_key(body, SF_STR("name"), &name) && name.len > 1 &&
                 name.data[0] == '"' &&
                 sf_json_unescape((sf_str){name.data + 1, name.len - 2}, &plain);
    sf_error unnamed = {0};
    sf_status right = sf_may(service, caller, noun, "write", NULL,
                             named ? sf_buf_str(&plain) : (sf_str){0}, &unnamed);
    sf_buf_deinit(&plain);
    if (right != SF_OK) {
        if (err)
            *err = unnamed;
        return right;
    }
    SF_TRY(status);
    const sf_def *def;
    pthread_mutex_lock(&service->control);
    status = sf_create_def(service, noun, body, sf_caller_name(caller), &def, err);
    pthread_mutex_unlock(&service->control);
    if (status == SF_UNSUPPORTED || (status == SF_EXISTS && noun == SF_NOUN_SOURCE))
        out->http_status = 400; /* it is the definition that is wrong */
    SF_TRY(status);
    sf_put_entity(service, def, out);
    out->http_status = 201;
    snprintf(out->location, sizeof out->location, "/api/%s/%.200s", paths[noun],
             noun == SF_NOUN_SOURCE ? def->name : def->id);
    for (char *c = out->location; *c; c++)
        if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f)
            *c = '_';
    sf_def_unref(def);
    return sf_answered(out, err);
}

/* ---- updating ---- */

static sf_status gate_breaking(const sf_def *before, const sf_def *after, sf_answer *out,
                               sf_error *err)
{
    sf_buf reasons = {0};
    uint32_t count =
        sf_fields_breaking(&sf_def_source(before)->fields, &sf_def_source(after)->fields, &reasons);
    if (count) {
        sf_fail(err, SF_CONFLICT, "source '%s': schema change is breaking", before->name);
        sf_buf_printf(&out->body, "{\"error\":\"");
        out->body.len -= 1; /* the quote comes with the text */
        sf_put_text(&out->body, err ? err->message : "schema change is breaking");
        sf_buf_puts(&out->body, ",\"breakingReasons\":");
        sf_buf_put(&out->body, reasons.data, reasons.len);
        sf_buf_putc(&out->body, '}');
        out->http_status = 409;
    }
    sf_buf_deinit(&reasons);
    return count ? SF_CONFLICT : SF_OK;
}

/* Readers of a changed relation learn their new output; those that no longer compile stay as they
 * are. */
static void refresh_readers(sf_service *service, const char *name)
{
    sf_def_list readers;
    if (sf_catalog_readers(service->catalog, "", sf_str_of(name), &readers, NULL) != SF_OK)
        return;
    for (uint32_t i = 0; i < readers.count; i++) {
        const sf_def *reader = readers.items[i], *now;
        sf_plan *plan;
        sf_diagnostics diagnostics = {0};
        sf_arena arena;
        sf_derived derived;
        sf_arena_init(&arena, 4 << 20);
        if (sf_compile_query(service, reader->kind, sf_str_of(sf_def_query(reader)->sql), &plan,
                             &diagnostics, NULL) == SF_OK) {
            if (sf_derive(plan, &arena, &derived, NULL) == SF_OK &&
                sf_catalog_set_derived(service->catalog, reader->id, &derived, &now, NULL) == SF_OK)
                sf_def_unref(now);
            sf_plan_free(plan);
        }
        sf_diagnostics_deinit(&diagnostics);
        sf_arena_deinit(&arena);
    }
    sf_def_list_free(&readers);
}

static bool runs_differently(const sf_def *before, const sf_def *after)
{
    return strcmp(sf_def_query(before)->sql, sf_def_query(after)->sql) != 0 ||
           strcmp(before->name, after->name) != 0;
}

/* A running query whose SQL changed stops and starts; its old state is another query's. */
static sf_status apply_query_change(sf_service *service, const sf_def *before, const sf_def **after,
                                    sf_error *err)
{
    if (!runs_differently(before, *after))
        return SF_OK;
    bool ran = sf_query_runs(service, before->name);
    if (ran)
        SF_TRY(sf_runtime_stop_query(service->runtime, before->name, err));
    if (strcmp(before->name, (*after)->name) != 0)
        SF_TRY(sf_runtime_forget_query(service->runtime, before->name, err));
    refresh_readers(service, (*after)->name);
    if (!(*after)->running)
        return SF_OK;
    const sf_def *now;
    SF_TRY(sf_query_run(service, *after, &now, err));
    sf_def_unref(*after);
    *after = now;
    return SF_OK;
}

/* What runs changes first: it may refuse, the catalog then keeps what it has. Takes def. */
static sf_status update_source(sf_service *service, const sf_def *before, sf_def *def,
                               const char *actor, const sf_def **after, sf_error *err)
{
    sf_status status = sf_source_run(service, sf_def_source(def), true, err);
    if (status != SF_OK) {
        sf_def_unref(def);
        return status;
    }
    status = sf_catalog_update(service->catalog, def, 0, actor, after, err);
    if (status != SF_OK) {
        sf_error own = {0};
        if (sf_source_run(service, sf_def_source(before), true, &own) != SF_OK)
            sf_log_write(service->options.log, SF_LOG_ERROR, "service",
                         "source \"%s\" runs with settings that could not be kept: %s",
                         before->name, own.message);
        return status;
    }
    if ((*after)->schema_revision != before->schema_revision)
        refresh_readers(service, (*after)->name);
    return SF_OK;
}

static sf_status check_revision(const sf_def *def, uint64_t expected, sf_error *err)
{
    if (!expected || expected == def->revision)
        return SF_OK;
    sf_fail(err, SF_STALE, "%s \"%s\" has revision %llu, not %llu", sf_entity_kind_name(def->kind),
            def->name, (unsigned long long)def->revision, (unsigned long long)expected);
    sf_error_hint(err, "read it again and repeat the change on what you get");
    return SF_STALE;
}

static sf_status update_def(sf_service *service, const sf_def *before, sf_noun noun, sf_str body,
                            const sf_update_options *options, const char *actor,
                            const sf_def **after, sf_answer *out, sf_error *err)
{
    sf_def *def;
    SF_TRY(check_revision(before, options->if_revision, err));
    SF_TRY(sf_def_parse(service->catalog, before->kind, "", body, before, &def, err));
    sf_status status = SF_OK;
    if (noun == SF_NOUN_SOURCE && options->gate_breaking)
        status = gate_breaking(before, def, out, err);
    if (noun != SF_NOUN_SOURCE && status == SF_OK)
        status = refuse_insert(def, err);
    if (noun != SF_NOUN_SOURCE && status == SF_OK)
        status = compile_draft(service, def, err);
    /* A running table that others read cannot be swapped under them. */
    if (noun != SF_NOUN_SOURCE && status == SF_OK && runs_differently(before, def) &&
        sf_query_runs(service, before->name)) {
        sf_def_list readers = {0};
        status = sf_catalog_readers(service->catalog, "", sf_str_of(before->name), &readers, err);
        for (uint32_t i = 0; status == SF_OK && i < readers.count; i++)
            if (sf_query_runs(service, readers.items[i]->name)) {
                status = sf_fail(err, SF_CONFLICT, "\"%s\" is read by running \"%s\"", before->name,
                                 readers.items[i]->name);
                sf_error_hint(err, "stop \"%s\" first", readers.items[i]->name);
            }
        sf_def_list_free(&readers);
    }
    if (status != SF_OK) {
        sf_def_unref(def);
        return status;
    }
    if (noun == SF_NOUN_SOURCE)
        return update_source(service, before, def, actor, after, err);
    SF_TRY(sf_catalog_update(service->catalog, def, options->if_revision, actor, after, err));
    status = apply_query_change(service, before, after, err);
    if (status != SF_OK)
        sf_def_unref(*after);
    return status;
}

sf_status sf_service_update(sf_service *service, const sf_caller *caller, sf_noun noun, sf_str key,
                            sf_str body, const sf_update_options *options, sf_answer *out,
                            sf_error *err)
{
    const sf_def *before, *after;
    SF_TRY(sf_find_writable(service, caller, noun, "write", key, &before, err));
    sf_def_unref(before);
    pthread_mutex_lock(&service->control); /* the newest of it, now that nobody else changes it */
    sf_status status = sf_find_writable(service, caller, noun, "write", key, &before, err);
    if (status == SF_OK) {
        status = update_def(service, before, noun, body, options, sf_caller_name(caller), &after,
                            out, err);
        sf_def_unref(before);
    }
    pthread_mutex_unlock(&service->control);
    if (status == SF_UNSUPPORTED)
        out->http_status = 400;
    SF_TRY(status);
    sf_put_entity(service, after, out);
    sf_def_unref(after);
    return sf_answered(out, err);
}

/* ---- deleting ---- */

static sf_status delete_def(sf_service *service, const sf_def *def, uint64_t if_revision,
                            sf_error *err)
{
    SF_TRY(check_revision(def, if_revision, err));
    if (def->kind == SF_ENTITY_SOURCE) {
        sf_status status = sf_runtime_remove_source(service->runtime, def->name, err);
        if (status != SF_OK && status != SF_NOT_FOUND)
            return status;
        sf_push_memory_drop(service, def->name);
    } else {
        if (sf_query_runs(service, def->name))
            SF_TRY(sf_runtime_stop_query(service->runtime, def->name, err));
        SF_TRY(sf_runtime_forget_query(service->runtime, def->name, err));
    }
    return sf_catalog_delete(service->catalog, def, if_revision, err);
}

sf_status sf_service_delete(sf_service *service, const sf_caller *caller, sf_noun noun, sf_str key,
                            uint64_t if_revision, sf_answer *out, sf_error *err)
{
    const sf_def *def;
    pthread_mutex_lock(&service->control);
    sf_status status = sf_find_writable(service, caller, noun, "delete", key, &def, err);
    if (status == SF_OK) {
        status = delete_def(service, def, if_revision, err);
        sf_def_unref(def);
    }
    pthread_mutex_unlock(&service->control);
    out->http_status = status == SF_OK ? 204 : 0;
    return status;
}

/* ---- validating ---- */

/* At least one: something may be missing behind the text. */
static uint32_t characters(sf_str text, sf_span span)
{
    uint32_t count = 0;
    for (uint32_t i = span.offset; i < text.len && i - span.offset < span.length; i++)
        count += ((unsigned char)text.data[i] & 0xc0) != 0x80;
    return count ? count : 1;
}

static void put_diagnostics(const sf_diagnostics *diagnostics, sf_str text, sf_buf *out)
{
    sf_buf_putc(out, '[');
    for (size_t i = 0; i < diagnostics->list.len; i++) {
        const sf_diagnostic *one = &diagnostics->list.data[i];
        sf_buf_puts(out, i ? ",{\"message\":" : "{\"message\":");
        sf_put_text(out, one->message);
        sf_buf_printf(out, ",\"line\":%u,\"column\":%u,\"length\":%u,\"severity\":\"%s\"}",
                      one->line, one->column, characters(text, one->span),
                      one->warning ? "Warning" : "Error");
    }
    sf_buf_putc(out, ']');
}

static void put_names(sf_buf *out, const char *member, const sf_name_list *names)
{
    sf_buf_printf(out, ",\"%s\":[", member);
    for (uint32_t i = 0; i < names->count; i++) {
        if (i)
            sf_buf_putc(out, ',');
        sf_put_text(out, names->items[i]);
    }
    sf_buf_putc(out, ']');
}

static void put_plan_facts(sf_buf *out, sf_noun noun, const sf_plan *plan)
{
    sf_arena arena;
    sf_derived derived = {0};
    sf_arena_init(&arena, 4 << 20);
    sf_buf summary = {0};
    if (plan)
        sf_plan_summary(plan, &summary);
    sf_buf_puts(out, ",\"planSummary\":");
    if (plan)
        sf_json_put_string(out, sf_buf_str(&summary));
    else
        sf_buf_puts(out, "null");
    if (plan && sf_derive(plan, &arena, &derived, NULL) != SF_OK)
        out->failed = true;
    put_names(out, noun == SF_NOUN_TABLE ? "streamInputs" : "sourceNames", &derived.stream_inputs);
    if (noun == SF_NOUN_TABLE) {
        put_names(out, "tableInputs", &derived.table_inputs);
        put_names(out, "pipelineInputs", &derived.pipeline_inputs);
    }
    sf_buf_puts(out, ",\"outputSchema\":[");
    for (uint32_t i = 0; i < derived.output.count; i++) {
        sf_buf_puts(out, i ? ",{\"name\":" : "{\"name\":");
        sf_put_text(out, derived.output.columns[i].name);
        sf_buf_printf(out, ",\"kind\":\"%s\"}", sf_type_name(derived.output.columns[i].type));
    }
    sf_buf_putc(out, ']');
    sf_buf_deinit(&summary);
    sf_arena_deinit(&arena);
}

sf_status sf_read_sql(sf_str body, sf_buf *out, sf_error *err)
{
    sf_str raw;
    *out = (sf_buf){0};
    SF_TRY(sf_json_validate(body, err));
    if (!sf_json_get_key(body, SF_STR("sql"), &raw) || raw.len < 2 || raw.data[0] != '"')
        return sf_fail(err, SF_INVALID, "\"sql\" must be a text");
    if (sf_json_unescape((sf_str){raw.data + 1, raw.len - 2}, out))
        return SF_OK;
    sf_buf_deinit(out);
    return sf_fail_memory(err);
}

/* INSERT INTO name becomes blanks: what follows keeps its place. */
static void blank(sf_buf *sql, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sql->data[i] != '\n')
            sql->data[i] = ' ';
}

sf_status sf_service_validate(sf_service *service, const sf_caller *caller, sf_noun noun,
                              sf_str body, sf_answer *out, sf_error *err)
{
    SF_TRY(sf_may(service, caller, noun, "write", NULL, (sf_str){0}, err));
    sf_str target, rest;
    sf_buf sql = {0};
    SF_TRY(sf_read_sql(body, &sql, err));
    sf_plan *plan = NULL;
    sf_diagnostics diagnostics = {0};
    sf_error own = {0};
    sf_str text = sf_buf_str(&sql);
    if (text.len <= SF_SQL_BYTES_MAX && sf_sql_strip_insert(text, &target, &rest, &own) == SF_OK &&
        target.len)
        blank(&sql, (size_t)(rest.data - text.data));
    sf_status status =
        sf_compile_query(service, sf_noun_kind(noun), text, &plan, &diagnostics, &own);
    if (status != SF_OK && diagnostics.list.len == 0)
        (void)sf_diagnostics_add(&diagnostics, text, &own, false);
    sf_buf_printf(&out->body, "{\"ok\":%s,\"diagnostics\":", status == SF_OK ? "true" : "false");
    put_diagnostics(&diagnostics, text, &out->body);
    put_plan_facts(&out->body, noun, status == SF_OK ? plan : NULL);
    sf_buf_putc(&out->body, '}');
    if (status == SF_OK)
        sf_plan_free(plan);
    sf_diagnostics_deinit(&diagnostics);
    sf_buf_deinit(&sql);
    return sf_answered(out, err);
}
