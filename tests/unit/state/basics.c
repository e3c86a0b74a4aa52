/* What each call does, on rows small enough to follow by hand. */
#include "tests.h"

enum { NONE = 0 };
#define NULL_LONG INT64_MIN

static void hash_keys(const sf_batch *batch, uint32_t key_count, uint64_t *out)
{
    sf_batch_hash(batch, identity, key_count, sf_sel_all(batch->rows), out);
}

void upsert_finds_and_creates(void)
{
    static const int64_t rows[][2] = {{1, 10},         {2, 20}, {1, 11},
                                      {NULL_LONG, 30}, {0, 40}, {NULL_LONG, 31}};
    sf_arr *arr = pairs_arr(SF_ARR_UNIQUE, 1, 16, NULL);
    sf_batch *batch = pairs_batch(rows, 6);
    REQUIRE(arr && batch);
    uint64_t hashes[6];
    hash_keys(batch, 1, hashes);
    sf_ref refs[6], again[6];
    bool created[6];
    sf_error err;
    sf_arr_find(arr, batch, identity, sf_sel_all(6), hashes, refs);
    for (int i = 0; i < 6; i++)
        CHECK_INT(refs[i], NONE);
    REQUIRE_OK(sf_arr_upsert(arr, batch, identity, sf_sel_all(6), hashes, refs, created, &err),
               err);
    static const bool is_new[] = {true, true, false, true, true, false};
    for (int i = 0; i < 6; i++)
        CHECK_INT(created[i], is_new[i]);
    CHECK_INT(refs[0], refs[2]);
    CHECK_INT(refs[3], refs[5]); /* NULL is one key, and not 0 */
    CHECK(refs[3] != refs[4]);
    CHECK_INT(sf_arr_rows(arr), 4);
    int64_t value;
    CHECK(sf_arr_lane_i64(arr, refs[2], 1, &value));
    CHECK_INT(value, 10); /* written at creation only */
    CHECK(!sf_arr_lane_i64(arr, refs[3], 0, &value));
    for (int i = 0; i < 16; i++)
        CHECK_INT(sf_arr_extra(arr, refs[0])[i], 0);
    sf_arr_extra_mut(arr, refs[0])[3] = 7;
    sf_arr_find(arr, batch, identity, sf_sel_all(6), hashes, again);
    CHECK(memcmp(refs, again, sizeof refs) == 0);
    CHECK_INT(sf_arr_extra(arr, again[2])[3], 7);
    CHECK(sf_arr_equal(arr, refs[0], batch, identity, 0, 2, 0));
    CHECK(!sf_arr_equal(arr, refs[0], batch, identity, 0, 2, 2));
    CHECK(sf_arr_equal(arr, refs[0], batch, identity, 0, 1, 2));
    CHECK_INT(sf_arr_next(arr, refs[0]), NONE);
    CHECK_INT(sf_arr_weight(arr, refs[0]), 1);
    /* a selection: hashes and refs go by selected row */
    uint32_t picked[] = {1, 3};
    uint64_t picked_hashes[] = {hashes[1], hashes[3]};
    sf_arr_find(arr, batch, identity, (sf_sel){picked, 2}, picked_hashes, again);
    CHECK_INT(again[0], refs[1]);
    CHECK_INT(again[1], refs[3]);
    sf_batch_unref(batch);
    sf_arr_free(arr);
}

