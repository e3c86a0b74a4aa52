/* Request heads and bodies of HTTP/1.x (RFC 9112), read strictly. */
#include "api/http/parse.h"

static const char *const method_names[] = {"GET",   "HEAD",   "POST",    "PUT",
                                           "PATCH", "DELETE", "OPTIONS", "OTHER"};

const char *sf_http_method_name(sf_http_method method)
{
    return method_names[method];
}

static bool refuse(sf_http_refusal *refusal, int status, const char *reason)
{
    *refusal = (sf_http_refusal){status, reason};
    return false;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The characters of methods and field names (RFC 9110, token). */
static bool is_token_char(unsigned char c)
{
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))
        return true;
    return c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL;
}

static bool is_token(sf_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_token_char((unsigned char)text.data[i]))
            return false;
    return text.len > 0;
}

static sf_str trim(sf_str text)
{
    while (text.len && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = (sf_str){text.data + 1, text.len - 1};
    while (text.len && (text.data[text.len - 1] == ' ' || text.data[text.len - 1] == '\t'))
        text.len--;
    return text;
}

bool sf_http_find_head(const char *bytes, size_t len, size_t *scanned, size_t *head_len,
                       sf_http_refusal *refusal)
{
    *head_len = 0;
    while (*scanned < len) {
        const char *lf = memchr(bytes + *scanned, '\n', len - *scanned);
        if (!lf) {
            *scanned = len;
            break;
        }
        size_t at = (size_t)(lf - bytes);
        *scanned = at + 1;
        if (at == 0 || bytes[at - 1] != '\r')
            return refuse(refusal, 400, "lines of the header must end with CR LF");
        if (at >= 3 && bytes[at - 2] == '\n') {
            *head_len = at + 1;
            break;
        }
    }
    return true;
}

/* The next line without its CRLF; a bare CR or LF inside is the caller's to find. */
static bool next_line(const char **at, const char *end, sf_str *line)
{
    const char *stop = memmem(*at, (size_t)(end - *at), "\r\n", 2);
    if (!stop)
        return false;
    *line = (sf_str){*at, (size_t)(stop - *at)};
    *at = stop + 2;
    return true;
}

static sf_http_method method_of(sf_str name)
{
    for (int i = 0; i < SF_HTTP_OTHER; i++)
        if (sf_str_eq(name, sf_str_of(method_names[i])))
            return (sf_http_method)i;
    return SF_HTTP_OTHER;
}

/* origin-form, absolute-form (what a proxy would send) or the asterisk of OPTIONS. */
static bool parse_target(sf_http_head *out, sf_http_refusal *refusal)
{
    sf_str target = out->target;
    if (target.len > SF_HTTP_TARGET_MAX)
        return refuse(refusal, 414, "the request target is longer than 8 KiB");
    for (size_t i = 0; i < target.len; i++) {
        if ((unsigned char)target.data[i] <= ' ' || (unsigned char)target.data[i] >= 0x7f)
            return refuse(refusal, 400,
                          "the request target holds a character that must be percent-encoded");
        if (target.data[i] == '%' && (i + 2 >= target.len || hex_digit(target.data[i + 1]) < 0 ||
                                      hex_digit(target.data[i + 2]) < 0))
            return refuse(refusal, 400,
                          "the request target has a % that two hexadecimal digits do not follow");
    }
    if (sf_str_eq(target, SF_STR("*")) && out->method == SF_HTTP_OPTIONS) {
        out->path = target;
        return true;
    }
    if (target.len > 7 && sf_str_eq_nocase((sf_str){target.data, 7}, SF_STR("http://"))) {
        const char *slash = memchr(target.data + 7, '/', target.len - 7);
        if (slash)
            target = (sf_str){slash, target.len - (size_t)(slash - target.data)};
        else
            target = SF_STR("/");
    }
    if (target.len == 0 || target.data[0] != '/')
        return refuse(refusal, 400, "the request target must start with /");
    const char *mark = memchr(target.data, '?', target.len);
    size_t path_len = mark ? (size_t)(mark - target.data) : target.len;
    out->path = (sf_str){target.data, path_len};
    if (mark)
        out->query = (sf_str){mark + 1, target.len - path_len - 1};
    if (memchr(target.data, '#', target.len))
        return refuse(refusal, 400, "the request target must not hold a fragment");
    return true;
}

static bool parse_request_line(sf_str line, sf_http_head *out, sf_http_refusal *refusal)
{
    const char *first = memchr(line.data, ' ', line.len);
    const char *last = memrchr(line.data, ' ', line.len);
    if (!first || first == last)
        return refuse(refusal, 400, "the request line must be METHOD TARGET HTTP/1.1");
    sf_str method = {line.data, (size_t)(first - line.data)};
    sf_str version = {last + 1, line.len - (size_t)(last + 1 - line.data)};
    out->target = (sf_str){first + 1, (size_t)(last - first - 1)};
    if (!is_token(method))
        return refuse(refusal, 400, "the request method is not a token");
    out->method = method_of(method);
    if (sf_str_eq(version, SF_STR("HTTP/1.0")))
        out->http10 = true;
    else if (version.len == 8 && memcmp(version.data, "HTTP/", 5) == 0 &&
             !sf_str_eq(version, SF_STR("HTTP/1.1")))
        return refuse(refusal, 505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
    else if (!sf_str_eq(version, SF_STR("HTTP/1.1")))
        return refuse(refusal, 400, "the request line must end with HTTP/1.1");
    return parse_target(out, refusal);
}

static bool parse_field(sf_str line, sf_http_head *out, sf_http_refusal *refusal)
{
    if (out->field_count == SF_HTTP_FIELDS_MAX)
        return refuse(refusal, 431, "the request has more than 100 header fields");
    if (line.data[0] == ' ' || line.data[0] == '\t')
        return refuse(refusal, 400, "folded header fields are not accepted");
    const char *colon = memchr(line.data, ':', line.len);
    if (!colon)
        return refuse(refusal, 400, "a header field has no colon");
    sf_str name = {line.data, (size_t)(colon - line.data)};
    sf_str value = trim((sf_str){colon + 1, line.len - name.len - 1});
    if (!is_token(name))
        return refuse(refusal, 400, "a header field name is not a token");
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.data[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return refuse(refusal, 400, "a header field value holds a control character");
    }
    out->fields[out->field_count++] = (sf_http_field){name, value};
    return true;
}

static bool parse_length(sf_str value, uint64_t *out)
{
    if (value.len == 0 || value.len > 18)
        return false;
    *out = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] < '0' || value.data[i] > '9')
            return false;
        *out = *out * 10 + (uint64_t)(value.data[i] - '0');
    }
    return true;
}

