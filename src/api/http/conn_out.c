/* A connection's way out: heads, bodies, streams, and what an upgraded connection says. */
#include "api/http/conn.h"

enum {
    WRITE_PIECE = 64 * 1024,  /* bytes handed to the loop at one time */
    WRITE_BURST = 256 * 1024, /* before other connections have their turn */
};

/* Sends from bytes+*at; true when all of it is with the loop. *budget bounds one turn. */
static bool send_some(struct sf_http_conn *conn, const sf_buf *bytes, size_t *at, size_t *budget,
                      bool *lost)
{
    *lost = bytes->failed;
    while (*at < bytes->len) {
        if (*lost || *budget == 0 || sf_sock_choked(conn->sock))
            return false;
        size_t piece = bytes->len - *at;
        if (piece > WRITE_PIECE)
            piece = WRITE_PIECE;
        if (!sf_sock_write(conn->sock, bytes->data + *at, piece)) {
            *lost = true;
            return false;
        }
        *at += piece;
        *budget -= piece < *budget ? piece : *budget;
        conn->progress_ns = sf_conn_now_ns(conn);
        atomic_fetch_add(&conn->lane->server->bytes_out, piece);
    }
    return !*lost;
}

/* Takes the next piece of a streamed body into out. False: nothing to send now. */
static bool take_stream(struct sf_http_conn *conn, bool *lost)
{
    enum { SIZE_LINE = 10 }; /* eight digits, CR, LF */
    sf_http_stream *stream = &conn->call->response.stream;
    sf_buf *out = &conn->out;
    if (conn->chunk_stream)
        sf_buf_puts(out, "00000000\r\n");
    size_t start = out->len;
    sf_http_stream_state state = stream->take(stream->self, WRITE_PIECE, out);
    if (state == SF_HTTP_STREAM_FAILED || out->failed) {
        *lost = true;
        return false;
    }
    size_t taken = out->len - start;
    if (conn->chunk_stream && taken == 0) {
        out->len = start - SIZE_LINE;
    } else if (conn->chunk_stream) {
        for (size_t i = 0; i < SIZE_LINE - 2; i++)
            out->data[start - SIZE_LINE + i] = "0123456789abcdef"[taken >> (28 - 4 * i) & 15];
        sf_buf_puts(out, "\r\n");
    }
    if (state == SF_HTTP_STREAM_END) {
        conn->stream_done = true;
        if (conn->chunk_stream)
            sf_buf_puts(out, "0\r\n\r\n");
    }
    return out->len > 0 || conn->stream_done;
}

static void finish_response(struct sf_http_conn *conn)
{
    if (conn->call) {
        sf_conn_free_call(conn->call);
        conn->call = NULL;
    }
    conn->since_ns = sf_conn_now_ns(conn);
    if (!conn->keep_alive) {
        conn->state = CONN_LINGER;
        sf_sock_end_output(conn->sock);
        sf_sock_pause(conn->sock, false);
        return;
    }
    conn->state = CONN_HEAD;
    if (conn->lane->stopping) {
        sf_conn_close_now(conn);
        return;
    }
    sf_sock_pause(conn->sock, false);
    sf_conn_advance(conn);
}

/* False: the connection is lost. */
static bool write_response(struct sf_http_conn *conn)
{
    size_t budget = WRITE_BURST;
    bool lost = false;
    for (;;) {
        if (!send_some(conn, &conn->out, &conn->out_at, &budget, &lost))
            break;
        sf_buf_clear(&conn->out);
        conn->out_at = 0;
        if (conn->state != CONN_WRITE)
            return true;
        call *c = conn->call;
        if (c && !send_some(conn, &c->response.body, &conn->body_at, &budget, &lost))
            break;
        if (!c || conn->stream_done) {
            /* The end of the output may not overtake what the loop still holds. */
            if (!conn->keep_alive && sf_sock_choked(conn->sock))
                break;
            finish_response(conn);
            return true;
        }
        if (!take_stream(conn, &lost))
            return !lost; /* waits for a wake */
    }
    if (!lost)
        sf_sock_want_write(conn->sock);
    return !lost;
}

static bool write_channel(struct sf_http_conn *conn)
{
    size_t budget = WRITE_BURST;
    bool lost = false;
    for (;;) {
        if (!send_some(conn, &conn->out, &conn->out_at, &budget, &lost))
            break;
        sf_buf_clear(&conn->out);
        conn->out_at = 0;
        if (conn->closing)
            return false;
        if (!conn->upgrade->fill(conn->upgrade_self, WRITE_PIECE, &conn->out))
            conn->closing = true;
        if (conn->out.failed)
            return false;
        if (conn->out.len == 0)
            return !conn->closing;
    }
    if (!lost)
        sf_sock_want_write(conn->sock);
    return !lost;
}

bool sf_conn_writable(void *arg)
{
    struct sf_http_conn *conn = arg;
    if (conn->state == CONN_CHANNEL)
        return write_channel(conn);
    return write_response(conn);
}

/* ---- channels ---- */

sf_http_channel *sf_http_upgrade_call(sf_http_call *pub, sf_http_response *response,
                                      const sf_http_upgrade *events, void *self)
{
    call *c = (call *)pub;
    struct sf_http_conn *conn = c->conn;
    response->status = 101;
    sf_conn_write_head(conn, response);
    sf_http_response_deinit(response);
    conn->state = CONN_CHANNEL;
    conn->upgrade = events;
    conn->upgrade_self = self;
    conn->call = NULL;
    sf_conn_free_call(c);
    conn->progress_ns = sf_conn_now_ns(conn);
    sf_sock_pause(conn->sock, false);
    sf_sock_want_write(conn->sock);
    return conn;
}

void sf_http_channel_want_fill(sf_http_channel *channel)
{
    if (channel->sock)
        sf_sock_want_write(channel->sock);
}

void sf_http_channel_close(sf_http_channel *channel)
{
    if (channel->sock)
        sf_conn_close_now(channel);
}

sf_http_waker *sf_http_channel_waker(sf_http_channel *channel)
{
    atomic_fetch_add(&channel->refs, 1);
    return channel;
}
