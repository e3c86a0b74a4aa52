/* Path access, strings and canonical form of JSON texts. */
#include "tests.h"

#include "base/seam.h"

/* A path of keys and indexes: "a/0/b". Empty result: nothing there. */
static sf_str walk(sf_str text, const char *path)
{
    while (*path) {
        size_t len = strcspn(path, "/");
        sf_str next = {0};
        bool found = path[0] >= '0' && path[0] <= '9'
                         ? sf_json_get_index(text, atoi(path), &next)
                         : sf_json_get_key(text, (sf_str){path, len}, &next);
        if (!found)
            return (sf_str){0};
        text = next;
        path += len + (path[len] == '/');
    }
    return text;
}

void json_paths(void)
{
    static const struct {
        const char *text, *path, *value;
    } rows[] = {
        {"{\"a\":1}", "a", "1"},
        {" { \"a\" : 1 , \"b\" : [ 10 , { \"c\" : \"x\" } ] } ", "b/1/c", "\"x\""},
        {"{\"a\":1,\"a\":2}", "a", "2"},
        {"{\"\\u0061\":3}", "a", "3"},
        {"{\"a\":1,\"\\u0061\":3}", "a", "3"},
        {"{\"a.b\":1,\"a\":{\"b\":2}}", "a.b", "1"},
        {"{\"a.b\":1,\"a\":{\"b\":2}}", "a/b", "2"},
        {"{\"a\":{\"b\":[1,[2,3]]}}", "a/b/1", "[2,3]"},
        {"{\"s\":\"}],{[\\\"\",\"t\":5}", "t", "5"},
        {"{\"long\":\"0123456789012345678901234567890123456789\",\"t\":null}", "t", "null"},
        {"{\"d\":{\"x\":[[[{}]]],\"y\":\"\\\\\"},\"e\":-1.5e3}", "e", "-1.5e3"},
        {"{\"a\":1}", "b", ""},
        {"{\"A\":1}", "a", ""},
        {"{\"a\":1}", "0", ""},
        {"[1,2]", "2", ""},
        {"[1,2]", "a", ""},
        {"5", "a", ""},
        {"\"abc\"", "0", ""},
        {"{}", "a", ""},
        {"[]", "0", ""},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_str got = walk(sf_str_of(rows[i].text), rows[i].path);
        if (!sf_str_eq(got, sf_str_of(rows[i].value)))
            printf("  %s %s: %.*s\n", rows[i].text, rows[i].path, SF_STR_ARG(got));
        CHECK(sf_str_eq(got, sf_str_of(rows[i].value)));
    }
    sf_str none;
    CHECK(!sf_json_get_index(SF_STR("[1]"), -1, &none));
    CHECK(!sf_json_get_index(SF_STR("[1]"), INT64_MAX, &none));
    CHECK(sf_json_kind_of(SF_STR(" {}")) == SF_JSON_OBJECT);
    CHECK(sf_json_kind_of(SF_STR("-1")) == SF_JSON_NUMBER);
    CHECK(sf_json_kind_of(SF_STR("x")) == SF_JSON_NONE);
    CHECK(sf_json_kind_of((sf_str){0}) == SF_JSON_NONE);
}

void json_elements(void)
{
    static const struct {
        const char *text, *joined;
    } rows[] = {
        {"[]", ""},
        {" [ ] ", ""},
        {"[1]", "1;"},
        {" [ 1 , \"a,b\" , [2,3] , {\"x\":[4]} , null ] ", "1;\"a,b\";[2,3];{\"x\":[4]};null;"},
        {"{\"a\":1}", ""},
        {"null", ""},
        {"\"[1]\"", ""},
        {"", ""},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_buf joined = {0};
        sf_buf_puts(&joined, "");
        size_t cursor = 0, count = 0;
        sf_str element;
        while (sf_json_each(sf_str_of(rows[i].text), &cursor, &element)) {
            sf_buf_put(&joined, element.data, element.len);
            sf_buf_putc(&joined, ';');
            count++;
        }
        CHECK_STR(joined.data, rows[i].joined);
        CHECK_INT(sf_json_array_len(sf_str_of(rows[i].text)), count);
        sf_buf_deinit(&joined);
    }
    size_t cursor = 0;
    sf_json_string key;
    sf_str value, object = SF_STR("{ \"a\" : 1, \"b\\n\":{\"c\":2} }");
    CHECK(sf_json_each_member(object, &cursor, &key, &value));
    CHECK(sf_str_eq(key.raw, SF_STR("a")) && sf_str_eq(value, SF_STR("1")));
    CHECK(sf_json_each_member(object, &cursor, &key, &value));
    CHECK(key.escaped && sf_str_eq(value, SF_STR("{\"c\":2}")));
    CHECK(!sf_json_each_member(object, &cursor, &key, &value));
}

