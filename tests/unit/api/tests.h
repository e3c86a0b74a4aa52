/* tests.h: the cases of all files of this test program. */
#ifndef SF_TESTS_UNIT_API_TESTS_H
#define SF_TESTS_UNIT_API_TESTS_H

#include "unit/check.h"

/* parse.c */
void heads_parse(void);
void heads_are_refused(void);
void heads_are_found(void);
void fields_and_tokens(void);
void bodies_by_length(void);
void bodies_by_chunks(void);
void chunks_are_refused(void);
void any_bytes_are_survived(void);

/* url.c */
void urls_decode(void);
void urls_are_refused(void);
void queries_are_searched(void);
void urls_encode(void);

/* router.c */
void routes_match(void);
void routes_list_their_methods(void);

/* ws.c */
void frames_read(void);
void frames_in_any_pieces(void);
void frames_are_refused(void);
void frames_write(void);
void frames_survive_any_bytes(void);
void keys_are_accepted(void);

/* signalr.c */
void messages_parse(void);
void messages_are_refused(void);
void handshakes(void);
void arguments(void);
void messages_write(void);

/* server.c */
void memory_may_run_short(void);

#endif
