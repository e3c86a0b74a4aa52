/* Percent-encoding and queries. */
#include "api/http/url.h"
#include "tests.h"

static bool decodes(const char *encoded, bool plus_is_space, const char *want)
{
    sf_arena arena;
    sf_arena_init(&arena, 0);
    sf_str out;
    sf_error err;
    bool good = sf_http_decode(&arena, sf_str_of(encoded), plus_is_space, &out, &err) == SF_OK;
    good = good ? want && sf_str_eq(out, sf_str_of(want)) : !want;
    sf_arena_deinit(&arena);
    return good;
}

void urls_decode(void)
{
    CHECK(decodes("", false, ""));
    CHECK(decodes("a%20b%2Fc", false, "a b/c"));
    CHECK(decodes("a+b", false, "a+b"));
    CHECK(decodes("a+b%2b", true, "a b+"));
    CHECK(decodes("%e2%82%AC", false, "\xe2\x82\xac"));
}

void urls_are_refused(void)
{
    CHECK(decodes("%", false, NULL));
    CHECK(decodes("%4", false, NULL));
    CHECK(decodes("%4x", false, NULL));
    CHECK(decodes("a%00", false, NULL));
    CHECK(decodes("%ff", false, NULL));
    CHECK(decodes("%c0%80", false, NULL));
}

void queries_are_searched(void)
{
    static const struct {
        const char *query, *name, *value; /* NULL: not found */
    } cases[] = {
        {"", "a", NULL},           {"a=1", "a", "1"},     {"a=1&b=2", "b", "2"},
        {"a=1&a=2", "a", "1"},     {"ab=1", "a", NULL},   {"a", "a", ""},
        {"a=", "a", ""},           {"a=b=c", "a", "b=c"}, {"&&x=1&", "x", "1"},
        {"%61=%2B+x", "a", "+ x"}, {"=1", "a", NULL},
    };
    for (size_t i = 0; i < SF_COUNT_OF(cases); i++) {
        sf_arena arena;
        sf_arena_init(&arena, 0);
        sf_str out;
        bool found;
        sf_error err;
        CHECK(sf_http_query_get(&arena, sf_str_of(cases[i].query), cases[i].name, &out, &found,
                                &err) == SF_OK);
        CHECK_INT(found, cases[i].value != NULL);
        if (cases[i].value)
            CHECK(sf_str_eq(out, sf_str_of(cases[i].value)));
        sf_arena_deinit(&arena);
    }
}

void urls_encode(void)
{
    sf_buf buf = {0};
    sf_http_encode(&buf, SF_STR("a b/\xc3\xa4~"));
    CHECK_STR(buf.data, "a%20b%2F%C3%A4~");
    sf_buf_deinit(&buf);
}
