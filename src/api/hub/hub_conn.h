/* hub_conn.h: what the hub's files share. Private to hub/. */
#ifndef SF_API_HUB_HUB_CONN_H
#define SF_API_HUB_HUB_CONN_H

#include "api/hub/hub.h"
#include "api/hub/signalr.h"
#include "api/hub/ws.h"

#include <pthread.h>

enum { HUB_ID_CHARS = 32, HUB_PENDING_MAX = 1024, HUB_USER_MAX = 128 };

/* A negotiated connection that has not come yet. */
typedef struct {
    char token[HUB_ID_CHARS + 1], id[HUB_ID_CHARS + 1];
    char user[HUB_USER_MAX + 1];
    int64_t expires_ns; /* 0: free */
} pending;

struct sf_hub {
    sf_hub_config config;
    pthread_mutex_t lock;
    pending pending[HUB_PENDING_MAX]; /* under lock */
    size_t next_pending;              /* under lock: the oldest is overwritten first */
    _Atomic size_t connections;
    _Atomic uint64_t connections_total, messages_in, events_out;
};

typedef struct hub_conn hub_conn;

/* One subscription of one connection. */
typedef struct hub_sub {
    hub_conn *conn;
    sf_hub_subscription source;
    sf_hub_kind kind;
    char *key; /* what the client called it */
    _Atomic bool ready;
} hub_sub;

struct hub_conn {
    sf_hub *hub;
    sf_http_channel *channel;
    sf_http_waker *waker;
    sf_ws_reader reader;
    sf_buf inbox;   /* a message whose end byte has not come */
    sf_buf replies; /* SignalR messages of the hub's own, complete */
    sf_buf frames;  /* WebSocket control frames */
    SF_VEC(hub_sub *) subs;
    size_t next_sub; /* where the next round begins, so that everyone has a turn */
    char id[HUB_ID_CHARS + 1];
    char *environment;
    void *caller;
    bool greeted; /* the handshake is done */
    bool said_close, heard_close;
    uint16_t close_code;
    int64_t opened_ns, heard_ns, sent_ns, closing_ns;
};

struct sf_hub_writer {
    sf_buf *out;
    hub_conn *conn;
};

int64_t sf_hub_now_ns(const sf_hub *hub);

/* Runs one complete client message. False: the connection is closing. */
bool sf_hub_dispatch(hub_conn *conn, sf_str text);
void sf_hub_unsubscribe_all(hub_conn *conn);
/* Sends a close message and the WebSocket close after it. */
void sf_hub_say_close(hub_conn *conn, uint16_t code, const char *error, bool allow_reconnect);

#endif
