/* column: builders, gathering, concatenation, compaction, hashing, packing. */
#include "column/column.h"
#include "column/pack.h"
#include "tests.h"

static const sf_field fields[] = {{"n", SF_TYPE_I64, false},
                                  {"d", SF_TYPE_F64, false},
                                  {"s", SF_TYPE_UTF8, false},
                                  {"b", SF_TYPE_BOOL, false},
                                  {"_ts", SF_TYPE_I64, true}};
static const char long_text[] = "a text of more than twelve bytes";

/* Row i: n = i (NULL when i % 3 == 0), d = i / 2, s alternates short and long, b = i odd. */
static sf_batch *make(uint32_t rows, bool weighted)
{
    sf_schema *schema = sf_schema_new(fields, SF_COUNT_OF(fields));
    sf_batch_builder builder;
    if (!schema || !sf_batch_builder_init(&builder, schema)) {
        if (schema)
            sf_batch_builder_deinit(&builder);
        sf_schema_unref(schema);
        return NULL;
    }
    for (uint32_t i = 0; i < rows; i++) {
        if (i % 3 == 0)
            sf_builder_null(&builder.columns[0]);
        else
            sf_builder_i64(&builder.columns[0], i);
        sf_builder_f64(&builder.columns[1], i / 2.0);
        sf_builder_str(&builder.columns[2], i % 2 ? sf_str_of(long_text) : SF_STR("short"));
        sf_builder_bool(&builder.columns[3], i % 2);
        sf_builder_i64(&builder.columns[4], 1000 + i);
        sf_batch_builder_row(&builder, weighted && i == 1 ? -1 : 1);
    }
    sf_batch *batch = sf_batch_builder_finish(&builder);
    sf_batch_builder_deinit(&builder);
    sf_schema_unref(schema);
    return batch;
}

static void check_row(const sf_batch *batch, uint32_t at, uint32_t i)
{
    CHECK_INT(sf_column_is_valid(batch->columns[0], at), i % 3 != 0);
    if (i % 3)
        CHECK_INT(SF_LANES(batch->columns[0], int64_t)[at], i);
    CHECK(SF_LANES(batch->columns[1], double)[at] == i / 2.0);
    CHECK(sf_str_eq(sf_column_str(batch->columns[2], at),
                    i % 2 ? sf_str_of(long_text) : SF_STR("short")));
    CHECK_INT(SF_LANES(batch->columns[3], uint8_t)[at], i % 2);
    CHECK_INT(SF_LANES(batch->columns[4], int64_t)[at], 1000 + i);
}

void builders_give_what_was_put(void)
{
    sf_batch *batch = make(200, true);
    REQUIRE(batch);
    CHECK_INT(batch->rows, 200);
    for (uint32_t i = 0; i < 200; i++)
        check_row(batch, i, i);
    CHECK_INT(sf_column_null_count(batch->columns[0]), 67);
    CHECK_INT(sf_column_null_count(batch->columns[1]), 0);
    CHECK_INT(sf_batch_weight(batch, 0), 1);
    CHECK_INT(sf_batch_weight(batch, 1), -1);
    CHECK_INT(sf_batch_weight(batch, 199), 1);
    CHECK(sf_batch_verify(batch, NULL));
    sf_batch_unref(batch);
}

void gather_picks_rows(void)
{
    sf_batch *batch = make(130, true);
    REQUIRE(batch);
    uint32_t rows[] = {1, 63, 64, 65, 129};
    sf_batch *picked = sf_batch_gather(batch, (sf_sel){rows, 5});
    REQUIRE(picked);
    for (uint32_t i = 0; i < 5; i++)
        check_row(picked, i, rows[i]);
    CHECK_INT(sf_batch_weight(picked, 0), -1);
    sf_batch *part = sf_batch_slice(batch, 60, 10), *prefix = sf_batch_slice(batch, 0, 70);
    REQUIRE(part && prefix);
    for (uint32_t i = 0; i < 10; i++)
        check_row(part, i, 60 + i);
    CHECK_INT(sf_column_null_count(prefix->columns[0]), 24);
    CHECK(sf_batch_gather(batch, sf_sel_all(130)) == batch); /* all rows: a reference */
    sf_batch_unref(batch);
    sf_batch_unref(prefix);
    sf_batch_unref(part);
    sf_batch_unref(picked);
    sf_batch_unref(batch);
}

