/* Over the budget, or without memory, a call fails and nothing changed. */
#include "tests.h"

static const struct shape shapes[] = {
    {"unique", SF_ARR_UNIQUE, 2, 1, 8, false, 100000, 9, false, {SF_TYPE_I64, SF_TYPE_UTF8}},
    {"whole row", SF_ARR_BAG, 2, 2, 0, false, 3000, 3000, false, {SF_TYPE_I64, SF_TYPE_UTF8}},
    {"chains", SF_ARR_BAG, 2, 1, 0, false, 30, 60, false, {SF_TYPE_I64, SF_TYPE_UTF8}},
    {"long texts", SF_ARR_BAG, 2, 1, 0, false, 300, 60, true, {SF_TYPE_I64, SF_TYPE_UTF8}},
};

struct state {
    const struct shape *shape;
    sf_schema *schema;
    sf_arr *arr;
    struct model *rows;
    sf_rng rng;
};

static sf_status change(struct state *state, sf_batch *batch, const int64_t *weights, sf_error *err)
{
    uint64_t hashes[BATCH_MAX];
    sf_ref refs[BATCH_MAX];
    sf_sel all = sf_sel_all(batch->rows);
    sf_batch_hash(batch, identity, state->shape->key_count, all, hashes);
    if (state->shape->mode == SF_ARR_BAG)
        return sf_arr_add(state->arr, batch, identity, all, hashes, weights, NULL, err);
    return sf_arr_upsert(state->arr, batch, identity, all, hashes, refs, NULL, err);
}

/* Into the struct model too; of a unique key the first row stays. */
static void note(struct state *state, const sf_batch *batch, const int64_t *weights)
{
    sf_buf bytes = {0};
    for (uint32_t i = 0; i < batch->rows; i++) {
        sf_buf_clear(&bytes);
        row_bytes(batch, 0, 2, i, &bytes);
        model_add(state->rows, sf_buf_str(&bytes), weights[i]);
    }
    sf_buf_deinit(&bytes);
}

static bool matches(struct state *state)
{
    if (state->shape->mode == SF_ARR_UNIQUE)
        return true; /* its rows are counted */
    sf_snapshot *snapshot = sf_arr_snapshot(state->arr);
    bool same = snapshot && model_matches(state->rows, snapshot, state->schema);
    sf_snapshot_unref(snapshot);
    return same;
}

static bool start(struct state *state, const struct shape *shape, sf_budget *budget, uint64_t seed)
{
    state->shape = shape;
    state->schema = shape_schema(shape);
    state->arr = shape_arr(shape, budget);
    state->rows = model_new();
    state->rng.state = seed;
    return state->schema && state->arr;
}

static void end(struct state *state)
{
    sf_arr_free(state->arr);
    sf_schema_unref(state->schema);
    model_free(state->rows);
}

static sf_batch *some_rows(struct state *state, int64_t *weights, bool negative)
{
    uint32_t rows = state->shape->long_texts ? 20 : 400;
    for (uint32_t i = 0; i < rows; i++)
        weights[i] = negative && sf_rng_below(&state->rng, 3) == 0 ? -1 : 1;
    return shape_batch(state->shape, state->schema, &state->rng, rows);
}

/* Grow until the budget ends it, many times over: what is there then is what was there before. */
void over_budget_nothing_changes(void)
{
    for (size_t s = 0; s < SF_COUNT_OF(shapes); s++) {
        sf_budget budget = {.limit_bytes = 400000};
        struct state state;
        REQUIRE(start(&state, &shapes[s], &budget, 500 + s));
        int refused = 0;
        for (int round = 0; round < 200 && refused < 20; round++) {
            int64_t weights[BATCH_MAX];
            sf_batch *batch = some_rows(&state, weights, refused > 5);
            sf_snapshot *kept = round % 3 ? NULL : sf_arr_snapshot(state.arr);
            uint64_t rows = sf_arr_rows(state.arr);
            sf_error err;
            REQUIRE(batch);
            sf_status status = change(&state, batch, weights, &err);
            if (status == SF_OK) {
                note(&state, batch, weights);
            } else {
                CHECK_INT(status, SF_LIMIT);
                CHECK_INT(sf_arr_rows(state.arr), rows);
                CHECK(strstr(err.message, "cannot grow") != NULL);
                budget.limit_bytes += 30000;
                refused++;
            }
            sf_batch_unref(batch);
            sf_snapshot_unref(kept);
            CHECK(budget.used_bytes <= budget.limit_bytes);
        }
        CHECK(refused > 0);
        CHECK(matches(&state));
        end(&state);
        CHECK_INT(budget.used_bytes, 0);
        if (sf_check_failures)
            printf("  shape: %s\n", shapes[s].name);
    }
}

