/* Numbers to and from text. */
#include "tests.h"

#include "base/seam.h"

#include <math.h>

/* Not ==: 0.0 is not -0.0 here. */
static bool same_bits(double a, double b)
{
    uint64_t bits_a, bits_b;
    memcpy(&bits_a, &a, sizeof bits_a);
    memcpy(&bits_b, &b, sizeof bits_b);
    return bits_a == bits_b;
}

typedef struct {
    const char *text;
    sf_parse result;
    int64_t value;
} integer_row;

static void check_integers(const integer_row *rows, size_t count,
                           sf_parse (*parse)(sf_str, int64_t *))
{
    for (size_t i = 0; i < count; i++) {
        int64_t value = 0;
        sf_parse result = parse(sf_str_of(rows[i].text), &value);
        if (result != rows[i].result || (result == SF_PARSE_OK && value != rows[i].value))
            printf("  \"%s\": %d, %lld\n", rows[i].text, (int)result, (long long)value);
        CHECK(result == rows[i].result);
        CHECK(result != SF_PARSE_OK || value == rows[i].value);
    }
}

void integers_parse(void)
{
    static const integer_row rows[] = {
        {"0", SF_PARSE_OK, 0},
        {"-0", SF_PARSE_OK, 0},
        {"+7", SF_PARSE_OK, 7},
        {" 42\t", SF_PARSE_OK, 42},
        {"007", SF_PARSE_OK, 7},
        {"12345678", SF_PARSE_OK, 12345678},
        {"123456789012345678", SF_PARSE_OK, 123456789012345678},
        {"9223372036854775807", SF_PARSE_OK, INT64_MAX},
        {"-9223372036854775808", SF_PARSE_OK, INT64_MIN},
        {"9223372036854775808", SF_PARSE_RANGE, 0},
        {"-9223372036854775809", SF_PARSE_RANGE, 0},
        {"18446744073709551616", SF_PARSE_RANGE, 0},
        {"99999999999999999999999999", SF_PARSE_RANGE, 0},
        {"00000000000000000000000001", SF_PARSE_OK, 1},
        {"10000000000000000000000000", SF_PARSE_RANGE, 0},
        {"", SF_PARSE_BAD, 0},
        {" ", SF_PARSE_BAD, 0},
        {"-", SF_PARSE_BAD, 0},
        {"12abc", SF_PARSE_BAD, 0},
        {"1 2", SF_PARSE_BAD, 0},
        {"1.0", SF_PARSE_BAD, 0},
        {"1e2", SF_PARSE_BAD, 0},
        {"0x10", SF_PARSE_BAD, 0},
        {"--1", SF_PARSE_BAD, 0},
        {"1,000", SF_PARSE_BAD, 0},
    };
    check_integers(rows, SF_COUNT_OF(rows), sf_parse_i64);
}

void whole_numbers_parse(void)
{
    static const integer_row rows[] = {
        {"3", SF_PARSE_OK, 3},
        {"3.0", SF_PARSE_OK, 3},
        {"3.", SF_PARSE_OK, 3},
        {"-3.000", SF_PARSE_OK, -3},
        {"3e2", SF_PARSE_OK, 300},
        {"2500e-2", SF_PARSE_OK, 25},
        {"1.5e1", SF_PARSE_OK, 15},
        {"0e99999999999999999999", SF_PARSE_OK, 0},
        {"1000000000000000000000e-3", SF_PARSE_OK, 1000000000000000000},
        {"9223372036854775807.000", SF_PARSE_OK, INT64_MAX},
        {"9.223372036854775807e18", SF_PARSE_OK, INT64_MAX},
        {"1e18", SF_PARSE_OK, 1000000000000000000},
        {"1e19", SF_PARSE_RANGE, 0},
        {"1e400", SF_PARSE_RANGE, 0},
        {"1.5", SF_PARSE_BAD, 0},
        {"1e-1", SF_PARSE_BAD, 0},
        {"1e-400", SF_PARSE_BAD, 0},
        {"1.00000000000000000000000001", SF_PARSE_BAD, 0},
        {"e5", SF_PARSE_BAD, 0},
        {"1e", SF_PARSE_BAD, 0},
    };
    check_integers(rows, SF_COUNT_OF(rows), sf_parse_whole);
}

