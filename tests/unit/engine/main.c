/* engine: the driver of circuits, without threads. */
#include "tests.h"

enum { ANSWER_ROWS_MAX = 64 };

const sf_field kv[2] = {{"k", SF_TYPE_I64, false}, {"v", SF_TYPE_I64, false}};

sf_batch *batch_of(const sf_schema *schema, const row *rows, size_t count, int64_t weight)
{
    sf_batch_builder builder;
    bool room = sf_batch_builder_init(&builder, schema);
    for (size_t i = 0; room && i < count; i++) {
        sf_builder_i64(&builder.columns[0], rows[i].k);
        sf_builder_i64(&builder.columns[1], rows[i].v);
        sf_builder_bool(&builder.columns[2], false);
        sf_builder_i64(&builder.columns[3], rows[i].ts);
        sf_batch_builder_row(&builder, weight);
    }
    sf_batch *batch = room ? sf_batch_builder_finish(&builder) : NULL;
    sf_batch_builder_deinit(&builder);
    return batch;
}

/* Appends " k:v" (NULL: "-", weights other than 1 as "*w") of the visible columns. */
void put_row(char *text, const sf_batch *batch, uint32_t at)
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

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* All rows of a table, sorted as text. Takes the snapshot. */
const char *answer_of(sf_snapshot *snapshot, const sf_schema *schema, char *text)
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

static const sf_case cases[] = {
    SF_CASE(markers_never_go_back),
    SF_CASE(relations_have_hidden_columns),
    SF_CASE(worlds_refuse),
    SF_CASE(worlds_answer),
    SF_CASE(worlds_grow),
    SF_CASE(worlds_have_time),
    SF_CASE(worlds_without_memory),
    SF_CASE(groups_work_in_epochs),
    SF_CASE(groups_read_from_a_position),
    SF_CASE(groups_end_readers_last),
    SF_CASE(failures_stay_with_their_member),
    SF_CASE(groups_merge),
    SF_CASE(images_come_back),
    SF_CASE(images_hold_what_changed),
    SF_CASE(images_are_of_a_query),
    SF_CASE(images_tell_failures),
    SF_CASE(images_are_not_trusted),
};

SF_RUN("engine", cases)
