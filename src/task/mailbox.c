/* Mailboxes: a locked ring. An item is a batch or a message, so the lock is cheap against it. */
#include "task/task.h"

struct sf_mailbox {
    pthread_mutex_t lock;
    uint32_t capacity, first, count;
    bool refused; /* a put since has_space was last called */
    sf_actor *wake;
    void (*has_space)(void *self);
    void *self;
    void *items[];
};

sf_status sf_mailbox_new(uint32_t capacity, sf_actor *wake, void (*has_space)(void *self),
                         void *self, sf_mailbox **out, sf_error *err)
{
    SF_ASSERT(capacity > 0);
    sf_mailbox *box = sf_alloc(sizeof *box + (size_t)capacity * sizeof box->items[0]);
    if (!box)
        return sf_fail_memory(err);
    *box = (sf_mailbox){.capacity = capacity, .wake = wake, .has_space = has_space, .self = self};
    pthread_mutex_init(&box->lock, NULL);
    *out = box;
    return SF_OK;
}

void sf_mailbox_free(sf_mailbox *box, void (*drop)(void *item))
{
    if (!box)
        return;
    while (drop && box->count > 0) {
        drop(box->items[box->first]);
        box->first = box->first + 1 < box->capacity ? box->first + 1 : 0;
        box->count--;
    }
    pthread_mutex_destroy(&box->lock);
    sf_free(box);
}

bool sf_mailbox_put(sf_mailbox *box, void *item)
{
    SF_ASSERT(item);
    pthread_mutex_lock(&box->lock);
    bool fits = box->count < box->capacity;
    if (fits) {
        uint64_t at = (uint64_t)box->first + box->count++;
        box->items[at < box->capacity ? at : at - box->capacity] = item;
    } else {
        box->refused = true;
    }
    pthread_mutex_unlock(&box->lock);
    if (fits && box->wake)
        sf_actor_wake(box->wake);
    return fits;
}

uint32_t sf_mailbox_take_many(sf_mailbox *box, void **items, uint32_t count_max)
{
    pthread_mutex_lock(&box->lock);
    uint32_t taken = 0;
    for (; taken < count_max && box->count > 0; taken++, box->count--) {
        items[taken] = box->items[box->first];
        box->first = box->first + 1 < box->capacity ? box->first + 1 : 0;
    }
    bool tell = box->refused && box->count <= box->capacity / 2;
    if (tell)
        box->refused = false;
    pthread_mutex_unlock(&box->lock);
    if (tell && box->has_space)
        box->has_space(box->self);
    return taken;
}

void *sf_mailbox_take(sf_mailbox *box)
{
    void *item = NULL;
    sf_mailbox_take_many(box, &item, 1);
    return item;
}

uint32_t sf_mailbox_count(sf_mailbox *box)
{
    pthread_mutex_lock(&box->lock);
    uint32_t count = box->count;
    pthread_mutex_unlock(&box->lock);
    return count;
}
