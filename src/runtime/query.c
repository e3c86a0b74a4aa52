/* Queries: compiling, starting, stopping, what they publish, what they answer. */
#include "runtime/internal.h"

#include "format/format.h"

/* ---- names for the compiler ---- */

typedef struct {
    sf_runtime *runtime;
    const sf_resolver *also;
    SF_VEC(sf_schema *) held; /* what relations point to, until the compilation ends */
} names;

static sf_status hold(names *self, const sf_schema *schema, sf_error *err)
{
    sf_schema *ref = sf_schema_ref(schema);
    if (SF_VEC_PUSH(&self->held, ref))
        return SF_OK;
    sf_schema_unref(ref);
    return sf_fail_memory(err);
}

static sf_status find_name(void *arg, sf_str name, sf_relation *out, sf_error *err)
{
    names *self = arg;
    char text[256];
    if (name.len >= sizeof text)
        return sf_fail(err, SF_NOT_FOUND, "there is no relation of so long a name");
    memcpy(text, name.data, name.len);
    text[name.len] = '\0';
    sf_status status = SF_NOT_FOUND;
    pthread_mutex_lock(&self->runtime->lock);
    const sf_feed *feed = sf_runtime_feed(self->runtime, text);
    const sf_query *query = sf_runtime_query(self->runtime, text);
    if (feed) {
        *out = (sf_relation){.name = feed->name,
                             .kind = SF_INPUT_SOURCE,
                             .schema = feed->schema,
                             .append_only = true};
        status = hold(self, feed->schema, err);
    } else if (query) {
        const sf_plan *plan = query->plan;
        *out =
            (sf_relation){.name = query->name,
                          .kind = plan->kind == SF_PLAN_TABLE ? SF_INPUT_TABLE : SF_INPUT_PIPELINE,
                          .schema = sf_plan_schema(plan),
                          .append_only = sf_plan_at(plan, plan->output)->append_only};
        status = hold(self, sf_plan_schema(plan), err);
    }
    pthread_mutex_unlock(&self->runtime->lock);
    if (status == SF_NOT_FOUND && self->also)
        return self->also->find(self->also->self, name, out, err);
    if (status == SF_NOT_FOUND)
        sf_fail(err, SF_NOT_FOUND, "there is no \"%s\"", text);
    return status;
}

static void list_names(void *arg, bool (*visit)(void *arg, const sf_relation *relation),
                       void *visit_arg)
{
    names *self = arg;
    bool more = true;
    pthread_mutex_lock(&self->runtime->lock);
    for (size_t i = 0; more && i < self->runtime->feeds.len; i++) {
        const sf_feed *feed = self->runtime->feeds.data[i];
        sf_relation relation = {.name = feed->name,
                                .kind = SF_INPUT_SOURCE,
                                .schema = feed->schema,
                                .append_only = true};
        more = visit(visit_arg, &relation);
    }
    for (size_t i = 0; more && i < self->runtime->queries.len; i++) {
        const sf_query *query = self->runtime->queries.data[i];
        sf_relation relation = {.name = query->name,
                                .kind = query->plan->kind == SF_PLAN_TABLE ? SF_INPUT_TABLE
                                                                           : SF_INPUT_PIPELINE,
                                .schema = sf_plan_schema(query->plan)};
        more = visit(visit_arg, &relation);
    }
    pthread_mutex_unlock(&self->runtime->lock);
    if (more && self->also && self->also->list)
        self->also->list(self->also->self, visit, visit_arg);
}

sf_status sf_runtime_compile(sf_runtime *runtime, sf_plan_kind kind, sf_str sql,
                             const sf_resolver *also, sf_plan **out, sf_diagnostics *diagnostics,
                             sf_error *err)
{
    names self = {.runtime = runtime, .also = also};
    sf_resolver resolver = {.find = find_name, .list = list_names, .self = &self};
    sf_diagnostics own = {0};
    sf_status status =
        sf_sql_compile(sql, kind, &resolver, out, diagnostics ? diagnostics : &own, err);
    sf_diagnostics_deinit(&own);
    for (size_t i = 0; i < self.held.len; i++)
        sf_schema_unref(self.held.data[i]);
    SF_VEC_DEINIT(&self.held);
    return status;
}

