/* SignalR messages. */
#include "api/hub/signalr.h"
#include "tests.h"

static sf_signalr_message message;

static sf_status parse(const char *text)
{
    sf_error err;
    return sf_signalr_parse(sf_str_of(text), &message, &err);
}

void messages_parse(void)
{
    REQUIRE(
        parse(
            "{\"type\":1,\"target\":\"SubscribeTable\",\"arguments\":[\"a\\\"b\",{\"x\":[1]},null],"
            "\"invocationId\":\"7\",\"streamIds\":[]}") == SF_OK);
    CHECK_INT(message.type, SF_SIGNALR_INVOCATION);
    CHECK_STR(message.target, "SubscribeTable");
    CHECK_STR(message.invocation_id, "7");
    CHECK_INT(message.argument_count, 3);
    CHECK(sf_str_eq(message.arguments[0], SF_STR("\"a\\\"b\"")));
    CHECK(sf_str_eq(message.arguments[1], SF_STR("{\"x\":[1]}")));
    CHECK(sf_str_eq(message.arguments[2], SF_STR("null")));

    REQUIRE(parse(" { \"arguments\" : [ ] , \"target\":\"\\u0041\" ,\"type\":1} ") == SF_OK);
    CHECK_STR(message.target, "A");
    CHECK_STR(message.invocation_id, "");
    CHECK_INT(message.argument_count, 0);
    REQUIRE(parse("{\"type\":6}") == SF_OK);
    CHECK_INT(message.type, SF_SIGNALR_PING);
    REQUIRE(parse("{\"type\":1,\"target\":\"x\",\"invocationId\":null,\"arguments\":null}") ==
            SF_OK);
    CHECK(!message.has_arguments);
    REQUIRE(parse("{\"type\":1,\"target\":\"x\",\"arguments\":[1,2,3,4,5,6,7,8,9,10]}") == SF_OK);
    CHECK_INT(message.argument_count, 10);
}

void messages_are_refused(void)
{
    static const char *const cases[] = {
        "",
        "[]",
        "{}",
        "{\"type\":\"1\"}",
        "{\"type\":1.5}",
        "{\"type\":1}",
        "{\"type\":1,\"target\":5}",
        "{\"type\":1,\"target\":\"x\",\"arguments\":{}}",
        "{\"type\":1,\"target\":\"x\",\"arguments\":[1,]}",
        "{\"type\":1,\"target\":\"x\"",
        "{\"type\":1,\"target\":\"x\"}}",
        "{\"type\":1,\"target\":\"\\ud800\"}",
        "{\"type\":1,\"target\":\"\xff\"}",
        "{\"type\":1,\"target\":\"a\\u0000b\"}",
    };
    for (size_t i = 0; i < SF_COUNT_OF(cases); i++)
        CHECK(parse(cases[i]) != SF_OK);
    char long_name[128]; /* one byte more than a target may have */
    snprintf(long_name, sizeof long_name, "{\"type\":1,\"target\":\"%065d\"}", 1);
    CHECK(parse(long_name) != SF_OK);
    snprintf(long_name, sizeof long_name, "{\"type\":1,\"target\":\"%064d\"}", 1);
    CHECK(parse(long_name) == SF_OK);
    sf_buf deep = {0};
    sf_buf_puts(&deep, "{\"type\":1,\"target\":\"x\",\"arguments\":");
    for (int i = 0; i < 100000; i++)
        sf_buf_putc(&deep, '[');
    CHECK(parse(deep.data) == SF_SYNTAX);
    sf_buf_deinit(&deep);
}

void handshakes(void)
{
    sf_error err;
    CHECK(sf_signalr_parse_handshake(SF_STR("{\"protocol\":\"json\",\"version\":1}"), &err) ==
          SF_OK);
    CHECK(sf_signalr_parse_handshake(SF_STR("{\"protocol\":\"messagepack\",\"version\":1}"),
                                     &err) == SF_INVALID);
    CHECK(sf_signalr_parse_handshake(SF_STR("{\"protocol\":\"json\",\"version\":2}"), &err) ==
          SF_INVALID);
    CHECK(sf_signalr_parse_handshake(SF_STR("{\"protocol\":\"json\"}"), &err) == SF_INVALID);
    CHECK(sf_signalr_parse_handshake(SF_STR("hello"), &err) == SF_SYNTAX);
}

void arguments(void)
{
    sf_error err;
    sf_buf buf = {0};
    sf_str text;
    REQUIRE(sf_signalr_text(SF_STR("\"a\\nb\""), "name", &buf, &text, &err) == SF_OK);
    CHECK(sf_str_eq(text, SF_STR("a\nb")));
    CHECK(sf_signalr_text(SF_STR("5"), "name", &buf, &text, &err) == SF_INVALID);
    CHECK_STR(err.message, "argument \"name\" must be text");
    sf_buf_deinit(&buf);
    bool given;
    int64_t value = 0;
    CHECK(sf_signalr_integer(SF_STR("null"), "fromSeq", &given, &value, &err) == SF_OK && !given);
    CHECK(sf_signalr_integer(SF_STR("42"), "fromSeq", &given, &value, &err) == SF_OK && given);
    CHECK_INT(value, 42);
    CHECK(sf_signalr_integer(SF_STR("4.5"), "fromSeq", &given, &value, &err) == SF_INVALID);
    CHECK(sf_signalr_integer(SF_STR("\"4\""), "fromSeq", &given, &value, &err) == SF_INVALID);
}

void messages_write(void)
{
    sf_buf out = {0};
    sf_signalr_put_handshake(&out, NULL);
    sf_signalr_put_handshake(&out, "no \"way\"");
    sf_signalr_put_ping(&out);
    sf_signalr_put_close(&out, NULL, true);
    sf_signalr_put_close(&out, "why", false);
    sf_signalr_put_result(&out, "1\"", SF_STR("{}"));
    sf_signalr_put_result(&out, "2", SF_STR(""));
    sf_error err;
    sf_fail(&err, SF_FORBIDDEN, "no right");
    sf_error_hint(&err, "ask");
    sf_signalr_put_error(&out, "3", &err);
    sf_signalr_begin_event(&out, "tableDelta");
    sf_buf_puts(&out, "\"t\",[],4");
    sf_signalr_end_event(&out);
    CHECK_STR(out.data, "{}\x1e"
                        "{\"error\":\"no \\\"way\\\"\"}\x1e"
                        "{\"type\":6}\x1e"
                        "{\"type\":7,\"allowReconnect\":true}\x1e"
                        "{\"type\":7,\"error\":\"why\"}\x1e"
                        "{\"type\":3,\"invocationId\":\"1\\\"\",\"result\":{}}\x1e"
                        "{\"type\":3,\"invocationId\":\"2\",\"result\":null}\x1e"
                        "{\"type\":3,\"invocationId\":\"3\",\"error\":\"no right; ask\"}\x1e"
                        "{\"type\":1,\"target\":\"tableDelta\",\"arguments\":[\"t\",[],4]}\x1e");
    sf_buf_deinit(&out);
}
