/* The strict pull scanner. */
#include "tests.h"

void json_accepts(void)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "-12.5e-3",
        "1E+2",
        "12345678901234567890123456789",
        "true",
        " false ",
        "null",
        "\"\"",
        "\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"",
        "\"\\u0000\\u00e9\\ud83d\\uDE00\"",
        "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
        "\"\x7f\"",
        "[]",
        "{}",
        " [ 1 , [ ] , { \"a\" : [ { } ] } ]\r\n\t",
        "{\"a\":1,\"a\":2}",
        "[[[[1]]],[2]]",
    };
    for (size_t i = 0; i < SF_COUNT_OF(texts); i++) {
        sf_error err = {0};
        sf_status status = sf_json_validate(sf_str_of(texts[i]), &err);
        if (status != SF_OK)
            printf("  %s: %s\n", texts[i], err.message);
        CHECK(status == SF_OK);
    }
}

void json_refuses(void)
{
    static const struct {
        const char *text;
        uint32_t offset;
        const char *problem;
    } rows[] = {
        {"", 0, "a value is expected"},
        {"  ", 2, "a value is expected"},
        {"007", 0, "this is not a number as JSON writes it"},
        {"-", 0, "this is not a number as JSON writes it"},
        {"1.", 0, "this is not a number as JSON writes it"},
        {".5", 0, "a value is expected"},
        {"+1", 0, "a value is expected"},
        {"1e", 0, "this is not a number as JSON writes it"},
        {"12iiii", 2, "text follows the value"},
        {"NaN", 0, "a value is expected"},
        {"-Infinity", 0, "this is not a number as JSON writes it"},
        {"tru3", 0, "only true, false and null are words"},
        {"nul", 0, "only true, false and null are words"},
        {"True", 0, "a value is expected"},
        {"'a'", 0, "a value is expected"},
        {"\"abc", 0, "a string has no closing quote"},
        {"\"abc\\", 4, "a string ends inside an escape"},
        {"\"a\\q\"", 2, "this escape does not exist"},
        {"\"a\nb\"", 2, "a control character in a string must be escaped"},
        {"\"\\u12g4\"", 1, "\\u wants four hexadecimal digits"},
        {"\"\\ud800\"", 1, "a surrogate stands alone"},
        {"\"\\udc00\"", 1, "a surrogate stands alone"},
        {"\"\\ud800\\u0041\"", 1, "a surrogate stands alone"},
        {"\"\xff\"", 1, "a string is not valid UTF-8"},
        {"\"\xed\xa0\x80\"", 1, "a string is not valid UTF-8"},
        {"[1,]", 3, "a value is expected"},
        {"[1 2]", 3, "a comma or ] is expected"},
        {"[1", 2, "the text ends inside an object or array"},
        {"[", 1, "the text ends inside an object or array"},
        {"[}", 1, "a value is expected"},
        {"]", 0, "a value is expected"},
        {"{\"a\":5,}", 7, "a key in quotes is expected"},
        {"{\"a\" 5}", 5, "a colon is expected after a key"},
        {"{\"a\":}", 5, "a value is expected"},
        {"{a:1}", 1, "a key in quotes is expected"},
        {"{\"a\":1 \"b\":2}", 7, "a comma or } is expected"},
        {"{\"a\":1]", 6, "a comma or } is expected"},
        {"{} {}", 3, "text follows the value"},
        {"[1]\xc2\xa0", 3, "text follows the value"},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_error err = {0};
        sf_status status = sf_json_validate(sf_str_of(rows[i].text), &err);
        if (status != SF_SYNTAX || err.where.offset != rows[i].offset ||
            !strstr(err.message, rows[i].problem))
            printf("  %s: %s\n", rows[i].text, err.message);
        CHECK(status == SF_SYNTAX);
        CHECK_INT(err.where.offset, rows[i].offset);
        CHECK(strstr(err.message, rows[i].problem));
    }
    CHECK(sf_json_validate((sf_str){0}, NULL) == SF_SYNTAX);
}

void json_depth_is_bounded(void)
{
    for (int depth = 255; depth <= 257; depth++) {
        for (int objects = 0; objects < 2; objects++) {
            sf_buf text = {0};
            for (int i = 0; i < depth; i++)
                sf_buf_puts(&text, objects ? "{\"a\":" : "[");
            sf_buf_puts(&text, "1");
            for (int i = 0; i < depth; i++)
                sf_buf_puts(&text, objects ? "}" : "]");
            sf_status want = depth <= SF_JSON_DEPTH_MAX ? SF_OK : SF_SYNTAX;
            CHECK(sf_json_validate(sf_buf_str(&text), NULL) == want);
            sf_buf canonical = {0};
            CHECK(sf_json_canonical(sf_buf_str(&text), &canonical, NULL) == want);
            sf_buf_deinit(&canonical);
            sf_buf_deinit(&text);
        }
    }
}

