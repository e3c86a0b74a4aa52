/* A server with the project's HTTP front and hub, and doubles behind them: three users, things that
 * echo, a table that counts. Prints "port N" and serves until standard input ends. The scripts
 * beside it drive it; its options are the limits they want to see at work. */
#include "api/http/front.h"
#include "api/http/url.h"
#include "api/hub/hub.h"
#include "text/text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- a small pool ---- */

typedef struct {
    void (*run)(void *arg);
    void *arg;
} task;

enum { WORKERS = 3, TASKS_MAX = 64 };

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    task tasks[TASKS_MAX];
    size_t first, count;
    bool ending;
    pthread_t threads[WORKERS];
} pool;

static bool pool_submit(void *self, void (*run)(void *arg), void *arg)
{
    pool *p = self;
    pthread_mutex_lock(&p->lock);
    bool room = p->count < TASKS_MAX;
    if (room)
        p->tasks[(p->first + p->count++) % TASKS_MAX] = (task){run, arg};
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return room;
}

static void *pool_work(void *self)
{
    pool *p = self;
    for (;;) {
        pthread_mutex_lock(&p->lock);
        while (p->count == 0 && !p->ending)
            pthread_cond_wait(&p->changed, &p->lock);
        if (p->count == 0) {
            pthread_mutex_unlock(&p->lock);
            return NULL;
        }
        task t = p->tasks[p->first];
        p->first = (p->first + 1) % TASKS_MAX;
        p->count--;
        pthread_mutex_unlock(&p->lock);
        t.run(t.arg);
    }
}

/* ---- the world behind the routes ---- */

typedef struct sub {
    struct world *world;
    struct sub *next;
    char name[64];
    sf_hub_wake wake;
    int64_t sum, count; /* not taken yet: netted, so a slow client costs two numbers */
    bool metrics;
} sub;

typedef struct world {
    pool pool;
    sf_front *front;
    sf_hub *hub;
    sf_front_auth auth;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    sub *subs;
    int64_t seq, waiting;
    bool released;
    size_t pad; /* bytes each event carries besides */
} world;

/* ---- users: the token is the name ---- */

static const char *const users[] = {"", "", "viewer", "editor", "admin"};

static sf_status verify(void *self, sf_str token, void **caller, sf_error *err)
{
    SF_UNUSED(self);
    for (size_t floor = SF_FLOOR_VIEWER; floor <= SF_FLOOR_ADMIN; floor++) {
        if (!sf_str_eq(token, sf_str_of(users[floor])))
            continue;
        size_t *mine = sf_alloc(sizeof *mine);
        if (!mine)
            return sf_fail_memory(err);
        *mine = floor;
        *caller = mine;
        return SF_OK;
    }
    return sf_fail(err, SF_UNAUTHENTICATED, "the token is not valid");
}

static const char *user_of(const void *caller)
{
    return users[*(const size_t *)caller];
}

static sf_status at_least(void *self, const void *caller, sf_floor floor, sf_error *err)
{
    SF_UNUSED(self);
    if (*(const size_t *)caller >= (size_t)floor)
        return SF_OK;
    return sf_fail(err, SF_FORBIDDEN, "user \"%s\" may not do this", user_of(caller));
}

static void release(void *self, void *caller)
{
    SF_UNUSED(self);
    sf_free(caller);
}

static sf_status environment(void *self, sf_str name, sf_error *err)
{
    SF_UNUSED(self);
    if (sf_str_eq(name, SF_STR("staging")))
        return SF_OK;
    return sf_fail(err, SF_NOT_FOUND, "environment '%.*s' does not exist", SF_STR_ARG(name));
}

/* ---- handlers ---- */

static const char json_type[] = "application/json; charset=utf-8";

static sf_status health(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    SF_UNUSED(app);
    SF_UNUSED(call);
    SF_UNUSED(err);
    out->status = 200;
    out->content_type = json_type;
    sf_buf_puts(&out->body, "{\"status\":\"ok\"}");
    return SF_OK;
}

