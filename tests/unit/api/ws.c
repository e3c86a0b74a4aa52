/* WebSocket frames. */
#include "api/hub/ws.h"
#include "base/seam.h"
#include "tests.h"

/* A masked frame as a client sends it. first: FIN, RSV and opcode. */
static void put_client(sf_buf *out, int first, const char *payload, size_t len)
{
    static const uint8_t mask[4] = {0x11, 0x22, 0x33, 0x44};
    sf_buf_putc(out, (char)first);
    if (len < 126) {
        sf_buf_putc(out, (char)(0x80 | len));
    } else {
        sf_buf_putc(out, (char)(0x80 | 126));
        sf_buf_putc(out, (char)(len >> 8));
        sf_buf_putc(out, (char)len);
    }
    sf_buf_put(out, mask, 4);
    for (size_t i = 0; i < len; i++)
        sf_buf_putc(out, (char)(payload[i] ^ mask[i & 3]));
}

/* Reads all of bytes in pieces of step; writes one line an event. */
static void read_all(sf_str bytes, size_t step, size_t message_max, sf_buf *log)
{
    static const char *const names[] = {"more", "message", "ping", "pong", "close", "bad"};
    sf_ws_reader reader;
    sf_ws_reader_init(&reader, message_max);
    for (size_t at = 0; at < bytes.len;) {
        size_t len = bytes.len - at < step ? bytes.len - at : step, used;
        sf_str payload;
        sf_ws_event event = sf_ws_read(&reader, bytes.data + at, len, &used, &payload);
        at += used;
        if (event == SF_WS_MORE)
            continue;
        if (event == SF_WS_BAD) {
            sf_buf_printf(log, "bad %d;", reader.bad_code);
            break;
        }
        sf_buf_printf(log, "%s %.*s;", names[event], SF_STR_ARG(payload));
    }
    sf_ws_reader_deinit(&reader);
}

static bool reads_as(const sf_buf *bytes, size_t step, const char *want)
{
    sf_buf log = {0};
    read_all(sf_buf_str(bytes), step, 1000, &log);
    bool same = strcmp(log.data ? log.data : "", want) == 0;
    if (!same)
        printf("  got  %s\n  want %s\n", log.data ? log.data : "", want);
    sf_buf_deinit(&log);
    return same;
}

void frames_read(void)
{
    /* The masked "Hello" of RFC 6455, section 5.7. */
    static const char hello[] = "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
    sf_buf bytes = {0};
    sf_buf_put(&bytes, hello, sizeof hello - 1);
    CHECK(reads_as(&bytes, 100, "message Hello;"));
    sf_buf_deinit(&bytes);
}

void frames_in_any_pieces(void)
{
    sf_buf bytes = {0};
    char long_text[301];
    memset(long_text, 'z', 300);
    long_text[300] = '\0';
    put_client(&bytes, 0x81, "one", 3);
    put_client(&bytes, 0x01, "tw", 2); /* a message in three, with a ping between */
    put_client(&bytes, 0x89, "p", 1);
    put_client(&bytes, 0x00, "", 0);
    put_client(&bytes, 0x80, "o", 1);
    put_client(&bytes, 0x82, "", 0);
    put_client(&bytes, 0x8a, "q", 1);
    put_client(&bytes, 0x81, long_text, 300);
    put_client(&bytes, 0x88, "\x03\xe8", 2);
    sf_buf want = {0};
    sf_buf_printf(&want,
                  "message one;ping p;message two;message ;pong q;message %s;close \x03\xe8;",
                  long_text);
    for (size_t step = 1; step < bytes.len; step++)
        CHECK(reads_as(&bytes, step, want.data));
    sf_buf_deinit(&bytes);
    sf_buf_deinit(&want);
}

