/* The Arrow C data interface: arrays as other programs make them, right and wrong. */
#include "column/arrow.h"
#include "tests.h"

/* ---- a producer ---- */

enum { COLUMNS_MAX = 12, BUFFERS_MAX = 6 };

typedef struct {
    struct ArrowSchema schema;
    struct ArrowArray array;
    const void *buffers[BUFFERS_MAX];
} producer_column;

typedef struct {
    struct ArrowSchema schema, *schema_children[COLUMNS_MAX];
    struct ArrowArray array, *array_children[COLUMNS_MAX];
    const void *buffers[1];
    producer_column columns[COLUMNS_MAX], dictionaries[COLUMNS_MAX];
    int count;
} producer;

static int live_arrays, live_schemas;

static void let_array_go(struct ArrowArray *array)
{
    live_arrays--;
    array->release = NULL;
}

static void let_schema_go(struct ArrowSchema *schema)
{
    live_schemas--;
    schema->release = NULL;
}

static void produce(producer *p, int64_t length)
{
    *p = (producer){0};
    p->schema = (struct ArrowSchema){
        .format = "+s", .name = "", .children = p->schema_children, .release = let_schema_go};
    p->array = (struct ArrowArray){.length = length,
                                   .n_buffers = 1,
                                   .buffers = p->buffers,
                                   .children = p->array_children,
                                   .release = let_array_go};
    live_arrays++;
    live_schemas++;
}

static void fill(producer_column *column, const char *name, const char *format, int64_t length,
                 int64_t nulls, const void *const *buffers, int64_t buffer_count)
{
    for (int64_t i = 0; i < buffer_count; i++)
        column->buffers[i] = buffers[i];
    column->schema = (struct ArrowSchema){.format = format, .name = name};
    column->array = (struct ArrowArray){.length = length,
                                        .null_count = nulls,
                                        .n_buffers = buffer_count,
                                        .buffers = column->buffers};
}

static producer_column *add(producer *p, const char *name, const char *format, int64_t nulls,
                            const void *const *buffers, int64_t buffer_count)
{
    producer_column *column = &p->columns[p->count];
    fill(column, name, format, p->array.length, nulls, buffers, buffer_count);
    p->schema_children[p->count] = &column->schema;
    p->array_children[p->count] = &column->array;
    p->count++;
    p->schema.n_children = p->array.n_children = p->count;
    return column;
}
#define ADD(p, name, format, nulls, ...)                                                           \
    add(p, name, format, nulls, (const void *const[]){__VA_ARGS__},                                \
        (int64_t)SF_COUNT_OF(((const void *const[]){__VA_ARGS__})))

static void add_dictionary(producer *p, producer_column *column, const char *format, int64_t length,
                           const void *const *buffers, int64_t buffer_count)
{
    producer_column *dictionary = &p->dictionaries[p->count];
    fill(dictionary, "", format, length, 0, buffers, buffer_count);
    column->schema.dictionary = &dictionary->schema;
    column->array.dictionary = &dictionary->array;
}

/* ---- a consumer ---- */

static bool plain_text(sf_str text)
{
    return !memchr(text.len ? text.data : "", 0xff, text.len);
}

static bool looks_like_json(sf_str text)
{
    return text.len && strchr("{[\"0123456789", text.data[0]);
}

static sf_schema *make_schema(const sf_field *fields, uint32_t count)
{
    sf_schema *schema = sf_schema_new(fields, count);
    SF_ASSERT(schema);
    return schema;
}

static sf_status read_first(producer *p, const sf_schema *schema, bool weights, sf_batch **out,
                            sf_arrow_report *report, sf_error *err)
{
    sf_arrow_reader *reader;
    sf_arrow_options options = {.schema = schema,
                                .stamp_ms = 777,
                                .weights = weights,
                                .valid_text = plain_text,
                                .valid_json = looks_like_json};
    *out = NULL;
    SF_TRY(sf_arrow_open(&p->array, &p->schema, &options, &reader, err));
    sf_status status = sf_arrow_next(reader, out, err);
    if (report)
        *report = *sf_arrow_reader_report(reader);
    sf_arrow_close(reader);
    if (status == SF_OK && *out && !sf_batch_verify(*out, err))
        status = SF_CORRUPT;
    return status;
}