/* Damaged texts: any answer will do, but every call ends and stays inside its bytes. */
void json_text_access_survives_any_bytes(void)
{
    sf_str base =
        SF_STR("{\"a\":[1,\"x\\u00e9\",{\"b\":null}],\"c\":\"\\ud83d\\ude00\",\"\\u0061\":2}");
    static const char damage[] = "{}[]\",:\\u0d8\x01\xff ";
    sf_rng rng = {.state = 99};
    for (int i = 0; i < 20000; i++) {
        size_t len = sf_rng_below(&rng, base.len + 1);
        char *copy = sf_strndup(base.data, len);
        REQUIRE(copy);
        for (uint64_t n = sf_rng_below(&rng, 4); n > 0 && len > 0; n--)
            copy[sf_rng_below(&rng, len)] = damage[sf_rng_below(&rng, sizeof damage - 1)];
        sf_str text = {copy, len}, out;
        sf_buf scratch = {0};
        size_t cursor = 0, steps = 0;
        if (sf_json_get_key(text, SF_STR("a"), &out))
            CHECK(out.data >= copy && out.data + out.len <= copy + len);
        sf_json_get_index(text, 3, &out);
        while (sf_json_each(text, &cursor, &out) && steps++ <= len)
            sf_json_text_of(out, &scratch, &out);
        CHECK(steps <= len);
        sf_json_unescape(text, &scratch);
        sf_buf_clear(&scratch);
        sf_status valid = sf_json_validate(text, NULL);
        CHECK(sf_json_canonical(text, &scratch, NULL) == valid);
        sf_buf_deinit(&scratch);
        sf_free(copy);
    }
}

void json_strings_unescape(void)
{
    static const struct {
        const char *value;
        sf_str plain;
    } rows[] = {
        {"\"\"", SF_STR("")},
        {"\"abc\"", SF_STR("abc")},
        {"\"a\\\"b\\\\c\\/\\b\\f\\n\\r\\t\"", SF_STR("a\"b\\c/\b\f\n\r\t")},
        {"\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"",
         SF_STR("A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80")},
        {"\"x\\u0000y\"", SF_STR("x\0y")},
        {"12.50", SF_STR("12.50")},
        {"true", SF_STR("true")},
        {"{\"a\":\"\\n\"}", SF_STR("{\"a\":\"\\n\"}")},
    };
    sf_buf scratch = {0};
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_str plain;
        CHECK(sf_json_text_of(sf_str_of(rows[i].value), &scratch, &plain));
        CHECK(sf_str_eq(plain, rows[i].plain));
    }
    sf_buf_deinit(&scratch);
}

