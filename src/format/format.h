/* format.h: bytes to rows and rows to bytes: ndjson, json, csv.
 *
 * Owns     the row parser, the row writers, schema inference from a sample.
 * Threads  A parser belongs to one thread. Writers and inference keep no state.
 * Memory   Bytes are read during the call. Batches share the parser's input buffers: a long string
 *          is never copied, and they stay valid when the parser is gone.
 * Fails    SF_INVALID (options), SF_LIMIT (memory). Bad input is no failure: it is counted, and the
 *          first errors are kept with their place. */
#ifndef SF_FORMAT_FORMAT_H
#define SF_FORMAT_FORMAT_H

#include "column/column.h"

typedef enum { SF_FORMAT_NDJSON, SF_FORMAT_JSON, SF_FORMAT_CSV } sf_format;
bool sf_format_from_name(sf_str name, sf_format *out); /* ndjson, json, csv */
const char *sf_format_name(sf_format format);

/* ---- rows in ----------------------------------------------------------------------------- */

/* What happens to a row with a value that does not fit the declared type. It is counted always. */
typedef enum {
    SF_COERCE_NULL,         /* the field becomes NULL */
    SF_COERCE_DROP_ROW,     /* the row is left out */
    SF_COERCE_REJECT_BATCH, /* no row of this input is delivered */
} sf_coercion;
bool sf_coercion_from_name(sf_str name, sf_coercion *out); /* Null, DropRow, RejectBatch */

/* Why a value did not fit: X(enumerator, name in metrics, words for messages). */
#define SF_MISFIT_LIST(X)                                                                          \
    X(KIND, "kind", "is not of this type")           /* an object for a Double */                  \
    X(TEXT, "text", "does not read as this type")    /* "soon" for a Timestamp */                  \
    X(RANGE, "range", "lies outside this type")      /* 1e400, 2^63 */                             \
    X(FRACTION, "fraction", "is not a whole number") /* 1.5 for a Long */

typedef enum {
#define X(id, name, words) SF_MISFIT_##id,
    SF_MISFIT_LIST(X)
#undef X
        SF_MISFIT_COUNT
} sf_misfit;
const char *sf_misfit_name(sf_misfit misfit);

enum { SF_ROW_ERRORS_MAX = 10 };

typedef struct {
    uint64_t row;      /* from 1, good rows and bad; blank lines and a CSV header do not count */
    uint64_t line;     /* from 1: where the row starts; 0 for the json format */
    char message[240]; /* a sentence that names the field */
} sf_row_error;

typedef struct {
    uint64_t records;   /* rows found, good or bad */
    uint64_t rows;      /* delivered, or to be delivered */
    uint64_t malformed; /* rows that do not parse: left out */
    uint64_t misfits;   /* values that did not fit, in all, */
    uint64_t misfit_by_reason[SF_MISFIT_COUNT];
    uint64_t misfit_rows;    /* and rows that had one */
    uint64_t dropped;        /* rows left out by SF_COERCE_DROP_ROW or SF_COERCE_REJECT_BATCH */
    uint64_t unknown_fields; /* values whose field is not declared */
    uint64_t unknown_rows;   /* rows left out by reject_unknown_fields */
    uint64_t short_rows;     /* CSV rows padded with NULL */
    uint64_t retractions;    /* delivered rows that say _retract */
    uint32_t error_count;    /* the first of them, in order */
    sf_row_error errors[SF_ROW_ERRORS_MAX];
} sf_parse_report;

/* The schema is a source's relation: the declared fields, then the hidden columns _retract and _ts
 * (each may be missing). Fields of any other than SQL's six types are refused.
 *
 * How values become columns, in every format:
 *   String     text; numbers and booleans as written; objects and arrays do not fit
 *   Double     numbers, or text that is one
 *   Long       whole numbers in any spelling (3, 3.0, "3e2")
 *   Bool       true and false, also as text in any case
 *   Timestamp  whole milliseconds, or ISO-8601 text
 *   Json       any value as its own text; in CSV the cell must be JSON
 * JSON null and an absent field are NULL, an empty CSV cell is NULL but '' for String. `_ts` takes
 * what Timestamp takes, otherwise the stamp; `_retract` what Bool takes, otherwise false. Undeclared
 * _source, _weight, _op and _final are passed over. */
