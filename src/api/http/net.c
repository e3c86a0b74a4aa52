/* The socket loop on libwebsockets' raw role. */
#include "api/http/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libwebsockets.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024, ACCEPT_BURST = 64, BACKLOG = 512 };

struct sf_sock {
    struct lws *wsi;
    sf_net *loop;
    void *conn; /* NULL for the listener */
    bool listener, closing, paused;
};

struct sf_net {
    sf_net_config config;
    struct lws_context *context;
    struct lws_vhost *vhost;
    int listen_fd; /* until it is adopted, -1 afterwards */
    uint16_t port;
    sf_sock *listener;
    bool accept_paused;
    lws_sorted_usec_list_t tick;
    pthread_t thread;
    _Atomic(pthread_t) runner; /* the same, told by the thread itself */
    bool started, finishing;
    _Atomic bool wake_pending;
};

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t len);

static const struct lws_protocols protocols[] = {
    {.name = "streamsforge", .callback = on_event},
    {0},
};

/* ---- listening ---- */

static sf_status listen_on(const struct addrinfo *at, const sf_net_config *config, int *out,
                           sf_error *err)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return sf_fail(err, SF_UNAVAILABLE, "cannot open a socket: %s", strerror(errno));
    int yes = 1, no = 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (config->share_port)
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
    if (at->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (bind(fd, at->ai_addr, at->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
        int cause = errno;
        close(fd);
        sf_fail(err, SF_UNAVAILABLE, "cannot listen on port %u: %s", config->port, strerror(cause));
        sf_error_hint(err, cause == EADDRINUSE
                               ? "stop the program that uses it or choose another port"
                               : "choose another address or port");
        return SF_UNAVAILABLE;
    }
    *out = fd;
    return SF_OK;
}

/* The wildcard prefers IPv6, which takes IPv4 as well; a host without IPv6 gets IPv4. */
static sf_status open_listener(sf_net *loop, sf_error *err)
{
    const sf_net_config *config = &loop->config;
    const char *address = config->address && config->address[0] ? config->address : NULL;
    char port[8];
    snprintf(port, sizeof port, "%u", config->port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    int code = getaddrinfo(address, port, &hints, &list);
    if (code != 0)
        return sf_fail(err, SF_UNAVAILABLE, "listen address \"%s\" does not resolve: %s",
                       address ? address : "", gai_strerror(code));
    sf_status status = SF_UNAVAILABLE;
    for (int pass = 0; pass < 2 && status != SF_OK; pass++)
        for (struct addrinfo *at = list; at && status != SF_OK; at = at->ai_next)
            if ((at->ai_family == AF_INET6) == (pass == 0))
                status = listen_on(at, config, &loop->listen_fd, err);
    freeaddrinfo(list);
    SF_TRY(status);
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } bound = {0};
    socklen_t len = sizeof bound;
    if (getsockname(loop->listen_fd, &bound.any, &len) != 0)
        return sf_fail(err, SF_UNAVAILABLE, "cannot read the port: %s", strerror(errno));
    loop->port = ntohs(bound.any.sa_family == AF_INET6 ? bound.v6.sin6_port : bound.v4.sin_port);
    return SF_OK;
}

static sf_sock *adopt(sf_net *loop, int fd, bool listener)
{
    sf_sock *sock = sf_calloc(1, sizeof *sock);
    if (!sock) {
        close(fd);
        return NULL;
    }
    sock->loop = loop;
    sock->listener = listener;
    lws_adopt_desc_t desc = {
        .vh = loop->vhost,
        .type = listener ? LWS_ADOPT_RAW_FILE_DESC : LWS_ADOPT_SOCKET,
        .vh_prot_name = protocols[0].name,
        .opaque = sock,
    };
    if (listener)
        desc.fd.filefd = fd;
    else
        desc.fd.sockfd = fd;
    sock->wsi = lws_adopt_descriptor_vhost_via_info(&desc); /* closes fd when it fails */
    if (!sock->wsi) {
        sf_free(sock);
        return NULL;
    }
    return sock;
}

static void peer_name(const struct sockaddr_storage *from, socklen_t len, char out[64])
{
    if (getnameinfo((const struct sockaddr *)from, len, out, 64, NULL, 0, NI_NUMERICHOST) != 0)
        snprintf(out, 64, "unknown");
    if (strncmp(out, "::ffff:", 7) == 0)
        memmove(out, out + 7, strlen(out + 7) + 1);
}

static void accept_one(sf_net *loop, int fd, const struct sockaddr_storage *from, socklen_t len)
{
    char peer[64];
    peer_name(from, len, peer);
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    sf_sock *sock = adopt(loop, fd, false);
    if (!sock)
        return;
    sock->conn = loop->config.events->open(loop->config.owner, sock, peer);
    if (!sock->conn)
        sf_sock_close(sock);
}

static void accept_some(sf_net *loop)
{
    int listen_fd = lws_get_socket_fd(loop->listener->wsi);
    for (int i = 0; i < ACCEPT_BURST; i++) {
        struct sockaddr_storage from;
        socklen_t len = sizeof from;
        int fd = accept4(listen_fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            accept_one(loop, fd, &from, len);
            continue;
        }
        if (errno == EINTR || errno == ECONNABORTED)
            continue;
        /* Out of descriptors or buffers: the queue stays readable, so look again at the next tick
         * instead of spinning. */
        if (errno != EAGAIN && errno != EWOULDBLOCK) {
            loop->accept_paused = true;
            sf_sock_pause(loop->listener, true);
        }
        return;
    }
}

/* ---- events ---- */

static int sock_closed(sf_sock *sock)
{
    sf_net *loop = sock->loop;
    if (sock->listener)
        loop->listener = NULL;
    else if (sock->conn)
        loop->config.events->closed(sock->conn);
    sf_free(sock);
    return 0;
}

static int sock_data(sf_sock *sock, const char *bytes, size_t len)
{
    if (!sock->conn || sock->closing)
        return -1;
    return sock->loop->config.events->data(sock->conn, bytes, len) ? 0 : -1;
}

static int sock_writable(sf_sock *sock)
{
    if (!sock->conn || sock->closing)
        return -1;
    return sock->loop->config.events->writable(sock->conn) ? 0 : -1;
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t len)
{
    SF_UNUSED(user);
    if (reason == LWS_CALLBACK_EVENT_WAIT_CANCELLED) {
        sf_net *loop = lws_context_user(lws_get_context(wsi));
        atomic_store(&loop->wake_pending, false);
        loop->config.events->woken(loop->config.owner);
        return 0;
    }
    sf_sock *sock = lws_get_opaque_user_data(wsi);
    switch (reason) {
    case LWS_CALLBACK_RAW_RX_FILE: accept_some(sock->loop); return 0;
    case LWS_CALLBACK_RAW_RX: return sock_data(sock, in, len);
    case LWS_CALLBACK_RAW_WRITEABLE: return sock_writable(sock);
    case LWS_CALLBACK_RAW_CLOSE:
    case LWS_CALLBACK_RAW_CLOSE_FILE: return sock ? sock_closed(sock) : 0;
    default: return 0;
    }
}

static void on_tick(lws_sorted_usec_list_t *tick)
{
    sf_net *loop = lws_container_of(tick, sf_net, tick);
    if (loop->accept_paused && loop->listener) {
        loop->accept_paused = false;
        sf_sock_pause(loop->listener, false);
    }
    loop->config.events->tick(loop->config.owner);
    lws_sul_schedule(loop->context, 0, tick, on_tick,
                     (lws_usec_t)loop->config.tick_ms * LWS_US_PER_MS);
}

/* ---- life ---- */

static sf_status open_context(sf_net *loop, sf_error *err)
{
    lws_set_log_level(0, NULL); /* every failure comes back as a value */
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .protocols = protocols,
        .user = loop,
        .gid = -1,
        .uid = -1,
        .pt_serv_buf_size = READ_BYTES,
        .vhost_name = "streamsforge",
    };
    loop->context = lws_create_context(&info);
    if (!loop->context)
        return sf_fail(err, SF_UNAVAILABLE, "cannot start the network loop");
    loop->vhost = lws_get_vhost_by_name(loop->context, "streamsforge");
    if (!loop->vhost)
        return sf_fail(err, SF_UNAVAILABLE, "cannot start the network loop");
    return SF_OK;
}