static sf_status show(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    SF_UNUSED(app);
    sf_str q;
    bool found;
    SF_TRY(sf_http_query_get(&call->arena, call->head.query, "q", &q, &found, err));
    out->status = 200;
    out->content_type = json_type;
    sf_buf_puts(&out->body, "{\"key\":");
    sf_json_put_string(&out->body, call->params[0]);
    sf_buf_puts(&out->body, ",\"env\":");
    sf_json_put_string(&out->body, call->environment);
    sf_buf_puts(&out->body, ",\"user\":");
    sf_json_put_string(&out->body, sf_str_of(call->caller ? user_of(call->caller) : ""));
    sf_buf_puts(&out->body, ",\"q\":");
    sf_json_put_string(&out->body, q);
    sf_buf_putc(&out->body, '}');
    sf_http_response_field(out, "ETag", SF_STR("\"1\""));
    return SF_OK;
}

static sf_status echo(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    SF_UNUSED(app);
    SF_UNUSED(err);
    out->status = 200;
    out->content_type = json_type;
    out->body = call->body;
    call->body = (sf_buf){0};
    return SF_OK;
}

static sf_status measure(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    SF_UNUSED(app);
    SF_UNUSED(err);
    out->status = 200;
    out->content_type = json_type;
    sf_buf_printf(&out->body, "{\"length\":%zu,\"crc\":%u}", call->body.len,
                  sf_crc32c(0, call->body.data, call->body.len));
    return SF_OK;
}

static sf_status fail_as(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    SF_UNUSED(app);
    SF_UNUSED(out);
    for (int status = SF_SYNTAX; status <= SF_INTERNAL; status++)
        if (sf_str_eq(call->params[0], sf_str_of(sf_status_name((sf_status)status)))) {
            sf_fail(err, (sf_status)status, "thing \"x\" did not work");
            sf_error_hint(err, "try thing \"y\"");
            return (sf_status)status;
        }
    return sf_fail(err, SF_NOT_FOUND, "no such status");
}

static int64_t number_of(sf_http_call *call, const char *name)
{
    sf_str text;
    bool found;
    sf_error err;
    int64_t value = 0;
    if (sf_http_query_get(&call->arena, call->head.query, name, &text, &found, &err) == SF_OK)
        sf_parse_i64(text, &value);
    return value;
}

static sf_status large(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    SF_UNUSED(app);
    SF_UNUSED(err);
    int64_t n = number_of(call, "n");
    for (int64_t i = 0; i < n; i++)
        sf_buf_putc(&out->body, (char)('a' + i % 26));
    out->status = 200;
    out->content_type = "text/plain";
    return SF_OK;
}

/* A stream of numbered lines that says WAIT before each burst and is woken by another thread. */
typedef struct {
    pool *pool;
    sf_http_waker *waker;
    int64_t next, end, fail_at;
    bool rested;
} lines;

static void wake_lines(void *arg)
{
    sf_http_waker_wake(arg);
    sf_http_waker_free(arg);
}

static sf_http_stream_state take_lines(void *self, size_t max_bytes, sf_buf *out)
{
    lines *l = self;
    if (!l->rested) {
        l->rested = true;
        sf_http_waker *again = sf_http_waker_again(l->waker);
        if (!pool_submit(l->pool, wake_lines, again))
            wake_lines(again);
        return SF_HTTP_STREAM_WAIT;
    }
    l->rested = false;
    size_t start = out->len;
    while (l->next < l->end && out->len - start < max_bytes) {
        if (l->fail_at && l->next == l->fail_at)
            return SF_HTTP_STREAM_FAILED;
        sf_buf_printf(out, "line %lld\n", (long long)l->next++);
    }
    return l->next == l->end ? SF_HTTP_STREAM_END : SF_HTTP_STREAM_MORE;
}

static void free_lines(void *self)
{
    lines *l = self;
    sf_http_waker_free(l->waker);
    sf_free(l);
}

static sf_status stream(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    lines *l = sf_calloc(1, sizeof *l);
    if (!l)
        return sf_fail_memory(err);
    *l = (lines){.pool = &((world *)app)->pool,
                 .waker = sf_http_call_waker(call),
                 .end = number_of(call, "n"),
                 .fail_at = number_of(call, "fail")};
    out->status = 200;
    out->content_type = "text/plain";
    out->stream = (sf_http_stream){take_lines, free_lines, l};
    return SF_OK;
}

