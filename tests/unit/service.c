/* The service without a network: life, rights, definitions, what pushes leave behind, listeners,
 * short memory. */
#include "unit/check.h"

#include "catalog/catalog.h"
#include "service/service.h"
#include "text/text.h"

#include <pthread.h>
#include <unistd.h>

/* ---- one service in a directory of its own ---- */

typedef struct {
    char dir[64];
    sf_service *service;
    sf_caller *admin, *viewer;
} world;

static sf_service_options options_of(const world *w)
{
    return (sf_service_options){.dir = w->dir,
                                .name = "test",
                                .version = "0",
                                .rest_url = "",
                                .grpc_url = "",
                                .workers = 2,
                                .hash_iterations = 10,
                                .disk = sf_disk_system(),
                                .clock = sf_clock_system(),
                                .random = sf_random_system()};
}

static sf_caller *sign_in(sf_service *service, const char *user)
{
    char body[128];
    sf_answer answer = {0};
    sf_error err = {0};
    sf_str token;
    sf_caller *caller = NULL;
    snprintf(body, sizeof body, "{\"username\":\"%s\",\"password\":\"%s123!\"}", user, user);
    if (sf_service_login(service, sf_str_of(body), &answer, &err) == SF_OK &&
        sf_json_get_key(sf_buf_str(&answer.body), SF_STR("token"), &token))
        CHECK_INT(
            sf_service_verify(service, (sf_str){token.data + 1, token.len - 2}, &caller, &err),
            SF_OK);
    sf_answer_deinit(&answer);
    return caller;
}

static bool open_world(world *w, bool seed)
{
    sf_error err = {0};
    if (!w->dir[0]) {
        snprintf(w->dir, sizeof w->dir, "/tmp/sf-unit-service-XXXXXX");
        if (!mkdtemp(w->dir))
            return false;
    }
    sf_service_options options = options_of(w);
    options.seed_demo = seed;
    if (sf_service_open(&options, &w->service, &err) != SF_OK) {
        printf("  %s\n", err.message);
        return false;
    }
    w->admin = sign_in(w->service, "admin");
    w->viewer = sign_in(w->service, "viewer");
    return w->admin && w->viewer;
}

static void close_service(world *w)
{
    sf_service_release(w->admin);
    sf_service_release(w->viewer);
    sf_service_close(w->service);
    w->service = NULL;
    w->admin = w->viewer = NULL;
}

static void close_world(world *w)
{
    char command[128];
    close_service(w);
    snprintf(command, sizeof command, "rm -rf %s", w->dir);
    CHECK_INT(system(command), 0);
}

/* ---- calls ---- */

static sf_status create(world *w, sf_noun noun, const char *body, char id[33])
{
    sf_answer answer = {0};
    sf_error err = {0};
    sf_str value;
    sf_status status =
        sf_service_create(w->service, w->admin, noun, sf_str_of(body), &answer, &err);
    if (status != SF_OK)
        printf("  %s\n", err.message);
    if (id && sf_json_get_key(sf_buf_str(&answer.body), SF_STR("id"), &value) && value.len == 34)
        snprintf(id, 33, "%.32s", value.data + 1);
    sf_answer_deinit(&answer);
    return status;
}

static bool has(const sf_buf *text, const char *part)
{
    return text->data && strstr(text->data, part);
}

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
    sf_status status;
    bool replayed;
    long long accepted, duplicate;
} outcome;

static long long number_in(const sf_buf *body, const char *key)
{
    sf_str value;
    int64_t number = -1;
    if (sf_json_get_key(sf_buf_str(body), sf_str_of(key), &value))
        (void)sf_parse_i64(value, &number);
    return number;
}

static void read_outcome(outcome *out, sf_status status, const sf_answer *answer)
{
    out->status = status;
    if (status != SF_OK)
        return;
    out->replayed = has(&answer->body, "\"replayed\":true");
    out->accepted = number_in(&answer->body, "accepted");
    out->duplicate = number_in(&answer->body, "duplicate");
}

static void pushed(void *arg, sf_status status, sf_answer *answer, const sf_error *err)
{
    outcome *out = arg;
    SF_UNUSED(err);
    pthread_mutex_lock(&out->lock);
    read_outcome(out, status, answer);
    out->done = true;
    pthread_cond_broadcast(&out->changed);
    pthread_mutex_unlock(&out->lock);
    sf_answer_deinit(answer);
}