void replace_keeps_accumulators(void)
{
    static const int64_t rows[][2] = {{1, 10}, {1, 11}, {1, NULL_LONG}};
    sf_arr *arr = pairs_arr(SF_ARR_UNIQUE, 1, 8, NULL);
    sf_batch *batch = pairs_batch(rows, 3);
    REQUIRE(arr && batch);
    uint64_t hashes[3];
    hash_keys(batch, 1, hashes);
    sf_ref first, second;
    sf_error err;
    REQUIRE_OK(sf_arr_replace(arr, batch, identity, 0, hashes[0], &first, &err), err);
    sf_arr_extra_mut(arr, first)[0] = 9;
    REQUIRE_OK(sf_arr_replace(arr, batch, identity, 1, hashes[1], &second, &err), err);
    CHECK_INT(sf_arr_rows(arr), 1);
    int64_t value;
    CHECK(sf_arr_lane_i64(arr, second, 1, &value));
    CHECK_INT(value, 11);
    CHECK_INT(sf_arr_extra(arr, second)[0], 9);
    REQUIRE_OK(sf_arr_replace(arr, batch, identity, 2, hashes[2], NULL, &err), err);
    sf_arr_find(arr, batch, identity, sf_sel_all(1), hashes, &second);
    CHECK(!sf_arr_lane_i64(arr, second, 1, &value));
    sf_batch_unref(batch);
    sf_arr_free(arr);
}

void remove_frees_rows(void)
{
    static const int64_t rows[][2] = {{1, 10}, {2, 20}, {3, 30}};
    sf_arr *arr = pairs_arr(SF_ARR_UNIQUE, 1, 0, NULL);
    sf_batch *batch = pairs_batch(rows, 3);
    REQUIRE(arr && batch);
    uint64_t hashes[3];
    hash_keys(batch, 1, hashes);
    sf_ref refs[3], again[3];
    sf_error err;
    REQUIRE_OK(sf_arr_upsert(arr, batch, identity, sf_sel_all(3), hashes, refs, NULL, &err), err);
    sf_arr_remove(arr, refs[1]);
    CHECK_INT(sf_arr_rows(arr), 2);
    sf_arr_find(arr, batch, identity, sf_sel_all(3), hashes, again);
    CHECK_INT(again[0], refs[0]);
    CHECK_INT(again[1], NONE);
    CHECK_INT(again[2], refs[2]);
    sf_arr_remove(arr, refs[0]);
    sf_arr_remove(arr, refs[2]);
    CHECK_INT(sf_arr_rows(arr), 0);
    CHECK_INT(sf_arr_scan(arr, 0, again, 3), 0);
    REQUIRE_OK(sf_arr_upsert(arr, batch, identity, sf_sel_all(3), hashes, refs, NULL, &err), err);
    CHECK_INT(sf_arr_scan(arr, 0, again, 3), 3);
    sf_batch_unref(batch);
    sf_arr_free(arr);
}

void whole_row_bag_sums_weights(void)
{
    static const int64_t rows[][2] = {{1, 10}, {1, 10}, {1, 11}, {2, 10}};
    static const int64_t weights[] = {2, 3, -1, 1}, back[] = {-5, 0, 1, -3};
    static const int64_t after_first[] = {2, 5, -1, 1}, after_second[] = {0, 0, 0, -2};
    sf_arr *arr = pairs_arr(SF_ARR_BAG, 2, 0, NULL);
    sf_batch *batch = pairs_batch(rows, 4);
    REQUIRE(arr && batch);
    uint64_t hashes[4];
    hash_keys(batch, 2, hashes);
    int64_t now[4];
    sf_error err;
    REQUIRE_OK(sf_arr_add(arr, batch, identity, sf_sel_all(4), hashes, weights, now, &err), err);
    for (int i = 0; i < 4; i++)
        CHECK_INT(now[i], after_first[i]);
    CHECK_INT(sf_arr_rows(arr), 3);
    REQUIRE_OK(sf_arr_add(arr, batch, identity, sf_sel_all(4), hashes, back, now, &err), err);
    for (int i = 0; i < 4; i++)
        CHECK_INT(now[i], after_second[i]);
    CHECK_INT(sf_arr_rows(arr), 1); /* {2, 10} at -2 */
    sf_ref refs[4];
    sf_arr_find(arr, batch, identity, sf_sel_all(4), hashes, refs);
    CHECK_INT(refs[0], NONE);
    CHECK_INT(sf_arr_weight(arr, refs[3]), -2);
    sf_batch_unref(batch);
    sf_arr_free(arr);
}