void doubles_parse(void)
{
    static const struct {
        const char *text;
        sf_parse result;
        double value;
    } rows[] = {
        {"0", SF_PARSE_OK, 0},
        {"1.5", SF_PARSE_OK, 1.5},
        {" -2.25 ", SF_PARSE_OK, -2.25},
        {"+.5", SF_PARSE_OK, 0.5},
        {"5.", SF_PARSE_OK, 5},
        {"1e3", SF_PARSE_OK, 1000},
        {"1E+3", SF_PARSE_OK, 1000},
        {"0.1", SF_PARSE_OK, 0.1},
        {"9007199254740993", SF_PARSE_OK, 9007199254740992.0}, /* a tie goes to even */
        {"9007199254740993.0000000000000000000000001", SF_PARSE_OK, 9007199254740994.0},
        {"9007199254740995", SF_PARSE_OK, 9007199254740996.0},
        {"1.7976931348623157e308", SF_PARSE_OK, 1.7976931348623157e308},
        {"1.7976931348623159e308", SF_PARSE_RANGE, 0},
        {"1e400", SF_PARSE_RANGE, 0},
        {"-1e99999999999", SF_PARSE_RANGE, 0},
        {"4.9406564584124654e-324", SF_PARSE_OK, 4.9406564584124654e-324},
        {"1e-400", SF_PARSE_OK, 0},
        {"0.0000000000000000000000000000000000000001e40", SF_PARSE_OK, 1},
        {"NaN", SF_PARSE_BAD, 0},
        {"Infinity", SF_PARSE_BAD, 0},
        {"inf", SF_PARSE_BAD, 0},
        {"0x1p3", SF_PARSE_BAD, 0},
        {".", SF_PARSE_BAD, 0},
        {"1e", SF_PARSE_BAD, 0},
        {"1e+", SF_PARSE_BAD, 0},
        {"1.2.3", SF_PARSE_BAD, 0},
        {"1,5", SF_PARSE_BAD, 0},
        {"12iiii", SF_PARSE_BAD, 0},
        {"", SF_PARSE_BAD, 0},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        double value = 0;
        sf_parse result = sf_parse_f64(sf_str_of(rows[i].text), &value);
        bool good =
            result == rows[i].result && (result != SF_PARSE_OK || same_bits(value, rows[i].value));
        if (!good)
            printf("  \"%s\": %d, %.17g\n", rows[i].text, (int)result, value);
        CHECK(good);
    }
    /* A thousand digits: half way between two doubles, and one in the last place more. */
    char text[1100] = "9007199254740993.";
    size_t len = strlen(text);
    memset(text + len, '0', 1000);
    double value = 0;
    CHECK(sf_parse_f64((sf_str){text, len + 1000}, &value) == SF_PARSE_OK);
    CHECK(value == 9007199254740992.0);
    text[len + 999] = '1';
    CHECK(sf_parse_f64((sf_str){text, len + 1000}, &value) == SF_PARSE_OK);
    CHECK(value == 9007199254740994.0);
}

/* Every path of ours against strtod, which rounds correctly in the C locale. */
void doubles_round_as_the_library_does(void)
{
    sf_rng rng = {.state = 20240117};
    unsigned wrong = 0;
    for (int i = 0; i < 200000; i++) {
        char text[64];
        uint64_t digits = sf_rng_next(&rng) >> sf_rng_below(&rng, 64);
        int exponent = (int)sf_rng_below(&rng, 64) - 32;
        if (i % 16 == 0)
            exponent *= 9;
        snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits, exponent);
        double value = 0, want = strtod(text, NULL);
        sf_parse result = sf_parse_f64(sf_str_of(text), &value);
        bool good = isinf(want) ? result == SF_PARSE_RANGE
                                : result == SF_PARSE_OK && same_bits(value, want);
        if (!good && wrong++ < 5)
            printf("  %s is %.17g, not %.17g\n", text, value, want);
    }
    CHECK_INT(wrong, 0);
}

