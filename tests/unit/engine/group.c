/* Groups: epochs, positions, failures, merging. */
#include "tests.h"

/* ---- the bench ---- */

static uint64_t log_end(void *self)
{
    const test_log *log = self;
    const sf_log_entry *last = log->count ? &log->entries[log->count - 1] : NULL;
    return last ? last->position + last->count : 0;
}

static sf_status log_read(void *self, uint64_t from, sf_log_entry *out, sf_error *err)
{
    const test_log *log = self;
    for (size_t i = 0; from >= log->first && i < log->count; i++) {
        if (from >= log->entries[i].position + log->entries[i].count)
            continue;
        *out = log->entries[i];
        out->batch = sf_batch_ref(out->batch);
        return SF_OK;
    }
    return sf_fail(err, SF_STALE, "position %llu is gone", (unsigned long long)from);
}

void bench_open(bench *b, test_log *log)
{
    sf_error err = {0};
    *b = (bench){.schema = sf_relation_schema(kv, 2, SF_INPUT_SOURCE), .group = sf_group_new()};
    SF_ASSERT(b->schema && b->group);
    b->log = log ? log : &b->own_log;
    if (!log) {
        sf_marker_init(&b->own_log.marker, 0);
        b->own_log.reader = (sf_log_reader){log_end, log_read, &b->own_log};
    }
    CHECK_INT(sf_group_add_source(b->group, "s", &b->log->reader, &b->source, &err), SF_OK);
}

void bench_close(bench *b)
{
    sf_group_free(b->group);
    for (size_t i = 0; i < b->count; i++)
        sf_plan_free(b->members[i].plan);
    for (size_t i = 0; i < b->own_log.count; i++)
        sf_batch_unref(b->own_log.entries[i].batch);
    sf_schema_unref(b->schema);
}

static const bench_member *member_named(const bench *b, sf_str name)
{
    for (size_t i = b->count; i-- > 0;) /* the newest of a name */
        if (sf_str_eq(sf_str_of(b->members[i].name), name))
            return &b->members[i];
    return NULL;
}

static sf_status find_relation(void *self, sf_str name, sf_relation *out, sf_error *err)
{
    const bench *b = self;
    const bench_member *member = member_named(b, name);
    if (sf_str_eq(name, SF_STR("s")))
        *out = (sf_relation){"s", SF_INPUT_SOURCE, b->schema, true};
    else if (member)
        *out = (sf_relation){member->name, SF_INPUT_TABLE, sf_plan_schema(member->plan), false};
    else
        return sf_fail(err, SF_NOT_FOUND, "there is no \"%.*s\"", SF_STR_ARG(name));
    return SF_OK;
}

sf_status bench_add(bench *b, const char *name, sf_plan_kind kind, const char *sql,
                    uint64_t position, sf_budget *budget)
{
    sf_resolver resolver = {.find = find_relation, .self = b};
    sf_diagnostics diagnostics = {0};
    sf_error err = {0};
    bench_member member = {.name = name};
    sf_member_input inputs[4] = {{0}};
    SF_ASSERT(b->count < BENCH_MEMBERS_MAX);
    sf_status status =
        sf_sql_compile(sf_str_of(sql), kind, &resolver, &member.plan, &diagnostics, &err);
    sf_diagnostics_deinit(&diagnostics);
    for (size_t i = 0; status == SF_OK && i < member.plan->inputs.len && i < 4; i++) {
        const bench_member *input = member_named(b, sf_str_of(member.plan->inputs.data[i].name));
        inputs[i] = input ? (sf_member_input){.id = input->id}
                          : (sf_member_input){true, b->source, position};
    }
    sf_member_spec spec = {name, member.plan, inputs, budget};
    if (status == SF_OK)
        status = sf_group_add_member(b->group, &spec, &member.id, &err);
    if (status != SF_OK) {
        printf("  %s: %s\n", name, err.message);
        sf_plan_free(member.plan);
        return status;
    }
    b->members[b->count++] = member;
    return SF_OK;
}

void bench_push(bench *b, const row *rows, size_t count)
{
    test_log *log = b->log;
    sf_batch *batch = batch_of(b->schema, rows, count, 1);
    sf_batch *stamped = batch ? sf_marker_stamp(&log->marker, batch) : NULL;
    SF_ASSERT(stamped && log->count < LOG_ENTRIES_MAX);
    log->entries[log->count] =
        (sf_log_entry){log_end(log), (uint32_t)count, stamped, log->marker.watermark};
    log->count++;
    sf_batch_unref(batch);
}