/* Waits until someone releases it: a request in flight for as long as a test wants. */
static sf_status hold(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    world *w = app;
    pthread_mutex_lock(&w->lock);
    w->waiting++;
    while (!w->released)
        pthread_cond_wait(&w->changed, &w->lock);
    w->waiting--;
    pthread_mutex_unlock(&w->lock);
    return health(app, call, out, err);
}

static sf_status let_go(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    world *w = app;
    pthread_mutex_lock(&w->lock);
    w->released = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return health(app, call, out, err);
}

static sf_status counters(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    world *w = app;
    SF_UNUSED(call);
    SF_UNUSED(err);
    sf_http_counters http;
    sf_hub_counters hub;
    sf_http_server_counters(sf_front_server(w->front), &http);
    sf_hub_counters_get(w->hub, &hub);
    pthread_mutex_lock(&w->lock);
    long long waiting = w->waiting;
    pthread_mutex_unlock(&w->lock);
    out->status = 200;
    out->content_type = json_type;
    sf_buf_printf(&out->body,
                  "{\"connections\":%zu,\"calls\":%zu,\"hub\":%zu,\"waiting\":%lld,"
                  "\"refused\":%llu}",
                  http.connections, http.calls, hub.connections, waiting,
                  (unsigned long long)http.connections_refused);
    return SF_OK;
}

/* ---- the hub's double: tables that count what is emitted into them ---- */

static sf_hub_taken take_events(void *self, size_t max_bytes, sf_hub_writer *writer)
{
    sub *s = self;
    SF_UNUSED(max_bytes);
    pthread_mutex_lock(&s->world->lock);
    int64_t sum = s->sum, count = s->count, seq = s->world->seq;
    s->sum = s->count = 0;
    pthread_mutex_unlock(&s->world->lock);
    if (count == 0)
        return SF_HUB_TAKEN_ALL;
    sf_buf *out = sf_hub_event_begin(writer, "tableDelta");
    sf_json_put_string(out, sf_str_of(s->name));
    sf_buf_printf(out, ",[{\"row\":{\"sum\":%lld,\"pad\":\"", (long long)sum);
    for (size_t i = 0; i < s->world->pad; i++)
        sf_buf_putc(out, 'x');
    sf_buf_printf(out, "\"},\"weight\":1,\"evicted\":false,\"epoch\":-1}],%lld", (long long)seq);
    sf_hub_event_end(writer);
    return SF_HUB_TAKEN_ALL;
}

