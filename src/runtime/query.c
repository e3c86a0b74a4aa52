/* Queries: starting, stopping, their state. */
#include "runtime/internal.h"

/* ---- life ---- */

void sf_query_free(sf_runtime *runtime, sf_query *query)
{
    if (!query)
        return;
    for (size_t i = 0; i < query->results.len; i++)
        sf_buf_deinit(&query->results.data[i]);
    SF_VEC_DEINIT(&query->results);
    sf_topic_put(query->topic);
    sf_runtime_give_budget(runtime, query->budget);
    sf_plan_free(query->plan);
    sf_free(query->name);
    sf_free(query->id);
    sf_free(query);
}

/* Control held. */
static sf_query *new_query(sf_runtime *runtime, const sf_query_spec *spec)
{
    sf_query *query = sf_calloc(1, sizeof *query);
    if (!query)
        return NULL;
    query->name = sf_strdup(spec->name);
    query->id = sf_strdup(spec->id ? spec->id : spec->name);
    query->budget = sf_runtime_take_budget(runtime);
    sf_sub_kind kind = spec->kind == SF_PLAN_TABLE ? SF_SUB_TABLE : SF_SUB_PIPELINE;
    query->topic = sf_topic_get(runtime, kind, spec->name);
    if (query->name && query->id && query->topic && query->budget)
        return query;
    sf_query_free(runtime, query);
    return NULL;
}

/* ---- one cell ---- */

/* Every input must run; the cells of those that are queries are to become one. */
static sf_status input_cells(sf_runtime *runtime, const sf_plan *plan, sf_cell **cells,
                             uint32_t *count, sf_error *err)
{
    *count = 0;
    for (size_t i = 0; i < plan->inputs.len; i++) {
        const sf_plan_input *input = &plan->inputs.data[i];
        if (input->kind == SF_INPUT_SOURCE)
            continue;
        pthread_mutex_lock(&runtime->lock);
        const sf_query *query = sf_runtime_query(runtime, input->name);
        sf_cell *cell = query ? query->cell : NULL;
        pthread_mutex_unlock(&runtime->lock);
        if (!cell) {
            sf_fail(err, SF_CONFLICT, "input %s \"%s\" is not running",
                    input->kind == SF_INPUT_TABLE ? "table" : "pipeline", input->name);
            sf_error_hint(err, "start it first");
            return SF_CONFLICT;
        }
        bool known = false;
        for (uint32_t c = 0; c < *count; c++)
            known |= cells[c] == cell;
        if (!known)
            cells[(*count)++] = cell;
    }
    return SF_OK;
}

/* Everything of `from` moves into `into`; with the turn of both. */
static sf_status merge(sf_cell *into, sf_cell *from, sf_error *err)
{
    sf_cell_quiet(into);
    sf_cell_quiet(from);
    for (size_t i = 0; i < from->readers.len; i++) /* one reader a source, of the new cell */
        if (!sf_cell_reader(into, from->readers.data[i]->feed))
            return sf_fail_memory(err);
    uint32_t *moved = sf_calloc(sf_group_member_count(from->group) + 1u, sizeof *moved);
    if (!moved)
        return sf_fail_memory(err);
    pthread_mutex_lock(&into->runtime->lock);
    bool room = true;
    while (room && into->queries.cap - into->queries.len < from->queries.len)
        room = sf_vec_grow((void **)&into->queries.data, &into->queries.cap,
                           sizeof *into->queries.data);
    pthread_mutex_unlock(&into->runtime->lock);
    sf_status status =
        room ? sf_group_absorb(into->group, from->group, moved, err) : sf_fail_memory(err);
    if (status == SF_OK) {
        pthread_mutex_lock(&into->runtime->lock);
        for (size_t q = 0; q < from->queries.len; q++) {
            sf_query *query = from->queries.data[q];
            query->cell = into;
            query->member = moved[query->member];
            into->queries.data[into->queries.len++] = query;
        }
        from->queries.len = 0;
        pthread_mutex_unlock(&into->runtime->lock);
        into->written_epoch = 0;
        sf_cell_tell_needs(into);
    }
    sf_free(moved);
    return status;
}

static sf_status one_cell(sf_runtime *runtime, sf_cell **cells, uint32_t count, sf_cell **out,
                          sf_error *err)
{
    *out = count ? cells[0] : sf_cell_new(runtime);
    if (!*out)
        return sf_fail_memory(err);
    for (uint32_t c = 1; c < count; c++) {
        sf_cell_enter(*out);
        sf_cell_enter(cells[c]);
        sf_status status = merge(*out, cells[c], err);
        sf_cell_drop_readers(*out); /* if it came to nothing */
        sf_cell_leave(cells[c]);
        sf_cell_leave(*out);
        SF_TRY(status);
        sf_cell_retire(cells[c]);
    }
    return SF_OK;
}