void json_strings_escape(void)
{
    static const struct {
        sf_str plain;
        const char *text;
    } rows[] = {
        {SF_STR(""), "\"\""},
        {SF_STR("abc"), "\"abc\""},
        {SF_STR("a\"b\\c/"), "\"a\\\"b\\\\c/\""},
        {SF_STR("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\""},
        {SF_STR("\0\x01\x1f\x7f"), "\"\\u0000\\u0001\\u001f\x7f\""},
        {SF_STR("\xc3\xa9 and a run longer than one block of bytes\n"),
         "\"\xc3\xa9 and a run longer than one block of bytes\\n\""},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_buf buf = {0};
        sf_json_put_string(&buf, rows[i].plain);
        CHECK_STR(buf.data, rows[i].text);
        CHECK(sf_json_validate(sf_buf_str(&buf), NULL) == SF_OK);
        sf_buf_deinit(&buf);
    }
}

void json_canonical_form(void)
{
    static const struct {
        const char *text, *canonical;
    } rows[] = {
        {" null ", "null"},
        {"1", "1"},
        {"1.0", "1"},
        {"1e0", "1"},
        {"0.1e1", "1"},
        {"100e-2", "1"},
        {"-0.0", "0"},
        {"0e5", "0"},
        {"10", "10"},
        {"1e2", "100"},
        {"0.50", "0.5"},
        {"5e-1", "0.5"},
        {"9007199254740993", "9007199254740993"},
        {"9223372036854775807", "9223372036854775807"},
        {"18446744073709551615", "18446744073709551615"},
        {"18446744073709551615.0", "18446744073709551615"},
        {"123456789012345678901.50", "123456789012345678901.5"},
        {"1e25", "1e+25"},
        {"10000000000000000000000000", "1e+25"},
        {"1e-30", "1e-30"},
        {"0.000000000000000000000000000001", "1e-30"},
        {"12345678901234567890123.450", "1.234567890123456789012345e+22"},
        {"-12345678901234567890123450e-3", "-1.234567890123456789012345e+22"},
        {"1e400", "1e+400"},
        {"\"a\\u0062\\/\\n\\u001F\\u00e9\"", "\"ab/\\n\\u001f\xc3\xa9\""},
        {"[ 1 , [ ] , \"x\" ]", "[1,[],\"x\"]"},
        {"{ }", "{}"},
        {"{\"b\":1,\"a\":2}", "{\"a\":2,\"b\":1}"},
        {"{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2}"},
        {"{\"a\":1,\"\\u0061\":2}", "{\"a\":2}"},
        {"{\"c\":{\"z\":[{\"y\":1,\"x\":2}],\"a\":1.0},\"b\":1,\"c\":3,\"a\":0}",
         "{\"a\":0,\"b\":1,\"c\":3}"},
        {"{\"c\":{\"z\":[{\"y\":1,\"x\":2}],\"a\":1.0},\"b\":1}",
         "{\"b\":1,\"c\":{\"a\":1,\"z\":[{\"x\":2,\"y\":1}]}}"},
        {"{\"aa\":1,\"a\":2,\"\":3}", "{\"\":3,\"a\":2,\"aa\":1}"},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_buf buf = {0}, again = {0};
        sf_buf_putc(&buf, '<');
        CHECK(sf_json_canonical(sf_str_of(rows[i].text), &buf, NULL) == SF_OK);
        CHECK_STR(buf.data + 1, rows[i].canonical);
        /* What is canonical already stays as it is. */
        CHECK(sf_json_canonical((sf_str){buf.data + 1, buf.len - 1}, &again, NULL) == SF_OK);
        CHECK_STR(again.data, buf.data + 1);
        sf_buf_deinit(&buf);
        sf_buf_deinit(&again);
    }
    sf_buf buf = {0};
    sf_buf_puts(&buf, "kept");
    sf_error err = {0};
    CHECK(sf_json_canonical(SF_STR("{\"a\":1"), &buf, &err) == SF_SYNTAX);
    CHECK_STR(buf.data, "kept");
    sf_buf_deinit(&buf);
}

void json_canonical_needs_memory(void)
{
    sf_str text = SF_STR("{\"b\":\"\\u0041\",\"a\":[1e0,{\"d\":1,\"c\":2}]}");
    bool done = false;
    for (uint64_t n = 1; n < 100 && !done; n++) {
        sf_buf buf = {0};
        sf_error err = {0};
        sf_alloc_fail_after(n);
        sf_status status = sf_json_canonical(text, &buf, &err);
        sf_alloc_fail_after(0);
        done = status == SF_OK;
        CHECK(done || status == SF_LIMIT);
        if (done)
            CHECK_STR(buf.data, "{\"a\":[1,{\"c\":2,\"d\":1}],\"b\":\"A\"}");
        sf_buf_deinit(&buf);
    }
    CHECK(done);
}