static int64_t i64_at(const sf_batch *batch, int column, uint32_t row)
{
    return SF_LANES(batch->columns[column], int64_t)[row];
}

static bool text_is(const sf_batch *batch, int column, uint32_t row, const char *text)
{
    return sf_column_is_valid(batch->columns[column], row) &&
           sf_str_eq(sf_column_str(batch->columns[column], row), sf_str_of(text));
}

static bool null_at(const sf_batch *batch, int column, uint32_t row)
{
    return !sf_column_is_valid(batch->columns[column], row);
}

/* ---- reading ---- */

static const sf_field six[] = {{"s", SF_TYPE_UTF8, false},      {"d", SF_TYPE_F64, false},
                               {"l", SF_TYPE_I64, false},       {"b", SF_TYPE_BOOL, false},
                               {"t", SF_TYPE_TIMESTAMP, false}, {"j", SF_TYPE_JSON, false}};

void arrow_reads_every_type(void)
{
    static const int32_t offsets[] = {0, 1, 1, 24}, json_offsets[] = {0, 2, 4, 6};
    static const char text[] = "aan outstandingly long t", json[] = "{}[]{}";
    static const double reals[] = {1.5, 0, -2.25};
    static const int64_t longs[] = {7, 0, -8}, times[] = {1000, 0, 3000};
    static const uint8_t valid = 0x5, bools = 0x4;
    producer p;
    sf_batch *batch;
    sf_error err;
    sf_schema *schema = make_schema(six, SF_COUNT_OF(six));
    produce(&p, 3);
    ADD(&p, "s", "u", 1, &valid, offsets, text);
    ADD(&p, "d", "g", 1, &valid, reals);
    ADD(&p, "l", "l", 1, &valid, longs);
    ADD(&p, "b", "b", 1, &valid, &bools);
    ADD(&p, "t", "tsm:UTC", -1, &valid, times);
    ADD(&p, "j", "u", 0, NULL, json_offsets, json);
    REQUIRE_OK(read_first(&p, schema, false, &batch, NULL, &err), err);
    CHECK_INT(batch->rows, 3);
    CHECK(text_is(batch, 0, 0, "a") && text_is(batch, 0, 2, "an outstandingly long t"));
    CHECK(SF_LANES(batch->columns[1], double)[2] == -2.25);
    CHECK_INT(i64_at(batch, 2, 0), 7);
    CHECK_INT(SF_LANES(batch->columns[3], uint8_t)[0], 0);
    CHECK_INT(SF_LANES(batch->columns[3], uint8_t)[2], 1);
    CHECK_INT(i64_at(batch, 4, 2), 3000);
    CHECK(text_is(batch, 5, 1, "[]"));
    for (int column = 0; column < 5; column++)
        CHECK(null_at(batch, column, 1));
    CHECK(batch->columns[5]->valid == NULL);
    CHECK_INT(live_arrays + live_schemas, 0);
    sf_batch_unref(batch);
    sf_schema_unref(schema);
}