static outcome push(world *w, const char *source, const char *key, const char *events)
{
    outcome out = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    sf_answer answer = {0};
    sf_error err = {0};
    char body[512];
    snprintf(body, sizeof body, "{\"events\":%s}", events);
    sf_ingest_request request = {
        .caller = w->admin, .idempotency_key = sf_str_of(key), .body = sf_str_of(body)};
    out.status =
        sf_service_ingest(w->service, sf_str_of(source), &request, pushed, &out, &answer, &err);
    if (out.status != SF_OK) {
        sf_answer_deinit(&answer);
        return out;
    }
    pthread_mutex_lock(&out.lock);
    while (!out.done)
        pthread_cond_wait(&out.changed, &out.lock);
    pthread_mutex_unlock(&out.lock);
    return out;
}

static const char soft_source[] =
    "{\"name\":\"soft\",\"kind\":\"ingest\",\"fields\":[{\"name\":\"k\",\"type\":\"String\"}],"
    "\"ingest\":{\"durable\":false,\"capacityRows\":1000000}}";

/* ---- cases ---- */

static void opens_again(void)
{
    world w = {0};
    REQUIRE(open_world(&w, false));
    CHECK_INT(create(&w, SF_NOUN_SOURCE, soft_source, NULL), SF_OK);
    sf_answer before = {0}, after = {0};
    sf_error err;
    CHECK_INT(sf_service_list(w.service, w.viewer, SF_NOUN_SOURCE, &before, &err), SF_OK);
    close_service(&w);
    REQUIRE(open_world(&w, true)); /* it is not empty: no demo world */
    CHECK_INT(sf_service_list(w.service, w.viewer, SF_NOUN_SOURCE, &after, &err), SF_OK);
    CHECK_STR(after.body.data, before.body.data);
    sf_service_options options = options_of(&w);
    sf_service *second;
    CHECK_INT(sf_service_open(&options, &second, &err), SF_CONFLICT);
    sf_answer_deinit(&before);
    sf_answer_deinit(&after);
    close_world(&w);
}

static size_t count_entities(world *w)
{
    size_t count = 0;
    for (int noun = SF_NOUN_SOURCE; noun <= SF_NOUN_TABLE; noun++) {
        sf_answer answer = {0};
        sf_error err;
        CHECK_INT(sf_service_list(w->service, w->viewer, (sf_noun)noun, &answer, &err), SF_OK);
        count += sf_json_array_len(sf_buf_str(&answer.body));
        sf_answer_deinit(&answer);
    }
    return count;
}

/* A start that was killed while it seeded is completed by the next. */
static void seeding_goes_on(void)
{
    world w = {0};
    REQUIRE(open_world(&w, false));
    close_service(&w);
    sf_catalog_options options = {.disk = sf_disk_system(),
                                  .clock = sf_clock_system(),
                                  .random = sf_random_system(),
                                  .dir = w.dir};
    sf_catalog *catalog;
    sf_error err = {0};
    REQUIRE_OK(sf_catalog_open(&options, &catalog, &err), err);
    CHECK_INT(sf_catalog_put_fact(catalog, "seeded", SF_STR("begun"), &err), SF_OK);
    sf_catalog_close(catalog);
    REQUIRE(open_world(&w, true));
    CHECK_INT(count_entities(&w), 18);
    close_service(&w);
    REQUIRE(open_world(&w, true));
    CHECK_INT(count_entities(&w), 18);
    close_world(&w);
}

static void rights_come_first(void)
{
    world w = {0};
    REQUIRE(open_world(&w, false));
    sf_answer answer = {0};
    sf_error err = {0};
    sf_str broken = SF_STR("{"), nothing = SF_STR("not-there");
    sf_update_options any = {0};
    CHECK_INT(sf_service_create(w.service, w.viewer, SF_NOUN_TABLE, broken, &answer, &err),
              SF_FORBIDDEN);
    CHECK(strstr(err.message, "table.write"));
    CHECK_INT(sf_service_create(w.service, w.admin, SF_NOUN_TABLE, broken, &answer, &err),
              SF_SYNTAX);
    CHECK_INT(sf_service_create(w.service, NULL, SF_NOUN_TABLE, broken, &answer, &err),
              SF_UNAUTHENTICATED);
    CHECK_INT(
        sf_service_update(w.service, w.viewer, SF_NOUN_TABLE, nothing, broken, &any, &answer, &err),
        SF_FORBIDDEN);
    CHECK_INT(
        sf_service_update(w.service, w.admin, SF_NOUN_TABLE, nothing, broken, &any, &answer, &err),
        SF_NOT_FOUND);
    CHECK_INT(sf_service_list(w.service, NULL, SF_NOUN_TABLE, &answer, &err), SF_UNAUTHENTICATED);
    CHECK_INT(sf_service_environment(w.service, SF_STR("default"), &err), SF_OK);
    CHECK_INT(sf_service_environment(w.service, SF_STR("other"), &err), SF_NOT_FOUND);
    CHECK_INT(sf_service_at_least(w.viewer, SF_LEVEL_EDITOR, &err), SF_FORBIDDEN);
    CHECK_STR(sf_caller_name(w.viewer), "viewer");
    sf_answer_deinit(&answer);
    close_world(&w);
}

