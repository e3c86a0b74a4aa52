/* Cells: the actor that drives a consistency group, whose turn it is, checkpoints. */
#include "runtime/internal.h"

enum { STEP_ROWS = 32768, CHECKPOINT_MS_DEFAULT = 2000 };

static int64_t checkpoint_ns(const sf_cell *cell)
{
    int64_t ms = cell->runtime->options.checkpoint_ms;
    return (ms ? ms : CHECKPOINT_MS_DEFAULT) * 1000000;
}

/* ---- turns ---- */

/* A thread must wait for the end of an epoch, and for the actor when it came first. Lock held. */
static bool may_take(const sf_cell *cell)
{
    bool first = cell->held_up && cell->ahead == 0;
    return !cell->busy && !(cell->started && (cell->in_epoch || first));
}

/* Lock held. */
static void take_turn(sf_cell *cell)
{
    cell->waiting++;
    while (!may_take(cell))
        pthread_cond_wait(&cell->turn, &cell->lock);
    cell->waiting--;
    if (cell->ahead > 0)
        cell->ahead--;
    cell->busy = true;
}

/* Lock held. */
static void give_turn(sf_cell *cell)
{
    cell->busy = false;
    if (cell->held_up && cell->ahead == 0)
        sf_actor_wake(&cell->actor);
    pthread_cond_broadcast(&cell->turn);
}

void sf_cell_enter(sf_cell *cell)
{
    pthread_mutex_lock(&cell->lock);
    take_turn(cell);
    pthread_mutex_unlock(&cell->lock);
}

void sf_cell_leave(sf_cell *cell)
{
    pthread_mutex_lock(&cell->lock);
    give_turn(cell);
    pthread_mutex_unlock(&cell->lock);
}

bool sf_cell_try_enter(sf_cell *cell)
{
    pthread_mutex_lock(&cell->lock);
    bool taken = may_take(cell) && cell->waiting == 0;
    cell->busy |= taken;
    pthread_mutex_unlock(&cell->lock);
    return taken;
}

/* The runtime's clock counts from where it likes, so the rest of the time is turned into a length. */
bool sf_cell_wait_epoch(sf_cell *cell, int64_t deadline_mono_ns)
{
    int64_t left_ns = deadline_mono_ns - sf_runtime_mono_ns(cell->runtime);
    if (left_ns <= 0)
        return false;
    sf_clock system = sf_clock_system();
    int64_t until_ns = sf_sat_add(sf_clock_mono_ns(&system), left_ns);
    struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
    pthread_mutex_lock(&cell->lock);
    give_turn(cell);
    sf_actor_wake(&cell->actor); /* it cannot take the turn before the lock is given away */
    pthread_cond_timedwait(&cell->turn, &cell->lock, &until);
    take_turn(cell);
    pthread_mutex_unlock(&cell->lock);
    return true;
}

/* The actor lets those in first who waited when it came. It does not wait itself: the last of them
 * wakes it. */
static bool actor_takes_turn(sf_cell *cell)
{
    pthread_mutex_lock(&cell->lock);
    bool others = !cell->in_epoch && (cell->held_up ? cell->ahead > 0 : cell->waiting > 0);
    bool taken = cell->started && !cell->busy && !others;
    if (taken) {
        cell->busy = true;
        cell->held_up = false;
    } else if (cell->started && !cell->held_up) {
        cell->held_up = true;
        cell->ahead = cell->waiting;
    }
    pthread_mutex_unlock(&cell->lock);
    return taken;
}

/* ---- checkpoints ---- */

static void note_durable(sf_cell *cell, const sf_image *image)
{
    for (size_t i = 0; i < cell->readers.len; i++) {
        sf_reader_slot *slot = cell->readers.data[i];
        pthread_mutex_lock(&slot->feed->lock);
        slot->durable = sf_image_position(image, slot->feed->name);
        sf_feed_settle(slot->feed);
        pthread_mutex_unlock(&slot->feed->lock);
    }
}

/* What became of the image; with the turn. */
static void image_written(sf_cell *cell, sf_status status, const sf_error *err)
{
    if (status == SF_OK) {
        sf_image_done(cell->group, cell->image);
        note_durable(cell, cell->image);
        cell->last_write_ms = sf_runtime_wall_ms(cell->runtime);
    } else {
        sf_log_write(cell->runtime->options.port.log, SF_LOG_ERROR, "checkpoint",
                     "cannot write \"%s\": %s", cell->state->path, err->message);
        cell->written_epoch = 0; /* try again */
    }
    sf_image_free(cell->image);
    cell->image = NULL;
    cell->last_write_ns = sf_runtime_mono_ns(cell->runtime);
}