sf_status sf_net_new(const sf_net_config *config, sf_net **out, sf_error *err)
{
    sf_net *loop = sf_calloc(1, sizeof *loop);
    if (!loop)
        return sf_fail_memory(err);
    loop->config = *config;
    loop->listen_fd = -1;
    sf_status status = open_listener(loop, err);
    if (status == SF_OK)
        status = open_context(loop, err);
    if (status != SF_OK) {
        sf_net_free(loop);
        return status;
    }
    *out = loop;
    return SF_OK;
}

static void *run(void *arg)
{
    sf_net *loop = arg;
    atomic_store(&loop->runner, pthread_self());
    while (!loop->finishing && lws_service(loop->context, 0) >= 0) {
    }
    return NULL;
}

sf_status sf_net_start(sf_net *loop, sf_error *err)
{
    int fd = loop->listen_fd;
    loop->listen_fd = -1;
    loop->listener = adopt(loop, fd, true);
    if (!loop->listener)
        return sf_fail(err, SF_UNAVAILABLE, "cannot watch the listening socket");
    lws_sul_schedule(loop->context, 0, &loop->tick, on_tick,
                     (lws_usec_t)loop->config.tick_ms * LWS_US_PER_MS);
    loop->started = true;
    int code = pthread_create(&loop->thread, NULL, run, loop);
    if (code != 0) {
        loop->started = false;
        return sf_fail(err, SF_UNAVAILABLE, "cannot start a thread: %s", strerror(code));
    }
    return SF_OK;
}