/* The block scanner and its tail agree: a stop at every place of strings of every length. */
void json_strings_scan_in_any_length(void)
{
    static const struct {
        const char *bytes;
        bool good;
    } inserts[] = {
        {"\xc3\xa9", true}, {"\\n", true}, {"\x01", false}, {"\xc3", false},
        {"\x1f", false},    {" ", true},   {"\\x", false},
    };
    for (size_t len = 0; len < 100; len++) {
        for (size_t place = 0; place <= len; place++) {
            for (size_t i = 0; i < SF_COUNT_OF(inserts); i++) {
                char text[128] = "\"";
                size_t size = strlen(inserts[i].bytes);
                memset(text + 1, 'x', len + size);
                memcpy(text + 1 + place, inserts[i].bytes, size);
                text[1 + len + size] = '"';
                sf_str whole = {text, len + size + 2};
                CHECK((sf_json_validate(whole, NULL) == SF_OK) == inserts[i].good);
            }
        }
    }
}

void json_pull_walks(void)
{
    sf_str text =
        SF_STR(" {\"a\" : 1.5, \"b\\u0063\":[true,null,\"x\\ty\",{}], \"d\":{\"e\":[1]}} ");
    sf_json json;
    sf_json_string key, string;
    sf_json_number number;
    bool flag = false;
    sf_str raw;
    sf_json_init(&json, text);
    REQUIRE(sf_json_peek(&json) == SF_JSON_OBJECT);
    REQUIRE(sf_json_object_begin(&json));
    REQUIRE(sf_json_object_next(&json, &key));
    CHECK(sf_str_eq(key.raw, SF_STR("a")) && !key.escaped);
    CHECK(sf_json_number_take(&json, &number));
    CHECK(sf_str_eq(number.raw, SF_STR("1.5")));
    CHECK(number.decimal.digits == 15 && number.decimal.exponent == -1);
    REQUIRE(sf_json_object_next(&json, &key));
    CHECK(sf_str_eq(key.raw, SF_STR("b\\u0063")) && key.escaped);
    REQUIRE(sf_json_array_begin(&json));
    REQUIRE(sf_json_array_next(&json));
    CHECK(sf_json_bool_take(&json, &flag) && flag);
    REQUIRE(sf_json_array_next(&json));
    CHECK(sf_json_peek(&json) == SF_JSON_NULL);
    CHECK(sf_json_null_take(&json));
    REQUIRE(sf_json_array_next(&json));
    CHECK(sf_json_string_take(&json, &string));
    CHECK(string.escaped && sf_str_eq(string.raw, SF_STR("x\\ty")));
    REQUIRE(sf_json_array_next(&json));
    CHECK(sf_json_skip(&json, &raw) && sf_str_eq(raw, SF_STR("{}")));
    CHECK(!sf_json_array_next(&json));
    REQUIRE(sf_json_object_next(&json, &key));
    CHECK(sf_json_skip(&json, &raw) && sf_str_eq(raw, SF_STR("{\"e\":[1]}")));
    CHECK(!sf_json_object_next(&json, &key));
    CHECK(sf_json_finish(&json));
    CHECK(sf_json_status(&json, NULL) == SF_OK);

    /* The wrong question is a problem that stays. */
    sf_json_init(&json, SF_STR("[1]"));
    CHECK(!sf_json_object_begin(&json));
    CHECK(!sf_json_array_begin(&json));
    CHECK(sf_json_status(&json, NULL) == SF_SYNTAX);
}

void json_every_prefix_is_refused(void)
{
    sf_str text = SF_STR("{\"k\\u00e9y\":[1.25,-3e2,\"a\\\"b\",true,false,null,{\"\":[]}]}");
    CHECK(sf_json_validate(text, NULL) == SF_OK);
    for (size_t len = 0; len < text.len; len++) {
        /* A copy of exactly this size, so that a sanitizer sees a read past its end. */
        char *copy = sf_strndup(text.data, len);
        REQUIRE(copy);
        CHECK(sf_json_validate((sf_str){copy, len}, NULL) == SF_SYNTAX);
        sf_free(copy);
    }
}