int bench_run(bench *b)
{
    int epochs = 0;
    for (;;) {
        sf_group_event event = sf_group_step(b->group, 0, UINT64_MAX);
        if (event == SF_GROUP_IDLE)
            return epochs;
        epochs += event == SF_GROUP_EPOCH;
    }
}

uint32_t bench_id(const bench *b, const char *name)
{
    const bench_member *member = member_named(b, sf_str_of(name));
    SF_ASSERT(member);
    return member->id;
}

sf_member_state bench_state(const bench *b, const char *name)
{
    sf_member_info info;
    sf_group_member(b->group, bench_id(b, name), &info);
    return info.state;
}

const char *bench_answer(bench *b, const char *name, char *text)
{
    const bench_member *member = member_named(b, sf_str_of(name));
    SF_ASSERT(member);
    return answer_of(sf_circuit_snapshot(sf_group_circuit(b->group, member->id)),
                     sf_plan_schema(member->plan), text);
}

/* ---- cases ---- */

static const char sums[] = "SELECT k, SUM(v) AS s FROM s GROUP BY k";
static const row four[] = {{1, 10, 1}, {2, 20, 2}, {1, 5, 3}, {3, 1, 4}};

/* Whatever the budget of a step: the same epochs, and outputs only between them. */
static void groups_work_with(uint64_t budget_rows)
{
    bench b;
    char text[TEXT_BYTES];
    bench_open(&b, NULL);
    CHECK_INT(sf_group_step(b.group, 0, budget_rows), SF_GROUP_IDLE);
    CHECK_INT(bench_add(&b, "t", SF_PLAN_TABLE, sums, 0, NULL), SF_OK);
    CHECK_INT(bench_add(&b, "u", SF_PLAN_TABLE, "SELECT k FROM t WHERE s >= 15", 0, NULL), SF_OK);
    CHECK_INT(sf_group_epoch(b.group), 0);
    bench_push(&b, four, 2);
    for (uint64_t epoch = 1; epoch <= 2; epoch++) {
        sf_group_event event;
        while ((event = sf_group_step(b.group, 0, budget_rows)) == SF_GROUP_MORE) {
            CHECK(!sf_group_between_epochs(b.group));
            CHECK_INT(sf_group_epoch(b.group), epoch - 1);
            CHECK_INT(sf_group_output_count(b.group, bench_id(&b, "t")), 0);
        }
        CHECK_INT(event, SF_GROUP_EPOCH);
        CHECK(sf_group_between_epochs(b.group));
        CHECK_INT(sf_group_epoch(b.group), epoch);
        CHECK(sf_group_output_count(b.group, bench_id(&b, "t")) > 0);
        CHECK_INT(sf_group_position(b.group, bench_id(&b, "t"), 0), 2 * epoch);
        if (epoch == 1)
            bench_push(&b, four + 2, 2);
    }
    CHECK_INT(sf_group_step(b.group, 0, budget_rows), SF_GROUP_IDLE);
    CHECK_STR(bench_answer(&b, "t", text), " 1:15 2:20 3:1");
    CHECK_STR(bench_answer(&b, "u", text), " 1 2");
    sf_group_raise_epoch(b.group, 40);
    sf_group_raise_epoch(b.group, 7); /* never back */
    bench_push(&b, four, 1);
    CHECK_INT(bench_run(&b), 1);
    CHECK_INT(sf_group_epoch(b.group), 40);
    sf_member_info info;
    sf_group_member(b.group, bench_id(&b, "u"), &info);
    CHECK_INT(info.frontier, 40);
    bench_close(&b);
}

void groups_work_in_epochs(void)
{
    static const uint64_t budgets[] = {1, 3, UINT64_MAX};
    for (size_t i = 0; i < SF_COUNT_OF(budgets); i++)
        groups_work_with(budgets[i]);
}

/* A member may begin in the middle of an entry; its watermark is that of what it has read. */
void groups_read_from_a_position(void)
{
    bench b;
    char text[TEXT_BYTES];
    bench_open(&b, NULL);
    bench_push(&b, four, 4);
    CHECK_INT(bench_add(&b, "all", SF_PLAN_TABLE, sums, 0, NULL), SF_OK);
    CHECK_INT(bench_add(&b, "half", SF_PLAN_TABLE, sums, 2, NULL), SF_OK);
    CHECK_INT(bench_add(&b, "new", SF_PLAN_TABLE, sums, 4, NULL), SF_OK);
    CHECK_INT(bench_run(&b), 1);
    CHECK_STR(bench_answer(&b, "all", text), " 1:15 2:20 3:1");
    CHECK_STR(bench_answer(&b, "half", text), " 1:5 3:1");
    CHECK_STR(bench_answer(&b, "new", text), "");
    bench_push(&b, four, 2);
    bench_push(&b, four, 1);
    sf_group_seek(b.group, bench_id(&b, "half"), 0, 6); /* passes over what is not kept */
    CHECK_INT(bench_run(&b), 1);
    CHECK_STR(bench_answer(&b, "all", text), " 1:35 2:40 3:1");
    CHECK_STR(bench_answer(&b, "half", text), " 1:15 3:1");
    CHECK_STR(bench_answer(&b, "new", text), " 1:20 2:20");
    bench_close(&b);
}