static int64_t chain_sum(const sf_arr *arr, sf_ref ref, uint32_t *rows)
{
    int64_t sum = 0;
    for (*rows = 0; ref; ref = sf_arr_next(arr, ref), ++*rows)
        sum += sf_arr_weight(arr, ref);
    return sum;
}

void keyed_bag_chains_rows(void)
{
    static const int64_t rows[][2] = {{1, 10}, {1, 11}, {2, 20}, {1, 10}, {1, 10}};
    static const int64_t minus[] = {-1, -1, -1, -1, -1}, three[] = {-3};
    sf_arr *arr = pairs_arr(SF_ARR_BAG, 1, 0, NULL);
    sf_batch *batch = pairs_batch(rows, 5);
    REQUIRE(arr && batch);
    uint64_t hashes[5];
    hash_keys(batch, 1, hashes);
    sf_ref refs[5];
    uint32_t count;
    int64_t now[5];
    sf_error err;
    REQUIRE_OK(sf_arr_add(arr, batch, identity, sf_sel_all(5), hashes, NULL, NULL, &err), err);
    sf_arr_find(arr, batch, identity, sf_sel_all(5), hashes, refs);
    CHECK_INT(refs[0], refs[1]);
    CHECK_INT(chain_sum(arr, refs[0], &count), 4);
    CHECK_INT(count, 4); /* nothing was retracted yet: each row for itself */
    CHECK_INT(chain_sum(arr, refs[2], &count), 1);
    /* three equal rows of weight 1 make up for one retraction of 3, and for more */
    REQUIRE_OK(sf_arr_add(arr, batch, identity, sf_sel_all(1), hashes, three, now, &err), err);
    CHECK_INT(now[0], 0);
    CHECK_INT(sf_arr_rows(arr), 2);
    REQUIRE_OK(sf_arr_add(arr, batch, identity, sf_sel_all(5), hashes, minus, NULL, &err), err);
    sf_arr_find(arr, batch, identity, sf_sel_all(5), hashes, refs);
    CHECK_INT(chain_sum(arr, refs[0], &count), -3);
    CHECK_INT(count, 1); /* {1, 10} at -3; {1, 11} and {2, 20} left */
    CHECK_INT(refs[2], NONE);
    CHECK_INT(sf_arr_rows(arr), 1);
    /* now equal rows are found */
    REQUIRE_OK(sf_arr_add(arr, batch, identity, sf_sel_all(5), hashes, NULL, now, &err), err);
    CHECK_INT(now[0], -2);
    CHECK_INT(now[3], -1);
    CHECK_INT(now[4], 0);
    CHECK_INT(sf_arr_rows(arr), 2);
    sf_batch_unref(batch);
    sf_arr_free(arr);
}

