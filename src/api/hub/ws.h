/* ws.h: WebSocket frames (RFC 6455), server side. Pure: bytes in, messages out.
 *
 * Threads  A value belongs to one thread at a time.
 * Memory   A message is borrowed from the reader until the next call.
 * Fails    SF_WS_BAD with the close code and a sentence; the reader is then of no more use. */
#ifndef SF_API_HUB_WS_H
#define SF_API_HUB_WS_H

#include "base/base.h"

typedef enum {
    SF_WS_MORE,    /* all bytes are used, nothing is complete */
    SF_WS_MESSAGE, /* text or binary, put together from its fragments */
    SF_WS_PING,    /* answer with a pong of the same payload */
    SF_WS_PONG,
    SF_WS_CLOSE, /* payload: empty, or two bytes of code and a reason */
    SF_WS_BAD,
} sf_ws_event;

enum {
    SF_WS_CLOSE_NORMAL = 1000,
    SF_WS_CLOSE_AWAY = 1001,
    SF_WS_CLOSE_PROTOCOL = 1002,
    SF_WS_CLOSE_NOT_UTF8 = 1007,
    SF_WS_CLOSE_POLICY = 1008,
    SF_WS_CLOSE_TOO_BIG = 1009,
    SF_WS_CLOSE_INTERNAL = 1011,
};

typedef struct {
    size_t message_max;
    uint8_t header[14]; /* of the frame being read */
    unsigned header_len, header_need;
    uint8_t opcode; /* of the frame */
    bool final;
    uint64_t left; /* of the frame's payload */
    unsigned mask_at;
    uint8_t message_opcode; /* 0: no message has begun */
    sf_buf message;
    uint8_t control[125];
    unsigned control_len;
    bool done; /* the message was handed out: start anew */
    uint16_t bad_code;
    const char *bad_reason;
} sf_ws_reader;

void sf_ws_reader_init(sf_ws_reader *reader, size_t message_max);
void sf_ws_reader_deinit(sf_ws_reader *reader);
/* Consumes from bytes until something is complete; *used says how many. Call again with the rest.
 */
sf_ws_event sf_ws_read(sf_ws_reader *reader, const char *bytes, size_t len, size_t *used,
                       sf_str *payload);

/* ---- writing ---- */

enum {
    SF_WS_TEXT = 1,
    SF_WS_BINARY = 2,
    SF_WS_OP_CLOSE = 8,
    SF_WS_OP_PING = 9,
    SF_WS_OP_PONG = 10
};

/* A whole frame. */
void sf_ws_put_frame(sf_buf *out, int opcode, sf_str payload);
void sf_ws_put_close(sf_buf *out, uint16_t code, const char *reason);
/* For a payload that is written in place: begin, append it to out, end with what begin returned. */
size_t sf_ws_begin_frame(sf_buf *out);
void sf_ws_end_frame(sf_buf *out, size_t begin, int opcode);

/* The Sec-WebSocket-Accept that answers a key; false when the key is not 16 bytes in base64. */
enum { SF_WS_ACCEPT_BYTES = 29 };
bool sf_ws_accept(sf_str key, char out[SF_WS_ACCEPT_BYTES]);

#endif
