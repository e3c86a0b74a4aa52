/* Topics and subscriptions. */
#include "runtime/internal.h"

enum { QUEUE_BYTES_DEFAULT = 1 << 20, FRAME_OVERHEAD = 128 };

struct sf_sub {
    sf_topic *topic;
    void (*wake)(void *arg);
    void *arg;
    size_t queue_bytes;
    pthread_mutex_t lock; /* guards what follows */
    SF_VEC(sf_frame *) frames;
    size_t head, bytes;
    uint64_t missed_from, missed_to, missed_rows; /* missed_rows 0 and from 0: nothing */
    bool missed;
    const char *state; /* not yet told; NULL: none */
    bool awake;        /* wake was called and the queue not emptied since */
};

/* ---- frames ---- */

sf_frame *sf_frame_new(void)
{
    sf_frame *frame = sf_calloc(1, sizeof *frame);
    if (frame)
        atomic_init(&frame->refs, 1);
    return frame;
}

static sf_frame *frame_ref(sf_frame *frame)
{
    atomic_fetch_add_explicit(&frame->refs, 1, memory_order_relaxed);
    return frame;
}

void sf_frame_unref(sf_frame *frame)
{
    if (!frame || atomic_fetch_sub_explicit(&frame->refs, 1, memory_order_acq_rel) != 1)
        return;
    sf_buf_deinit(&frame->json);
    sf_free(frame->ends);
    sf_free(frame);
}

/* ---- topics ---- */

sf_topic *sf_topic_get(sf_runtime *runtime, sf_sub_kind kind, const char *name)
{
    pthread_mutex_lock(&runtime->topics_lock);
    sf_topic *topic = NULL;
    for (size_t i = 0; i < runtime->topics.len && !topic; i++) {
        sf_topic *one = runtime->topics.data[i];
        if (one->kind == kind && strcmp(one->name, name) == 0)
            topic = one;
    }
    if (!topic) {
        topic = sf_calloc(1, sizeof *topic);
        char *copy = sf_strdup(name);
        if (topic && copy && SF_VEC_PUSH(&runtime->topics, topic)) {
            topic->runtime = runtime;
            topic->kind = kind;
            topic->name = copy;
            pthread_mutex_init(&topic->lock, NULL);
        } else {
            sf_free(topic);
            sf_free(copy);
            topic = NULL;
        }
    }
    if (topic)
        topic->refs++;
    pthread_mutex_unlock(&runtime->topics_lock);
    return topic;
}

void sf_topic_put(sf_topic *topic)
{
    if (!topic)
        return;
    sf_runtime *runtime = topic->runtime;
    pthread_mutex_lock(&runtime->topics_lock);
    bool gone = --topic->refs == 0;
    for (size_t i = 0; gone && i < runtime->topics.len; i++) {
        if (runtime->topics.data[i] == topic) {
            runtime->topics.data[i] = runtime->topics.data[--runtime->topics.len];
            break;
        }
    }
    pthread_mutex_unlock(&runtime->topics_lock);
    if (!gone)
        return;
    pthread_mutex_destroy(&topic->lock);
    SF_VEC_DEINIT(&topic->subs);
    sf_free(topic->name);
    sf_free(topic);
}

/* ---- queues ---- */

/* What is queued, and what follows it, is let go. */
static void skip_all(sf_sub *sub, uint64_t seq_from, uint64_t seq_to, uint64_t rows)
{
    if (!sub->missed) {
        sub->missed = true;
        sub->missed_from =
            sub->head < sub->frames.len ? sub->frames.data[sub->head]->seq : seq_from;
        sub->missed_rows = 0;
    }
    for (size_t i = sub->head; i < sub->frames.len; i++) {
        sub->missed_rows += sub->frames.data[i]->rows;
        sf_frame_unref(sub->frames.data[i]);
    }
    sub->frames.len = sub->head = 0;
    sub->bytes = 0;
    sub->missed_rows += rows;
    sub->missed_to = seq_to;
}

/* Lock held. True: the reader must be woken. */
static bool rouse(sf_sub *sub)
{
    bool wake = !sub->awake;
    sub->awake = true;
    return wake;
}

static bool offer(sf_sub *sub, sf_frame *frame)
{
    pthread_mutex_lock(&sub->lock);
    size_t bytes = frame->json.len + FRAME_OVERHEAD;
    /* An empty queue takes a frame of any size, unless the reader is still to be told of a gap: then
     * the gap grows, so that a reader that sleeps costs nothing. */
    bool fits = sub->bytes + bytes <= sub->queue_bytes || sub->head == sub->frames.len;
    sf_frame *kept = fits && !sub->missed ? frame_ref(frame) : NULL;
    if (kept && SF_VEC_PUSH(&sub->frames, kept)) {
        sub->bytes += bytes;
    } else {
        sf_frame_unref(kept);
        skip_all(sub, frame->seq, frame->seq, frame->rows);
    }
    bool wake = rouse(sub);
    pthread_mutex_unlock(&sub->lock);
    return wake;
}

