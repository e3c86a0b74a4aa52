/* Acknowledgement roots: a count of shares and the worst outcome so far. */
#include "task/task.h"

struct sf_ack {
    _Atomic uint64_t shares;
    void (*done)(void *self, const sf_error *error);
    void *self;
    pthread_mutex_t lock; /* of error */
    sf_error error;       /* status SF_OK: no failure yet */
};

sf_ack *sf_ack_new(void (*done)(void *self, const sf_error *error), void *self)
{
    sf_ack *ack = sf_alloc(sizeof *ack);
    if (!ack)
        return NULL;
    atomic_init(&ack->shares, 1);
    ack->done = done;
    ack->self = self;
    pthread_mutex_init(&ack->lock, NULL);
    ack->error.status = SF_OK; /* the texts are not read before a failure wrote them */
    return ack;
}

void sf_ack_take(sf_ack *ack, uint32_t shares)
{
    uint64_t before = atomic_fetch_add_explicit(&ack->shares, shares, memory_order_relaxed);
    SF_ASSERT(before > 0);
}

void sf_ack_release(sf_ack *ack, uint32_t shares)
{
    uint64_t before = atomic_fetch_sub_explicit(&ack->shares, shares, memory_order_acq_rel);
    SF_ASSERT(before >= shares);
    if (before > shares || shares == 0)
        return;
    ack->done(ack->self, ack->error.status == SF_OK ? NULL : &ack->error);
    pthread_mutex_destroy(&ack->lock);
    sf_free(ack);
}

static int severity(sf_status status)
{
    switch (status) {
    case SF_OK: return 0;
    case SF_OVERLOADED:
    case SF_UNAVAILABLE:
    case SF_TIMEOUT:
    case SF_CANCELLED:
    case SF_IO: return 1; /* a retry may help */
    default: return 2;
    }
}

void sf_ack_fail(sf_ack *ack, uint32_t shares, const sf_error *error)
{
    SF_ASSERT(error->status != SF_OK);
    pthread_mutex_lock(&ack->lock);
    if (severity(error->status) > severity(ack->error.status))
        ack->error = *error;
    pthread_mutex_unlock(&ack->lock);
    sf_ack_release(ack, shares);
}
