/* Scanners and printers of src/text. */
#include "tests.h"

static const sf_case cases[] = {
    SF_CASE(integers_parse),
    SF_CASE(whole_numbers_parse),
    SF_CASE(doubles_parse),
    SF_CASE(doubles_round_as_the_library_does),
    SF_CASE(booleans_parse),
    SF_CASE(integers_print),
    SF_CASE(doubles_print),
    SF_CASE(doubles_print_shortest),
    SF_CASE(json_accepts),
    SF_CASE(json_refuses),
    SF_CASE(json_depth_is_bounded),
    SF_CASE(json_strings_scan_in_any_length),
    SF_CASE(json_pull_walks),
    SF_CASE(json_every_prefix_is_refused),
    SF_CASE(json_paths),
    SF_CASE(json_elements),
    SF_CASE(json_text_access_survives_any_bytes),
    SF_CASE(json_strings_unescape),
    SF_CASE(json_strings_escape),
    SF_CASE(json_canonical_form),
    SF_CASE(json_canonical_needs_memory),
    SF_CASE(civil_days),
    SF_CASE(times_parse),
    SF_CASE(times_print),
    SF_CASE(durations_parse),
    SF_CASE(durations_print),
    SF_CASE(utf8_is_checked),
    SF_CASE(utf8_encodes),
    SF_CASE(text_is_trimmed),
};

SF_RUN("text", cases)
