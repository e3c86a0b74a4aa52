/* Circuits against plain recomputation: random histories of inserts and retractions, cut into random
 * epochs, with a save and a load now and then; after every epoch the answer must be what a loop over
 * the live rows gives. Seeds are fixed; a failure prints its seed. */
#include "base/seam.h"
#include "flow/flow.h"
#include "unit/check.h"

#define NONE INT64_MIN /* stands for NULL */

typedef struct {
    int64_t k, v, ts;
} row;

typedef struct {
    row rows[4096];
    int count;
} side;

/* An answer's row: up to four values. */
typedef struct {
    int64_t value[4];
} answer;

typedef struct {
    answer rows[65536];
    int count;
} answers;

static answers expected, actual;

static void add_answer(answers *to, int64_t a, int64_t b, int64_t c, int64_t d)
{
    if (to->count < (int)SF_COUNT_OF(to->rows))
        to->rows[to->count++] = (answer){{a, b, c, d}};
}

static int by_values(const void *x, const void *y)
{
    return memcmp(x, y, sizeof(answer));
}

static bool same_answers(void)
{
    qsort(expected.rows, (size_t)expected.count, sizeof(answer), by_values);
    qsort(actual.rows, (size_t)actual.count, sizeof(answer), by_values);
    return expected.count == actual.count &&
           memcmp(expected.rows, actual.rows, (size_t)expected.count * sizeof(answer)) == 0;
}

/* ---- inputs ---- */

static const sf_field kv[] = {{"k", SF_TYPE_I64, false}, {"v", SF_TYPE_I64, false}};

static sf_schema *kv_schema(void)
{
    sf_field all[] = {kv[0], kv[1], {SF_COL_TS, SF_TYPE_I64, true}};
    return sf_schema_new(all, 3);
}

static void put(sf_builder *builder, int64_t value)
{
    if (value == NONE)
        sf_builder_null(builder);
    else
        sf_builder_i64(builder, value);
}

/* A random change of a side: mostly inserts, else one of its rows goes. */
static void change(side *to, sf_rng *rng, sf_batch_builder *out)
{
    bool retract = to->count > 0 && sf_rng_below(rng, 5) < 2;
    int at = retract ? (int)sf_rng_below(rng, (uint64_t)to->count) : to->count;
    if (!retract) {
        if (to->count == (int)SF_COUNT_OF(to->rows))
            return;
        to->rows[at] = (row){.k = sf_rng_below(rng, 8) == 0 ? NONE : (int64_t)sf_rng_below(rng, 6),
                             .v = sf_rng_below(rng, 10) == 0 ? NONE : (int64_t)sf_rng_below(rng, 5),
                             .ts = (int64_t)sf_rng_below(rng, 3)};
        to->count++;
    }
    put(&out->columns[0], to->rows[at].k);
    put(&out->columns[1], to->rows[at].v);
    sf_builder_i64(&out->columns[2], to->rows[at].ts);
    sf_batch_builder_row(out, retract ? -1 : 1);
    if (retract)
        to->rows[at] = to->rows[--to->count];
}

/* ---- a circuit under test ---- */

typedef struct {
    sf_plan *plan;
    sf_circuit *circuit;
    sf_schema *schema;
    side sides[2];
    uint32_t inputs;
    uint64_t epoch;
    /* which columns of the answer are compared */
    uint32_t columns[4], column_count;
} bench;

static sf_error error;

static bool read_answer(bench *b)
{
    sf_snapshot *snapshot = sf_circuit_snapshot(b->circuit);
    sf_snapshot_cursor cursor = {0};
    sf_batch *batch;
    actual.count = 0;
    while (sf_snapshot_read(snapshot, sf_plan_schema(b->plan), 0, 1000, &cursor, &batch, &error) ==
               SF_OK &&
           batch) {
        for (uint32_t i = 0; i < batch->rows; i++) {
            int64_t value[4] = {0};
            for (uint32_t c = 0; c < b->column_count; c++) {
                const sf_column *column = batch->columns[b->columns[c]];
                value[c] = sf_column_is_valid(column, i) ? SF_LANES(column, int64_t)[i] : NONE;
            }
            if (sf_batch_weight(batch, i) < 0)
                return false;
            for (int64_t w = sf_batch_weight(batch, i); w > 0; w--)
                add_answer(&actual, value[0], value[1], value[2], value[3]);
        }
        sf_batch_unref(batch);
    }
    sf_snapshot_unref(snapshot);
    return true;
}

