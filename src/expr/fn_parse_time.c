/* Times from text by a pattern: PARSE_TIMESTAMP takes the patterns of DATE_FORMAT, TO_TIMESTAMP
 * those of TO_CHAR. Numbers may lack leading zeros; a blank matches any; the whole text must match. */
#include "expr/kernel.h"

#include "text/text.h"

#include <strings.h>

typedef enum {
    FIELD_NONE, /* no such word of a pattern */
    FIELD_LITERAL,
    FIELD_YEAR,
    FIELD_YEAR_2,
    FIELD_MONTH,
    FIELD_MONTH_NAME,
    FIELD_DAY,
    FIELD_HOUR,
    FIELD_HOUR_12,
    FIELD_MINUTE,
    FIELD_SECOND,
    FIELD_FRACTION,
    FIELD_HALF,   /* AM, PM */
    FIELD_OFFSET, /* Z, +hh, +hhmm, +hh:mm */
} field;

typedef struct {
    sf_str text; /* what is left */
    int64_t year, month, day, hour, minute, second, ms, offset_min;
    int half; /* 0: not said, 1: AM, 2: PM */
    bool hour_12;
} parts;

/* ---- fields ---- */

static bool take_number(parts *p, size_t digits_max, int64_t *out)
{
    size_t len = 0;
    *out = 0;
    while (len < p->text.len && len < digits_max && p->text.data[len] >= '0' &&
           p->text.data[len] <= '9')
        *out = *out * 10 + (p->text.data[len++] - '0');
    p->text = (sf_str){p->text.data + len, p->text.len - len};
    return len > 0;
}

/* Milliseconds; further digits are cut off. */
static bool take_fraction(parts *p)
{
    size_t before = p->text.len;
    int64_t number;
    if (!take_number(p, 9, &number))
        return false;
    for (size_t digits = before - p->text.len; digits < 9; digits++)
        number *= 10;
    p->ms = number / 1000000;
    return true;
}

static bool take_word(parts *p, const char *word, size_t len)
{
    if (p->text.len < len || strncasecmp(p->text.data, word, len) != 0)
        return false;
    p->text = (sf_str){p->text.data + len, p->text.len - len};
    return true;
}

static bool take_month_name(parts *p)
{
    static const char *const names[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};
    for (size_t i = 0; i < SF_COUNT_OF(names); i++) {
        if (!take_word(p, names[i], strlen(names[i])) && !take_word(p, names[i], 3))
            continue;
        p->month = (int64_t)i + 1;
        return true;
    }
    return false;
}

static bool take_offset(parts *p)
{
    int64_t hours, minutes = 0;
    if (take_word(p, "Z", 1))
        return true;
    if (!p->text.len || (*p->text.data != '+' && *p->text.data != '-'))
        return false;
    bool minus = *p->text.data == '-';
    p->text = (sf_str){p->text.data + 1, p->text.len - 1};
    size_t before = p->text.len;
    if (!take_number(p, 2, &hours) || before - p->text.len != 2)
        return false;
    bool colon = take_word(p, ":", 1);
    before = p->text.len;
    bool more = take_number(p, 2, &minutes);
    if ((colon && !more) || (more && before - p->text.len != 2) || hours > 18 || minutes > 59)
        return false;
    p->offset_min = (minus ? -1 : 1) * (hours * 60 + minutes);
    return true;
}

static bool take_literal(parts *p, char c)
{
    bool blank = c == ' ';
    size_t len = 0;
    while (blank && len < p->text.len && (p->text.data[len] == ' ' || p->text.data[len] == '\t'))
        len++;
    if (!blank)
        len = p->text.len && *p->text.data == c;
    p->text = (sf_str){p->text.data + len, p->text.len - len};
    return len > 0;
}

