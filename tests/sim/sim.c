/* The simulator: sources, tables and restarts on a disk that fails and forgets, one order of events a
 * seed.
 *
 * A schedule pushes rows, lets work go on for a while, lets time pass, asks for checkpoints, makes
 * the disk fail and crashes, in an order drawn from its seed; a crash keeps of the unsynced bytes
 * what the seed says. After every restart and at the end the tables are read. Then
 *
 *  - every row whose push was acknowledged is there, once,
 *  - of a push that was never answered all rows are there or none,
 *  - every table equals its query over the rows that are there, computed here in plain C.
 *
 *     sim [--schedules N] [--seed S] [--steps N]
 *
 * A schedule that fails says its seed: --seed S --schedules 1 runs it again, step by step the same. */
#include "runtime/runtime.h"
#include "unit/store/memory_disk.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    SOURCES = 2,
    KEYS = 5,
    ROWS_MAX = 4096,
    BATCH_MAX = 12,
    PUSHES_MAX = 1024,
    SETTLE_STEPS_MAX = 200000,
    WALL_START_MS = 1000000,
};

/* ---- the schedule ---- */

typedef enum { PUSH_OPEN, PUSH_ACKNOWLEDGED, PUSH_UNSURE } push_state;

typedef struct {
    push_state state;
    uint32_t source;
    int64_t first, count; /* its rows have v = first, first + 1, ... */
} push_record;

/* What a push is answered into: it must not move while the push is open. */
typedef struct {
    struct schedule *schedule;
    uint32_t number;
} answer;

typedef struct schedule {
    uint64_t seed;
    sf_rng rng;
    int64_t now_ns;
    memory_disk *disk;
    sf_pool *pool;
    sf_runtime *runtime;
    push_record pushes[PUSHES_MAX];
    answer answers[PUSHES_MAX];
    uint32_t push_count;
    int64_t next_value[SOURCES];
    int64_t keys[SOURCES][ROWS_MAX]; /* k of the row with this v */
    bool failing;                    /* the disk is */
    uint32_t crashes, failures;
} schedule;

static void complain(schedule *s, const char *what, const char *detail)
{
    if (s->failures++ < 5)
        printf("seed %llu: %s: %s\n", (unsigned long long)s->seed, what, detail);
}

static uint64_t draw(schedule *s, uint64_t below)
{
    return sf_rng_below(&s->rng, below);
}

/* ---- the world ---- */

static int64_t wall_ms(void *self)
{
    return WALL_START_MS + ((const schedule *)self)->now_ns / 1000000;
}

static int64_t mono_ns(void *self)
{
    return ((const schedule *)self)->now_ns;
}

static void fill(void *self, void *bytes, size_t len)
{
    schedule *s = self;
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)draw(s, 256);
}

static const sf_field kv[2] = {{"k", SF_TYPE_I64, false}, {"v", SF_TYPE_I64, false}};
static const char *const source_names[SOURCES] = {"a", "b"};

static const struct {
    const char *name, *sql;
} tables[] = {
    {"all_a", "SELECT k, v FROM a"},
    {"all_b", "SELECT k, v FROM b"},
    {"sums", "SELECT k, SUM(v) AS s, COUNT(*) AS n FROM a GROUP BY k"},
    {"ends", "SELECT k, MIN(v) AS low, MAX(v) AS high FROM b GROUP BY k"},
    {"pairs", "SELECT a.k AS k, COUNT(*) AS n FROM a JOIN b ON a.k = b.k GROUP BY a.k"},
    {"newest", "SELECT k, v FROM a LATEST BY k"},
    {"big", "SELECT COUNT(*) AS n, SUM(s) AS s FROM sums WHERE n > 2"},
    {"missing", "SELECT k, v FROM a WHERE k NOT IN (SELECT k FROM b)"},
};

