/* column.h: types, schemas, columns, batches and how they are built.
 *
 * Layout   Arrow's, with one exception: Bool lanes are bytes 0/1 (kernels stay plain loops; the
 *          Arrow doors pack and unpack them). Validity is a bitmap, least significant bit first,
 *          bit set = value present, in 64-bit words whose spare bits are 0. A lane under a cleared
 *          bit holds some defined value (kernels may compute on it, nobody may show it). Strings
 *          are 16-byte views over shared byte buffers, so filtering and parsing never copy text.
 * Memory   Buffers, columns, schemas and batches are reference counted (atomic) and immutable once
 *          shared; ref returns its argument, unref accepts NULL. Buffers are 64-byte aligned and
 *          padded to 64 bytes.
 * Threads  Anything immutable may be read and unref'd by any thread; builders belong to one.
 * Fails    SF_LIMIT when memory or SF_BATCH_ROWS_MAX is exceeded. */
#ifndef SF_COLUMN_COLUMN_H
#define SF_COLUMN_COLUMN_H

#include "base/base.h"

enum {
    SF_BATCH_ROWS = 2048,      /* what producers aim at */
    SF_BATCH_ROWS_MAX = 65536, /* what nobody exceeds */
    SF_COLUMNS_MAX = 1024,
};

/* ---- types ------------------------------------------------------------------------------- */

/* X(enumerator, name, lane bytes, C type) */
#define SF_TYPE_LIST(X)                                                                            \
    X(BOOL, "Bool", 1, uint8_t)                                                                    \
    X(I8, "I8", 1, int8_t)                                                                         \
    X(I16, "I16", 2, int16_t)                                                                      \
    X(I32, "I32", 4, int32_t)                                                                      \
    X(I64, "Long", 8, int64_t)                                                                     \
    X(U8, "U8", 1, uint8_t)                                                                        \
    X(U16, "U16", 2, uint16_t)                                                                     \
    X(U32, "U32", 4, uint32_t)                                                                     \
    X(U64, "U64", 8, uint64_t)                                                                     \
    X(F32, "F32", 4, float)                                                                        \
    X(F64, "Double", 8, double)                                                                    \
    X(UTF8, "String", 16, sf_view)                                                                 \
    X(BINARY, "Bytes", 16, sf_view)                                                                \
    X(TIMESTAMP, "Timestamp", 8, int64_t)   /* ms since 1970 UTC */                                \
    X(TIMESTAMP_NS, "DateTime", 8, int64_t) /* ns since 1970 UTC */                                \
    X(JSON, "Json", 16, sf_view)            /* validated JSON text */

typedef enum {
#define X(id, name, bytes, ctype) SF_TYPE_##id,
    SF_TYPE_LIST(X)
#undef X
        SF_TYPE_COUNT
} sf_type;

const char *sf_type_name(sf_type type);
size_t sf_type_lane_bytes(sf_type type);
static inline bool sf_type_is_view(sf_type type)
{
    return type == SF_TYPE_UTF8 || type == SF_TYPE_BINARY || type == SF_TYPE_JSON;
}
/* The six types of SQL by name, any case: String Double Long Bool Timestamp Json. */
bool sf_type_from_name(sf_str name, sf_type *out);

typedef struct sf_field {
    const char *name;
    sf_type type;
    bool hidden; /* reserved column: readable by name, left out of stars and of row output */
} sf_field;

/* Immutable list of fields; owns the names. */
typedef struct sf_schema {
    _Atomic uint32_t refs;
    uint32_t count;
    sf_field fields[];
} sf_schema;

SF_MUST_USE sf_schema *sf_schema_new(const sf_field *fields, uint32_t count); /* copies the names */
sf_schema *sf_schema_ref(const sf_schema *schema);
void sf_schema_unref(const sf_schema *schema);
/* Exact name first, then any case (ASCII). -1: none, -2: several match only without case. */
int sf_schema_find(const sf_schema *schema, sf_str name);
bool sf_schema_same(const sf_schema *a, const sf_schema *b); /* names, types and hidden flags */

/* Every relation ends with the reserved column _ts (Long, ms, hidden). A source's relation has
 * _retract (Bool, hidden) before it: declared fields..., _retract, _ts. */
#define SF_COL_TS      "_ts"
#define SF_COL_RETRACT "_retract"

/* ---- buffers ----------------------------------------------------------------------------- */

typedef struct sf_buffer {
    _Atomic uint32_t refs;
    uint8_t *data;
    size_t size;                               /* usable bytes */
    void (*release)(struct sf_buffer *buffer); /* frees data when it came from outside, else NULL */
    void *owner;
} sf_buffer;

SF_MUST_USE sf_buffer *sf_buffer_new(size_t size);
/* Wraps memory of someone else; release is called once when the last reference goes. */
SF_MUST_USE sf_buffer *sf_buffer_wrap(void *data, size_t size, void (*release)(sf_buffer *),
                                      void *owner);
