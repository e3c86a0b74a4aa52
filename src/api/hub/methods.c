/* What a client can call, and its subscriptions. */
#include "api/hub/hub_conn.h"

typedef struct {
    hub_conn *conn;
    const sf_signalr_message *message;
    const struct method *method;
    sf_buf result; /* JSON */
} invocation;

typedef struct method {
    const char *name;
    unsigned arguments;
    sf_status (*run)(invocation *call, sf_error *err);
    sf_hub_kind kind;
    bool replay;
} method;

/* ---- subscriptions ---- */

static hub_sub *find(hub_conn *conn, sf_hub_kind kind, sf_str name, size_t *index)
{
    for (size_t i = 0; i < conn->subs.len; i++) {
        hub_sub *sub = conn->subs.data[i];
        if (sub->kind == kind && (sf_str_eq(name, sf_str_of(sub->key)) ||
                                  sf_str_eq(name, sf_str_of(sub->source.name)))) {
            *index = i;
            return sub;
        }
    }
    return NULL;
}

static void sub_free(hub_sub *sub)
{
    if (sub->source.close)
        sub->source.close(sub->source.self);
    sf_free(sub->key);
    sf_free(sub);
}

static void remove_at(hub_conn *conn, size_t index)
{
    sub_free(conn->subs.data[index]);
    conn->subs.data[index] = conn->subs.data[--conn->subs.len];
}

void sf_hub_unsubscribe_all(hub_conn *conn)
{
    for (size_t i = 0; i < conn->subs.len; i++)
        sub_free(conn->subs.data[i]);
    SF_VEC_DEINIT(&conn->subs);
}

static void wake_sub(void *arg)
{
    hub_sub *sub = arg;
    if (!atomic_exchange(&sub->ready, true))
        sf_http_waker_wake(sub->conn->waker);
}

static sf_status subscribe_to(hub_conn *conn, const sf_hub_topic *topic, sf_error *err)
{
    const sf_hub_config *config = &conn->hub->config;
    if (conn->subs.len >= config->subscriptions_max)
        return sf_fail(err, SF_LIMIT, "a connection can have %zu subscriptions; unsubscribe first",
                       config->subscriptions_max);
    hub_sub *sub = sf_calloc(1, sizeof *sub);
    if (!sub)
        return sf_fail_memory(err);
    sub->conn = conn;
    sub->kind = topic->kind;
    sub->key = sf_strndup(topic->name.data, topic->name.len);
    sf_hub_client client = {conn->caller, sf_str_of(conn->environment), conn->id};
    sf_status status = sub->key ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK)
        status = config->source.subscribe(config->source.self, &client, topic,
                                          (sf_hub_wake){wake_sub, sub}, &sub->source, err);
    /* The same thing by its other name (id and name of a table) would come twice. */
    size_t index;
    if (status == SF_OK && sub->source.name[0] &&
        find(conn, topic->kind, sf_str_of(sub->source.name), &index)) {
        if (!topic->replay) {
            sub_free(sub);
            return SF_OK;
        }
        remove_at(conn, index);
    }
    if (status == SF_OK && !SF_VEC_PUSH(&conn->subs, sub))
        status = sf_fail_memory(err);
    if (status != SF_OK) {
        sub_free(sub);
        return status;
    }
    wake_sub(sub); /* what it has from the start */
    return SF_OK;
}

static sf_status key_argument(invocation *call, sf_buf *buf, sf_str *out, sf_error *err)
{
    SF_TRY(sf_signalr_text(call->message->arguments[0], "name", buf, out, err));
    if (out->len == 0 || out->len > 255)
        return sf_fail(err, SF_INVALID, "argument \"name\" must have 1 to 255 bytes");
    if (memchr(out->data, '\0', out->len))
        return sf_fail(err, SF_INVALID, "argument \"name\" must not hold a NUL");
    return SF_OK;
}

static sf_status fill_topic(invocation *call, sf_buf *buf, sf_hub_topic *topic, sf_error *err)
{
    topic->kind = call->method->kind;
    topic->replay = call->method->replay;
    if (topic->kind == SF_HUB_METRICS)
        return SF_OK;
    SF_TRY(key_argument(call, buf, &topic->name, err));
    if (!topic->replay)
        return SF_OK;
    const sf_str *arguments = call->message->arguments;
    SF_TRY(sf_signalr_integer(arguments[1], "fromSeq", &topic->has_seq, &topic->from_seq, err));
    SF_TRY(sf_signalr_integer(arguments[2], "fromTimestampMs", &topic->has_timestamp,
                              &topic->from_timestamp_ms, err));
    return SF_OK;
}

/* Subscribing again is nothing new; asking for a replay starts over from there. */
static sf_status subscribe(invocation *call, sf_error *err)
{
    sf_buf buf = {0};
    sf_hub_topic topic = {.name = {"", 0}};
    sf_status status = fill_topic(call, &buf, &topic, err);
    size_t index;
    if (status == SF_OK) {
        bool there = find(call->conn, topic.kind, topic.name, &index) != NULL;
        if (there && topic.replay)
            remove_at(call->conn, index);
        if (!there || topic.replay)
            status = subscribe_to(call->conn, &topic, err);
    }
    sf_buf_deinit(&buf);
    return status;
}