static bool add_sources(schedule *s, sf_error *err)
{
    sf_schema *schema = sf_relation_schema(kv, 2, SF_INPUT_SOURCE);
    bool good = schema != NULL;
    for (int i = 0; good && i < SOURCES; i++) {
        sf_source_spec spec = {
            .name = source_names[i],
            .kind = sf_source_kind_find(SF_STR("ingest")),
            .config = {.name = sf_str_of(source_names[i]), .schema = schema},
            .ingest = {.policy = SF_INGEST_REJECT, .capacity_rows = 200, .max_wait_ms = 1000},
            .journaled = true,
            .enabled = true};
        good = sf_runtime_add_source(s->runtime, &spec, err) == SF_OK;
    }
    sf_schema_unref(schema);
    return good;
}

static bool start_tables(schedule *s, sf_error *err)
{
    bool good = true;
    for (size_t i = 0; good && i < SF_COUNT_OF(tables); i++) {
        sf_query_spec spec = {.name = tables[i].name,
                              .id = "an-id",
                              .kind = SF_PLAN_TABLE,
                              .sql = sf_str_of(tables[i].sql)};
        good = sf_runtime_start_query(s->runtime, &spec, NULL, err) == SF_OK;
    }
    return good;
}

static bool begin(schedule *s)
{
    sf_error err = {0};
    sf_clock clock = {wall_ms, mono_ns, s};
    sf_loop_options loop = {.clock = clock, .seed = draw(s, UINT32_MAX) + 1};
    if (sf_loop_open(&loop, &s->pool, &err) != SF_OK) {
        complain(s, "the loop does not open", err.message);
        return false;
    }
    sf_runtime_options options = {
        .pool = s->pool,
        .port = {.disk = memory_disk_seam(s->disk), .clock = clock, .random = {fill, s}},
        .dir = "data",
        .checkpoint_ms = 500 + (int64_t)draw(s, 3000)};
    sf_status status = options.port.disk.make_dir(options.port.disk.self, "data", &err);
    if (status == SF_OK || status == SF_EXISTS)
        status = sf_runtime_open(&options, &s->runtime, &err);
    if (status != SF_OK || !add_sources(s, &err) || !start_tables(s, &err) ||
        sf_runtime_start(s->runtime, &err) != SF_OK) {
        complain(s, "the system does not start", err.message);
        return false;
    }
    return true;
}

static void end(schedule *s)
{
    sf_runtime_close(s->runtime);
    if (s->pool)
        sf_pool_close(s->pool);
    s->runtime = NULL;
    s->pool = NULL;
    for (uint32_t i = 0; i < s->push_count; i++)
        if (s->pushes[i].state == PUSH_OPEN)
            s->pushes[i].state = PUSH_UNSURE;
}

static void settle(schedule *s)
{
    int steps = 0;
    while (sf_loop_step(s->pool) && steps < SETTLE_STEPS_MAX)
        steps++;
    if (steps == SETTLE_STEPS_MAX)
        complain(s, "work never ends", "");
}

/* Nothing more reaches the disk; what was not synced may be gone. */
static bool crash(schedule *s)
{
    memory_disk_fail_at(s->disk, 1, SF_IO);
    s->failing = true;
    settle(s); /* what is under way fails, and is let go */
    end(s);
    memory_disk_fail_at(s->disk, 0, SF_OK);
    memory_disk_crash(s->disk, draw(s, UINT64_MAX));
    s->failing = false;
    s->crashes++;
    return begin(s);
}

/* ---- pushing ---- */

static void answered(void *arg, const sf_push_result *result, const sf_error *error)
{
    const answer *to = arg;
    push_record *push = &to->schedule->pushes[to->number];
    if (push->state != PUSH_OPEN)
        complain(to->schedule, "a push was answered twice", "");
    push->state = error ? PUSH_UNSURE : PUSH_ACKNOWLEDGED;
    if (!error && (result->accepted != (uint64_t)push->count || !result->durable))
        complain(to->schedule, "an acknowledgement is wrong", "");
}