void arrow_widens_and_decodes(void)
{
    static const sf_field fields[] = {
        {"a", SF_TYPE_I64, false},       {"b", SF_TYPE_I64, false},
        {"c", SF_TYPE_F64, false},       {"d", SF_TYPE_F64, false},
        {"e", SF_TYPE_TIMESTAMP, false}, {"f", SF_TYPE_TIMESTAMP, false},
        {"g", SF_TYPE_TIMESTAMP, false}, {"h", SF_TYPE_UTF8, false},
        {"i", SF_TYPE_UTF8, false},      {"j", SF_TYPE_I64, false}};
    static const int8_t i8[] = {-128, 127};
    static const uint32_t u32[] = {4294967295u, 0};
    static const float f32[] = {0.5f, -1.0f};
    static const uint8_t u8[] = {255, 1};
    static const int64_t ns[] = {1999999, -1}, seconds[] = {2, -1};
    static const int32_t days[] = {1, -1};
    static const int16_t index[] = {2, 0};
    static const int32_t offsets[] = {0, 3, 3, 22};
    static const char text[] = "onethe third, the long";
    static const int64_t large_offsets[] = {5, 8, 8};
    static const char large[] = "xxxxxabc";
    static const double whole[] = {3.0, -4e15};
    producer p;
    sf_batch *batch;
    sf_error err;
    sf_schema *schema = make_schema(fields, SF_COUNT_OF(fields));
    produce(&p, 2);
    ADD(&p, "a", "c", 0, NULL, i8);
    ADD(&p, "b", "I", 0, NULL, u32);
    ADD(&p, "c", "f", 0, NULL, f32);
    ADD(&p, "d", "C", 0, NULL, u8);
    ADD(&p, "e", "tsn:", 0, NULL, ns);
    ADD(&p, "f", "tss:Europe/Rome", 0, NULL, seconds);
    ADD(&p, "g", "tdD", 0, NULL, days);
    producer_column *coded = ADD(&p, "h", "s", 0, NULL, index);
    add_dictionary(&p, coded, "u", 3, (const void *const[]){NULL, offsets, text}, 3);
    ADD(&p, "i", "U", 0, NULL, large_offsets, large);
    ADD(&p, "j", "g", 0, NULL, whole);
    REQUIRE_OK(read_first(&p, schema, false, &batch, NULL, &err), err);
    CHECK_INT(i64_at(batch, 0, 0), -128);
    CHECK_INT(i64_at(batch, 1, 0), 4294967295);
    CHECK(SF_LANES(batch->columns[2], double)[0] == 0.5);
    CHECK(SF_LANES(batch->columns[3], double)[0] == 255.0);
    CHECK_INT(i64_at(batch, 4, 0), 1);
    CHECK_INT(i64_at(batch, 4, 1), -1); /* floor: one nanosecond before 1970 */
    CHECK_INT(i64_at(batch, 5, 0), 2000);
    CHECK_INT(i64_at(batch, 6, 1), -86400000);
    CHECK(text_is(batch, 7, 0, "the third, the long") && text_is(batch, 7, 1, "one"));
    CHECK(text_is(batch, 8, 0, "abc") && text_is(batch, 8, 1, ""));
    CHECK_INT(i64_at(batch, 9, 0), 3);
    CHECK_INT(i64_at(batch, 9, 1), -4000000000000000);
    sf_batch_unref(batch);
    sf_schema_unref(schema);
}

