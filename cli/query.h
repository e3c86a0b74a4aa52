/* query.h: sf query: SQL in process over files. Private to cli.
 *
 * An input is read in chunks, its bytes become batches, batches go into the engine, and what the
 * query says goes out. Memory stays bounded by the chunks and by what the query must remember. */
#ifndef SF_CLI_QUERY_H
#define SF_CLI_QUERY_H

#include "base/seam.h"
#include "cli/grid.h"
#include "engine/engine.h"
#include "format/format.h"

/* ---- inputs ---- */

typedef struct {
    const char *name;
    const char *path;        /* "-": standard input */
    const char *time_column; /* NULL: _ts, or the time of reading */
    int64_t lateness_ms;
    sf_format format;
    bool format_known;
    char delimiter; /* 0: look at the header */
    sf_field *fields;
    uint32_t field_count;
    bool schema_given;
    int time_index; /* of time_column among the fields; -1: none */

    int fd;
    sf_parser *parser;
    sf_buf sample; /* read for the inference, not parsed yet */
    bool at_end, done;
    bool live; /* a pipe or terminal: it may pause */
    uint64_t bytes, rows;
} sf_query_input;

/* "name=path[:format]". */
SF_MUST_USE sf_status sf_query_input_spec(sf_arena *arena, const char *spec, sf_query_input *out,
                                          sf_error *err);
/* "name=col:Type,...", "name=column" and "name=milliseconds" for the inputs so named. */
SF_MUST_USE sf_status sf_query_input_schema(sf_arena *arena, const char *spec,
                                            sf_query_input *inputs, size_t count, sf_error *err);
SF_MUST_USE sf_status sf_query_input_time(sf_arena *arena, const char *spec, sf_query_input *inputs,
                                          size_t count, sf_error *err);
SF_MUST_USE sf_status sf_query_input_lateness(sf_arena *arena, const char *spec,
                                              sf_query_input *inputs, size_t count, sf_error *err);

/* Opens the file and, without a given schema, infers one from its first bytes. */
SF_MUST_USE sf_status sf_query_input_open(sf_arena *arena, sf_query_input *input, sf_error *err);
/* After the source is part of an engine. */
SF_MUST_USE sf_status sf_query_input_start(sf_query_input *input, const sf_schema *schema,
                                           uint32_t batch_rows, sf_error *err);
/* Reads and parses one chunk; at_end is set with the last. Batches are then ready. */
SF_MUST_USE sf_status sf_query_input_read(sf_query_input *input, int64_t now_ms, sf_error *err);
/* The next batch of the source's schema, NULL when none is ready. */
SF_MUST_USE sf_status sf_query_input_next(sf_query_input *input, sf_batch **out, sf_error *err);
void sf_query_input_close(sf_query_input *input);
/* What did not fit or parse, on standard error. */
void sf_query_input_warn(const sf_query_input *input);

/* ---- output ---- */

typedef enum { SF_QUERY_TABLE, SF_QUERY_NDJSON, SF_QUERY_CSV } sf_query_style;

typedef struct {
    sf_query_style style;
    bool changes; /* with _epoch and _weight before the columns */
    const sf_schema *schema;
    sf_buf buf;
    uint64_t rows;
    sf_cli_grid grid;
} sf_query_output;

SF_MUST_USE sf_status sf_query_output_init(sf_query_output *out, sf_query_style style, bool changes,
                                           const sf_schema *schema, sf_error *err);
void sf_query_output_deinit(sf_query_output *out);
/* Rows of a batch; a row of weight 2 is shown twice, with `changes` once. */
SF_MUST_USE sf_status sf_query_output_batch(sf_query_output *out, uint64_t epoch,
                                            const sf_batch *batch, sf_error *err);
/* What was given so far goes out; rows held back for a table's widths only with `held`. */
SF_MUST_USE sf_status sf_query_output_show(sf_query_output *out, bool held, sf_error *err);
SF_MUST_USE sf_status sf_query_output_finish(sf_query_output *out, sf_error *err);

#endif
