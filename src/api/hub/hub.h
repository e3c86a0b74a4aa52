/* hub.h: the SignalR hub: negotiation, connections, method calls, subscriptions.
 *
 * What is subscribed to comes in through sf_hub_source. Every subscription is a queue of its own,
 * outside the hub: bounded, and free to merge or skip what a slow client has not taken yet (and to
 * tell it so). The hub asks for more only when the socket has room, so that one slow client holds
 * back nobody and nothing piles up here.
 *
 * Threads  A connection lives on its loop thread; the source's functions are called there and must
 *          not block. wake may be called from any thread.
 * Memory   The hub takes a connection's caller and gives it back through release_caller.
 * Fails    Refused methods answer with the reason; protocol mistakes close the connection with one. */
#ifndef SF_API_HUB_HUB_H
#define SF_API_HUB_HUB_H

#include "api/http/server.h"

typedef enum {
    SF_HUB_TABLE,
    SF_HUB_PIPELINE,
    SF_HUB_SOURCE_EVENTS,
    SF_HUB_METRICS,
} sf_hub_kind;

typedef struct {
    sf_hub_kind kind;
    sf_str name; /* as the client gave it; empty for metrics */
    bool replay; /* from a position, then live */
    bool has_seq, has_timestamp;
    int64_t from_seq, from_timestamp_ms;
} sf_hub_topic;

/* Writes events into the socket's buffer. */
typedef struct sf_hub_writer sf_hub_writer;
/* target: a constant name. Append the arguments, as JSON with commas between, to what it returns. */
sf_buf *sf_hub_event_begin(sf_hub_writer *writer, const char *target);
void sf_hub_event_end(sf_hub_writer *writer);

typedef enum {
    SF_HUB_TAKEN_ALL,  /* nothing is left; wake follows when there is more */
    SF_HUB_TAKEN_SOME, /* more is there */
    SF_HUB_TAKEN_LAST, /* the subscription is over and may be closed */
} sf_hub_taken;

typedef struct {
    /* Writes whole events of about max_bytes in all. Loop thread. NULL: a subscription that never
     * has events. */
    sf_hub_taken (*take)(void *self, size_t max_bytes, sf_hub_writer *writer);
    /* After it returns wake is not called any more. */
    void (*close)(void *self);
    void *self;
    char name[256]; /* the resolved name, by which it can be unsubscribed as well */
} sf_hub_subscription;

/* wake(wake_arg): the subscription has something to take. Never call it from inside take. */
typedef struct {
    void (*wake)(void *arg);
    void *arg;
} sf_hub_wake;

typedef struct {
    const void *caller;
    sf_str environment;
    const char *connection_id;
} sf_hub_client;

typedef struct {
    sf_status (*subscribe)(void *self, const sf_hub_client *client, const sf_hub_topic *topic,
                           sf_hub_wake wake, sf_hub_subscription *out, sf_error *err);
    /* Methods that are no subscriptions, with already counted arguments (JSON values). result: JSON
     * or nothing. SF_UNSUPPORTED when the source does not offer the method. NULL is allowed. */
    sf_status (*invoke)(void *self, const sf_hub_client *client, const char *method,
                        const sf_str *arguments, size_t argument_count, sf_buf *result,
                        sf_error *err);
    void (*disconnected)(void *self, const char *connection_id); /* NULL is allowed */
    void *self;
} sf_hub_source;

typedef struct {
    sf_clock clock;
    sf_random random;
    const sf_log *log;
    sf_hub_source source;
    void (*release_caller)(void *self, void *caller);
    void *release_self;
    size_t message_max;            /* of one client message; 0 = 64 KiB */
    size_t subscriptions_max;      /* of one connection; 0 = 1024 */
    unsigned ping_interval_ms;     /* 0 = 15 s */
    unsigned client_timeout_ms;    /* 0 = 30 s */
    unsigned handshake_timeout_ms; /* 0 = 15 s */
    unsigned negotiate_timeout_ms; /* 0 = 30 s */
} sf_hub_config;

typedef struct sf_hub sf_hub;
SF_MUST_USE sf_status sf_hub_new(const sf_hub_config *config, sf_hub **out, sf_error *err);
void sf_hub_free(sf_hub *hub); /* after the server stopped */

/* POST negotiate. user: who asks; the connection must be opened by the same. version: 0 or 1. */
SF_MUST_USE sf_status sf_hub_negotiate(sf_hub *hub, sf_str user, int version, sf_buf *body,
                                       sf_error *err);
/* GET with an upgrade to WebSocket, on the loop thread. id: empty when the client did not negotiate.
 * Answers the call in every case. Takes caller when it answers 101; release it otherwise. */
bool sf_hub_connect(sf_hub *hub, sf_http_call *call, sf_str user, sf_str id, sf_str environment,
                    void *caller);

typedef struct {
    size_t connections;
    uint64_t connections_total, messages_in, events_out;
} sf_hub_counters;
void sf_hub_counters_get(const sf_hub *hub, sf_hub_counters *out);

#endif
