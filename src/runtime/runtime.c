/* The whole: opening, sources, the tick, waiting, closing. */
#include "runtime/internal.h"

enum { TICK_NS = 500000000 };

sf_feed *sf_runtime_feed(sf_runtime *runtime, const char *name)
{
    for (size_t i = 0; i < runtime->feeds.len; i++)
        if (strcmp(runtime->feeds.data[i]->name, name) == 0)
            return runtime->feeds.data[i];
    return NULL;
}

sf_query *sf_runtime_query(sf_runtime *runtime, const char *name)
{
    for (size_t i = 0; i < runtime->queries.len; i++)
        if (strcmp(runtime->queries.data[i]->name, name) == 0)
            return runtime->queries.data[i];
    return NULL;
}

/* ---- budgets ---- */

sf_budget *sf_runtime_take_budget(sf_runtime *runtime)
{
    for (size_t i = 0; i < runtime->spare_budgets.len; i++) {
        sf_budget *budget = runtime->spare_budgets.data[i];
        if (atomic_load(&budget->used_bytes) != 0)
            continue;
        runtime->spare_budgets.data[i] = runtime->spare_budgets.data[--runtime->spare_budgets.len];
        return budget;
    }
    while (runtime->spare_budgets.cap <= runtime->budget_count) /* giving back never fails */
        if (!sf_vec_grow((void **)&runtime->spare_budgets.data, &runtime->spare_budgets.cap,
                         sizeof *runtime->spare_budgets.data))
            return NULL;
    sf_budget *budget = sf_calloc(1, sizeof *budget);
    if (!budget)
        return NULL;
    budget->parent = &runtime->budget;
    runtime->budget_count++;
    return budget;
}

void sf_runtime_give_budget(sf_runtime *runtime, sf_budget *budget)
{
    if (budget)
        runtime->spare_budgets.data[runtime->spare_budgets.len++] = budget;
}

/* ---- the tick ---- */

/* Of cells that run nothing: the others see to it at the end of an epoch. */
static void sample_rates(sf_runtime *runtime)
{
    int64_t now_ns = sf_runtime_mono_ns(runtime);
    for (size_t i = 0; i < runtime->cells.len; i++) {
        sf_cell *cell = runtime->cells.data[i];
        if (!sf_cell_try_enter(cell))
            continue;
        sf_cell_sample(cell, now_ns);
        sf_cell_leave(cell);
    }
}

static void tick(void *self)
{
    sf_runtime *runtime = self;
    if (pthread_mutex_trylock(&runtime->lock) == 0) {
        for (size_t i = 0; i < runtime->feeds.len; i++)
            sf_feed_idle_tick(runtime->feeds.data[i]);
        sample_rates(runtime);
        pthread_mutex_unlock(&runtime->lock);
    }
    sf_timer_set(&runtime->tick, sf_runtime_mono_ns(runtime) + TICK_NS);
}

/* ---- opening ---- */

typedef struct {
    sf_runtime *runtime;
    sf_status status;
    sf_error err;
} state_scan;

/* The number of a state file, "group-7.db". */
static bool state_number(const char *name, uint32_t *out)
{
    static const char before[] = "group-";
    uint64_t number = 0;
    size_t at = sizeof before - 1;
    if (strncmp(name, before, at) != 0 || name[at] == '.')
        return false;
    for (; name[at] >= '0' && name[at] <= '9' && number < UINT32_MAX; at++)
        number = number * 10 + (uint64_t)(name[at] - '0');
    *out = (uint32_t)number;
    return number < UINT32_MAX && strcmp(name + at, ".db") == 0;
}

static bool open_one_state(void *arg, const char *name)
{
    state_scan *scan = arg;
    uint32_t number;
    if (!state_number(name, &number))
        return true; /* SQLite's companions of a file, and whatever else */
    sf_buf path = {0};
    sf_state *state = NULL;
    sf_buf_printf(&path, "%s/%s", scan->runtime->state_dir, name);
    scan->status = path.failed ? sf_fail_memory(&scan->err)
                               : sf_state_open(scan->runtime, path.data, &state, &scan->err);
    sf_buf_deinit(&path);
    if (scan->status == SF_OK && !SF_VEC_PUSH(&scan->runtime->states, state)) {
        sf_state_close(state);
        scan->status = sf_fail_memory(&scan->err);
    }
    if (number >= scan->runtime->next_state)
        scan->runtime->next_state = number + 1;
    return scan->status == SF_OK;
}

