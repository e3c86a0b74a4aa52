/* The hub: its two routes, and what its subscriptions listen to. */
#include "api/http/url.h"
#include "api/inside.h"

#include <stdio.h>

sf_status sf_route_negotiate(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    int64_t version;
    SF_TRY(sf_api_number(call, "negotiateVersion", 0, &version, err));
    out->status = 200;
    out->content_type = "application/json; charset=utf-8";
    int known = version < 0 || version > 9 ? 9 : (int)version; /* the hub refuses what it is not */
    return sf_hub_negotiate(api->hub, sf_str_of(sf_caller_name(call->caller)), known, &out->body,
                            err);
}

sf_status sf_route_hub(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    sf_api *api = app;
    SF_UNUSED(out);
    sf_str id;
    bool found;
    SF_TRY(sf_http_query_get(&call->arena, call->head.query, "id", &id, &found, err));
    sf_caller *caller = call->caller;
    call->caller = NULL;
    if (!sf_hub_connect(api->hub, call, sf_str_of(sf_caller_name(caller)), id, call->environment,
                        caller))
        sf_service_release(caller);
    return SF_OK;
}

/* ---- subscriptions ---- */

static sf_buf *begin_event(void *self, const char *target)
{
    return sf_hub_event_begin(self, target);
}

static void end_event(void *self)
{
    sf_hub_event_end(self);
}

static sf_hub_taken take(void *self, size_t max_bytes, sf_hub_writer *writer)
{
    sf_event_sink sink = {begin_event, end_event, writer};
    return sf_listener_take(self, max_bytes, &sink) ? SF_HUB_TAKEN_SOME : SF_HUB_TAKEN_ALL;
}

static void close_listener(void *self)
{
    sf_listener_close(self);
}

static sf_listen listen_of(sf_hub_kind kind)
{
    switch (kind) {
    case SF_HUB_TABLE: return SF_LISTEN_TABLE;
    case SF_HUB_PIPELINE: return SF_LISTEN_PIPELINE;
    case SF_HUB_SOURCE_EVENTS: return SF_LISTEN_SOURCE;
    case SF_HUB_METRICS: break;
    }
    return SF_LISTEN_METRICS;
}

static sf_status subscribe(void *self, const sf_hub_client *client, const sf_hub_topic *topic,
                           sf_hub_wake wake, sf_hub_subscription *out, sf_error *err)
{
    sf_api *api = self;
    if (topic->replay && (topic->has_seq || topic->has_timestamp)) {
        sf_fail(err, SF_UNSUPPORTED,
                "a subscription cannot begin at a position of the past on this server");
        sf_error_hint(err, "send null for fromSeq and fromTimestampMs: what follows is live");
        return SF_UNSUPPORTED;
    }
    sf_listener *listener;
    SF_TRY(sf_service_listen(api->service, client->caller, listen_of(topic->kind), topic->name,
                             wake.wake, wake.arg, &listener, out->name, err));
    out->take = take;
    out->close = close_listener;
    out->self = listener;
    return SF_OK;
}

sf_hub_source sf_api_hub_source(sf_api *api)
{
    return (sf_hub_source){.subscribe = subscribe, .self = api};
}
