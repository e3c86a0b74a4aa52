/* The hub's connections: from WebSocket frames to messages, from subscriptions to frames. */
#include "api/hub/hub_conn.h"

#include <stdio.h>

enum { REPLIES_MAX = 1024 * 1024 }; /* answers a client has not taken */
#define CLOSE_WAIT_NS (2 * INT64_C(1000000000))

int64_t sf_hub_now_ns(const sf_hub *hub)
{
    return sf_clock_mono_ns(&hub->config.clock);
}

/* ---- events of subscriptions ---- */

sf_buf *sf_hub_event_begin(sf_hub_writer *writer, const char *target)
{
    sf_signalr_begin_event(writer->out, target);
    return writer->out;
}

void sf_hub_event_end(sf_hub_writer *writer)
{
    sf_signalr_end_event(writer->out);
    atomic_fetch_add(&writer->conn->hub->events_out, 1);
}

static void take_one(hub_sub *sub, size_t max_bytes, sf_hub_writer *writer)
{
    if (!sub->source.take || !atomic_exchange(&sub->ready, false))
        return;
    sf_hub_taken taken = sub->source.take(sub->source.self, max_bytes, writer);
    if (taken == SF_HUB_TAKEN_SOME)
        atomic_store(&sub->ready, true);
    else if (taken == SF_HUB_TAKEN_LAST)
        sub->source.take = NULL; /* closed with the others, or when it is unsubscribed */
}

static void take_events(hub_conn *conn, size_t max_bytes, sf_buf *out)
{
    sf_hub_writer writer = {.out = out, .conn = conn};
    size_t count = conn->subs.len, start = out->len;
    for (size_t i = 0; i < count; i++) {
        size_t taken = out->len - start;
        if (taken >= max_bytes)
            break;
        conn->next_sub = (conn->next_sub + 1) % count;
        take_one(conn->subs.data[conn->next_sub], max_bytes - taken, &writer);
    }
}

/* ---- the channel ---- */

static bool fill(void *self, size_t max_bytes, sf_buf *out)
{
    hub_conn *conn = self;
    if (conn->replies.failed || conn->frames.failed)
        return false; /* an answer is lost: the client must not wait for it */
    if (conn->frames.len) {
        sf_buf_put(out, conn->frames.data, conn->frames.len);
        sf_buf_clear(&conn->frames);
    }
    if (!conn->said_close || conn->replies.len) {
        size_t frame = sf_ws_begin_frame(out);
        size_t before = out->len;
        sf_buf_put(out, conn->replies.data, conn->replies.len);
        sf_buf_clear(&conn->replies);
        if (!conn->said_close && conn->greeted)
            take_events(conn, max_bytes, out);
        if (out->len == before) {
            out->len = frame;
        } else {
            sf_ws_end_frame(out, frame, SF_WS_TEXT);
            conn->sent_ns = sf_hub_now_ns(conn->hub);
        }
    }
    if (conn->said_close && conn->closing_ns == 0) {
        sf_ws_put_close(out, conn->close_code, "");
        conn->closing_ns = sf_hub_now_ns(conn->hub);
    }
    return !(conn->said_close && conn->heard_close);
}

static void want_fill(hub_conn *conn)
{
    sf_http_channel_want_fill(conn->channel);
}

void sf_hub_say_close(hub_conn *conn, uint16_t code, const char *error, bool allow_reconnect)
{
    if (conn->said_close)
        return;
    if (conn->greeted)
        sf_signalr_put_close(&conn->replies, error, allow_reconnect);
    conn->said_close = true;
    conn->close_code = code;
    want_fill(conn);
}

