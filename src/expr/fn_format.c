/* Times as text by a pattern: DATE_FORMAT takes letters as Java does (yyyy-MM-dd HH:mm:ss) or, when
 * it holds a %, as strftime does; TO_CHAR takes PostgreSQL's (YYYY-MM-DD HH24:MI:SS). */
#include "expr/calendar.h"
#include "expr/kernel.h"

#include "text/text.h"

static const char *const months[12] = {"January",   "February", "March",    "April",
                                       "May",       "June",     "July",     "August",
                                       "September", "October",  "November", "December"};
static const char *const weekdays[7] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                        "Friday", "Saturday", "Sunday"};

typedef struct {
    sf_civil civil;
    int64_t ms, day;
    sf_buf *out;
} moment;

static int32_t hour12(const moment *m)
{
    return m->civil.hour % 12 ? m->civil.hour % 12 : 12;
}

static void put_number(const moment *m, int64_t value, int width)
{
    sf_buf_printf(m->out, "%0*lld", width, (long long)value);
}

static void put_name(const moment *m, const char *name, size_t letters)
{
    size_t len = strlen(name);
    sf_buf_put(m->out, name, len < letters ? len : letters);
}

/* ---- Java's letters ---- */

static bool java_letter(const moment *m, char letter, int count)
{
    const sf_civil *c = &m->civil;
    switch (letter) {
    case 'y': put_number(m, count == 2 ? c->year % 100 : c->year, count); return true;
    case 'M':
    case 'L':
        if (count >= 3)
            put_name(m, months[c->month - 1], count == 3 ? 3 : SIZE_MAX);
        else
            put_number(m, c->month, count);
        return true;
    case 'd': put_number(m, c->day, count); return true;
    case 'D': put_number(m, sf_time_doy(m->day, c), count); return true;
    case 'H': put_number(m, c->hour, count); return true;
    case 'h': put_number(m, hour12(m), count); return true;
    case 'm': put_number(m, c->minute, count); return true;
    case 's': put_number(m, c->second, count); return true;
    case 'S': { /* digits of the fraction */
        char digits[4] = {(char)('0' + c->millisecond / 100),
                          (char)('0' + c->millisecond / 10 % 10), (char)('0' + c->millisecond % 10),
                          0};
        for (int k = 0; k < count; k++)
            sf_buf_putc(m->out, k < 3 ? digits[k] : '0');
        return true;
    }
    case 'a': sf_buf_puts(m->out, c->hour < 12 ? "AM" : "PM"); return true;
    case 'E':
        put_name(m, weekdays[sf_time_isodow(m->day) - 1], count < 4 ? 3 : SIZE_MAX);
        return true;
    case 'Q': put_number(m, (c->month + 2) / 3, count); return true;
    default: return false;
    }
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool put_java(const moment *m, sf_str pattern)
{
    enum { COUNT_MAX = 9 };
    for (size_t i = 0; i < pattern.len;) {
        char c = pattern.data[i];
        if (c == '\'') { /* text as it is; two quotes are one */
            if (i + 1 < pattern.len && pattern.data[i + 1] == '\'') {
                sf_buf_putc(m->out, '\'');
                i += 2;
                continue;
            }
            for (i++; i < pattern.len && pattern.data[i] != '\''; i++)
                sf_buf_putc(m->out, pattern.data[i]);
            i++;
        } else if (is_letter(c)) {
            int count = 0;
            for (; i < pattern.len && pattern.data[i] == c; i++)
                count++;
            if (count > COUNT_MAX || !java_letter(m, c, count))
                return false;
        } else {
            sf_buf_putc(m->out, c);
            i++;
        }
    }
    return true;
}

/* ---- strftime's ---- */

static bool strftime_letter(const moment *m, char letter)
{
    const sf_civil *c = &m->civil;
    int32_t year, week, isodow = sf_time_isodow(m->day);
    switch (letter) {
    case 'Y': put_number(m, c->year, 4); return true;
    case 'y': put_number(m, c->year % 100, 2); return true;
    case 'm': put_number(m, c->month, 2); return true;
    case 'd': put_number(m, c->day, 2); return true;
    case 'e': sf_buf_printf(m->out, "%2d", c->day); return true;
    case 'H': put_number(m, c->hour, 2); return true;
    case 'I': put_number(m, hour12(m), 2); return true;
    case 'M': put_number(m, c->minute, 2); return true;
    case 'S': put_number(m, c->second, 2); return true;
    case 'f': put_number(m, c->millisecond * 1000, 6); return true;
    case 'L': put_number(m, c->millisecond, 3); return true;
    case 'p': sf_buf_puts(m->out, c->hour < 12 ? "AM" : "PM"); return true;
    case 'j': put_number(m, sf_time_doy(m->day, c), 3); return true;
    case 'a': put_name(m, weekdays[isodow - 1], 3); return true;
    case 'A': put_name(m, weekdays[isodow - 1], SIZE_MAX); return true;
    case 'b': put_name(m, months[c->month - 1], 3); return true;
    case 'B': put_name(m, months[c->month - 1], SIZE_MAX); return true;
    case 'u': put_number(m, isodow, 1); return true;
    case 'w': put_number(m, isodow % 7, 1); return true;
    case 'V':
        sf_time_iso_week(m->day, &year, &week);
        put_number(m, week, 2);
        return true;
    case 'G':
        sf_time_iso_week(m->day, &year, &week);
        put_number(m, year, 4);
        return true;
    case 's': put_number(m, sf_floor_div(m->ms, 1000), 1); return true;
    case 'z': sf_buf_puts(m->out, "+0000"); return true;
    case 'Z': sf_buf_puts(m->out, "UTC"); return true;
    case 'F':
        return strftime_letter(m, 'Y') && (sf_buf_putc(m->out, '-'), true) &&
               strftime_letter(m, 'm') && (sf_buf_putc(m->out, '-'), true) &&
               strftime_letter(m, 'd');
    case 'T':
        return strftime_letter(m, 'H') && (sf_buf_putc(m->out, ':'), true) &&
               strftime_letter(m, 'M') && (sf_buf_putc(m->out, ':'), true) &&
               strftime_letter(m, 'S');
    case '%': sf_buf_putc(m->out, '%'); return true;
    default: return false;
    }
}

static bool put_strftime(const moment *m, sf_str pattern)
{
    for (size_t i = 0; i < pattern.len; i++) {
        if (pattern.data[i] != '%')
            sf_buf_putc(m->out, pattern.data[i]);
        else if (++i == pattern.len || !strftime_letter(m, pattern.data[i]))
            return false;
    }
    return true;
}

/* ---- PostgreSQL's ---- */

typedef enum { LOWER, CAPITAL, UPPER } name_case;

static void put_padded(const moment *m, const char *name, name_case how, bool padded)
{
    size_t len = strlen(name);
    for (size_t k = 0; k < len; k++) {
        bool up = how == UPPER || (how == CAPITAL && k == 0);
        char c = name[k];
        sf_buf_putc(m->out, up ? (char)(c & ~0x20) : (char)(c | 0x20));
    }
    for (size_t k = len; padded && k < 9; k++)
        sf_buf_putc(m->out, ' ');
}

/* How a word of the pattern is written, and whether it is this one. */
static bool word_at(sf_str rest, const char *word, name_case *how)
{
    size_t len = strlen(word);
    if (rest.len < len || !sf_str_eq_nocase((sf_str){rest.data, len}, (sf_str){word, len}))
        return false;
    bool first_up = rest.data[0] <= 'Z', second_up = rest.data[1] <= 'Z';
    *how = !first_up ? LOWER : second_up ? UPPER : CAPITAL;
    return true;
}

static size_t postgres_name(const moment *m, sf_str rest, bool fill)
{
    const char *month = months[m->civil.month - 1];
    const char *weekday = weekdays[sf_time_isodow(m->day) - 1];
    const char three[] = {month[0], month[1], month[2], 0};
    const char two[] = {weekday[0], weekday[1], weekday[2], 0};
    name_case how;
    if (word_at(rest, "MONTH", &how))
        return put_padded(m, month, how, !fill), 5;
    if (word_at(rest, "MON", &how))
        return put_padded(m, three, how, false), 3;
    if (word_at(rest, "DAY", &how))
        return put_padded(m, weekday, how, !fill), 3;
    if (word_at(rest, "DY", &how))
        return put_padded(m, two, how, false), 2;
    if (word_at(rest, "AM", &how) || word_at(rest, "PM", &how))
        return put_padded(m, m->civil.hour < 12 ? "AM" : "PM", how == LOWER ? LOWER : UPPER, false),
               2;
    return 0;
}

/* Longer words stand before those they start with. */
static size_t postgres_number(const moment *m, sf_str rest, bool fill)
{
    const sf_civil *c = &m->civil;
    int32_t year, week;
    sf_time_iso_week(m->day, &year, &week);
    const struct {
        const char *word;
        int64_t value;
        int width;
    } words[] = {
        {"IYYY", year, 4},
        {"YYYY", c->year, 4},
        {"YYY", c->year % 1000, 3},
        {"YY", c->year % 100, 2},
        {"Y", c->year % 10, 1},
        {"HH24", c->hour, 2},
        {"HH12", hour12(m), 2},
        {"HH", hour12(m), 2},
        {"MI", c->minute, 2},
        {"MS", c->millisecond, 3},
        {"MM", c->month, 2},
        {"SSSSS", (c->hour * 60 + c->minute) * 60 + c->second, 1},
        {"SS", c->second, 2},
        {"US", c->millisecond * 1000, 6},
        {"DDD", sf_time_doy(m->day, c), 3},
        {"DD", c->day, 2},
        {"ID", sf_time_isodow(m->day), 1},
        {"D", sf_time_isodow(m->day) % 7 + 1, 1},
        {"IW", week, 2},
        {"WW", (sf_time_doy(m->day, c) - 1) / 7 + 1, 2},
        {"W", (c->day - 1) / 7 + 1, 1},
        {"Q", (c->month + 2) / 3, 1},
    };
    for (size_t i = 0; i < SF_COUNT_OF(words); i++) {
        size_t len = strlen(words[i].word);
        if (rest.len >= len &&
            sf_str_eq_nocase((sf_str){rest.data, len}, (sf_str){words[i].word, len})) {
            put_number(m, words[i].value, fill ? 1 : words[i].width);
            return len;
        }
    }
    return 0;
}

static bool put_postgres(const moment *m, sf_str pattern)
{
    bool fill = false; /* FM: no padding of the next word */
    for (size_t i = 0; i < pattern.len;) {
        sf_str rest = {pattern.data + i, pattern.len - i};
        if (rest.data[0] == '"') {
            for (i++; i < pattern.len && pattern.data[i] != '"'; i++)
                sf_buf_putc(m->out, pattern.data[i]);
            i++;
            continue;
        }
        if (rest.len > 2 && sf_str_eq_nocase((sf_str){rest.data, 2}, SF_STR("FM"))) {
            fill = true;
            i += 2;
            continue;
        }
        size_t used = postgres_name(m, rest, fill);
        if (!used)
            used = postgres_number(m, rest, fill);
        if (!used) {
            sf_buf_putc(m->out, rest.data[0]);
            used = 1;
        }
        fill = false;
        i += used;
    }
    return true;
}

/* ---- the kernels ---- */

enum { PATTERN_BYTES_MAX = 4096 };

static bool formatted(sf_call *call, bool postgres)
{
    sf_text_out out;
    if (!sf_text_begin(&out, call, NULL))
        return false;
    sf_buf buf = {0};
    bool ok = true;
    for (uint32_t i = 0; i < call->rows && ok; i++) {
        if (sf_call_is_null(call, i))
            continue;
        sf_str pattern = sf_operand_str(&call->args[1], i);
        int64_t ms = sf_operand_i64(&call->args[0], i);
        moment m = {sf_civil_from_ms(ms), ms, sf_time_day(ms), &buf};
        sf_buf_clear(&buf);
        bool fits = pattern.len <= PATTERN_BYTES_MAX;
        if (fits && postgres)
            fits = put_postgres(&m, pattern);
        else if (fits && memchr(pattern.data, '%', pattern.len))
            fits = put_strftime(&m, pattern);
        else if (fits)
            fits = put_java(&m, pattern);
        ok = !buf.failed && (fits || sf_call_fail(call, i, SF_EVAL_DOMAIN));
        if (ok && fits)
            sf_text_put(&out, i, sf_buf_str(&buf));
    }
    sf_buf_deinit(&buf);
    return sf_text_end(&out) && ok;
}

bool sf_fn_date_format(sf_call *call)
{
    return formatted(call, false);
}

bool sf_fn_to_char(sf_call *call)
{
    return formatted(call, true);
}
