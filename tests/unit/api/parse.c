/* Request heads and bodies. */
#include "api/http/parse.h"
#include "base/seam.h"
#include "tests.h"

static sf_http_head head;

static int parse(const char *text)
{
    sf_http_refusal refusal = {0};
    return sf_http_parse_head(text, strlen(text), &head, &refusal) ? 200 : refusal.status;
}

void heads_parse(void)
{
    REQUIRE(parse("PUT /a/b?c=d HTTP/1.1\r\nHost: x\r\nX-Thing: \t two words \r\n"
                  "Content-Length: 12\r\n\r\n") == 200);
    CHECK_INT(head.method, SF_HTTP_PUT);
    CHECK(sf_str_eq(head.target, SF_STR("/a/b?c=d")));
    CHECK(sf_str_eq(head.path, SF_STR("/a/b")));
    CHECK(sf_str_eq(head.query, SF_STR("c=d")));
    CHECK(sf_str_eq(sf_http_head_field(&head, "x-thing"), SF_STR("two words")));
    CHECK(sf_http_head_field(&head, "absent").len == 0);
    CHECK_INT(head.length, 12);
    CHECK(head.has_length && !head.chunked && head.keep_alive && !head.http10);

    REQUIRE(parse("GET / HTTP/1.0\r\n\r\n") == 200);
    CHECK(head.http10 && !head.keep_alive);
    REQUIRE(parse("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n") == 200);
    CHECK(head.keep_alive);
    REQUIRE(parse("GET / HTTP/1.1\r\nHost: x\r\nConnection: foo, CLOSE\r\n\r\n") == 200);
    CHECK(!head.keep_alive);
    REQUIRE(parse("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n"
                  "Expect: 100-Continue\r\n\r\n") == 200);
    CHECK(head.chunked && head.expect_continue);
    REQUIRE(parse("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n") == 200);
    CHECK(sf_str_eq(head.path, SF_STR("*")));
    REQUIRE(parse("GET HTTP://host:80 HTTP/1.1\r\nHost: x\r\n\r\n") == 200);
    CHECK(sf_str_eq(head.path, SF_STR("/")));
    REQUIRE(parse("REPORT /x HTTP/1.1\r\nHost: x\r\n\r\n") == 200);
    CHECK_INT(head.method, SF_HTTP_OTHER);
}