static bool run_messages(hub_conn *conn, sf_str payload)
{
    sf_buf_put(&conn->inbox, payload.data, payload.len);
    if (conn->inbox.failed || conn->inbox.len > conn->reader.message_max) {
        sf_hub_say_close(conn, SF_WS_CLOSE_TOO_BIG, "a hub message is too large", false);
        return false;
    }
    char *at = conn->inbox.data, *end = at + conn->inbox.len;
    bool open = true;
    while (open && at < end) {
        char *stop = memchr(at, SF_SIGNALR_END, (size_t)(end - at));
        if (!stop)
            break;
        atomic_fetch_add(&conn->hub->messages_in, 1);
        open = sf_hub_dispatch(conn, (sf_str){at, (size_t)(stop - at)});
        at = stop + 1;
    }
    size_t left = (size_t)(end - at);
    memmove(conn->inbox.data, at, left);
    conn->inbox.len = left;
    if (open && conn->replies.len > REPLIES_MAX) {
        sf_hub_say_close(conn, SF_WS_CLOSE_POLICY, "the client does not read its answers", true);
        return false;
    }
    return open;
}

static void heard_close(hub_conn *conn, sf_str payload)
{
    conn->heard_close = true;
    if (conn->said_close)
        return;
    conn->said_close = true;
    conn->close_code = SF_WS_CLOSE_NORMAL;
    if (payload.len >= 2)
        conn->close_code = (uint16_t)((uint8_t)payload.data[0] << 8 | (uint8_t)payload.data[1]);
    if (conn->close_code < 1000 || conn->close_code > 4999)
        conn->close_code = SF_WS_CLOSE_PROTOCOL;
}

static bool data(void *self, const char *bytes, size_t len)
{
    hub_conn *conn = self;
    conn->heard_ns = sf_hub_now_ns(conn->hub);
    while (len && !conn->heard_close) {
        size_t used;
        sf_str payload;
        sf_ws_event event = sf_ws_read(&conn->reader, bytes, len, &used, &payload);
        bytes += used;
        len -= used;
        if (event == SF_WS_BAD) {
            sf_hub_say_close(conn, conn->reader.bad_code, conn->reader.bad_reason, false);
            conn->heard_close = true; /* what follows cannot be understood */
        } else if (event == SF_WS_CLOSE) {
            heard_close(conn, payload);
        } else if (event == SF_WS_PING) {
            sf_buf_clear(&conn->frames); /* only the newest ping needs its answer */
            sf_ws_put_frame(&conn->frames, SF_WS_OP_PONG, payload);
        } else if (event == SF_WS_MESSAGE && !conn->said_close) {
            run_messages(conn, payload);
        }
    }
    want_fill(conn);
    return true;
}

static void woken(void *self)
{
    want_fill(self);
}

static void tick(void *self, int64_t now_ns)
{
    hub_conn *conn = self;
    const sf_hub_config *config = &conn->hub->config;
    if (conn->said_close) {
        if (conn->closing_ns && now_ns - conn->closing_ns > CLOSE_WAIT_NS)
            sf_http_channel_close(conn->channel);
        return;
    }
    if (!conn->greeted) {
        if (now_ns - conn->opened_ns > (int64_t)config->handshake_timeout_ms * 1000000) {
            sf_signalr_put_handshake(&conn->replies, "the handshake did not arrive in time");
            sf_hub_say_close(conn, SF_WS_CLOSE_POLICY, NULL, false);
        }
        return;
    }
    if (now_ns - conn->heard_ns > (int64_t)config->client_timeout_ms * 1000000) {
        sf_hub_say_close(conn, SF_WS_CLOSE_POLICY, "nothing was heard from the client in time",
                         true);
    } else if (now_ns - conn->sent_ns > (int64_t)config->ping_interval_ms * 1000000) {
        sf_signalr_put_ping(&conn->replies);
        conn->sent_ns = now_ns;
        want_fill(conn);
    }
}

static void stopping(void *self)
{
    sf_hub_say_close(self, SF_WS_CLOSE_AWAY, "the server stops", true);
}

static void conn_free(hub_conn *conn)
{
    sf_hub_unsubscribe_all(conn);
    sf_ws_reader_deinit(&conn->reader);
    sf_buf_deinit(&conn->inbox);
    sf_buf_deinit(&conn->replies);
    sf_buf_deinit(&conn->frames);
    sf_http_waker_free(conn->waker);
    sf_free(conn->environment);
    sf_free(conn);
}