typedef struct {
    sf_circuit *circuit;
    uint32_t number;
} loading;

static sf_status load_page(void *arg, uint32_t page_no, const void *bytes, sf_error *err)
{
    const loading *to = arg;
    return bytes ? sf_circuit_load_page(to->circuit, to->number, page_no, bytes, err) : SF_OK;
}

/* Saves, throws the circuit away, loads. */
static bool restart(bench *b)
{
    sf_circuit *fresh;
    sf_buf blob = {0};
    bool good = sf_circuit_new(b->plan, NULL, &fresh, &error) == SF_OK &&
                sf_circuit_save(b->circuit, &blob, &error) == SF_OK;
    for (uint32_t n = 0; good && n < sf_circuit_arrangement_count(b->circuit); n++) {
        sf_snapshot *snapshot = sf_circuit_arrangement_snapshot(b->circuit, n);
        loading to = {fresh, n};
        good = snapshot && sf_snapshot_pages(snapshot, 0, load_page, &to, &error) == SF_OK;
        sf_snapshot_unref(snapshot);
    }
    good = good && sf_circuit_load_finish(fresh, sf_buf_str(&blob), &error) == SF_OK;
    sf_buf_deinit(&blob);
    sf_circuit_free(b->circuit);
    b->circuit = fresh;
    return good;
}

/* One epoch of random changes, in batches of random size, run in random steps. */
static bool run_epoch(bench *b, sf_rng *rng)
{
    b->epoch++;
    sf_circuit_begin(b->circuit, b->epoch, 1000 + (int64_t)b->epoch);
    uint64_t batches = sf_rng_below(rng, 4);
    for (uint64_t i = 0; i < batches; i++) {
        uint32_t input = (uint32_t)sf_rng_below(rng, b->inputs);
        sf_batch_builder builder;
        if (!sf_batch_builder_init(&builder, b->schema))
            return false;
        for (uint64_t n = 1 + sf_rng_below(rng, 12); n > 0; n--)
            change(&b->sides[input], rng, &builder);
        sf_batch *batch = sf_batch_builder_finish(&builder);
        sf_batch_builder_deinit(&builder);
        if (batch && sf_circuit_push(b->circuit, input, batch, &error) != SF_OK)
            return false;
        sf_batch_unref(batch);
        if (sf_rng_below(rng, 2) &&
            sf_circuit_step(b->circuit, 1 + sf_rng_below(rng, 9), &error) == SF_STEP_FAILED)
            return false;
    }
    sf_circuit_finish(b->circuit);
    sf_step step;
    while ((step = sf_circuit_step(b->circuit, 1 + sf_rng_below(rng, 50), &error)) == SF_STEP_MORE)
        continue;
    return step == SF_STEP_DONE;
}

typedef void (*recompute)(const bench *b);

static void run_history(bench *b, recompute expect, uint64_t seed, int epochs)
{
    sf_rng rng = {seed};
    if (sf_circuit_new(b->plan, NULL, &b->circuit, &error) != SF_OK) {
        printf("  %s\n", error.message);
        CHECK(false);
        return;
    }
    for (int e = 0; e < epochs; e++) {
        bool good = run_epoch(b, &rng) && (sf_rng_below(&rng, 6) || restart(b)) && read_answer(b);
        expected.count = 0;
        expect(b);
        if (!good || !same_answers()) {
            printf("  seed %llu, epoch %d: %d rows instead of %d %s\n", (unsigned long long)seed, e,
                   actual.count, expected.count, good ? "" : error.message);
            CHECK(good && same_answers());
            break;
        }
    }
    sf_circuit_free(b->circuit);
    b->circuit = NULL;
}

static bool open_bench(bench *b, uint32_t inputs)
{
    static const char *const names[] = {"l", "r"};
    *b = (bench){.plan = sf_plan_new(SF_PLAN_TABLE), .schema = kv_schema(), .inputs = inputs};
    for (uint32_t i = 0; i < inputs; i++) {
        uint32_t node;
        if (sf_plan_scan(b->plan, names[i], SF_INPUT_TABLE, b->schema, false, &node, &error) !=
            SF_OK)
            return false;
    }
    return b->plan && b->schema;
}

