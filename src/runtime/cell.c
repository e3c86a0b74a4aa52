/* Cells: the actor that drives a consistency group, and its checkpoints. */
#include "runtime/internal.h"

enum { STEP_ROWS = 32768, CHECKPOINT_MS_DEFAULT = 2000 };

static int64_t checkpoint_ns(const sf_cell *cell)
{
    int64_t ms = cell->runtime->options.checkpoint_ms;
    return (ms ? ms : CHECKPOINT_MS_DEFAULT) * 1000000;
}

/* ---- coming in between epochs ---- */

void sf_cell_enter(sf_cell *cell)
{
    pthread_mutex_lock(&cell->lock);
    cell->waiting++;
    while (!sf_group_between_epochs(cell->group) && cell->started)
        pthread_cond_wait(&cell->turn, &cell->lock);
}

void sf_cell_leave(sf_cell *cell)
{
    if (--cell->waiting == 0)
        pthread_cond_broadcast(&cell->turn);
    pthread_mutex_unlock(&cell->lock);
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
    if (--cell->waiting == 0)
        pthread_cond_broadcast(&cell->turn);
    sf_actor_wake(&cell->actor); /* it cannot run before the lock is given away */
    pthread_cond_timedwait(&cell->turn, &cell->lock, &until);
    cell->waiting++;
    while (!sf_group_between_epochs(cell->group) && cell->started)
        pthread_cond_wait(&cell->turn, &cell->lock);
    return true;
}

/* The actor lets those in who wait; lock held. */
static void let_in(sf_cell *cell)
{
    pthread_cond_broadcast(&cell->turn);
    while (cell->waiting > 0)
        pthread_cond_wait(&cell->turn, &cell->lock);
}

/* ---- checkpoints ---- */

static void note_durable(sf_cell *cell, const sf_image *image)
{
    for (size_t i = 0; i < cell->readers.len; i++) {
        sf_reader_slot *slot = cell->readers.data[i];
        uint64_t position = sf_image_position(image, slot->feed->name);
        pthread_mutex_lock(&slot->feed->lock);
        slot->durable = position;
        pthread_mutex_unlock(&slot->feed->lock);
        sf_feed_settle(slot->feed, slot);
    }
}

/* What became of the image; lock held. */
static void image_written(sf_cell *cell, sf_status status, const sf_error *err)
{
    if (status == SF_OK) {
        sf_image_done(cell->group, cell->image);
        note_durable(cell, cell->image);
        cell->write_whole = false;
        cell->last_write_ms = sf_runtime_wall_ms(cell->runtime);
    } else {
        sf_log_write(cell->runtime->options.port.log, SF_LOG_ERROR, "checkpoint",
                     "cannot write \"%s\": %s", cell->state->path, err->message);
        cell->written_epoch = 0; /* try again */
    }
    sf_image_free(cell->image);
    cell->image = NULL;
    cell->writing = false;
    cell->last_write_ns = sf_runtime_mono_ns(cell->runtime);
}

static void write_image(void *arg)
{
    sf_cell *cell = arg;
    sf_error err = {0};
    /* queries and readers do not change while an image is being written (see wait_written) */
    sf_status status = sf_state_write(cell->state, cell, cell->image, cell->write_whole, &err);
    pthread_mutex_lock(&cell->lock);
    image_written(cell, status, &err);
    pthread_cond_broadcast(&cell->turn);
    pthread_mutex_unlock(&cell->lock);
}

/* Lock held. */
static void wait_written(sf_cell *cell)
{
    while (cell->writing)
        pthread_cond_wait(&cell->turn, &cell->lock);
}

void sf_cell_quiet(sf_cell *cell)
{
    wait_written(cell);
}

/* Takes an image between epochs and has it written; lock held. */
static void begin_checkpoint(sf_cell *cell)
{
    sf_error err = {0};
    uint64_t epoch = sf_group_epoch(cell->group);
    if (cell->writing || !cell->state || epoch == cell->written_epoch || cell->queries.len == 0)
        return;
    int64_t due = cell->last_write_ns + checkpoint_ns(cell);
    if (sf_runtime_mono_ns(cell->runtime) < due) {
        sf_timer_set(&cell->timer, due);
        return;
    }
    sf_status status = sf_image_take(cell->group, &cell->image, &err);
    if (status == SF_OK) {
        cell->writing = true;
        cell->written_epoch = epoch;
        if (sf_blocking_submit(cell->runtime->options.pool, write_image, NULL, cell))
            return;
        status = sf_fail(&err, SF_OVERLOADED, "too much is being written already");
    }
    if (cell->image)
        image_written(cell, status, &err);
    cell->last_write_ns = sf_runtime_mono_ns(cell->runtime);
    sf_timer_set(&cell->timer, cell->last_write_ns + checkpoint_ns(cell));
}