sf_buffer *sf_buffer_ref(sf_buffer *buffer);
void sf_buffer_unref(sf_buffer *buffer);

/* ---- string views ------------------------------------------------------------------------ */

enum { SF_VIEW_INLINE = 12 };

/* Up to 12 bytes sit inside (zero padded, so equal short strings have equal 16 bytes); longer ones
 * keep their first 4 bytes here and lie at buffers[buffer] + offset. */
typedef struct {
    uint32_t len;
    union {
        char inlined[SF_VIEW_INLINE];
        struct {
            char prefix[4];
            uint32_t buffer, offset;
        } far;
    } u;
} sf_view;
_Static_assert(sizeof(sf_view) == 16, "views are Arrow's 16 bytes");

static inline sf_view sf_view_short(const char *bytes, uint32_t len) /* len <= SF_VIEW_INLINE */
{
    sf_view view = {.len = len};
    if (len)
        memcpy(view.u.inlined, bytes, len);
    return view;
}
static inline sf_view sf_view_far(const char *bytes, uint32_t len, uint32_t buffer, uint32_t offset)
{
    sf_view view = {.len = len};
    memcpy(view.u.far.prefix, bytes, 4);
    view.u.far.buffer = buffer;
    view.u.far.offset = offset;
    return view;
}

/* ---- columns ----------------------------------------------------------------------------- */

typedef struct sf_column {
    _Atomic uint32_t refs;
    sf_type type;
    uint32_t rows;
    const uint64_t *valid; /* NULL: every lane has a value */
    const void *data;      /* rows lanes of sf_type_lane_bytes(type) */
    sf_buffer *valid_buffer, *data_buffer;
    uint32_t buffer_count; /* byte buffers that far views point into */
    sf_buffer **buffers;
} sf_column;

static inline bool sf_column_is_valid(const sf_column *column, uint32_t row)
{
    return !column->valid || (column->valid[row >> 6] >> (row & 63) & 1);
}
static inline sf_str sf_column_str(const sf_column *column, uint32_t row) /* view types only */
{
    const sf_view *view = (const sf_view *)column->data + row;
    if (view->len <= SF_VIEW_INLINE)
        return (sf_str){view->u.inlined, view->len};
    return (sf_str){(const char *)column->buffers[view->u.far.buffer]->data + view->u.far.offset,
                    view->len};
}
#define SF_LANES(column, T)  ((const T *)(column)->data)
#define SF_VALID_WORDS(rows) (((size_t)(rows) + 63) / 64)

/* New column whose lanes the caller fills before sharing it: sf_column_lanes() and, when
 * with_valid, sf_column_valid() (all bits set at first) may be written while refs is 1. Lanes are
 * zero for view types, otherwise undefined. */
SF_MUST_USE sf_column *sf_column_new(sf_type type, uint32_t rows, bool with_valid);
static inline void *sf_column_lanes(sf_column *column)
{
    return column->data_buffer->data;
}
static inline uint64_t *sf_column_valid(sf_column *column)
{
    return (uint64_t *)(void *)column->valid_buffer->data;
}
static inline void sf_valid_clear(uint64_t *valid, uint32_t row)
{
    valid[row >> 6] &= ~(1ULL << (row & 63));
}
/* Let the column's far views point into these buffers (references are taken). */
SF_MUST_USE bool sf_column_set_buffers(sf_column *column, sf_buffer *const *buffers,
                                       uint32_t count);
SF_MUST_USE sf_column *sf_column_nulls(sf_type type, uint32_t rows); /* shares one zero page */
sf_column *sf_column_ref(const sf_column *column);
void sf_column_unref(const sf_column *column);
uint32_t sf_column_null_count(const sf_column *column);

/* Rows to work on: rows NULL means 0..count-1. Ascending unless said otherwise. */
typedef struct {
    const uint32_t *rows;
    uint32_t count;
} sf_sel;
static inline sf_sel sf_sel_all(uint32_t count)
{
    return (sf_sel){NULL, count};
}
static inline uint32_t sf_sel_row(sf_sel sel, uint32_t i)
{
    return sel.rows ? sel.rows[i] : i;
}

/* The selected lanes as a column of sel.count rows; shares string bytes. A selection of all rows
 * returns the column itself. */
SF_MUST_USE sf_column *sf_column_gather(const sf_column *column, sf_sel sel);
/* Lanes of several columns of one type after each other. */
SF_MUST_USE sf_column *sf_column_concat(const sf_column *const *columns, uint32_t count);
/* A column whose views own just the bytes they show, when less than half of its buffers is live;
 * otherwise the column itself. For what is kept. */
SF_MUST_USE sf_column *sf_column_compact(const sf_column *column);

/* ---- batches ----------------------------------------------------------------------------- */

