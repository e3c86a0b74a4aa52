/* signalr.h: messages of the SignalR JSON hub protocol. Pure.
 *
 * Memory   A parsed message borrows the text it came from.
 * Fails    SF_SYNTAX with a sentence for the close message. */
#ifndef SF_API_HUB_SIGNALR_H
#define SF_API_HUB_SIGNALR_H

#include "base/base.h"

enum {
    SF_SIGNALR_END = 0x1e, /* ends every message */
    SF_SIGNALR_ARGUMENTS_MAX = 8,
    SF_SIGNALR_ID_MAX = 128,
    SF_SIGNALR_TARGET_MAX = 64,
};

typedef enum {
    SF_SIGNALR_INVOCATION = 1,
    SF_SIGNALR_STREAM_ITEM = 2,
    SF_SIGNALR_COMPLETION = 3,
    SF_SIGNALR_STREAM_INVOCATION = 4,
    SF_SIGNALR_CANCEL_INVOCATION = 5,
    SF_SIGNALR_PING = 6,
    SF_SIGNALR_CLOSE = 7,
} sf_signalr_type;

typedef struct {
    int64_t type;
    char target[SF_SIGNALR_TARGET_MAX + 1];
    char invocation_id[SF_SIGNALR_ID_MAX + 1]; /* empty: no answer is wanted */
    bool has_arguments;
    size_t argument_count;                      /* of all; only the first ARGUMENTS_MAX are kept */
    sf_str arguments[SF_SIGNALR_ARGUMENTS_MAX]; /* JSON values */
} sf_signalr_message;

/* text without its end byte. */
SF_MUST_USE sf_status sf_signalr_parse(sf_str text, sf_signalr_message *out, sf_error *err);
/* The first message of a connection: which protocol it wants to speak. */
SF_MUST_USE sf_status sf_signalr_parse_handshake(sf_str text, sf_error *err);

/* Arguments. The texts are decoded into buf, which must live as long as *out. */
SF_MUST_USE sf_status sf_signalr_text(sf_str argument, const char *name, sf_buf *buf, sf_str *out,
                                      sf_error *err);
/* null: *given is false. */
SF_MUST_USE sf_status sf_signalr_integer(sf_str argument, const char *name, bool *given,
                                         int64_t *out, sf_error *err);

/* ---- writing: each call appends one whole message ---- */

void sf_signalr_put_handshake(sf_buf *out, const char *error); /* NULL: welcome */
void sf_signalr_put_ping(sf_buf *out);
void sf_signalr_put_close(sf_buf *out, const char *error, bool allow_reconnect);
/* result: JSON, empty for none. */
void sf_signalr_put_result(sf_buf *out, const char *invocation_id, sf_str result);
void sf_signalr_put_error(sf_buf *out, const char *invocation_id, const sf_error *err);

/* An event: begin, append the arguments with commas between, end. */
void sf_signalr_begin_event(sf_buf *out, const char *target);
void sf_signalr_end_event(sf_buf *out);

#endif