static sf_status unsubscribe(invocation *call, sf_error *err)
{
    sf_buf buf = {0};
    sf_str name = {"", 0};
    sf_status status = SF_OK;
    if (call->method->kind != SF_HUB_METRICS)
        status = key_argument(call, &buf, &name, err);
    size_t index;
    if (status == SF_OK && find(call->conn, call->method->kind, name, &index))
        remove_at(call->conn, index);
    sf_buf_deinit(&buf);
    return status;
}

static sf_status pass_on(invocation *call, sf_error *err)
{
    const sf_hub_source *source = &call->conn->hub->config.source;
    sf_hub_client client = {call->conn->caller, sf_str_of(call->conn->environment), call->conn->id};
    if (!source->invoke)
        return sf_fail(err, SF_UNSUPPORTED, "hub method \"%s\" is not offered here",
                       call->method->name);
    return source->invoke(source->self, &client, call->method->name, call->message->arguments,
                          call->message->argument_count, &call->result, err);
}

/* ---- dispatch ---- */

static const method methods[] = {
    {"SubscribePipeline", 1, subscribe, SF_HUB_PIPELINE, false},
    {"SubscribePipelineFrom", 3, subscribe, SF_HUB_PIPELINE, true},
    {"UnsubscribePipeline", 1, unsubscribe, SF_HUB_PIPELINE, false},
    {"SubscribeSource", 1, subscribe, SF_HUB_SOURCE_EVENTS, false},
    {"SubscribeSourceFrom", 3, subscribe, SF_HUB_SOURCE_EVENTS, true},
    {"UnsubscribeSource", 1, unsubscribe, SF_HUB_SOURCE_EVENTS, false},
    {"SubscribeTable", 1, subscribe, SF_HUB_TABLE, false},
    {"SubscribeTableFrom", 3, subscribe, SF_HUB_TABLE, true},
    {"UnsubscribeTable", 1, unsubscribe, SF_HUB_TABLE, false},
    {"SubscribeMetrics", 0, subscribe, SF_HUB_METRICS, false},
    {"UnsubscribeMetrics", 0, unsubscribe, SF_HUB_METRICS, false},
    {"SubscribeAwareness", 3, pass_on, SF_HUB_SOURCE_EVENTS, false},
    {"Heartbeat", 1, pass_on, SF_HUB_SOURCE_EVENTS, false},
    {"UnsubscribeAwareness", 1, pass_on, SF_HUB_SOURCE_EVENTS, false},
};

static sf_status run_method(invocation *call, sf_error *err)
{
    const sf_signalr_message *message = call->message;
    for (size_t i = 0; i < SF_COUNT_OF(methods); i++) {
        if (!sf_str_eq_nocase(sf_str_of(message->target), sf_str_of(methods[i].name)))
            continue;
        call->method = &methods[i];
        if (message->argument_count != methods[i].arguments)
            return sf_fail(err, SF_INVALID, "hub method \"%s\" takes %u arguments, not %zu",
                           methods[i].name, methods[i].arguments, message->argument_count);
        return methods[i].run(call, err);
    }
    return sf_fail(err, SF_NOT_FOUND, "hub method \"%s\" does not exist", message->target);
}

static void invoke(hub_conn *conn, const sf_signalr_message *message)
{
    invocation call = {.conn = conn, .message = message};
    sf_error err = {0};
    sf_status status = run_method(&call, &err);
    if (status == SF_OK && call.result.failed)
        status = sf_fail_memory(&err);
    if (message->invocation_id[0] && status == SF_OK)
        sf_signalr_put_result(&conn->replies, message->invocation_id, sf_buf_str(&call.result));
    else if (message->invocation_id[0])
        sf_signalr_put_error(&conn->replies, message->invocation_id, &err);
    else if (status != SF_OK)
        sf_log_write(conn->hub->config.log, SF_LOG_WARN, "hub",
                     "a call without an id was refused: %s", err.message);
    sf_buf_deinit(&call.result);
}

static bool greet(hub_conn *conn, sf_str text)
{
    sf_error err;
    if (sf_signalr_parse_handshake(text, &err) != SF_OK) {
        sf_signalr_put_handshake(&conn->replies, err.message);
        sf_hub_say_close(conn, SF_WS_CLOSE_PROTOCOL, NULL, false);
        return false;
    }
    sf_signalr_put_handshake(&conn->replies, NULL);
    conn->greeted = true;
    return true;
}

bool sf_hub_dispatch(hub_conn *conn, sf_str text)
{
    if (!conn->greeted)
        return greet(conn, text);
    sf_signalr_message message;
    sf_error err;
    if (sf_signalr_parse(text, &message, &err) != SF_OK) {
        sf_hub_say_close(conn, SF_WS_CLOSE_PROTOCOL, err.message, false);
        return false;
    }
    switch (message.type) {
    case SF_SIGNALR_INVOCATION: invoke(conn, &message); return true;
    case SF_SIGNALR_STREAM_INVOCATION:
        sf_fail(&err, SF_UNSUPPORTED, "hub method \"%s\" cannot be streamed; invoke it",
                message.target);
        sf_signalr_put_error(&conn->replies, message.invocation_id, &err);
        return true;
    case SF_SIGNALR_CLOSE: sf_hub_say_close(conn, SF_WS_CLOSE_NORMAL, NULL, false); return false;
    default: return true; /* pings, and what later versions may add */
    }
}
