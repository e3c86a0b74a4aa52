/* net.h: one thread that waits on sockets. The only file that knows libwebsockets.
 *
 * libwebsockets brings the readiness loop, timers, waking from other threads and TLS. Its own
 * HTTP/1 reader is not used: it does not take chunked bodies or bodies without a length, lets
 * repeated lengths pass and decodes paths before anyone can see them. parse.h reads HTTP, ws.h
 * WebSockets.
 *
 * Threads  sf_net_wake may be called from any thread. Every other call on a loop that runs, and
 * every event, belongs to the loop's thread. Memory   A sock is the loop's and dies after its
 * closed event. Fails    SF_UNAVAILABLE when the address cannot be listened on, SF_LIMIT when
 * memory is short. */
#ifndef SF_API_HTTP_NET_H
#define SF_API_HTTP_NET_H

#include "base/base.h"

typedef struct sf_net sf_net;
typedef struct sf_sock sf_sock;

typedef struct {
    /* A client connected. Returns what the other events get as conn; NULL refuses it. */
    void *(*open)(void *owner, sf_sock *sock, const char *peer);
    /* Bytes arrived; all are taken. false closes. */
    bool (*data)(void *conn, const char *bytes, size_t len);
    /* The socket takes bytes again after sf_sock_want_write. false closes. */
    bool (*writable)(void *conn);
    void (*closed)(void *conn);
    void (*woken)(void *owner); /* some time after sf_net_wake; several wakes may give one event */
    void (*tick)(void *owner);  /* every tick_ms */
} sf_net_events;

typedef struct {
    const char *address; /* numeric, or a name that resolves; NULL or "": every interface */
    uint16_t port;       /* 0: any free one */
    bool share_port;     /* several loops listen on one port */
    unsigned tick_ms;
    const sf_net_events *events;
    void *owner;
} sf_net_config;

/* Listens at once; nothing is accepted before sf_net_start. */
SF_MUST_USE sf_status sf_net_new(const sf_net_config *config, sf_net **out, sf_error *err);
SF_MUST_USE sf_status sf_net_start(sf_net *loop, sf_error *err);
uint16_t sf_net_port(const sf_net *loop);
bool sf_net_is_current(const sf_net *loop); /* the caller runs on the loop's thread */
void sf_net_wake(sf_net *loop);
void sf_net_stop_listening(sf_net *loop);
void sf_net_finish(sf_net *loop); /* the thread ends after the present event */
void sf_net_join(sf_net *loop);   /* another thread: waits for the loop's end */
void sf_net_free(sf_net *loop);   /* after join, or never started; closes what is still open */

void sf_sock_want_write(sf_sock *sock);
/* Only inside writable. What the kernel does not take at once is kept by the loop, so ask
 * sf_sock_choked before the next write. false: the connection is lost. */
SF_MUST_USE bool sf_sock_write(sf_sock *sock, const void *bytes, size_t len);
bool sf_sock_choked(sf_sock *sock);
void sf_sock_pause(sf_sock *sock, bool paused); /* stop or resume data events */
void sf_sock_end_output(sf_sock *sock);         /* half-close: the peer sees the end */
void sf_sock_close(sf_sock *sock); /* closed follows later, not from inside this call */

#endif