typedef struct {
    sf_format format;
    const sf_schema *schema;
    sf_coercion on_misfit;
    bool reject_unknown_fields;
    char delimiter;          /* CSV: , tab ; | or 0 = look at the header */
    uint32_t batch_rows;     /* 0: SF_BATCH_ROWS */
    size_t record_bytes_max; /* longer rows are malformed; 0: 16 MiB */
    int64_t stamp_ms;        /* _ts of rows without one */
} sf_parser_options;

/* Takes input in pieces of any size; how it is cut never changes the rows.
 *   ndjson  a JSON object a line; blank lines are passed over
 *   json    an array of objects, or objects one after the other. A structure that breaks outside of
 *           an object ends the input: one malformed row
 *   csv     a header and rows, as RFC 4180 and more (BOM, CR, LF, blank lines, several delimiters) */
typedef struct sf_parser sf_parser;

SF_MUST_USE sf_status sf_parser_new(const sf_parser_options *options, sf_parser **out,
                                    sf_error *err);
void sf_parser_free(sf_parser *parser); /* NULL is allowed */
void sf_parser_set_stamp(sf_parser *parser, int64_t stamp_ms);
SF_MUST_USE sf_status sf_parser_feed(sf_parser *parser, sf_str bytes, sf_error *err);
/* The input ends here: its last row need not have a line end. */
SF_MUST_USE sf_status sf_parser_finish(sf_parser *parser, sf_error *err);
/* Makes the rows parsed so far available even though their batch is not full. */
SF_MUST_USE sf_status sf_parser_flush(sf_parser *parser, sf_error *err);
/* The next batch, in order; NULL: none is ready. With SF_COERCE_REJECT_BATCH none is before finish. */
SF_MUST_USE sf_batch *sf_parser_next(sf_parser *parser);
/* Valid until the parser is freed; goes on counting over resets. */
const sf_parse_report *sf_parser_report(const sf_parser *parser);
/* A row did not fit under SF_COERCE_REJECT_BATCH: this input has no rows. */
bool sf_parser_rejected(const sf_parser *parser);
/* Ready for another input; batches not taken are dropped. */
void sf_parser_reset(sf_parser *parser);

/* Going on later: bytes of the input up to the end of the last row that was parsed, and what must
 * be known besides (a CSV header, where in the array). A new parser with the same options that
 * restores it is fed from that byte on. SF_CORRUPT: not written by save. */
uint64_t sf_parser_consumed(const sf_parser *parser);
void sf_parser_save(const sf_parser *parser, sf_buf *out);
SF_MUST_USE sf_status sf_parser_restore(sf_parser *parser, sf_str saved, sf_error *err);

/* ---- rows out ---------------------------------------------------------------------------- */

/* One lane as a JSON value: Timestamp as milliseconds, Json as its text on one line, doubles that
 * are not finite as null, Bytes as base64 text. */
void sf_write_json_value(sf_buf *buf, const sf_column *column, uint32_t row);
/* {"column":value,...} without hidden columns, or with them. No line end. */
void sf_write_json_row(sf_buf *buf, const sf_batch *batch, uint32_t row, bool with_hidden);
void sf_write_ndjson(sf_buf *buf, const sf_batch *batch); /* a line a row, hidden left out */

/* RFC 4180: comma, CRLF, quotes where needed. NULL is an empty cell, '' is "". Hidden columns are
 * left out. */
void sf_write_csv_header(sf_buf *buf, const sf_schema *schema);
void sf_write_csv_row(sf_buf *buf, const sf_batch *batch, uint32_t row);

/* ---- inference --------------------------------------------------------------------------- */

/* Fields of the rows in a sample, in the order they first appear; names live in the arena. Long,
 * Double, Bool, Timestamp (all values are ISO-8601 with a time of day), Json, else String. A field
 * that is both Long and Double is Double; other mixtures are Json when one part is an object or
 * array, else String. `whole`: the sample is all there is; otherwise its last row may be cut and
 * does not count. Reserved names are left out. SF_INVALID: no row has a field. */
SF_MUST_USE sf_status sf_infer_fields(sf_format format, sf_str sample, bool whole, sf_arena *arena,
                                      sf_field **fields, uint32_t *count, sf_error *err);

#endif