uint16_t sf_net_port(const sf_net *loop)
{
    return loop->port;
}

bool sf_net_is_current(const sf_net *loop)
{
    return pthread_equal(pthread_self(), atomic_load(&loop->runner));
}

void sf_net_wake(sf_net *loop)
{
    if (!atomic_exchange(&loop->wake_pending, true))
        lws_cancel_service(loop->context);
}

void sf_net_stop_listening(sf_net *loop)
{
    if (loop->listener)
        sf_sock_close(loop->listener);
}

void sf_net_finish(sf_net *loop)
{
    loop->finishing = true;
    if (loop->started)
        lws_cancel_service(loop->context);
}

void sf_net_join(sf_net *loop)
{
    if (loop->started)
        pthread_join(loop->thread, NULL);
    loop->started = false;
}

void sf_net_free(sf_net *loop)
{
    if (!loop)
        return;
    if (loop->context)
        lws_context_destroy(loop->context);
    if (loop->listen_fd >= 0)
        close(loop->listen_fd);
    sf_free(loop);
}

/* ---- sockets ---- */

void sf_sock_want_write(sf_sock *sock)
{
    lws_callback_on_writable(sock->wsi);
}

bool sf_sock_write(sf_sock *sock, const void *bytes, size_t len)
{
    /* The raw role sends the bytes as they are; the parameter is not const for other roles. */
    return lws_write(sock->wsi, (unsigned char *)(uintptr_t)bytes, len, LWS_WRITE_RAW) >= 0;
}

bool sf_sock_choked(sf_sock *sock)
{
    return lws_send_pipe_choked(sock->wsi);
}

void sf_sock_pause(sf_sock *sock, bool paused)
{
    if (sock->paused == paused)
        return;
    sock->paused = paused;
    lws_rx_flow_control(sock->wsi, paused ? 0 : 1);
}

void sf_sock_end_output(sf_sock *sock)
{
    shutdown(lws_get_socket_fd(sock->wsi), SHUT_WR);
}

void sf_sock_close(sf_sock *sock)
{
    if (sock->closing)
        return;
    sock->closing = true;
    lws_set_timeout(sock->wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
}
