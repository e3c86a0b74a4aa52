/* server.h: HTTP/1.1 over the socket loop: connections, requests in flight, answers, upgrades.
 *
 * Owns     the loops' threads, every connection and every call.
 * Threads  head and ready of the app and all events of an upgrade run on the connection's loop
 *          thread and must not block. sf_http_respond and sf_http_waker_wake may be
 *          called from any thread. A call's request is constant from ready until it is
 *          answered, so another thread may read it meanwhile.
 * Memory   A call and all it points to live until sf_http_respond, which takes the response.
 * Fails    What a client does wrong is answered with a status; SF_UNAVAILABLE when a port is taken.
 */
#ifndef SF_API_HTTP_SERVER_H
#define SF_API_HTTP_SERVER_H

#include "api/http/parse.h"
#include "base/seam.h"

typedef struct sf_http_server sf_http_server;
typedef struct sf_http_call sf_http_call;

/* ---- answers ---- */

typedef enum {
    SF_HTTP_STREAM_MORE,
    SF_HTTP_STREAM_WAIT,
    SF_HTTP_STREAM_END,
    SF_HTTP_STREAM_FAILED
} sf_http_stream_state;

/* A body too long to hold: pieces are taken when the socket has room. */
typedef struct {
    /* Loop thread. Appends about max_bytes to out. WAIT: nothing now, a waker's wake follows.
     * FAILED cuts the connection, so that a short body is never taken for a whole one. */
    sf_http_stream_state (*take)(void *self, size_t max_bytes, sf_buf *out);
    void (*free)(void *self);
    void *self;
} sf_http_stream;

typedef struct {
    int status;
    const char *content_type; /* static text, NULL without a body */
    sf_buf fields;            /* written by sf_http_response_field */
    sf_buf body;
    sf_http_stream stream; /* take not NULL: used instead of body */
    bool close;            /* end the connection afterwards */
} sf_http_response;

/* Adds a field. Control characters in the value are dropped, so that no text can add a field. */
void sf_http_response_field(sf_http_response *response, const char *name, sf_str value);
void sf_http_response_deinit(sf_http_response *response);
/* {"error": message}; the hint, when there is one, ends the sentence. */
void sf_http_response_error(sf_http_response *response, int status, const char *message,
                            const char *hint);

/* ---- requests ---- */

enum { SF_HTTP_PARAMS_MAX = 4 };

/* A request in flight. The fields from route on are the app's own. */
struct sf_http_call {
    sf_http_head head;
    sf_buf body;     /* whole when ready is called */
    size_t body_max; /* set by the app's head; 0 refuses every body */
    const char *peer;
    sf_arena arena;     /* decoded names and the like: bounded, freed with the call */
    int64_t arrived_ns; /* monotonic, when the head was complete */
    const void *route;
    sf_str params[SF_HTTP_PARAMS_MAX];
    sf_str environment;
    void *caller;
};

/* Answers a call, once, from any thread; takes *response. The call is gone afterwards. */
void sf_http_respond(sf_http_call *pub, sf_http_response *response);

/* ---- waking a connection from another thread ---- */

/* Holds on to a connection, which may be gone meanwhile: a wake is then nothing. */
typedef struct sf_http_conn sf_http_waker;
sf_http_waker *sf_http_call_waker(sf_http_call *pub);    /* for a stream that says WAIT */
sf_http_waker *sf_http_waker_again(sf_http_waker *conn); /* one more, freed on its own */
void sf_http_waker_wake(sf_http_waker *conn);            /* any thread */
void sf_http_waker_free(sf_http_waker *conn);            /* any thread; NULL is allowed */

/* ---- upgraded connections ---- */

typedef struct sf_http_conn sf_http_channel; /* a connection that left HTTP */

typedef struct {
    bool (*data)(void *self, const char *bytes, size_t len); /* false closes */
    /* The socket has room: append up to max_bytes to out. Called again while bytes are appended. */
    bool (*fill)(void *self, size_t max_bytes, sf_buf *out); /* false: send out, then close */
    void (*woken)(void *self);                               /* after a waker's wake */
    void (*tick)(void *self, int64_t now_ns);
    void (*stopping)(void *self); /* the server stops: say goodbye and close soon */
    void (*closed)(void *self);
} sf_http_upgrade;

/* Instead of sf_http_respond, on the loop thread, inside head or ready: sends 101 with the
 * response's fields and hands the connection over. Takes *response. closed ends the channel. */
sf_http_channel *sf_http_upgrade_call(sf_http_call *pub, sf_http_response *response,
                                      const sf_http_upgrade *events, void *self);
void sf_http_channel_want_fill(sf_http_channel *channel); /* loop thread */
void sf_http_channel_close(sf_http_channel *channel);     /* loop thread; closed follows later */
sf_http_waker *sf_http_channel_waker(sf_http_channel *channel); /* wakes give woken */

/* ---- the server ---- */

typedef struct {
    /* The head is complete. Either set call->body_max and return, or answer at once. */
    void (*head)(void *self, sf_http_call *call);
    /* The body is complete. Answer now or later. */
    void (*ready)(void *self, sf_http_call *call);
    /* The call ends, answered or not: free what caller holds. Any thread. */
    void (*gone)(void *self, sf_http_call *call);
    void *self;
} sf_http_app;

typedef struct {
    const char *address;       /* NULL: every interface */
    uint16_t port;             /* 0: any */
    unsigned threads;          /* 0 = 1 */
    size_t connections_max;    /* 0 = 4096 */
    size_t bodies_max_bytes;   /* request bodies held at one time; 0 = 256 MiB */
    unsigned head_timeout_ms;  /* from first byte to blank line; 0 = 10 s */
    unsigned idle_timeout_ms;  /* between requests; 0 = 75 s */
    unsigned body_grace_ms;    /* before body_rate applies; 0 = 10 s */
    unsigned body_rate_bytes;  /* a second, that a body must bring; 0 = 1024 */
    unsigned write_timeout_ms; /* without any progress; 0 = 30 s */
    sf_clock clock;
    const sf_log *log;
    sf_http_app app;
} sf_http_config;

SF_MUST_USE sf_status sf_http_server_new(const sf_http_config *config, sf_http_server **out,
                                         sf_error *err); /* listens */
SF_MUST_USE sf_status sf_http_server_start(sf_http_server *server, sf_error *err);
uint16_t sf_http_server_port(const sf_http_server *server);
/* No new connections; requests in flight are finished; what is left after grace_ms is cut. Calls
 * answered after that are dropped. Every call must be answered, and every waker freed, before free.
 */
void sf_http_server_stop(sf_http_server *server, unsigned grace_ms);
void sf_http_server_free(sf_http_server *server);

typedef struct {
    uint64_t connections_total, connections_refused, requests_total, requests_refused;
    uint64_t bytes_in, bytes_out;
    size_t connections, calls;
} sf_http_counters;
void sf_http_server_counters(const sf_http_server *server, sf_http_counters *out);

#endif