void sf_topic_publish(sf_topic *topic, sf_frame *frame)
{
    pthread_mutex_lock(&topic->lock);
    for (size_t i = 0; i < topic->subs.len; i++)
        if (offer(topic->subs.data[i], frame))
            topic->subs.data[i]->wake(topic->subs.data[i]->arg);
    pthread_mutex_unlock(&topic->lock);
    sf_frame_unref(frame);
}

void sf_topic_skip(sf_topic *topic, uint64_t seq_from, uint64_t seq_to, uint64_t rows)
{
    pthread_mutex_lock(&topic->lock);
    for (size_t i = 0; i < topic->subs.len; i++) {
        sf_sub *sub = topic->subs.data[i];
        pthread_mutex_lock(&sub->lock);
        skip_all(sub, seq_from, seq_to, rows);
        bool wake = rouse(sub);
        pthread_mutex_unlock(&sub->lock);
        if (wake)
            sub->wake(sub->arg);
    }
    pthread_mutex_unlock(&topic->lock);
}

void sf_topic_tell_state(sf_topic *topic, const char *state)
{
    pthread_mutex_lock(&topic->lock);
    for (size_t i = 0; i < topic->subs.len; i++) {
        sf_sub *sub = topic->subs.data[i];
        pthread_mutex_lock(&sub->lock);
        sub->state = state;
        bool wake = rouse(sub);
        pthread_mutex_unlock(&sub->lock);
        if (wake)
            sub->wake(sub->arg);
    }
    pthread_mutex_unlock(&topic->lock);
}

sf_status sf_runtime_subscribe(sf_runtime *runtime, sf_sub_kind kind, const char *name,
                               size_t queue_bytes, void (*wake)(void *arg), void *arg, sf_sub **out,
                               sf_error *err)
{
    sf_sub *sub = sf_calloc(1, sizeof *sub);
    sf_topic *topic = sub ? sf_topic_get(runtime, kind, name) : NULL;
    if (!topic) {
        sf_free(sub);
        return sf_fail_memory(err);
    }
    *sub = (sf_sub){.topic = topic,
                    .wake = wake,
                    .arg = arg,
                    .queue_bytes = queue_bytes ? queue_bytes : QUEUE_BYTES_DEFAULT};
    pthread_mutex_init(&sub->lock, NULL);
    pthread_mutex_lock(&topic->lock);
    bool added = SF_VEC_PUSH(&topic->subs, sub);
    if (added)
        atomic_fetch_add(&topic->listeners, 1);
    pthread_mutex_unlock(&topic->lock);
    if (!added) {
        pthread_mutex_destroy(&sub->lock);
        sf_topic_put(topic);
        sf_free(sub);
        return sf_fail_memory(err);
    }
    *out = sub;
    return SF_OK;
}

sf_sub_event sf_sub_take(sf_sub *sub, sf_sub_item *out)
{
    *out = (sf_sub_item){.event = SF_SUB_EMPTY};
    pthread_mutex_lock(&sub->lock);
    if (sub->missed) { /* what was skipped lies before what is queued */
        *out = (sf_sub_item){.event = SF_SUB_MISSED,
                             .seq_from = sub->missed_from,
                             .seq_to = sub->missed_to,
                             .rows = sub->missed_rows};
        sub->missed = false;
    } else if (sub->head < sub->frames.len) {
        *out = (sf_sub_item){.event = SF_SUB_ROWS, .frame = sub->frames.data[sub->head++]};
        sub->bytes -= out->frame->json.len + FRAME_OVERHEAD;
        if (sub->head == sub->frames.len)
            sub->head = sub->frames.len = 0;
    } else if (sub->state) {
        *out = (sf_sub_item){.event = SF_SUB_STATE, .state = sub->state};
        sub->state = NULL;
    } else {
        sub->awake = false;
    }
    pthread_mutex_unlock(&sub->lock);
    return out->event;
}

void sf_sub_close(sf_sub *sub)
{
    if (!sub)
        return;
    sf_topic *topic = sub->topic;
    pthread_mutex_lock(&topic->lock); /* publish wakes under this lock: no wake comes after it */
    for (size_t i = 0; i < topic->subs.len; i++) {
        if (topic->subs.data[i] == sub) {
            topic->subs.data[i] = topic->subs.data[--topic->subs.len];
            atomic_fetch_sub(&topic->listeners, 1);
            break;
        }
    }
    pthread_mutex_unlock(&topic->lock);
    for (size_t i = sub->head; i < sub->frames.len; i++)
        sf_frame_unref(sub->frames.data[i]);
    SF_VEC_DEINIT(&sub->frames);
    pthread_mutex_destroy(&sub->lock);
    sf_free(sub);
    sf_topic_put(topic);
}