typedef struct sf_batch {
    _Atomic uint32_t refs;
    sf_schema *schema;
    uint32_t rows;
    sf_column *weights;   /* I64, no NULLs; NULL pointer: every row counts +1 */
    sf_column *marks;     /* I64, no NULLs: the source's watermark as of each row; NULL: none */
    sf_column *columns[]; /* schema->count */
} sf_batch;

/* Takes the references in columns, weights and marks (also when it fails). */
SF_MUST_USE sf_batch *sf_batch_new(const sf_schema *schema, uint32_t rows, sf_column **columns,
                                   sf_column *weights, sf_column *marks);
sf_batch *sf_batch_ref(const sf_batch *batch);
void sf_batch_unref(const sf_batch *batch);
static inline int64_t sf_batch_weight(const sf_batch *batch, uint32_t row)
{
    return batch->weights ? SF_LANES(batch->weights, int64_t)[row] : 1;
}
SF_MUST_USE sf_batch *sf_batch_gather(const sf_batch *batch, sf_sel sel);
SF_MUST_USE sf_batch *sf_batch_slice(const sf_batch *batch, uint32_t from, uint32_t count);
SF_MUST_USE sf_batch *sf_batch_concat(const sf_batch *const *batches, uint32_t count);
SF_MUST_USE sf_batch *sf_batch_compact(const sf_batch *batch);
/* Same columns under other names or hidden flags; types must agree. */
SF_MUST_USE sf_batch *sf_batch_rename(const sf_batch *batch, const sf_schema *schema);
size_t sf_batch_bytes(const sf_batch *batch); /* bytes of all buffers, shared ones counted whole */
/* Debug builds' check that every buffer is as long as its lanes claim and every view is inside. */
bool sf_batch_verify(const sf_batch *batch, sf_error *err);

/* Hash of the given columns for each selected row, as GROUP BY sees equality: NULLs are equal,
 * -0.0 is 0.0. Stable on disk and between machines. */
void sf_batch_hash(const sf_batch *batch, const uint32_t *columns, uint32_t column_count,
                   sf_sel sel, uint64_t *out);
/* Its parts, for who keeps lanes elsewhere: hash of one lane of a fixed-width type (aligned), of a
 * text, of NULL. The hash of columns a, b, c is mix(mix(a, b), c) by sf_hash_mix. */
uint64_t sf_hash_lane(sf_type type, const void *lane);
uint64_t sf_hash_text(sf_str text);
#define SF_HASH_NULL 0x6e756c6c6e756c6cULL

/* ---- building ---------------------------------------------------------------------------- */

/* Row-wise builder of one column. After a failed append `failed` stays set; check at finish. */
typedef struct {
    sf_type type;
    uint32_t rows, cap;
    bool failed, has_null;
    sf_buffer *lanes, *valid;
    SF_VEC(sf_buffer *) buffers;
    uint32_t tail_used; /* bytes used in the last own buffer */
    bool tail_own;      /* the last buffer is the builder's and may grow into its end */
} sf_builder;

bool sf_builder_init(sf_builder *builder, sf_type type, uint32_t capacity_rows);
void sf_builder_deinit(sf_builder *builder);
void sf_builder_null(sf_builder *builder);
void sf_builder_bool(sf_builder *builder, bool value);
void sf_builder_i64(sf_builder *builder, int64_t value); /* I64 and both timestamps */
void sf_builder_f64(sf_builder *builder, double value);
void sf_builder_str(sf_builder *builder, sf_str value); /* copies; UTF8, BINARY, JSON */
/* Without a copy: value lies inside shared, which is referenced once a builder and batch. */
void sf_builder_str_shared(sf_builder *builder, sf_str value, sf_buffer *shared);
/* Lane of any type: bytes as in the column; not for views. */
void sf_builder_lane(sf_builder *builder, const void *lane);
/* Copy one lane of a column of the same type (string bytes are copied). */
void sf_builder_copy(sf_builder *builder, const sf_column *from, uint32_t row);
/* Forget rows after the first `rows` (a row that turned out malformed). */
void sf_builder_truncate(sf_builder *builder, uint32_t rows);
/* The column built so far; the builder is empty and usable again. NULL when anything failed. */
SF_MUST_USE sf_column *sf_builder_finish(sf_builder *builder);

/* Builders of all columns of a schema. */
typedef struct {
    sf_schema *schema;
    sf_builder *columns;
    sf_builder weights; /* used when any weight differs from 1 */
    uint32_t rows;
    bool weighted, failed;
} sf_batch_builder;

bool sf_batch_builder_init(sf_batch_builder *builder, const sf_schema *schema);
void sf_batch_builder_deinit(sf_batch_builder *builder);
/* After one value was appended to every column builder: the row is complete. */
void sf_batch_builder_row(sf_batch_builder *builder, int64_t weight);
/* NULL when there are no rows or anything failed (builder->failed tells). Empty afterwards. */
SF_MUST_USE sf_batch *sf_batch_builder_finish(sf_batch_builder *builder);

#endif