void booleans_parse(void)
{
    bool value = false;
    CHECK(sf_parse_bool(SF_STR(" True "), &value) == SF_PARSE_OK && value);
    CHECK(sf_parse_bool(SF_STR("FALSE"), &value) == SF_PARSE_OK && !value);
    CHECK(sf_parse_bool(SF_STR("1"), &value) == SF_PARSE_BAD);
    CHECK(sf_parse_bool(SF_STR("tru3"), &value) == SF_PARSE_BAD);
    CHECK(sf_parse_bool(SF_STR(""), &value) == SF_PARSE_BAD);
}

static const char *f64_text(double value)
{
    static char text[SF_NUMBER_MAX + 1];
    text[sf_print_f64(text, value)] = '\0';
    return text;
}

void integers_print(void)
{
    static const struct {
        int64_t value;
        const char *text;
    } rows[] = {
        {0, "0"},           {7, "7"},
        {10, "10"},         {99, "99"},
        {100, "100"},       {-1, "-1"},
        {-12345, "-12345"}, {INT64_MAX, "9223372036854775807"},
        {1000, "1000"},     {INT64_MIN, "-9223372036854775808"},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_buf buf = {0};
        sf_buf_put_i64_text(&buf, rows[i].value);
        CHECK_STR(buf.data, rows[i].text);
        sf_buf_deinit(&buf);
    }
}

void doubles_print(void)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0.0, "0"},
        {-0.0, "0"},
        {3.0, "3"},
        {-3.0, "-3"},
        {0.1, "0.1"},
        {-0.5, "-0.5"},
        {190.25, "190.25"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {100.0 / 3, "33.333333333333336"},
        {1e20, "100000000000000000000"},
        {1e21, "1e+21"},
        {1.5e300, "1.5e+300"},
        {123456789012345680.0, "123456789012345680"},
        {9007199254740993.0, "9007199254740992"},
        {1e-6, "0.000001"},
        {1e-7, "1e-7"},
        {1.25e-7, "1.25e-7"},
        {-1e-10, "-1e-10"},
        {5e-324, "5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {2251799813685248.5, "2251799813685248.5"},
        {1152921504606846976.0, "1152921504606847000"},
        {NAN, "NaN"},
        {INFINITY, "Infinity"},
        {-INFINITY, "-Infinity"},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++)
        CHECK_STR(f64_text(rows[i].value), rows[i].text);
    sf_buf buf = {0};
    sf_json_put_f64(&buf, NAN);
    sf_json_put_f64(&buf, 2.5);
    CHECK_STR(buf.data, "null2.5");
    sf_buf_deinit(&buf);
}

/* The printed text reads back, and no text of one digit less does. */
void doubles_print_shortest(void)
{
    sf_rng rng = {.state = 7};
    unsigned lost = 0, long_ones = 0;
    for (int i = 0; i < 100000; i++) {
        double value;
        uint64_t bits = sf_rng_next(&rng);
        switch (i % 4) {
        case 0: value = (double)(bits % 100000000) / 100; break;
        case 1: value = (double)(bits >> 20) * ldexp(1, -(int)sf_rng_below(&rng, 80)); break;
        case 2: value = ldexp(1, (int)sf_rng_below(&rng, 100) - 50); break;
        default: memcpy(&value, &bits, sizeof value); break;
        }
        if (!isfinite(value))
            continue;
        const char *text = f64_text(value);
        double back = strtod(text, NULL);
        if (back != value && lost++ < 5)
            printf("  %.17g prints as %s\n", value, text);
        /* Significant digits of the text, without zeros at either end. */
        int digits = 0, zeros = 0;
        for (const char *at = text; *at && *at != 'e'; at++) {
            if (*at == '0' && digits > 0)
                zeros++;
            else if (*at >= '1' && *at <= '9') {
                digits += zeros + 1;
                zeros = 0;
            }
        }
        char shorter[64];
        if (digits > 1) {
            snprintf(shorter, sizeof shorter, "%.*e", digits - 2, value);
            if (strtod(shorter, NULL) == value && long_ones++ < 5)
                printf("  %s prints as %s\n", shorter, text);
        }
    }
    CHECK_INT(lost, 0);
    CHECK_INT(long_ones, 0);
}
