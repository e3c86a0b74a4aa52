/* conn.h: one connection's way from bytes to calls to bytes. Private to the server. */
#ifndef SF_API_HTTP_CONN_H
#define SF_API_HTTP_CONN_H

#include "api/http/net.h"
#include "api/http/server.h"

#include <pthread.h>

typedef struct lane lane;

/* A loop and what belongs to it. queue is the door for other threads. */
struct lane {
    sf_http_server *server;
    sf_net *loop;
    struct sf_http_conn *first; /* every open connection */
    size_t conn_count, refused_count;
    bool stopping;
    int64_t stop_at_ns;
    char date[32]; /* of the present second */
    int64_t date_s;
    pthread_mutex_t lock;
    struct call *answered;       /* under lock: by other threads */
    struct sf_http_conn *waking; /* under lock */
    bool finished;               /* under lock: no loop will look at the queues again */
};

struct sf_http_server {
    sf_http_config config;
    sf_net_events events;
    lane *lanes;
    size_t lane_count;
    sf_budget bodies;
    _Atomic bool stopping;
    _Atomic int64_t stop_at_ns;
    _Atomic size_t conn_count, call_count;
    _Atomic uint64_t conns_total, conns_refused, requests_total, requests_refused, bytes_in,
        bytes_out;
};

/* A call with what the app does not see. The head's bytes follow the struct. */
typedef struct call {
    sf_http_call pub;
    struct sf_http_conn *conn;
    sf_http_response response;
    bool answered;
    size_t charged_bytes; /* against the server's bodies */
    struct call *next;
} call;

typedef enum {
    CONN_HEAD,    /* reading a head, or idle */
    CONN_BODY,    /* reading a body */
    CONN_DISCARD, /* reading a body nobody wants; the answer is ready */
    CONN_CALL,    /* the app has the call */
    CONN_WRITE,   /* sending the answer */
    CONN_LINGER,  /* said goodbye; reads on so that the peer can read the answer */
    CONN_CHANNEL,
} conn_state;

struct sf_http_conn {
    lane *lane;
    sf_sock *sock;
    struct sf_http_conn *prev, *next; /* of the lane */
    struct sf_http_conn *next_waking; /* under the lane's lock */
    _Atomic bool wake_queued;
    _Atomic unsigned refs; /* the socket, each call, each waker */
    _Atomic bool dead;
    char peer[64];
    conn_state state;
    sf_buf in; /* bytes not understood yet, from in_at */
    size_t in_at, head_scanned;
    sf_http_body body;
    uint64_t body_bytes;
    call *call;
    bool keep_alive, closing, fresh, refused;
    sf_buf out; /* bytes to send before the response's body, from out_at */
    size_t out_at, body_at;
    bool chunk_stream, stream_done;
    int64_t since_ns;    /* start of the present wait */
    int64_t progress_ns; /* last time bytes left */
    uint64_t lingered_bytes;
    const sf_http_upgrade *upgrade;
    void *upgrade_self;
};

int64_t sf_conn_now_ns(const struct sf_http_conn *conn);
void *sf_conn_open(void *owner, sf_sock *sock, const char *peer);
bool sf_conn_data(void *conn, const char *bytes, size_t len);
bool sf_conn_writable(void *conn);
void sf_conn_closed(void *arg);
void sf_conn_tick(struct sf_http_conn *conn, int64_t now_ns);
void sf_conn_stop(struct sf_http_conn *conn);
void sf_conn_woken(struct sf_http_conn *conn);
void sf_conn_answered(struct sf_http_conn *conn); /* its call has a response */
/* Goes on with the input that is here. */
void sf_conn_advance(struct sf_http_conn *conn);
void sf_conn_close_now(struct sf_http_conn *conn);
void sf_conn_unref(struct sf_http_conn *conn);
void sf_conn_free_call(call *c);

/* The bytes before the body, for the connection's present call. */
void sf_conn_write_head(struct sf_http_conn *conn, const sf_http_response *response);

#endif
