/* One WebSocket connection to the hub, on one thread. */
#include "cli/hub.h"
#include "text/text.h"

#include <curl/curl.h>
#include <libwebsockets.h>

enum {
    RECORD_END = 0x1E,
    PING_SECONDS = 10,
    MESSAGE_BYTES_MAX = 64 << 20,
};

typedef enum { HANDSHAKE, SUBSCRIBING, LIVE } hub_state;

typedef struct {
    sf_cli_remote *remote;
    hub_state state;
    sf_buf invocation; /* sent once the server has agreed to the protocol */
    sf_buf incoming, outgoing;
    sf_cli_hub_message *on_message;
    void *arg;
    bool ended, stopped; /* stopped: by us */
    sf_error *err;
    sf_status status;
} hub;

static void end(hub *h, sf_status status)
{
    h->ended = true;
    if (h->status == SF_OK)
        h->status = status;
}

static void send_record(hub *h, struct lws *wsi, sf_str json)
{
    sf_buf_put(&h->outgoing, json.data, json.len);
    sf_buf_putc(&h->outgoing, RECORD_END);
    if (h->outgoing.failed)
        end(h, sf_fail_memory(h->err));
    lws_callback_on_writable(wsi);
}

/* ---- what the server says ---- */

static void refused(hub *h, sf_str json, const char *what)
{
    const char *why = sf_cli_member(&h->remote->arena, json, "error");
    end(h, sf_fail(h->err, SF_INVALID, "%s: %s", what, *why ? why : "no reason given"));
}

static int64_t type_of(sf_str json)
{
    sf_str value;
    int64_t type = 0;
    if (sf_json_get_key(json, SF_STR("type"), &value) &&
        sf_parse_whole(value, &type) != SF_PARSE_OK)
        type = 0;
    return type;
}

static void take_handshake(hub *h, struct lws *wsi, sf_str json)
{
    sf_str value;
    if (sf_json_get_key(json, SF_STR("error"), &value)) {
        refused(h, json, "the hub does not speak this protocol");
        return;
    }
    h->state = SUBSCRIBING;
    send_record(h, wsi, sf_buf_str(&h->invocation));
}

static void take_record(hub *h, struct lws *wsi, sf_str json)
{
    sf_str value;
    if (sf_json_validate(json, NULL) != SF_OK) {
        end(h, sf_fail(h->err, SF_CORRUPT, "the hub sent something that is not JSON"));
        return;
    }
    if (h->state == HANDSHAKE) {
        take_handshake(h, wsi, json);
        return;
    }
    int64_t type = type_of(json);
    if (type == 6) /* a ping */
        return;
    if (type == 7) {
        refused(h, json, "the server closed the connection");
        return;
    }
    if (type == 3 && h->state == SUBSCRIBING) {
        h->state = LIVE;
        if (sf_json_get_key(json, SF_STR("error"), &value)) {
            refused(h, json, "the subscription was refused");
            return;
        }
    }
    if (!h->on_message(h->arg, json)) {
        h->stopped = true;
        end(h, SF_OK);
    }
}

static void take_bytes(hub *h, struct lws *wsi, const char *bytes, size_t length)
{
    sf_buf_put(&h->incoming, bytes, length);
    if (h->incoming.failed || h->incoming.len > MESSAGE_BYTES_MAX) {
        end(h, sf_fail(h->err, SF_LIMIT, "a message of the hub is too long"));
        return;
    }
    size_t start = 0;
    for (size_t i = 0; i < h->incoming.len && !h->ended; i++) {
        if (h->incoming.data[i] != RECORD_END)
            continue;
        take_record(h, wsi, (sf_str){h->incoming.data + start, i - start});
        start = i + 1;
    }
    h->incoming.len -= start;
    if (h->incoming.len)
        memmove(h->incoming.data, h->incoming.data + start, h->incoming.len);
}

/* ---- the socket ---- */

static int write_some(hub *h, struct lws *wsi)
{
    sf_buf frame = {0};
    size_t length = h->outgoing.len;
    if (length == 0)
        return 0;
    if (sf_buf_reserve(&frame, LWS_PRE + length)) {
        memcpy(frame.data + LWS_PRE, h->outgoing.data, length);
        sf_buf_clear(&h->outgoing);
        if (lws_write(wsi, (unsigned char *)frame.data + LWS_PRE, length, LWS_WRITE_TEXT) < 0)
            end(h, sf_fail(h->err, SF_UNAVAILABLE, "the connection broke"));
    } else {
        end(h, sf_fail_memory(h->err));
    }
    sf_buf_deinit(&frame);
    return h->ended ? -1 : 0;
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t length)
{
    hub *h = lws_context_user(lws_get_context(wsi));
    SF_UNUSED(user);
    switch (reason) {
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
        send_record(h, wsi, SF_STR("{\"protocol\":\"json\",\"version\":1}"));
        lws_set_timer_usecs(wsi, PING_SECONDS * LWS_USEC_PER_SEC);
        return 0;
    case LWS_CALLBACK_TIMER:
        if (h->state != HANDSHAKE)
            send_record(h, wsi, SF_STR("{\"type\":6}"));
        lws_set_timer_usecs(wsi, PING_SECONDS * LWS_USEC_PER_SEC);
        return 0;
    case LWS_CALLBACK_CLIENT_RECEIVE: take_bytes(h, wsi, in, length); return h->ended ? -1 : 0;
    case LWS_CALLBACK_CLIENT_WRITEABLE: return write_some(h, wsi);
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
        end(h, sf_fail(h->err, SF_UNAVAILABLE, "%s does not open its hub: %.*s", h->remote->url,
                       in ? (int)length : 7, in ? (const char *)in : "unknown"));
        return 0;
    case LWS_CALLBACK_CLIENT_CLOSED:
        if (!h->stopped && h->status == SF_OK)
            end(h, sf_fail(h->err, SF_UNAVAILABLE, "the server closed the connection"));
        h->ended = true;
        return 0;
    default: return 0;
    }
}

