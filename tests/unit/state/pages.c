/* Checkpoint pages: saved, loaded, damaged. */
#include "tests.h"

static const struct shape small = {"small", SF_ARR_UNIQUE,
                                   3,       1,
                                   8,       false,
                                   50,      20,
                                   false,   {SF_TYPE_I64, SF_TYPE_UTF8, SF_TYPE_BOOL}};
static const struct shape chained = {"chained", SF_ARR_BAG, 2,  1,     0,
                                     false,     9,          40, false, {SF_TYPE_UTF8, SF_TYPE_F64}};
static const struct shape texts = {"texts", SF_ARR_BAG, 2,  2,    0,
                                   false,   10,         10, true, {SF_TYPE_UTF8, SF_TYPE_UTF8}};
static const struct shape *const shapes[] = {&small, &chained, &texts};

static sf_arr *filled(const struct shape *shape, const sf_schema *schema, uint32_t rows,
                      uint64_t seed)
{
    sf_rng rng = {seed};
    uint64_t hashes[BATCH_MAX];
    sf_ref refs[BATCH_MAX];
    sf_error err;
    sf_arr *arr = shape_arr(shape, NULL);
    sf_batch *batch = shape_batch(shape, schema, &rng, rows);
    sf_sel all = sf_sel_all(rows);
    sf_batch_hash(batch, identity, shape->key_count, all, hashes);
    sf_status status = shape->mode == SF_ARR_BAG
                           ? sf_arr_add(arr, batch, identity, all, hashes, NULL, NULL, &err)
                           : sf_arr_upsert(arr, batch, identity, all, hashes, refs, NULL, &err);
    sf_batch_unref(batch);
    return status == SF_OK ? arr : NULL;
}

static struct model *model_of(sf_arr *arr, const sf_schema *schema)
{
    struct model *rows = model_new();
    sf_snapshot *snapshot = sf_arr_snapshot(arr);
    sf_snapshot_cursor cursor = {0};
    sf_buf bytes = {0};
    sf_batch *batch;
    sf_error err;
    while (sf_snapshot_read(snapshot, schema, 0, 1000, &cursor, &batch, &err) == SF_OK && batch) {
        for (uint32_t i = 0; i < batch->rows; i++) {
            sf_buf_clear(&bytes);
            row_bytes(batch, 0, schema->count, i, &bytes);
            model_add(rows, sf_buf_str(&bytes), sf_batch_weight(batch, i));
        }
        sf_batch_unref(batch);
    }
    sf_buf_deinit(&bytes);
    sf_snapshot_unref(snapshot);
    return rows;
}

static page_store saved(sf_arr *arr)
{
    page_store store = {0};
    sf_snapshot *snapshot = sf_arr_snapshot(arr);
    CHECK_INT(page_store_save(&store, snapshot, 0), SF_OK);
    sf_snapshot_unref(snapshot);
    return store;
}

void pages_load_again(void)
{
    for (size_t s = 0; s < SF_COUNT_OF(shapes); s++) {
        sf_schema *schema = shape_schema(shapes[s]);
        sf_arr *arr = filled(shapes[s], schema, 300, 1 + s);
        REQUIRE(arr);
        struct model *rows = model_of(arr, schema);
        page_store store = saved(arr);
        uint64_t count = sf_arr_rows(arr);
        sf_arr_free(arr);
        arr = shape_arr(shapes[s], NULL);
        sf_error err;
        REQUIRE_OK(page_store_load(&store, arr, &err), err);
        CHECK_INT(sf_arr_rows(arr), count);
        sf_snapshot *snapshot = sf_arr_snapshot(arr);
        CHECK(model_matches(rows, snapshot, schema));
        sf_snapshot_unref(snapshot);
        /* pages again, byte for byte */
        page_store again = saved(arr);
        for (uint32_t i = 0; i < store.cap; i++)
            CHECK(!store.pages[i] || memcmp(store.pages[i], again.pages[i], SF_PAGE_BYTES) == 0);
        page_store_deinit(&again);
        page_store_deinit(&store);
        model_free(rows);
        sf_arr_free(arr);
        sf_schema_unref(schema);
    }
}

