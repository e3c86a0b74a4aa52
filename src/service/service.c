/* Opening, closing, rights, sign-in. */
#include "service/internal.h"

#include <stdio.h>

enum { TICK_NS = 2000000000, DESK_THREADS = 8 };

void sf_answer_deinit(sf_answer *answer)
{
    sf_buf_deinit(&answer->body);
}

sf_entity_kind sf_noun_kind(sf_noun noun)
{
    return noun == SF_NOUN_SOURCE     ? SF_ENTITY_SOURCE
           : noun == SF_NOUN_PIPELINE ? SF_ENTITY_PIPELINE
                                      : SF_ENTITY_TABLE;
}

/* ---- opening ---- */

static sf_status check_source(void *self, const sf_source_def *def, sf_error *err)
{
    SF_UNUSED(self);
    const sf_source_kind *kind = sf_source_kind_find(sf_str_of(def->source_kind));
    if (!kind)
        return sf_fail(err, SF_UNSUPPORTED, "source kind \"%s\" is not available",
                       def->source_kind);
    sf_schema *schema = sf_relation_schema(def->fields.columns, def->fields.count, SF_INPUT_SOURCE);
    if (!schema)
        return sf_fail_memory(err);
    sf_source_config config = {.name = sf_str_of(def->def.name),
                               .schema = schema,
                               .fields = sf_str_of(def->fields.json),
                               .connector = sf_str_of(def->connector),
                               .profile = sf_str_of(def->generator_profile),
                               .events_per_second = def->events_per_second};
    sf_status status = sf_source_check(kind, &config, err);
    if (status == SF_OK && !kind->open) {
        sf_arena arena;
        sf_ingest_config ingest;
        sf_arena_init(&arena, 1 << 20);
        status = sf_ingest_config_read(sf_str_of(def->ingest), &arena, &ingest, err);
        sf_arena_deinit(&arena);
    }
    sf_schema_unref(schema);
    return status;
}

static sf_status copy_options(sf_service *service, const sf_service_options *options, sf_error *err)
{
    service->options = *options;
    service->dir = sf_strdup(options->dir);
    service->name = sf_strdup(options->name ? options->name : "");
    service->version = sf_strdup(options->version ? options->version : "");
    service->rest_url = sf_strdup(options->rest_url ? options->rest_url : "");
    service->grpc_url = sf_strdup(options->grpc_url ? options->grpc_url : "");
    service->started_at_ms = sf_clock_wall_ms(&options->clock);
    return service->dir && service->name && service->version && service->rest_url &&
                   service->grpc_url
               ? SF_OK
               : sf_fail_memory(err);
}

/* The generators' market: kept, so that prices go on after a restart. */
static sf_status open_world(sf_service *service, sf_world *world, sf_error *err)
{
    sf_buf fact = {0};
    sf_status status = sf_catalog_get_fact(service->catalog, "world", &fact, err);
    if (status == SF_OK && fact.len == sizeof *world) {
        memcpy(world, fact.data, sizeof *world);
    } else if (status == SF_OK || status == SF_NOT_FOUND) {
        *world = (sf_world){.start_ms = service->started_at_ms};
        service->options.random.fill(service->options.random.self, &world->seed,
                                     sizeof world->seed);
        status = sf_catalog_put_fact(service->catalog, "world",
                                     (sf_str){(const char *)world, sizeof *world}, err);
    }
    sf_buf_deinit(&fact);
    return status;
}

static sf_status list_source_kinds(sf_service *service, sf_error *err)
{
    bool kept = true;
    for (uint32_t i = 0; i < sf_source_kind_count(); i++)
        kept = kept && SF_VEC_PUSH(&service->source_kinds, sf_source_kind_at(i)->name);
    return kept && SF_VEC_PUSH(&service->source_kinds, NULL) ? SF_OK : sf_fail_memory(err);
}