/* One value of each type and one NULL, through row memory and back. */
void lanes_and_columns_read_back(void)
{
    struct shape every = {.mode = SF_ARR_UNIQUE,
                          .column_count = SF_TYPE_COUNT,
                          .key_count = 5,
                          .key_domain = 50,
                          .value_domain = 40};
    for (uint32_t t = 0; t < SF_TYPE_COUNT; t++)
        every.types[t] = (sf_type)t;
    sf_schema *schema = shape_schema(&every);
    sf_arr *arr = shape_arr(&every, NULL);
    sf_rng rng = {11};
    sf_batch *batch = shape_batch(&every, schema, &rng, 300);
    REQUIRE(schema && arr && batch);
    static uint64_t hashes[300];
    static sf_ref refs[301];
    static bool created[300];
    hash_keys(batch, 5, hashes);
    sf_error err;
    REQUIRE_OK(sf_arr_upsert(arr, batch, identity, sf_sel_all(300), hashes, refs, created, &err),
               err);
    refs[300] = NONE;
    sf_column *columns[SF_TYPE_COUNT];
    for (uint32_t c = 0; c < SF_TYPE_COUNT; c++) {
        columns[c] = sf_arr_gather(arr, c, refs, 301);
        REQUIRE(columns[c]);
        CHECK(!sf_column_is_valid(columns[c], 300));
    }
    sf_batch *got = sf_batch_new(schema, 301, columns, NULL, NULL);
    REQUIRE(got);
    CHECK(sf_batch_verify(got, &err));
    sf_buf want = {0}, have = {0};
    for (uint32_t i = 0; i < 300; i++) {
        sf_buf_clear(&want);
        sf_buf_clear(&have);
        row_bytes(batch, 0, created[i] ? SF_TYPE_COUNT : 5, i, &want);
        row_bytes(got, 0, created[i] ? SF_TYPE_COUNT : 5, i, &have);
        CHECK(sf_str_eq(sf_buf_str(&want), sf_buf_str(&have)));
        CHECK(!created[i] || sf_arr_equal(arr, refs[i], batch, identity, 0, SF_TYPE_COUNT, i));
        sf_str text;
        if (sf_arr_lane_str(arr, refs[i], SF_TYPE_UTF8, &text))
            CHECK(sf_str_eq(text, sf_column_str(got->columns[SF_TYPE_UTF8], i)));
        else
            CHECK(!sf_column_is_valid(got->columns[SF_TYPE_UTF8], i));
        int64_t number;
        if (sf_arr_lane_i64(arr, refs[i], SF_TYPE_I16, &number))
            CHECK_INT(number, SF_LANES(got->columns[SF_TYPE_I16], int16_t)[i]);
    }
    sf_buf_deinit(&want);
    sf_buf_deinit(&have);
    sf_batch_unref(got);
    sf_batch_unref(batch);
    sf_schema_unref(schema);
    sf_arr_free(arr);
}

/* 10,000 rows over several pages, a third of them removed. */
void scan_and_paging_agree(void)
{
    enum { ROWS = 10000 };
    sf_arr *arr = pairs_arr(SF_ARR_UNIQUE, 1, 0, NULL);
    sf_schema *schema = pairs_schema();
    REQUIRE(arr && schema);
    static int64_t rows[ROWS][2];
    static sf_ref refs[ROWS], seen[ROWS];
    static uint64_t hashes[ROWS];
    for (int i = 0; i < ROWS; i++)
        rows[i][0] = rows[i][1] = i;
    sf_batch *batch = pairs_batch(rows, ROWS);
    REQUIRE(batch);
    hash_keys(batch, 1, hashes);
    sf_error err;
    REQUIRE_OK(sf_arr_upsert(arr, batch, identity, sf_sel_all(ROWS), hashes, refs, NULL, &err),
               err);
    for (int i = 0; i < ROWS; i += 3)
        sf_arr_remove(arr, refs[i]);
    uint32_t count = 0, more;
    while ((more = sf_arr_scan(arr, count ? seen[count - 1] : 0, seen + count, 77)) > 0)
        count += more;
    CHECK_INT(count, sf_arr_rows(arr));
    sf_snapshot *snapshot = sf_arr_snapshot(arr);
    REQUIRE(snapshot);
    CHECK_INT(sf_snapshot_rows(snapshot), count);
    static const uint32_t offsets[] = {0, 1, 100, 4000, 6665, 6666, 7000};
    for (size_t i = 0; i < SF_COUNT_OF(offsets); i++) {
        sf_batch *page;
        REQUIRE_OK(sf_snapshot_read(snapshot, schema, offsets[i], 50, NULL, &page, &err), err);
        uint32_t left = offsets[i] < count ? count - offsets[i] : 0;
        CHECK_INT(page ? page->rows : 0, left < 50 ? left : 50);
        for (uint32_t r = 0; page && r < page->rows; r++) {
            int64_t value;
            CHECK(sf_arr_lane_i64(arr, seen[offsets[i] + r], 0, &value));
            CHECK_INT(SF_LANES(page->columns[0], int64_t)[r], value);
        }
        CHECK(!page || !page->weights);
        sf_batch_unref(page);
    }
    /* a cursor skips once, then goes on */
    sf_snapshot_cursor cursor = {0};
    uint32_t paged = 0;
    sf_batch *page;
    do {
        REQUIRE_OK(sf_snapshot_read(snapshot, schema, 1000, 333, &cursor, &page, &err), err);
        paged += page ? page->rows : 0;
        sf_batch_unref(page);
    } while (page);
    CHECK_INT(paged, count - 1000);
    sf_snapshot_unref(snapshot);
    sf_batch_unref(batch);
    sf_schema_unref(schema);
    sf_arr_free(arr);
}

