/* A connection: heads and bodies in, calls to the app, answers out, one request at a time. While a
 * request is with the app or its answer is on the way, the socket is not read, so that a client
 * that sends on and on waits in its own buffers. */
#include "api/http/conn.h"

#include <stdio.h>

enum {
    KEEP_INPUT_MAX = 64 * 1024, /* an empty input buffer larger than this is let go */
    JOIN_BODY_MAX = 16 * 1024,  /* a body up to this leaves together with its head */
    DISCARD_MAX = 256 * 1024,
    LINGER_MAX = 4 * 1024 * 1024,
    ARENA_MAX = 256 * 1024,
    REFUSED_MAX = 64, /* connections above the limit that are told so */
};
#define LINGER_NS (2 * INT64_C(1000000000))

int64_t sf_conn_now_ns(const struct sf_http_conn *conn)
{
    return sf_clock_mono_ns(&conn->lane->server->config.clock);
}

/* ---- life ---- */

static void refuse(struct sf_http_conn *conn, int status, const char *reason);

void *sf_conn_open(void *owner, sf_sock *sock, const char *peer)
{
    lane *l = owner;
    sf_http_server *server = l->server;
    bool full = atomic_load(&server->conn_count) >= server->config.connections_max;
    bool silent = full && l->refused_count >= REFUSED_MAX;
    struct sf_http_conn *conn = silent ? NULL : sf_calloc(1, sizeof *conn);
    if (!conn) {
        atomic_fetch_add(&server->conns_refused, 1);
        return NULL;
    }
    conn->lane = l;
    conn->sock = sock;
    conn->fresh = true;
    atomic_store(&conn->refs, 1);
    snprintf(conn->peer, sizeof conn->peer, "%s", peer);
    conn->since_ns = conn->progress_ns = sf_conn_now_ns(conn);
    conn->next = l->first;
    if (l->first)
        l->first->prev = conn;
    l->first = conn;
    l->conn_count++;
    atomic_fetch_add(&server->conns_total, 1);
    conn->refused = full;
    if (!full) {
        atomic_fetch_add(&server->conn_count, 1);
    } else { /* it is not counted, so that those who are told do not keep others out */
        l->refused_count++;
        atomic_fetch_add(&server->conns_refused, 1);
        refuse(conn, 503, "the server has too many connections; try again later");
    }
    return conn;
}

void sf_conn_unref(struct sf_http_conn *conn)
{
    if (atomic_fetch_sub(&conn->refs, 1) != 1)
        return;
    sf_buf_deinit(&conn->in);
    sf_buf_deinit(&conn->out);
    sf_free(conn);
}

void sf_conn_free_call(call *c)
{
    sf_http_server *server = c->conn->lane->server;
    if (server->config.app.gone)
        server->config.app.gone(server->config.app.self, &c->pub);
    sf_http_response_deinit(&c->response);
    sf_budget_release(&server->bodies, c->charged_bytes);
    sf_buf_deinit(&c->pub.body);
    sf_arena_deinit(&c->pub.arena);
    atomic_fetch_sub(&server->call_count, 1);
    sf_conn_unref(c->conn);
    sf_free(c);
}

void sf_conn_closed(void *arg)
{
    struct sf_http_conn *conn = arg;
    lane *l = conn->lane;
    atomic_store(&conn->dead, true);
    if (conn->prev)
        conn->prev->next = conn->next;
    else
        l->first = conn->next;
    if (conn->next)
        conn->next->prev = conn->prev;
    l->conn_count--;
    if (conn->refused)
        l->refused_count--;
    else
        atomic_fetch_sub(&l->server->conn_count, 1);
    conn->sock = NULL;
    if (conn->state == CONN_CHANNEL)
        conn->upgrade->closed(conn->upgrade_self);
    /* A call the app works on is freed when it answers. */
    if (conn->call && conn->state != CONN_CALL)
        sf_conn_free_call(conn->call);
    conn->call = NULL;
    sf_conn_unref(conn);
}

void sf_conn_close_now(struct sf_http_conn *conn)
{
    conn->closing = true;
    sf_sock_close(conn->sock);
}

/* ---- answers ---- */