/* ---- joining ---- */

/* A query without state begins with the oldest rows of a source that has a journal, and with the next
 * ones of others. */
static sf_status bind_source(sf_runtime *runtime, sf_cell *cell, const char *name,
                             sf_member_input *input, sf_error *err)
{
    pthread_mutex_lock(&runtime->lock);
    sf_feed *feed = sf_runtime_feed(runtime, name); /* control is held: it stays */
    pthread_mutex_unlock(&runtime->lock);
    if (!feed)
        return sf_fail(err, SF_NOT_FOUND, "there is no source \"%s\"", name);
    sf_reader_slot *slot = sf_cell_reader(cell, feed);
    if (!slot)
        return sf_fail_memory(err);
    input->id = slot->source;
    pthread_mutex_lock(&feed->lock);
    input->position = feed->journal ? sf_feed_oldest(feed) : feed->end;
    sf_reader_slot_include(slot, input->position);
    pthread_mutex_unlock(&feed->lock);
    return SF_OK;
}

static sf_status join_group(sf_runtime *runtime, sf_cell *cell, sf_query *query, sf_error *err)
{
    uint32_t count = (uint32_t)query->plan->inputs.len;
    sf_member_input *inputs = sf_calloc(count + 1u, sizeof *inputs);
    sf_status status = inputs ? SF_OK : sf_fail_memory(err);
    for (uint32_t i = 0; status == SF_OK && i < count; i++) {
        const sf_plan_input *input = &query->plan->inputs.data[i];
        inputs[i].is_source = input->kind == SF_INPUT_SOURCE;
        if (inputs[i].is_source)
            status = bind_source(runtime, cell, input->name, &inputs[i], err);
        else
            inputs[i].id = sf_cell_query(cell, input->name)->member;
    }
    sf_member_spec spec = {
        .name = query->name, .plan = query->plan, .inputs = inputs, .budget = query->budget};
    if (status == SF_OK)
        status = sf_group_add_member(cell->group, &spec, &query->member, err);
    sf_free(inputs);
    return status;
}

/* Adds the query to the group and the lists; with the turn. */
static sf_status join(sf_runtime *runtime, sf_cell *cell, sf_query *query, sf_error *err)
{
    SF_TRY(join_group(runtime, cell, query, err));
    pthread_mutex_lock(&runtime->lock);
    bool listed = SF_VEC_PUSH(&runtime->queries, query);
    if (listed && !SF_VEC_PUSH(&cell->queries, query)) {
        runtime->queries.len--;
        listed = false;
    }
    if (listed)
        query->cell = cell;
    pthread_mutex_unlock(&runtime->lock);
    if (listed)
        return SF_OK;
    (void)!sf_group_remove_member(cell->group, query->member, NULL);
    return sf_fail_memory(err);
}

void sf_query_unlist(sf_query *query)
{
    sf_cell *cell = query->cell;
    sf_runtime *runtime = cell->runtime;
    pthread_mutex_lock(&runtime->lock);
    for (size_t i = 0; i < runtime->queries.len; i++)
        if (runtime->queries.data[i] == query) {
            memmove(&runtime->queries.data[i], &runtime->queries.data[i + 1],
                    (runtime->queries.len - i - 1) * sizeof(sf_query *));
            runtime->queries.len--;
            break;
        }
    for (size_t i = 0; i < cell->queries.len; i++)
        if (cell->queries.data[i] == query) {
            memmove(&cell->queries.data[i], &cell->queries.data[i + 1],
                    (cell->queries.len - i - 1) * sizeof(sf_query *));
            cell->queries.len--;
            break;
        }
    query->cell = NULL;
    pthread_mutex_unlock(&runtime->lock);
}

/* ---- state ---- */

/* Reading goes on where the log still has rows. */
static void mend_positions(sf_runtime *runtime, sf_cell *cell, const sf_query *query)
{
    for (uint32_t i = 0; i < query->plan->inputs.len; i++) {
        const sf_plan_input *input = &query->plan->inputs.data[i];
        if (input->kind != SF_INPUT_SOURCE)
            continue;
        pthread_mutex_lock(&runtime->lock);
        sf_feed *feed = sf_runtime_feed(runtime, input->name);
        pthread_mutex_unlock(&runtime->lock);
        sf_reader_slot *slot = sf_cell_reader(cell, feed); /* there since it joined */
        uint64_t at = sf_group_position(cell->group, query->member, i);
        pthread_mutex_lock(&feed->lock);
        uint64_t oldest = sf_feed_oldest(feed), end = feed->end;
        uint64_t to = at < oldest ? oldest : at > end ? end : at;
        sf_reader_slot_include(slot, to);
        pthread_mutex_unlock(&feed->lock);
        if (to == at)
            continue;
        sf_group_seek(cell->group, query->member, i, to);
        if (feed->journaled)
            sf_log_write(runtime->options.port.log, SF_LOG_WARN, "recovery",
                         "\"%s\" goes on at position %llu of source \"%s\" instead of %llu: the "
                         "rows between are not kept",
                         query->name, (unsigned long long)to, feed->name, (unsigned long long)at);
    }
}