void rows_too_long_are_refused(void)
{
    enum { LONG = 16 * 1024 * 1024 };
    struct shape texts = {.mode = SF_ARR_UNIQUE,
                          .column_count = 2,
                          .key_count = 1,
                          .types = {SF_TYPE_I64, SF_TYPE_UTF8}};
    sf_schema *schema = shape_schema(&texts);
    sf_arr *arr = shape_arr(&texts, NULL);
    sf_batch_builder builder;
    static char text[LONG + 1];
    REQUIRE(schema && arr && sf_batch_builder_init(&builder, schema));
    memset(text, 'x', LONG + 1);
    for (int i = 0; i < 2; i++) {
        sf_builder_i64(&builder.columns[0], i);
        sf_builder_str(&builder.columns[1], (sf_str){text, (size_t)LONG + (size_t)i});
        sf_batch_builder_row(&builder, 1);
    }
    sf_batch *batch = sf_batch_builder_finish(&builder);
    REQUIRE(batch);
    uint64_t hashes[2];
    hash_keys(batch, 1, hashes);
    sf_ref refs[2];
    sf_error err;
    CHECK_INT(sf_arr_upsert(arr, batch, identity, sf_sel_all(2), hashes, refs, NULL, &err),
              SF_LIMIT);
    CHECK_STR(err.message, "row of 16777229 bytes is longer than state keeps (16 MiB)");
    CHECK_INT(sf_arr_rows(arr), 0);
    REQUIRE_OK(sf_arr_upsert(arr, batch, identity, sf_sel_all(1), hashes, refs, NULL, &err), err);
    sf_str got;
    CHECK(sf_arr_lane_str(arr, refs[0], 1, &got));
    CHECK(got.len == LONG && memcmp(got.data, text, LONG) == 0);
    sf_batch_builder_deinit(&builder);
    sf_batch_unref(batch);
    sf_schema_unref(schema);
    sf_arr_free(arr);
}

void weights_are_bounded(void)
{
    static const int64_t rows[][2] = {{1, 1}, {2, 2}};
    static const int64_t top[] = {1, ((int64_t)1 << 55) - 1}, over[] = {1, 1};
    sf_arr *arr = pairs_arr(SF_ARR_BAG, 2, 0, NULL);
    sf_batch *batch = pairs_batch(rows, 2);
    REQUIRE(arr && batch);
    uint64_t hashes[2];
    hash_keys(batch, 2, hashes);
    int64_t now[2];
    sf_error err;
    REQUIRE_OK(sf_arr_add(arr, batch, identity, sf_sel_all(2), hashes, top, now, &err), err);
    CHECK(now[1] == top[1]);
    CHECK_INT(sf_arr_add(arr, batch, identity, sf_sel_all(2), hashes, over, now, &err), SF_LIMIT);
    sf_ref refs[2];
    sf_arr_find(arr, batch, identity, sf_sel_all(2), hashes, refs);
    CHECK_INT(sf_arr_weight(arr, refs[0]), 1); /* the batch was taken back */
    CHECK(sf_arr_weight(arr, refs[1]) == top[1]);
    sf_batch_unref(batch);
    sf_arr_free(arr);
}