static bool take_field(parts *p, field what)
{
    switch (what) {
    case FIELD_YEAR: return take_number(p, 4, &p->year);
    case FIELD_YEAR_2:
        if (!take_number(p, 2, &p->year))
            return false;
        p->year += p->year < 70 ? 2000 : 1900; /* as PostgreSQL has it */
        return true;
    case FIELD_MONTH: return take_number(p, 2, &p->month);
    case FIELD_MONTH_NAME: return take_month_name(p);
    case FIELD_DAY: return take_number(p, 2, &p->day);
    case FIELD_HOUR: return take_number(p, 2, &p->hour);
    case FIELD_HOUR_12: p->hour_12 = true; return take_number(p, 2, &p->hour);
    case FIELD_MINUTE: return take_number(p, 2, &p->minute);
    case FIELD_SECOND: return take_number(p, 2, &p->second);
    case FIELD_FRACTION: return take_fraction(p);
    case FIELD_HALF:
        p->half = take_word(p, "AM", 2) ? 1 : take_word(p, "PM", 2) ? 2 : 0;
        return p->half != 0;
    case FIELD_OFFSET: return take_offset(p);
    case FIELD_NONE:
    case FIELD_LITERAL: break;
    }
    return false;
}

/* ---- patterns: the field at its start, how long that is, and a literal's character ---- */

typedef field next_field(sf_str pattern, size_t *len, char *literal);

static field strftime_field(sf_str pattern, size_t *len, char *literal)
{
    static const char letters[] = "YymbBdHIMSfpz";
    static const field fields[] = {FIELD_YEAR,       FIELD_YEAR_2, FIELD_MONTH,    FIELD_MONTH_NAME,
                                   FIELD_MONTH_NAME, FIELD_DAY,    FIELD_HOUR,     FIELD_HOUR_12,
                                   FIELD_MINUTE,     FIELD_SECOND, FIELD_FRACTION, FIELD_HALF,
                                   FIELD_OFFSET};
    *len = 1;
    *literal = pattern.data[0];
    if (pattern.data[0] != '%')
        return FIELD_LITERAL;
    *len = 2;
    if (pattern.len < 2)
        return FIELD_NONE;
    *literal = pattern.data[1];
    if (pattern.data[1] == '%')
        return FIELD_LITERAL;
    const char *at = pattern.data[1] ? strchr(letters, pattern.data[1]) : NULL;
    return at ? fields[at - letters] : FIELD_NONE;
}