static sf_status count_page(void *arg, uint32_t page_no, const void *bytes, sf_error *err)
{
    SF_UNUSED(page_no);
    SF_UNUSED(err);
    uint32_t *counts = arg;
    counts[bytes ? 0 : 1]++;
    return SF_OK;
}

static void count_pages(sf_arr *arr, uint64_t since, uint32_t counts[2])
{
    sf_snapshot *snapshot = sf_arr_snapshot(arr);
    counts[0] = counts[1] = 0;
    CHECK_INT(sf_snapshot_pages(snapshot, since, count_page, counts, NULL), SF_OK);
    sf_snapshot_unref(snapshot);
}

static sf_arr *numbered(uint32_t rows, sf_ref *refs)
{
    sf_arr *arr = pairs_arr(SF_ARR_UNIQUE, 1, 8, NULL);
    sf_error err;
    int64_t(*pairs)[2] = calloc(rows, sizeof *pairs);
    uint64_t *hashes = calloc(rows, sizeof *hashes);
    for (uint32_t i = 0; i < rows; i++)
        pairs[i][0] = i;
    sf_batch *batch = pairs_batch((const int64_t(*)[2])pairs, rows);
    sf_batch_hash(batch, identity, 1, sf_sel_all(rows), hashes);
    CHECK_INT(sf_arr_upsert(arr, batch, identity, sf_sel_all(rows), hashes, refs, NULL, &err),
              SF_OK);
    sf_batch_unref(batch);
    free(pairs);
    free(hashes);
    return arr;
}

/* A row takes 32 bytes (bits, two Longs, 8 of accumulators): 2,047 fit a page, 10,000 need 5. */
void changed_pages_only(void)
{
    static sf_ref refs[10000];
    sf_arr *arr = numbered(10000, refs);
    uint32_t counts[2];
    count_pages(arr, 0, counts);
    CHECK_INT(counts[0], 5);
    sf_snapshot *base = sf_arr_snapshot(arr);
    REQUIRE(base);
    uint64_t version = sf_snapshot_version(base);
    count_pages(arr, version, counts);
    CHECK_INT(counts[0] + counts[1], 0);
    CHECK(sf_arr_extra_mut(arr, refs[0]) != NULL);
    CHECK(sf_arr_extra_mut(arr, refs[9999]) != NULL);
    CHECK(sf_arr_extra_mut(arr, refs[9998]) != NULL);
    count_pages(arr, version, counts);
    CHECK_INT(counts[0], 2);
    count_pages(arr, version, counts); /* still, for who asks since then */
    CHECK_INT(counts[0], 2);
    sf_snapshot_unref(base);
    /* after loading, 1 stands for what was loaded */
    page_store store = saved(arr);
    sf_arr_free(arr);
    arr = pairs_arr(SF_ARR_UNIQUE, 1, 8, NULL);
    sf_error err;
    REQUIRE_OK(page_store_load(&store, arr, &err), err);
    count_pages(arr, 1, counts);
    CHECK_INT(counts[0] + counts[1], 0);
    CHECK(sf_arr_extra_mut(arr, refs[5000]) != NULL);
    count_pages(arr, 1, counts);
    CHECK_INT(counts[0], 1);
    count_pages(arr, 0, counts);
    CHECK_INT(counts[0], 5);
    page_store_deinit(&store);
    sf_arr_free(arr);
}

void gone_pages_are_told(void)
{
    static sf_ref refs[10000];
    sf_arr *arr = numbered(10000, refs);
    uint32_t counts[2];
    sf_snapshot *base = sf_arr_snapshot(arr);
    REQUIRE(base);
    uint64_t version = sf_snapshot_version(base);
    sf_snapshot_unref(base);
    for (int i = 0; i < 2047 * 2; i++)
        sf_arr_remove(arr, refs[i]);
    count_pages(arr, version, counts);
    CHECK_INT(counts[0], 0);
    CHECK_INT(counts[1], 2);
    count_pages(arr, 0, counts); /* all there are: three */
    CHECK_INT(counts[0], 3);
    CHECK_INT(counts[1], 0);
    sf_arr_free(arr);
}