static sf_status open_states(sf_runtime *runtime, sf_error *err)
{
    const sf_disk *disk = &runtime->options.port.disk;
    SF_TRY(disk->make_dir(disk->self, runtime->sources_dir, err));
    SF_TRY(disk->make_dir(disk->self, runtime->state_dir, err));
    state_scan scan = {.runtime = runtime};
    SF_TRY(disk->list(disk->self, runtime->state_dir, open_one_state, &scan, err));
    if (scan.status != SF_OK && err)
        *err = scan.err;
    SF_TRY(scan.status);
    return sf_states_clean(runtime, err);
}

static char *joined(const char *dir, const char *name)
{
    sf_buf path = {0};
    sf_buf_printf(&path, "%s/%s", dir, name);
    if (!path.failed)
        return path.data;
    sf_buf_deinit(&path);
    return NULL;
}

sf_status sf_runtime_open(const sf_runtime_options *options, sf_runtime **out, sf_error *err)
{
    sf_runtime *runtime = sf_calloc(1, sizeof *runtime);
    if (!runtime)
        return sf_fail_memory(err);
    runtime->options = *options;
    runtime->options.dir = NULL;
    runtime->budget.limit_bytes = (int64_t)options->memory_bytes;
    pthread_mutex_init(&runtime->control, NULL);
    pthread_mutex_init(&runtime->lock, NULL);
    pthread_mutex_init(&runtime->topics_lock, NULL);
    sf_timer_init(&runtime->tick, options->pool, tick, runtime);
    runtime->sources_dir = joined(options->dir, "sources");
    runtime->state_dir = joined(options->dir, "state");
    sf_status status = runtime->sources_dir && runtime->state_dir ? open_states(runtime, err)
                                                                  : sf_fail_memory(err);
    if (status != SF_OK) {
        sf_runtime_close(runtime);
        return status;
    }
    *out = runtime;
    return SF_OK;
}

sf_status sf_runtime_start(sf_runtime *runtime, sf_error *err)
{
    SF_UNUSED(err); /* a query that cannot be restored says so itself */
    pthread_mutex_lock(&runtime->control);
    sf_queries_restore(runtime);
    runtime->started = true;
    for (size_t c = 0; c < runtime->cells.len; c++)
        if (runtime->cells.data[c]->broken.status == SF_OK)
            sf_cell_start(runtime->cells.data[c]);
    for (size_t f = 0; f < runtime->feeds.len; f++)
        sf_driver_start(runtime->feeds.data[f]);
    pthread_mutex_unlock(&runtime->control);
    sf_timer_set(&runtime->tick, sf_runtime_mono_ns(runtime) + TICK_NS);
    return SF_OK;
}

static void close_cells(sf_runtime *runtime)
{
    while (runtime->cells.len > 0) {
        sf_cell *cell = runtime->cells.data[runtime->cells.len - 1];
        bool ran = cell->started;
        sf_error err = {0};
        sf_cell_enter(cell);
        sf_cell_quiet(cell);
        if (ran && sf_cell_checkpoint(cell, &err) != SF_OK)
            sf_log_write(runtime->options.port.log, SF_LOG_WARN, "checkpoint",
                         "no last checkpoint: %s", err.message);
        while (cell->queries.len > 0) { /* readers were added after what they read */
            sf_query *query = cell->queries.data[cell->queries.len - 1];
            (void)!sf_group_remove_member(cell->group, query->member, NULL);
            sf_query_unlist(query);
            sf_query_free(runtime, query);
        }
        sf_cell_leave(cell);
        sf_cell_retire(cell);
    }
}

void sf_runtime_close(sf_runtime *runtime)
{
    if (!runtime)
        return;
    sf_timer_cancel(&runtime->tick);
    pthread_mutex_lock(&runtime->control);
    for (size_t f = 0; f < runtime->feeds.len; f++)
        sf_driver_stop(runtime->feeds.data[f]);
    close_cells(runtime);
    for (size_t f = 0; f < runtime->feeds.len; f++)
        sf_feed_free(runtime->feeds.data[f]);
    for (size_t s = 0; s < runtime->states.len; s++)
        sf_state_close(runtime->states.data[s]);
    pthread_mutex_unlock(&runtime->control);
    SF_VEC_DEINIT(&runtime->feeds);
    SF_VEC_DEINIT(&runtime->cells);
    SF_VEC_DEINIT(&runtime->queries);
    SF_VEC_DEINIT(&runtime->states);
    SF_ASSERT(runtime->topics.len == 0); /* every subscription was closed before */
    SF_VEC_DEINIT(&runtime->topics);
    SF_ASSERT(runtime->spare_budgets.len == runtime->budget_count);
    for (size_t i = 0; i < runtime->spare_budgets.len; i++)
        sf_free(runtime->spare_budgets.data[i]);
    SF_VEC_DEINIT(&runtime->spare_budgets);
    pthread_mutex_destroy(&runtime->control);
    pthread_mutex_destroy(&runtime->lock);
    pthread_mutex_destroy(&runtime->topics_lock);
    sf_free(runtime->sources_dir);
    sf_free(runtime->state_dir);
    sf_free(runtime);
}

