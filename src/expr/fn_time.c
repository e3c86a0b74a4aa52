/* Calendar arithmetic on milliseconds since 1970, UTC. */
#include "expr/calendar.h"
#include "expr/kernel.h"
#include "expr/zone.h"

#include "text/text.h"

enum { MS_PER_DAY = 86400000 };

bool sf_fn_now(sf_call *call)
{
    for (uint32_t i = 0; i < call->rows; i++)
        SF_OUT(call, int64_t)[i] = call->eval->now_ms;
    return true;
}

/* ---- units ---- */

bool sf_time_unit_of(sf_str name, sf_time_unit *out)
{
    static const struct {
        const char *name;
        sf_time_unit unit;
    } names[] = {
        {"millisecond", SF_UNIT_MILLISECOND},
        {"milliseconds", SF_UNIT_MILLISECOND},
        {"second", SF_UNIT_SECOND},
        {"seconds", SF_UNIT_SECOND},
        {"minute", SF_UNIT_MINUTE},
        {"minutes", SF_UNIT_MINUTE},
        {"hour", SF_UNIT_HOUR},
        {"hours", SF_UNIT_HOUR},
        {"day", SF_UNIT_DAY},
        {"days", SF_UNIT_DAY},
        {"week", SF_UNIT_WEEK},
        {"weeks", SF_UNIT_WEEK},
        {"month", SF_UNIT_MONTH},
        {"months", SF_UNIT_MONTH},
        {"quarter", SF_UNIT_QUARTER},
        {"quarters", SF_UNIT_QUARTER},
        {"year", SF_UNIT_YEAR},
        {"years", SF_UNIT_YEAR},
        {"decade", SF_UNIT_DECADE},
        {"century", SF_UNIT_CENTURY},
        {"millennium", SF_UNIT_MILLENNIUM},
        {"dow", SF_UNIT_DOW},
        {"isodow", SF_UNIT_ISODOW},
        {"doy", SF_UNIT_DOY},
        {"isoyear", SF_UNIT_ISOYEAR},
        {"epoch", SF_UNIT_EPOCH},
        {"dayofweek", SF_UNIT_DOW},
        {"dayofyear", SF_UNIT_DOY},
    };
    for (size_t i = 0; i < SF_COUNT_OF(names); i++) {
        if (sf_str_eq_nocase(name, sf_str_of(names[i].name))) {
            *out = names[i].unit;
            return true;
        }
    }
    return false;
}

static int64_t fixed_ms(sf_time_unit unit)
{
    switch (unit) {
    case SF_UNIT_MILLISECOND: return 1;
    case SF_UNIT_SECOND: return 1000;
    case SF_UNIT_MINUTE: return 60000;
    case SF_UNIT_HOUR: return 3600000;
    case SF_UNIT_DAY: return MS_PER_DAY;
    default: return 0;
    }
}

/* ---- parts ---- */

int64_t sf_time_day(int64_t ms)
{
    return sf_floor_div(ms, MS_PER_DAY);
}

/* Monday 1 .. Sunday 7; 1970-01-01 was a Thursday. */
int32_t sf_time_isodow(int64_t day)
{
    int64_t from_monday = (day + 3) % 7;
    return (int32_t)(from_monday < 0 ? from_monday + 7 : from_monday) + 1;
}

int32_t sf_time_doy(int64_t day, const sf_civil *civil)
{
    return (int32_t)(day - sf_days_from_civil(civil->year, 1, 1)) + 1;
}

/* Week 1 holds the year's first Thursday. */
void sf_time_iso_week(int64_t day, int32_t *year, int32_t *week)
{
    int64_t thursday = day - sf_time_isodow(day) + 4;
    /* of the day, not of its milliseconds, which may be out of range */
    sf_civil civil = sf_civil_from_ms(thursday > INT64_MAX / MS_PER_DAY   ? INT64_MAX
                                      : thursday < INT64_MIN / MS_PER_DAY ? INT64_MIN
                                                                          : thursday * MS_PER_DAY);
    *year = civil.year;
    *week = (int32_t)((thursday - sf_days_from_civil(civil.year, 1, 1)) / 7) + 1;
}