/* ---- damage ---- */

/* Whatever was accepted must be usable to the end. */
static void use_fully(sf_arr *arr, const struct shape *shape, const sf_schema *schema)
{
    model_free(model_of(arr, schema));
    sf_rng rng = {5};
    uint64_t hashes[BATCH_MAX];
    sf_ref refs[BATCH_MAX];
    int64_t weights[BATCH_MAX];
    uint32_t rows = shape->long_texts ? 4 : 40;
    sf_batch *batch = shape_batch(shape, schema, &rng, rows);
    sf_batch_hash(batch, identity, shape->key_count, sf_sel_all(rows), hashes);
    for (uint32_t i = 0; i < rows; i++)
        weights[i] = i % 2 ? 1 : -1;
    if (shape->mode == SF_ARR_BAG) {
        CHECK_INT(sf_arr_add(arr, batch, identity, sf_sel_all(rows), hashes, weights, NULL, NULL),
                  SF_OK);
    } else {
        CHECK_INT(sf_arr_upsert(arr, batch, identity, sf_sel_all(rows), hashes, refs, NULL, NULL),
                  SF_OK);
        for (uint32_t i = 0; i < rows; i++)
            CHECK_INT(sf_arr_replace(arr, batch, identity, i, hashes[i], NULL, NULL), SF_OK);
    }
    while (sf_arr_scan(arr, 0, refs, 1))
        sf_arr_remove(arr, refs[0]);
    sf_batch_unref(batch);
}

static void try_load(const page_store *store, const struct shape *shape, const sf_schema *schema,
                     uint32_t *refused)
{
    sf_arr *arr = shape_arr(shape, NULL);
    sf_error err;
    sf_status status = page_store_load(store, arr, &err);
    CHECK(status == SF_OK || status == SF_CORRUPT);
    if (status == SF_OK)
        use_fully(arr, shape, schema);
    *refused += status == SF_CORRUPT;
    sf_arr_free(arr);
}

/* Is this byte worth damaging: all of the head and the first rows, then one here and there. */
static bool is_target(const uint8_t *page, uint32_t at)
{
    bool is_rows = memcmp(page, "SFP1", 4) == 0;
    if (at < (is_rows ? 250 : 32))
        return true;
    return page[at] != 0 && at % (is_rows ? 101 : 20011) == 0;
}

/* One byte after the other, and many at once. */
void damaged_pages_are_refused(void)
{
    for (size_t s = 0; s < SF_COUNT_OF(shapes); s++) {
        const struct shape *shape = shapes[s];
        sf_schema *schema = shape_schema(shape);
        sf_arr *arr = filled(shape, schema, shape->long_texts ? 5 : 20, 40 + s);
        REQUIRE(arr);
        page_store store = saved(arr);
        sf_arr_free(arr);
        sf_rng rng = {77};
        uint32_t refused = 0, tried = 0;
        for (uint32_t p = 0; p < store.cap; p++) {
            for (uint32_t at = 0; store.pages[p] && at < SF_PAGE_BYTES; at++) {
                uint8_t *byte = &store.pages[p][at], was = *byte;
                if (!is_target(store.pages[p], at))
                    continue;
                *byte = (uint8_t)(was ^ 1u << sf_rng_below(&rng, 8));
                try_load(&store, shape, schema, &refused);
                *byte = was;
                tried++;
            }
        }
        CHECK(refused > 20 && refused < tried); /* most bytes are values: any will do */
        for (int round = 0; round < 200; round++) {
            uint8_t copy[512];
            REQUIRE(store.cap > 0 && store.pages[0]);
            memcpy(copy, store.pages[0], sizeof copy);
            for (int i = 0; i < 5; i++)
                store.pages[0][12 + sf_rng_below(&rng, sizeof copy - 12)] =
                    (uint8_t)sf_rng_next(&rng);
            try_load(&store, shape, schema, &refused);
            memcpy(store.pages[0], copy, sizeof copy);
        }
        page_store_deinit(&store);
        sf_schema_unref(schema);
    }
}