static field java_field(sf_str pattern, size_t *len, char *literal)
{
    char letter = pattern.data[0];
    size_t count = 1;
    *len = 1;
    *literal = letter;
    if (!((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z')))
        return FIELD_LITERAL;
    while (count < pattern.len && pattern.data[count] == letter)
        count++;
    *len = count;
    switch (letter) {
    case 'y':
    case 'u': return count == 2 ? FIELD_YEAR_2 : FIELD_YEAR;
    case 'M':
    case 'L': return count >= 3 ? FIELD_MONTH_NAME : FIELD_MONTH;
    case 'd': return FIELD_DAY;
    case 'H': return FIELD_HOUR;
    case 'h': return FIELD_HOUR_12;
    case 'm': return FIELD_MINUTE;
    case 's': return FIELD_SECOND;
    case 'S': return FIELD_FRACTION;
    case 'a': return FIELD_HALF;
    case 'X':
    case 'x':
    case 'Z': return FIELD_OFFSET;
    case 'T': return count == 1 ? FIELD_LITERAL : FIELD_NONE;
    default: return FIELD_NONE;
    }
}

static field postgres_field(sf_str pattern, size_t *len, char *literal)
{
    static const struct {
        const char *word;
        field what;
    } words[] = {
        {"YYYY", FIELD_YEAR},      {"YY", FIELD_YEAR_2},    {"MONTH", FIELD_MONTH_NAME},
        {"MON", FIELD_MONTH_NAME}, {"MM", FIELD_MONTH},     {"DD", FIELD_DAY},
        {"HH24", FIELD_HOUR},      {"HH12", FIELD_HOUR_12}, {"HH", FIELD_HOUR_12},
        {"MI", FIELD_MINUTE},      {"SS", FIELD_SECOND},    {"MS", FIELD_FRACTION},
        {"US", FIELD_FRACTION},    {"AM", FIELD_HALF},      {"PM", FIELD_HALF},
        {"TZH:TZM", FIELD_OFFSET}, {"OF", FIELD_OFFSET},    {"TZH", FIELD_OFFSET},
    };
    for (size_t i = 0; i < SF_COUNT_OF(words); i++) {
        *len = strlen(words[i].word);
        if (pattern.len >= *len && strncasecmp(pattern.data, words[i].word, *len) == 0)
            return words[i].what;
    }
    char c = *literal = pattern.data[0];
    *len = 1;
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter && c != 'T' ? FIELD_NONE : FIELD_LITERAL;
}

/* Text between quotes stands for itself; a doubled quote for one. */
static bool take_quoted(parts *p, sf_str *pattern, char quote)
{
    bool any = false;
    for (;;) {
        *pattern = (sf_str){pattern->data + 1, pattern->len - 1};
        if (!pattern->len)
            return false;
        if (pattern->data[0] == quote) {
            bool doubled = pattern->len > 1 && pattern->data[1] == quote;
            if (!doubled && any) {
                *pattern = (sf_str){pattern->data + 1, pattern->len - 1};
                return true;
            }
            *pattern = (sf_str){pattern->data + 1, pattern->len - 1};
            if (!doubled)
                return take_literal(p, quote);
        }
        if (!take_literal(p, pattern->data[0]))
            return false;
        any = true;
    }
}

static bool match(parts *p, sf_str pattern, next_field *next, char quote)
{
    while (pattern.len) {
        size_t len;
        char literal;
        if (quote && pattern.data[0] == quote) {
            if (!take_quoted(p, &pattern, quote))
                return false;
            continue;
        }
        field what = next(pattern, &len, &literal);
        if (what == FIELD_LITERAL ? !take_literal(p, literal) : !take_field(p, what))
            return false;
        pattern = (sf_str){pattern.data + len, pattern.len - len};
    }
    return p->text.len == 0;
}

/* ---- the time ---- */

static bool time_of(const parts *p, int64_t *out)
{
    int64_t hour = p->hour;
    if (p->hour_12 || p->half) {
        if (hour < 1 || hour > 12)
            return false;
        hour = hour % 12 + (p->half == 2 ? 12 : 0);
    }
    if (p->month < 1 || p->month > 12 || p->day < 1 || p->day > 31 || hour > 23 || p->minute > 59 ||
        p->second > 59)
        return false;
    int64_t day = sf_days_from_civil(p->year, (int32_t)p->month, (int32_t)p->day);
    int64_t next = p->month == 12 ? sf_days_from_civil(p->year + 1, 1, 1)
                                  : sf_days_from_civil(p->year, (int32_t)p->month + 1, 1);
    *out = day * 86400000 + hour * 3600000 + (p->minute - p->offset_min) * 60000 +
           p->second * 1000 + p->ms;
    return day < next;
}

static bool parsed(sf_call *call, bool postgres)
{
    for (uint32_t i = 0; i < call->rows; i++) {
        int64_t *out = &SF_OUT(call, int64_t)[i];
        *out = 0;
        if (sf_call_is_null(call, i))
            continue;
        sf_str pattern = sf_operand_str(&call->args[1], i);
        bool percent = !postgres && pattern.len && memchr(pattern.data, '%', pattern.len);
        parts p = {.text = sf_text_trim(sf_operand_str(&call->args[0], i)),
                   .month = 1,
                   .day = 1,
                   .year = 1970};
        bool fits = match(&p, pattern,
                          postgres  ? postgres_field
                          : percent ? strftime_field
                                    : java_field,
                          postgres  ? '"'
                          : percent ? 0
                                    : '\'');
        if (!(fits && time_of(&p, out)) && !sf_call_fail(call, i, SF_EVAL_CAST))
            return false;
    }
    return true;
}

bool sf_fn_parse_timestamp(sf_call *call)
{
    return parsed(call, false);
}

bool sf_fn_to_timestamp_by(sf_call *call)
{
    return parsed(call, true);
}
