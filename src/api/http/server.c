/* The server: loops, their queues, start and stop. */
#include "api/http/conn.h"

/* ---- doors for other threads ---- */

static void answer_on_loop(call *c)
{
    struct sf_http_conn *conn = c->conn;
    if (conn->call == c)
        sf_conn_answered(conn);
    else
        sf_conn_free_call(c); /* the client went away meanwhile */
}

void sf_http_respond(sf_http_call *pub, sf_http_response *response)
{
    call *c = (call *)pub;
    lane *l = c->conn->lane;
    SF_ASSERT(!c->answered);
    c->response = *response;
    *response = (sf_http_response){0};
    c->answered = true;
    if (sf_net_is_current(l->loop)) {
        answer_on_loop(c);
        return;
    }
    pthread_mutex_lock(&l->lock);
    bool finished = l->finished;
    if (!finished) {
        c->next = l->answered;
        l->answered = c;
    }
    pthread_mutex_unlock(&l->lock);
    if (finished)
        sf_conn_free_call(c);
    else
        sf_net_wake(l->loop);
}

sf_http_waker *sf_http_call_waker(sf_http_call *pub)
{
    struct sf_http_conn *conn = ((call *)pub)->conn;
    atomic_fetch_add(&conn->refs, 1);
    return conn;
}

sf_http_waker *sf_http_waker_again(sf_http_waker *conn)
{
    atomic_fetch_add(&conn->refs, 1);
    return conn;
}

void sf_http_waker_wake(sf_http_waker *conn)
{
    if (atomic_load(&conn->dead) || atomic_exchange(&conn->wake_queued, true))
        return;
    lane *l = conn->lane;
    pthread_mutex_lock(&l->lock);
    bool finished = l->finished;
    if (!finished) {
        atomic_fetch_add(&conn->refs, 1);
        conn->next_waking = l->waking;
        l->waking = conn;
    }
    pthread_mutex_unlock(&l->lock);
    if (!finished)
        sf_net_wake(l->loop);
}

void sf_http_waker_free(sf_http_waker *conn)
{
    if (conn)
        sf_conn_unref(conn);
}

/* ---- loop events ---- */

static void begin_stop(lane *l)
{
    l->stopping = true;
    l->stop_at_ns = atomic_load(&l->server->stop_at_ns);
    sf_net_stop_listening(l->loop);
    for (struct sf_http_conn *conn = l->first; conn; conn = conn->next)
        sf_conn_stop(conn);
}

static void drain_queues(lane *l)
{
    pthread_mutex_lock(&l->lock);
    call *answered = l->answered;
    struct sf_http_conn *waking = l->waking;
    l->answered = NULL;
    l->waking = NULL;
    pthread_mutex_unlock(&l->lock);
    while (answered) {
        call *c = answered;
        answered = c->next;
        answer_on_loop(c);
    }
    while (waking) {
        struct sf_http_conn *conn = waking;
        waking = conn->next_waking;
        atomic_store(&conn->wake_queued, false);
        if (!atomic_load(&conn->dead))
            sf_conn_woken(conn);
        sf_conn_unref(conn);
    }
}

static void lane_woken(void *owner)
{
    lane *l = owner;
    drain_queues(l);
    if (!l->stopping && atomic_load(&l->server->stopping))
        begin_stop(l);
    if (l->stopping && l->conn_count == 0)
        sf_net_finish(l->loop);
}

static void lane_tick(void *owner)
{
    lane *l = owner;
    int64_t now_ns = sf_clock_mono_ns(&l->server->config.clock);
    for (struct sf_http_conn *conn = l->first; conn; conn = conn->next)
        sf_conn_tick(conn, now_ns);
    if (l->stopping && (l->conn_count == 0 || now_ns >= l->stop_at_ns))
        sf_net_finish(l->loop);
}

static void lane_conn_closed(void *arg)
{
    lane *l = ((struct sf_http_conn *)arg)->lane;
    sf_conn_closed(arg);
    if (l->stopping && l->conn_count == 0)
        sf_net_finish(l->loop);
}

/* ---- life ---- */

static void set_defaults(sf_http_config *config)
{
#define DEFAULT(field, value)                                                                      \
    if (config->field == 0)                                                                        \
    config->field = (value)
    DEFAULT(threads, 1);
    DEFAULT(connections_max, 4096);
    DEFAULT(bodies_max_bytes, (size_t)256 << 20);
    DEFAULT(head_timeout_ms, 10 * 1000);
    DEFAULT(idle_timeout_ms, 75 * 1000);
    DEFAULT(body_grace_ms, 10 * 1000);
    DEFAULT(body_rate_bytes, 1024);
    DEFAULT(write_timeout_ms, 30 * 1000);
#undef DEFAULT
}