void damaged_heads_are_refused(void)
{
    static const struct {
        uint32_t at;
        const char *message;
    } rows[] = {
        {0, "it is no page, or of another version"},
        {4, "its number"},
        {8, "it belongs to rows of another shape"},
        {13, "its counts of rows"},
        {14, "its counts of rows"},
        {23, "its room for texts"},
        {22, "its room for texts"},
    };
    sf_schema *schema = shape_schema(&small);
    sf_arr *arr = filled(&small, schema, 20, 40);
    REQUIRE(arr);
    page_store store = saved(arr);
    sf_arr_free(arr);
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        uint8_t *byte = &store.pages[0][rows[i].at], was = *byte;
        *byte = (uint8_t)(was ^ 0x80);
        arr = shape_arr(&small, NULL);
        sf_error err;
        CHECK_INT(sf_arr_load_page(arr, 0, store.pages[0], &err), SF_CORRUPT);
        CHECK(strncmp(err.message, "page 0 of the saved state", 25) == 0);
        CHECK(strstr(err.message, rows[i].message) != NULL);
        sf_arr_free(arr);
        *byte = was;
    }
    arr = shape_arr(&small, NULL);
    sf_error err;
    REQUIRE_OK(sf_arr_load_page(arr, 0, store.pages[0], &err), err);
    CHECK_INT(sf_arr_load_page(arr, 0, store.pages[0], &err), SF_CORRUPT); /* twice */
    sf_arr_free(arr);
    /* two pages with the same keys */
    uint32_t second = 1;
    arr = shape_arr(&small, NULL);
    REQUIRE_OK(sf_arr_load_page(arr, 0, store.pages[0], &err), err);
    memcpy(store.pages[0] + 4, &second, sizeof second);
    REQUIRE_OK(sf_arr_load_page(arr, 1, store.pages[0], &err), err);
    CHECK_INT(sf_arr_load_finish(arr, &err), SF_CORRUPT);
    CHECK(strstr(err.message, "a key is there twice") != NULL);
    sf_arr_free(arr);
    page_store_deinit(&store);
    sf_schema_unref(schema);
}

void long_texts_must_be_whole(void)
{
    sf_schema *schema = shape_schema(&texts);
    sf_arr *arr = filled(&texts, schema, 40, 43);
    REQUIRE(arr);
    page_store store = saved(arr);
    sf_arr_free(arr);
    sf_error err;
    uint32_t checked = 0;
    for (uint32_t i = 0; i < store.cap; i++) {
        if (!store.pages[i] || memcmp(store.pages[i], "SFB1", 4) != 0)
            continue;
        uint8_t *missing = store.pages[i];
        store.pages[i] = NULL;
        arr = shape_arr(&texts, NULL);
        CHECK_INT(page_store_load(&store, arr, &err), SF_CORRUPT);
        sf_arr_free(arr);
        store.pages[i] = missing;
        checked++;
    }
    CHECK(checked > 5);
    /* and must belong to a row */
    arr = shape_arr(&texts, NULL);
    for (uint32_t i = 0; i < store.cap; i++)
        if (store.pages[i] && memcmp(store.pages[i], "SFB1", 4) == 0)
            CHECK_INT(sf_arr_load_page(arr, i, store.pages[i], &err), SF_OK);
    CHECK_INT(sf_arr_load_finish(arr, &err), SF_CORRUPT);
    CHECK(strstr(err.message, "a long text of no row") != NULL);
    sf_arr_free(arr);
    page_store_deinit(&store);
    sf_schema_unref(schema);
}