void frames_are_refused(void)
{
    static const struct {
        const char *bytes;
        size_t len;
        int code;
    } cases[] = {
        {"\x81\x01x", 3, 1002},                         /* not masked */
        {"\xc1\x80....", 6, 1002},                      /* an extension bit */
        {"\x83\x80....", 6, 1002},                      /* unknown opcode */
        {"\x8b\x80....", 6, 1002},                      /* unknown control opcode */
        {"\x09\x80....", 6, 1002},                      /* a split ping */
        {"\x89\xfe\x00\x7e....", 8, 1002},              /* a long ping */
        {"\x80\x80....", 6, 1002},                      /* continues nothing */
        {"\x81\xfe\x00\x7d....", 8, 1002},              /* 125 in the long form */
        {"\x81\xff\0\0\0\0\0\0\xff\xff....", 14, 1002}, /* 65535 in the longest form */
        {"\x81\xff\x80\0\0\0\0\0\0\0....", 14, 1002},   /* the highest bit */
        {"\x81\xfe\x03\xe9....", 8, 1009},              /* 1001 bytes */
        {"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff....", 14, 1009},
        {"\x01\x81....x\x81\x80....", 13, 1002}, /* begins inside another */
    };
    for (size_t i = 0; i < SF_COUNT_OF(cases); i++) {
        sf_buf bytes = {0}, want = {0};
        sf_buf_put(&bytes, cases[i].bytes, cases[i].len);
        sf_buf_printf(&want, "bad %d;", cases[i].code);
        CHECK(reads_as(&bytes, 1, want.data));
        CHECK(reads_as(&bytes, 100, want.data));
        sf_buf_deinit(&bytes);
        sf_buf_deinit(&want);
    }
}

void frames_write(void)
{
    sf_buf out = {0};
    sf_ws_put_frame(&out, SF_WS_TEXT, SF_STR("Hello"));
    CHECK(sf_str_eq(sf_buf_str(&out), SF_STR("\x81\x05Hello")));
    sf_buf_clear(&out);
    sf_ws_put_close(&out, 1001, "bye");
    CHECK(sf_str_eq(sf_buf_str(&out), SF_STR("\x88\x05\x03\xe9"
                                             "bye")));
    static const size_t sizes[] = {0, 1, 125, 126, 65535, 65536};
    for (size_t i = 0; i < SF_COUNT_OF(sizes); i++) {
        sf_buf in_place = {0}, whole = {0}, payload = {0};
        for (size_t n = 0; n < sizes[i]; n++)
            sf_buf_putc(&payload, (char)('a' + n % 26));
        sf_buf_puts(&in_place, "before");
        sf_buf_puts(&whole, "before");
        size_t begin = sf_ws_begin_frame(&in_place);
        sf_buf_put(&in_place, payload.data, payload.len);
        sf_ws_end_frame(&in_place, begin, SF_WS_TEXT);
        sf_ws_put_frame(&whole, SF_WS_TEXT, sf_buf_str(&payload));
        CHECK(sf_str_eq(sf_buf_str(&in_place), sf_buf_str(&whole)));
        size_t header = sizes[i] < 126 ? 2 : sizes[i] < 65536 ? 4 : 10;
        CHECK_INT(whole.len, 6 + header + sizes[i]);
        sf_buf_deinit(&in_place);
        sf_buf_deinit(&whole);
        sf_buf_deinit(&payload);
    }
    sf_buf_deinit(&out);
}

void frames_survive_any_bytes(void)
{
    sf_rng rng = {.state = 11};
    for (int round = 0; round < 20000; round++) {
        size_t len = sf_rng_below(&rng, 60) + 1;
        char *bytes = sf_alloc(len);
        for (size_t i = 0; i < len; i++) {
            static const uint8_t alphabet[] = {0x81, 0x01, 0x80, 0x89, 0x88, 0x83, 0xfe, 0xff, 0};
            uint64_t pick = sf_rng_below(&rng, 2 * sizeof alphabet);
            bytes[i] = (char)(pick < sizeof alphabet ? alphabet[pick] : sf_rng_next(&rng));
        }
        sf_buf log = {0};
        read_all((sf_str){bytes, len}, 1 + sf_rng_below(&rng, 9), 40, &log);
        sf_buf_deinit(&log);
        sf_free(bytes);
    }
}

void keys_are_accepted(void)
{
    char accept[SF_WS_ACCEPT_BYTES];
    /* RFC 6455, section 1.3. */
    REQUIRE(sf_ws_accept(SF_STR("dGhlIHNhbXBsZSBub25jZQ=="), accept));
    CHECK_STR(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    CHECK(!sf_ws_accept(SF_STR(""), accept));
    CHECK(!sf_ws_accept(SF_STR("dGhlIHNhbXBsZSBub25jZQ="), accept));
    CHECK(!sf_ws_accept(SF_STR("dGhlIHNhbXBsZSBub25jZQAA"), accept));
    CHECK(!sf_ws_accept(SF_STR("dGhl!HNhbXBsZSBub25jZQ=="), accept));
}
