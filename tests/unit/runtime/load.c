/* Everything at once: pushes, queries that come and go, questions, checkpoints, on threads. */
#include "tests.h"

#include <pthread.h>

enum { PUSHERS = 2, PUSHES = 60, ROUNDS = 12 };

typedef struct {
    world *w;
    const sf_schema *schema;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int answered, failed;
    atomic_bool ended;
} crowd;

static void answered(void *arg, const sf_push_result *result, const sf_error *error)
{
    crowd *all = arg;
    pthread_mutex_lock(&all->lock);
    all->answered++;
    all->failed += error != NULL || result->accepted != 4;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->lock);
}

static void *push_many(void *arg)
{
    crowd *all = arg;
    for (int i = 0; i < PUSHES; i++) {
        sf_error err = {0};
        uint32_t retry_ms;
        sf_batch *batch = batch_of(all->schema, four, 4, 1);
        if (!batch || sf_runtime_push(all->w->runtime, "s", &batch, 1, false, answered, all,
                                      &retry_ms, &err) != SF_OK)
            answered(all, &(sf_push_result){0}, &err);
        sf_batch_unref(batch);
    }
    return NULL;
}

/* Asks about what may run, or not, or be on its way from one group to another. */
static void *ask(void *arg)
{
    static const char *const names[] = {"a", "b", "j"};
    crowd *all = arg;
    for (size_t i = 0; !atomic_load(&all->ended); i++) {
        const char *name = names[i % SF_COUNT_OF(names)];
        sf_query_stats query;
        sf_source_stats source;
        sf_snapshot *snapshot;
        sf_schema *schema;
        uint64_t epoch;
        sf_error err = {0};
        sf_runtime_query_stats(all->w->runtime, name, &query);
        (void)!sf_runtime_source_stats(all->w->runtime, i & 1 ? "s" : "other", &source, &err);
        if (sf_runtime_snapshot(all->w->runtime, name, &snapshot, &schema, &epoch, &err) == SF_OK) {
            sf_snapshot_unref(snapshot);
            sf_schema_unref(schema);
        }
    }
    return NULL;
}

static sf_status open_all(crowd *all, sf_pool **pool, sf_error *err)
{
    sf_pool_options threads = {.clock = sf_clock_system(), .workers = 2};
    sf_runtime_options options = {.port = {.disk = sf_disk_system(),
                                           .clock = sf_clock_system(),
                                           .random = sf_random_system()},
                                  .dir = all->w->dir,
                                  .checkpoint_ms = 2};
    SF_TRY(sf_pool_open(&threads, pool, err));
    options.pool = *pool;
    SF_TRY(sf_runtime_open(&options, &all->w->runtime, err));
    sf_source_spec spec = pushed_source("s", all->schema, true);
    spec.ingest.policy = SF_INGEST_BLOCK;
    spec.ingest.max_wait_ms = 60000;
    SF_TRY(sf_runtime_add_source(all->w->runtime, &spec, err));
    SF_TRY(sf_runtime_start(all->w->runtime, err));
    SF_TRY(start_query(all->w, "a", SF_PLAN_TABLE, SUMS, err));
    return start_query(all->w, "b", SF_PLAN_TABLE, "SELECT k, COUNT(*) AS n FROM s GROUP BY k",
                       err);
}

/* One group becomes of two, and two of one; a source comes and goes. */
static void change(crowd *all)
{
    sf_runtime *runtime = all->w->runtime;
    sf_error err = {0};
    CHECK_INT(add_source(all->w, "other", true), SF_OK);
    CHECK_INT(start_query(all->w, "j", SF_PLAN_TABLE,
                          "SELECT a.k, a.s, b.n FROM a JOIN b ON a.k = b.k", &err),
              SF_OK);
    CHECK_INT(sf_runtime_wait_current(runtime, 60000, &err), SF_OK);
    CHECK_INT(sf_runtime_checkpoint(runtime, &err), SF_OK);
    CHECK_INT(sf_runtime_stop_query(runtime, "j", &err), SF_OK);
    CHECK_INT(sf_runtime_stop_query(runtime, "b", &err), SF_OK);
    CHECK_INT(sf_runtime_remove_source(runtime, "other", &err), SF_OK);
    CHECK_INT(
        start_query(all->w, "b", SF_PLAN_TABLE, "SELECT k, COUNT(*) AS n FROM s GROUP BY k", &err),
        SF_OK);
}

/* Whatever goes on beside it, every row counts once, and nobody waits for ever. */
void groups_change_under_load(void)
{
    world w = {0};
    crowd all = {.w = &w, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    char text[TEXT_BYTES], want[64];
    pthread_t pushers[PUSHERS], asker;
    sf_error err = {0};
    sf_pool *pool = NULL;
    sf_schema *schema = sf_relation_schema(kv, 2, SF_INPUT_SOURCE);
    snprintf(w.dir, sizeof w.dir, "/tmp/sf-unit-runtime-XXXXXX");
    REQUIRE(schema && mkdtemp(w.dir));
    all.schema = schema;
    REQUIRE_OK(open_all(&all, &pool, &err), err);
    for (int i = 0; i < PUSHERS; i++)
        CHECK_INT(pthread_create(&pushers[i], NULL, push_many, &all), 0);
    CHECK_INT(pthread_create(&asker, NULL, ask, &all), 0);
    for (int i = 0; i < ROUNDS; i++)
        change(&all);
    for (int i = 0; i < PUSHERS; i++)
        pthread_join(pushers[i], NULL);
    atomic_store(&all.ended, true);
    pthread_join(asker, NULL);
    pthread_mutex_lock(&all.lock);
    while (all.answered < PUSHERS * PUSHES)
        pthread_cond_wait(&all.changed, &all.lock);
    pthread_mutex_unlock(&all.lock);
    CHECK_INT(all.failed, 0);
    CHECK_INT(sf_runtime_wait_current(w.runtime, 60000, &err), SF_OK);
    int times = PUSHERS * PUSHES;
    snprintf(want, sizeof want, " 1:%d 2:%d 3:%d", 15 * times, 20 * times, times);
    CHECK_STR(table_of(&w, "a", text), want);
    snprintf(want, sizeof want, " 1:%d 2:%d 3:%d", 2 * times, times, times);
    CHECK_STR(table_of(&w, "b", text), want);
    sf_runtime_close(w.runtime);
    sf_pool_close(pool);
    sf_schema_unref(schema);
    world_remove(&w);
}