void groups_end_readers_last(void)
{
    bench b;
    char text[TEXT_BYTES];
    sf_error err = {0};
    bench_open(&b, NULL);
    CHECK_INT(bench_add(&b, "t", SF_PLAN_TABLE, sums, 0, NULL), SF_OK);
    bench_push(&b, four, 4);
    CHECK_INT(bench_run(&b), 1);
    CHECK_INT(bench_add(&b, "u", SF_PLAN_TABLE, "SELECT s FROM t", 0, NULL), SF_OK);
    CHECK_INT(bench_run(&b), 1); /* the table's rows so far */
    CHECK_STR(bench_answer(&b, "u", text), " 1 15 20");
    CHECK_INT(sf_group_remove_member(b.group, bench_id(&b, "t"), &err), SF_CONFLICT);
    CHECK(strstr(err.message, "\"u\"") && strstr(err.hint, "\"u\""));
    CHECK_INT(sf_group_check_remove(b.group, bench_id(&b, "t"), &err), SF_CONFLICT);
    CHECK_INT(sf_group_check_remove(b.group, bench_id(&b, "u"), &err), SF_OK);
    CHECK_INT(sf_group_remove_member(b.group, bench_id(&b, "u"), &err), SF_OK);
    CHECK_INT(sf_group_remove_member(b.group, bench_id(&b, "t"), &err), SF_OK);
    CHECK_INT(sf_group_member_count(b.group), 0); /* numbers are given again */
    bench_push(&b, four, 1);
    CHECK_INT(bench_run(&b), 0);

    /* A source that comes back under the name of a dropped one is another one. */
    sf_group_drop_source(b.group, b.source);
    uint32_t dropped = b.source;
    CHECK_INT(sf_group_add_source(b.group, "s", &b.log->reader, &b.source, &err), SF_OK);
    CHECK_INT(b.source, dropped);
    CHECK_INT(bench_add(&b, "t", SF_PLAN_TABLE, sums, 4, NULL), SF_OK);
    CHECK_INT(bench_run(&b), 1);
    CHECK_STR(bench_answer(&b, "t", text), " 1:10");
    bench_close(&b);
}

/* It stops, those that read it stall and say why, everyone else goes on. */
void failures_stay_with_their_member(void)
{
    bench b;
    char text[TEXT_BYTES];
    sf_budget little = {0};
    sf_member_info info;
    bench_open(&b, NULL);
    CHECK_INT(bench_add(&b, "poor", SF_PLAN_TABLE, sums, 0, &little), SF_OK);
    little.limit_bytes = little.used_bytes + 1; /* enough to begin, not for a row */
    CHECK_INT(bench_add(&b, "reader", SF_PLAN_TABLE, "SELECT s FROM poor", 0, NULL), SF_OK);
    CHECK_INT(bench_add(&b, "behind", SF_PLAN_TABLE, "SELECT s FROM reader", 0, NULL), SF_OK);
    CHECK_INT(bench_add(&b, "rich", SF_PLAN_TABLE, sums, 0, NULL), SF_OK);
    bench_push(&b, four, 4);
    CHECK_INT(bench_run(&b), 1);
    CHECK_INT(bench_state(&b, "poor"), SF_MEMBER_FAILED);
    CHECK_INT(bench_state(&b, "reader"), SF_MEMBER_STALLED);
    CHECK_INT(bench_state(&b, "behind"), SF_MEMBER_STALLED);
    CHECK_INT(bench_state(&b, "rich"), SF_MEMBER_RUNNING);
    CHECK_STR(bench_answer(&b, "rich", text), " 1:15 2:20 3:1");
    sf_group_member(b.group, bench_id(&b, "poor"), &info);
    CHECK_INT(info.error.status, SF_LIMIT);
    CHECK_INT(info.frontier, 0);
    sf_group_member(b.group, bench_id(&b, "reader"), &info);
    CHECK(strstr(info.error.message, "\"poor\""));
    CHECK_INT(sf_group_output_count(b.group, bench_id(&b, "poor")), 0);

    bench_push(&b, four, 1);
    CHECK_INT(bench_add(&b, "late", SF_PLAN_TABLE, sums, 0, NULL), SF_OK);
    b.log->first = 4; /* the first rows are no longer kept */
    CHECK_INT(bench_run(&b), 1);
    CHECK_INT(bench_state(&b, "late"), SF_MEMBER_FAILED);
    sf_group_member(b.group, bench_id(&b, "late"), &info);
    CHECK_INT(info.error.status, SF_STALE);
    CHECK(strstr(info.error.message, "\"s\""));
    CHECK_STR(bench_answer(&b, "rich", text), " 1:25 2:20 3:1");
    bench_close(&b);
}