static void enter_write(struct sf_http_conn *conn)
{
    conn->state = CONN_WRITE;
    conn->progress_ns = sf_conn_now_ns(conn);
    sf_sock_pause(conn->sock, true);
    sf_sock_want_write(conn->sock);
}

/* An answer that the server itself gives, with or without a call. The connection ends with it. */
static void refuse(struct sf_http_conn *conn, int status, const char *reason)
{
    sf_http_response response = {0};
    sf_http_response_error(&response, status, reason, NULL);
    atomic_fetch_add(&conn->lane->server->requests_refused, 1);
    conn->keep_alive = false;
    sf_conn_write_head(conn, &response);
    if (!conn->call || conn->call->pub.head.method != SF_HTTP_HEAD)
        sf_buf_put(&conn->out, response.body.data, response.body.len);
    sf_http_response_deinit(&response);
    if (conn->call) {
        sf_conn_free_call(conn->call);
        conn->call = NULL;
    }
    enter_write(conn);
}

/* Starts sending the response of the present call. */
static void begin_response(struct sf_http_conn *conn)
{
    call *c = conn->call;
    sf_http_response *response = &c->response;
    if (response->close || conn->lane->stopping)
        conn->keep_alive = false;
    if (response->body.failed || response->fields.failed)
        sf_http_response_error(response, 503, "out of memory for the answer", "try again later");
    sf_conn_write_head(conn, response);
    bool head_only = c->pub.head.method == SF_HTTP_HEAD;
    if (head_only) {
        conn->body_at = response->body.len;
        conn->stream_done = true;
    } else {
        conn->body_at = 0;
        conn->stream_done = !response->stream.take;
        if (response->body.len <= JOIN_BODY_MAX && !response->stream.take) {
            sf_buf_put(&conn->out, response->body.data, response->body.len);
            conn->body_at = response->body.len;
        }
    }
    enter_write(conn);
}

void sf_conn_answered(struct sf_http_conn *conn)
{
    if (conn->state == CONN_CALL)
        begin_response(conn);
}

/* ---- reading ---- */

static void deliver(struct sf_http_conn *conn)
{
    sf_http_server *server = conn->lane->server;
    conn->state = CONN_CALL;
    sf_sock_pause(conn->sock, true);
    server->config.app.ready(server->config.app.self, &conn->call->pub);
}

/* The app answered before the body was read. A short body is read away so that the connection can
 * be used again; a long one ends it. */
static void settle_early_answer(struct sf_http_conn *conn, bool body_pending)
{
    const sf_http_head *head = &conn->call->pub.head;
    if (!body_pending) {
        begin_response(conn);
    } else if (head->has_length && head->length <= DISCARD_MAX && !head->expect_continue) {
        conn->state = CONN_DISCARD;
    } else {
        conn->keep_alive = false;
        begin_response(conn);
    }
}

static void head_complete(struct sf_http_conn *conn)
{
    sf_http_server *server = conn->lane->server;
    call *c = conn->call;
    const sf_http_head *head = &c->pub.head;
    conn->keep_alive = head->keep_alive;
    sf_http_body_begin(&conn->body, head);
    bool body_pending = head->chunked || head->length > 0;
    conn->state = CONN_BODY;
    conn->body_bytes = 0;
    conn->since_ns = c->pub.arrived_ns;
    server->config.app.head(server->config.app.self, &c->pub);
    if (conn->state == CONN_CHANNEL)
        return;
    if (c->answered) {
        settle_early_answer(conn, body_pending);
    } else if (head->has_length && head->length > c->pub.body_max) {
        refuse(conn, 413, "the request body is larger than this route accepts");
    } else if (!body_pending) {
        deliver(conn);
    } else if (head->expect_continue) {
        sf_buf_puts(&conn->out, "HTTP/1.1 100 Continue\r\n\r\n");
        sf_sock_want_write(conn->sock);
    }
}

static call *call_new(struct sf_http_conn *conn, const char *bytes, size_t len)
{
    call *c = sf_calloc(1, sizeof *c + len);
    if (!c)
        return NULL;
    memcpy(c + 1, bytes, len);
    sf_arena_init(&c->pub.arena, ARENA_MAX);
    c->pub.peer = conn->peer;
    c->conn = conn;
    atomic_fetch_add(&conn->refs, 1);
    atomic_fetch_add(&conn->lane->server->call_count, 1);
    return c;
}

