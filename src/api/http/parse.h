/* parse.h: bytes of HTTP/1.x requests -> heads and bodies. Pure: no sockets, no clock.
 *
 * Threads  None of its own; a value belongs to one thread at a time.
 * Memory   A parsed head borrows the bytes it was parsed from.
 * Fails    With the HTTP status that answers the mistake, and a sentence for its body. Strict on
 *          purpose: what two servers may read differently (bare LF, folded fields, repeated or
 *          signed lengths, a length beside chunks) is refused, never guessed. */
#ifndef SF_API_HTTP_PARSE_H
#define SF_API_HTTP_PARSE_H

#include "base/base.h"

enum {
    SF_HTTP_HEAD_MAX = 32 * 1024, /* request line and all fields */
    SF_HTTP_TARGET_MAX = 8 * 1024,
    SF_HTTP_FIELDS_MAX = 100,
};

typedef enum {
    SF_HTTP_GET,
    SF_HTTP_HEAD,
    SF_HTTP_POST,
    SF_HTTP_PUT,
    SF_HTTP_PATCH,
    SF_HTTP_DELETE,
    SF_HTTP_OPTIONS,
    SF_HTTP_OTHER, /* a well-formed method that no route can have */
} sf_http_method;

const char *sf_http_method_name(sf_http_method method);

typedef struct {
    sf_str name, value;
} sf_http_field;

typedef struct {
    sf_http_method method;
    sf_str target; /* as sent */
    sf_str path;   /* still percent-encoded, starts with '/'; "*" for OPTIONS of the server */
    sf_str query;  /* still encoded, without '?' */
    bool http10;
    bool keep_alive;
    bool expect_continue;
    bool chunked;
    bool has_length;
    uint64_t length;
    size_t field_count;
    sf_http_field fields[SF_HTTP_FIELDS_MAX];
} sf_http_head;

/* Why a request is refused before anyone looks at its meaning. */
typedef struct {
    int status; /* 400, 414, 417, 431, 501, 505 */
    const char *reason;
} sf_http_refusal;

/* Looks for the end of the head at the start of bytes: *head_len includes the blank line, 0 when it
 * is not there yet. *scanned remembers how far the last look came; set it to 0 for a new head.
 * False at a line that ends in a bare LF, so that such a client is told at once. */
SF_MUST_USE bool sf_http_find_head(const char *bytes, size_t len, size_t *scanned, size_t *head_len,
                                   sf_http_refusal *refusal);

/* Parses one whole head of sf_http_find_head's length. False: *refusal says why. */
SF_MUST_USE bool sf_http_parse_head(const char *bytes, size_t len, sf_http_head *out,
                                    sf_http_refusal *refusal);

/* Empty text when absent. Names compare without case. */
sf_str sf_http_head_field(const sf_http_head *head, const char *name);

/* True when a comma-separated field contains the token, without case. */
bool sf_http_has_token(sf_str list, const char *token);

/* ---- bodies ---- */

typedef enum { SF_HTTP_BODY_MORE, SF_HTTP_BODY_DONE, SF_HTTP_BODY_BAD } sf_http_body_state;

typedef struct {
    uint64_t left; /* of the body, or of the present chunk */
    bool chunked;
    int step; /* of the chunked reading */
    unsigned digits, line_bytes;
    const char *reason; /* of SF_HTTP_BODY_BAD */
} sf_http_body;

void sf_http_body_begin(sf_http_body *body, const sf_http_head *head);

/* Consumes bytes of the body and calls the piece at *piece what they carry, which may be empty.
 * Call again with the rest until *used is len or the state is not MORE. */
sf_http_body_state sf_http_body_feed(sf_http_body *body, const char *bytes, size_t len,
                                     size_t *used, sf_str *piece);

#endif
