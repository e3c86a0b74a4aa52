/* Long random runs against the model: growth, removal, snapshots, saving and loading in between. */
#include "tests.h"

#include <pthread.h>

static const struct shape unique_shapes[] = {
    {"long key", SF_ARR_UNIQUE, 1, 1, 8, true, 3000, 1, false, {SF_TYPE_I64}},
    {"text key", SF_ARR_UNIQUE, 2, 2, 16, true, 60, 1, false, {SF_TYPE_UTF8, SF_TYPE_U8}},
    {"all types",
     SF_ARR_UNIQUE,
     16,
     16,
     8,
     true,
     2,
     1,
     false,
     {SF_TYPE_BOOL, SF_TYPE_I8, SF_TYPE_I16, SF_TYPE_I32, SF_TYPE_I64, SF_TYPE_U8, SF_TYPE_U16,
      SF_TYPE_U32, SF_TYPE_U64, SF_TYPE_F32, SF_TYPE_F64, SF_TYPE_UTF8, SF_TYPE_BINARY,
      SF_TYPE_TIMESTAMP, SF_TYPE_TIMESTAMP_NS, SF_TYPE_JSON}},
    {"long texts", SF_ARR_UNIQUE, 2, 2, 8, true, 12, 1, true, {SF_TYPE_UTF8, SF_TYPE_JSON}},
};
static const struct shape bag_shapes[] = {
    {"whole row", SF_ARR_BAG, 2, 2, 0, false, 60, 60, false, {SF_TYPE_I64, SF_TYPE_F64}},
    {"whole row with texts",
     SF_ARR_BAG,
     2,
     2,
     0,
     false,
     50,
     50,
     false,
     {SF_TYPE_UTF8, SF_TYPE_BINARY}},
    {"short chains", SF_ARR_BAG, 2, 1, 0, false, 500, 8, false, {SF_TYPE_I64, SF_TYPE_I32}},
    {"long chains",
     SF_ARR_BAG,
     3,
     1,
     0,
     false,
     3,
     40,
     false,
     {SF_TYPE_I32, SF_TYPE_UTF8, SF_TYPE_F32}},
    {"no key", SF_ARR_BAG, 2, 0, 0, false, 1, 50, false, {SF_TYPE_U16, SF_TYPE_BOOL}},
    {"long texts",
     SF_ARR_BAG,
     3,
     1,
     0,
     false,
     20,
     9,
     true,
     {SF_TYPE_I64, SF_TYPE_UTF8, SF_TYPE_UTF8}},
};
static const struct shape replace_shapes[] = {
    {"fixed",
     SF_ARR_UNIQUE,
     3,
     1,
     8,
     false,
     900,
     50,
     false,
     {SF_TYPE_I64, SF_TYPE_F64, SF_TYPE_I8}},
    {"texts",
     SF_ARR_UNIQUE,
     3,
     1,
     8,
     false,
     900,
     90,
     false,
     {SF_TYPE_I64, SF_TYPE_UTF8, SF_TYPE_UTF8}},
    {"long texts", SF_ARR_UNIQUE, 2, 1, 8, false, 60, 30, true, {SF_TYPE_UTF8, SF_TYPE_UTF8}},
};

enum { KEPT = 3 };

struct run {
    const struct shape *shape;
    sf_schema *schema;
    sf_arr *arr;
    sf_budget budget;
    struct model *rows;
    sf_rng rng;
    sf_snapshot *snapshots[KEPT];
    struct model *then[KEPT]; /* the model as it was */
    page_store store;
    uint64_t stored_version;
};

static bool run_start(struct run *run, const struct shape *shape, uint64_t seed)
{
    memset(run, 0, sizeof *run);
    run->shape = shape;
    run->schema = shape_schema(shape);
    run->arr = shape_arr(shape, &run->budget);
    run->rows = model_new();
    run->rng.state = seed;
    return run->schema && run->arr;
}

static void run_drop_snapshot(struct run *run, uint32_t i)
{
    if (!run->snapshots[i])
        return;
    CHECK(model_matches(run->then[i], run->snapshots[i], run->schema));
    sf_snapshot_unref(run->snapshots[i]);
    model_free(run->then[i]);
    run->snapshots[i] = NULL;
}

static void run_end(struct run *run)
{
    sf_arr_free(run->arr);
    for (uint32_t i = 0; i < KEPT; i++) /* snapshots live on */
        run_drop_snapshot(run, i);
    CHECK_INT(run->budget.used_bytes, 0);
    page_store_deinit(&run->store);
    model_free(run->rows);
    sf_schema_unref(run->schema);
}