/* Empty lines before a request line are skipped, as the protocol asks. */
static void skip_blank_lines(struct sf_http_conn *conn)
{
    while (conn->in.len - conn->in_at >= 2 && memcmp(conn->in.data + conn->in_at, "\r\n", 2) == 0) {
        conn->in_at += 2;
        conn->head_scanned = 0;
    }
}

/* False: more bytes are needed, or the connection has another state now. */
static bool read_head(struct sf_http_conn *conn)
{
    skip_blank_lines(conn);
    const char *bytes = conn->in.data + conn->in_at;
    size_t len = conn->in.len - conn->in_at, head_len;
    sf_http_refusal refusal;
    if (!sf_http_find_head(bytes, len, &conn->head_scanned, &head_len, &refusal)) {
        refuse(conn, refusal.status, refusal.reason);
        return false;
    }
    if (head_len == 0 ? len > SF_HTTP_HEAD_MAX : head_len > SF_HTTP_HEAD_MAX) {
        refuse(conn, 431, "the request header is larger than 32 KiB");
        return false;
    }
    if (head_len == 0)
        return false;
    atomic_fetch_add(&conn->lane->server->requests_total, 1);
    call *c = call_new(conn, bytes, head_len);
    conn->in_at += head_len;
    conn->head_scanned = 0;
    conn->fresh = false;
    if (!c) {
        refuse(conn, 503, "out of memory for the request; try again later");
        return false;
    }
    conn->call = c;
    c->pub.arrived_ns = sf_conn_now_ns(conn);
    if (!sf_http_parse_head((const char *)(c + 1), head_len, &c->pub.head, &refusal)) {
        refuse(conn, refusal.status, refusal.reason);
        return false;
    }
    head_complete(conn);
    return true;
}

static bool keep_piece(struct sf_http_conn *conn, sf_str piece)
{
    call *c = conn->call;
    if (conn->state == CONN_DISCARD || piece.len == 0)
        return true;
    if (piece.len > c->pub.body_max - c->pub.body.len) {
        refuse(conn, 413, "the request body is larger than this route accepts");
        return false;
    }
    if (!sf_budget_charge(&conn->lane->server->bodies, piece.len)) {
        refuse(conn, 503, "the server holds too many request bodies; try again later");
        return false;
    }
    c->charged_bytes += piece.len;
    sf_buf_put(&c->pub.body, piece.data, piece.len);
    if (c->pub.body.failed) {
        refuse(conn, 503, "out of memory for the request body; try again later");
        return false;
    }
    return true;
}

/* Returns how many bytes belonged to the body. */
static size_t read_body(struct sf_http_conn *conn, const char *bytes, size_t len)
{
    size_t total = 0;
    sf_http_body_state state = SF_HTTP_BODY_MORE;
    while (total < len && state == SF_HTTP_BODY_MORE) {
        size_t used;
        sf_str piece;
        state = sf_http_body_feed(&conn->body, bytes + total, len - total, &used, &piece);
        total += used;
        if (!keep_piece(conn, piece))
            return len;
    }
    conn->body_bytes += total;
    if (state == SF_HTTP_BODY_BAD) {
        refuse(conn, 400, conn->body.reason);
        return len;
    }
    if (state == SF_HTTP_BODY_DONE) {
        if (conn->state == CONN_DISCARD)
            begin_response(conn);
        else
            deliver(conn);
    }
    return total;
}

/* Goes on with the bytes that are here, until they are used up or an answer is due. */
void sf_conn_advance(struct sf_http_conn *conn)
{
    for (;;) {
        if (conn->state == CONN_HEAD) {
            if (conn->in_at == conn->in.len || !read_head(conn))
                break;
        } else if (conn->state == CONN_BODY || conn->state == CONN_DISCARD) {
            if (conn->in_at == conn->in.len)
                break;
            conn->in_at += read_body(conn, conn->in.data + conn->in_at, conn->in.len - conn->in_at);
        } else if (conn->state == CONN_CHANNEL) { /* sent before it saw the 101 */
            size_t at = conn->in_at;
            conn->in_at = conn->in.len;
            if (at < conn->in.len &&
                !conn->upgrade->data(conn->upgrade_self, conn->in.data + at, conn->in.len - at))
                sf_conn_close_now(conn);
            break;
        } else {
            break;
        }
    }
    if (conn->in_at == conn->in.len) {
        conn->in_at = 0;
        if (conn->in.cap > KEEP_INPUT_MAX)
            sf_buf_deinit(&conn->in);
        else
            sf_buf_clear(&conn->in);
    }
}

