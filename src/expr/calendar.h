/* calendar.h: parts of a time. Private to this module. */
#ifndef SF_EXPR_CALENDAR_H
#define SF_EXPR_CALENDAR_H

#include "text/text.h"

typedef enum {
    SF_UNIT_MILLISECOND,
    SF_UNIT_SECOND,
    SF_UNIT_MINUTE,
    SF_UNIT_HOUR,
    SF_UNIT_DAY,
    SF_UNIT_WEEK,
    SF_UNIT_MONTH,
    SF_UNIT_QUARTER,
    SF_UNIT_YEAR,
    SF_UNIT_DECADE,
    SF_UNIT_CENTURY,
    SF_UNIT_MILLENNIUM,
    SF_UNIT_DOW, /* Sunday 0 .. Saturday 6 */
    SF_UNIT_ISODOW,
    SF_UNIT_DOY,
    SF_UNIT_ISOYEAR,
    SF_UNIT_EPOCH,
} sf_time_unit;

bool sf_time_unit_of(sf_str name, sf_time_unit *out); /* any case, singular or plural */
bool sf_time_unit_has_fraction(sf_time_unit unit);    /* EXTRACT gives a Double */

int64_t sf_time_day(int64_t ms); /* since 1970 */
int32_t sf_time_isodow(int64_t day);
int32_t sf_time_doy(int64_t day, const sf_civil *civil);
void sf_time_iso_week(int64_t day, int32_t *year, int32_t *week);

#endif