/* The file a cell's checkpoints go to: one that has its state already, or a new one. */
static sf_status give_state(sf_runtime *runtime, sf_cell *cell, sf_error *err)
{
    for (size_t q = 0; q < cell->queries.len && !cell->state; q++) {
        cell->state = sf_state_of(runtime, cell->queries.data[q]->name);
        for (size_t c = 0; cell->state && c < runtime->cells.len; c++)
            if (runtime->cells.data[c] != cell && runtime->cells.data[c]->state == cell->state)
                cell->state = NULL; /* another cell writes there */
    }
    if (cell->state)
        return SF_OK;
    sf_buf path = {0};
    sf_state *state = NULL;
    sf_buf_printf(&path, "%s/group-%u.db", runtime->state_dir, runtime->next_state);
    sf_status status =
        path.failed ? sf_fail_memory(err) : sf_state_open(runtime, path.data, &state, err);
    sf_buf_deinit(&path);
    SF_TRY(status);
    if (!SF_VEC_PUSH(&runtime->states, state)) {
        sf_state_close(state);
        return sf_fail_memory(err);
    }
    runtime->next_state++;
    cell->state = state;
    return SF_OK;
}

/* A query that begins anew: what is left of an older one of its name is of no use to anybody. Its own
 * file keeps the name, for the numbers of epochs. */
static sf_status forget_old(sf_runtime *runtime, const sf_cell *cell, const char *name,
                            sf_error *err)
{
    for (size_t s = 0; s < runtime->states.len; s++)
        SF_TRY(sf_state_forget(runtime->states.data[s], name,
                               runtime->states.data[s] == cell->state, err));
    return SF_OK;
}

/* Takes up saved states of the queries from number `first` on, which have just joined; with the
 * turn. */
static sf_status restore(sf_runtime *runtime, sf_cell *cell, size_t first, sf_error *err)
{
    SF_TRY(give_state(runtime, cell, err));
    bool *restored = sf_calloc(sf_group_member_count(cell->group) + 1u, sizeof *restored);
    if (!restored)
        return sf_fail_memory(err);
    sf_status status = SF_OK;
    for (size_t q = first; q < cell->queries.len && status == SF_OK; q++) {
        const sf_query *query = cell->queries.data[q];
        sf_state *state = sf_state_of(runtime, query->name);
        if (state && !restored[query->member])
            status = sf_state_load(state, cell->group, restored, err);
        if (status == SF_OK && restored[query->member] && state != cell->state)
            sf_group_rewrite(cell->group, query->member);
    }
    for (size_t q = first; q < cell->queries.len && status == SF_OK; q++) {
        const sf_query *query = cell->queries.data[q];
        if (restored[query->member])
            mend_positions(runtime, cell, query);
        else
            status = forget_old(runtime, cell, query->name, err);
    }
    sf_free(restored);
    sf_cell_tell_needs(cell);
    return status;
}

/* ---- starting and stopping ---- */

static sf_status start_in_cell(sf_runtime *runtime, sf_cell *cell, sf_query *query, sf_error *err)
{
    sf_cell_enter(cell);
    sf_cell_quiet(cell);
    sf_status status = join(runtime, cell, query, err);
    if (status == SF_OK && runtime->started) {
        status = restore(runtime, cell, cell->queries.len - 1, err);
        if (status != SF_OK) {
            (void)!sf_group_remove_member(cell->group, query->member, NULL);
            sf_query_unlist(query);
        }
    }
    if (status != SF_OK) {
        sf_cell_drop_readers(cell);
        sf_cell_tell_needs(cell);
    }
    sf_cell_leave(cell);
    return status;
}

static sf_status compile_and_join(sf_runtime *runtime, const sf_query_spec *spec, sf_query *query,
                                  sf_diagnostics *diagnostics, sf_cell **cell, sf_error *err)
{
    SF_TRY(
        sf_runtime_compile(runtime, spec->kind, spec->sql, NULL, &query->plan, diagnostics, err));
    uint32_t count = 0;
    sf_cell **cells = sf_calloc(query->plan->inputs.len + 1, sizeof(sf_cell *));
    sf_status status =
        cells ? input_cells(runtime, query->plan, cells, &count, err) : sf_fail_memory(err);
    if (status == SF_OK)
        status = one_cell(runtime, cells, count, cell, err);
    if (status == SF_OK)
        status = start_in_cell(runtime, *cell, query, err);
    sf_free(cells);
    return status;
}