/* Two groups that read one log become one; what they stand for does not change. */
void groups_merge(void)
{
    bench into, from;
    char text[TEXT_BYTES];
    uint32_t moved[BENCH_MEMBERS_MAX] = {0};
    sf_error err = {0};
    bench_open(&into, NULL);
    bench_open(&from, into.log);
    CHECK_INT(bench_add(&into, "a", SF_PLAN_TABLE, sums, 0, NULL), SF_OK);
    CHECK_INT(bench_add(&from, "b", SF_PLAN_TABLE, sums, 0, NULL), SF_OK);
    CHECK_INT(bench_add(&from, "c", SF_PLAN_TABLE, "SELECT s FROM b", 0, NULL), SF_OK);
    bench_push(&into, four, 2);
    CHECK_INT(bench_run(&into), 1);
    sf_group_raise_epoch(from.group, 9);
    CHECK_INT(bench_run(&from), 1);
    bench_push(&into, four + 2, 2);
    CHECK_INT(bench_run(&into), 1); /* it is ahead: b has still to read the last rows */

    CHECK_INT(sf_group_absorb(into.group, from.group, moved, &err), SF_OK);
    for (size_t i = 0; i < from.count; i++) {
        into.members[into.count] = from.members[i];
        into.members[into.count++].id = moved[from.members[i].id];
    }
    from.count = 0;
    CHECK_INT(sf_group_epoch(into.group), 9);
    CHECK_INT(bench_run(&from), 0);
    CHECK_STR(bench_answer(&into, "b", text), " 1:10 2:20");
    CHECK_INT(bench_run(&into), 1);
    CHECK_INT(sf_group_epoch(into.group), 10);
    CHECK_STR(bench_answer(&into, "a", text), " 1:15 2:20 3:1");
    CHECK_STR(bench_answer(&into, "b", text), " 1:15 2:20 3:1");
    CHECK_STR(bench_answer(&into, "c", text), " 1 15 20");
    CHECK_INT(bench_add(&into, "both", SF_PLAN_TABLE,
                        "SELECT a.k, a.s FROM a JOIN b ON a.k = b.k WHERE a.s = b.s", 0, NULL),
              SF_OK);
    CHECK_INT(bench_run(&into), 1);
    CHECK_STR(bench_answer(&into, "both", text), " 1:15 2:20 3:1");
    bench_close(&from);
    bench_close(&into);
}

/* A row's time is work for its group, and for those that read the table. */
void groups_are_due(void)
{
    static const row rows[] = {{1, 10, 100}, {1, 5, 300}};
    bench b;
    char text[TEXT_BYTES];
    bench_open(&b, NULL);
    CHECK_INT(bench_add(&b, "new", SF_PLAN_TABLE,
                        "SELECT k, v FROM s WHERE _ts > NOW() - INTERVAL '1' SECOND", 0, NULL),
              SF_OK);
    CHECK_INT(
        bench_add(&b, "sums", SF_PLAN_TABLE, "SELECT k, SUM(v) AS v FROM new GROUP BY k", 0, NULL),
        SF_OK);
    CHECK(sf_group_due(b.group) == INT64_MAX);
    bench_push(&b, rows, 2);
    CHECK_INT(bench_run(&b), 1);
    CHECK_STR(bench_answer(&b, "sums", text), " 1:15");
    CHECK_INT(sf_group_due(b.group), 1100);
    CHECK_INT(sf_group_step(b.group, 1099, UINT64_MAX), SF_GROUP_IDLE);
    CHECK_INT(sf_group_step(b.group, 1100, UINT64_MAX), SF_GROUP_EPOCH);
    CHECK_STR(bench_answer(&b, "sums", text), " 1:5");
    CHECK_INT(sf_group_due(b.group), 1300);
    CHECK_INT(sf_group_step(b.group, INT64_MAX, UINT64_MAX), SF_GROUP_EPOCH);
    CHECK_INT(sf_group_step(b.group, INT64_MAX, UINT64_MAX), SF_GROUP_IDLE);
    CHECK_STR(bench_answer(&b, "sums", text), "");
    bench_close(&b);
}