static sf_status connect_to(hub *h, struct lws_context *context, CURLU *url, const char *path,
                            sf_error *err)
{
    char *scheme = NULL, *host = NULL, *port = NULL;
    sf_status status = SF_OK;
    if (curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
        curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK)
        status = sf_fail(err, SF_INVALID, "this is no URL: \"%s\"", h->remote->url);
    int64_t number = 0;
    if (status == SF_OK && sf_parse_i64(sf_str_of(port), &number) == SF_PARSE_OK) {
        /* What localhost means is known, also where no file and no name server says it. */
        bool here = strcmp(host, "localhost") == 0;
        struct lws_client_connect_info info = {
            .context = context,
            .address = here ? "127.0.0.1" : host,
            .host = host,
            .origin = host,
            .port = (int)number,
            .path = path,
            .ssl_connection = strcmp(scheme, "https") == 0 ? LCCSCF_USE_SSL : 0,
            .local_protocol_name = "hub",
        };
        if (!lws_client_connect_via_info(&info) && !h->ended)
            status = sf_fail(err, SF_UNAVAILABLE, "%s does not open its hub: no way to \"%s\"",
                             h->remote->url, host);
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    return status;
}

static sf_status serve(hub *h, const char *path, sf_error *err)
{
    static const struct lws_protocols protocols[] = {{.name = "hub", .callback = on_event}, {0}};
    lws_set_log_level(0, NULL);
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .protocols = protocols,
        .user = h,
        .options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT,
    };
    struct lws_context *context = lws_create_context(&info);
    CURLU *url = curl_url();
    sf_status status = context && url ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK && curl_url_set(url, CURLUPART_URL, h->remote->url, 0) != CURLUE_OK)
        status = sf_fail(err, SF_INVALID, "this is no URL: \"%s\"", h->remote->url);
    if (status == SF_OK)
        status = connect_to(h, context, url, path, err);
    while (status == SF_OK && !h->ended && lws_service(context, 0) >= 0)
        ;
    curl_url_cleanup(url);
    if (context)
        lws_context_destroy(context);
    return status == SF_OK ? h->status : status;
}

/* ---- the start ---- */

/* The path of the WebSocket, with the token that negotiation gives. */
static sf_status negotiate(sf_cli_remote *remote, const char **path, sf_error *err)
{
    sf_buf answer = {0};
    SF_TRY(sf_cli_remote_call(remote, "POST", "/hubs/stream/negotiate?negotiateVersion=1",
                              SF_CLI_NO_BODY, &answer, err));
    const char *id = sf_cli_member(&remote->arena, sf_buf_str(&answer), "connectionToken");
    if (!*id)
        id = sf_cli_member(&remote->arena, sf_buf_str(&answer), "connectionId");
    sf_buf_deinit(&answer);
    const char *prefix = strchr(remote->url + strlen("https://"), '/');
    const char *env = remote->environment ? remote->environment : "";
    *path = sf_arena_printf(&remote->arena, "%s/hubs/stream?id=%s&access_token=%s%s%s",
                            prefix ? prefix : "", sf_cli_remote_escape(remote, id),
                            sf_cli_remote_escape(remote, remote->token ? remote->token : ""),
                            *env ? "&env=" : "", sf_cli_remote_escape(remote, env));
    return *path ? SF_OK : sf_fail_memory(err);
}

sf_status sf_cli_hub_run(sf_cli_remote *remote, const char *method, const char *argument,
                         sf_cli_hub_message *on_message, void *arg, sf_error *err)
{
    const char *path;
    SF_TRY(negotiate(remote, &path, err));
    hub h = {.remote = remote, .on_message = on_message, .arg = arg, .err = err};
    sf_buf_printf(&h.invocation,
                  "{\"type\":1,\"invocationId\":\"1\",\"target\":\"%s\",\"arguments\":[", method);
    sf_json_put_string(&h.invocation, sf_str_of(argument));
    sf_buf_puts(&h.invocation, "]}");
    sf_status status = h.invocation.failed ? sf_fail_memory(err) : serve(&h, path, err);
    sf_buf_deinit(&h.invocation);
    sf_buf_deinit(&h.incoming);
    sf_buf_deinit(&h.outgoing);
    return status;
}