/* Keys are kept for a bounded number of pushes, the oldest go first. */
static void keys_are_forgotten_in_order(void)
{
    world w = {0};
    REQUIRE(open_world(&w, false));
    REQUIRE(create(&w, SF_NOUN_SOURCE, soft_source, NULL) == SF_OK);
    char key[32];
    for (int i = 0; i <= 10000; i++) {
        snprintf(key, sizeof key, "key-%d", i);
        CHECK(!push(&w, "soft", key, "[{\"k\":\"a\"}]").replayed);
    }
    outcome second = push(&w, "soft", "key-1", "[]");
    CHECK(second.replayed);
    CHECK_INT(second.accepted, 1);
    CHECK(!push(&w, "soft", "key-0", "[]").replayed);
    /* A push that failed has not used its key. */
    CHECK_INT(push(&w, "soft", "bad", "[7]").status, SF_INVALID);
    CHECK(!push(&w, "soft", "bad", "[{}]").replayed);
    CHECK(push(&w, "soft", "bad", "[{}]").replayed);
    close_world(&w);
}

static void rows_are_forgotten_in_order(void)
{
    world w = {0};
    REQUIRE(open_world(&w, false));
    REQUIRE(create(&w, SF_NOUN_SOURCE,
                   "{\"name\":\"once\",\"kind\":\"ingest\",\"fields\":[{\"name\":\"k\","
                   "\"type\":\"Long\"}],\"ingest\":{\"durable\":false,\"dedupKeyField\":\"k\","
                   "\"dedupWindow\":2}}",
                   NULL) == SF_OK);
    static const struct {
        const char *events;
        int accepted, duplicate;
    } steps[] = {
        {"[{\"k\":1},{\"k\":2}]", 2, 0}, {"[{\"k\":1},{\"k\":2}]", 0, 2},
        {"[{\"k\":3},{\"k\":3}]", 1, 1}, {"[{\"k\":1}]", 1, 0}, /* 1 went when 3 came */
        {"[{\"k\":3},{\"k\":1}]", 0, 2}, {"[{\"k\":null},{}]", 2, 0},
        {"[{\"k\":2}]", 1, 0},           {"[{\"k\":1.0},{\"k\":\"1\"}]", 0, 2},
    };
    for (size_t i = 0; i < SF_COUNT_OF(steps); i++) {
        outcome got = push(&w, "once", "", steps[i].events);
        CHECK_INT(got.accepted, steps[i].accepted);
        CHECK_INT(got.duplicate, steps[i].duplicate);
    }
    close_world(&w);
}

/* ---- listening ---- */

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool awake;
    sf_buf text;
    int events;
} ear;