static void close_bench(bench *b)
{
    sf_plan_free(b->plan);
    sf_schema_unref(b->schema);
}

static bench shared; /* large: not on the stack */

/* ---- joins ---- */

static sf_join_kind join_kind;
static bool join_residual; /* AND l.v < r.v */

static bool pair_matches(row l, row r)
{
    bool equal = l.k != NONE && l.k == r.k;
    return equal && (!join_residual || (l.v != NONE && r.v != NONE && l.v < r.v));
}

static void expect_join(const bench *b)
{
    const side *left = &b->sides[0], *right = &b->sides[1];
    bool pads_left = join_kind == SF_JOIN_LEFT || join_kind == SF_JOIN_FULL;
    bool pads_right = join_kind == SF_JOIN_RIGHT || join_kind == SF_JOIN_FULL;
    for (int i = 0; i < left->count; i++) {
        row l = left->rows[i];
        int matches = 0;
        for (int j = 0; j < right->count; j++) {
            if (!pair_matches(l, right->rows[j]))
                continue;
            matches++;
            if (join_kind <= SF_JOIN_FULL)
                add_answer(&expected, l.k, l.v, right->rows[j].k, right->rows[j].v);
        }
        bool alone = join_kind == SF_JOIN_ANTI ? matches == 0
                     : join_kind == SF_JOIN_SEMI
                         ? matches > 0
                         : join_kind == SF_JOIN_NOT_IN &&
                               (right->count == 0 || (matches == 0 && l.k != NONE));
        if (pads_left && matches == 0)
            add_answer(&expected, l.k, l.v, NONE, NONE);
        if (alone)
            add_answer(&expected, l.k, l.v, 0, 0);
    }
    for (int j = 0; pads_right && j < right->count; j++) {
        int matches = 0;
        for (int i = 0; i < left->count; i++)
            matches += pair_matches(left->rows[i], right->rows[j]);
        if (matches == 0)
            add_answer(&expected, NONE, NONE, right->rows[j].k, right->rows[j].v);
    }
}

static const sf_expr *less_than(sf_plan *plan, uint32_t a, uint32_t b)
{
    sf_span none = {0, 0};
    const sf_expr *args[2], *out = NULL;
    if (sf_expr_column(&plan->arena, a, SF_TYPE_I64, none, &args[0], &error) != SF_OK ||
        sf_expr_column(&plan->arena, b, SF_TYPE_I64, none, &args[1], &error) != SF_OK ||
        sf_expr_call(&plan->arena, SF_STR("<"), args, 2, none, &out, &error) != SF_OK)
        return NULL;
    return out;
}

static void test_join(sf_join_kind kind, bool residual)
{
    join_kind = kind;
    join_residual = residual;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        REQUIRE(open_bench(&shared, 2));
        uint32_t key = 0;
        sf_join_spec spec = {.kind = kind,
                             .left = 0,
                             .right = 1,
                             .left_keys = &key,
                             .right_keys = &key,
                             .key_count = 1,
                             .within_ms = -1};
        /* columns of the joined row: l.k l.v l._ts r.k r.v r._ts */
        if (residual)
            spec.residual = less_than(shared.plan, 1, 4);
        REQUIRE_OK(sf_plan_join(shared.plan, &spec, &shared.plan->output, &error), error);
        bool pairs = kind <= SF_JOIN_FULL;
        uint32_t columns[] = {0, 1, 3, 4};
        memcpy(shared.columns, columns, sizeof columns);
        shared.column_count = pairs ? 4 : 2;
        run_history(&shared, expect_join, seed * 7919 + (uint64_t)kind, 40);
        close_bench(&shared);
    }
}

static void inner_join(void)
{
    test_join(SF_JOIN_INNER, false);
}
static void left_join(void)
{
    test_join(SF_JOIN_LEFT, false);
}
static void right_join(void)
{
    test_join(SF_JOIN_RIGHT, false);
}
static void full_join(void)
{
    test_join(SF_JOIN_FULL, false);
}
static void semi_join(void)
{
    test_join(SF_JOIN_SEMI, false);
}
static void anti_join(void)
{
    test_join(SF_JOIN_ANTI, false);
}
static void not_in_join(void)
{
    test_join(SF_JOIN_NOT_IN, false);
}
static void joins_with_a_residual(void)
{
    for (int kind = SF_JOIN_INNER; kind <= SF_JOIN_ANTI; kind++)
        test_join((sf_join_kind)kind, true);
}