static sf_batch *batch_of(schedule *s, const push_record *push)
{
    sf_schema *schema = sf_relation_schema(kv, 2, SF_INPUT_SOURCE);
    sf_batch_builder builder;
    bool room = schema && sf_batch_builder_init(&builder, schema);
    SF_ASSERT(room);
    for (int64_t v = push->first; v < push->first + push->count; v++) {
        sf_builder_i64(&builder.columns[0], s->keys[push->source][v]);
        sf_builder_i64(&builder.columns[1], v);
        sf_builder_bool(&builder.columns[2], false);
        sf_builder_i64(&builder.columns[3], WALL_START_MS + v); /* _ts grows with v */
        sf_batch_builder_row(&builder, 1);
    }
    sf_batch *batch = sf_batch_builder_finish(&builder);
    sf_batch_builder_deinit(&builder);
    sf_schema_unref(schema);
    SF_ASSERT(batch);
    return batch;
}

static void push_rows(schedule *s)
{
    uint32_t source = (uint32_t)draw(s, SOURCES), number = s->push_count;
    int64_t count = 1 + (int64_t)draw(s, BATCH_MAX);
    if (number == PUSHES_MAX || s->next_value[source] + count > ROWS_MAX)
        return;
    push_record *push = &s->pushes[number];
    *push = (push_record){PUSH_OPEN, source, s->next_value[source], count};
    for (int64_t v = push->first; v < push->first + count; v++)
        s->keys[source][v] = (int64_t)draw(s, KEYS);
    s->answers[number] = (answer){s, number};
    s->push_count++;
    s->next_value[source] += count;
    sf_batch *batch = batch_of(s, push);
    uint32_t retry_ms;
    sf_error err = {0};
    sf_status status = sf_runtime_push(s->runtime, source_names[source], &batch, 1, false, answered,
                                       &s->answers[number], &retry_ms, &err);
    sf_batch_unref(batch);
    if (status == SF_OK)
        return;
    push->state = PUSH_UNSURE;
    if (status != SF_OVERLOADED && !s->failing)
        complain(s, "a push was refused", err.message);
}

/* ---- what is there ---- */

typedef struct {
    int64_t cells[3];
} table_row;

typedef struct {
    table_row rows[2 * ROWS_MAX];
    uint32_t count;
} answer_rows;

