/* Times and durations. */
#include "tests.h"

void civil_days(void)
{
    static const struct {
        int32_t year, month, day;
        int64_t days;
    } rows[] = {
        {1970, 1, 1, 0},      {1969, 12, 31, -1},   {1970, 3, 1, 59},   {2000, 2, 29, 11016},
        {2000, 3, 1, 11017},  {1900, 3, 1, -25508}, {1, 1, 1, -719162}, {9999, 12, 31, 2932896},
        {2024, 2, 29, 19782}, {2023, 11, 5, 19666},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        CHECK_INT(sf_days_from_civil(rows[i].year, rows[i].month, rows[i].day), rows[i].days);
        sf_civil c = sf_civil_from_ms(rows[i].days * 86400000 + 86399999);
        CHECK_INT(c.year, rows[i].year);
        CHECK_INT(c.month, rows[i].month);
        CHECK_INT(c.day, rows[i].day);
        CHECK_INT(c.hour * 10000000 + c.minute * 100000 + c.second * 1000 + c.millisecond,
                  235959999);
    }
    /* Every day of 800 years follows the one before. */
    int64_t day = sf_days_from_civil(1600, 1, 1);
    for (int64_t i = 0; i < 292194; i++, day++) {
        sf_civil c = sf_civil_from_ms(day * 86400000);
        if (sf_days_from_civil(c.year, c.month, c.day) != day) {
            CHECK_INT(sf_days_from_civil(c.year, c.month, c.day), day);
            break;
        }
    }
}

void times_parse(void)
{
    static const int64_t base = 1699173600000; /* 2023-11-05T08:40:00Z */
    static const struct {
        const char *text;
        sf_parse result;
        int64_t ms;
    } rows[] = {
        {"2023-11-05T08:40:00Z", SF_PARSE_OK, 0},
        {"2023-11-05T08:40:00.000Z", SF_PARSE_OK, 0},
        {"2023-11-05T08:40:00", SF_PARSE_OK, 0},
        {"2023-11-05T08:40", SF_PARSE_OK, 0},
        {"2023-11-05 08:40", SF_PARSE_OK, 0},
        {"  2023-11-05t08:40:00z ", SF_PARSE_OK, 0},
        {"2023-11-05T01:40:00-07:00", SF_PARSE_OK, 0},
        {"2023-11-05T14:10:00+05:30", SF_PARSE_OK, 0},
        {"2023-11-05T14:10:00+0530", SF_PARSE_OK, 0},
        {"2023-11-05T10:40:00+02", SF_PARSE_OK, 0},
        {"2023-11-05T10:40+02:00", SF_PARSE_OK, 0},
        {"2023-11-05T01:40:00-08:00", SF_PARSE_OK, 3600000},
        {"2023-11-05T08:40:07.5Z", SF_PARSE_OK, 7500},
        {"2023-11-05T08:40:00.1239999Z", SF_PARSE_OK, 123},
        {"2023-11-05T08:40:00.0009", SF_PARSE_OK, 0},
        {"2023-11-05T08:40:00,25", SF_PARSE_OK, 250},
        {"2023-11-05", SF_PARSE_OK, -31200000},
        {"2024-02-29T00:00:00Z", SF_PARSE_OK, 9991200000},
        {"0001-01-01", SF_PARSE_OK, SF_TIME_MIN_MS - 1699173600000},
        {"9999-12-31T23:59:59.999Z", SF_PARSE_OK, SF_TIME_MAX_MS - 1699173600000},
        {"2023-02-29T00:00:00Z", SF_PARSE_RANGE, 0},
        {"1900-02-29", SF_PARSE_RANGE, 0},
        {"2024-13-01T00:00:00Z", SF_PARSE_RANGE, 0},
        {"2024-00-01", SF_PARSE_RANGE, 0},
        {"2024-01-00", SF_PARSE_RANGE, 0},
        {"2024-04-31", SF_PARSE_RANGE, 0},
        {"0000-01-01", SF_PARSE_RANGE, 0},
        {"2024-01-01T25:61:00Z", SF_PARSE_RANGE, 0},
        {"2024-01-01T24:00:00Z", SF_PARSE_RANGE, 0},
        {"2024-01-01T23:59:60Z", SF_PARSE_RANGE, 0},
        {"2024-01-01T00:00:00+24:00", SF_PARSE_RANGE, 0},
        {"0001-01-01T00:00:00+01:00", SF_PARSE_RANGE, 0},
        {"", SF_PARSE_BAD, 0},
        {"soon", SF_PARSE_BAD, 0},
        {"2023-11-5", SF_PARSE_BAD, 0},
        {"2023-11-05T", SF_PARSE_BAD, 0},
        {"2023-11-05T08", SF_PARSE_BAD, 0},
        {"2023-11-05T08:40:", SF_PARSE_BAD, 0},
        {"2023-11-05T08:40:00.", SF_PARSE_BAD, 0},
        {"2023-11-05T08:40:00+", SF_PARSE_BAD, 0},
        {"2023-11-05T08:40:00+05:", SF_PARSE_BAD, 0},
        {"2023-11-05T08:40:00+05:3", SF_PARSE_BAD, 0},
        {"2023-11-05T08:40:00Zz", SF_PARSE_BAD, 0},
        {"2023-11-05Z", SF_PARSE_BAD, 0},
        {"2023/11/05", SF_PARSE_BAD, 0},
        {"+2023-11-05", SF_PARSE_BAD, 0},
        {"12023-11-05", SF_PARSE_BAD, 0},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        int64_t ms = 0;
        sf_parse result = sf_parse_time(sf_str_of(rows[i].text), &ms);
        if (result != rows[i].result || (result == SF_PARSE_OK && ms != base + rows[i].ms))
            printf("  \"%s\": %d, %lld\n", rows[i].text, (int)result, (long long)(ms - base));
        CHECK(result == rows[i].result);
        CHECK(result != SF_PARSE_OK || ms == base + rows[i].ms);
    }
    int64_t ms = 0;
    CHECK(sf_parse_timestamp(SF_STR("1699173600000"), &ms) == SF_PARSE_OK && ms == base);
    CHECK(sf_parse_timestamp(SF_STR("2023-11-05T08:40Z"), &ms) == SF_PARSE_OK && ms == base);
    CHECK(sf_parse_timestamp(SF_STR("99999999999999999999"), &ms) == SF_PARSE_RANGE);
    CHECK(sf_parse_timestamp(SF_STR("1.5"), &ms) == SF_PARSE_BAD);
    CHECK(sf_parse_timestamp(SF_STR(""), &ms) == SF_PARSE_BAD);
}