sf_status sf_cell_checkpoint(sf_cell *cell, sf_error *err)
{
    wait_written(cell);
    if (!cell->state || cell->queries.len == 0)
        return SF_OK;
    SF_TRY(sf_image_take(cell->group, &cell->image, err));
    cell->writing = true;
    cell->written_epoch = sf_group_epoch(cell->group);
    sf_error own = {0};
    sf_status status = sf_state_write(cell->state, cell, cell->image, cell->write_whole, &own);
    image_written(cell, status, &own);
    if (status != SF_OK && err)
        *err = own;
    return status;
}

/* ---- running ---- */

static void update_needs(sf_cell *cell)
{
    for (size_t r = 0; r < cell->readers.len; r++) {
        sf_reader_slot *slot = cell->readers.data[r];
        uint64_t needed = UINT64_MAX;
        for (size_t q = 0; q < cell->queries.len; q++) {
            const sf_query *query = cell->queries.data[q];
            for (uint32_t i = 0; i < query->plan->inputs.len; i++) {
                if (query->plan->inputs.data[i].kind != SF_INPUT_SOURCE ||
                    strcmp(query->plan->inputs.data[i].name, slot->feed->name) != 0)
                    continue;
                sf_member_info info;
                sf_group_member(cell->group, query->member, &info);
                uint64_t at = sf_group_position(cell->group, query->member, i);
                if (info.state == SF_MEMBER_RUNNING && at < needed)
                    needed = at;
            }
        }
        pthread_mutex_lock(&slot->feed->lock);
        if (needed != UINT64_MAX)
            slot->needed = needed;
        else
            slot->needed = slot->feed->end; /* nobody reads on */
        pthread_mutex_unlock(&slot->feed->lock);
        sf_feed_settle(slot->feed, slot);
    }
}

void sf_cell_publish_state(sf_cell *cell)
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

static void end_epoch(sf_cell *cell)
{
    int64_t now_ms = sf_runtime_wall_ms(cell->runtime);
    for (size_t q = 0; q < cell->queries.len; q++)
        sf_query_publish(cell->queries.data[q], now_ms);
    sf_cell_publish_state(cell);
    update_needs(cell);
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
    pthread_mutex_lock(&cell->lock);
    if (!cell->started) { /* a source it is about to read has woken it */
        pthread_mutex_unlock(&cell->lock);
        return SF_RUN_IDLE;
    }
    if (sf_group_between_epochs(cell->group) && cell->waiting > 0)
        let_in(cell);
    sf_group_event event = sf_group_step(cell->group, sf_runtime_wall_ms(cell->runtime), STEP_ROWS);
    if (event == SF_GROUP_EPOCH)
        end_epoch(cell);
    if (event == SF_GROUP_IDLE) {
        begin_checkpoint(cell); /* the timer's wake */
        wait_due(cell);
    }
    if (event != SF_GROUP_MORE)
        pthread_cond_broadcast(&cell->turn);
    pthread_mutex_unlock(&cell->lock);
    return event == SF_GROUP_IDLE ? SF_RUN_IDLE : SF_RUN_AGAIN;
}

/* ---- life ---- */

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
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&cell->turn, &attributes);
    pthread_condattr_destroy(&attributes);
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
    SF_ASSERT(cell->queries.len == 0 && cell->readers.len == 0);
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
    pthread_mutex_lock(&cell->lock);
    /* Epochs number what readers have seen, so they must not go back when a crash lost those after
     * the last checkpoint: each start goes on at the wall clock, if that is ahead. */
    sf_group_raise_epoch(cell->group, (uint64_t)sf_runtime_wall_ms(cell->runtime));
    cell->started = true;
    cell->last_write_ns = sf_runtime_mono_ns(cell->runtime);
    pthread_mutex_unlock(&cell->lock);
    sf_actor_wake(&cell->actor);
}

void sf_cell_stop(sf_cell *cell)
{
    sf_timer_cancel(&cell->timer);
    sf_timer_cancel(&cell->due_timer);
    sf_actor_stop(&cell->actor);
    sf_timer_cancel(&cell->timer);
    sf_timer_cancel(&cell->due_timer);
    pthread_mutex_lock(&cell->lock);
    wait_written(cell);
    cell->started = false;
    pthread_cond_broadcast(&cell->turn);
    pthread_mutex_unlock(&cell->lock);
}

void sf_cell_retire(sf_cell *cell)
{
    sf_runtime *runtime = cell->runtime;
    sf_cell_stop(cell);
    for (size_t i = 0; i < cell->readers.len; i++)
        sf_feed_close_reader(cell->readers.data[i]);
    cell->readers.len = 0;
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

sf_reader_slot *sf_cell_reader(sf_cell *cell, sf_feed *feed)
{
    for (size_t i = 0; i < cell->readers.len; i++)
        if (cell->readers.data[i]->feed == feed)
            return cell->readers.data[i];
    wait_written(cell); /* the writer goes over the readers */
    sf_reader_slot *slot = sf_feed_open_reader(feed, cell);
    if (!slot)
        return NULL;
    if (sf_group_add_source(cell->group, feed->name, &slot->reader, &slot->source, NULL) == SF_OK &&
        SF_VEC_PUSH(&cell->readers, slot))
        return slot;
    sf_feed_close_reader(slot);
    return NULL;
}