static int64_t century_of(int64_t year, int64_t length)
{
    return year > 0 ? (year + length - 1) / length : -((length - year) / length);
}

static double part_of(sf_time_unit unit, int64_t ms)
{
    sf_civil c = sf_civil_from_ms(ms);
    int64_t day = sf_time_day(ms);
    int32_t year, week, quarter = (c.month + 2) / 3;
    switch (unit) {
    case SF_UNIT_MILLISECOND: return c.second * 1000 + c.millisecond;
    case SF_UNIT_SECOND: return c.second + c.millisecond / 1000.0;
    case SF_UNIT_MINUTE: return c.minute;
    case SF_UNIT_HOUR: return c.hour;
    case SF_UNIT_DAY: return c.day;
    case SF_UNIT_WEEK: sf_time_iso_week(day, &year, &week); return week;
    case SF_UNIT_ISOYEAR: sf_time_iso_week(day, &year, &week); return year;
    case SF_UNIT_MONTH: return c.month;
    case SF_UNIT_QUARTER: return quarter;
    case SF_UNIT_YEAR: return c.year;
    case SF_UNIT_DECADE: return (double)sf_floor_div(c.year, 10);
    case SF_UNIT_CENTURY: return (double)century_of(c.year, 100);
    case SF_UNIT_MILLENNIUM: return (double)century_of(c.year, 1000);
    case SF_UNIT_DOW: return sf_time_isodow(day) % 7;
    case SF_UNIT_ISODOW: return sf_time_isodow(day);
    case SF_UNIT_DOY: return sf_time_doy(day, &c);
    case SF_UNIT_EPOCH: return (double)ms / 1000;
    }
    return 0;
}

bool sf_time_unit_has_fraction(sf_time_unit unit)
{
    return unit == SF_UNIT_SECOND || unit == SF_UNIT_EPOCH;
}

/* The field is a constant: builders have checked it. */
static bool extract_lanes(sf_call *call, bool fraction)
{
    sf_time_unit unit;
    for (uint32_t i = 0; i < call->rows; i++) {
        bool known = sf_time_unit_of(sf_operand_str(&call->args[0], i), &unit);
        double part = known ? part_of(unit, sf_operand_i64(&call->args[1], i)) : 0;
        if (fraction)
            SF_OUT(call, double)[i] = part;
        else
            SF_OUT(call, int64_t)[i] = (int64_t)part;
        if (!known && !sf_call_fail(call, i, SF_EVAL_DOMAIN))
            return false;
    }
    return true;
}

bool sf_fn_extract(sf_call *call)
{
    return extract_lanes(call, false);
}

bool sf_fn_extract_fraction(sf_call *call)
{
    return extract_lanes(call, true);
}

/* ---- DATE_TRUNC ---- */

static bool civil_ms(int64_t year, int32_t month, int32_t day, int64_t *out)
{
    return !__builtin_mul_overflow(sf_days_from_civil(year, month, day), (int64_t)MS_PER_DAY, out);
}