/* Each allocation of a change fails in turn. */
void without_memory_nothing_changes(void)
{
    for (size_t s = 0; s < SF_COUNT_OF(shapes); s++) {
        sf_budget budget = {0};
        struct state state;
        REQUIRE(start(&state, &shapes[s], &budget, 600 + s));
        for (int round = 0; round < 12; round++) {
            int64_t weights[BATCH_MAX];
            sf_batch *batch = some_rows(&state, weights, round > 4);
            sf_snapshot *kept = sf_arr_snapshot(state.arr);
            REQUIRE(batch && kept);
            sf_status status = SF_LIMIT;
            for (uint64_t n = 1; status != SF_OK && n < 100000; n++) {
                uint64_t rows = sf_arr_rows(state.arr);
                sf_alloc_fail_after(n);
                status = change(&state, batch, weights, NULL);
                sf_alloc_fail_after(0);
                CHECK(status == SF_OK || status == SF_LIMIT);
                CHECK(status == SF_OK || sf_arr_rows(state.arr) == rows);
                if (n % 7 == 0 && status != SF_OK)
                    CHECK(matches(&state));
            }
            CHECK_INT(status, SF_OK);
            note(&state, batch, weights);
            sf_batch_unref(batch);
            sf_snapshot_unref(kept);
        }
        CHECK(matches(&state));
        end(&state);
        CHECK_INT(budget.used_bytes, 0);
        if (sf_check_failures)
            printf("  shape: %s\n", shapes[s].name);
    }
}

/* Emptied, an arrangement holds one page and its index, no more. */
void budget_returns_to_zero(void)
{
    for (size_t s = 0; s < SF_COUNT_OF(shapes); s++) {
        sf_budget budget = {0};
        struct state state;
        REQUIRE(start(&state, &shapes[s], &budget, 700 + s));
        sf_error err;
        for (int round = 0; round < 30; round++) {
            int64_t weights[BATCH_MAX];
            sf_batch *batch = some_rows(&state, weights, false);
            REQUIRE(batch);
            REQUIRE_OK(change(&state, batch, weights, &err), err);
            sf_batch_unref(batch);
        }
        int64_t most = budget.used_bytes;
        CHECK(sf_arr_bytes(state.arr) == (size_t)most);
        sf_ref ref;
        while (sf_arr_scan(state.arr, 0, &ref, 1))
            sf_arr_remove(state.arr, ref);
        CHECK(sf_arr_bytes(state.arr) == (size_t)budget.used_bytes);
        CHECK(budget.used_bytes < most / 2);
        end(&state);
        CHECK_INT(budget.used_bytes, 0);
    }
}

void removal_needs_no_budget(void)
{
    static const int64_t rows[][2] = {{1, 1}, {2, 2}};
    sf_budget budget = {0};
    sf_arr *arr = pairs_arr(SF_ARR_UNIQUE, 1, 8, &budget);
    sf_batch *batch = pairs_batch(rows, 2);
    REQUIRE(arr && batch);
    uint64_t hashes[2];
    sf_batch_hash(batch, identity, 1, sf_sel_all(2), hashes);
    sf_ref refs[2];
    sf_error err;
    REQUIRE_OK(sf_arr_upsert(arr, batch, identity, sf_sel_all(2), hashes, refs, NULL, &err), err);
    sf_snapshot *snapshot = sf_arr_snapshot(arr);
    REQUIRE(snapshot);
    budget.limit_bytes = budget.used_bytes + 100;
    CHECK(sf_arr_extra_mut(arr, refs[0]) == NULL); /* the page is shared and may not be copied */
    sf_arr_remove(arr, refs[0]);
    CHECK_INT(sf_arr_rows(arr), 1);
    CHECK_INT(sf_snapshot_rows(snapshot), 2);
    sf_snapshot_unref(snapshot);
    /* without any memory: the row stays and the arrangement says so from then on */
    budget.limit_bytes = 0;
    snapshot = sf_arr_snapshot(arr);
    REQUIRE(snapshot);
    sf_alloc_fail_after(1);
    sf_arr_remove(arr, refs[1]);
    sf_alloc_fail_after(0);
    CHECK_INT(sf_arr_upsert(arr, batch, identity, sf_sel_all(2), hashes, refs, NULL, &err),
              SF_LIMIT);
    CHECK(sf_arr_snapshot(arr) == NULL);
    sf_snapshot_unref(snapshot);
    sf_batch_unref(batch);
    sf_arr_free(arr);
    CHECK_INT(budget.used_bytes, 0);
}
