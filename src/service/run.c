/* The running side of definitions: sources and queries, start and stop. */
#include "service/internal.h"

#include <stdio.h>

/* ---- sources ---- */

static sf_coercion coercion_of(sf_misfit_policy policy)
{
    return policy == SF_ON_MISFIT_DROP_ROW       ? SF_COERCE_DROP_ROW
           : policy == SF_ON_MISFIT_REJECT_BATCH ? SF_COERCE_REJECT_BATCH
                                                 : SF_COERCE_NULL;
}

sf_status sf_source_run(sf_service *service, const sf_source_def *def, bool change, sf_error *err)
{
    sf_source_spec spec = {.name = def->def.name,
                           .kind = sf_source_kind_find(sf_str_of(def->source_kind)),
                           .lateness_ms = def->lateness_ms,
                           .idle_ms = def->idle_ms,
                           .enabled = def->enabled};
    if (!spec.kind)
        return sf_fail(err, SF_UNSUPPORTED, "source kind \"%s\" is not available",
                       def->source_kind);
    sf_arena arena;
    sf_arena_init(&arena, 1 << 20);
    sf_schema *schema = sf_relation_schema(def->fields.columns, def->fields.count, SF_INPUT_SOURCE);
    sf_status status = schema ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK)
        status = sf_ingest_config_read(sf_str_of(def->ingest), &arena, &spec.ingest, err);
    if (status == SF_OK) {
        bool pushed = spec.kind->open == NULL;
        /* What can be read again exactly is worth a journal: then a restart changes nothing. */
        spec.journaled = pushed ? spec.ingest.durable
                                : def->journal || spec.kind->delivery == SF_DELIVERY_REPLAYABLE;
        spec.config =
            (sf_source_config){.name = sf_str_of(def->def.name),
                               .schema = schema,
                               .fields = sf_str_of(def->fields.json),
                               .connector = sf_str_of(def->connector),
                               .profile = sf_str_of(def->generator_profile),
                               .events_per_second = def->events_per_second,
                               .on_misfit = coercion_of(def->on_misfit),
                               .reject_unknown_fields = spec.ingest.reject_unknown_fields};
        status = change ? sf_runtime_change_source(service->runtime, &spec, err)
                        : sf_runtime_add_source(service->runtime, &spec, err);
    }
    sf_schema_unref(schema);
    sf_arena_deinit(&arena);
    return status;
}

/* ---- queries ---- */

bool sf_query_runs(sf_service *service, const char *name)
{
    sf_query_stats stats;
    sf_runtime_query_stats(service->runtime, name, &stats);
    return stats.running;
}

/* The first input that does not run, in words. */
static bool missing_input(sf_service *service, const sf_plan *plan, sf_buf *out)
{
    for (size_t i = 0; i < plan->inputs.len; i++) {
        const sf_plan_input *input = &plan->inputs.data[i];
        if (input->kind == SF_INPUT_SOURCE || sf_query_runs(service, input->name))
            continue;
        sf_buf_printf(out, "input %s \"%s\" is not running; start it first",
                      input->kind == SF_INPUT_TABLE ? "table" : "pipeline", input->name);
        return true;
    }
    return false;
}

/* Compiles and starts; *reason says why it does not run (empty: it runs). */
static sf_status try_start(sf_service *service, const sf_def *def, sf_buf *reason, sf_error *err)
{
    sf_plan *plan = NULL;
    sf_diagnostics diagnostics = {0};
    sf_error own = {0};
    sf_str sql = sf_str_of(sf_def_query(def)->sql);
    sf_status status = sf_compile_query(service, def->kind, sql, &plan, &diagnostics, &own);
    if (status != SF_OK) {
        sf_put_diagnostics_text(&diagnostics, reason);
        if (reason->len == 0)
            sf_buf_puts(reason, own.message);
    } else if (!missing_input(service, plan, reason)) {
        sf_query_spec spec = {.name = def->name,
                              .id = def->id,
                              .kind =
                                  def->kind == SF_ENTITY_TABLE ? SF_PLAN_TABLE : SF_PLAN_PIPELINE,
                              .sql = sql};
        if (sf_runtime_start_query(service->runtime, &spec, NULL, &own) != SF_OK)
            sf_buf_printf(reason, "%s%s%s", own.message, own.hint[0] ? "; " : "", own.hint);
        const sf_def *now;
        sf_arena arena;
        sf_derived derived;
        sf_arena_init(&arena, 4 << 20);
        if (sf_derive(plan, &arena, &derived, NULL) == SF_OK &&
            sf_catalog_set_derived(service->catalog, def->id, &derived, &now, NULL) == SF_OK)
            sf_def_unref(now);
        sf_arena_deinit(&arena);
    }
    sf_plan_free(plan);
    sf_diagnostics_deinit(&diagnostics);
    return reason->failed ? sf_fail_memory(err) : SF_OK;
}

/* Running as it should: nothing to do. Failed: it leaves, so that it can start anew. Held up by an
 * input: that one has to be started. */
static bool runs_well(sf_service *service, const sf_def *def, sf_buf *reason)
{
    sf_query_stats stats;
    sf_error own = {0};
    sf_runtime_query_stats(service->runtime, def->name, &stats);
    if (!stats.running)
        return false;
    if (stats.state == SF_MEMBER_RUNNING)
        return true;
    if (stats.state == SF_MEMBER_STALLED) {
        sf_buf_puts(reason, stats.error.message);
        return true;
    }
    if (sf_runtime_stop_query(service->runtime, def->name, &own) == SF_OK)
        return false;
    sf_buf_printf(reason, "%s; %s", stats.error.message, own.message);
    return true;
}

sf_status sf_query_run(sf_service *service, const sf_def *def, const sf_def **out, sf_error *err)
{
    sf_buf reason = {0};
    sf_status status =
        runs_well(service, def, &reason) ? SF_OK : try_start(service, def, &reason, err);
    if (status == SF_OK)
        status = sf_catalog_set_state(service->catalog, def->id, true,
                                      reason.len ? reason.data : NULL, out, err);
    sf_buf_deinit(&reason);
    return status;
}

sf_status sf_service_start(sf_service *service, const sf_caller *caller, sf_noun noun, sf_str key,
                           sf_answer *out, sf_error *err)
{
    const sf_def *def, *now;
    pthread_mutex_lock(&service->control);
    sf_status status = sf_find_writable(service, caller, noun, "control", key, &def, err);
    if (status == SF_OK) {
        status = sf_query_run(service, def, &now, err);
        sf_def_unref(def);
    }
    pthread_mutex_unlock(&service->control);
    SF_TRY(status);
    sf_put_entity(service, now, out);
    sf_def_unref(now);
    return sf_answered(out, err);
}

sf_status sf_service_stop(sf_service *service, const sf_caller *caller, sf_noun noun, sf_str key,
                          sf_answer *out, sf_error *err)
{
    const sf_def *def, *now;
    pthread_mutex_lock(&service->control);
    sf_status status = sf_find_writable(service, caller, noun, "control", key, &def, err);
    if (status == SF_OK) {
        if (sf_query_runs(service, def->name))
            status = sf_runtime_stop_query(service->runtime, def->name, err);
        if (status == SF_OK)
            status = sf_catalog_set_state(service->catalog, def->id, false, NULL, &now, err);
        sf_def_unref(def);
    }
    pthread_mutex_unlock(&service->control);
    SF_TRY(status);
    sf_put_entity(service, now, out);
    sf_def_unref(now);
    return sf_answered(out, err);
}