/* Often enough that the shortest timeout is met within a quarter of itself. */
static unsigned tick_ms_of(const sf_http_config *config)
{
    unsigned shortest = config->head_timeout_ms;
    if (config->idle_timeout_ms < shortest)
        shortest = config->idle_timeout_ms;
    if (config->body_grace_ms < shortest)
        shortest = config->body_grace_ms;
    if (config->write_timeout_ms < shortest)
        shortest = config->write_timeout_ms;
    unsigned tick = shortest / 4;
    return tick < 5 ? 5 : tick > 250 ? 250 : tick;
}

static sf_status open_lane(sf_http_server *server, lane *l, uint16_t port, sf_error *err)
{
    l->server = server;
    pthread_mutex_init(&l->lock, NULL);
    server->lane_count++;
    sf_net_config config = {
        .address = server->config.address,
        .port = port,
        .share_port = server->config.threads > 1,
        .tick_ms = tick_ms_of(&server->config),
        .events = &server->events,
        .owner = l,
    };
    return sf_net_new(&config, &l->loop, err);
}

sf_status sf_http_server_new(const sf_http_config *config, sf_http_server **out, sf_error *err)
{
    sf_http_server *server = sf_calloc(1, sizeof *server);
    if (!server)
        return sf_fail_memory(err);
    server->config = *config;
    set_defaults(&server->config);
    server->bodies.limit_bytes = (int64_t)server->config.bodies_max_bytes;
    server->events = (sf_net_events){
        .open = sf_conn_open,
        .data = sf_conn_data,
        .writable = sf_conn_writable,
        .closed = lane_conn_closed,
        .woken = lane_woken,
        .tick = lane_tick,
    };
    server->lanes = sf_calloc(server->config.threads, sizeof *server->lanes);
    sf_status status = server->lanes ? SF_OK : sf_fail_memory(err);
    uint16_t port = server->config.port;
    for (unsigned i = 0; i < server->config.threads && status == SF_OK; i++) {
        status = open_lane(server, &server->lanes[i], port, err);
        if (status == SF_OK)
            port = sf_net_port(server->lanes[i].loop);
    }
    if (status != SF_OK) {
        sf_http_server_free(server);
        return status;
    }
    *out = server;
    return SF_OK;
}

sf_status sf_http_server_start(sf_http_server *server, sf_error *err)
{
    for (size_t i = 0; i < server->lane_count; i++)
        SF_TRY(sf_net_start(server->lanes[i].loop, err));
    return SF_OK;
}

uint16_t sf_http_server_port(const sf_http_server *server)
{
    return sf_net_port(server->lanes[0].loop);
}

void sf_http_server_stop(sf_http_server *server, unsigned grace_ms)
{
    if (!server)
        return;
    int64_t now_ns = sf_clock_mono_ns(&server->config.clock);
    atomic_store(&server->stop_at_ns, now_ns + (int64_t)grace_ms * 1000000);
    atomic_store(&server->stopping, true);
    for (size_t i = 0; i < server->lane_count; i++)
        if (server->lanes[i].loop)
            sf_net_wake(server->lanes[i].loop);
    for (size_t i = 0; i < server->lane_count; i++) {
        lane *l = &server->lanes[i];
        if (l->loop)
            sf_net_join(l->loop);
        pthread_mutex_lock(&l->lock);
        l->finished = true;
        pthread_mutex_unlock(&l->lock);
        drain_queues(l);
    }
}

void sf_http_server_free(sf_http_server *server)
{
    if (!server)
        return;
    sf_http_server_stop(server, 0);
    for (size_t i = 0; i < server->lane_count; i++) {
        sf_net_free(server->lanes[i].loop);
        pthread_mutex_destroy(&server->lanes[i].lock);
    }
    SF_ASSERT(atomic_load(&server->call_count) == 0);
    sf_free(server->lanes);
    sf_free(server);
}

void sf_http_server_counters(const sf_http_server *server, sf_http_counters *out)
{
    *out = (sf_http_counters){
        .connections_total = atomic_load(&server->conns_total),
        .connections_refused = atomic_load(&server->conns_refused),
        .requests_total = atomic_load(&server->requests_total),
        .requests_refused = atomic_load(&server->requests_refused),
        .bytes_in = atomic_load(&server->bytes_in),
        .bytes_out = atomic_load(&server->bytes_out),
        .connections = atomic_load(&server->conn_count),
        .calls = atomic_load(&server->call_count),
    };
}