void arrow_reads_slices(void)
{
    static const sf_field fields[] = {
        {"l", SF_TYPE_I64, false}, {"b", SF_TYPE_BOOL, false}, {"s", SF_TYPE_UTF8, false}};
    static const int64_t longs[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    static const uint8_t valid[] = {0xff, 0xf7}, bools[] = {0x00, 0x06}; /* row 11 is NULL */
    static const int32_t offsets[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    producer p;
    sf_batch *batch;
    sf_error err;
    sf_schema *schema = make_schema(fields, SF_COUNT_OF(fields));
    produce(&p, 3);
    producer_column *l = ADD(&p, "l", "l", 1, valid, longs);
    producer_column *b = ADD(&p, "b", "b", 0, NULL, bools);
    producer_column *s = ADD(&p, "s", "u", 0, NULL, offsets, "abcdefghijkl");
    p.array.offset = 2; /* of 12 rows: 7 skipped by the columns, 2 by the batch */
    l->array.offset = b->array.offset = s->array.offset = 7;
    l->array.length = b->array.length = s->array.length = 5;
    REQUIRE_OK(read_first(&p, schema, false, &batch, NULL, &err), err);
    CHECK_INT(i64_at(batch, 0, 0), 9);
    CHECK_INT(i64_at(batch, 0, 1), 10);
    CHECK(null_at(batch, 0, 2));
    CHECK_INT(SF_LANES(batch->columns[1], uint8_t)[0], 1);
    CHECK_INT(SF_LANES(batch->columns[1], uint8_t)[1], 1);
    CHECK_INT(SF_LANES(batch->columns[1], uint8_t)[2], 0);
    CHECK(text_is(batch, 2, 0, "j") && text_is(batch, 2, 2, "l"));
    sf_batch_unref(batch);
    sf_schema_unref(schema);
}

void arrow_reads_many_rows(void)
{
    enum { ROWS = SF_BATCH_ROWS_MAX + 10 };
    static const sf_field fields[] = {{"l", SF_TYPE_I64, false}, {"s", SF_TYPE_UTF8, false}};
    int64_t *longs = sf_calloc(ROWS, sizeof *longs);
    int32_t *offsets = sf_calloc(ROWS + 1, sizeof *offsets);
    REQUIRE(longs && offsets);
    for (int i = 0; i < ROWS; i++) {
        longs[i] = i;
        offsets[i + 1] = offsets[i] + (i == ROWS - 1 ? 20 : 0);
    }
    producer p;
    sf_arrow_reader *reader;
    sf_batch *first, *second, *none;
    sf_error err;
    sf_schema *schema = make_schema(fields, SF_COUNT_OF(fields));
    produce(&p, ROWS);
    ADD(&p, "l", "l", 0, NULL, longs);
    ADD(&p, "s", "u", 0, NULL, offsets, "twenty characters!!!");
    sf_arrow_options options = {.schema = schema, .valid_text = plain_text};
    REQUIRE_OK(sf_arrow_open(&p.array, &p.schema, &options, &reader, &err), err);
    REQUIRE_OK(sf_arrow_next(reader, &first, &err), err);
    REQUIRE_OK(sf_arrow_next(reader, &second, &err), err);
    REQUIRE_OK(sf_arrow_next(reader, &none, &err), err);
    CHECK_INT(first->rows, SF_BATCH_ROWS_MAX);
    CHECK_INT(second->rows, 10);
    CHECK(none == NULL);
    CHECK_INT(i64_at(second, 0, 9), ROWS - 1);
    CHECK(text_is(second, 1, 9, "twenty characters!!!") && text_is(second, 1, 8, ""));
    CHECK_INT(sf_arrow_reader_report(reader)->rows, ROWS);
    sf_arrow_close(reader);
    sf_batch_unref(first);
    sf_batch_unref(second);
    sf_schema_unref(schema);
    sf_free(longs);
    sf_free(offsets);
}

void arrow_finds_columns_by_name(void)
{
    static const sf_field fields[] = {{"k", SF_TYPE_UTF8, false}, {"v", SF_TYPE_I64, false}};
    static const int64_t v[] = {1, 2};
    static const int32_t offsets[] = {0, 1, 2};
    producer p;
    sf_batch *batch;
    sf_arrow_report report;
    sf_error err;
    sf_schema *schema = make_schema(fields, SF_COUNT_OF(fields));
    produce(&p, 2);
    ADD(&p, "v", "l", 0, NULL, v);
    ADD(&p, "extra", "w:16", 0, NULL, v); /* a format nobody reads: it is passed over */
    ADD(&p, "k", "u", 0, NULL, offsets, "xy");
    REQUIRE_OK(read_first(&p, schema, false, &batch, &report, &err), err);
    CHECK(text_is(batch, 0, 1, "y"));
    CHECK_INT(i64_at(batch, 1, 1), 2);
    CHECK_INT(report.unknown_columns, 1);
    sf_batch_unref(batch);

    produce(&p, 2);
    ADD(&p, "V", "l", 0, NULL, v); /* names keep their case */
    ADD(&p, "k", "n", 2, NULL);
    p.columns[1].array.n_buffers = 0;
    REQUIRE_OK(read_first(&p, schema, false, &batch, &report, &err), err);
    CHECK(null_at(batch, 0, 0) && null_at(batch, 1, 0) && null_at(batch, 1, 1));
    sf_batch_unref(batch);

    produce(&p, 0); /* nothing at all */
    REQUIRE_OK(read_first(&p, schema, false, &batch, &report, &err), err);
    CHECK(batch == NULL);
    CHECK_INT(live_arrays + live_schemas, 0);
    sf_schema_unref(schema);
}

void arrow_counts_misfits(void)
{
    static const sf_field fields[] = {{"u", SF_TYPE_I64, false},  {"d", SF_TYPE_F64, false},
                                      {"w", SF_TYPE_I64, false},  {"t", SF_TYPE_TIMESTAMP, false},
                                      {"s", SF_TYPE_UTF8, false}, {"j", SF_TYPE_JSON, false}};
    static const uint64_t u[] = {UINT64_MAX, 5};
    static const double d[] = {__builtin_nan(""), 1}, w[] = {1.5, 2};
    static const int64_t t[] = {INT64_MAX, 1};
    static const int32_t offsets[] = {0, 1, 2};
    producer p;
    sf_batch *batch;
    sf_arrow_report report;
    sf_error err;
    sf_schema *schema = make_schema(fields, SF_COUNT_OF(fields));
    produce(&p, 2);
    ADD(&p, "u", "L", 0, NULL, u);
    ADD(&p, "d", "g", 0, NULL, d);
    ADD(&p, "w", "g", 0, NULL, w);
    ADD(&p, "t", "tss:", 0, NULL, t);
    ADD(&p, "s", "u", 0, NULL, offsets, "\xff!");
    ADD(&p, "j", "u", 0, NULL, offsets, "}1");
    REQUIRE_OK(read_first(&p, schema, false, &batch, &report, &err), err);
    CHECK_INT(report.misfits, 6);
    for (int column = 0; column < 6; column++)
        CHECK(null_at(batch, column, 0) && !null_at(batch, column, 1));
    sf_batch_unref(batch);
    sf_schema_unref(schema);
}

void arrow_keeps_reserved_columns(void)
{
    static const sf_field fields[] = {
        {"v", SF_TYPE_I64, false}, {"_retract", SF_TYPE_BOOL, true}, {"_ts", SF_TYPE_I64, true}};
    static const int64_t v[] = {1, 2}, us[] = {5000000, 0};
    static const uint8_t valid = 0x1, retract = 0x3;
    static const int32_t weights[] = {-1, 3};
    producer p;
    sf_batch *batch;
    sf_error err;
    sf_schema *schema = make_schema(fields, SF_COUNT_OF(fields));
    produce(&p, 2);
    ADD(&p, "v", "l", 0, NULL, v);
    REQUIRE_OK(read_first(&p, schema, true, &batch, NULL, &err), err);
    CHECK_INT(i64_at(batch, 2, 1), 777);
    CHECK_INT(SF_LANES(batch->columns[1], uint8_t)[1], 0);
    CHECK(batch->weights == NULL);
    sf_batch_unref(batch);

    produce(&p, 2);
    ADD(&p, "v", "l", 0, NULL, v);
    ADD(&p, "_ts", "tsu:", 1, &valid, us);
    ADD(&p, "_retract", "b", 1, &valid, &retract);
    ADD(&p, "_weight", "i", 0, NULL, weights);
    REQUIRE_OK(read_first(&p, schema, true, &batch, NULL, &err), err);
    CHECK_INT(i64_at(batch, 2, 0), 5000);
    CHECK_INT(i64_at(batch, 2, 1), 777);
    CHECK_INT(SF_LANES(batch->columns[1], uint8_t)[0], 1);
    CHECK_INT(SF_LANES(batch->columns[1], uint8_t)[1], 0);
    CHECK_INT(sf_batch_weight(batch, 0), -1);
    CHECK_INT(sf_batch_weight(batch, 1), 3);
    sf_batch_unref(batch);
    sf_schema_unref(schema);
}

/* ---- refusing ---- */

static void refused(producer *p, const sf_schema *schema, const char *part, const char *what)
{
    sf_batch *batch;
    sf_error err = {0};
    sf_status status = read_first(p, schema, true, &batch, NULL, &err);
    if (status != SF_INVALID || !strstr(err.message, part)) {
        printf("  %s: status %d, \"%s\"\n", what, (int)status, err.message);
        sf_check_failures++;
    }
    sf_batch_unref(batch);
    CHECK_INT(live_arrays + live_schemas, 0);
}

void arrow_refuses_what_does_not_fit(void)
{
    static const struct {
        sf_type type;
        const char *format;
    } pairs[] = {{SF_TYPE_I64, "u"},  {SF_TYPE_UTF8, "l"},      {SF_TYPE_BOOL, "c"},
                 {SF_TYPE_F64, "b"},  {SF_TYPE_TIMESTAMP, "g"}, {SF_TYPE_JSON, "tsm:"},
                 {SF_TYPE_I64, "+l"}, {SF_TYPE_I64, "d:10,2"},  {SF_TYPE_UTF8, "z"}};
    static const int64_t words[4] = {0};
    for (size_t i = 0; i < SF_COUNT_OF(pairs); i++) {
        producer p;
        sf_field field = {"c", pairs[i].type, false};
        sf_schema *schema = make_schema(&field, 1);
        produce(&p, 1);
        if (pairs[i].format[0] == 'u')
            ADD(&p, "c", pairs[i].format, 0, NULL, words, "");
        else
            ADD(&p, "c", pairs[i].format, 0, NULL, words);
        refused(&p, schema, "\"c\"", pairs[i].format);
        sf_schema_unref(schema);
    }
}

typedef enum {
    OFFSETS_GO_BACK,
    NEGATIVE_OFFSET,
    FEWER_ROWS,
    NO_VALUES,
    NULLS_WITHOUT_BITS,
    ONE_BUFFER,
    NEGATIVE_LENGTH,
    HUGE_OFFSET,
    INDEX_OUTSIDE,
    INDEX_NEGATIVE,
    NO_DICTIONARY_ARRAY,
    TWO_OF_A_NAME,
    VIEW_OUTSIDE,
    VIEW_BUFFER_OUTSIDE,
    NOT_A_STRUCT,
    NULL_ROW,
    CHILD_MISSING,
    CHILDREN_DIFFER,
    RELEASED,
    WEIGHT_ZERO,
    BREAKAGES
} breakage;

static const int32_t good_offsets[] = {0, 1, 2, 3}, back_offsets[] = {0, 2, 1, 3},
                     negative_offsets[] = {-1, 1, 2, 3}, good_index[] = {0, 1, 0},
                     bad_index[] = {0, 5, 0}, negative_index[] = {0, -1, 0};
static const uint8_t all_bits = 0xff;

static void break_view(producer *p, breakage how)
{
    static int32_t views[12] = {0}; /* three views; the second is a far one of 20 bytes */
    static const char bytes[20] = "0123456789abcdefghij";
    static const int64_t sizes[] = {20};
    views[4] = 20;
    views[6] = how == VIEW_BUFFER_OUTSIDE ? 1 : 0;
    views[7] = how == VIEW_OUTSIDE ? 1 : 0;
    p->columns[0].schema.format = "vu";
    p->columns[0].array.n_buffers = 4;
    p->columns[0].buffers[1] = views;
    p->columns[0].buffers[2] = bytes;
    p->columns[0].buffers[3] = sizes;
}

static void break_it(producer *p, breakage how)
{
    producer_column *k = &p->columns[0], *v = &p->columns[1], *d = &p->columns[2];
    switch (how) {
    case OFFSETS_GO_BACK: k->buffers[1] = back_offsets; break;
    case NEGATIVE_OFFSET: k->buffers[1] = negative_offsets; break;
    case FEWER_ROWS: v->array.length = 2; break;
    case NO_VALUES: v->buffers[1] = NULL; break;
    case NULLS_WITHOUT_BITS: v->array.null_count = 1; break;
    case ONE_BUFFER: v->array.n_buffers = 1; break;
    case NEGATIVE_LENGTH: v->array.length = -3; break;
    case HUGE_OFFSET: v->array.offset = INT64_MAX; break;
    case INDEX_OUTSIDE: d->buffers[1] = bad_index; break;
    case INDEX_NEGATIVE: d->buffers[1] = negative_index; break;
    case NO_DICTIONARY_ARRAY: d->array.dictionary = NULL; break;
    case TWO_OF_A_NAME: d->schema.name = "k"; break;
    case VIEW_OUTSIDE:
    case VIEW_BUFFER_OUTSIDE: break_view(p, how); break;
    case NOT_A_STRUCT: p->schema.format = "+l"; break;
    case NULL_ROW:
        p->array.null_count = 1;
        p->buffers[0] = &all_bits;
        break;
    case CHILD_MISSING: p->array_children[1] = NULL; break;
    case CHILDREN_DIFFER: p->schema.n_children = 2; break;
    case RELEASED: let_array_go(&p->array); break;
    case WEIGHT_ZERO: v->schema.name = "_weight"; break;
    case BREAKAGES: break;
    }
}

void arrow_refuses_broken_arrays(void)
{
    static const sf_field fields[] = {
        {"k", SF_TYPE_UTF8, false}, {"v", SF_TYPE_I64, false}, {"d", SF_TYPE_UTF8, false}};
    static const int64_t v[] = {0, 1, 2};
    sf_schema *schema = make_schema(fields, SF_COUNT_OF(fields));
    for (int how = 0; how <= BREAKAGES; how++) {
        char what[32];
        producer p;
        snprintf(what, sizeof what, "breakage %d", how);
        produce(&p, 3);
        ADD(&p, "k", "u", 0, NULL, good_offsets, "abc");
        ADD(&p, "v", "l", 0, NULL, v);
        producer_column *d = ADD(&p, "d", "i", 0, NULL, good_index);
        add_dictionary(&p, d, "u", 2, (const void *const[]){NULL, good_offsets, "xyz"}, 3);
        break_it(&p, (breakage)how);
        if (how < BREAKAGES) {
            refused(&p, schema, "invalid arrow", what);
            continue;
        }
        sf_batch *batch; /* unbroken, it is read */
        sf_error err;
        REQUIRE_OK(read_first(&p, schema, false, &batch, NULL, &err), err);
        CHECK(text_is(batch, 2, 1, "y"));
        sf_batch_unref(batch);
    }
    sf_schema_unref(schema);
}

/* ---- writing ---- */

static sf_batch *six_columns(uint32_t rows)
{
    sf_batch_builder builder;
    sf_schema *schema = sf_schema_new(six, SF_COUNT_OF(six));
    sf_batch *batch = NULL;
    if (schema && sf_batch_builder_init(&builder, schema)) {
        for (uint32_t i = 0; i < rows; i++) {
            if (i % 4 == 3)
                sf_builder_null(&builder.columns[0]);
            else
                sf_builder_str(&builder.columns[0],
                               i % 2 ? SF_STR("a text of some length") : SF_STR("short"));
            sf_builder_f64(&builder.columns[1], i / 4.0);
            if (i % 3 == 0)
                sf_builder_null(&builder.columns[2]);
            else
                sf_builder_i64(&builder.columns[2], i);
            sf_builder_bool(&builder.columns[3], i % 5 == 0);
            sf_builder_i64(&builder.columns[4], 1000LL * i);
            sf_builder_str(&builder.columns[5], SF_STR("{\"a\":1}"));
            sf_batch_builder_row(&builder, 1);
        }
        batch = sf_batch_builder_finish(&builder);
        sf_batch_builder_deinit(&builder);
    }
    sf_schema_unref(schema);
    return batch;
}

static bool same_lane(const sf_column *a, const sf_column *b, uint32_t row)
{
    if (sf_column_is_valid(a, row) != sf_column_is_valid(b, row))
        return false;
    if (!sf_column_is_valid(a, row))
        return true;
    if (sf_type_is_view(a->type))
        return sf_str_eq(sf_column_str(a, row), sf_column_str(b, row));
    size_t lane = sf_type_lane_bytes(a->type);
    return memcmp((const char *)a->data + row * lane, (const char *)b->data + row * lane, lane) ==
           0;
}

void arrow_round_trips(void)
{
    sf_batch *batch = six_columns(1000), *back;
    REQUIRE(batch);
    struct ArrowSchema schema;
    struct ArrowArray array;
    sf_arrow_reader *reader;
    sf_error err;
    REQUIRE_OK(sf_arrow_export_schema(batch->schema, false, &schema, &err), err);
    REQUIRE_OK(sf_arrow_export(batch, false, &array, &err), err);
    CHECK_STR(schema.children[4]->format, "tsm:UTC");
    CHECK_STR(schema.children[5]->format, "u");
    CHECK(schema.children[5]->metadata != NULL && schema.children[0]->metadata == NULL);
    CHECK(array.children[1]->buffers[1] == batch->columns[1]->data);
    sf_arrow_options options = {
        .schema = batch->schema, .valid_text = plain_text, .valid_json = looks_like_json};
    REQUIRE_OK(sf_arrow_open(&array, &schema, &options, &reader, &err), err);
    REQUIRE_OK(sf_arrow_next(reader, &back, &err), err);
    CHECK_INT(sf_arrow_reader_report(reader)->misfits, 0);
    sf_arrow_close(reader);
    for (uint32_t column = 0; column < batch->schema->count; column++)
        for (uint32_t row = 0; row < batch->rows; row++)
            CHECK(same_lane(batch->columns[column], back->columns[column], row));
    sf_batch_unref(batch);
    sf_batch_unref(back);
}

/* A consumer may take a column out of the batch and release the rest. */
void arrow_children_move_out(void)
{
    sf_batch *batch = six_columns(10);
    REQUIRE(batch);
    struct ArrowArray array, taken;
    struct ArrowSchema schema, field;
    sf_error err;
    REQUIRE_OK(sf_arrow_export(batch, true, &array, &err), err);
    REQUIRE_OK(sf_arrow_export_schema(batch->schema, true, &schema, &err), err);
    sf_batch_unref(batch);
    taken = *array.children[1];
    array.children[1]->release = NULL;
    field = *schema.children[1];
    schema.children[1]->release = NULL;
    array.release(&array);
    schema.release(&schema);
    CHECK(array.release == NULL && schema.release == NULL);
    CHECK(((const double *)taken.buffers[1])[6] == 1.5);
    CHECK_STR(field.name, "d");
    taken.release(&taken);
    field.release(&field);
}

void arrow_memory_may_run_out(void)
{
    sf_batch *batch = six_columns(20);
    REQUIRE(batch);
    int read = 0;
    for (uint64_t n = 1; n < 60; n++) {
        struct ArrowSchema schema = {0};
        struct ArrowArray array = {0};
        sf_arrow_reader *reader = NULL;
        sf_batch *back = NULL;
        sf_arrow_options options = {
            .schema = batch->schema, .valid_text = plain_text, .valid_json = looks_like_json};
        sf_alloc_fail_after(n);
        bool ok = sf_arrow_export_schema(batch->schema, false, &schema, NULL) == SF_OK &&
                  sf_arrow_export(batch, false, &array, NULL) == SF_OK;
        if (ok) {
            ok = sf_arrow_open(&array, &schema, &options, &reader, NULL) == SF_OK;
            ok = ok && sf_arrow_next(reader, &back, NULL) == SF_OK;
            sf_arrow_close(ok || reader ? reader : NULL);
        } else if (schema.release) {
            schema.release(&schema);
        }
        sf_alloc_fail_after(0);
        CHECK(array.release == NULL && schema.release == NULL);
        read += back != NULL;
        sf_batch_unref(back);
    }
    CHECK(read > 0 && read < 59);
    sf_batch_unref(batch);
}