static bool keep_for_later(struct sf_http_conn *conn, const char *bytes, size_t len)
{
    if (conn->in_at > 0) {
        size_t left = conn->in.len - conn->in_at;
        memmove(conn->in.data, conn->in.data + conn->in_at, left);
        conn->in.len = left;
        conn->in_at = 0;
    }
    sf_buf_put(&conn->in, bytes, len);
    return !conn->in.failed;
}

bool sf_conn_data(void *arg, const char *bytes, size_t len)
{
    struct sf_http_conn *conn = arg;
    atomic_fetch_add(&conn->lane->server->bytes_in, len);
    if (conn->closing)
        return true;
    if (conn->state == CONN_CHANNEL)
        return conn->upgrade->data(conn->upgrade_self, bytes, len);
    if (conn->state == CONN_LINGER) {
        conn->lingered_bytes += len;
        return conn->lingered_bytes <= LINGER_MAX;
    }
    if (conn->state == CONN_HEAD && conn->in_at == conn->in.len)
        conn->since_ns = sf_conn_now_ns(conn);
    if (conn->in_at == conn->in.len && (conn->state == CONN_BODY || conn->state == CONN_DISCARD)) {
        size_t used = read_body(conn, bytes, len);
        bytes += used;
        len -= used;
    }
    if (len == 0)
        return true;
    if (!keep_for_later(conn, bytes, len))
        return false;
    sf_conn_advance(conn);
    return true;
}

/* ---- time, wakes, the end ---- */

static int64_t ms(unsigned value)
{
    return (int64_t)value * 1000000;
}

void sf_conn_tick(struct sf_http_conn *conn, int64_t now_ns)
{
    const sf_http_config *config = &conn->lane->server->config;
    int64_t waited_ns = now_ns - conn->since_ns;
    bool partial = conn->in_at < conn->in.len;
    switch (conn->state) {
    case CONN_HEAD:
        if (partial && waited_ns > ms(config->head_timeout_ms))
            refuse(conn, 408, "the request header did not arrive in time");
        else if (!partial &&
                 waited_ns > ms(conn->fresh ? config->head_timeout_ms : config->idle_timeout_ms))
            sf_conn_close_now(conn);
        return;
    case CONN_BODY:
    case CONN_DISCARD:
        if (waited_ns > ms(config->body_grace_ms) +
                            (int64_t)(conn->body_bytes * 1000000000 / config->body_rate_bytes))
            refuse(conn, 408, "the request body did not arrive in time");
        return;
    case CONN_WRITE:
        if (now_ns - conn->progress_ns > ms(config->write_timeout_ms) &&
            (conn->out.len > conn->out_at || conn->stream_done))
            sf_conn_close_now(conn);
        return;
    case CONN_LINGER:
        if (waited_ns > LINGER_NS)
            sf_conn_close_now(conn);
        return;
    case CONN_CHANNEL:
        if (conn->out.len > conn->out_at &&
            now_ns - conn->progress_ns > ms(config->write_timeout_ms))
            sf_conn_close_now(conn);
        else
            conn->upgrade->tick(conn->upgrade_self, now_ns);
        return;
    case CONN_CALL: return;
    }
}

void sf_conn_stop(struct sf_http_conn *conn)
{
    if (conn->state == CONN_CHANNEL)
        conn->upgrade->stopping(conn->upgrade_self);
    else if (conn->state == CONN_LINGER ||
             (conn->state == CONN_HEAD && conn->in_at == conn->in.len))
        sf_conn_close_now(conn);
}

void sf_conn_woken(struct sf_http_conn *conn)
{
    if (conn->state == CONN_CHANNEL)
        conn->upgrade->woken(conn->upgrade_self);
    else if (conn->state == CONN_WRITE)
        sf_sock_want_write(conn->sock);
}
