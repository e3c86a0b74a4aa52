/* The hub's subscriptions: listeners of the service. */
#include "api/inside.h"

#include <stdio.h>

typedef struct {
    sf_listener *listener;
    sf_hub_wake wake;
} subscription;

static void wake(void *arg)
{
    const subscription *sub = arg;
    sub->wake.wake(sub->wake.arg);
}

static sf_buf *begin(void *self, const char *target)
{
    return sf_hub_event_begin(self, target);
}

static void end(void *self)
{
    sf_hub_event_end(self);
}

static sf_hub_taken take(void *self, size_t max_bytes, sf_hub_writer *writer)
{
    sf_event_sink sink = {.begin = begin, .end = end, .self = writer};
    return sf_listener_take(((subscription *)self)->listener, max_bytes, &sink) ? SF_HUB_TAKEN_SOME
                                                                                : SF_HUB_TAKEN_ALL;
}

static void close_subscription(void *self)
{
    subscription *sub = self;
    sf_listener_close(sub->listener);
    sf_free(sub);
}

static sf_status subscribe(void *self, const sf_hub_client *client, const sf_hub_topic *topic,
                           sf_hub_wake waker, sf_hub_subscription *out, sf_error *err)
{
    static const sf_listen kinds[] = {[SF_HUB_TABLE] = SF_LISTEN_TABLE,
                                      [SF_HUB_PIPELINE] = SF_LISTEN_PIPELINE,
                                      [SF_HUB_SOURCE_EVENTS] = SF_LISTEN_SOURCE,
                                      [SF_HUB_METRICS] = SF_LISTEN_METRICS};
    sf_api *api = self;
    if (topic->replay && (topic->has_seq || topic->has_timestamp)) {
        sf_fail(err, SF_UNSUPPORTED, "replay from a position is not available yet");
        sf_error_hint(err, "subscribe without a position, then read the rows");
        return SF_UNSUPPORTED;
    }
    subscription *sub = sf_calloc(1, sizeof *sub);
    if (!sub)
        return sf_fail_memory(err);
    sub->wake = waker;
    sf_status status = sf_service_listen(api->service, client->caller, kinds[topic->kind],
                                         topic->name, wake, sub, &sub->listener, out->name, err);
    if (status != SF_OK) {
        sf_free(sub);
        return status;
    }
    out->take = take;
    out->close = close_subscription;
    out->self = sub;
    return SF_OK;
}

sf_hub_source sf_api_hub_source(sf_api *api)
{
    return (sf_hub_source){.subscribe = subscribe, .self = api};
}