static bool truncated(sf_time_unit unit, int64_t ms, int64_t *out)
{
    int64_t step = fixed_ms(unit);
    if (step)
        return !__builtin_mul_overflow(sf_floor_div(ms, step), step, out);
    sf_civil c = sf_civil_from_ms(ms);
    int64_t day = sf_time_day(ms);
    int32_t year, week;
    switch (unit) {
    case SF_UNIT_WEEK:
        return !__builtin_mul_overflow(day - sf_time_isodow(day) + 1, (int64_t)MS_PER_DAY, out);
    case SF_UNIT_MONTH: return civil_ms(c.year, c.month, 1, out);
    case SF_UNIT_QUARTER: return civil_ms(c.year, (c.month - 1) / 3 * 3 + 1, 1, out);
    case SF_UNIT_YEAR: return civil_ms(c.year, 1, 1, out);
    case SF_UNIT_DECADE: return civil_ms(sf_floor_div(c.year, 10) * 10, 1, 1, out);
    case SF_UNIT_CENTURY: return civil_ms(sf_floor_div(c.year - 1, 100) * 100 + 1, 1, 1, out);
    case SF_UNIT_MILLENNIUM: return civil_ms(sf_floor_div(c.year - 1, 1000) * 1000 + 1, 1, 1, out);
    case SF_UNIT_ISOYEAR:
        sf_time_iso_week(day, &year, &week);
        if (!civil_ms(year, 1, 4, out)) /* the fourth lies in week 1 */
            return false;
        return truncated(SF_UNIT_WEEK, *out, out);
    default: return false;
    }
}

bool sf_fn_date_trunc(sf_call *call)
{
    sf_time_unit unit = SF_UNIT_DAY;
    bool fixed = !call->args[0].column, known = false;
    if (fixed)
        known = sf_time_unit_of(call->args[0].constant->as.str, &unit);
    for (uint32_t i = 0; i < call->rows; i++) {
        int64_t ms = sf_operand_i64(&call->args[1], i);
        if (!fixed)
            known = sf_time_unit_of(sf_operand_str(&call->args[0], i), &unit);
        SF_OUT(call, int64_t)[i] = 0;
        if ((!known || !truncated(unit, ms, &SF_OUT(call, int64_t)[i])) &&
            !sf_call_fail(call, i, SF_EVAL_DOMAIN))
            return false;
    }
    return true;
}

/* ---- months, differences ---- */

static int32_t days_in_month(int64_t year, int32_t month)
{
    int64_t next_year = month == 12 ? year + 1 : year;
    int32_t next_month = month == 12 ? 1 : month + 1;
    return (int32_t)(sf_days_from_civil(next_year, next_month, 1) -
                     sf_days_from_civil(year, month, 1));
}

/* The same day some months on, the month's last day where there is none. */
static bool months_on(int64_t ms, int64_t months, int64_t *out)
{
    sf_civil c = sf_civil_from_ms(ms);
    int64_t in_day = ms % MS_PER_DAY;
    in_day += in_day < 0 ? MS_PER_DAY : 0;
    int64_t count = (int64_t)c.year * 12 + c.month - 1;
    if (months < -12000000000 || months > 12000000000)
        return false;
    count += months;
    int64_t year = sf_floor_div(count, 12);
    int32_t month = (int32_t)(count - year * 12) + 1, last = days_in_month(year, month);
    int64_t start;
    return civil_ms(year, month, c.day < last ? c.day : last, &start) &&
           !__builtin_add_overflow(start, in_day, out);
}

bool sf_fn_add_months(sf_call *call)
{
    for (uint32_t i = 0; i < call->rows; i++) {
        int64_t *out = &SF_OUT(call, int64_t)[i];
        *out = 0;
        if (!sf_call_is_null(call, i) &&
            !months_on(sf_operand_i64(&call->args[0], i), sf_operand_i64(&call->args[1], i), out) &&
            !sf_call_fail(call, i, SF_EVAL_OVERFLOW))
            return false;
    }
    return true;
}

/* Some units on. */
static bool moved(sf_time_unit unit, int64_t count, int64_t ms, int64_t *out)
{
    int64_t step = unit == SF_UNIT_WEEK ? 7 * (int64_t)MS_PER_DAY : fixed_ms(unit), by;
    if (step)
        return !__builtin_mul_overflow(step, count, &by) && sf_add_i64(ms, by, out);
    int64_t months = unit == SF_UNIT_MONTH     ? 1
                     : unit == SF_UNIT_QUARTER ? 3
                     : unit == SF_UNIT_YEAR    ? 12
                     : unit == SF_UNIT_DECADE  ? 120
                     : unit == SF_UNIT_CENTURY ? 1200
                                               : 0;
    return months && !__builtin_mul_overflow(months, count, &by) && months_on(ms, by, out);
}