static void run_snapshot(struct run *run)
{
    uint32_t i = (uint32_t)sf_rng_below(&run->rng, KEPT);
    run_drop_snapshot(run, i);
    run->snapshots[i] = sf_arr_snapshot(run->arr);
    run->then[i] = model_copy(run->rows);
    REQUIRE(run->snapshots[i]);
    CHECK(model_matches(run->rows, run->snapshots[i], run->schema));
}

/* A checkpoint of what changed; sometimes everything goes on from it. */
static void run_checkpoint(struct run *run)
{
    sf_snapshot *snapshot = sf_arr_snapshot(run->arr);
    REQUIRE(snapshot);
    CHECK_INT(page_store_save(&run->store, snapshot, run->stored_version), SF_OK);
    run->stored_version = sf_snapshot_version(snapshot);
    sf_snapshot_unref(snapshot);
    if (sf_rng_below(&run->rng, 2))
        return;
    sf_error err;
    sf_arr_free(run->arr);
    run->arr = shape_arr(run->shape, &run->budget);
    REQUIRE(run->arr);
    REQUIRE_OK(page_store_load(&run->store, run->arr, &err), err);
    run->stored_version = 1;
}

static sf_batch *run_batch(struct run *run, uint32_t rows, uint64_t *hashes)
{
    sf_batch *batch = shape_batch(run->shape, run->schema, &run->rng, rows);
    if (batch)
        sf_batch_hash(batch, identity, run->shape->key_count, sf_sel_all(rows), hashes);
    return batch;
}

static void bytes_of(const struct run *run, const sf_batch *batch, uint32_t row, sf_buf *out)
{
    sf_buf_clear(out);
    row_bytes(batch, 0, run->shape->column_count, row, out);
}

/* ---- one row a key, its count in the accumulators ---- */

static void unique_step(struct run *run)
{
    uint32_t rows = 1 + (uint32_t)sf_rng_below(&run->rng, run->shape->long_texts ? 20 : BATCH_MAX);
    uint64_t hashes[BATCH_MAX];
    sf_ref refs[BATCH_MAX];
    bool created[BATCH_MAX];
    sf_error err;
    sf_buf bytes = {0};
    sf_batch *batch = run_batch(run, rows, hashes);
    REQUIRE(batch);
    REQUIRE_OK(
        sf_arr_upsert(run->arr, batch, identity, sf_sel_all(rows), hashes, refs, created, &err),
        err);
    for (uint32_t i = 0; i < rows; i++) {
        bytes_of(run, batch, i, &bytes);
        CHECK_INT(created[i], model_weight(run->rows, sf_buf_str(&bytes)) == 0);
        model_add(run->rows, sf_buf_str(&bytes), 1);
        ++*(int64_t *)(void *)sf_arr_extra_mut(run->arr, refs[i]);
        CHECK_INT(sf_arr_weight(run->arr, refs[i]), model_weight(run->rows, sf_buf_str(&bytes)));
    }
    bool shrink = sf_rng_below(&run->rng, 3) == 0;
    for (uint32_t i = 0; i < rows && shrink; i++) {
        bytes_of(run, batch, i, &bytes);
        if (model_weight(run->rows, sf_buf_str(&bytes)) == 0)
            continue;
        model_set(run->rows, sf_buf_str(&bytes), 0);
        sf_arr_remove(run->arr, refs[i]);
    }
    CHECK_INT(sf_arr_rows(run->arr), model_rows(run->rows));
    sf_buf_deinit(&bytes);
    sf_batch_unref(batch);
}

/* Remove a run of rows in page order, as expiry does. */
static void remove_many(struct run *run)
{
    sf_ref refs[2000];
    uint32_t count = sf_arr_scan(run->arr, 0, refs, 2000);
    sf_error err;
    sf_snapshot *snapshot = sf_arr_snapshot(run->arr);
    REQUIRE(snapshot);
    sf_buf bytes = {0};
    uint32_t done = 0;
    sf_snapshot_cursor cursor = {0};
    while (done < count) {
        sf_batch *batch;
        REQUIRE_OK(sf_snapshot_read(snapshot, run->schema, 0, count - done, &cursor, &batch, &err),
                   err);
        REQUIRE(batch);
        for (uint32_t i = 0; i < batch->rows; i++) {
            bytes_of(run, batch, i, &bytes);
            model_add(run->rows, sf_buf_str(&bytes), -sf_batch_weight(batch, i));
            sf_arr_remove(run->arr, refs[done++]);
        }
        sf_batch_unref(batch);
    }
    sf_buf_deinit(&bytes);
    sf_snapshot_unref(snapshot);
}

void random_unique(void)
{
    for (size_t s = 0; s < SF_COUNT_OF(unique_shapes); s++) {
        struct run run;
        REQUIRE(run_start(&run, &unique_shapes[s], 100 + s));
        for (int step = 0; step < 100 && !sf_check_failures; step++) {
            unique_step(&run);
            uint64_t what = sf_rng_below(&run.rng, 12);
            if (what < 3)
                run_snapshot(&run);
            else if (what == 3)
                run_checkpoint(&run);
            else if (what == 4)
                remove_many(&run);
        }
        run_snapshot(&run);
        run_end(&run);
        if (sf_check_failures)
            printf("  shape: %s\n", unique_shapes[s].name);
    }
}

