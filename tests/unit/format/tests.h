/* tests.h: the cases of all files of this test program, and what they share. */
#ifndef SF_TESTS_UNIT_FORMAT_TESTS_H
#define SF_TESTS_UNIT_FORMAT_TESTS_H

#include "format/format.h"
#include "unit/check.h"

/* harness.c */

/* "id:Long v:String": declared fields, then _retract and _ts. */
sf_schema *schema_of(const char *text);

/* Parses text in pieces of `piece` bytes (0: in one). rows: what was delivered as ndjson, hidden
 * columns too when options says so. False: memory was short. */
typedef struct {
    sf_parser_options options; /* schema is made from fields */
    const char *fields;
    bool hidden;
} parse_setup;
bool parse_text(const parse_setup *setup, sf_str text, size_t piece, sf_buf *rows,
                sf_parse_report *report);

/* One input and its rows; every way to cut the input must agree. `counts` holds the counters that
 * are not 0, as "malformed=2 short=1". */
typedef struct {
    const char *title, *fields, *input, *rows, *counts;
    sf_parser_options options;
    bool hidden;
} parse_row;
void check_parses(const parse_row *cases, size_t count);
void report_text(const sf_parse_report *report, sf_buf *out);

void json_values_become_columns(void);
void json_rows_are_strict(void);
void json_documents(void);
void json_policies(void);
void json_reserved_columns(void);
void json_errors_have_places(void);
void json_keys_in_any_order(void);
void long_rows_are_skipped(void);

void csv_shapes(void);
void csv_headers(void);
void csv_values_become_columns(void);
void csv_errors_have_places(void);
void csv_blocks_and_quotes_anywhere(void);
void csv_agrees_with_ndjson(void);

void batches_are_cut_by_rows(void);
void strings_share_the_input(void);
void batches_verify(void);
void parser_goes_on_later(void);
void parser_resets(void);
void parser_refuses_options(void);
void parser_survives_short_memory(void);
void parser_survives_damage(void);

void values_write_as_json(void);
void rows_write_as_csv(void);
void rows_come_back(void);
void fields_are_inferred(void);
void names_are_known(void);

#endif
