/* Shapes, batches from a seed, and checkpoint pages in memory. */
#include "tests.h"

const uint32_t identity[COLUMNS_MAX] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,
                                        10, 11, 12, 13, 14, 15, 16, 17, 18, 19};

sf_schema *shape_schema(const struct shape *shape)
{
    sf_field fields[COLUMNS_MAX];
    char names[COLUMNS_MAX][8];
    for (uint32_t c = 0; c < shape->column_count; c++) {
        snprintf(names[c], sizeof names[c], "c%u", c % 100);
        fields[c] = (sf_field){.name = names[c], .type = shape->types[c]};
    }
    return sf_schema_new(fields, shape->column_count);
}

sf_arr *shape_arr(const struct shape *shape, sf_budget *budget)
{
    sf_arr_options options = {.mode = shape->mode,
                              .types = shape->types,
                              .column_count = shape->column_count,
                              .key_count = shape->key_count,
                              .extra_bytes = shape->extra_bytes,
                              .extra_weight = shape->extra_weight,
                              .budget = budget};
    sf_arr *arr;
    sf_error err;
    return sf_arr_new(&options, &arr, &err) == SF_OK ? arr : NULL;
}

/* The text of number n: its length and bytes follow from it. */
static void put_text(sf_builder *builder, uint64_t n, bool long_texts)
{
    static const size_t lengths[] = {0, 1, 7, 12, 13, 40, 200, 900};
    static const size_t long_lengths[] = {0, 5, 13, 100, 3000, 8192, 8193, 20000, 65504, 140000};
    uint64_t hash = sf_hash_u64(n + 1);
    size_t len = long_texts ? long_lengths[hash % SF_COUNT_OF(long_lengths)]
                            : lengths[hash % SF_COUNT_OF(lengths)];
    static char text[140000];
    memset(text, 'a' + (int)(hash >> 32 & 15), len);
    char number[24];
    size_t digits = (size_t)snprintf(number, sizeof number, "%llu", (unsigned long long)n);
    memcpy(text, number, digits < len ? digits : len);
    sf_builder_str(builder, (sf_str){text, len});
}

static void put_value(sf_builder *builder, sf_type type, uint64_t n, bool long_texts)
{
    if (n == 0) {
        sf_builder_null(builder);
        return;
    }
    if (sf_type_is_view(type)) {
        put_text(builder, n, long_texts);
        return;
    }
    uint64_t bits = sf_type_lane_bytes(type) < 8 ? n : sf_hash_u64(n);
    double number = n == 4 ? -0.0 : (double)n - 2; /* equal to the 0.0 of n = 2 */
    float single = (float)number;
    if (type == SF_TYPE_BOOL)
        bits &= 1;
    if (type == SF_TYPE_F64)
        memcpy(&bits, &number, sizeof number);
    if (type == SF_TYPE_F32)
        memcpy(&bits, &single, sizeof single);
    sf_builder_lane(builder, &bits);
}

sf_batch *shape_batch(const struct shape *shape, const sf_schema *schema, sf_rng *rng,
                      uint32_t rows)
{
    sf_batch_builder builder;
    if (!sf_batch_builder_init(&builder, schema))
        return NULL;
    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t c = 0; c < shape->column_count; c++) {
            uint32_t domain = c < shape->key_count ? shape->key_domain : shape->value_domain;
            put_value(&builder.columns[c], shape->types[c], sf_rng_below(rng, domain),
                      shape->long_texts);
        }
        sf_batch_builder_row(&builder, 1);
    }
    sf_batch *batch = sf_batch_builder_finish(&builder);
    sf_batch_builder_deinit(&builder);
    return batch;
}

/* ---- pages ---- */

static sf_status keep_page(void *arg, uint32_t page_no, const void *bytes, sf_error *err)
{
    SF_UNUSED(err);
    page_store *store = arg;
    if (page_no >= store->cap) {
        uint32_t cap = page_no + 64;
        store->pages = realloc(store->pages, cap * sizeof *store->pages);
        memset(store->pages + store->cap, 0, (cap - store->cap) * sizeof *store->pages);
        store->cap = cap;
    }
    if (!bytes) {
        free(store->pages[page_no]);
        store->pages[page_no] = NULL;
        return SF_OK;
    }
    if (!store->pages[page_no])
        store->pages[page_no] = malloc(SF_PAGE_BYTES);
    memcpy(store->pages[page_no], bytes, SF_PAGE_BYTES);
    return SF_OK;
}

sf_status page_store_save(page_store *store, const sf_snapshot *snapshot, uint64_t since)
{
    sf_error err;
    return sf_snapshot_pages(snapshot, since, keep_page, store, &err);
}

sf_status page_store_load(const page_store *store, sf_arr *arr, sf_error *err)
{
    for (uint32_t i = 0; i < store->cap; i++)
        if (store->pages[i])
            SF_TRY(sf_arr_load_page(arr, i, store->pages[i], err));
    return sf_arr_load_finish(arr, err);
}

void page_store_deinit(page_store *store)
{
    for (uint32_t i = 0; i < store->cap; i++)
        free(store->pages[i]);
    free(store->pages);
    *store = (page_store){0};
}

/* ---- pairs of numbers ---- */

static const struct shape pairs = {.column_count = 2, .types = {SF_TYPE_I64, SF_TYPE_I64}};

sf_schema *pairs_schema(void)
{
    return shape_schema(&pairs);
}

sf_batch *pairs_batch(const int64_t (*rows)[2], uint32_t count)
{
    sf_schema *schema = pairs_schema();
    sf_batch_builder builder;
    if (!schema || !sf_batch_builder_init(&builder, schema))
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t c = 0; c < 2; c++) {
            if (rows[i][c] == INT64_MIN)
                sf_builder_null(&builder.columns[c]);
            else
                sf_builder_i64(&builder.columns[c], rows[i][c]);
        }
        sf_batch_builder_row(&builder, 1);
    }
    sf_batch *batch = sf_batch_builder_finish(&builder);
    sf_batch_builder_deinit(&builder);
    sf_schema_unref(schema);
    return batch;
}

sf_arr *pairs_arr(sf_arr_mode mode, uint32_t key_count, uint32_t extra_bytes, sf_budget *budget)
{
    struct shape shape = pairs;
    shape.mode = mode;
    shape.key_count = key_count;
    shape.extra_bytes = extra_bytes;
    return shape_arr(&shape, budget);
}