/* Two rows with a long text each; the heap's last 24 bytes say where these are. */
void long_texts_belong_to_one_row(void)
{
    static const struct shape shape = {.mode = SF_ARR_UNIQUE,
                                       .column_count = 2,
                                       .key_count = 1,
                                       .types = {SF_TYPE_I64, SF_TYPE_UTF8}};
    sf_schema *schema = shape_schema(&shape);
    sf_arr *arr = shape_arr(&shape, NULL);
    sf_batch_builder builder;
    REQUIRE(schema && arr && sf_batch_builder_init(&builder, schema));
    static char text[9000];
    for (int i = 0; i < 2; i++) {
        memset(text, 'a' + i, sizeof text);
        sf_builder_i64(&builder.columns[0], i);
        sf_builder_str(&builder.columns[1], (sf_str){text, sizeof text});
        sf_batch_builder_row(&builder, 1);
    }
    sf_batch *batch = sf_batch_builder_finish(&builder);
    uint64_t hashes[2];
    sf_ref refs[2];
    sf_error err;
    sf_batch_hash(batch, identity, 1, sf_sel_all(2), hashes);
    REQUIRE_OK(sf_arr_upsert(arr, batch, identity, sf_sel_all(2), hashes, refs, NULL, &err), err);
    page_store store = saved(arr);
    sf_arr_free(arr);
    uint8_t *page = NULL;
    for (uint32_t i = 0; i < store.cap; i++)
        if (store.pages[i] && memcmp(store.pages[i], "SFP1", 4) == 0)
            page = store.pages[i];
    REQUIRE(page);
    memcpy(page + SF_PAGE_BYTES - 24, page + SF_PAGE_BYTES - 12, 12);
    uint32_t shown;
    memcpy(&shown, page + SF_PAGE_BYTES - 12, sizeof shown);
    for (uint32_t i = 0; i < store.cap; i++) { /* the other one goes: no text is without a row */
        if (i == shown || !store.pages[i] || memcmp(store.pages[i], "SFB1", 4) != 0)
            continue;
        free(store.pages[i]);
        store.pages[i] = NULL;
    }
    arr = shape_arr(&shape, NULL);
    CHECK_INT(page_store_load(&store, arr, &err), SF_CORRUPT);
    CHECK(strstr(err.message, "a long text") != NULL);
    sf_arr_free(arr);
    page_store_deinit(&store);
    sf_batch_unref(batch);
    sf_batch_builder_deinit(&builder);
    sf_schema_unref(schema);
}

/* Each allocation of loading and of reading fails in turn: a clean refusal, nothing left behind. */
void loading_without_memory_fails(void)
{
    for (size_t s = 0; s < SF_COUNT_OF(shapes); s++) {
        sf_schema *schema = shape_schema(shapes[s]);
        sf_arr *arr = filled(shapes[s], schema, 60, 60 + s);
        REQUIRE(arr);
        page_store store = saved(arr);
        sf_arr_free(arr);
        sf_budget budget = {0};
        sf_status status = SF_LIMIT;
        uint32_t refused = 0;
        for (uint64_t n = 1; status != SF_OK; n++) {
            arr = shape_arr(shapes[s], &budget);
            sf_snapshot *snapshot = NULL;
            sf_batch *batch = NULL;
            sf_alloc_fail_after(n);
            status = page_store_load(&store, arr, NULL);
            if (status == SF_OK) {
                snapshot = sf_arr_snapshot(arr);
                status = snapshot ? sf_snapshot_read(snapshot, schema, 0, 100, NULL, &batch, NULL)
                                  : SF_LIMIT;
            }
            sf_alloc_fail_after(0);
            CHECK(status == SF_OK || status == SF_LIMIT);
            refused += status != SF_OK;
            sf_batch_unref(batch);
            sf_snapshot_unref(snapshot);
            sf_arr_free(arr);
            CHECK_INT(budget.used_bytes, 0);
        }
        CHECK(refused > 10);
        page_store_deinit(&store);
        sf_schema_unref(schema);
    }
}