static void close_sub(void *self)
{
    sub *s = self;
    world *w = s->world;
    pthread_mutex_lock(&w->lock);
    for (sub **at = &w->subs; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    pthread_mutex_unlock(&w->lock);
    sf_free(s);
}

static sf_status subscribe(void *self, const sf_hub_client *client, const sf_hub_topic *topic,
                           sf_hub_wake wake, sf_hub_subscription *out, sf_error *err)
{
    world *w = self;
    SF_UNUSED(client);
    if (sf_str_eq(topic->name, SF_STR("secret")))
        return sf_fail(err, SF_FORBIDDEN, "user \"%s\" may not read table \"secret\"",
                       user_of(client->caller));
    sub *s = sf_calloc(1, sizeof *s);
    if (!s)
        return sf_fail_memory(err);
    /* "id-7" is the id of the table "seven". */
    sf_str name = sf_str_eq(topic->name, SF_STR("id-7")) ? SF_STR("seven") : topic->name;
    s->world = w;
    s->wake = wake;
    snprintf(s->name, sizeof s->name, "%.*s", SF_STR_ARG(name));
    if (topic->has_seq) {
        s->sum = topic->from_seq;
        s->count = 1;
    }
    pthread_mutex_lock(&w->lock);
    s->next = w->subs;
    w->subs = s;
    pthread_mutex_unlock(&w->lock);
    *out = (sf_hub_subscription){.take = take_events, .close = close_sub, .self = s};
    snprintf(out->name, sizeof out->name, "%s", s->name);
    return SF_OK;
}

static sf_status invoke(void *self, const sf_hub_client *client, const char *method,
                        const sf_str *arguments, size_t argument_count, sf_buf *result,
                        sf_error *err)
{
    SF_UNUSED(self);
    SF_UNUSED(client);
    SF_UNUSED(argument_count);
    if (strcmp(method, "Heartbeat") != 0)
        return sf_fail(err, SF_UNSUPPORTED, "hub method \"%s\" is not offered here", method);
    sf_buf_puts(result, "{\"heard\":");
    sf_buf_put(result, arguments[0].data, arguments[0].len);
    sf_buf_putc(result, '}');
    return SF_OK;
}

static sf_status emit(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    world *w = app;
    SF_UNUSED(err);
    int64_t times = number_of(call, "times"), subs = 0;
    for (int64_t i = 0; i < (times ? times : 1); i++) {
        pthread_mutex_lock(&w->lock);
        w->seq++;
        for (sub *s = w->subs; s; s = s->next) {
            if (!sf_str_eq(call->params[0], sf_str_of(s->name)))
                continue;
            s->sum++;
            s->count++;
            subs++;
            s->wake.wake(s->wake.arg); /* under the lock, so that close_sub waits for it */
        }
        pthread_mutex_unlock(&w->lock);
    }
    out->status = 202;
    out->content_type = json_type;
    sf_buf_printf(&out->body, "{\"told\":%lld}", (long long)subs);
    return SF_OK;
}

static sf_status negotiate(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    world *w = app;
    out->status = 200;
    out->content_type = json_type;
    return sf_hub_negotiate(w->hub, sf_str_of(user_of(call->caller)),
                            (int)number_of(call, "negotiateVersion"), &out->body, err);
}

static sf_status connect_hub(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    world *w = app;
    SF_UNUSED(out);
    sf_str id;
    bool found;
    SF_TRY(sf_http_query_get(&call->arena, call->head.query, "id", &id, &found, err));
    void *caller = call->caller;
    call->caller = NULL;
    if (!sf_hub_connect(w->hub, call, sf_str_of(user_of(caller)), id, call->environment, caller))
        release(NULL, caller);
    return SF_OK;
}

/* ---- the table ---- */

enum { MIB = 1024 * 1024 };

static const sf_route routes[] = {
    {SF_HTTP_GET, "/healthz", SF_FLOOR_ANYONE, "", health, SF_BODY_NONE, 0, SF_ON_LOOP,
     SF_ROUTE_NO_ENVIRONMENT, "is it alive"},
    {SF_HTTP_GET, "/counters", SF_FLOOR_ANYONE, "", counters, SF_BODY_NONE, 0, SF_ON_LOOP,
     SF_ROUTE_NO_ENVIRONMENT, "what is open"},
    {SF_HTTP_GET, "/api/things/{key}", SF_FLOOR_VIEWER, "thing.read", show, SF_BODY_NONE, 0,
     SF_ON_LOOP, 0, "one thing"},
    {SF_HTTP_GET, "/api/things/special", SF_FLOOR_VIEWER, "thing.read", health, SF_BODY_NONE, 0,
     SF_ON_LOOP, 0, "a literal beside a parameter"},
    {SF_HTTP_PUT, "/api/things/{key}", SF_FLOOR_EDITOR, "thing.write", echo, SF_BODY_JSON, MIB,
     SF_ON_POOL, 0, "change a thing"},
    {SF_HTTP_DELETE, "/api/things/{key}", SF_FLOOR_ADMIN, "thing.delete", health, SF_BODY_NONE, 0,
     SF_ON_LOOP, 0, "delete a thing"},
    {SF_HTTP_POST, "/api/echo", SF_FLOOR_VIEWER, "", echo, SF_BODY_JSON, MIB, SF_ON_LOOP, 0,
     "the body again"},
    {SF_HTTP_POST, "/api/measure", SF_FLOOR_ANYONE, "", measure, SF_BODY_ANY, 16 * MIB, SF_ON_POOL,
     0, "length and checksum of a body"},
    {SF_HTTP_GET, "/api/open/{key}", SF_FLOOR_ANYONE, "", show, SF_BODY_NONE, 0, SF_ON_LOOP, 0,
     "who calls an open route"},
    {SF_HTTP_GET, "/api/fail/{status}", SF_FLOOR_ANYONE, "", fail_as, SF_BODY_NONE, 0, SF_ON_LOOP,
     0, "an error"},
    {SF_HTTP_GET, "/api/large", SF_FLOOR_ANYONE, "", large, SF_BODY_NONE, 0, SF_ON_POOL, 0,
     "n bytes"},
    {SF_HTTP_GET, "/api/stream", SF_FLOOR_ANYONE, "", stream, SF_BODY_NONE, 0, SF_ON_LOOP, 0,
     "n lines"},
    {SF_HTTP_POST, "/api/hold", SF_FLOOR_ANYONE, "", hold, SF_BODY_NONE, 0, SF_ON_POOL, 0, "waits"},
    {SF_HTTP_POST, "/api/release", SF_FLOOR_ANYONE, "", let_go, SF_BODY_NONE, 0, SF_ON_LOOP, 0,
     "ends the waiting"},
    {SF_HTTP_POST, "/api/emit/{table}", SF_FLOOR_ANYONE, "", emit, SF_BODY_NONE, 0, SF_ON_POOL, 0,
     "an event for subscribers"},
    {SF_HTTP_POST, "/hubs/stream/negotiate", SF_FLOOR_VIEWER, "", negotiate, SF_BODY_ANY, MIB,
     SF_ON_LOOP, SF_ROUTE_TOKEN_IN_QUERY, "negotiate"},
    {SF_HTTP_GET, "/hubs/stream", SF_FLOOR_VIEWER, "", connect_hub, SF_BODY_NONE, 0, SF_ON_LOOP,
     SF_ROUTE_TOKEN_IN_QUERY, "the hub"},
};

/* ---- running ---- */

static unsigned option(int argc, char **argv, const char *name, unsigned otherwise)
{
    for (int i = 1; i + 1 < argc; i += 2)
        if (strcmp(argv[i], name) == 0)
            return (unsigned)strtoul(argv[i + 1], NULL, 10);
    return otherwise;
}

static sf_status open_world(world *w, int argc, char **argv, sf_error *err)
{
    w->auth = (sf_front_auth){verify, at_least, release, environment, NULL};
    sf_hub_config hub = {
        .clock = sf_clock_system(),
        .random = sf_random_system(),
        .source = {.subscribe = subscribe, .invoke = invoke, .self = w},
        .release_caller = release,
        .subscriptions_max = option(argc, argv, "--subscriptions", 0),
        .ping_interval_ms = option(argc, argv, "--ping", 0),
        .client_timeout_ms = option(argc, argv, "--client-timeout", 0),
        .handshake_timeout_ms = option(argc, argv, "--handshake-timeout", 0),
    };
    SF_TRY(sf_hub_new(&hub, &w->hub, err));
    sf_front_config front = {
        .http =
            {
                .address = "127.0.0.1",
                .threads = option(argc, argv, "--threads", 1),
                .connections_max = option(argc, argv, "--connections", 0),
                .head_timeout_ms = option(argc, argv, "--head-timeout", 0),
                .idle_timeout_ms = option(argc, argv, "--idle-timeout", 0),
                .body_grace_ms = option(argc, argv, "--body-grace", 0),
                .write_timeout_ms = option(argc, argv, "--write-timeout", 0),
                .clock = sf_clock_system(),
            },
        .router = {routes, SF_COUNT_OF(routes)},
        .app = w,
        .auth = w->auth,
        .executor = {pool_submit, &w->pool},
    };
    return sf_front_new(&front, &w->front, err);
}

static void pool_open(pool *p)
{
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    for (size_t i = 0; i < WORKERS; i++)
        if (pthread_create(&p->threads[i], NULL, pool_work, p) != 0)
            abort();
}

static void pool_close(pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->ending = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(p->threads[i], NULL);
}

int main(int argc, char **argv)
{
    static world w = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    w.pad = option(argc, argv, "--pad", 0);
    sf_error err;
    pool_open(&w.pool);
    if (open_world(&w, argc, argv, &err) != SF_OK ||
        sf_http_server_start(sf_front_server(w.front), &err) != SF_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("port %u\n", sf_http_server_port(sf_front_server(w.front)));
    fflush(stdout);
    while (getchar() != EOF) {
    }
    sf_http_server_stop(sf_front_server(w.front), option(argc, argv, "--grace", 5000));
    printf("stopped\n");
    fflush(stdout);
    pthread_mutex_lock(&w.lock);
    w.released = true;
    pthread_cond_broadcast(&w.changed);
    pthread_mutex_unlock(&w.lock);
    pool_close(&w.pool);
    sf_front_free(w.front);
    sf_hub_free(w.hub);
    return 0;
}