static sf_status open_parts(sf_service *service, sf_error *err)
{
    const sf_service_options *o = &service->options;
    SF_TRY(list_source_kinds(service, err));
    SF_TRY(sf_store_lock_take(&o->disk, service->dir, &service->dir_lock, err));
    sf_pool_options pool = {.clock = o->clock, .workers = (uint32_t)o->workers};
    SF_TRY(sf_pool_open(&pool, &service->pool, err));
    sf_pool_options desk = {.clock = o->clock, .workers = 1, .blocking_threads = DESK_THREADS};
    SF_TRY(sf_pool_open(&desk, &service->desk, err));
    sf_catalog_options catalog = {.disk = o->disk,
                                  .clock = o->clock,
                                  .random = o->random,
                                  .log = o->log,
                                  .dir = service->dir,
                                  .rules = {.source_kinds = service->source_kinds.data,
                                            .check_source = check_source,
                                            .self = service}};
    SF_TRY(sf_catalog_open(&catalog, &service->catalog, err));
    sf_access_options access = {.disk = o->disk,
                                .clock = o->clock,
                                .random = o->random,
                                .log = o->log,
                                .dir = service->dir,
                                .hash_iterations = o->hash_iterations,
                                .jwt_key = o->jwt_key,
                                .jwt_issuer = o->jwt_issuer,
                                .jwt_audience = o->jwt_audience};
    SF_TRY(sf_access_open(&access, &service->access, err));
    sf_runtime_options runtime = {
        .pool = service->pool,
        .port = {.disk = o->disk, .clock = o->clock, .random = o->random, .log = o->log},
        .dir = service->dir,
        .log_bytes = (size_t)o->log_bytes,
        .memory_bytes = (size_t)o->memory_bytes,
        .journal_bytes = (uint64_t)o->journal_bytes,
        .checkpoint_ms = o->checkpoint_ms};
    SF_TRY(open_world(service, &runtime.port.world, err));
    return sf_runtime_open(&runtime, &service->runtime, err);
}

static sf_status add_sources(sf_service *service, sf_error *err)
{
    sf_def_list list;
    SF_TRY(sf_catalog_list(service->catalog, SF_ENTITY_SOURCE, "", &list, err));
    for (uint32_t i = 0; i < list.count; i++) {
        sf_error own = {0};
        if (sf_source_run(service, sf_def_source(list.items[i]), false, &own) != SF_OK)
            sf_log_write(service->options.log, SF_LOG_ERROR, "start", "source \"%s\": %s",
                         list.items[i]->name, own.message);
    }
    sf_def_list_free(&list);
    return SF_OK;
}

static bool inputs_run(sf_service *service, const sf_def *def)
{
    const sf_derived *derived = &sf_def_query(def)->derived;
    for (uint32_t i = 0; i < derived->table_inputs.count; i++)
        if (!sf_query_runs(service, derived->table_inputs.items[i]))
            return false;
    for (uint32_t i = 0; i < derived->pipeline_inputs.count; i++)
        if (!sf_query_runs(service, derived->pipeline_inputs.items[i]))
            return false;
    return true;
}

/* Starts what is wanted running: what a query reads goes first, round after round; in the last round
 * the rest is tried too, so that each gets its reason. */
static sf_status start_queries(sf_service *service, sf_entity_kind kind, sf_error *err)
{
    sf_def_list list;
    SF_TRY(sf_catalog_list(service->catalog, kind, "", &list, err));
    bool progress = true, last = false;
    while (progress || !last) {
        last = !progress;
        progress = false;
        for (uint32_t i = 0; i < list.count; i++) {
            const sf_def *def = list.items[i], *now;
            if (!def || !def->running || (!last && !inputs_run(service, def)))
                continue;
            sf_error own = {0};
            if (sf_query_run(service, def, &now, &own) == SF_OK)
                sf_def_unref(now);
            else
                sf_log_write(service->options.log, SF_LOG_ERROR, "start", "\"%s\": %s", def->name,
                             own.message);
            sf_def_unref(def);
            list.items[i] = NULL;
            progress = true;
        }
    }
    sf_def_list_free(&list);
    return SF_OK;
}

static void tick(void *self)
{
    sf_service *service = self;
    sf_listeners_tick(service);
    sf_timer_set(&service->tick, sf_clock_mono_ns(&service->options.clock) + TICK_NS);
}

sf_status sf_service_open(const sf_service_options *options, sf_service **out, sf_error *err)
{
    sf_service *service = sf_calloc(1, sizeof *service);
    if (!service)
        return sf_fail_memory(err);
    pthread_mutex_init(&service->control, NULL);
    pthread_mutex_init(&service->memory_lock, NULL);
    pthread_mutex_init(&service->listeners_lock, NULL);
    pthread_cond_init(&service->listeners_quiet, NULL);
    sf_status status = copy_options(service, options, err);
    if (status == SF_OK)
        status = open_parts(service, err);
    if (status == SF_OK)
        status = add_sources(service, err);
    if (status == SF_OK)
        status = start_queries(service, SF_ENTITY_PIPELINE, err);
    if (status == SF_OK)
        status = start_queries(service, SF_ENTITY_TABLE, err);
    if (status == SF_OK)
        status = sf_runtime_start(service->runtime, err);
    if (status == SF_OK && options->seed_demo)
        status = sf_seed_demo(service, err);
    if (status != SF_OK) {
        sf_service_close(service);
        return status;
    }
    sf_timer_init(&service->tick, service->pool, tick, service);
    sf_timer_set(&service->tick, sf_clock_mono_ns(&options->clock) + TICK_NS);
    *out = service;
    return SF_OK;
}