void concat_keeps_texts_and_weights(void)
{
    sf_batch *a = make(5, false), *b = make(4, true);
    REQUIRE(a && b);
    const sf_batch *both[] = {a, b};
    sf_batch *joined = sf_batch_concat(both, 2);
    REQUIRE(joined);
    CHECK_INT(joined->rows, 9);
    for (uint32_t i = 0; i < 5; i++)
        check_row(joined, i, i);
    for (uint32_t i = 0; i < 4; i++)
        check_row(joined, 5 + i, i);
    CHECK_INT(sf_batch_weight(joined, 1), 1);
    CHECK_INT(sf_batch_weight(joined, 6), -1);
    CHECK(sf_batch_verify(joined, NULL));
    sf_batch_unref(joined);
    sf_batch_unref(a);
    sf_batch_unref(b);
}

void compaction_lets_go_of_dead_text(void)
{
    sf_builder builder;
    REQUIRE(sf_builder_init(&builder, SF_TYPE_UTF8, 0));
    for (int i = 0; i < 1000; i++)
        sf_builder_str(&builder, sf_str_of(long_text));
    sf_column *all = sf_builder_finish(&builder);
    sf_builder_deinit(&builder);
    REQUIRE(all);
    uint32_t one = 500;
    sf_column *picked = sf_column_gather(all, (sf_sel){&one, 1});
    sf_column *compact = sf_column_compact(picked), *whole = sf_column_compact(all);
    REQUIRE(picked && compact && whole);
    CHECK(whole == all); /* more than half is live */
    CHECK_INT(compact->buffer_count, 1);
    CHECK_INT(compact->buffers[0]->size, sizeof long_text - 1);
    CHECK(sf_str_eq(sf_column_str(compact, 0), sf_str_of(long_text)));
    sf_column_unref(whole);
    sf_column_unref(compact);
    sf_column_unref(picked);
    sf_column_unref(all);
}

void shared_text_is_not_copied(void)
{
    sf_buffer *buffer = sf_buffer_new(64);
    REQUIRE(buffer);
    memcpy(buffer->data, "0123456789abcdefghijklmnopqrstuvwxyz", 36);
    sf_builder builder;
    REQUIRE(sf_builder_init(&builder, SF_TYPE_UTF8, 2));
    sf_builder_str_shared(&builder, (sf_str){(char *)buffer->data + 2, 20}, buffer);
    sf_builder_str_shared(&builder, (sf_str){(char *)buffer->data, 3}, buffer);
    sf_builder_str(&builder, sf_str_of(long_text)); /* its own bytes after shared ones */
    sf_column *column = sf_builder_finish(&builder);
    sf_builder_deinit(&builder);
    REQUIRE(column);
    CHECK(sf_column_str(column, 0).data == (char *)buffer->data + 2);
    CHECK(sf_str_eq(sf_column_str(column, 1), SF_STR("012")));
    CHECK(sf_str_eq(sf_column_str(column, 2), sf_str_of(long_text)));
    sf_column_unref(column);
    CHECK_INT(buffer->refs, 1);
    sf_buffer_unref(buffer);
}

void truncated_rows_leave_no_trace(void)
{
    sf_builder builder;
    REQUIRE(sf_builder_init(&builder, SF_TYPE_I64, 0));
    sf_builder_i64(&builder, 1);
    sf_builder_null(&builder);
    sf_builder_null(&builder);
    sf_builder_truncate(&builder, 1);
    sf_builder_i64(&builder, 2);
    sf_builder_null(&builder);
    sf_column *column = sf_builder_finish(&builder);
    sf_builder_deinit(&builder);
    REQUIRE(column);
    CHECK_INT(column->rows, 3);
    CHECK(sf_column_is_valid(column, 1));
    CHECK_INT(SF_LANES(column, int64_t)[1], 2);
    CHECK_INT(sf_column_null_count(column), 1);
    sf_column_unref(column);
}

static uint64_t hash_one(sf_type type, double d, sf_str s)
{
    sf_field field = {"x", type, false};
    sf_schema *schema = sf_schema_new(&field, 1);
    sf_batch_builder builder;
    uint32_t zero = 0;
    uint64_t hash = 0;
    if (schema && sf_batch_builder_init(&builder, schema)) {
        if (type == SF_TYPE_F64)
            sf_builder_f64(&builder.columns[0], d);
        else if (s.data)
            sf_builder_str(&builder.columns[0], s);
        else
            sf_builder_null(&builder.columns[0]);
        sf_batch_builder_row(&builder, 1);
        sf_batch *batch = sf_batch_builder_finish(&builder);
        sf_batch_hash(batch, &zero, 1, sf_sel_all(1), &hash);
        sf_batch_unref(batch);
        sf_batch_builder_deinit(&builder);
    }
    sf_schema_unref(schema);
    return hash;
}