/* ---- grouping ---- */

/* k, COUNT(*), MIN(v), MAX(v): the global group when grouped is false. */
static bool grouped;

static void expect_group(const bench *b)
{
    bool done[16] = {false};
    for (int i = -1; i < b->sides[0].count; i++) {
        if (i < 0 && grouped)
            continue;
        int64_t k = i < 0 ? 0 : b->sides[0].rows[i].k;
        int slot = k == NONE ? 15 : (int)k;
        if (grouped ? done[slot] : i >= 0)
            continue;
        done[slot] = true;
        int64_t count = 0, low = NONE, high = NONE;
        for (int j = 0; j < b->sides[0].count; j++) {
            row r = b->sides[0].rows[j];
            if (grouped && r.k != k)
                continue;
            count++;
            if (r.v == NONE)
                continue;
            low = low == NONE || r.v < low ? r.v : low;
            high = high == NONE || r.v > high ? r.v : high;
        }
        if (grouped)
            add_answer(&expected, k, count, low, high);
        else
            add_answer(&expected, count, low, high, 0);
    }
}

static void test_group(bool by_key)
{
    grouped = by_key;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        REQUIRE(open_bench(&shared, 1));
        sf_span none = {0, 0};
        const sf_expr *v;
        sf_agg_call calls[3];
        sf_arena *arena = &shared.plan->arena;
        REQUIRE_OK(sf_expr_column(arena, 1, SF_TYPE_I64, none, &v, &error), error);
        const char *const aggregates[] = {"count", "min", "max"};
        for (uint32_t i = 0; i < 3; i++) {
            sf_agg_spec spec = {
                .name = sf_str_of(aggregates[i]), .args = &v, .arg_count = i > 0, .star = i == 0};
            REQUIRE_OK(sf_aggregate_bind(arena, &spec, &calls[i], &error), error);
        }
        const char *names[] = {"n", "low", "high"};
        uint32_t key = 0;
        REQUIRE_OK(sf_plan_reduce(shared.plan, 0, &key, by_key, calls, names, 3,
                                  &shared.plan->output, &error),
                   error);
        uint32_t columns[] = {0, 1, 2, 3};
        memcpy(shared.columns, columns, sizeof columns);
        shared.column_count = by_key ? 4 : 3;
        run_history(&shared, expect_group, seed * 104729, 40);
        close_bench(&shared);
    }
}

static void group_by_key(void)
{
    test_group(true);
}
static void group_globally(void)
{
    test_group(false);
}

/* ---- DISTINCT and LATEST BY ---- */

static void expect_distinct(const bench *b)
{
    for (int i = 0; i < b->sides[0].count; i++) {
        row r = b->sides[0].rows[i];
        bool before = false;
        for (int j = 0; j < i; j++)
            before |= b->sides[0].rows[j].k == r.k && b->sides[0].rows[j].v == r.v;
        if (!before)
            add_answer(&expected, r.k, r.v, 0, 0);
    }
}

static void distinct(void)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        REQUIRE(open_bench(&shared, 1));
        uint32_t keys[] = {0, 1};
        REQUIRE_OK(
            sf_plan_reduce(shared.plan, 0, keys, 2, NULL, NULL, 0, &shared.plan->output, &error),
            error);
        shared.columns[1] = 1;
        shared.column_count = 2;
        run_history(&shared, expect_distinct, seed * 15485863, 40);
        close_bench(&shared);
    }
}

/* NULLs first, as the ordered index has it. */
static bool newer(row a, row b)
{
    return a.ts != b.ts ? a.ts > b.ts : a.v > b.v;
}

static void expect_latest(const bench *b)
{
    for (int64_t k = -1; k < 6; k++) {
        int best = -1;
        for (int i = 0; i < b->sides[0].count; i++) {
            row r = b->sides[0].rows[i];
            if (r.k == (k < 0 ? NONE : k) && (best < 0 || newer(r, b->sides[0].rows[best])))
                best = i;
        }
        if (best >= 0) {
            row r = b->sides[0].rows[best];
            add_answer(&expected, r.k, r.v, r.ts, 0);
        }
    }
}