static bool add_units(sf_call *call, bool back)
{
    for (uint32_t i = 0; i < call->rows; i++) {
        sf_time_unit unit;
        int64_t *out = &SF_OUT(call, int64_t)[i], count = sf_operand_i64(&call->args[1], i);
        *out = 0;
        if (sf_call_is_null(call, i))
            continue;
        bool known = sf_time_unit_of(sf_operand_str(&call->args[0], i), &unit);
        bool fits = !back || !__builtin_sub_overflow(INT64_C(0), count, &count);
        if (known && fits && moved(unit, count, sf_operand_i64(&call->args[2], i), out))
            continue;
        if (!sf_call_fail(call, i, known ? SF_EVAL_OVERFLOW : SF_EVAL_DOMAIN))
            return false;
    }
    return true;
}

bool sf_fn_date_add(sf_call *call)
{
    return add_units(call, false);
}

bool sf_fn_date_sub(sf_call *call)
{
    return add_units(call, true);
}

bool sf_fn_date_bin(sf_call *call)
{
    for (uint32_t i = 0; i < call->rows; i++) {
        int64_t length = sf_operand_i64(&call->args[0], i), ms = sf_operand_i64(&call->args[1], i);
        int64_t origin = call->arg_count > 2 ? sf_operand_i64(&call->args[2], i) : 0;
        int64_t *out = &SF_OUT(call, int64_t)[i], from, bin;
        *out = 0;
        if (sf_call_is_null(call, i))
            continue;
        bool fits = length > 0 && !__builtin_sub_overflow(ms, origin, &from) &&
                    !__builtin_mul_overflow(sf_floor_div(from, length), length, &bin) &&
                    sf_add_i64(origin, bin, out);
        if (!fits && !sf_call_fail(call, i, SF_EVAL_DOMAIN))
            return false;
    }
    return true;
}

bool sf_fn_last_day(sf_call *call)
{
    for (uint32_t i = 0; i < call->rows; i++) {
        sf_civil c = sf_civil_from_ms(sf_operand_i64(&call->args[0], i));
        SF_OUT(call, int64_t)[i] = 0;
        if (!sf_call_is_null(call, i) &&
            !civil_ms(c.year, c.month, days_in_month(c.year, c.month), &SF_OUT(call, int64_t)[i]) &&
            !sf_call_fail(call, i, SF_EVAL_OVERFLOW))
            return false;
    }
    return true;
}

bool sf_fn_make_timestamp(sf_call *call)
{
    for (uint32_t i = 0; i < call->rows; i++) {
        int64_t part[5], *out = &SF_OUT(call, int64_t)[i];
        for (uint32_t k = 0; k < 5; k++)
            part[k] = sf_operand_i64(&call->args[k], i);
        double second = sf_operand_f64(&call->args[5], i);
        *out = 0;
        bool exists = part[0] > -270000 && part[0] < 270000 && part[1] >= 1 && part[1] <= 12 &&
                      part[2] >= 1 && part[2] <= 31 && part[3] >= 0 && part[3] < 24 &&
                      part[4] >= 0 && part[4] < 60 && second >= 0 && second < 60 &&
                      part[2] <= days_in_month(part[0], (int32_t)part[1]) &&
                      civil_ms(part[0], (int32_t)part[1], (int32_t)part[2], out);
        if (exists)
            *out += part[3] * 3600000 + part[4] * 60000 + (int64_t)(second * 1000 + 0.5);
        else if (!sf_call_fail(call, i, SF_EVAL_DOMAIN))
            return false;
    }
    return true;
}