void heads_are_refused(void)
{
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        {"GET /\r\n\r\n", 400},
        {"GET / HTTP/3.0\r\nHost: x\r\n\r\n", 505},
        {"GET / http/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET * HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"G(T / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {" GET / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET /%4 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET /%g0 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nbad\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1e3\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: \r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n", 501},
        {"GET / HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\n\r\n", 417},
    };
    for (size_t i = 0; i < SF_COUNT_OF(cases); i++)
        CHECK_INT(parse(cases[i].text), cases[i].status);
}

void heads_are_found(void)
{
    const char *text = "GET / HTTP/1.1\r\nHost: x\r\n\r\nrest";
    size_t whole = strlen(text) - 4, scanned = 0, length;
    sf_http_refusal refusal;
    for (size_t len = 0; len < whole; len++) {
        CHECK(sf_http_find_head(text, len, &scanned, &length, &refusal));
        CHECK_INT(length, 0);
    }
    CHECK(sf_http_find_head(text, strlen(text), &scanned, &length, &refusal));
    CHECK_INT(length, whole);
    scanned = 0;
    CHECK(!sf_http_find_head("GET / HTTP/1.1\n", 15, &scanned, &length, &refusal));
    CHECK_INT(refusal.status, 400);
}

void fields_and_tokens(void)
{
    CHECK(sf_http_has_token(SF_STR("a, Upgrade ,b"), "upgrade"));
    CHECK(sf_http_has_token(SF_STR("upgrade"), "Upgrade"));
    CHECK(!sf_http_has_token(SF_STR("upgrades, xupgrade"), "upgrade"));
    CHECK(!sf_http_has_token(SF_STR(""), "upgrade"));
    CHECK(!sf_http_has_token(SF_STR(",,"), "x"));
}

/* Feeds bytes in pieces of step and collects what they carry. */
static sf_http_body_state feed(const char *header, sf_str bytes, size_t step, sf_buf *out,
                               size_t *used_out)
{
    sf_http_body body;
    if (parse(header) != 200)
        return SF_HTTP_BODY_BAD;
    sf_http_body_begin(&body, &head);
    size_t at = 0;
    sf_http_body_state state = SF_HTTP_BODY_MORE;
    while (at < bytes.len && state == SF_HTTP_BODY_MORE) {
        size_t len = bytes.len - at < step ? bytes.len - at : step, used;
        sf_str piece;
        state = sf_http_body_feed(&body, bytes.data + at, len, &used, &piece);
        sf_buf_put(out, piece.data, piece.len);
        at += used;
    }
    *used_out = at;
    return state;
}

#define LENGTH_5 "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"
#define CHUNKED  "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

void bodies_by_length(void)
{
    for (size_t step = 1; step < 9; step++) {
        sf_buf out = {0};
        size_t used;
        CHECK_INT(feed(LENGTH_5, SF_STR("helloNEXT"), step, &out, &used), SF_HTTP_BODY_DONE);
        CHECK_INT(used, 5);
        CHECK(sf_str_eq(sf_buf_str(&out), SF_STR("hello")));
        sf_buf_deinit(&out);
    }
}

void bodies_by_chunks(void)
{
    sf_str text = SF_STR("5\r\nhello\r\n00b;x=\"y\"\r\n, big world\r\n0\r\nT: 1\r\n\r\nNEXT");
    for (size_t step = 1; step < text.len; step++) {
        sf_buf out = {0};
        size_t used;
        CHECK_INT(feed(CHUNKED, text, step, &out, &used), SF_HTTP_BODY_DONE);
        CHECK_INT(used, text.len - 4);
        CHECK(sf_str_eq(sf_buf_str(&out), SF_STR("hello, big world")));
        sf_buf_deinit(&out);
    }
}

void chunks_are_refused(void)
{
    static const char *const cases[] = {
        "g\r\n",       "\r\n",     "-1\r\n", "5\nhello", "2\r\nabc\r\n", "2\r\nab\nx",
        "0\r\nT: 1\n", "0\r\n\rX", "1 \n",   "1;x\n",    "2\r\nab\r\r",  "10000000000000000\r\n",
        "0x1\r\n",
    };
    for (size_t i = 0; i < SF_COUNT_OF(cases); i++) {
        sf_buf out = {0};
        size_t used;
        CHECK_INT(feed(CHUNKED, sf_str_of(cases[i]), 3, &out, &used), SF_HTTP_BODY_BAD);
        sf_buf_deinit(&out);
    }
}

/* Bytes from an alphabet that reaches deep: nothing is read past the end, whatever comes. */
void any_bytes_are_survived(void)
{
    static const char alphabet[] = "GET /%2 HTTP1.0\r\n:;,Host a\t\xff"
                                   "0123456789abcdef";
    sf_rng rng = {.state = 7};
    int parsed = 0;
    for (int round = 0; round < 20000; round++) {
        size_t len = sf_rng_below(&rng, 80);
        char *bytes = sf_alloc(len ? len : 1); /* exact, so that the sanitizer sees one byte more */
        for (size_t i = 0; i < len; i++)
            bytes[i] = alphabet[sf_rng_below(&rng, sizeof alphabet)];
        if (len > 30 && round % 2)
            memcpy(bytes, "GET / HTTP/1.1\r\nHost: x\r\n", 25);
        sf_http_refusal refusal;
        size_t scanned = 0, found, used;
        if (sf_http_find_head(bytes, len, &scanned, &found, &refusal) && found > 0)
            parsed += sf_http_parse_head(bytes, found, &head, &refusal);
        parsed += sf_http_parse_head(bytes, len, &head, &refusal);
        sf_http_body body = {.chunked = true};
        sf_str piece;
        for (size_t at = 0; at < len; at += used)
            if (sf_http_body_feed(&body, bytes + at, len - at, &used, &piece) != SF_HTTP_BODY_MORE)
                break;
        sf_free(bytes);
    }
    CHECK(parsed > 0);
}
