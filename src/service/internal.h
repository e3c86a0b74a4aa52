/* internal.h: what the parts of the service share. Private to the module. */
#ifndef SF_SERVICE_INTERNAL_H
#define SF_SERVICE_INTERNAL_H

#include "access/access.h"
#include "catalog/catalog.h"
#include "runtime/runtime.h"
#include "service/service.h"
#include "text/text.h"

#include <pthread.h>

typedef struct sf_push_memory sf_push_memory;
typedef struct sf_metrics_page sf_metrics_page;

struct sf_caller {
    sf_principal principal;
};

struct sf_service {
    sf_service_options options;
    char *dir, *name, *version, *rest_url, *grpc_url;
    sf_store_lock *dir_lock;
    sf_pool *pool; /* what runs */
    sf_pool *desk; /* use cases: they wait for what runs, so they must not take its threads */
    sf_catalog *catalog;
    sf_access *access;
    sf_runtime *runtime;
    SF_VEC(const char *) source_kinds; /* those of connect, ended by NULL; the catalog's rules */
    int64_t started_at_ms;
    pthread_mutex_t control; /* one change of a definition or its state at a time */
    pthread_mutex_t memory_lock;
    SF_VEC(sf_push_memory *) memories; /* of ingest sources, under memory_lock */
    pthread_mutex_t listeners_lock;
    pthread_cond_t listeners_quiet; /* ticking has become false */
    bool ticking;                   /* the work of a tick is under way */
    SF_VEC(sf_listener *) metric_listeners;
    sf_timer tick;
};

sf_entity_kind sf_noun_kind(sf_noun noun);
/* "table.read" and the like, checked at the entity's name. def NULL: at `name`. */
SF_MUST_USE sf_status sf_may(sf_service *service, const sf_caller *caller, sf_noun noun,
                             const char *verb, const sf_def *def, sf_str name, sf_error *err);
/* The entity a read route means (id or name), with the right checked before 404. */
SF_MUST_USE sf_status sf_find_readable(sf_service *service, const sf_caller *caller, sf_noun noun,
                                       sf_str key, const sf_def **out, sf_error *err);
/* The entity a write route means (id; sources by name), with the right checked before 404. */
SF_MUST_USE sf_status sf_find_writable(sf_service *service, const sf_caller *caller, sf_noun noun,
                                       const char *verb, sf_str key, const sf_def **out,
                                       sf_error *err);
void sf_put_entity(sf_service *service, const sf_def *def, sf_answer *out);

/* Compiles a definition's SQL; on success *derived lives in arena. */
SF_MUST_USE sf_status sf_compile_query(sf_service *service, sf_entity_kind kind, sf_str sql,
                                       sf_plan **plan, sf_diagnostics *diagnostics, sf_error *err);
SF_MUST_USE sf_status sf_derive(const sf_plan *plan, sf_arena *arena, sf_derived *out,
                                sf_error *err);
/* The text of "sql" in a request. */
SF_MUST_USE sf_status sf_read_sql(sf_str body, sf_buf *out, sf_error *err);
/* "line:col message; ..." */
void sf_put_diagnostics_text(const sf_diagnostics *diagnostics, sf_buf *out);

/* The running side of a definition. Control held. */
SF_MUST_USE sf_status sf_source_run(sf_service *service, const sf_source_def *def, bool change,
                                    sf_error *err);
/* Starts it, or notes why it cannot run: *out is the definition as it stands then (a reference). */
SF_MUST_USE sf_status sf_query_run(sf_service *service, const sf_def *def, const sf_def **out,
                                   sf_error *err);
bool sf_query_runs(sf_service *service, const char *name);
/* Without any right asked: for seeding. Control held. */
SF_MUST_USE sf_status sf_create_def(sf_service *service, sf_noun noun, sf_str body,
                                    const char *actor, const sf_def **out, sf_error *err);
SF_MUST_USE sf_status sf_seed_demo(sf_service *service, sf_error *err);

void sf_put_metrics(sf_service *service, const sf_def *def, sf_buf *out);
void sf_listeners_tick(sf_service *service);
void sf_listeners_settle(sf_service *service); /* blocks until no tick's work is under way */
void sf_push_memories_free(sf_service *service);
void sf_push_memory_drop(sf_service *service, const char *source);

static inline void sf_put_text(sf_buf *out, const char *text)
{
    sf_json_put_string(out, sf_str_of(text ? text : ""));
}
/* The status of an answer whose body could not be written. */
static inline sf_status sf_answered(const sf_answer *out, sf_error *err)
{
    return out->body.failed ? sf_fail_memory(err) : SF_OK;
}

#endif