/* Boundaries of the unit between two times: 23:59 to 0:01 is one day. */
static bool boundaries(sf_time_unit unit, int64_t from, int64_t to, int64_t *out)
{
    int64_t step = fixed_ms(unit);
    sf_civil a = sf_civil_from_ms(from), b = sf_civil_from_ms(to);
    switch (unit) {
    case SF_UNIT_WEEK: {
        int64_t x = sf_time_day(from), y = sf_time_day(to);
        *out = ((y - sf_time_isodow(y)) - (x - sf_time_isodow(x))) / 7;
        return true;
    }
    case SF_UNIT_MONTH: *out = ((int64_t)b.year - a.year) * 12 + b.month - a.month; return true;
    case SF_UNIT_QUARTER:
        *out = ((int64_t)b.year - a.year) * 4 + (b.month + 2) / 3 - (a.month + 2) / 3;
        return true;
    case SF_UNIT_YEAR: *out = (int64_t)b.year - a.year; return true;
    default: break;
    }
    return step && !__builtin_sub_overflow(sf_floor_div(to, step), sf_floor_div(from, step), out);
}

bool sf_fn_date_diff(sf_call *call)
{
    for (uint32_t i = 0; i < call->rows; i++) {
        sf_time_unit unit;
        int64_t *out = &SF_OUT(call, int64_t)[i];
        *out = 0;
        if (!sf_call_is_null(call, i) &&
            !(sf_time_unit_of(sf_operand_str(&call->args[0], i), &unit) &&
              boundaries(unit, sf_operand_i64(&call->args[1], i), sf_operand_i64(&call->args[2], i),
                         out)) &&
            !sf_call_fail(call, i, SF_EVAL_DOMAIN))
            return false;
    }
    return true;
}

/* ---- time zones ---- */

/* The zone of a lane: a constant one is looked up once. */
static bool zone_of(const sf_call *call, uint32_t arg, uint32_t lane, sf_zone *zone, bool *known)
{
    if (lane == 0 || call->args[arg].column)
        *known = sf_zone_find(sf_operand_str(&call->args[arg], lane), zone);
    return *known;
}

typedef bool in_zone(const sf_call *call, uint32_t lane, const sf_zone *zone, int64_t *out);

static bool by_zone(sf_call *call, uint32_t arg, in_zone *each)
{
    sf_zone zone = {0};
    bool known = false;
    for (uint32_t i = 0; i < call->rows; i++) {
        int64_t *out = &SF_OUT(call, int64_t)[i];
        *out = 0;
        bool found = (!sf_call_is_null(call, i) || !call->args[arg].column) &&
                     zone_of(call, arg, i, &zone, &known);
        if (sf_call_is_null(call, i) || (found && each(call, i, &zone, out)))
            continue;
        if (!sf_call_fail(call, i, found ? SF_EVAL_OVERFLOW : SF_EVAL_DOMAIN))
            return false;
    }
    return true;
}

static bool to_local(const sf_call *call, uint32_t lane, const sf_zone *zone, int64_t *out)
{
    int64_t utc_ms = sf_operand_i64(&call->args[1], lane);
    return sf_add_i64(utc_ms, sf_zone_offset_ms(zone, utc_ms), out);
}

static bool to_utc(const sf_call *call, uint32_t lane, const sf_zone *zone, int64_t *out)
{
    return sf_zone_to_utc(zone, sf_operand_i64(&call->args[1], lane), out);
}

static bool truncate_local(const sf_call *call, uint32_t lane, const sf_zone *zone, int64_t *out)
{
    sf_time_unit unit;
    int64_t local;
    return sf_time_unit_of(sf_operand_str(&call->args[0], lane), &unit) &&
           to_local(call, lane, zone, &local) && truncated(unit, local, &local) &&
           sf_zone_to_utc(zone, local, out);
}

bool sf_fn_timezone(sf_call *call)
{
    return by_zone(call, 0, to_local);
}

bool sf_fn_from_timezone(sf_call *call)
{
    return by_zone(call, 0, to_utc);
}

bool sf_fn_date_trunc_zone(sf_call *call)
{
    return by_zone(call, 2, truncate_local);
}