/* ---- life ---- */

void sf_query_free(sf_query *query)
{
    if (!query)
        return;
    for (size_t i = 0; i < query->results.len; i++)
        sf_buf_deinit(&query->results.data[i]);
    SF_VEC_DEINIT(&query->results);
    sf_topic_put(query->topic);
    sf_plan_free(query->plan);
    sf_free(query->name);
    sf_free(query->id);
    sf_free(query);
}

static sf_query *new_query(sf_runtime *runtime, const sf_query_spec *spec)
{
    sf_query *query = sf_calloc(1, sizeof *query);
    if (!query)
        return NULL;
    query->name = sf_strdup(spec->name);
    query->id = sf_strdup(spec->id ? spec->id : spec->name);
    query->budget.parent = &runtime->budget;
    sf_sub_kind kind = spec->kind == SF_PLAN_TABLE ? SF_SUB_TABLE : SF_SUB_PIPELINE;
    query->topic = sf_topic_get(runtime, kind, spec->name);
    if (query->name && query->id && query->topic)
        return query;
    sf_query_free(query);
    return NULL;
}

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

/* Everything of `from` moves into `into`; both entered. */
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
    while (into->queries.cap - into->queries.len < from->queries.len)
        if (!sf_vec_grow((void **)&into->queries.data, &into->queries.cap,
                         sizeof *into->queries.data)) {
            sf_free(moved);
            return sf_fail_memory(err);
        }
    sf_status status = sf_group_absorb(into->group, from->group, moved, err);
    if (status == SF_OK) {
        pthread_mutex_lock(&into->runtime->lock);
        for (size_t q = 0; q < from->queries.len; q++) {
            sf_query *query = from->queries.data[q];
            query->cell = into;
            query->member = moved[query->member];
            into->queries.data[into->queries.len++] = query;
        }
        pthread_mutex_unlock(&into->runtime->lock);
        from->queries.len = 0;
        into->written_epoch = 0;
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
        sf_cell_leave(cells[c]);
        sf_cell_leave(*out);
        SF_TRY(status);
        sf_cell_retire(cells[c]);
    }
    return SF_OK;
}

/* Adds the query to the group; inside enter. */
static sf_status join(sf_runtime *runtime, sf_cell *cell, sf_query *query, sf_error *err)
{
    uint32_t count = (uint32_t)query->plan->inputs.len;
    sf_member_input *inputs = sf_calloc(count + 1u, sizeof *inputs);
    sf_status status = inputs ? SF_OK : sf_fail_memory(err);
    for (uint32_t i = 0; status == SF_OK && i < count; i++) {
        const sf_plan_input *input = &query->plan->inputs.data[i];
        inputs[i].is_source = input->kind == SF_INPUT_SOURCE;
        if (!inputs[i].is_source) {
            inputs[i].id = sf_cell_query(cell, input->name)->member;
            continue;
        }
        pthread_mutex_lock(&runtime->lock);
        sf_feed *feed = sf_runtime_feed(runtime, input->name);
        pthread_mutex_unlock(&runtime->lock);
        sf_reader_slot *slot = feed ? sf_cell_reader(cell, feed) : NULL;
        if (!slot) {
            status = feed ? sf_fail_memory(err)
                          : sf_fail(err, SF_NOT_FOUND, "there is no source \"%s\"", input->name);
            break;
        }
        inputs[i].id = slot->source;
        pthread_mutex_lock(&feed->lock);
        inputs[i].position = feed->journal ? sf_feed_oldest(feed) : feed->end;
        if (inputs[i].position < slot->needed)
            slot->needed = inputs[i].position;
        if (inputs[i].position < slot->durable)
            slot->durable = inputs[i].position;
        pthread_mutex_unlock(&feed->lock);
    }
    sf_member_spec spec = {
        .name = query->name, .plan = query->plan, .inputs = inputs, .budget = &query->budget};
    if (status == SF_OK)
        status = sf_group_add_member(cell->group, &spec, &query->member, err);
    sf_free(inputs);
    if (status != SF_OK)
        return status;
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
        uint64_t at = sf_group_position(cell->group, query->member, i);
        pthread_mutex_lock(&feed->lock);
        uint64_t oldest = sf_feed_oldest(feed), end = feed->end;
        bool journaled = feed->journal != NULL;
        pthread_mutex_unlock(&feed->lock);
        uint64_t to = at < oldest ? oldest : at > end ? end : at;
        if (to == at)
            continue;
        sf_group_seek(cell->group, query->member, i, to);
        if (journaled)
            sf_log_write(runtime->options.port.log, SF_LOG_WARN, "recovery",
                         "\"%s\" goes on at position %llu of source \"%s\" instead of %llu: the "
                         "rows between are not kept",
                         query->name, (unsigned long long)to, feed->name, (unsigned long long)at);
    }
}

