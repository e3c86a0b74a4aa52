/* streamsforge/engine.h: the engine as a library: sources, tables and pipelines in your process.
 *
 *     sf_world *world = sf_world_new();
 *     sf_world_add_source(world, "trades", fields, 2, NULL, &error);
 *     sf_world_add_table(world, "totals", "SELECT symbol, SUM(qty) AS q FROM trades GROUP BY symbol",
 *                        &error);
 *     sf_world_push(world, "trades", &row, &error);
 *     sf_world_run(world, NULL, NULL, &error);
 *     sf_world_read(world, "totals", &reader, &error);
 *
 * Rows come one by one or as Arrow arrays (C data interface); answers go out in both ways. The
 * engine has no threads, no files and no clock: it works while sf_world_run is called, and "now" is
 * what sf_world_set_now said.
 *
 * Threads  A world belongs to one thread at a time. A reader or stream may be used by another one.
 * Memory   Arguments are copied during the call. What a function gives is freed by its counterpart.
 *          Values of a row are valid until the next call on their reader, or the callback returns.
 * Fails    Functions return SF_WORLD_OK (0) or a kind of failure, and then fill `error`, which may be
 *          NULL. A failed call changes nothing; sf_world_run may have finished some work.
 * Stable   Structs grow only at their end and only with a new major version of the library. */
#ifndef STREAMSFORGE_ENGINE_H
#define STREAMSFORGE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ArrowSchema;
struct ArrowArray;
struct ArrowArrayStream;

typedef struct sf_world sf_world;

typedef enum {
    SF_WORLD_OK = 0,
    SF_WORLD_SQL = 1,       /* the SQL is refused: line and column say where */
    SF_WORLD_INVALID = 2,   /* an argument cannot be accepted */
    SF_WORLD_NOT_FOUND = 3, /* no source or query of this name */
    SF_WORLD_EXISTS = 4,    /* the name is taken */
    SF_WORLD_LIMIT = 5,     /* memory, size, count */
    SF_WORLD_FAILED = 6,    /* a query failed for good */
} sf_world_status;

typedef struct {
    sf_world_status status;
    unsigned line, column; /* in the SQL, from 1; 0: no place */
    char message[512];     /* what happened, naming the object */
    char hint[256];        /* what to do; may be empty */
} sf_world_error;

const char *sf_world_version(void); /* of the library: "0.1.0" */

sf_world *sf_world_new(void); /* NULL: out of memory */
void sf_world_free(sf_world *world);

/* ---- values and rows --------------------------------------------------------------------- */

typedef enum {
    SF_WORLD_NULL = 0, /* a value only */
    SF_WORLD_STRING = 1,
    SF_WORLD_DOUBLE = 2,
    SF_WORLD_LONG = 3,
    SF_WORLD_BOOL = 4,
    SF_WORLD_TIMESTAMP = 5, /* milliseconds since 1970-01-01 UTC */
    SF_WORLD_JSON = 6,      /* its text */
} sf_world_type;

typedef struct {
    sf_world_type type;
    union {
        struct {
            const char *data; /* UTF-8, need not end with 0 */
            size_t len;
        } text;
        double real;
        int64_t whole; /* Long and Timestamp */
        bool truth;
    } as;
} sf_world_value;

static inline sf_world_value sf_world_null(void)
{
    sf_world_value value;
    memset(&value, 0, sizeof value);
    return value;
}
static inline sf_world_value sf_world_text(const char *text)
{
    sf_world_value value = sf_world_null();
    value.type = SF_WORLD_STRING;
    value.as.text.data = text;
    value.as.text.len = strlen(text);
    return value;
}
static inline sf_world_value sf_world_real(double real)
{
    sf_world_value value = sf_world_null();
    value.type = SF_WORLD_DOUBLE;
    value.as.real = real;
    return value;
}
static inline sf_world_value sf_world_whole(int64_t whole)
{
    sf_world_value value = sf_world_null();
    value.type = SF_WORLD_LONG;
    value.as.whole = whole;
    return value;
}
static inline sf_world_value sf_world_truth(bool truth)
{
    sf_world_value value = sf_world_null();
    value.type = SF_WORLD_BOOL;
    value.as.truth = truth;
    return value;
}