void times_print(void)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {1699173600000, "2023-11-05T08:40:00.000Z"},
        {1699173600007, "2023-11-05T08:40:00.007Z"},
        {SF_TIME_MIN_MS, "0001-01-01T00:00:00.000Z"},
        {SF_TIME_MAX_MS, "9999-12-31T23:59:59.999Z"},
        {SF_TIME_MAX_MS + 1, "253402300800000"},
        {INT64_MIN, "-9223372036854775808"},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        char text[SF_NUMBER_MAX + 1];
        text[sf_print_time(text, rows[i].ms)] = '\0';
        CHECK_STR(text, rows[i].text);
    }
}

void durations_parse(void)
{
    static const struct {
        const char *text;
        sf_parse result;
        int64_t ms;
    } rows[] = {
        {"5 SECONDS", SF_PARSE_OK, 5000},
        {"1 second", SF_PARSE_OK, 1000},
        {" 250  Milliseconds ", SF_PARSE_OK, 250},
        {"1 MILLISECOND", SF_PARSE_OK, 1},
        {"2 MINUTES", SF_PARSE_OK, 120000},
        {"3HOURS", SF_PARSE_OK, 10800000},
        {"0 SECONDS", SF_PARSE_OK, 0},
        {"9223372036854775807 MILLISECONDS", SF_PARSE_OK, INT64_MAX},
        {"9223372036854776 SECONDS", SF_PARSE_RANGE, 0},
        {"9223372036854775808 MILLISECONDS", SF_PARSE_RANGE, 0},
        {"5 DAYS", SF_PARSE_BAD, 0},
        {"5", SF_PARSE_BAD, 0},
        {"SECONDS", SF_PARSE_BAD, 0},
        {"-5 SECONDS", SF_PARSE_BAD, 0},
        {"1.5 SECONDS", SF_PARSE_BAD, 0},
        {"5 SECONDSS", SF_PARSE_BAD, 0},
        {"", SF_PARSE_BAD, 0},
    };
    static const struct {
        const char *text;
        sf_parse result;
        int64_t ms;
    } every[] = {
        {"every 30s", SF_PARSE_OK, 30000},
        {"every 5m", SF_PARSE_OK, 300000},
        {" Every  2 h ", SF_PARSE_OK, 7200000},
        {"every 30", SF_PARSE_BAD, 0},
        {"every s", SF_PARSE_BAD, 0},
        {"30s", SF_PARSE_BAD, 0},
        {"every30s", SF_PARSE_BAD, 0},
        {"every 1d", SF_PARSE_BAD, 0},
        {"every 9223372036854775807h", SF_PARSE_RANGE, 0},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        int64_t ms = 0;
        CHECK_INT(sf_parse_duration(sf_str_of(rows[i].text), &ms), rows[i].result);
        CHECK(rows[i].result != SF_PARSE_OK || ms == rows[i].ms);
    }
    for (size_t i = 0; i < SF_COUNT_OF(every); i++) {
        int64_t ms = 0;
        CHECK_INT(sf_parse_every(sf_str_of(every[i].text), &ms), every[i].result);
        CHECK(every[i].result != SF_PARSE_OK || ms == every[i].ms);
    }
}

void durations_print(void)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {5000, "5 SECONDS"},  {1000, "1 SECOND"},    {1500, "1500 MILLISECONDS"},
        {60000, "1 MINUTE"},  {7200000, "2 HOURS"},  {0, "0 MILLISECONDS"},
        {1, "1 MILLISECOND"}, {90000, "90 SECONDS"},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_buf buf = {0};
        sf_buf_put_duration(&buf, rows[i].ms);
        CHECK_STR(buf.data, rows[i].text);
        sf_buf_deinit(&buf);
    }
}
