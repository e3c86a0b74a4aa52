/* The pure parts of src/api: HTTP, URLs, routes, WebSocket frames, SignalR messages. */
#include "tests.h"

static const sf_case cases[] = {
    SF_CASE(heads_parse),
    SF_CASE(heads_are_refused),
    SF_CASE(heads_are_found),
    SF_CASE(fields_and_tokens),
    SF_CASE(bodies_by_length),
    SF_CASE(bodies_by_chunks),
    SF_CASE(chunks_are_refused),
    SF_CASE(any_bytes_are_survived),
    SF_CASE(urls_decode),
    SF_CASE(urls_are_refused),
    SF_CASE(queries_are_searched),
    SF_CASE(urls_encode),
    SF_CASE(routes_match),
    SF_CASE(routes_list_their_methods),
    SF_CASE(frames_read),
    SF_CASE(frames_in_any_pieces),
    SF_CASE(frames_are_refused),
    SF_CASE(frames_write),
    SF_CASE(frames_survive_any_bytes),
    SF_CASE(keys_are_accepted),
    SF_CASE(messages_parse),
    SF_CASE(messages_are_refused),
    SF_CASE(handshakes),
    SF_CASE(arguments),
    SF_CASE(messages_write),
    SF_CASE(memory_may_run_short),
};

SF_RUN("api", cases)
