/* harness.h: expressions of tests written as text, evaluated every way there is.
 *
 * (name arg ...) calls, (and ...), (or ...), (case cond value ... else), (cast type x) and
 * (key x) build the other nodes. Leaves: 12, 1.5, 'text', true, false, null, @12 (Timestamp),
 * j'{"a":1}', and the columns of the sample batch by name. Underscores of names starting with is_
 * stand for blanks. */
#ifndef SF_TESTS_UNIT_EXPR_HARNESS_H
#define SF_TESTS_UNIT_EXPR_HARNESS_H

#include "expr/expr.h"
#include "unit/check.h"

/* Columns l m (Long), d x (Double), s r (String), b c (Bool), t u (Timestamp), j (Json). */
sf_batch *sample_batch(void);
sf_schema *sample_schema(void);

sf_status read_expr(sf_arena *arena, const char *text, const sf_expr **out, sf_error *err);

/* Lanes as "1|NULL|2.5". */
void put_lanes(sf_buf *out, const sf_column *column);

typedef struct {
    const char *expr, *lanes;
    const char *errors; /* "overflow@2 ..." in order; NULL: none */
} expr_row;
/* Over the sample batch: as a column, under selections, row by row, as a filter when Bool. */
void check_rows(const expr_row *rows, size_t count);

/* Constant expressions, which must fold to this one lane. */
typedef struct {
    const char *expr, *lane;
} value_row;
void check_values(const value_row *rows, size_t count);

typedef struct {
    const char *expr, *message, *hint; /* parts that must appear; hint NULL: any */
} refusal_row;
void check_refusals(const refusal_row *rows, size_t count);

/* Whether two columns show the same lanes. */
bool same_lanes(const sf_column *a, const sf_column *b);
/* expr over batch: full, under selections, single rows and as a filter agree, errors included. */
bool ways_agree(const sf_expr *expr, const sf_batch *batch, uint64_t seed);

#endif