void sf_service_close(sf_service *service)
{
    if (!service)
        return;
    if (service->tick.pool) {
        sf_timer_cancel(&service->tick);
        sf_listeners_settle(service);
    }
    sf_pool_close(service->desk);
    sf_runtime_close(service->runtime);
    sf_catalog_close(service->catalog);
    sf_access_close(service->access);
    sf_pool_close(service->pool);
    sf_store_lock_release(service->dir_lock);
    sf_push_memories_free(service);
    SF_VEC_DEINIT(&service->metric_listeners);
    SF_VEC_DEINIT(&service->source_kinds);
    pthread_mutex_destroy(&service->control);
    pthread_mutex_destroy(&service->memory_lock);
    pthread_mutex_destroy(&service->listeners_lock);
    pthread_cond_destroy(&service->listeners_quiet);
    sf_free(service->dir);
    sf_free(service->name);
    sf_free(service->version);
    sf_free(service->rest_url);
    sf_free(service->grpc_url);
    sf_free(service);
}

bool sf_service_run(sf_service *service, void (*run)(void *arg), void *arg)
{
    return sf_blocking_submit(service->desk, run, NULL, arg);
}

/* ---- rights ---- */

static sf_status signed_in(const sf_caller *caller, sf_error *err)
{
    if (caller)
        return SF_OK;
    sf_fail(err, SF_UNAUTHENTICATED, "nobody is signed in");
    sf_error_hint(err, "send Authorization: Bearer with a token from /api/auth/login");
    return SF_UNAUTHENTICATED;
}

sf_status sf_may(sf_service *service, const sf_caller *caller, sf_noun noun, const char *verb,
                 const sf_def *def, sf_str name, sf_error *err)
{
    SF_TRY(signed_in(caller, err));
    char action[64], text[SF_NAME_BYTES_MAX + 1];
    snprintf(action, sizeof action, "%s.%s", sf_entity_kind_name(sf_noun_kind(noun)), verb);
    size_t len = name.len < SF_NAME_BYTES_MAX ? name.len : SF_NAME_BYTES_MAX;
    if (len)
        memcpy(text, name.data, len);
    text[len] = '\0';
    sf_scope scope = def ? sf_scope_of(def) : (sf_scope){.name = name.data ? text : NULL};
    return sf_access_allows(service->access, &caller->principal, action, &scope, err);
}

/* Somebody who may not read a name learns nothing from asking for it: the right at the name given is
 * asked before the entity is looked up, and again at the entity's own name. */
static sf_status find_with_right(sf_service *service, const sf_caller *caller, sf_noun noun,
                                 const char *verb, bool exact, sf_str key, const sf_def **out,
                                 sf_error *err)
{
    sf_entity_kind kind = sf_noun_kind(noun);
    sf_error missing = {0};
    sf_status found = exact ? sf_catalog_find_exact(service->catalog, kind, "", key, out, &missing)
                            : sf_catalog_find(service->catalog, kind, "", key, out, &missing);
    sf_status status = sf_may(service, caller, noun, verb, found == SF_OK ? *out : NULL, key, err);
    if (found != SF_OK) {
        if (status == SF_OK && err)
            *err = missing;
        return status == SF_OK ? found : status;
    }
    if (status != SF_OK)
        sf_def_unref(*out);
    return status;
}

sf_status sf_find_readable(sf_service *service, const sf_caller *caller, sf_noun noun, sf_str key,
                           const sf_def **out, sf_error *err)
{
    return find_with_right(service, caller, noun, "read", false, key, out, err);
}

sf_status sf_find_writable(sf_service *service, const sf_caller *caller, sf_noun noun,
                           const char *verb, sf_str key, const sf_def **out, sf_error *err)
{
    return find_with_right(service, caller, noun, verb, true, key, out, err);
}

sf_status sf_service_at_least(const sf_caller *caller, sf_level level, sf_error *err)
{
    SF_TRY(signed_in(caller, err));
    sf_role floor = level == SF_LEVEL_VIEWER   ? SF_ROLE_VIEWER
                    : level == SF_LEVEL_EDITOR ? SF_ROLE_EDITOR
                                               : SF_ROLE_ADMIN;
    return sf_access_floor(&caller->principal, floor, err);
}