static int by_cells(const void *a, const void *b)
{
    for (int i = 0; i < 3; i++) {
        int64_t x = ((const table_row *)a)->cells[i], y = ((const table_row *)b)->cells[i];
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

static void add_row(answer_rows *out, int64_t a, int64_t b, int64_t c)
{
    if (out->count < SF_COUNT_OF(out->rows))
        out->rows[out->count++] = (table_row){{a, b, c}};
}

static int64_t cell_of(const sf_batch *batch, uint32_t column, uint32_t row)
{
    if (column >= batch->schema->count || batch->schema->fields[column].hidden)
        return 0;
    return sf_column_is_valid(batch->columns[column], row)
               ? SF_LANES(batch->columns[column], int64_t)[row]
               : INT64_MIN;
}

static bool read_table(schedule *s, const char *name, answer_rows *out)
{
    sf_snapshot *snapshot = NULL;
    sf_schema *schema = NULL;
    sf_snapshot_cursor cursor = {0};
    uint64_t epoch;
    sf_error err = {0};
    out->count = 0;
    sf_status status = sf_runtime_snapshot(s->runtime, name, &snapshot, &schema, &epoch, &err);
    for (bool more = status == SF_OK; more;) {
        sf_batch *batch = NULL;
        status = sf_snapshot_read(snapshot, schema, 0, 1024, &cursor, &batch, &err);
        more = status == SF_OK && batch;
        for (uint32_t i = 0; more && i < batch->rows; i++)
            for (int64_t n = sf_batch_weight(batch, i); n > 0; n--)
                add_row(out, cell_of(batch, 0, i), cell_of(batch, 1, i), cell_of(batch, 2, i));
        sf_batch_unref(batch);
    }
    sf_snapshot_unref(snapshot);
    sf_schema_unref(schema);
    if (status != SF_OK)
        complain(s, name, err.message);
    qsort(out->rows, out->count, sizeof *out->rows, by_cells);
    return status == SF_OK;
}

/* Which rows are there: each once, those acknowledged all, those of one push all or none. */
static void check_rows(schedule *s, uint32_t source, const answer_rows *rows, bool *there)
{
    memset(there, 0, ROWS_MAX * sizeof *there);
    for (uint32_t i = 0; i < rows->count; i++) {
        int64_t k = rows->rows[i].cells[0], v = rows->rows[i].cells[1];
        if (v < 0 || v >= s->next_value[source] || s->keys[source][v] != k)
            complain(s, source_names[source], "a row that nobody pushed");
        else if (there[v])
            complain(s, source_names[source], "a row is there twice");
        else
            there[v] = true;
    }
    for (uint32_t i = 0; i < s->push_count; i++) {
        const push_record *push = &s->pushes[i];
        int64_t found = 0;
        for (int64_t v = push->first; v < push->first + push->count; v++)
            found += push->source == source && there[v];
        if (push->source != source)
            continue;
        if (push->state == PUSH_ACKNOWLEDGED && found < push->count)
            complain(s, source_names[source], "an acknowledged row is gone");
        if (found != 0 && found != push->count)
            complain(s, source_names[source], "a push is there in part");
    }
}

/* ---- the tables, computed from the rows ---- */

typedef struct {
    int64_t count, sum, low, high;
} key_totals;

static void total(const schedule *s, uint32_t source, const bool *there, key_totals *out)
{
    for (int k = 0; k < KEYS; k++)
        out[k] = (key_totals){0, 0, INT64_MAX, INT64_MIN};
    for (int64_t v = 0; v < s->next_value[source]; v++) {
        key_totals *key = &out[s->keys[source][v]];
        if (!there[v])
            continue;
        key->count++;
        key->sum += v;
        key->low = v < key->low ? v : key->low;
        key->high = v > key->high ? v : key->high;
    }
}

static void compute(const char *name, const schedule *s, const bool *there_a, const key_totals *a,
                    const key_totals *b, answer_rows *out)
{
    int64_t big = 0, big_sum = 0;
    out->count = 0;
    for (int k = 0; k < KEYS; k++) {
        big += a[k].count > 2;
        big_sum += a[k].count > 2 ? a[k].sum : 0;
        if (strcmp(name, "sums") == 0 && a[k].count)
            add_row(out, k, a[k].sum, a[k].count);
        else if (strcmp(name, "ends") == 0 && b[k].count)
            add_row(out, k, b[k].low, b[k].high);
        else if (strcmp(name, "pairs") == 0 && a[k].count && b[k].count)
            add_row(out, k, a[k].count * b[k].count, 0);
        else if (strcmp(name, "newest") == 0 && a[k].count)
            add_row(out, k, a[k].high, 0);
    }
    if (strcmp(name, "big") == 0)
        add_row(out, big, big ? big_sum : INT64_MIN, 0);
    for (int64_t v = 0; strcmp(name, "missing") == 0 && v < s->next_value[0]; v++)
        if (there_a[v] && !b[s->keys[0][v]].count)
            add_row(out, s->keys[0][v], v, 0);
    qsort(out->rows, out->count, sizeof *out->rows, by_cells);
}

static void verify(schedule *s)
{
    static answer_rows rows, wanted;
    static bool there[SOURCES][ROWS_MAX];
    key_totals totals[SOURCES][KEYS];
    for (uint32_t i = 0; i < SOURCES; i++) {
        if (!read_table(s, tables[i].name, &rows))
            return;
        check_rows(s, i, &rows, there[i]);
        total(s, i, there[i], totals[i]);
    }
    for (size_t i = SOURCES; i < SF_COUNT_OF(tables); i++) {
        if (!read_table(s, tables[i].name, &rows))
            return;
        compute(tables[i].name, s, there[0], totals[0], totals[1], &wanted);
        if (rows.count != wanted.count ||
            memcmp(rows.rows, wanted.rows, rows.count * sizeof *rows.rows) != 0)
            complain(s, tables[i].name, "the table is not its query over the rows");
    }
}

/* ---- one schedule ---- */

static bool step(schedule *s)
{
    sf_error err = {0};
    switch (draw(s, 40)) {
    case 0: return crash(s);
    case 1:
        memory_disk_fail_at(s->disk, 1 + draw(s, 12), draw(s, 2) ? SF_IO : SF_LIMIT);
        s->failing = true;
        return true;
    case 2:
        if (s->failing)
            return crash(s);
        settle(s); /* the call waits for writers that only the loop's steps move on */
        if (sf_runtime_checkpoint(s->runtime, &err) != SF_OK)
            complain(s, "a checkpoint fails", err.message);
        return true;
    case 3: s->now_ns += (int64_t)draw(s, 3000) * 1000000; return true;
    case 4: settle(s); return true;
    case 5:
    case 6:
    case 7:
    case 8:
    case 9:
    case 10: push_rows(s); return true;
    default:
        for (uint64_t n = draw(s, 12); n > 0 && sf_loop_step(s->pool); n--)
            continue;
        return true;
    }
}

static uint32_t run(schedule *s, uint64_t seed, uint32_t steps)
{
    *s = (schedule){.seed = seed, .rng = {seed * 2 + 1}, .disk = memory_disk_new()};
    SF_ASSERT(s->disk);
    bool up = begin(s);
    for (uint32_t i = 0; i < steps && up && !s->failures; i++) {
        uint32_t crashes = s->crashes;
        up = step(s);
        if (up && s->crashes > crashes) {
            settle(s);
            verify(s);
        }
    }
    if (up && s->failing)
        up = crash(s);
    if (up) {
        settle(s);
        verify(s);
        for (uint32_t i = 0; i < s->push_count; i++)
            if (s->pushes[i].state == PUSH_OPEN)
                complain(s, "a push was never answered", "");
    }
    end(s);
    memory_disk_free(s->disk);
    return s->failures;
}

/* ---- the command ---- */

static bool number_of(const char *text, uint64_t *out)
{
    char *after;
    *out = strtoull(text, &after, 10);
    return text[0] >= '0' && text[0] <= '9' && *after == '\0';
}

int main(int argc, char **argv)
{
    uint64_t schedules = 100, seed = 1, steps = 400;
    for (int i = 1; i < argc; i += 2) {
        uint64_t *to = strcmp(argv[i], "--schedules") == 0 ? &schedules
                       : strcmp(argv[i], "--seed") == 0    ? &seed
                       : strcmp(argv[i], "--steps") == 0   ? &steps
                                                           : NULL;
        if (!to || i + 1 == argc || !number_of(argv[i + 1], to)) {
            fprintf(stderr, "usage: sim [--schedules N] [--seed S] [--steps N]\n");
            return 2;
        }
    }
    static schedule s;
    uint64_t failed = 0, crashes = 0, pushes = 0;
    for (uint64_t i = 0; i < schedules; i++) {
        failed += run(&s, seed + i, (uint32_t)steps) > 0;
        crashes += s.crashes;
        pushes += s.push_count;
    }
    printf("%llu crashes, %llu pushes\n", (unsigned long long)crashes, (unsigned long long)pushes);
    printf("%llu passed, %llu failed\n", (unsigned long long)(schedules - failed),
           (unsigned long long)failed);
    return failed == 0 && schedules > 0 ? 0 : 1;
}