static void wake(void *arg)
{
    ear *e = arg;
    pthread_mutex_lock(&e->lock);
    e->awake = true;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

static sf_buf *begin_event(void *self, const char *target)
{
    ear *e = self;
    sf_buf_printf(&e->text, "\n%s ", target);
    e->events++;
    return &e->text;
}

static void end_event(void *self)
{
    SF_UNUSED(self);
}

static void hear(ear *e, sf_listener *listener)
{
    pthread_mutex_lock(&e->lock);
    while (!e->awake)
        pthread_cond_wait(&e->changed, &e->lock);
    e->awake = false;
    pthread_mutex_unlock(&e->lock);
    sf_event_sink sink = {begin_event, end_event, e};
    while (sf_listener_take(listener, 100, &sink)) {
    }
}

static void listeners_hear(void)
{
    world w = {0};
    REQUIRE(open_world(&w, false));
    char id[33] = "";
    REQUIRE(create(&w, SF_NOUN_SOURCE, soft_source, NULL) == SF_OK);
    REQUIRE(create(&w, SF_NOUN_PIPELINE, "{\"name\":\"p\",\"sql\":\"SELECT k FROM soft\"}", id) ==
            SF_OK);
    sf_answer answer = {0};
    sf_error err = {0};
    char name[256];
    sf_listener *results, *figures, *none;
    ear near = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    ear far = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    REQUIRE_OK(sf_service_listen(w.service, w.viewer, SF_LISTEN_PIPELINE, sf_str_of(id), wake,
                                 &near, &results, name, &err),
               err);
    CHECK_STR(name, id);
    REQUIRE_OK(sf_service_listen(w.service, w.viewer, SF_LISTEN_METRICS, SF_STR(""), wake, &far,
                                 &figures, name, &err),
               err);
    CHECK_INT(sf_service_listen(w.service, NULL, SF_LISTEN_TABLE, SF_STR("t"), wake, &far, &none,
                                name, &err),
              SF_UNAUTHENTICATED);
    CHECK_INT(sf_service_start(w.service, w.admin, SF_NOUN_PIPELINE, sf_str_of(id), &answer, &err),
              SF_OK);
    CHECK(has(&answer.body, "\"status\":\"Running\""));
    while (!has(&near.text, "pipelineStatus"))
        hear(&near, results);
    CHECK_INT(push(&w, "soft", "", "[{\"k\":\"heard\"}]").accepted, 1);
    while (!has(&near.text, "heard"))
        hear(&near, results);
    CHECK(has(&near.text, "pipelineResult \""));
    while (!has(&far.text, id))
        hear(&far, figures);
    CHECK(has(&far.text, "pipelineMetrics {\"pipelineId\":"));
    sf_listener_close(results);
    sf_listener_close(figures);
    sf_listener_close(NULL);
    sf_answer_deinit(&answer);
    sf_buf_deinit(&near.text);
    sf_buf_deinit(&far.text);
    close_world(&w);
}

/* ---- memory ---- */

typedef sf_status (*use_case)(world *w, sf_answer *answer, sf_error *err);

static sf_status list_sources(world *w, sf_answer *answer, sf_error *err)
{
    return sf_service_list(w->service, w->admin, SF_NOUN_SOURCE, answer, err);
}

static sf_status validate(world *w, sf_answer *answer, sf_error *err)
{
    return sf_service_validate(w->service, w->admin, SF_NOUN_TABLE,
                               SF_STR("{\"sql\":\"SELECT k, COUNT(*) AS n FROM soft GROUP BY k\"}"),
                               answer, err);
}

static sf_status who_am_i(world *w, sf_answer *answer, sf_error *err)
{
    return sf_service_me(w->service, w->admin, answer, err);
}

static sf_status functions(world *w, sf_answer *answer, sf_error *err)
{
    return sf_service_functions(w->service, answer, err);
}

static sf_status push_one(world *w, sf_answer *answer, sf_error *err)
{
    outcome out = push(w, "soft", "", "[{\"k\":\"a\"},{\"k\":\"b\"}]");
    sf_buf_puts(&answer->body, "{}");
    if (out.status == SF_OK)
        return sf_buf_str(&answer->body).len ? SF_OK : sf_fail_memory(err);
    return sf_fail(err, out.status, "refused");
}

/* The n-th allocation fails: the call says so, and the next one is as good as ever. */
static void memory_runs_out(void)
{
    static const struct {
        const char *name;
        use_case run;
    } calls[] = {{"list", list_sources},
                 {"validate", validate},
                 {"me", who_am_i},
                 {"functions", functions},
                 {"push", push_one}};
    world w = {0};
    REQUIRE(open_world(&w, false));
    REQUIRE(create(&w, SF_NOUN_SOURCE, soft_source, NULL) == SF_OK);
    for (size_t i = 0; i < SF_COUNT_OF(calls); i++) {
        bool survived = false;
        for (uint64_t n = 1; n < 2000 && !survived; n++) {
            sf_answer answer = {0};
            sf_error err = {0};
            sf_alloc_fail_after(n);
            sf_status status = calls[i].run(&w, &answer, &err);
            sf_alloc_fail_after(0);
            /* A compilation that ran out of memory is told as a diagnostic. */
            survived = status == SF_OK && !has(&answer.body, "\"ok\":false");
            if (status != SF_OK && status != SF_LIMIT) {
                printf("  %s, allocation %llu: %s\n", calls[i].name, (unsigned long long)n,
                       err.message);
                sf_check_failures++;
            }
            sf_answer_deinit(&answer);
        }
        CHECK(survived);
    }
    close_world(&w);
}

static const sf_case cases[] = {
    SF_CASE(opens_again),
    SF_CASE(seeding_goes_on),
    SF_CASE(rights_come_first),
    SF_CASE(keys_are_forgotten_in_order),
    SF_CASE(rows_are_forgotten_in_order),
    SF_CASE(listeners_hear),
    SF_CASE(memory_runs_out),
};

SF_RUN("service", cases)
