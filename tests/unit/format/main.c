/* Bytes to rows and back. */
#include "tests.h"

static const sf_case cases[] = {
    SF_CASE(json_values_become_columns),
    SF_CASE(json_rows_are_strict),
    SF_CASE(json_documents),
    SF_CASE(json_policies),
    SF_CASE(json_reserved_columns),
    SF_CASE(json_errors_have_places),
    SF_CASE(json_keys_in_any_order),
    SF_CASE(long_rows_are_skipped),
    SF_CASE(csv_shapes),
    SF_CASE(csv_headers),
    SF_CASE(csv_values_become_columns),
    SF_CASE(csv_errors_have_places),
    SF_CASE(csv_blocks_and_quotes_anywhere),
    SF_CASE(csv_agrees_with_ndjson),
    SF_CASE(batches_are_cut_by_rows),
    SF_CASE(strings_share_the_input),
    SF_CASE(batches_verify),
    SF_CASE(parser_goes_on_later),
    SF_CASE(parser_resets),
    SF_CASE(parser_refuses_options),
    SF_CASE(parser_survives_short_memory),
    SF_CASE(parser_survives_damage),
    SF_CASE(values_write_as_json),
    SF_CASE(rows_write_as_csv),
    SF_CASE(rows_come_back),
    SF_CASE(fields_are_inferred),
    SF_CASE(names_are_known),
};

SF_RUN("format", cases)