#define SF_WORLD_STAMP_NOW INT64_MIN /* ts_ms of a row that has no time of its own */

typedef struct {
    const sf_world_value *values; /* one a column, in their order */
    size_t count;
    int64_t ts_ms;  /* event time */
    int64_t weight; /* 1: a row; -1: a row that is taken back */
} sf_world_row;

/* ---- what there is ----------------------------------------------------------------------- */

typedef struct {
    const char *name;
    sf_world_type type;
} sf_world_field;

typedef struct {
    int64_t lateness_ms;    /* how late rows may come */
    bool takes_retractions; /* rows of negative weight may be pushed */
} sf_world_source_options;

/* options NULL: a lateness of 1000 ms, no retractions. */
sf_world_status sf_world_add_source(sf_world *world, const char *name, const sf_world_field *fields,
                                    size_t count, const sf_world_source_options *options,
                                    sf_world_error *error);
/* A table's answer is kept current; it may read sources and other tables. */
sf_world_status sf_world_add_table(sf_world *world, const char *name, const char *sql,
                                   sf_world_error *error);
/* A pipeline gives results as windows close: they come out of sf_world_run. */
sf_world_status sf_world_add_pipeline(sf_world *world, const char *name, const char *sql,
                                      sf_world_error *error);

/* Columns of a table or pipeline; 0 and NULL for unknown names or numbers. */
size_t sf_world_column_count(const sf_world *world, const char *query);
const char *sf_world_column_name(const sf_world *world, const char *query, size_t column);
sf_world_type sf_world_column_type(const sf_world *world, const char *query, size_t column);

/* ---- rows in ----------------------------------------------------------------------------- */

/* A Long may stand for a Double or a Timestamp. */
sf_world_status sf_world_push(sf_world *world, const char *source, const sf_world_row *row,
                              sf_world_error *error);
/* A struct array with its schema, both taken over (also on failure). Columns are found by name;
 * missing ones are NULL; _ts is the event time, _weight the weight. misfits (may be NULL): values
 * that became NULL because they do not fit their column. */
sf_world_status sf_world_push_arrow(sf_world *world, const char *source, struct ArrowArray *array,
                                    struct ArrowSchema *schema, uint64_t *misfits,
                                    sf_world_error *error);

#define SF_WORLD_END INT64_MAX /* the source is complete: every window closes */

/* Event time of a source reaches this without a row. */
sf_world_status sf_world_watermark(sf_world *world, const char *source, int64_t ts_ms,
                                   sf_world_error *error);
/* Stamps rows without a time, and is NOW() from here on. Starts at 0. */
void sf_world_set_now(sf_world *world, int64_t now_ms);

/* ---- work and answers -------------------------------------------------------------------- */

/* A change of a table (weight 1 or more: came, -1 or less: went) or a result of a pipeline. */
typedef void sf_world_on_change(void *arg, const char *query, const sf_world_row *row);

/* Until everything pushed is taken into account. on_change may be NULL. */
sf_world_status sf_world_run(sf_world *world, sf_world_on_change *on_change, void *arg,
                             sf_world_error *error);

typedef struct sf_world_reader sf_world_reader;

/* The rows of a table as of the last run; later runs do not change what a reader gives. */
sf_world_status sf_world_read(sf_world *world, const char *table, sf_world_reader **out,
                              sf_world_error *error);
/* false: no more, or a failure, which *error tells (its status is SF_WORLD_OK otherwise). A row that
 * is there twice comes once, with weight 2. */
bool sf_world_reader_next(sf_world_reader *reader, sf_world_row *row, sf_world_error *error);
void sf_world_reader_free(sf_world_reader *reader); /* NULL is allowed */

/* The same as an Arrow stream (C stream interface); a row that is there twice comes twice. */
sf_world_status sf_world_read_arrow(sf_world *world, const char *table,
                                    struct ArrowArrayStream *out, sf_world_error *error);

#ifdef __cplusplus
}
#endif

/* The Arrow C interfaces, for who has them from nowhere else. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#endif

#endif