/* ---- sources ---- */

static sf_status add_source(sf_runtime *runtime, const sf_source_spec *spec, sf_error *err)
{
    sf_feed *feed;
    SF_TRY(sf_feed_new(runtime, spec, &feed, err));
    if (!feed->journal) {
        uint64_t position;
        int64_t watermark;
        sf_state_find_source(runtime, spec->name, &position, &watermark);
        sf_feed_restore(feed, position, watermark);
    }
    pthread_mutex_lock(&runtime->lock);
    bool listed = SF_VEC_PUSH(&runtime->feeds, feed);
    pthread_mutex_unlock(&runtime->lock);
    if (!listed) {
        sf_feed_free(feed);
        return sf_fail_memory(err);
    }
    if (runtime->started)
        sf_driver_start(feed);
    return SF_OK;
}

sf_status sf_runtime_add_source(sf_runtime *runtime, const sf_source_spec *spec, sf_error *err)
{
    pthread_mutex_lock(&runtime->control);
    pthread_mutex_lock(&runtime->lock);
    bool taken = sf_runtime_feed(runtime, spec->name) || sf_runtime_query(runtime, spec->name);
    pthread_mutex_unlock(&runtime->lock);
    sf_status status = taken ? sf_fail(err, SF_EXISTS, "the name \"%s\" is taken", spec->name)
                             : add_source(runtime, spec, err);
    pthread_mutex_unlock(&runtime->control);
    return status;
}

/* Names a running query that reads the source; NULL: none. Control held. */
static const char *reader_of(sf_runtime *runtime, const char *source)
{
    const char *reader = NULL;
    pthread_mutex_lock(&runtime->lock);
    for (size_t q = 0; q < runtime->queries.len && !reader; q++) {
        const sf_plan *plan = runtime->queries.data[q]->plan;
        for (size_t i = 0; i < plan->inputs.len; i++)
            if (plan->inputs.data[i].kind == SF_INPUT_SOURCE &&
                strcmp(plan->inputs.data[i].name, source) == 0)
                reader = runtime->queries.data[q]->name;
    }
    pthread_mutex_unlock(&runtime->lock);
    return reader;
}

static sf_status refuse_read(sf_runtime *runtime, const char *name, const char *verb, sf_error *err)
{
    const char *reader = reader_of(runtime, name);
    if (!reader)
        return SF_OK;
    sf_fail(err, SF_CONFLICT, "source \"%s\" cannot be %s: \"%s\" reads it", name, verb, reader);
    sf_error_hint(err, "stop \"%s\" first", reader);
    return SF_CONFLICT;
}

/* Out of the list; its cells have let go of it. */
static void unlist(sf_runtime *runtime, const sf_feed *feed)
{
    pthread_mutex_lock(&runtime->lock);
    for (size_t i = 0; i < runtime->feeds.len; i++)
        if (runtime->feeds.data[i] == feed)
            runtime->feeds.data[i] = runtime->feeds.data[--runtime->feeds.len];
    pthread_mutex_unlock(&runtime->lock);
}

/* First the images of who has read it, so that nothing on disk takes another source of its name for
 * this one; then the source itself. */
static sf_status remove_source(sf_runtime *runtime, sf_feed *feed, sf_error *err)
{
    sf_buf dir = {0};
    bool journaled = feed->journaled;
    sf_driver_stop(feed);
    sf_status status = journaled ? sf_feed_journal_dir(feed, &dir, err) : SF_OK;
    for (size_t s = 0; s < runtime->states.len && status == SF_OK; s++)
        status = sf_state_forget_readers(runtime->states.data[s], feed->name, err);
    if (status == SF_OK) {
        unlist(runtime, feed);
        sf_feed_free(feed);
        if (journaled)
            status = sf_journal_destroy(&runtime->options.port.disk, dir.data, err);
    } else if (runtime->started) {
        sf_driver_start(feed);
    }
    sf_buf_deinit(&dir);
    return status;
}

static sf_status find_feed(sf_runtime *runtime, const char *name, sf_feed **out, sf_error *err)
{
    pthread_mutex_lock(&runtime->lock);
    *out = sf_runtime_feed(runtime, name);
    pthread_mutex_unlock(&runtime->lock);
    return *out ? SF_OK : sf_fail(err, SF_NOT_FOUND, "there is no source \"%s\"", name);
}

sf_status sf_runtime_remove_source(sf_runtime *runtime, const char *name, sf_error *err)
{
    pthread_mutex_lock(&runtime->control);
    sf_feed *feed;
    sf_status status = find_feed(runtime, name, &feed, err);
    if (status == SF_OK)
        status = refuse_read(runtime, name, "removed", err);
    if (status == SF_OK)
        status = remove_source(runtime, feed, err);
    pthread_mutex_unlock(&runtime->control);
    return status;
}