static void latest_by_over_weighted_rows(void)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        REQUIRE(open_bench(&shared, 1));
        uint32_t key = 0;
        REQUIRE_OK(sf_plan_latest(shared.plan, 0, &key, 1, false, &shared.plan->output, &error),
                   error);
        uint32_t columns[] = {0, 1, 2, 0};
        memcpy(shared.columns, columns, sizeof columns);
        shared.column_count = 3;
        run_history(&shared, expect_latest, seed * 32452843, 40);
        close_bench(&shared);
    }
}

/* ---- rows of a partition in order ---- */

static side sorted;

/* By k, then v descending with NULLs first, then time. */
static int in_order(const void *x, const void *y)
{
    const row *a = x, *b = y;
    if (a->k != b->k)
        return a->k < b->k ? -1 : 1;
    if (a->v != b->v)
        return a->v == NONE || (b->v != NONE && a->v > b->v) ? -1 : 1;
    return (a->ts > b->ts) - (a->ts < b->ts);
}

static void sort_rows(const bench *b)
{
    sorted = b->sides[0];
    qsort(sorted.rows, (size_t)sorted.count, sizeof(row), in_order);
}

static void expect_top(const bench *b)
{
    int first = 0;
    sort_rows(b);
    for (int i = 0; i < sorted.count; i++) {
        row r = sorted.rows[i];
        if (sorted.rows[first].k != r.k)
            first = i;
        if (i - first >= 1 && i - first < 4)
            add_answer(&expected, r.k, r.v, r.ts, 0);
    }
}

static void expect_over(const bench *b)
{
    int first = 0, peer = 0;
    sort_rows(b);
    for (int i = 0; i < sorted.count; i++) {
        row r = sorted.rows[i];
        if (sorted.rows[first].k != r.k)
            first = i;
        if (peer < first || sorted.rows[peer].v != r.v)
            peer = i;
        add_answer(&expected, r.k, r.v, i - first + 1, peer - first + 1);
    }
}

static void test_over(sf_over_spec spec, recompute expect)
{
    static const uint32_t key = 0;
    static const sf_plan_order by = {1, true, true};
    spec.keys = &key;
    spec.order = &by;
    spec.key_count = spec.order_count = 1;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        REQUIRE(open_bench(&shared, 1));
        REQUIRE_OK(sf_plan_over(shared.plan, 0, &spec, &shared.plan->output, &error), error);
        uint32_t columns[] = {0, 1, 2, 3};
        memcpy(shared.columns, columns, sizeof columns);
        shared.column_count = spec.call_count ? 4 : 3;
        run_history(&shared, expect, seed * 15485863, 40);
        close_bench(&shared);
    }
}

static void top_of_each_key(void)
{
    test_over((sf_over_spec){.offset = 1, .limit = 3}, expect_top);
}

/* Rows behind a limit go at once where nothing is taken back. */
static void top_of_what_only_grows(void)
{
    static const sf_plan_order by = {1, true, true};
    sf_over_spec spec = {.order = &by, .order_count = 1, .limit = 3};
    bench *b = &shared;
    uint32_t node;
    *b = (bench){.plan = sf_plan_new(SF_PLAN_TABLE), .schema = kv_schema(), .inputs = 1};
    REQUIRE_OK(sf_plan_scan(b->plan, "l", SF_INPUT_TABLE, b->schema, true, &node, &error), error);
    REQUIRE_OK(sf_plan_over(b->plan, node, &spec, &b->plan->output, &error), error);
    REQUIRE_OK(sf_circuit_new(b->plan, NULL, &b->circuit, &error), error);
    for (int64_t e = 1; e <= 50; e++) {
        sf_batch_builder builder;
        REQUIRE(sf_batch_builder_init(&builder, b->schema));
        for (int64_t i = 0; i < 7; i++) {
            put(&builder.columns[0], i);
            put(&builder.columns[1], e * 37 % 50 * 10 + i);
            put(&builder.columns[2], e);
            sf_batch_builder_row(&builder, 1);
        }
        sf_batch *batch = sf_batch_builder_finish(&builder);
        sf_batch_builder_deinit(&builder);
        sf_circuit_begin(b->circuit, (uint64_t)e, e);
        REQUIRE(batch && sf_circuit_push(b->circuit, 0, batch, &error) == SF_OK);
        sf_batch_unref(batch);
        sf_circuit_finish(b->circuit);
        while (sf_circuit_step(b->circuit, 100, &error) == SF_STEP_MORE)
            continue;
    }
    sf_circuit_stats stats;
    sf_circuit_get_stats(b->circuit, &stats);
    CHECK_INT(stats.state_rows, 3 + 1 + 3); /* rows, their partition, the answer */
    b->column_count = 1;
    b->columns[0] = 1;
    REQUIRE(read_answer(b));
    expected.count = 0;
    for (int64_t v = 496; v >= 494; v--)
        add_answer(&expected, v, 0, 0, 0);
    CHECK(same_answers());
    sf_circuit_free(b->circuit);
    b->circuit = NULL;
    close_bench(b);
}