static void closed(void *self)
{
    hub_conn *conn = self;
    sf_hub *hub = conn->hub;
    sf_hub_unsubscribe_all(conn);
    if (hub->config.source.disconnected)
        hub->config.source.disconnected(hub->config.source.self, conn->id);
    if (hub->config.release_caller)
        hub->config.release_caller(hub->config.release_self, conn->caller);
    atomic_fetch_sub(&hub->connections, 1);
    conn_free(conn);
}

static const sf_http_upgrade channel_events = {
    .data = data,
    .fill = fill,
    .woken = woken,
    .tick = tick,
    .stopping = stopping,
    .closed = closed,
};

/* ---- opening ---- */

static hub_conn *conn_new(sf_hub *hub, const char *id, sf_str environment, void *caller)
{
    hub_conn *conn = sf_calloc(1, sizeof *conn);
    if (!conn)
        return NULL;
    conn->hub = hub;
    sf_ws_reader_init(&conn->reader, hub->config.message_max);
    memcpy(conn->id, id, sizeof conn->id);
    conn->environment = sf_strndup(environment.data, environment.len);
    conn->caller = caller;
    conn->opened_ns = conn->heard_ns = conn->sent_ns = sf_hub_now_ns(hub);
    if (!conn->environment) {
        conn_free(conn);
        return NULL;
    }
    return conn;
}

static void refuse(sf_http_call *call, int status, const char *message, const char *hint)
{
    sf_http_response response = {0};
    sf_http_response_error(&response, status, message, hint);
    if (status == 426) {
        sf_http_response_field(&response, "Upgrade", SF_STR("websocket"));
        sf_http_response_field(&response, "Sec-WebSocket-Version", SF_STR("13"));
    }
    sf_http_respond(call, &response);
}

/* The opening handshake of RFC 6455. */
static bool may_upgrade(sf_http_call *call, char accept[SF_WS_ACCEPT_BYTES])
{
    const sf_http_head *head = &call->head;
    if (head->http10 || !sf_http_has_token(sf_http_head_field(head, "upgrade"), "websocket") ||
        !sf_http_has_token(sf_http_head_field(head, "connection"), "upgrade")) {
        refuse(call, 426, "the hub speaks WebSocket only", "ask for an upgrade to websocket");
        return false;
    }
    if (!sf_str_eq(sf_http_head_field(head, "sec-websocket-version"), SF_STR("13"))) {
        refuse(call, 426, "the hub speaks version 13 of WebSocket", NULL);
        return false;
    }
    if (!sf_ws_accept(sf_http_head_field(head, "sec-websocket-key"), accept)) {
        refuse(call, 400, "Sec-WebSocket-Key must be 16 bytes in base64", NULL);
        return false;
    }
    return true;
}