/* Where the body ends. Anything two readers could understand differently is refused. */
static bool judge_framing(sf_http_head *out, sf_http_refusal *refusal)
{
    size_t lengths = 0, encodings = 0, hosts = 0;
    sf_str encoding = {0}, length = {0};
    for (size_t i = 0; i < out->field_count; i++) {
        const sf_http_field *field = &out->fields[i];
        if (sf_str_eq_nocase(field->name, SF_STR("content-length"))) {
            lengths++;
            length = field->value;
        } else if (sf_str_eq_nocase(field->name, SF_STR("transfer-encoding"))) {
            encodings++;
            encoding = field->value;
        } else if (sf_str_eq_nocase(field->name, SF_STR("host"))) {
            hosts++;
        }
    }
    if (hosts > 1 || (hosts == 0 && !out->http10))
        return refuse(refusal, 400, "the request must have exactly one Host field");
    if (lengths > 1 || encodings > 1 || (lengths && encodings))
        return refuse(refusal, 400, "the length of the body is given more than once");
    if (encodings) {
        if (out->http10)
            return refuse(refusal, 400, "HTTP/1.0 has no Transfer-Encoding");
        if (!sf_str_eq_nocase(encoding, SF_STR("chunked")))
            return refuse(refusal, 501, "the only Transfer-Encoding understood is chunked");
        out->chunked = true;
    }
    if (lengths) {
        if (!parse_length(length, &out->length))
            return refuse(refusal, 400, "Content-Length is not a number of bytes");
        out->has_length = true;
    }
    return true;
}

static bool judge_connection(sf_http_head *out, sf_http_refusal *refusal)
{
    bool close = false, keep = false;
    for (size_t i = 0; i < out->field_count; i++) {
        const sf_http_field *field = &out->fields[i];
        if (sf_str_eq_nocase(field->name, SF_STR("connection"))) {
            close |= sf_http_has_token(field->value, "close");
            keep |= sf_http_has_token(field->value, "keep-alive");
        } else if (sf_str_eq_nocase(field->name, SF_STR("expect"))) {
            if (!sf_str_eq_nocase(field->value, SF_STR("100-continue")))
                return refuse(refusal, 417, "the only expectation met is 100-continue");
            out->expect_continue = !out->http10;
        }
    }
    out->keep_alive = out->http10 ? keep && !close : !close;
    return true;
}

bool sf_http_parse_head(const char *bytes, size_t len, sf_http_head *out, sf_http_refusal *refusal)
{
    memset(out, 0, offsetof(sf_http_head, fields));
    const char *at = bytes, *end = bytes + len;
    sf_str line;
    if (!next_line(&at, end, &line))
        return refuse(refusal, 400, "the request line does not end");
    if (!parse_request_line(line, out, refusal))
        return false;
    for (;;) {
        if (!next_line(&at, end, &line))
            return refuse(refusal, 400, "the header does not end");
        if (line.len == 0)
            break;
        if (!parse_field(line, out, refusal))
            return false;
    }
    return judge_framing(out, refusal) && judge_connection(out, refusal);
}

sf_str sf_http_head_field(const sf_http_head *head, const char *name)
{
    for (size_t i = 0; i < head->field_count; i++)
        if (sf_str_eq_nocase(head->fields[i].name, sf_str_of(name)))
            return head->fields[i].value;
    return (sf_str){"", 0};
}

