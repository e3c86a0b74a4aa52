/* Slowing down who guesses passwords: after some failures in a row a name has to wait, longer each
 * time. The table is bounded; what falls out of it was the oldest of its set. */
#include "access/inside.h"

enum { FREE_FAILURES = 5, WAIT_MS_MAX = 60 * 1000, FORGET_MS = 15 * 60 * 1000 };

static sf_failures *find(sf_throttle *throttle, uint64_t who)
{
    sf_failures *set = throttle->slots[who % SF_THROTTLE_SETS];
    for (int i = 0; i < SF_THROTTLE_WAYS; i++)
        if (set[i].who == who)
            return &set[i];
    return NULL;
}

static uint64_t hash_of(const sf_throttle *throttle, sf_str name)
{
    uint64_t who = sf_hash_bytes(name.data, name.len, throttle->seed);
    return who ? who : 1;
}

/* 1 s after the fifth failure, then twice as long each time. */
static int64_t wait_of(const sf_failures *slot)
{
    if (slot->failures < FREE_FAILURES)
        return 0;
    uint32_t doublings = slot->failures - FREE_FAILURES;
    int64_t wait_ms = doublings < 10 ? INT64_C(1000) << doublings : WAIT_MS_MAX;
    return wait_ms < WAIT_MS_MAX ? wait_ms : WAIT_MS_MAX;
}

sf_status sf_throttle_check(sf_throttle *throttle, sf_str name, int64_t now_ms, sf_error *err)
{
    pthread_mutex_lock(&throttle->lock);
    const sf_failures *slot = find(throttle, hash_of(throttle, name));
    int64_t left_ms = slot ? slot->last_ms + wait_of(slot) - now_ms : 0;
    pthread_mutex_unlock(&throttle->lock);
    if (left_ms <= 0)
        return SF_OK;
    sf_fail(err, SF_OVERLOADED, "too many failed logins for this user");
    sf_error_hint(err, "try again in %lld s", (long long)(left_ms + 999) / 1000);
    return SF_OVERLOADED;
}

void sf_throttle_note(sf_throttle *throttle, sf_str name, int64_t now_ms, bool failed)
{
    pthread_mutex_lock(&throttle->lock);
    uint64_t who = hash_of(throttle, name);
    sf_failures *slot = find(throttle, who);
    if (slot && (!failed || now_ms - slot->last_ms > FORGET_MS))
        *slot = (sf_failures){0};
    if (failed) {
        if (!slot) {
            slot = throttle->slots[who % SF_THROTTLE_SETS];
            for (int i = 1; i < SF_THROTTLE_WAYS; i++)
                if (throttle->slots[who % SF_THROTTLE_SETS][i].last_ms < slot->last_ms)
                    slot = &throttle->slots[who % SF_THROTTLE_SETS][i];
            *slot = (sf_failures){0};
        }
        slot->who = who;
        slot->failures++;
        slot->last_ms = now_ms;
    }
    pthread_mutex_unlock(&throttle->lock);
}
