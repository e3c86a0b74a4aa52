/* Schedules: fixed intervals and cron expressions in UTC; back-off after failures. */
#include "connect/connect.h"
#include "text/text.h"

enum { DAY_SECONDS = 86400, CRON_FIELDS_MAX = 6 };

/* Days searched for the next match: the Gregorian calendar repeats after 400 years. */
#define CRON_DAYS_MAX 146097

#define BACKOFF_FIRST_MS 30000
#define BACKOFF_MAX_MS   900000

/* ---- cron fields ---- */

typedef struct {
    const char *name;
    uint32_t min, max;
    const char *const *words; /* names of values, NULL: none */
    uint32_t first_word;      /* value of the first */
} cron_field;

static const char *const month_words[] = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL",
                                          "AUG", "SEP", "OCT", "NOV", "DEC", NULL};
static const char *const weekday_words[] = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", NULL};

static const cron_field cron_fields[CRON_FIELDS_MAX] = {
    {"second", 0, 59, NULL, 0},       {"minute", 0, 59, NULL, 0},
    {"hour", 0, 23, NULL, 0},         {"day of the month", 1, 31, NULL, 0},
    {"month", 1, 12, month_words, 1}, {"day of the week", 0, 7, weekday_words, 0},
};

static sf_status refuse_field(const cron_field *field, sf_str text, sf_error *err)
{
    sf_fail(err, SF_INVALID, "cron field \"%s\" cannot be \"%.*s\"", field->name,
            text.len > 64 ? 64 : (int)text.len, text.data);
    sf_error_hint(err, "values from %u to %u, ranges a-b, steps */n, lists a,b; all of it is \"*\"",
                  field->min, field->max);
    return SF_INVALID;
}

/* A number or name at the start of text, which moves behind it. */
static bool take_value(const cron_field *field, sf_str *text, uint32_t *out)
{
    for (uint32_t i = 0; field->words && field->words[i]; i++) {
        if (text->len >= 3 &&
            sf_str_eq_nocase((sf_str){text->data, 3}, sf_str_of(field->words[i]))) {
            *out = field->first_word + i;
            *text = (sf_str){text->data + 3, text->len - 3};
            return true;
        }
    }
    uint32_t value = 0, digits = 0;
    while (digits < 3 && digits < text->len && text->data[digits] >= '0' &&
           text->data[digits] <= '9')
        value = value * 10 + (uint32_t)(text->data[digits++] - '0');
    *out = value;
    *text = (sf_str){text->data + digits, text->len - digits};
    return digits > 0;
}

/* One item of a list: "*", "a", "a-b", each with an optional "/n". */
static bool parse_item(const cron_field *field, sf_str item, uint64_t *bits)
{
    uint32_t from = field->min, to = field->max, step = 1;
    bool single = false;
    if (item.len > 0 && (item.data[0] == '*' || item.data[0] == '?')) {
        item = (sf_str){item.data + 1, item.len - 1};
    } else {
        if (!take_value(field, &item, &from))
            return false;
        to = from;
        single = true;
        if (item.len > 0 && item.data[0] == '-') {
            item = (sf_str){item.data + 1, item.len - 1};
            if (!take_value(field, &item, &to))
                return false;
            single = false;
        }
    }
    if (item.len > 0 && item.data[0] == '/') {
        const cron_field plain = {.name = field->name};
        item = (sf_str){item.data + 1, item.len - 1};
        if (!take_value(&plain, &item, &step) || step == 0)
            return false;
        if (single)
            to = field->max;
    }
    if (item.len > 0 || from < field->min || to > field->max || from > to)
        return false;
    for (uint32_t value = from; value <= to; value += step)
        *bits |= UINT64_C(1) << value;
    return true;
}

static sf_status parse_field(const cron_field *field, sf_str text, uint64_t *bits, sf_error *err)
{
    sf_str rest = text;
    *bits = 0;
    for (;;) {
        const char *comma = memchr(rest.data, ',', rest.len);
        size_t len = comma ? (size_t)(comma - rest.data) : rest.len;
        if (!parse_item(field, (sf_str){rest.data, len}, bits))
            return refuse_field(field, text, err);
        if (!comma)
            return SF_OK;
        rest = (sf_str){comma + 1, rest.len - len - 1};
    }
}

/* ---- the next time ---- */

/* Bits of a cron day: month, day of the month and day of the week must all match. */
static bool day_matches(const sf_schedule *schedule, int64_t day)
{
    sf_civil civil = sf_civil_from_ms(day * DAY_SECONDS * 1000);
    uint32_t weekday = (uint32_t)((day % 7 + 7 + 4) % 7); /* 1970-01-01 was a Thursday */
    return (schedule->months >> civil.month & 1) && (schedule->days >> civil.day & 1) &&
           (schedule->weekdays >> weekday & 1);
}

/* First set second of the day at or after `from`; -1: none. */
static int64_t second_of_day(const sf_schedule *schedule, int64_t from)
{
    for (int64_t hour = from / 3600; hour < 24; hour++) {
        if (!(schedule->hours >> hour & 1))
            continue;
        for (int64_t minute = 0; minute < 60; minute++) {
            int64_t start = hour * 3600 + minute * 60;
            if (!(schedule->minutes >> minute & 1) || start + 59 < from)
                continue;
            for (int64_t second = 0; second < 60; second++) {
                if ((schedule->seconds >> second & 1) && start + second >= from)
                    return start + second;
            }
        }
    }
    return -1;
}

