/* arrow.h: the tolerant Arrow door: columns of other programs in, batches out, through the Arrow C
 * data interface (https://arrow.apache.org/docs/format/CDataInterface.html).
 *
 * In       A struct array (a record batch) becomes batches of a schema: columns are found by name in
 *          any order, whole numbers are widened, times of all units become milliseconds,
 *          dictionaries are decoded. All three layouts of text are read. What is missing is NULL.
 * Out      Bool is packed into bits, text gets 32-bit offsets; fixed lanes and validity are shared.
 * Threads  A reader belongs to one thread. What was exported may be released by any thread.
 * Memory   Reading copies: nothing of the producer is kept beyond close.
 * Fails    SF_INVALID: an array that does not hold together, or a column that does not fit; nothing
 *          of it is delivered then. The interface does not tell how long buffers are: a producer
 *          that lies about lengths cannot be caught. Values that do not fit (2^63 for a Long, NaN,
 *          text that is not UTF-8) become NULL and are counted. SF_LIMIT: memory. */
#ifndef SF_COLUMN_ARROW_H
#define SF_COLUMN_ARROW_H

#include "column/column.h"

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

/* ---- in ---------------------------------------------------------------------------------- */

typedef struct {
    const sf_schema
        *schema;      /* SQL's six types; hidden columns _retract and _ts where it has them */
    int64_t stamp_ms; /* _ts of rows without one */
    bool weights;     /* a column _weight gives the rows' weights */
    /* Is this UTF-8? Is this one JSON value? Columns of text and Json need them. */
    bool (*valid_text)(sf_str text);
    bool (*valid_json)(sf_str text);
} sf_arrow_options;

typedef struct {
    uint64_t rows;
    uint64_t misfits;         /* values that became NULL because they do not fit */
    uint32_t unknown_columns; /* of the array, that the schema does not have */
} sf_arrow_report;

typedef struct sf_arrow_reader sf_arrow_reader;

/* Takes the array and its schema over, also when it fails: both are marked released. The options'
 * schema must outlive the reader. */
SF_MUST_USE sf_status sf_arrow_open(struct ArrowArray *array, struct ArrowSchema *schema,
                                    const sf_arrow_options *options, sf_arrow_reader **out,
                                    sf_error *err);
/* The next batch of up to SF_BATCH_ROWS_MAX rows; NULL at the end. */
SF_MUST_USE sf_status sf_arrow_next(sf_arrow_reader *reader, sf_batch **out, sf_error *err);
const sf_arrow_report *sf_arrow_reader_report(const sf_arrow_reader *reader);
void sf_arrow_close(sf_arrow_reader *reader); /* NULL is allowed */

/* ---- out --------------------------------------------------------------------------------- */

/* Hidden columns only when asked for. Json is text with the extension name arrow.json. */
SF_MUST_USE sf_status sf_arrow_export_schema(const sf_schema *schema, bool with_hidden,
                                             struct ArrowSchema *out, sf_error *err);
/* The rows once each: weights are the caller's business. */
SF_MUST_USE sf_status sf_arrow_export(const sf_batch *batch, bool with_hidden,
                                      struct ArrowArray *out, sf_error *err);

#endif