/* ---- bags ---- */

static void check_key(struct run *run, const sf_batch *batch, uint32_t row, uint64_t hash)
{
    sf_ref ref;
    sf_arr_find(run->arr, batch, identity, (sf_sel){&row, 1}, &hash, &ref);
    int64_t have = 0, want = 0;
    uint32_t steps = 0;
    sf_buf bytes = {0};
    bytes_of(run, batch, row, &bytes);
    want = model_weight(run->rows, sf_buf_str(&bytes));
    for (; ref && steps < 1000000; ref = sf_arr_next(run->arr, ref), steps++) {
        CHECK(sf_arr_equal(run->arr, ref, batch, identity, 0, run->shape->key_count, row));
        if (sf_arr_equal(run->arr, ref, batch, identity, 0, run->shape->column_count, row))
            have += sf_arr_weight(run->arr, ref);
    }
    CHECK_INT(have, want);
    sf_buf_deinit(&bytes);
}

static void bag_step(struct run *run, bool retract)
{
    uint32_t rows = 1 + (uint32_t)sf_rng_below(&run->rng, run->shape->long_texts ? 10 : BATCH_MAX);
    uint64_t hashes[BATCH_MAX];
    int64_t weights[BATCH_MAX], now[BATCH_MAX];
    sf_error err;
    sf_buf bytes = {0};
    sf_batch *batch = run_batch(run, rows, hashes);
    REQUIRE(batch);
    bool weighted = retract || sf_rng_below(&run->rng, 2);
    for (uint32_t i = 0; i < rows; i++) {
        bytes_of(run, batch, i, &bytes);
        int64_t has = model_weight(run->rows, sf_buf_str(&bytes));
        uint64_t what = sf_rng_below(&run->rng, 8);
        weights[i] = !weighted ? 1 : 1 + (int64_t)sf_rng_below(&run->rng, 3);
        if (retract && what < 4)
            weights[i] = what == 0 ? -2 : -has;
        model_add(run->rows, sf_buf_str(&bytes), weights[i]);
    }
    REQUIRE_OK(sf_arr_add(run->arr, batch, identity, sf_sel_all(rows), hashes,
                          weighted ? weights : NULL, now, &err),
               err);
    for (uint32_t i = 0; i < rows; i += 1 + rows / 16)
        check_key(run, batch, i, hashes[i]);
    if (run->shape->key_count == run->shape->column_count)
        CHECK_INT(sf_arr_rows(run->arr), model_rows(run->rows));
    sf_buf_deinit(&bytes);
    sf_batch_unref(batch);
}

void random_bags(void)
{
    for (size_t s = 0; s < SF_COUNT_OF(bag_shapes); s++) {
        struct run run;
        REQUIRE(run_start(&run, &bag_shapes[s], 200 + s));
        for (int step = 0; step < 100 && !sf_check_failures; step++) {
            bag_step(&run, step > 40);
            uint64_t what = sf_rng_below(&run.rng, 16);
            if (what < 3)
                run_snapshot(&run);
            else if (what == 3)
                run_checkpoint(&run);
            else if (what == 4)
                remove_many(&run);
        }
        run_snapshot(&run);
        run_end(&run);
        if (sf_check_failures)
            printf("  shape: %s\n", bag_shapes[s].name);
    }
}

/* ---- latest row of each key ---- */

static void replace_step(struct run *run, sf_buf *latest, uint32_t *keys)
{
    uint32_t rows = 1 + (uint32_t)sf_rng_below(&run->rng, run->shape->long_texts ? 10 : BATCH_MAX);
    uint64_t hashes[BATCH_MAX];
    sf_error err;
    sf_buf key = {0}, bytes = {0};
    sf_batch *batch = run_batch(run, rows, hashes);
    REQUIRE(batch);
    for (uint32_t i = 0; i < rows; i++) {
        sf_buf_clear(&key);
        row_bytes(batch, 0, run->shape->key_count, i, &key);
        bytes_of(run, batch, i, &bytes);
        uint32_t k = 0; /* latest holds pairs: key, row */
        while (k < *keys && !sf_str_eq(sf_buf_str(&latest[2 * k]), sf_buf_str(&key)))
            k++;
        if (k == *keys)
            sf_buf_put(&latest[2 * (*keys)++], key.data, key.len);
        else
            model_set(run->rows, sf_buf_str(&latest[2 * k + 1]), 0);
        sf_buf_clear(&latest[2 * k + 1]);
        sf_buf_put(&latest[2 * k + 1], bytes.data, bytes.len);
        model_set(run->rows, sf_buf_str(&bytes), 1);
        sf_ref ref;
        REQUIRE_OK(sf_arr_replace(run->arr, batch, identity, i, hashes[i], &ref, &err), err);
        CHECK(sf_arr_equal(run->arr, ref, batch, identity, 0, run->shape->column_count, i));
        int64_t *serial = (int64_t *)(void *)sf_arr_extra_mut(run->arr, ref);
        CHECK(*serial == 0 || *serial == k + 1);
        *serial = k + 1;
    }
    CHECK_INT(sf_arr_rows(run->arr), *keys);
    sf_buf_deinit(&key);
    sf_buf_deinit(&bytes);
    sf_batch_unref(batch);
}

