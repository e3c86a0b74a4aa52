/* UTF-8 and trimming. */
#include "tests.h"

void utf8_is_checked(void)
{
    static const struct {
        const char *bytes;
        bool good;
    } rows[] = {
        {"", true},
        {"plain", true},
        {"\xc2\x80", true},
        {"\xdf\xbf", true},
        {"\xe0\xa0\x80", true},
        {"\xed\x9f\xbf", true},
        {"\xee\x80\x80", true},
        {"\xef\xbf\xbf", true},
        {"\xf0\x90\x80\x80", true},
        {"\xf4\x8f\xbf\xbf", true},
        {"\x80", false},
        {"\xbf", false},
        {"\xc0\x80", false},
        {"\xc1\xbf", false},
        {"\xc2", false},
        {"\xc2\x41", false},
        {"\xe0\x9f\xbf", false},
        {"\xe2\x82", false},
        {"\xed\xa0\x80", false},
        {"\xed\xbf\xbf", false},
        {"\xf0\x8f\xbf\xbf", false},
        {"\xf0\x9f\x98", false},
        {"\xf4\x90\x80\x80", false},
        {"\xf5\x80\x80\x80", false},
        {"\xff", false},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        size_t len = strlen(rows[i].bytes);
        CHECK(sf_utf8_valid((sf_str){rows[i].bytes, len}) == rows[i].good);
        /* The same behind and before plain text of every length around the block sizes. */
        for (size_t before = 0; before < 70; before++) {
            char text[160];
            memset(text, 'a', sizeof text);
            memcpy(text + before, rows[i].bytes, len);
            CHECK(sf_utf8_valid((sf_str){text, before + len}) == rows[i].good);
            CHECK(sf_utf8_valid((sf_str){text, before + len + 40}) == rows[i].good);
            bool ascii = len == 0 || (unsigned char)rows[i].bytes[0] < 0x80;
            CHECK(sf_text_is_ascii((sf_str){text, before + len + 40}) == ascii);
        }
    }
    CHECK(sf_utf8_valid((sf_str){0}) && sf_text_is_ascii((sf_str){0}));
}

void utf8_encodes(void)
{
    char bytes[4];
    CHECK(sf_utf8_encode(bytes, 'A') == 1 && bytes[0] == 'A');
    CHECK(sf_utf8_encode(bytes, 0xe9) == 2 && memcmp(bytes, "\xc3\xa9", 2) == 0);
    CHECK(sf_utf8_encode(bytes, 0x20ac) == 3 && memcmp(bytes, "\xe2\x82\xac", 3) == 0);
    CHECK(sf_utf8_encode(bytes, 0x1f600) == 4 && memcmp(bytes, "\xf0\x9f\x98\x80", 4) == 0);
    CHECK(sf_utf8_encode(bytes, 0xd800) == 0);
    CHECK(sf_utf8_encode(bytes, 0x110000) == 0);
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        size_t len = sf_utf8_encode(bytes, c);
        bool surrogate = c >= 0xd800 && c <= 0xdfff;
        if ((len == 0) != surrogate || !sf_utf8_valid((sf_str){bytes, len})) {
            CHECK_INT(c, 0);
            break;
        }
    }
}

void text_is_trimmed(void)
{
    CHECK(sf_str_eq(sf_text_trim(SF_STR(" \t\r\n a b \v\f")), SF_STR("a b")));
    CHECK(sf_text_trim(SF_STR("   ")).len == 0);
    CHECK(sf_text_trim((sf_str){0}).len == 0);
}
