/* Time zones: the table that scripts/zones.py makes, and lookups in it. */
#include "expr/zone.h"

#include "text/text.h"

enum { DAY_S = 86400 };

typedef struct {
    int32_t at, offset; /* seconds since 1970; seconds ahead of UTC from then on */
} change;

/* The week-th (5: last) weekday of a month, Sunday 0, at a second of what clocks show. */
typedef struct {
    int32_t month, week, weekday, second;
} bound;

typedef struct sf_zone_body {
    uint32_t first, count;    /* changes */
    int32_t before;           /* the offset before the first */
    int32_t standard, summer; /* after the last */
    bound start, end;         /* of summer time; month 0: there is none */
} body;

static const change changes[] = {
#define C(at, offset) {at, offset},
#include "expr/zones.def"
};

static const body bodies[] = {
#define B(first, count, before, standard, summer, m1, w1, d1, s1, m2, w2, d2, s2)                  \
    {first, count, before, standard, summer, {m1, w1, d1, s1}, {m2, w2, d2, s2}},
#include "expr/zones.def"
};

static const struct {
    const char *name;
    uint32_t body;
} names[] = {
#define N(name, body) {name, body},
#include "expr/zones.def"
};

/* ---- names ---- */

static int order_nocase(sf_str a, sf_str b)
{
    for (size_t i = 0; i < a.len && i < b.len; i++) {
        int x = (unsigned char)a.data[i], y = (unsigned char)b.data[i];
        x += x >= 'A' && x <= 'Z' ? 'a' - 'A' : 0;
        y += y >= 'A' && y <= 'Z' ? 'a' - 'A' : 0;
        if (x != y)
            return x - y;
    }
    return (a.len > b.len) - (a.len < b.len);
}

static bool digits_of(sf_str text, size_t at, size_t count, int32_t *out)
{
    *out = 0;
    if (at + count > text.len)
        return false;
    for (size_t k = at; k < at + count; k++) {
        if (text.data[k] < '0' || text.data[k] > '9')
            return false;
        *out = *out * 10 + (text.data[k] - '0');
    }
    return true;
}

/* Z, +hh, +hhmm, +hh:mm. */
static bool offset_of(sf_str zone, int64_t *ms)
{
    int32_t hours, minutes = 0;
    *ms = 0;
    if (sf_str_eq_nocase(zone, SF_STR("z")))
        return true;
    if (zone.len < 3 || (zone.data[0] != '+' && zone.data[0] != '-') ||
        !digits_of(zone, 1, 2, &hours))
        return false;
    size_t at = zone.len > 3 && zone.data[3] == ':' ? 4 : 3;
    if (at < zone.len || at == 4) {
        if (at + 2 != zone.len || !digits_of(zone, at, 2, &minutes))
            return false;
    }
    *ms = ((int64_t)hours * 60 + minutes) * 60000;
    if (zone.data[0] == '-')
        *ms = -*ms;
    return hours < 24 && minutes < 60;
}

bool sf_zone_find(sf_str name, sf_zone *out)
{
    size_t low = 0, high = SF_COUNT_OF(names);
    name = sf_text_trim(name);
    *out = (sf_zone){0};
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = order_nocase(name, sf_str_of(names[middle].name));
        if (order == 0) {
            out->body = &bodies[names[middle].body];
            return true;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return offset_of(name, &out->offset_ms);
}

/* ---- offsets ---- */

static int64_t bound_at(int64_t year, const bound *when, int32_t offset)
{
    int64_t first = sf_days_from_civil(year, when->month, 1);
    int64_t next = sf_days_from_civil(when->month == 12 ? year + 1 : year,
                                      when->month == 12 ? 1 : when->month + 1, 1);
    int64_t weekday = (first + 4) % 7; /* 1970-01-01 was a Thursday */
    weekday += weekday < 0 ? 7 : 0;
    int64_t day = first + (when->weekday - weekday + 7) % 7 + 7 * (when->week - 1);
    while (day >= next)
        day -= 7;
    return day * DAY_S + when->second - offset;
}

/* By the zone's rule for all years after its last change. */
static int32_t rule_offset(const body *zone, int64_t utc_s)
{
    if (!zone->start.month)
        return zone->standard;
    int64_t local_ms = (utc_s + zone->standard) * 1000;
    int64_t year = sf_civil_from_ms(local_ms).year;
    int64_t start = bound_at(year, &zone->start, zone->standard);
    int64_t end = bound_at(year, &zone->end, zone->summer);
    bool summer = start < end ? utc_s >= start && utc_s < end : utc_s >= start || utc_s < end;
    return summer ? zone->summer : zone->standard;
}

static int32_t offset_s(const body *zone, int64_t utc_s)
{
    const change *own = changes + zone->first;
    if (zone->count == 0)
        return utc_s < 0 ? zone->before : rule_offset(zone, utc_s);
    if (utc_s < own[0].at)
        return zone->before;
    if (utc_s >= own[zone->count - 1].at) {
        bool rule = zone->start.month != 0;
        return rule ? rule_offset(zone, utc_s) : own[zone->count - 1].offset;
    }
    uint32_t low = 0, high = zone->count - 1; /* own[low].at <= utc_s < own[high].at */
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (own[middle].at <= utc_s)
            low = middle;
        else
            high = middle;
    }
    return own[low].offset;
}

int64_t sf_zone_offset_ms(const sf_zone *zone, int64_t utc_ms)
{
    if (!zone->body)
        return zone->offset_ms;
    return (int64_t)offset_s(zone->body, sf_floor_div(utc_ms, 1000)) * 1000;
}

bool sf_zone_to_utc(const sf_zone *zone, int64_t local_ms, int64_t *utc_ms)
{
    const int64_t day = INT64_C(86400000);
    int64_t before = sf_zone_offset_ms(zone, sf_sat_add(local_ms, -day)), early, late;
    int64_t after = sf_zone_offset_ms(zone, sf_sat_add(local_ms, day));
    if (__builtin_sub_overflow(local_ms, before, &early) ||
        __builtin_sub_overflow(local_ms, after, &late))
        return false;
    bool second = sf_zone_offset_ms(zone, late) == after;
    *utc_ms = second ? late : early;
    return true;
}
