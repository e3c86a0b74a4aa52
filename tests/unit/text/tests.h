/* tests.h: the cases of all files of this test program. */
#ifndef SF_TESTS_UNIT_TEXT_TESTS_H
#define SF_TESTS_UNIT_TEXT_TESTS_H

#include "text/text.h"
#include "unit/check.h"

/* number.c */
void integers_parse(void);
void whole_numbers_parse(void);
void doubles_parse(void);
void doubles_round_as_the_library_does(void);
void booleans_parse(void);
void integers_print(void);
void doubles_print(void);
void doubles_print_shortest(void);

/* json.c */
void json_accepts(void);
void json_refuses(void);
void json_depth_is_bounded(void);
void json_strings_scan_in_any_length(void);
void json_pull_walks(void);
void json_every_prefix_is_refused(void);

/* json_text.c */
void json_paths(void);
void json_elements(void);
void json_text_access_survives_any_bytes(void);
void json_strings_unescape(void);
void json_strings_escape(void);
void json_canonical_form(void);
void json_canonical_needs_memory(void);

/* time.c */
void civil_days(void);
void times_parse(void);
void times_print(void);
void durations_parse(void);
void durations_print(void);

/* utf8.c */
void utf8_is_checked(void);
void utf8_encodes(void);
void text_is_trimmed(void);

#endif
