/* rows.h: rows of the source that tests of engine and runtime read, and answers as text. */
#ifndef SF_TESTS_UNIT_ROWS_H
#define SF_TESTS_UNIT_ROWS_H

#include "engine/engine.h"
#include "unit/check.h"

enum { TEXT_BYTES = 1024, ANSWER_ROWS_MAX = 64 };

static const sf_field kv[2] = {{"k", SF_TYPE_I64, false}, {"v", SF_TYPE_I64, false}};

typedef struct {
    int64_t k, v, ts;
} row;

/* Columns by name; those other than k, v and the hidden ones are NULL. */
static inline sf_batch *batch_of(const sf_schema *schema, const row *rows, size_t count,
                                 int64_t weight)
{
    sf_batch_builder builder;
    bool room = sf_batch_builder_init(&builder, schema);
    for (size_t i = 0; room && i < count; i++) {
        for (uint32_t c = 0; c < schema->count; c++) {
            const char *name = schema->fields[c].name;
            if (strcmp(name, SF_COL_RETRACT) == 0)
                sf_builder_bool(&builder.columns[c], false);
            else if (strcmp(name, SF_COL_TS) == 0)
                sf_builder_i64(&builder.columns[c], rows[i].ts);
            else if (strcmp(name, "k") == 0 || strcmp(name, "v") == 0)
                sf_builder_i64(&builder.columns[c], name[0] == 'k' ? rows[i].k : rows[i].v);
            else
                sf_builder_null(&builder.columns[c]);
        }
        sf_batch_builder_row(&builder, weight);
    }
    sf_batch *batch = room ? sf_batch_builder_finish(&builder) : NULL;
    sf_batch_builder_deinit(&builder);
    return batch;
}

/* Appends " 1:2" (NULL: "-", weights other than 1 as "*2") of the visible columns, which are Long. */
static inline void put_row(char *text, const sf_batch *batch, uint32_t at)
{
    size_t len = strlen(text);
    const char *before = " ";
    for (uint32_t c = 0; c < batch->schema->count; c++) {
        const sf_column *column = batch->columns[c];
        if (batch->schema->fields[c].hidden)
            continue;
        if (sf_column_is_valid(column, at))
            len += (size_t)snprintf(text + len, TEXT_BYTES - len, "%s%lld", before,
                                    (long long)SF_LANES(column, int64_t)[at]);
        else
            len += (size_t)snprintf(text + len, TEXT_BYTES - len, "%s-", before);
        before = ":";
    }
    if (sf_batch_weight(batch, at) != 1)
        snprintf(text + len, TEXT_BYTES - len, "*%lld", (long long)sf_batch_weight(batch, at));
}

static inline int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* All rows of a table, sorted as text. Takes the snapshot. */
static inline const char *answer_of(sf_snapshot *snapshot, const sf_schema *schema, char *text)
{
    char rows[ANSWER_ROWS_MAX][64] = {{0}};
    uint32_t count = 0;
    sf_batch *batch = NULL;
    sf_error err = {0};
    text[0] = '\0';
    CHECK(snapshot);
    if (!snapshot)
        return text;
    CHECK_INT(sf_snapshot_read(snapshot, schema, 0, ANSWER_ROWS_MAX, NULL, &batch, &err), SF_OK);
    for (; batch && count < batch->rows && count < ANSWER_ROWS_MAX; count++) {
        char one[TEXT_BYTES] = "";
        put_row(one, batch, count);
        snprintf(rows[count], sizeof rows[count], "%.60s", one);
    }
    sf_batch_unref(batch);
    sf_snapshot_unref(snapshot);
    qsort(rows, count, sizeof rows[0], by_text);
    for (uint32_t i = 0, len = 0; i < count; i++)
        len += (uint32_t)snprintf(text + len, TEXT_BYTES - len, "%s", rows[i]);
    return text;
}

#endif