/* In seconds, at or after `from`; -1: never. */
static int64_t cron_next(const sf_schedule *schedule, int64_t from)
{
    int64_t day = sf_floor_div(from, DAY_SECONDS), within = from - day * DAY_SECONDS;
    for (int64_t end = day + CRON_DAYS_MAX; day <= end; day++, within = 0) {
        if (!day_matches(schedule, day))
            continue;
        int64_t second = second_of_day(schedule, within);
        if (second >= 0)
            return day * DAY_SECONDS + second;
    }
    return -1;
}

int64_t sf_schedule_next_ms(const sf_schedule *schedule, int64_t after_ms)
{
    if (schedule->interval_ms > 0)
        return sf_sat_add(after_ms, schedule->interval_ms);
    return cron_next(schedule, sf_floor_div(after_ms, 1000) + 1) * 1000;
}

/* ---- reading ---- */

static sf_status parse_cron(sf_str text, sf_schedule *out, sf_error *err)
{
    sf_str words[CRON_FIELDS_MAX + 1];
    uint32_t count = 0;
    const char *at = text.data, *end = text.data + text.len;
    while (count < SF_COUNT_OF(words)) {
        while (at < end && (*at == ' ' || *at == '\t'))
            at++;
        if (at == end)
            break;
        const char *start = at;
        while (at < end && *at != ' ' && *at != '\t')
            at++;
        words[count++] = (sf_str){start, (size_t)(at - start)};
    }
    if (count != 5 && count != 6) {
        sf_fail(err, SF_INVALID, "cron expression \"%.*s\" does not have 5 or 6 fields",
                text.len > 64 ? 64 : (int)text.len, text.data);
        sf_error_hint(err, "[second] minute hour day-of-month month day-of-week, in UTC");
        return SF_INVALID;
    }
    uint64_t bits[CRON_FIELDS_MAX] = {1}; /* without seconds: at second 0 */
    uint32_t skipped = CRON_FIELDS_MAX - count;
    for (uint32_t i = 0; i < count; i++)
        SF_TRY(parse_field(&cron_fields[i + skipped], words[i], &bits[i + skipped], err));
    *out = (sf_schedule){
        .seconds = bits[0],
        .minutes = bits[1],
        .hours = (uint32_t)bits[2],
        .days = (uint32_t)bits[3],
        .months = (uint32_t)bits[4],
        .weekdays = (uint32_t)((bits[5] | bits[5] >> 7) & 0x7f), /* 7 is Sunday too */
    };
    if (cron_next(out, 0) < 0)
        return sf_fail(err, SF_INVALID, "cron expression \"%.*s\" never comes to pass",
                       text.len > 64 ? 64 : (int)text.len, text.data);
    return SF_OK;
}

static sf_status parse_words(sf_str json, sf_schedule *out, sf_error *err)
{
    sf_buf scratch = {0};
    sf_str text;
    int64_t every_ms;
    sf_status status = SF_OK;
    if (!sf_json_text_of(json, &scratch, &text)) {
        status = sf_fail_memory(err);
    } else if (sf_parse_every(text, &every_ms) != SF_PARSE_OK || every_ms <= 0) {
        status = sf_fail(err, SF_INVALID, "schedule \"%.*s\" is not understood",
                         text.len > 64 ? 64 : (int)text.len, text.data);
        sf_error_hint(
            err, "write \"every 30s\", {\"intervalMs\": 30000} or {\"cron\": \"*/5 * * * *\"}");
    } else {
        out->interval_ms = every_ms < SF_INTERVAL_MS_MIN ? SF_INTERVAL_MS_MIN : every_ms;
    }
    sf_buf_deinit(&scratch);
    return status;
}

typedef struct {
    const char *cron;
    int64_t interval_ms;
} schedule_config;

static const sf_option schedule_options[] = {
    {.key = "cron",
     .type = SF_OPTION_STRING,
     .max = 256,
     .offset = offsetof(schedule_config, cron)},
    {.key = "intervalMs",
     .type = SF_OPTION_NUMBER,
     .min = 0,
     .max = INT64_C(366) * 86400000,
     .offset = offsetof(schedule_config, interval_ms)},
};

sf_status sf_schedule_parse(sf_str json, sf_schedule *out, sf_error *err)
{
    *out = (sf_schedule){.interval_ms = SF_INTERVAL_MS_DEFAULT};
    json = sf_text_trim(json);
    if (json.len > 0 && json.data[0] == '"') {
        if (sf_json_validate(json, err) != SF_OK)
            return SF_SYNTAX;
        return parse_words(json, out, err);
    }
    sf_arena arena;
    schedule_config config = {0};
    sf_option_list list = {schedule_options, SF_COUNT_OF(schedule_options)};
    sf_arena_init(&arena, 0);
    sf_status status = sf_options_read(list, json, "connector.schedule", &arena, &config, err);
    if (status == SF_OK && config.cron[0] && config.interval_ms > 0)
        status =
            sf_fail(err, SF_INVALID, "connector.schedule has both \"cron\" and \"intervalMs\"");
    else if (status == SF_OK && config.cron[0])
        status = parse_cron(sf_str_of(config.cron), out, err);
    else if (status == SF_OK && config.interval_ms > 0)
        out->interval_ms =
            config.interval_ms < SF_INTERVAL_MS_MIN ? SF_INTERVAL_MS_MIN : config.interval_ms;
    sf_arena_deinit(&arena);
    return status;
}

int64_t sf_backoff_ms(uint32_t failures)
{
    if (failures == 0)
        return 0;
    int64_t wait_ms = BACKOFF_FIRST_MS;
    for (uint32_t i = 1; i < failures && wait_ms < BACKOFF_MAX_MS; i++)
        wait_ms *= 2;
    return wait_ms < BACKOFF_MAX_MS ? wait_ms : BACKOFF_MAX_MS;
}