/* Takes up saved states of the cell's new members; inside enter. */
static sf_status restore(sf_runtime *runtime, sf_cell *cell, sf_error *err)
{
    uint32_t count = sf_group_member_count(cell->group);
    bool *restored = sf_calloc(count + 1u, sizeof *restored);
    if (!restored)
        return sf_fail_memory(err);
    sf_status status = SF_OK;
    for (size_t q = 0; q < cell->queries.len && status == SF_OK; q++) {
        const sf_query *query = cell->queries.data[q];
        sf_state *state = sf_state_of(runtime, query->name);
        if (!state || restored[query->member])
            continue;
        pthread_mutex_lock(&state->lock);
        sf_image_source source = sf_state_source(state);
        status = sf_group_load(cell->group, &source, restored, err);
        pthread_mutex_unlock(&state->lock);
    }
    for (size_t q = 0; q < cell->queries.len && status == SF_OK; q++) {
        const sf_query *query = cell->queries.data[q];
        sf_member_info info;
        sf_group_member(cell->group, query->member, &info);
        if (info.frontier > 0) {
            mend_positions(runtime, cell, query);
            continue;
        }
        /* Begins anew: what an older query of this name left must not be mixed with its pages. */
        for (size_t s = 0; s < runtime->states.len && status == SF_OK; s++)
            status = sf_state_forget(runtime->states.data[s], query->name, err);
    }
    sf_free(restored);
    return status;
}

/* The file a cell's checkpoints go to: one that has its state already, or a new one. */
static sf_status give_state(sf_runtime *runtime, sf_cell *cell, sf_error *err)
{
    if (cell->state)
        return SF_OK;
    for (size_t q = 0; q < cell->queries.len && !cell->state; q++)
        cell->state = sf_state_of(runtime, cell->queries.data[q]->name);
    for (size_t c = 0; cell->state && c < runtime->cells.len; c++)
        if (runtime->cells.data[c] != cell && runtime->cells.data[c]->state == cell->state)
            cell->state = NULL; /* another cell writes there */
    cell->write_whole = true;
    if (cell->state)
        return SF_OK;
    sf_buf path = {0};
    sf_buf_printf(&path, "%s/group-%u.db", runtime->state_dir, runtime->next_state++);
    sf_state *state = NULL;
    sf_status status =
        path.failed ? sf_fail_memory(err) : sf_state_open(runtime, path.data, &state, err);
    sf_buf_deinit(&path);
    if (status == SF_OK && !SF_VEC_PUSH(&runtime->states, state)) {
        sf_state_close(state);
        return sf_fail_memory(err);
    }
    cell->state = state;
    return status;
}