sf_status sf_runtime_change_source(sf_runtime *runtime, const sf_source_spec *spec, sf_error *err)
{
    pthread_mutex_lock(&runtime->control);
    sf_feed *feed;
    sf_status status = find_feed(runtime, spec->name, &feed, err);
    if (status == SF_OK && (feed->kind != spec->kind || feed->journaled != spec->journaled)) {
        status = refuse_read(runtime, spec->name, "made another kind", err);
        if (status == SF_OK)
            status = remove_source(runtime, feed, err);
        if (status == SF_OK)
            status = add_source(runtime, spec, err);
    } else if (status == SF_OK) {
        sf_driver_stop(feed);
        status = sf_feed_change(feed, spec, err);
        if (runtime->started)
            sf_driver_start(feed);
    }
    pthread_mutex_unlock(&runtime->control);
    return status;
}

sf_status sf_runtime_source_stats(sf_runtime *runtime, const char *name, sf_source_stats *out,
                                  sf_error *err)
{
    sf_feed *feed = sf_feed_pin(runtime, name);
    if (!feed)
        return sf_fail(err, SF_NOT_FOUND, "there is no source \"%s\"", name);
    pthread_mutex_lock(&feed->lock);
    *out = feed->stats;
    out->position = feed->end;
    out->first_position = sf_feed_oldest(feed);
    out->watermark = feed->marker.watermark;
    out->log_bytes = feed->bytes;
    out->buffered_rows = sf_feed_depth(feed);
    out->journal_bytes = feed->journal ? sf_journal_inspect(feed->journal).size_bytes : 0;
    pthread_mutex_unlock(&feed->lock);
    sf_feed_unpin(feed);
    return SF_OK;
}

/* ---- waiting and checkpoints ---- */

/* Has the cell read all that `ends` says its sources had? Inside enter. */
static bool is_current(const sf_cell *cell, sf_feed *const *feeds, const uint64_t *ends,
                       size_t count)
{
    for (size_t r = 0; r < cell->readers.len; r++) {
        const sf_reader_slot *slot = cell->readers.data[r];
        for (size_t i = 0; i < count; i++)
            if (feeds[i] == slot->feed && slot->needed < ends[i])
                return false;
    }
    return true;
}

static sf_status wait_all(sf_runtime *runtime, sf_feed *const *feeds, const uint64_t *ends,
                          size_t count, int64_t deadline_ns, sf_error *err)
{
    for (size_t c = 0; c < runtime->cells.len; c++) {
        sf_cell *cell = runtime->cells.data[c];
        bool in_time = true;
        sf_cell_enter(cell);
        while (cell->started && in_time && !is_current(cell, feeds, ends, count))
            in_time = sf_cell_wait_epoch(cell, deadline_ns);
        sf_cell_leave(cell);
        if (!in_time)
            return sf_fail(err, SF_TIMEOUT, "queries have not read all rows in time");
    }
    return SF_OK;
}

sf_status sf_runtime_wait_current(sf_runtime *runtime, int64_t timeout_ms, sf_error *err)
{
    pthread_mutex_lock(&runtime->control);
    size_t count = runtime->feeds.len;
    sf_feed **feeds = sf_calloc(count + 1, sizeof(sf_feed *));
    uint64_t *ends = sf_calloc(count + 1, sizeof *ends);
    sf_status status = feeds && ends ? SF_OK : sf_fail_memory(err);
    for (size_t i = 0; i < count && status == SF_OK; i++) {
        feeds[i] = runtime->feeds.data[i];
        pthread_mutex_lock(&feeds[i]->lock);
        ends[i] = feeds[i]->end;
        pthread_mutex_unlock(&feeds[i]->lock);
    }
    int64_t deadline_ns = sf_runtime_mono_ns(runtime) + timeout_ms * 1000000;
    if (status == SF_OK)
        status = wait_all(runtime, feeds, ends, count, deadline_ns, err);
    sf_free(feeds);
    sf_free(ends);
    pthread_mutex_unlock(&runtime->control);
    return status;
}

sf_status sf_runtime_checkpoint(sf_runtime *runtime, sf_error *err)
{
    pthread_mutex_lock(&runtime->control);
    sf_status status = SF_OK;
    for (size_t c = 0; c < runtime->cells.len && status == SF_OK; c++) {
        sf_cell *cell = runtime->cells.data[c];
        if (!cell->started)
            continue;
        sf_cell_enter(cell);
        status = sf_cell_checkpoint(cell, err);
        sf_cell_leave(cell);
    }
    pthread_mutex_unlock(&runtime->control);
    return status;
}