void random_replace(void)
{
    for (size_t s = 0; s < SF_COUNT_OF(replace_shapes); s++) {
        struct run run;
        uint32_t keys = 0;
        REQUIRE(run_start(&run, &replace_shapes[s], 300 + s));
        sf_buf *latest = calloc(2 * 1000, sizeof *latest);
        for (int step = 0; step < 60 && !sf_check_failures; step++) {
            replace_step(&run, latest, &keys);
            uint64_t what = sf_rng_below(&run.rng, 8);
            if (what < 3)
                run_snapshot(&run);
            else if (what == 3)
                run_checkpoint(&run);
        }
        run_snapshot(&run);
        run_end(&run);
        for (uint32_t i = 0; i < 2000; i++)
            sf_buf_deinit(&latest[i]);
        free(latest);
        if (sf_check_failures)
            printf("  shape: %s\n", replace_shapes[s].name);
    }
}

/* ---- one key with very many rows ---- */

/* 200,000 rows of one key, then each of them retracted, oldest first and by ref: a walk for each
 * would take 20,000,000,000 steps. */
void hot_key_stays_fast(void)
{
    enum { ROWS = 200000, CHUNK = 1000 };
    for (int by_ref = 0; by_ref < 2; by_ref++) {
        sf_arr *arr = pairs_arr(SF_ARR_BAG, 1, 0, NULL);
        REQUIRE(arr);
        static int64_t rows[CHUNK][2], minus[CHUNK];
        static uint64_t hashes[CHUNK];
        sf_error err;
        for (int pass = 0; pass < 2 - by_ref; pass++) {
            for (int from = 0; from < ROWS; from += CHUNK) {
                for (int i = 0; i < CHUNK; i++) {
                    rows[i][0] = 7;
                    rows[i][1] = from + i;
                    minus[i] = -1;
                }
                sf_batch *batch = pairs_batch(rows, CHUNK);
                REQUIRE(batch);
                sf_batch_hash(batch, identity, 1, sf_sel_all(CHUNK), hashes);
                REQUIRE_OK(sf_arr_add(arr, batch, identity, sf_sel_all(CHUNK), hashes,
                                      pass ? minus : NULL, NULL, &err),
                           err);
                sf_batch_unref(batch);
            }
            CHECK_INT(sf_arr_rows(arr), pass ? 0 : ROWS);
        }
        sf_ref ref = 0;
        while (by_ref && sf_arr_scan(arr, 0, &ref, 1))
            sf_arr_remove(arr, ref);
        CHECK_INT(sf_arr_rows(arr), 0);
        sf_arr_free(arr);
    }
}

/* ---- threads ---- */

struct reader {
    sf_snapshot *snapshot;
    struct model *rows;
    sf_schema *schema;
    bool right;
};

static void *read_snapshot(void *arg)
{
    struct reader *reader = arg;
    page_store store = {0};
    reader->right = model_matches(reader->rows, reader->snapshot, reader->schema) &&
                    page_store_save(&store, reader->snapshot, 0) == SF_OK;
    page_store_deinit(&store);
    sf_snapshot_unref(reader->snapshot);
    return NULL;
}

void snapshots_are_read_by_other_threads(void)
{
    enum { READERS = 4 };
    struct run run;
    REQUIRE(run_start(&run, &bag_shapes[1], 400));
    for (int round = 0; round < 10 && !sf_check_failures; round++) {
        struct reader readers[READERS];
        pthread_t threads[READERS];
        for (int i = 0; i < READERS; i++) {
            bag_step(&run, true);
            readers[i] =
                (struct reader){sf_arr_snapshot(run.arr), model_copy(run.rows), run.schema, false};
            REQUIRE(readers[i].snapshot);
            pthread_create(&threads[i], NULL, read_snapshot, &readers[i]);
            bag_step(&run, true);
        }
        for (int i = 0; i < READERS; i++) {
            pthread_join(threads[i], NULL);
            CHECK(readers[i].right);
            model_free(readers[i].rows);
        }
    }
    run_end(&run);
}
