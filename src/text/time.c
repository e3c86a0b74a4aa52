/* ISO-8601 times and SQL durations. Calendar arithmetic counts days in eras of 400 years that start
 * on 1 March, so that the leap day is the last of its year. */
#include "text/text.h"

#define MS_PER_DAY       INT64_C(86400000)
#define DAYS_PER_ERA     INT64_C(146097)
#define DAYS_BEFORE_1970 INT64_C(719468) /* from 0000-03-01 */

int64_t sf_days_from_civil(int64_t year, int32_t month, int32_t day)
{
    year -= month <= 2;
    int64_t era = sf_floor_div(year, 400), year_of_era = year - era * 400;
    int64_t shifted = month > 2 ? month - 3 : month + 9;
    /* Months from March on: 31 30 31 30 31 | 31 30 31 30 31 | 31 and the rest. */
    int64_t day_of_year = (153 * shifted + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * DAYS_PER_ERA + day_of_era - DAYS_BEFORE_1970;
}

sf_civil sf_civil_from_ms(int64_t ms)
{
    int64_t days = sf_floor_div(ms, MS_PER_DAY), rest = ms % MS_PER_DAY;
    rest += rest < 0 ? MS_PER_DAY : 0; /* days * MS_PER_DAY may not fit */
    days += DAYS_BEFORE_1970;
    int64_t era = sf_floor_div(days, DAYS_PER_ERA), day_of_era = days - era * DAYS_PER_ERA;
    /* Take the leap days out: one each 1461, none each 36524, one at the end of the era. */
    int64_t year =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    int64_t shifted = (5 * day_of_year + 2) / 153;
    int32_t month = (int32_t)(shifted < 10 ? shifted + 3 : shifted - 9);
    return (sf_civil){
        .year = (int32_t)(year + era * 400 + (month <= 2)),
        .month = month,
        .day = (int32_t)(day_of_year - (153 * shifted + 2) / 5 + 1),
        .hour = (int32_t)(rest / 3600000),
        .minute = (int32_t)(rest / 60000 % 60),
        .second = (int32_t)(rest / 1000 % 60),
        .millisecond = (int32_t)(rest % 1000),
    };
}

static int32_t days_in_month(int32_t year, int32_t month)
{
    static const int8_t days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

/* ---- parsing ---- */

/* Exactly count digits. */
static bool take_number(sf_str *text, int count, int32_t *out)
{
    int32_t value = 0;
    if (text->len < (size_t)count)
        return false;
    for (int i = 0; i < count; i++) {
        if (text->data[i] < '0' || text->data[i] > '9')
            return false;
        value = value * 10 + (text->data[i] - '0');
    }
    *out = value;
    text->data += count;
    text->len -= (size_t)count;
    return true;
}

static bool take_char(sf_str *text, char c)
{
    if (text->len == 0 || text->data[0] != c)
        return false;
    text->data++;
    text->len--;
    return true;
}

/* Everything after the minute's colon: seconds, then a fraction. */
static bool take_seconds(sf_str *text, sf_civil *civil)
{
    if (!take_char(text, ':'))
        return true;
    if (!take_number(text, 2, &civil->second))
        return false;
    if (!take_char(text, '.') && !take_char(text, ','))
        return true;
    int32_t digit, weight = 100;
    bool any = false;
    for (; take_number(text, 1, &digit); weight /= 10, any = true)
        civil->millisecond += digit * weight;
    return any;
}

/* Z, +hh:mm, +hhmm, +hh or nothing. */
static bool take_offset(sf_str *text, int32_t *hours, int32_t *minutes, bool *west)
{
    if (take_char(text, 'Z') || take_char(text, 'z'))
        return true;
    *west = take_char(text, '-');
    if (!*west && !take_char(text, '+'))
        return true;
    if (!take_number(text, 2, hours))
        return false;
    bool colon = take_char(text, ':');
    return take_number(text, 2, minutes) || !colon;
}

sf_parse sf_parse_time(sf_str text, int64_t *ms)
{
    sf_civil c = {0};
    int32_t hours = 0, minutes = 0;
    bool west = false;
    text = sf_text_trim(text);
    if (!take_number(&text, 4, &c.year) || !take_char(&text, '-') ||
        !take_number(&text, 2, &c.month) || !take_char(&text, '-') ||
        !take_number(&text, 2, &c.day))
        return SF_PARSE_BAD;
    if (take_char(&text, 'T') || take_char(&text, 't') || take_char(&text, ' ')) {
        if (!take_number(&text, 2, &c.hour) || !take_char(&text, ':') ||
            !take_number(&text, 2, &c.minute) || !take_seconds(&text, &c) ||
            !take_offset(&text, &hours, &minutes, &west))
            return SF_PARSE_BAD;
    }
    if (text.len != 0)
        return SF_PARSE_BAD;
    if (c.year < 1 || c.month < 1 || c.month > 12 || c.day < 1 ||
        c.day > days_in_month(c.year, c.month) || c.hour > 23 || c.minute > 59 || c.second > 59 ||
        hours > 23 || minutes > 59)
        return SF_PARSE_RANGE;
    int64_t offset_ms = (hours * INT64_C(60) + minutes) * 60000;
    int64_t value = sf_days_from_civil(c.year, c.month, c.day) * MS_PER_DAY +
                    (c.hour * INT64_C(60) + c.minute) * 60000 + c.second * 1000 + c.millisecond +
                    (west ? offset_ms : -offset_ms);
    if (value < SF_TIME_MIN_MS || value > SF_TIME_MAX_MS)
        return SF_PARSE_RANGE;
    *ms = value;
    return SF_PARSE_OK;
}

sf_parse sf_parse_timestamp(sf_str text, int64_t *ms)
{
    sf_parse number = sf_parse_whole(text, ms);
    return number == SF_PARSE_BAD ? sf_parse_time(text, ms) : number;
}

/* ---- printing ---- */

static void print_padded(char *out, int32_t value, int width)
{
    while (width-- > 0) {
        out[width] = (char)('0' + value % 10);
        value /= 10;
    }
}

size_t sf_print_time(char out[SF_NUMBER_MAX], int64_t ms)
{
    if (ms < SF_TIME_MIN_MS || ms > SF_TIME_MAX_MS)
        return sf_print_i64(out, ms);
    sf_civil c = sf_civil_from_ms(ms);
    memcpy(out, "0000-00-00T00:00:00.000Z", 24);
    print_padded(out, c.year, 4);
    print_padded(out + 5, c.month, 2);
    print_padded(out + 8, c.day, 2);
    print_padded(out + 11, c.hour, 2);
    print_padded(out + 14, c.minute, 2);
    print_padded(out + 17, c.second, 2);
    print_padded(out + 20, c.millisecond, 3);
    return 24;
}

/* ---- durations ---- */

static const struct {
    sf_str name; /* singular */
    int64_t ms;
} units[] = {
    {SF_STR("HOUR"), 3600000},
    {SF_STR("MINUTE"), 60000},
    {SF_STR("SECOND"), 1000},
    {SF_STR("MILLISECOND"), 1},
};

bool sf_duration_unit(sf_str word, int64_t *unit_ms)
{
    for (size_t i = 0; i < SF_COUNT_OF(units); i++) {
        sf_str name = units[i].name, stem = {word.data, name.len};
        bool plural = word.len == name.len + 1 && (word.data[name.len] | 0x20) == 's';
        if ((word.len == name.len || plural) && sf_str_eq_nocase(stem, name)) {
            *unit_ms = units[i].ms;
            return true;
        }
    }
    return false;
}

/* Digits at the start of text, then blanks. */
static sf_parse take_count(sf_str *text, int64_t *count)
{
    size_t len = 0;
    while (len < text->len && text->data[len] >= '0' && text->data[len] <= '9')
        len++;
    sf_parse result = sf_parse_i64((sf_str){text->data, len}, count);
    *text = sf_text_trim((sf_str){text->data + len, text->len - len});
    return result;
}

static sf_parse scale(int64_t count, int64_t unit_ms, int64_t *ms)
{
    return __builtin_mul_overflow(count, unit_ms, ms) ? SF_PARSE_RANGE : SF_PARSE_OK;
}

sf_parse sf_parse_duration(sf_str text, int64_t *ms)
{
    int64_t count = 0, unit_ms = 0;
    text = sf_text_trim(text);
    sf_parse result = take_count(&text, &count);
    if (result == SF_PARSE_BAD || !sf_duration_unit(text, &unit_ms))
        return SF_PARSE_BAD;
    return result == SF_PARSE_OK ? scale(count, unit_ms, ms) : result;
}

sf_parse sf_parse_every(sf_str text, int64_t *ms)
{
    int64_t count = 0;
    text = sf_text_trim(text);
    if (text.len < 6 || !sf_str_eq_nocase((sf_str){text.data, 5}, SF_STR("every")) ||
        text.data[5] != ' ')
        return SF_PARSE_BAD;
    text = sf_text_trim((sf_str){text.data + 5, text.len - 5});
    sf_parse result = take_count(&text, &count);
    if (result == SF_PARSE_BAD || text.len != 1)
        return SF_PARSE_BAD;
    int64_t unit_ms = 0;
    switch (text.data[0]) {
    case 's': unit_ms = 1000; break;
    case 'm': unit_ms = 60000; break;
    case 'h': unit_ms = 3600000; break;
    default: return SF_PARSE_BAD;
    }
    return result == SF_PARSE_OK ? scale(count, unit_ms, ms) : result;
}

void sf_buf_put_duration(sf_buf *buf, int64_t ms)
{
    size_t i = 0;
    while (ms % units[i].ms != 0 || (ms == 0 && units[i].ms != 1))
        i++;
    int64_t count = ms / units[i].ms;
    sf_buf_printf(buf, "%lld %s%s", (long long)count, units[i].name.data, count == 1 ? "" : "S");
}