bool sf_http_has_token(sf_str list, const char *token)
{
    while (list.len) {
        const char *comma = memchr(list.data, ',', list.len);
        size_t len = comma ? (size_t)(comma - list.data) : list.len;
        if (sf_str_eq_nocase(trim((sf_str){list.data, len}), sf_str_of(token)))
            return true;
        size_t skip = comma ? len + 1 : len;
        list = (sf_str){list.data + skip, list.len - skip};
    }
    return false;
}

/* ---- bodies ---- */

enum {
    CHUNK_SIZE,
    CHUNK_EXTENSION,
    CHUNK_SIZE_LF,
    CHUNK_DATA,
    CHUNK_DATA_CR,
    CHUNK_DATA_LF,
    TRAILER_START,
    TRAILER_LINE,
    TRAILER_LF,
    FINAL_LF,
    BODY_DONE,
    BODY_BAD
};

enum { CHUNK_LINE_MAX = 1024, TRAILER_MAX = 8 * 1024 };

void sf_http_body_begin(sf_http_body *body, const sf_http_head *head)
{
    *body = (sf_http_body){.chunked = head->chunked, .left = head->length};
    if (!head->chunked && head->length == 0)
        body->step = BODY_DONE;
}

static int bad(sf_http_body *body, const char *reason)
{
    body->reason = reason;
    return BODY_BAD;
}

static int size_step(sf_http_body *body, char c)
{
    int digit = hex_digit(c);
    if (digit >= 0) {
        if (++body->digits > 15)
            return bad(body, "a chunk size is too large");
        body->left = body->left * 16 + (uint64_t)digit;
        return CHUNK_SIZE;
    }
    if (body->digits == 0)
        return bad(body, "a chunk does not start with its size");
    if (c == '\r')
        return CHUNK_SIZE_LF;
    return c == ';' || c == ' ' || c == '\t' ? CHUNK_EXTENSION
                                             : bad(body, "a chunk size is not hexadecimal");
}

/* One byte outside chunk data. Trailer fields are read and dropped. */
static int chunk_step(sf_http_body *body, char c)
{
    switch (body->step) {
    case CHUNK_SIZE: return size_step(body, c);
    case CHUNK_EXTENSION:
        if (++body->line_bytes > CHUNK_LINE_MAX)
            return bad(body, "a chunk extension is longer than 1 KiB");
        if (c == '\n')
            return bad(body, "a chunk size does not end with CR LF");
        return c == '\r' ? CHUNK_SIZE_LF : CHUNK_EXTENSION;
    case CHUNK_SIZE_LF:
        if (c != '\n')
            return bad(body, "a chunk size does not end with CR LF");
        body->digits = body->line_bytes = 0;
        return body->left ? CHUNK_DATA : TRAILER_START;
    case CHUNK_DATA_CR:
        return c == '\r' ? CHUNK_DATA_LF : bad(body, "a chunk is longer than its size");
    case CHUNK_DATA_LF:
        return c == '\n' ? CHUNK_SIZE : bad(body, "a chunk does not end with CR LF");
    case TRAILER_START:
        if (c == '\r')
            return FINAL_LF;
        /* fall through */
    case TRAILER_LINE:
        if (++body->line_bytes > TRAILER_MAX)
            return bad(body, "the trailer is longer than 8 KiB");
        if (c == '\n')
            return bad(body, "a trailer field does not end with CR LF");
        return c == '\r' ? TRAILER_LF : TRAILER_LINE;
    case TRAILER_LF:
        return c == '\n' ? TRAILER_START : bad(body, "a trailer field does not end with CR LF");
    default: return c == '\n' ? BODY_DONE : bad(body, "the body does not end with CR LF");
    }
}

static size_t take_data(sf_http_body *body, const char *bytes, size_t len, sf_str *piece)
{
    size_t take = len < body->left ? len : (size_t)body->left;
    *piece = (sf_str){bytes, take};
    body->left -= take;
    return take;
}

sf_http_body_state sf_http_body_feed(sf_http_body *body, const char *bytes, size_t len,
                                     size_t *used, sf_str *piece)
{
    *used = 0;
    *piece = (sf_str){bytes, 0};
    if (!body->chunked && body->step != BODY_DONE) {
        *used = take_data(body, bytes, len, piece);
        if (body->left == 0)
            body->step = BODY_DONE;
    }
    while (body->chunked && body->step < BODY_DONE && *used < len) {
        if (body->step != CHUNK_DATA) {
            body->step = chunk_step(body, bytes[(*used)++]);
            continue;
        }
        *used += take_data(body, bytes + *used, len - *used, piece);
        if (body->left == 0)
            body->step = CHUNK_DATA_CR;
        return SF_HTTP_BODY_MORE;
    }
    if (body->step == BODY_BAD)
        return SF_HTTP_BODY_BAD;
    return body->step == BODY_DONE ? SF_HTTP_BODY_DONE : SF_HTTP_BODY_MORE;
}