static void numbers_over_each_key(void)
{
    static const sf_over_call calls[] = {
        {.function = SF_OVER_ROW_NUMBER, .result_type = SF_TYPE_I64},
        {.function = SF_OVER_RANK, .result_type = SF_TYPE_I64},
    };
    static const char *const names[] = {"row_number", "rank"};
    test_over((sf_over_spec){.limit = SF_TOP_ALL, .calls = calls, .names = names, .call_count = 2},
              expect_over);
}

/* ---- the nearest row ---- */

static sf_asof_spec asof_spec;

static bool may_match(row l, row r)
{
    if (l.k == NONE || l.k != r.k || l.v == NONE || r.v == NONE)
        return false;
    if (l.v == r.v)
        return !asof_spec.strict;
    return asof_spec.forward ? r.v > l.v : r.v < l.v;
}

/* Is a right row better than another? At one time the later one counts as later in order. */
static bool nearer(row a, row b)
{
    bool later = a.v != b.v ? a.v > b.v : a.ts > b.ts;
    bool same = a.v == b.v && a.ts == b.ts;
    return !same && later != asof_spec.forward;
}

static void expect_asof(const bench *b)
{
    const side *left = &b->sides[0], *right = &b->sides[1];
    for (int i = 0; i < left->count; i++) {
        row l = left->rows[i];
        int best = -1;
        for (int j = 0; j < right->count; j++)
            if (may_match(l, right->rows[j]) &&
                (best < 0 || nearer(right->rows[j], right->rows[best])))
                best = j;
        if (best >= 0)
            add_answer(&expected, l.k, l.v, right->rows[best].v, right->rows[best].ts);
        else if (asof_spec.kind == SF_JOIN_LEFT)
            add_answer(&expected, l.k, l.v, NONE, NONE);
    }
}

static void nearest_rows(void)
{
    for (uint64_t seed = 1; seed <= 32; seed++) {
        REQUIRE(open_bench(&shared, 2));
        uint32_t key = 0;
        asof_spec = (sf_asof_spec){.kind = seed % 2 ? SF_JOIN_LEFT : SF_JOIN_INNER,
                                   .left_keys = &key,
                                   .right_keys = &key,
                                   .key_count = 1,
                                   .left_time = 1,
                                   .right_time = 1,
                                   .forward = seed / 2 % 2,
                                   .strict = seed / 4 % 2};
        REQUIRE_OK(sf_plan_asof(shared.plan, 0, 1, &asof_spec, &shared.plan->output, &error),
                   error);
        /* columns of the joined row: l.k l.v l._ts r.k r.v r._ts */
        uint32_t columns[] = {0, 1, 4, 5};
        memcpy(shared.columns, columns, sizeof columns);
        shared.column_count = 4;
        run_history(&shared, expect_asof, seed * 49979687, 40);
        close_bench(&shared);
    }
}

static const sf_case cases[] = {
    SF_CASE(inner_join),
    SF_CASE(left_join),
    SF_CASE(right_join),
    SF_CASE(full_join),
    SF_CASE(semi_join),
    SF_CASE(anti_join),
    SF_CASE(not_in_join),
    SF_CASE(joins_with_a_residual),
    SF_CASE(group_by_key),
    SF_CASE(group_globally),
    SF_CASE(distinct),
    SF_CASE(latest_by_over_weighted_rows),
    SF_CASE(top_of_each_key),
    SF_CASE(top_of_what_only_grows),
    SF_CASE(numbers_over_each_key),
    SF_CASE(nearest_rows),
};
SF_RUN("flow", cases)