void hashing_follows_group_by(void)
{
    sf_str none = {0};
    CHECK(hash_one(SF_TYPE_F64, 0.0, none) == hash_one(SF_TYPE_F64, -0.0, none));
    CHECK(hash_one(SF_TYPE_F64, 1.0, none) != hash_one(SF_TYPE_F64, 2.0, none));
    CHECK(hash_one(SF_TYPE_UTF8, 0, none) == hash_one(SF_TYPE_UTF8, 0, none)); /* NULLs */
    CHECK(hash_one(SF_TYPE_UTF8, 0, none) != hash_one(SF_TYPE_UTF8, 0, SF_STR("")));
    CHECK(hash_one(SF_TYPE_UTF8, 0, sf_str_of(long_text)) ==
          hash_one(SF_TYPE_UTF8, 0, sf_str_of(long_text)));
    CHECK(hash_one(SF_TYPE_UTF8, 0, SF_STR("ab")) != hash_one(SF_TYPE_UTF8, 0, SF_STR("ba")));
}

void packing_round_trips(void)
{
    sf_error err = {0};
    for (int weighted = 0; weighted < 2; weighted++) {
        sf_batch *batch = make(100, weighted), *back;
        REQUIRE(batch);
        sf_buf bytes = {0};
        sf_batch_pack(batch, &bytes);
        REQUIRE_OK(sf_batch_unpack(sf_buf_str(&bytes), batch->schema, &back, &err), err);
        CHECK(back->schema == batch->schema);
        for (uint32_t i = 0; i < 100; i++)
            check_row(back, i, i);
        CHECK_INT(sf_batch_weight(back, 1), weighted ? -1 : 1);
        CHECK(sf_batch_verify(back, &err));
        sf_batch_unref(back);
        sf_batch_unref(batch);
        sf_buf_deinit(&bytes);
    }
}

/* No byte of a packed batch may be believed: every truncation and every flipped byte gives an error
 * or a batch that verifies. */
void packing_survives_damage(void)
{
    sf_error err = {0};
    sf_batch *batch = make(20, true), *back;
    REQUIRE(batch);
    sf_buf bytes = {0};
    sf_batch_pack(batch, &bytes);
    sf_batch_unref(batch);
    for (size_t len = 0; len < bytes.len; len++)
        CHECK(sf_batch_unpack((sf_str){bytes.data, len}, NULL, &back, &err) != SF_OK);
    for (size_t at = 0; at < bytes.len; at++) {
        bytes.data[at] = (char)(bytes.data[at] ^ 0x81);
        if (sf_batch_unpack(sf_buf_str(&bytes), NULL, &back, &err) == SF_OK) {
            CHECK(sf_batch_verify(back, &err));
            sf_batch_unref(back);
        }
        bytes.data[at] = (char)(bytes.data[at] ^ 0x81);
    }
    sf_buf_deinit(&bytes);
}

void adapting_takes_columns_by_name(void)
{
    sf_batch *batch = make(3, false);
    static const sf_field wanted[] = {{"S", SF_TYPE_UTF8, false},  /* any case */
                                      {"n", SF_TYPE_F64, false},   /* another type: NULL */
                                      {"new", SF_TYPE_I64, false}, /* not there: NULL */
                                      {"_ts", SF_TYPE_I64, true}};
    sf_schema *schema = sf_schema_new(wanted, 4);
    REQUIRE(batch && schema);
    sf_batch *adapted = sf_batch_adapt(batch, schema);
    REQUIRE(adapted);
    CHECK(sf_str_eq(sf_column_str(adapted->columns[0], 1), sf_str_of(long_text)));
    CHECK_INT(sf_column_null_count(adapted->columns[1]), 3);
    CHECK_INT(sf_column_null_count(adapted->columns[2]), 3);
    CHECK_INT(SF_LANES(adapted->columns[3], int64_t)[2], 1002);
    sf_batch_unref(adapted);
    sf_schema_unref(schema);
    sf_batch_unref(batch);
}

/* The n-th allocation and all after it fail: every builder step must give up cleanly. */
void memory_may_run_out_anywhere(void)
{
    for (uint64_t n = 1; n < 40; n++) {
        sf_alloc_fail_after(n);
        sf_batch *batch = make(100, true), *part = NULL;
        if (batch)
            part = sf_batch_slice(batch, 10, 20);
        sf_alloc_fail_after(0);
        sf_batch_unref(part);
        sf_batch_unref(batch);
    }
    CHECK_INT(sf_check_failures, 0);
}