static void write_image(void *arg)
{
    sf_cell *cell = arg;
    sf_error err = {0};
    /* queries and readers do not change while an image is being written (see sf_cell_quiet) */
    sf_status status = sf_state_write(cell->state, cell, cell->image, &err);
    pthread_mutex_lock(&cell->lock);
    cell->write_status = status;
    cell->write_error = err;
    cell->writing = false;
    cell->written = true;
    sf_actor_wake(&cell->actor);
    pthread_cond_broadcast(&cell->turn);
    pthread_mutex_unlock(&cell->lock);
}

/* False: an image is still being written. Otherwise its outcome, if there is one, has been seen to.
 * With the turn. */
static bool settle_image(sf_cell *cell, bool wait)
{
    pthread_mutex_lock(&cell->lock);
    while (wait && cell->writing)
        pthread_cond_wait(&cell->turn, &cell->lock);
    bool writing = cell->writing, written = cell->written;
    cell->written = false;
    pthread_mutex_unlock(&cell->lock);
    if (written) /* nobody else changes the outcome before the next image is begun */
        image_written(cell, cell->write_status, &cell->write_error);
    return !writing;
}

void sf_cell_quiet(sf_cell *cell)
{
    (void)settle_image(cell, true);
}

static void set_writing(sf_cell *cell, bool writing)
{
    pthread_mutex_lock(&cell->lock);
    cell->writing = writing;
    pthread_mutex_unlock(&cell->lock);
}

/* Takes an image between epochs and has it written; on the actor, with the turn. */
static void begin_checkpoint(sf_cell *cell)
{
    sf_error err = {0};
    uint64_t epoch = sf_group_epoch(cell->group);
    if (!settle_image(cell, false) || !cell->state || epoch == cell->written_epoch ||
        cell->queries.len == 0)
        return;
    int64_t due = cell->last_write_ns + checkpoint_ns(cell);
    if (sf_runtime_mono_ns(cell->runtime) < due) {
        sf_timer_set(&cell->timer, due);
        return;
    }
    sf_status status = sf_image_take(cell->group, &cell->image, &err);
    if (status == SF_OK) {
        set_writing(cell, true);
        cell->written_epoch = epoch;
        if (sf_blocking_submit(cell->runtime->options.pool, write_image, NULL, cell))
            return;
        set_writing(cell, false);
        status = sf_fail(&err, SF_OVERLOADED, "too much is being written already");
    }
    image_written(cell, status, &err);
    sf_timer_set(&cell->timer, cell->last_write_ns + checkpoint_ns(cell));
}

sf_status sf_cell_checkpoint(sf_cell *cell, sf_error *err)
{
    sf_error own = {0};
    sf_cell_quiet(cell);
    if (!cell->state || cell->queries.len == 0)
        return SF_OK;
    SF_TRY(sf_image_take(cell->group, &cell->image, err));
    cell->written_epoch = sf_group_epoch(cell->group);
    sf_status status = sf_state_write(cell->state, cell, cell->image, &own);
    image_written(cell, status, &own);
    if (status != SF_OK && err)
        *err = own;
    return status;
}

/* ---- what is read ---- */

static bool reads(const sf_query *query, uint32_t input, const sf_feed *feed)
{
    const sf_plan_input *one = &query->plan->inputs.data[input];
    return one->kind == SF_INPUT_SOURCE && strcmp(one->name, feed->name) == 0;
}

/* Least position that a running query still needs; UINT64_MAX: nobody reads on. */
static uint64_t needed_of(const sf_cell *cell, const sf_feed *feed)
{
    uint64_t needed = UINT64_MAX;
    bool runs = cell->broken.status == SF_OK;
    for (size_t q = 0; runs && q < cell->queries.len; q++) {
        const sf_query *query = cell->queries.data[q];
        sf_member_info info;
        sf_group_member(cell->group, query->member, &info);
        for (uint32_t i = 0; i < query->plan->inputs.len; i++) {
            if (info.state != SF_MEMBER_RUNNING || !reads(query, i, feed))
                continue;
            uint64_t at = sf_group_position(cell->group, query->member, i);
            if (at < needed)
                needed = at;
        }
    }
    return needed;
}

void sf_cell_tell_needs(sf_cell *cell)
{
    for (size_t r = 0; r < cell->readers.len; r++) {
        sf_reader_slot *slot = cell->readers.data[r];
        uint64_t needed = needed_of(cell, slot->feed);
        pthread_mutex_lock(&slot->feed->lock);
        slot->needed = needed;
        if (needed == UINT64_MAX) /* queries that have failed must not hold up who pushes */
            slot->durable = UINT64_MAX;
        sf_feed_settle(slot->feed);
        pthread_mutex_unlock(&slot->feed->lock);
    }
}

