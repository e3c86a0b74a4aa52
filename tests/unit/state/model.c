/* A multiset of rows that is too simple to be wrong: bytes of the row, sum of its weights. */
#include "tests.h"

typedef struct {
    char *bytes;
    size_t len;
    uint64_t hash;
    int64_t weight;
} entry;

struct model {
    entry *entries; /* open addressing; an entry stays when its weight is 0 */
    size_t cap, used;
};

struct model *model_new(void)
{
    struct model *made = calloc(1, sizeof *made);
    made->cap = 1024;
    made->entries = calloc(made->cap, sizeof(entry));
    return made;
}

void model_free(struct model *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < model->cap; i++)
        free(model->entries[i].bytes);
    free(model->entries);
    free(model);
}

static entry *entry_of(const struct model *model, sf_str bytes)
{
    uint64_t hash = sf_hash_bytes(bytes.data, bytes.len, 7);
    for (size_t i = hash & (model->cap - 1);; i = (i + 1) & (model->cap - 1)) {
        entry *at = &model->entries[i];
        if (!at->bytes)
            return at;
        if (at->hash == hash && at->len == bytes.len &&
            memcmp(at->bytes, bytes.data, bytes.len) == 0)
            return at;
    }
}

static void model_grow(struct model *model)
{
    entry *old = model->entries;
    size_t cap = model->cap;
    model->cap *= 2;
    model->entries = calloc(model->cap, sizeof(entry));
    for (size_t i = 0; i < cap; i++)
        if (old[i].bytes)
            *entry_of(model, (sf_str){old[i].bytes, old[i].len}) = old[i];
    free(old);
}

static entry *entry_made(struct model *model, sf_str bytes)
{
    if (model->used * 2 > model->cap)
        model_grow(model);
    entry *at = entry_of(model, bytes);
    if (at->bytes)
        return at;
    at->bytes = malloc(bytes.len + 1);
    memcpy(at->bytes, bytes.data, bytes.len);
    at->len = bytes.len;
    at->hash = sf_hash_bytes(bytes.data, bytes.len, 7);
    model->used++;
    return at;
}

struct model *model_copy(const struct model *from)
{
    struct model *to = model_new();
    for (size_t i = 0; i < from->cap; i++)
        if (from->entries[i].bytes && from->entries[i].weight)
            model_add(to, (sf_str){from->entries[i].bytes, from->entries[i].len},
                      from->entries[i].weight);
    return to;
}

void model_add(struct model *model, sf_str bytes, int64_t weight)
{
    entry_made(model, bytes)->weight += weight;
}

void model_set(struct model *model, sf_str bytes, int64_t weight)
{
    entry_made(model, bytes)->weight = weight;
}

int64_t model_weight(const struct model *model, sf_str bytes)
{
    return entry_of(model, bytes)->weight; /* an empty one has 0 */
}

uint64_t model_rows(const struct model *model)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < model->cap; i++)
        rows += model->entries[i].weight != 0;
    return rows;
}

void row_bytes(const sf_batch *batch, uint32_t from, uint32_t to, uint32_t row, sf_buf *out)
{
    static const char zero[16];
    for (uint32_t c = from; c < to; c++) {
        const sf_column *column = batch->columns[c];
        bool valid = sf_column_is_valid(column, row);
        sf_buf_putc(out, valid);
        if (!valid)
            continue;
        if (sf_type_is_view(column->type)) {
            sf_buf_put_str(out, sf_column_str(column, row));
            continue;
        }
        size_t bytes = sf_type_lane_bytes(column->type);
        const char *lane = (const char *)column->data + row * bytes;
        bool is_zero = (column->type == SF_TYPE_F64 && *(const double *)(const void *)lane == 0) ||
                       (column->type == SF_TYPE_F32 && *(const float *)(const void *)lane == 0);
        sf_buf_put(out, is_zero ? zero : lane, bytes);
    }
}

bool model_matches(const struct model *model_, const sf_snapshot *snapshot, const sf_schema *schema)
{
    struct model *seen = model_new();
    sf_snapshot_cursor cursor = {0};
    sf_error err;
    sf_buf bytes = {0};
    bool same = true;
    uint64_t rows = 0;
    for (;;) {
        sf_batch *batch;
        if (sf_snapshot_read(snapshot, schema, 0, 700, &cursor, &batch, &err) != SF_OK)
            same = false;
        if (!same || !batch)
            break;
        same = same && sf_batch_verify(batch, &err);
        rows += batch->rows;
        for (uint32_t i = 0; i < batch->rows; i++) {
            sf_buf_clear(&bytes);
            row_bytes(batch, 0, schema->count, i, &bytes);
            model_add(seen, sf_buf_str(&bytes), sf_batch_weight(batch, i));
        }
        sf_batch_unref(batch);
    }
    same = same && rows == sf_snapshot_rows(snapshot);
    for (size_t i = 0; i < model_->cap && same; i++)
        same = !model_->entries[i].bytes ||
               model_weight(seen, (sf_str){model_->entries[i].bytes, model_->entries[i].len}) ==
                   model_->entries[i].weight;
    same = same && model_rows(seen) == model_rows(model_);
    sf_buf_deinit(&bytes);
    model_free(seen);
    return same;
}