static void random_id(sf_hub *hub, char out[HUB_ID_CHARS + 1])
{
    uint8_t bytes[HUB_ID_CHARS / 2];
    hub->config.random.fill(hub->config.random.self, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

/* Finds and uses up what negotiate gave out. */
static bool claim(sf_hub *hub, sf_str token, sf_str user, char id[HUB_ID_CHARS + 1])
{
    bool found = false;
    int64_t now_ns = sf_hub_now_ns(hub);
    pthread_mutex_lock(&hub->lock);
    for (size_t i = 0; i < HUB_PENDING_MAX && !found; i++) {
        pending *p = &hub->pending[i];
        if (p->expires_ns <= now_ns || !sf_str_eq(token, sf_str_of(p->token)) ||
            !sf_str_eq(user, sf_str_of(p->user)))
            continue;
        memcpy(id, p->id, sizeof p->id);
        *p = (pending){0};
        found = true;
    }
    pthread_mutex_unlock(&hub->lock);
    return found;
}

bool sf_hub_connect(sf_hub *hub, sf_http_call *call, sf_str user, sf_str token, sf_str environment,
                    void *caller)
{
    char accept[SF_WS_ACCEPT_BYTES], id[HUB_ID_CHARS + 1];
    if (!may_upgrade(call, accept))
        return false;
    if (token.len == 0) {
        random_id(hub, id);
    } else if (!claim(hub, token, user, id)) {
        refuse(call, 404, "the connection id is not known, or its time is over", "negotiate again");
        return false;
    }
    hub_conn *conn = conn_new(hub, id, environment, caller);
    if (!conn) {
        refuse(call, 503, "out of memory for the connection", "try again later");
        return false;
    }
    atomic_fetch_add(&hub->connections, 1);
    atomic_fetch_add(&hub->connections_total, 1);
    sf_http_response response = {0};
    sf_http_response_field(&response, "Upgrade", SF_STR("websocket"));
    sf_http_response_field(&response, "Sec-WebSocket-Accept", sf_str_of(accept));
    conn->channel = sf_http_upgrade_call(call, &response, &channel_events, conn);
    conn->waker = sf_http_channel_waker(conn->channel);
    return true;
}

sf_status sf_hub_negotiate(sf_hub *hub, sf_str user, int version, sf_buf *body, sf_error *err)
{
    if (version != 0 && version != 1)
        return sf_fail(err, SF_INVALID, "negotiateVersion must be 0 or 1");
    if (user.len > HUB_USER_MAX)
        return sf_fail(err, SF_INVALID, "the user name is longer than %d bytes", HUB_USER_MAX);
    pending p = {0};
    random_id(hub, p.id);
    random_id(hub, p.token);
    if (version == 0) /* one id serves as both */
        memcpy(p.token, p.id, sizeof p.token);
    memcpy(p.user, user.data, user.len);
    p.expires_ns = sf_hub_now_ns(hub) + (int64_t)hub->config.negotiate_timeout_ms * 1000000;
    pthread_mutex_lock(&hub->lock);
    hub->pending[hub->next_pending] = p;
    hub->next_pending = (hub->next_pending + 1) % HUB_PENDING_MAX;
    pthread_mutex_unlock(&hub->lock);
    sf_buf_printf(body, "{\"negotiateVersion\":%d,\"connectionId\":\"%s\",", version, p.id);
    if (version == 1)
        sf_buf_printf(body, "\"connectionToken\":\"%s\",", p.token);
    sf_buf_puts(body, "\"availableTransports\":[{\"transport\":\"WebSockets\","
                      "\"transferFormats\":[\"Text\"]}]}");
    return body->failed ? sf_fail_memory(err) : SF_OK;
}

/* ---- life ---- */

sf_status sf_hub_new(const sf_hub_config *config, sf_hub **out, sf_error *err)
{
    sf_hub *hub = sf_calloc(1, sizeof *hub);
    if (!hub)
        return sf_fail_memory(err);
    hub->config = *config;
    sf_hub_config *c = &hub->config;
    c->message_max = c->message_max ? c->message_max : 64 * 1024;
    c->subscriptions_max = c->subscriptions_max ? c->subscriptions_max : 1024;
    c->ping_interval_ms = c->ping_interval_ms ? c->ping_interval_ms : 15000;
    c->client_timeout_ms = c->client_timeout_ms ? c->client_timeout_ms : 30000;
    c->handshake_timeout_ms = c->handshake_timeout_ms ? c->handshake_timeout_ms : 15000;
    c->negotiate_timeout_ms = c->negotiate_timeout_ms ? c->negotiate_timeout_ms : 30000;
    pthread_mutex_init(&hub->lock, NULL);
    *out = hub;
    return SF_OK;
}

void sf_hub_free(sf_hub *hub)
{
    if (!hub)
        return;
    SF_ASSERT(atomic_load(&hub->connections) == 0);
    pthread_mutex_destroy(&hub->lock);
    sf_free(hub);
}

void sf_hub_counters_get(const sf_hub *hub, sf_hub_counters *out)
{
    *out = (sf_hub_counters){
        .connections = atomic_load(&hub->connections),
        .connections_total = atomic_load(&hub->connections_total),
        .messages_in = atomic_load(&hub->messages_in),
        .events_out = atomic_load(&hub->events_out),
    };
}
