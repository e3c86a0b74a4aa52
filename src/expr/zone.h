/* zone.h: time zones: what clocks show where, and when that changes. Private to this module.
 *
 * Memory   All of it is constant. */
#ifndef SF_EXPR_ZONE_H
#define SF_EXPR_ZONE_H

#include "base/base.h"

typedef struct {
    const struct sf_zone_body *body; /* NULL: a fixed offset */
    int64_t offset_ms;
} sf_zone;

/* Names of the tz database in any case, and offsets: Z, +hh, +hhmm, +hh:mm. False: there is none. */
bool sf_zone_find(sf_str name, sf_zone *out);
/* How far clocks are ahead of UTC at a moment. */
int64_t sf_zone_offset_ms(const sf_zone *zone, int64_t utc_ms);
/* The moment at which clocks show this. What they show twice is taken the second time, what they
 * never show as they went before. False: out of range. */
bool sf_zone_to_utc(const sf_zone *zone, int64_t local_ms, int64_t *utc_ms);

#endif