static sf_status start_query(sf_runtime *runtime, const sf_query_spec *spec,
                             sf_diagnostics *diagnostics, sf_error *err)
{
    pthread_mutex_lock(&runtime->lock);
    bool taken = sf_runtime_query(runtime, spec->name) || sf_runtime_feed(runtime, spec->name);
    pthread_mutex_unlock(&runtime->lock);
    if (taken)
        return sf_fail(err, SF_EXISTS, "\"%s\" runs already", spec->name);
    sf_query *query = new_query(runtime, spec);
    sf_cell *cell = NULL;
    if (!query)
        return sf_fail_memory(err);
    sf_status status = compile_and_join(runtime, spec, query, diagnostics, &cell, err);
    if (status != SF_OK) {
        if (cell && cell->queries.len == 0)
            sf_cell_retire(cell);
        sf_query_free(runtime, query);
        return status;
    }
    sf_topic_tell_state(query->topic, "Running");
    if (runtime->started && !cell->started && cell->broken.status == SF_OK)
        sf_cell_start(cell);
    else if (runtime->started)
        sf_actor_wake(&cell->actor);
    return SF_OK;
}

sf_status sf_runtime_start_query(sf_runtime *runtime, const sf_query_spec *spec,
                                 sf_diagnostics *diagnostics, sf_error *err)
{
    pthread_mutex_lock(&runtime->control);
    sf_status status = start_query(runtime, spec, diagnostics, err);
    pthread_mutex_unlock(&runtime->control);
    return status;
}

/* Out of its group and the lists, its state saved; *empty: nobody is left. With the turn. */
static sf_status leave_cell(sf_runtime *runtime, sf_cell *cell, sf_query *query, sf_error *err)
{
    sf_error saving = {0};
    SF_TRY(sf_group_check_remove(cell->group, query->member, err));
    if (runtime->started && cell->started && sf_cell_checkpoint(cell, &saving) != SF_OK)
        sf_log_write(runtime->options.port.log, SF_LOG_WARN, "checkpoint",
                     "\"%s\" was stopped without a checkpoint: %s", query->name, saving.message);
    sf_cell_quiet(cell);
    SF_TRY(sf_group_remove_member(cell->group, query->member, err));
    sf_query_unlist(query);
    sf_cell_drop_readers(cell);
    sf_cell_tell_needs(cell);
    return SF_OK;
}

sf_status sf_runtime_stop_query(sf_runtime *runtime, const char *name, sf_error *err)
{
    pthread_mutex_lock(&runtime->control);
    sf_cell *cell = sf_cell_of(runtime, name);
    if (!cell) {
        pthread_mutex_unlock(&runtime->control);
        return sf_fail(err, SF_NOT_FOUND, "\"%s\" is not running", name);
    }
    sf_cell_enter(cell);
    sf_query *query = sf_cell_query(cell, name); /* control is held: it has not moved */
    sf_status status = leave_cell(runtime, cell, query, err);
    bool empty = cell->queries.len == 0;
    sf_cell_leave(cell);
    if (status == SF_OK) {
        sf_topic_tell_state(query->topic, "Stopped");
        sf_query_free(runtime, query);
        if (empty)
            sf_cell_retire(cell);
        else
            sf_actor_wake(&cell->actor);
    }
    sf_cell_unref(cell);
    pthread_mutex_unlock(&runtime->control);
    return status;
}

sf_status sf_runtime_forget_query(sf_runtime *runtime, const char *name, sf_error *err)
{
    pthread_mutex_lock(&runtime->control);
    sf_status status = SF_OK;
    for (size_t s = 0; s < runtime->states.len && status == SF_OK; s++)
        status = sf_state_forget(runtime->states.data[s], name, false, err);
    pthread_mutex_unlock(&runtime->control);
    return status;
}

/* Before anything runs: each cell takes up its state. A cell that cannot stays still, with the
 * reason in its queries' status. */
void sf_queries_restore(sf_runtime *runtime)
{
    for (size_t c = 0; c < runtime->cells.len; c++) {
        sf_cell *cell = runtime->cells.data[c];
        sf_error err = {0};
        sf_cell_enter(cell);
        if (restore(runtime, cell, 0, &err) != SF_OK) {
            cell->broken = err;
            sf_cell_tell_needs(cell);
            sf_log_write(runtime->options.port.log, SF_LOG_ERROR, "recovery",
                         "a group of queries cannot be restored and does not run: %s", err.message);
        }
        sf_cell_leave(cell);
    }
}