void sf_cell_drop_readers(sf_cell *cell)
{
    sf_cell_quiet(cell); /* the writer goes over the readers */
    for (size_t r = 0; r < cell->readers.len;) {
        sf_reader_slot *slot = cell->readers.data[r];
        bool read = false;
        for (size_t q = 0; q < cell->queries.len; q++)
            for (uint32_t i = 0; i < cell->queries.data[q]->plan->inputs.len; i++)
                read |= reads(cell->queries.data[q], i, slot->feed);
        if (read) {
            r++;
            continue;
        }
        sf_group_drop_source(cell->group, slot->source);
        sf_feed_close_reader(slot);
        cell->readers.data[r] = cell->readers.data[--cell->readers.len];
    }
}

sf_reader_slot *sf_cell_reader(sf_cell *cell, sf_feed *feed)
{
    for (size_t i = 0; i < cell->readers.len; i++)
        if (cell->readers.data[i]->feed == feed)
            return cell->readers.data[i];
    sf_cell_quiet(cell); /* the writer goes over the readers */
    sf_reader_slot *slot = sf_feed_open_reader(feed, cell);
    if (!slot)
        return NULL;
    if (sf_group_add_source(cell->group, feed->name, &slot->reader, &slot->source, NULL) == SF_OK) {
        if (SF_VEC_PUSH(&cell->readers, slot))
            return slot;
        sf_group_drop_source(cell->group, slot->source);
    }
    sf_feed_close_reader(slot);
    return NULL;
}

/* ---- running ---- */

static void tell_states(sf_cell *cell)
{
    for (size_t q = 0; q < cell->queries.len; q++) {
        sf_query *query = cell->queries.data[q];
        sf_member_info info;
        sf_group_member(cell->group, query->member, &info);
        if (info.state == query->told)
            continue;
        query->told = info.state;
        sf_topic_tell_state(query->topic, info.state == SF_MEMBER_RUNNING ? "Running" : "Failed");
        if (info.state != SF_MEMBER_RUNNING)
            sf_log_write(cell->runtime->options.port.log, SF_LOG_ERROR, "query", "\"%s\": %s",
                         query->name, info.error.message);
    }
}

void sf_cell_sample(sf_cell *cell, int64_t now_ns)
{
    for (size_t q = 0; q < cell->queries.len; q++) {
        sf_query *query = cell->queries.data[q];
        double seconds = (double)(now_ns - query->sample_ns) / 1e9;
        if (query->sample_ns && seconds < 1)
            continue;
        sf_circuit_stats stats;
        sf_circuit_get_stats(sf_group_circuit(cell->group, query->member), &stats);
        if (query->sample_ns) {
            query->rate_in = (double)(stats.rows_in - query->sample_in) / seconds;
            query->rate_out = (double)(stats.rows_out - query->sample_out) / seconds;
        }
        query->sample_ns = now_ns;
        query->sample_in = stats.rows_in;
        query->sample_out = stats.rows_out;
    }
}

static void end_epoch(sf_cell *cell)
{
    int64_t now_ms = sf_runtime_wall_ms(cell->runtime);
    for (size_t q = 0; q < cell->queries.len; q++)
        sf_query_publish(cell->queries.data[q], now_ms);
    tell_states(cell);
    sf_cell_tell_needs(cell);
    sf_cell_sample(cell, sf_runtime_mono_ns(cell->runtime));
    begin_checkpoint(cell);
}

/* Wakes the cell when its next row's time is up. */
static void wait_due(sf_cell *cell)
{
    enum { NS_PER_MS = 1000000, WAIT_MS_MAX = 3600000 };
    int64_t due = sf_group_due(cell->group), now = sf_runtime_wall_ms(cell->runtime);
    if (due == INT64_MAX)
        return;
    int64_t wait = due <= now ? 0 : due - now < WAIT_MS_MAX ? due - now : WAIT_MS_MAX;
    sf_timer_set(&cell->due_timer, sf_runtime_mono_ns(cell->runtime) + wait * NS_PER_MS);
}

static sf_run run_cell(void *self, sf_actor *actor)
{
    SF_UNUSED(actor);
    sf_cell *cell = self;
    if (!actor_takes_turn(cell))
        return SF_RUN_IDLE;
    sf_group_event event = sf_group_step(cell->group, sf_runtime_wall_ms(cell->runtime), STEP_ROWS);
    if (event == SF_GROUP_EPOCH)
        end_epoch(cell);
    if (event == SF_GROUP_IDLE) {
        begin_checkpoint(cell); /* the timer's wake, or an image is written */
        wait_due(cell);
    }
    pthread_mutex_lock(&cell->lock);
    cell->in_epoch = !sf_group_between_epochs(cell->group);
    give_turn(cell);
    pthread_mutex_unlock(&cell->lock);
    return event == SF_GROUP_IDLE ? SF_RUN_IDLE : SF_RUN_AGAIN;
}