/* ---- who ---- */

/* A member of a JSON object that is a text; data NULL when it is absent or null. */
static sf_status text_member(sf_str body, const char *key, sf_buf *out, bool *present,
                             sf_error *err)
{
    sf_str value;
    *present = sf_json_get_key(body, sf_str_of(key), &value) && !sf_str_eq(value, SF_STR("null"));
    if (!*present)
        return SF_OK;
    if (value.len < 2 || value.data[0] != '"')
        return sf_fail(err, SF_INVALID, "\"%s\" must be a text", key);
    return sf_json_unescape((sf_str){value.data + 1, value.len - 2}, out) ? SF_OK
                                                                          : sf_fail_memory(err);
}

sf_status sf_service_login(sf_service *service, sf_str body, sf_answer *out, sf_error *err)
{
    sf_buf username = {0}, password = {0}, token = {0};
    bool has_name = false, has_password = false;
    sf_principal principal;
    sf_status status = sf_json_validate(body, err);
    if (status == SF_OK)
        status = text_member(body, "username", &username, &has_name, err);
    if (status == SF_OK)
        status = text_member(body, "password", &password, &has_password, err);
    if (status == SF_OK && !(has_name && has_password))
        status = sf_fail(err, SF_INVALID, "a login needs \"username\" and \"password\"");
    if (status == SF_OK)
        status = sf_access_login(service->access, sf_buf_str(&username), sf_buf_str(&password),
                                 &token, &principal, err);
    if (status == SF_OK) {
        sf_buf_puts(&out->body, "{\"token\":");
        sf_json_put_string(&out->body, sf_buf_str(&token));
        sf_buf_puts(&out->body, ",\"username\":");
        sf_put_text(&out->body, principal.username);
        sf_buf_puts(&out->body, ",\"displayName\":");
        sf_put_text(&out->body, principal.display_name);
        sf_buf_printf(&out->body, ",\"role\":\"%s\"}", sf_role_name(principal.role));
        status = sf_answered(out, err);
    }
    sf_buf_deinit(&username);
    sf_buf_deinit(&password);
    sf_buf_deinit(&token);
    return status;
}

sf_status sf_service_verify(sf_service *service, sf_str token, sf_caller **out, sf_error *err)
{
    sf_caller *caller = sf_calloc(1, sizeof *caller);
    if (!caller)
        return sf_fail_memory(err);
    sf_status status = sf_access_verify(service->access, token, &caller->principal, err);
    if (status == SF_OK)
        *out = caller;
    else
        sf_free(caller);
    return status;
}

void sf_service_release(sf_caller *caller)
{
    sf_free(caller);
}

const char *sf_caller_name(const sf_caller *caller)
{
    return caller ? caller->principal.username : "";
}

sf_status sf_service_environment(sf_service *service, sf_str name, sf_error *err)
{
    SF_UNUSED(service);
    if (name.len == 0 || sf_str_eq(name, SF_STR("default")))
        return SF_OK;
    return sf_fail(err, SF_NOT_FOUND, "environment '%.*s' does not exist", SF_STR_ARG(name));
}

sf_status sf_service_me(sf_service *service, const sf_caller *caller, sf_answer *out, sf_error *err)
{
    SF_TRY(signed_in(caller, err));
    const sf_principal *who = &caller->principal;
    uint32_t count;
    const sf_grant *grants = sf_access_grants(service->access, who, &count);
    sf_buf *body = &out->body;
    sf_buf_puts(body, "{\"username\":");
    sf_put_text(body, who->username);
    sf_buf_puts(body, ",\"displayName\":");
    sf_put_text(body, who->display_name);
    sf_buf_printf(body, ",\"role\":\"%s\",\"roles\":[\"%s\"],\"groups\":[],\"disabled\":false",
                  sf_role_name(who->role), sf_role_name(who->role));
    sf_buf_printf(body, ",\"policyVersion\":%llu,\"permissions\":[",
                  (unsigned long long)sf_access_policy_version(service->access));
    for (uint32_t i = 0; i < count; i++) {
        sf_buf_printf(body, "%s{\"action\":", i ? "," : "");
        sf_put_text(body, grants[i].action);
        sf_buf_puts(body, ",\"scope\":");
        sf_put_text(body, grants[i].scope);
        sf_buf_printf(body, ",\"effect\":\"%s\",\"requiresApproval\":false}",
                      grants[i].effect == SF_EFFECT_DENY ? "Deny" : "Allow");
    }
    sf_buf_puts(body, "]}");
    return sf_answered(out, err);
}