/* Out of the group and the lists; inside enter. */
static void leave_group(sf_runtime *runtime, sf_cell *cell, sf_query *query)
{
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

static sf_status start_in_cell(sf_runtime *runtime, sf_cell *cell, sf_query *query, sf_error *err)
{
    sf_cell_enter(cell);
    sf_cell_quiet(cell);
    sf_status status = join(runtime, cell, query, err);
    if (status == SF_OK && runtime->started) {
        status = restore(runtime, cell, err);
        if (status == SF_OK)
            status = give_state(runtime, cell, err);
        if (status != SF_OK) {
            (void)!sf_group_remove_member(cell->group, query->member, NULL);
            leave_group(runtime, cell, query);
        }
    }
    sf_cell_leave(cell);
    return status;
}

sf_status sf_runtime_start_query(sf_runtime *runtime, const sf_query_spec *spec,
                                 sf_diagnostics *diagnostics, sf_error *err)
{
    sf_query *query = new_query(runtime, spec);
    if (!query)
        return sf_fail_memory(err);
    pthread_mutex_lock(&runtime->control);
    pthread_mutex_lock(&runtime->lock);
    bool taken = sf_runtime_query(runtime, spec->name) || sf_runtime_feed(runtime, spec->name);
    pthread_mutex_unlock(&runtime->lock);
    sf_cell **cells = NULL, *cell = NULL;
    uint32_t count = 0;
    sf_status status = taken ? sf_fail(err, SF_EXISTS, "\"%s\" runs already", spec->name) : SF_OK;
    if (status == SF_OK)
        status = sf_runtime_compile(runtime, spec->kind, spec->sql, NULL, &query->plan, diagnostics,
                                    err);
    if (status == SF_OK) {
        cells = sf_calloc(query->plan->inputs.len + 1, sizeof(sf_cell *));
        status =
            cells ? input_cells(runtime, query->plan, cells, &count, err) : sf_fail_memory(err);
    }
    if (status == SF_OK)
        status = one_cell(runtime, cells, count, &cell, err);
    if (status == SF_OK)
        status = start_in_cell(runtime, cell, query, err);
    if (status == SF_OK) {
        sf_topic_tell_state(query->topic, "Running");
        if (runtime->started && !cell->started)
            sf_cell_start(cell);
        else if (runtime->started)
            sf_actor_wake(&cell->actor);
    } else {
        if (cell && cell->queries.len == 0)
            sf_cell_retire(cell);
        sf_query_free(query);
    }
    sf_free(cells);
    pthread_mutex_unlock(&runtime->control);
    return status;
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
    sf_cell_quiet(cell);
    sf_query *query = sf_cell_query(cell, name);
    sf_error saving = {0};
    sf_status saved = runtime->started && cell->started ? sf_cell_checkpoint(cell, &saving) : SF_OK;
    sf_status status = sf_group_remove_member(cell->group, query->member, err);
    if (status == SF_OK)
        leave_group(runtime, cell, query);
    bool empty = cell->queries.len == 0;
    sf_cell_leave(cell);
    if (saved != SF_OK)
        sf_log_write(runtime->options.port.log, SF_LOG_WARN, "checkpoint",
                     "\"%s\" was stopped without a checkpoint: %s", name, saving.message);
    if (status == SF_OK) {
        sf_topic_tell_state(query->topic, "Stopped");
        sf_query_free(query);
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
        status = sf_state_forget(runtime->states.data[s], name, err);
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
        sf_status status = restore(runtime, cell, &err);
        if (status == SF_OK)
            status = give_state(runtime, cell, &err);
        if (status != SF_OK) {
            cell->broken = err;
            sf_log_write(runtime->options.port.log, SF_LOG_ERROR, "recovery",
                         "a group of queries cannot be restored and does not run: %s", err.message);
        }
        sf_cell_leave(cell);
    }
}

/* ---- publishing ---- */

static void put_delta(sf_buf *json, const sf_batch *batch, uint32_t row, uint64_t epoch)
{
    sf_buf_puts(json, json->len > 1 ? ",{\"row\":" : "{\"row\":");
    sf_write_json_row(json, batch, row, false);
    sf_buf_printf(json, ",\"weight\":%lld,\"evicted\":false,\"epoch\":%llu}",
                  (long long)sf_batch_weight(batch, row), (unsigned long long)epoch);
}

static void put_result(sf_buf *json, const sf_query *query, const sf_batch *batch, uint32_t row,
                       uint64_t seq, int64_t now_ms)
{
    sf_buf_printf(json,
                  "{\"pipelineId\":\"%s\",\"seq\":%llu,\"timestampMs\":%lld,\"row\":", query->id,
                  (unsigned long long)seq, (long long)now_ms);
    sf_write_json_row(json, batch, row, false);
    sf_buf_putc(json, '}');
}

static void keep_result(sf_query *query, const sf_batch *batch, uint32_t row, uint64_t seq,
                        int64_t now_ms)
{
    if (query->results.len < SF_RESULTS_KEPT) {
        sf_buf fresh = {0};
        if (!SF_VEC_PUSH(&query->results, fresh))
            return;
        query->results_next = query->results.len - 1;
    }
    sf_buf *slot = &query->results.data[query->results_next];
    sf_buf_clear(slot);
    put_result(slot, query, batch, row, seq, now_ms);
    query->results_next = (query->results_next + 1) % SF_RESULTS_KEPT;
}

static void publish_table(sf_query *query, uint32_t count, int64_t now_ms)
{
    if (!sf_topic_heard(query->topic))
        return;
    sf_frame *frame = sf_frame_new();
    if (!frame)
        return;
    sf_buf_putc(&frame->json, '[');
    frame->seq = sf_group_epoch(query->cell->group);
    frame->at_ms = now_ms;
    for (uint32_t i = 0; i < count; i++) {
        const sf_batch *batch = sf_group_output(query->cell->group, query->member, i);
        for (uint32_t row = 0; row < batch->rows; row++)
            put_delta(&frame->json, batch, row, frame->seq);
        frame->rows += batch->rows;
    }
    sf_buf_putc(&frame->json, ']');
    sf_topic_publish(query->topic, frame);
}

static void publish_pipeline(sf_query *query, uint32_t count, int64_t now_ms)
{
    sf_circuit_stats stats;
    sf_circuit_get_stats(sf_group_circuit(query->cell->group, query->member), &stats);
    uint64_t rows = 0;
    for (uint32_t i = 0; i < count; i++)
        rows += sf_group_output(query->cell->group, query->member, i)->rows;
    uint64_t seq = stats.rows_out - rows;
    bool heard = sf_topic_heard(query->topic);
    sf_frame *frame = heard ? sf_frame_new() : NULL;
    if (frame)
        sf_buf_putc(&frame->json, '[');
    for (uint32_t i = 0; i < count; i++) {
        const sf_batch *batch = sf_group_output(query->cell->group, query->member, i);
        for (uint32_t row = 0; row < batch->rows; row++) {
            seq++;
            if (seq + SF_RESULTS_KEPT > stats.rows_out)
                keep_result(query, batch, row, seq, now_ms);
            if (!frame)
                continue;
            if (frame->json.len > 1)
                sf_buf_putc(&frame->json, ',');
            put_result(&frame->json, query, batch, row, seq, now_ms);
        }
    }
    if (!frame)
        return;
    sf_buf_putc(&frame->json, ']');
    frame->seq = seq;
    frame->rows = (uint32_t)rows;
    frame->at_ms = now_ms;
    sf_topic_publish(query->topic, frame);
}

void sf_query_publish(sf_query *query, int64_t now_ms)
{
    uint32_t count = sf_group_output_count(query->cell->group, query->member);
    if (count == 0)
        return;
    query->last_change_ms = now_ms;
    if (query->plan->kind == SF_PLAN_TABLE)
        publish_table(query, count, now_ms);
    else
        publish_pipeline(query, count, now_ms);
}

/* ---- answers ---- */

static sf_status enter_query(sf_runtime *runtime, const char *name, sf_cell **cell,
                             sf_query **query, sf_error *err)
{
    for (;;) { /* a cell may be merged into another between finding and entering it */
        *cell = sf_cell_of(runtime, name);
        if (!*cell)
            return sf_fail(err, SF_NOT_FOUND, "\"%s\" is not running", name);
        sf_cell_enter(*cell);
        *query = sf_cell_query(*cell, name);
        if (*query)
            return SF_OK;
        sf_cell_leave(*cell);
        sf_cell_unref(*cell);
    }
}

static void leave_query(sf_cell *cell)
{
    sf_cell_leave(cell);
    sf_cell_unref(cell);
}

sf_status sf_runtime_snapshot(sf_runtime *runtime, const char *name, sf_snapshot **snapshot,
                              sf_schema **schema, uint64_t *epoch, sf_error *err)
{
    sf_cell *cell;
    sf_query *query;
    SF_TRY(enter_query(runtime, name, &cell, &query, err));
    sf_status status = SF_OK;
    if (query->plan->kind != SF_PLAN_TABLE) {
        status = sf_fail(err, SF_CONFLICT, "\"%s\" is a pipeline: it has results, not rows", name);
    } else {
        sf_member_info info;
        sf_group_member(cell->group, query->member, &info);
        *snapshot = sf_circuit_snapshot(sf_group_circuit(cell->group, query->member));
        *schema = sf_schema_ref(sf_plan_schema(query->plan));
        *epoch = info.frontier;
        if (!*snapshot) {
            sf_schema_unref(*schema);
            status = sf_fail_memory(err);
        }
    }
    leave_query(cell);
    return status;
}

sf_status sf_runtime_results(sf_runtime *runtime, const char *name, uint32_t limit, sf_buf *out,
                             sf_error *err)
{
    sf_cell *cell;
    sf_query *query;
    SF_TRY(enter_query(runtime, name, &cell, &query, err));
    size_t kept = query->results.len, give = kept < limit ? kept : limit;
    size_t oldest = kept < SF_RESULTS_KEPT ? 0 : query->results_next;
    sf_buf_putc(out, '[');
    for (size_t i = kept - give; i < kept; i++) {
        const sf_buf *result = &query->results.data[(oldest + i) % kept];
        sf_buf_puts(out, i > kept - give ? "," : "");
        sf_buf_put(out, result->data, result->len);
    }
    sf_buf_putc(out, ']');
    leave_query(cell);
    return out->failed ? sf_fail_memory(err) : SF_OK;
}

void sf_runtime_query_stats(sf_runtime *runtime, const char *name, sf_query_stats *out)
{
    *out = (sf_query_stats){0};
    sf_cell *cell;
    sf_query *query;
    if (enter_query(runtime, name, &cell, &query, NULL) != SF_OK)
        return;
    sf_member_info info;
    sf_group_member(cell->group, query->member, &info);
    sf_circuit *circuit = sf_group_circuit(cell->group, query->member);
    out->running = true;
    out->state = cell->broken.status != SF_OK ? SF_MEMBER_FAILED : info.state;
    out->error = cell->broken.status != SF_OK ? cell->broken : info.error;
    out->kind = query->plan->kind;
    out->epoch = info.frontier;
    sf_circuit_get_stats(circuit, &out->circuit);
    if (out->kind == SF_PLAN_TABLE) {
        sf_snapshot *snapshot = sf_circuit_snapshot(circuit);
        out->rows = snapshot ? sf_snapshot_rows(snapshot) : 0;
        sf_snapshot_unref(snapshot);
    }
    out->rows_in_per_s = query->rate_in;
    out->rows_out_per_s = query->rate_out;
    out->last_change_ms = query->last_change_ms;
    out->checkpoint_ms = cell->last_write_ms;
    leave_query(cell);
}

sf_status sf_runtime_explain(sf_runtime *runtime, const char *name, sf_buf *out, sf_error *err)
{
    sf_cell *cell;
    sf_query *query;
    SF_TRY(enter_query(runtime, name, &cell, &query, err));
    sf_plan_print(query->plan, out);
    leave_query(cell);
    return out->failed ? sf_fail_memory(err) : SF_OK;
}