/* ---- life ---- */

static void init_turn(pthread_cond_t *turn)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(turn, &attributes);
    pthread_condattr_destroy(&attributes);
}

sf_cell *sf_cell_new(sf_runtime *runtime)
{
    sf_cell *cell = sf_calloc(1, sizeof *cell);
    sf_group *group = sf_group_new();
    if (!cell || !group) {
        sf_free(cell);
        sf_group_free(group);
        return NULL;
    }
    cell->runtime = runtime;
    cell->group = group;
    cell->refs = 1;
    pthread_mutex_init(&cell->lock, NULL);
    init_turn(&cell->turn);
    sf_actor_init(&cell->actor, runtime->options.pool, run_cell, cell);
    sf_timer_init_wake(&cell->timer, &cell->actor);
    sf_timer_init_wake(&cell->due_timer, &cell->actor);
    pthread_mutex_lock(&runtime->lock);
    bool listed = SF_VEC_PUSH(&runtime->cells, cell);
    pthread_mutex_unlock(&runtime->lock);
    if (!listed) {
        sf_cell_unref(cell);
        return NULL;
    }
    return cell;
}

static void free_cell(sf_cell *cell)
{
    SF_ASSERT(cell->queries.len == 0 && cell->readers.len == 0 && !cell->image);
    sf_group_free(cell->group);
    SF_VEC_DEINIT(&cell->queries);
    SF_VEC_DEINIT(&cell->readers);
    pthread_cond_destroy(&cell->turn);
    pthread_mutex_destroy(&cell->lock);
    sf_free(cell);
}

void sf_cell_unref(sf_cell *cell)
{
    sf_runtime *runtime = cell->runtime;
    pthread_mutex_lock(&runtime->lock);
    bool last = --cell->refs == 0;
    pthread_mutex_unlock(&runtime->lock);
    if (last)
        free_cell(cell);
}

void sf_cell_start(sf_cell *cell)
{
    sf_cell_enter(cell);
    /* Epochs number what readers have seen, so they must not go back when a crash lost those after
     * the last checkpoint: each start goes on at the wall clock, if that is ahead. */
    sf_group_raise_epoch(cell->group, (uint64_t)sf_runtime_wall_ms(cell->runtime));
    cell->last_write_ns = sf_runtime_mono_ns(cell->runtime);
    pthread_mutex_lock(&cell->lock);
    cell->started = true;
    give_turn(cell);
    pthread_mutex_unlock(&cell->lock);
    sf_actor_wake(&cell->actor);
}

void sf_cell_stop(sf_cell *cell)
{
    sf_timer_cancel(&cell->timer);
    sf_timer_cancel(&cell->due_timer);
    sf_actor_stop(&cell->actor);
    sf_timer_cancel(&cell->timer); /* the last run may have set them */
    sf_timer_cancel(&cell->due_timer);
    pthread_mutex_lock(&cell->lock);
    while (cell->writing)
        pthread_cond_wait(&cell->turn, &cell->lock);
    cell->started = false;
    pthread_cond_broadcast(&cell->turn);
    pthread_mutex_unlock(&cell->lock);
}

void sf_cell_retire(sf_cell *cell)
{
    sf_runtime *runtime = cell->runtime;
    sf_cell_stop(cell);
    sf_cell_enter(cell);
    SF_ASSERT(cell->queries.len == 0);
    sf_cell_drop_readers(cell);
    sf_cell_leave(cell);
    pthread_mutex_lock(&runtime->lock);
    for (size_t i = 0; i < runtime->cells.len; i++) {
        if (runtime->cells.data[i] == cell) {
            runtime->cells.data[i] = runtime->cells.data[--runtime->cells.len];
            break;
        }
    }
    pthread_mutex_unlock(&runtime->lock);
    sf_cell_unref(cell);
}

sf_cell *sf_cell_of(sf_runtime *runtime, const char *name)
{
    pthread_mutex_lock(&runtime->lock);
    const sf_query *query = sf_runtime_query(runtime, name);
    sf_cell *cell = query ? query->cell : NULL;
    if (cell)
        cell->refs++;
    pthread_mutex_unlock(&runtime->lock);
    return cell;
}

sf_query *sf_cell_query(const sf_cell *cell, const char *name)
{
    for (size_t i = 0; i < cell->queries.len; i++)
        if (strcmp(cell->queries.data[i]->name, name) == 0)
            return cell->queries.data[i];
    return NULL;
}
