/* Comparisons of every pair of types that compare, and what is built on them. */
#include "expr/kernel.h"

#include <math.h>

/* ---- numbers ---- */

#define DEFINE_COMPARE(NAME, T, OP)                                                                \
    static void NAME(const T *restrict a, bool a_constant, const T *restrict b, bool b_constant,   \
                     uint32_t rows, uint8_t *restrict out)                                         \
    {                                                                                              \
        if (a_constant) {                                                                          \
            const T x = a[0];                                                                      \
            for (uint32_t i = 0; i < rows; i++)                                                    \
                out[i] = x OP b[b_constant ? 0 : i];                                               \
        } else if (b_constant) {                                                                   \
            const T y = b[0];                                                                      \
            for (uint32_t i = 0; i < rows; i++)                                                    \
                out[i] = a[i] OP y;                                                                \
        } else {                                                                                   \
            for (uint32_t i = 0; i < rows; i++)                                                    \
                out[i] = a[i] OP b[i];                                                             \
        }                                                                                          \
    }
#define DEFINE_COMPARES(PREFIX, T)                                                                 \
    DEFINE_COMPARE(PREFIX##_eq, T, ==)                                                             \
    DEFINE_COMPARE(PREFIX##_ne, T, !=)                                                             \
    DEFINE_COMPARE(PREFIX##_lt, T, <)                                                              \
    DEFINE_COMPARE(PREFIX##_le, T, <=)                                                             \
    static void PREFIX##_compare(sf_cmp cmp, const sf_operand *a, const sf_operand *b,             \
                                 uint32_t rows, uint8_t *out)                                      \
    {                                                                                              \
        const T *x = sf_operand_lanes(a), *y = sf_operand_lanes(b);                                \
        bool xc = !a->column, yc = !b->column;                                                     \
        switch (cmp) {                                                                             \
        case SF_CMP_EQ: PREFIX##_eq(x, xc, y, yc, rows, out); break;                               \
        case SF_CMP_NE: PREFIX##_ne(x, xc, y, yc, rows, out); break;                               \
        case SF_CMP_LT: PREFIX##_lt(x, xc, y, yc, rows, out); break;                               \
        case SF_CMP_LE: PREFIX##_le(x, xc, y, yc, rows, out); break;                               \
        case SF_CMP_GT: PREFIX##_lt(y, yc, x, xc, rows, out); break;                               \
        case SF_CMP_GE: PREFIX##_le(y, yc, x, xc, rows, out); break;                               \
        }                                                                                          \
    }
DEFINE_COMPARES(i64, int64_t)
DEFINE_COMPARES(f64, double)
DEFINE_COMPARES(bool, uint8_t)

static inline bool ordered(sf_cmp cmp, int order)
{
    switch (cmp) {
    case SF_CMP_EQ: return order == 0;
    case SF_CMP_NE: return order != 0;
    case SF_CMP_LT: return order < 0;
    case SF_CMP_LE: return order <= 0;
    case SF_CMP_GT: return order > 0;
    case SF_CMP_GE: return order >= 0;
    }
    return false;
}

/* By value, not by rounding one to the other's type. */
int sf_compare_i64_f64(int64_t a, double b)
{
    if (!(b < 0x1p63)) /* NaN, which no column holds, sorts last */
        return -1;
    if (b < -0x1p63)
        return 1;
    int64_t whole = (int64_t)b; /* cut toward zero */
    if (a != whole)
        return a < whole ? -1 : 1;
    double rest = b - (double)whole;
    return rest > 0 ? -1 : rest < 0 ? 1 : 0;
}

static sf_cmp mirrored(sf_cmp cmp)
{
    switch (cmp) {
    case SF_CMP_LT: return SF_CMP_GT;
    case SF_CMP_LE: return SF_CMP_GE;
    case SF_CMP_GT: return SF_CMP_LT;
    case SF_CMP_GE: return SF_CMP_LE;
    default: return cmp;
    }
}

/* Longs against one fraction: the same as against a whole number beside it. */
static void mixed_constant(sf_cmp cmp, const sf_operand *longs, double constant, uint32_t rows,
                           uint8_t *out)
{
    sf_literal whole = {0};
    sf_operand bound = {.type = SF_TYPE_I64, .constant = &whole};
    bool exact = constant == floor(constant);
    if (constant >= 0x1p63 || constant < -0x1p63 || (!exact && cmp <= SF_CMP_NE)) {
        memset(out, ordered(cmp, constant >= 0x1p63 ? -1 : 1), rows);
        if (!exact && cmp <= SF_CMP_NE)
            memset(out, cmp == SF_CMP_NE, rows);
        return;
    }
    whole.as.i64 = (int64_t)floor(constant);
    if (!exact && cmp == SF_CMP_LT) /* x < 2.5 is x <= 2 */
        cmp = SF_CMP_LE;
    else if (!exact && cmp == SF_CMP_GE) /* x >= 2.5 is x > 2 */
        cmp = SF_CMP_GT;
    i64_compare(cmp, longs, &bound, rows, out);
}

static void mixed_compare(sf_cmp cmp, const sf_operand *longs, const sf_operand *doubles,
                          uint32_t rows, uint8_t *out)
{
    if (!doubles->column) {
        mixed_constant(cmp, longs, doubles->constant->as.f64, rows, out);
        return;
    }
    for (uint32_t i = 0; i < rows; i++)
        out[i] = ordered(cmp, sf_compare_i64_f64(sf_operand_i64(longs, i),
                                                 SF_LANES(doubles->column, double)[i]));
}

/* ---- text: by bytes ---- */

static inline uint64_t view_head(const sf_view *view) /* length and first four bytes */
{
    uint64_t word;
    memcpy(&word, view, sizeof word);
    return word;
}
static inline uint64_t view_tail(const sf_view *view)
{
    uint64_t word;
    memcpy(&word, (const char *)view + 8, sizeof word);
    return word;
}
static inline uint32_t view_prefix(const sf_view *view) /* orders as the bytes do */
{
    uint32_t word;
    memcpy(&word, view->u.inlined, sizeof word);
    return __builtin_bswap32(word);
}

static void text_equal_constant(const sf_column *column, sf_str text, bool wanted, uint32_t rows,
                                uint8_t *restrict out)
{
    const sf_view *views = column->data;
    if (text.len > UINT32_MAX) {
        memset(out, !wanted, rows);
        return;
    }
    sf_view view = text.len <= SF_VIEW_INLINE ? sf_view_short(text.data, (uint32_t)text.len)
                                              : sf_view_far(text.data, (uint32_t)text.len, 0, 0);
    uint64_t head = view_head(&view), tail = view_tail(&view);
    if (text.len <= SF_VIEW_INLINE) {
        for (uint32_t i = 0; i < rows; i++)
            out[i] =
                (((view_head(&views[i]) ^ head) | (view_tail(&views[i]) ^ tail)) == 0) == wanted;
        return;
    }
    for (uint32_t i = 0; i < rows; i++) {
        bool same = view_head(&views[i]) == head &&
                    memcmp(sf_column_str(column, i).data, text.data, text.len) == 0;
        out[i] = same == wanted;
    }
}

static bool text_equal(const sf_column *a, const sf_column *b, uint32_t row)
{
    const sf_view *x = SF_LANES(a, sf_view) + row, *y = SF_LANES(b, sf_view) + row;
    if (view_head(x) != view_head(y))
        return false;
    if (x->len <= SF_VIEW_INLINE)
        return view_tail(x) == view_tail(y);
    return memcmp(sf_column_str(a, row).data, sf_column_str(b, row).data, x->len) == 0;
}

/* The first four bytes decide most orders; equal ones need the whole texts. */
static void text_order(sf_cmp cmp, const sf_operand *a, const sf_operand *b, uint32_t rows,
                       uint8_t *out)
{
    const sf_view *x = a->column ? a->column->data : NULL, *y = b->column ? b->column->data : NULL;
    sf_view fixed = {0};
    if (!x || !y) {
        sf_str text = x ? b->constant->as.str : a->constant->as.str;
        memcpy(fixed.u.inlined, text.data, text.len < 4 ? text.len : 4);
    }
    uint32_t constant = view_prefix(&fixed);
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t p = x ? view_prefix(&x[i]) : constant, q = y ? view_prefix(&y[i]) : constant;
        int order = (p > q) - (p < q);
        if (order == 0)
            order = sf_str_cmp(sf_operand_str(a, i), sf_operand_str(b, i));
        out[i] = ordered(cmp, order);
    }
}

static void text_compare(sf_cmp cmp, const sf_operand *a, const sf_operand *b, uint32_t rows,
                         uint8_t *out)
{
    if (cmp <= SF_CMP_NE && a->column && b->column) {
        for (uint32_t i = 0; i < rows; i++)
            out[i] = text_equal(a->column, b->column, i) == (cmp == SF_CMP_EQ);
    } else if (cmp <= SF_CMP_NE && a->column) {
        text_equal_constant(a->column, b->constant->as.str, cmp == SF_CMP_EQ, rows, out);
    } else if (cmp <= SF_CMP_NE && b->column) {
        text_equal_constant(b->column, a->constant->as.str, cmp == SF_CMP_EQ, rows, out);
    } else {
        text_order(cmp, a, b, rows, out);
    }
}

/* ---- dispatch ---- */

void sf_compare_lanes(sf_cmp cmp, const sf_operand *a, const sf_operand *b, uint32_t rows,
                      uint8_t *out)
{
    bool a_double = a->type == SF_TYPE_F64, b_double = b->type == SF_TYPE_F64;
    if (a->type == SF_TYPE_UTF8)
        text_compare(cmp, a, b, rows, out);
    else if (a->type == SF_TYPE_BOOL)
        bool_compare(cmp, a, b, rows, out);
    else if (a_double && b_double)
        f64_compare(cmp, a, b, rows, out);
    else if (b_double)
        mixed_compare(cmp, a, b, rows, out);
    else if (a_double)
        mixed_compare(mirrored(cmp), b, a, rows, out);
    else
        i64_compare(cmp, a, b, rows, out);
}

#define DEFINE_CMP(NAME, CMP)                                                                      \
    bool sf_fn_##NAME(sf_call *call)                                                               \
    {                                                                                              \
        sf_compare_lanes(CMP, &call->args[0], &call->args[1], call->rows, SF_OUT(call, uint8_t));  \
        return true;                                                                               \
    }
DEFINE_CMP(eq, SF_CMP_EQ)
DEFINE_CMP(ne, SF_CMP_NE)
DEFINE_CMP(lt, SF_CMP_LT)
DEFINE_CMP(le, SF_CMP_LE)
DEFINE_CMP(gt, SF_CMP_GT)
DEFINE_CMP(ge, SF_CMP_GE)

/* ---- with NULL rules of their own ---- */

/* -1, 0, 1 of two present values of one type. */
int sf_operand_order(const sf_operand *a, uint32_t a_lane, const sf_operand *b, uint32_t b_lane)
{
    switch (a->type) {
    case SF_TYPE_UTF8: return sf_str_cmp(sf_operand_str(a, a_lane), sf_operand_str(b, b_lane));
    case SF_TYPE_F64: {
        double x = sf_operand_f64(a, a_lane), y = sf_operand_f64(b, b_lane);
        return (x > y) - (x < y);
    }
    case SF_TYPE_BOOL: return sf_operand_bool(a, a_lane) - sf_operand_bool(b, b_lane);
    default: {
        int64_t x = sf_operand_i64(a, a_lane), y = sf_operand_i64(b, b_lane);
        return (x > y) - (x < y);
    }
    }
}

static bool constant_null(const sf_operand *operand)
{
    return !operand->column && operand->constant->is_null;
}

/* Adds to three-valued bytes: is_true and is_false of one comparison, both 0 where unknown. */
static void compare_known(const sf_call *call, sf_cmp cmp, uint32_t left, uint32_t right,
                          uint8_t *is_true, uint8_t *is_false)
{
    const sf_operand *a = &call->args[left], *b = &call->args[right];
    if (constant_null(a) || constant_null(b)) {
        memset(is_true, 0, call->rows);
        memset(is_false, 0, call->rows);
        return;
    }
    sf_compare_lanes(cmp, a, b, call->rows, is_true);
    const uint64_t *va = sf_operand_valid(a), *vb = sf_operand_valid(b);
    for (uint32_t i = 0; i < call->rows; i++) {
        uint8_t known = (uint8_t)((!va || (va[i >> 6] >> (i & 63) & 1)) &&
                                  (!vb || (vb[i >> 6] >> (i & 63) & 1)));
        is_false[i] = (is_true[i] ^ 1) & known;
        is_true[i] &= known;
    }
}

static bool store_truth(sf_call *call, const uint8_t *is_true, const uint8_t *is_false)
{
    uint8_t *out = SF_OUT(call, uint8_t), known = 1;
    for (uint32_t i = 0; i < call->rows; i++) {
        out[i] = is_true[i];
        known &= is_true[i] | is_false[i];
    }
    for (uint32_t i = 0; !known && i < call->rows; i++)
        if (!(is_true[i] | is_false[i]) && !sf_call_null(call, i))
            return false;
    return true;
}

bool sf_fn_between(sf_call *call)
{
    size_t rows = call->rows;
    uint8_t *low_true = sf_alloc(4 * rows + 1);
    if (!low_true)
        return false;
    uint8_t *low_false = low_true + rows, *high_true = low_false + rows,
            *high_false = high_true + rows;
    compare_known(call, SF_CMP_GE, 0, 1, low_true, low_false);
    compare_known(call, SF_CMP_LE, 0, 2, high_true, high_false);
    for (uint32_t i = 0; i < rows; i++) {
        low_true[i] &= high_true[i];
        low_false[i] |= high_false[i];
    }
    bool ok = store_truth(call, low_true, low_false);
    sf_free(low_true);
    return ok;
}

/* Long lists of constants of the value's own type come sorted, NULLs last (resolve.c). */
static bool in_sorted(const sf_call *call, uint32_t lane, uint32_t items)
{
    uint32_t low = 1, high = 1 + items;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = sf_operand_order(&call->args[0], lane, &call->args[middle], 0);
        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

static bool sorted_list(sf_call *call)
{
    uint32_t items = call->arg_count - 1;
    while (items && call->args[items].constant->is_null)
        items--;
    bool some_null = items < call->arg_count - 1;
    for (uint32_t i = 0; i < call->rows; i++) {
        bool null = sf_operand_is_null(&call->args[0], i);
        bool found = !null && in_sorted(call, i, items);
        SF_OUT(call, uint8_t)[i] = found;
        if ((null || (!found && some_null)) && !sf_call_null(call, i))
            return false;
    }
    return true;
}

bool sf_fn_in_list(sf_call *call)
{
    if (sf_in_list_is_sorted(call->expr))
        return sorted_list(call);
    size_t rows = call->rows;
    uint8_t *any_true = sf_alloc(4 * rows + 1);
    if (!any_true)
        return false;
    uint8_t *all_false = any_true + rows, *is_true = all_false + rows, *is_false = is_true + rows;
    memset(any_true, 0, rows);
    memset(all_false, 1, rows);
    for (uint32_t k = 1; k < call->arg_count; k++) {
        compare_known(call, SF_CMP_EQ, 0, k, is_true, is_false);
        for (uint32_t i = 0; i < rows; i++) {
            any_true[i] |= is_true[i];
            all_false[i] &= is_false[i];
        }
    }
    bool ok = store_truth(call, any_true, all_false);
    sf_free(any_true);
    return ok;
}

static void distinct_lanes(const sf_call *call, bool wanted)
{
    const sf_operand *a = &call->args[0], *b = &call->args[1];
    uint8_t *out = SF_OUT(call, uint8_t);
    if (constant_null(a) || constant_null(b)) {
        const sf_operand *other = constant_null(a) ? b : a;
        for (uint32_t i = 0; i < call->rows; i++)
            out[i] = !sf_operand_is_null(other, i) == wanted;
        return;
    }
    sf_compare_lanes(SF_CMP_NE, a, b, call->rows, out);
    for (uint32_t i = 0; i < call->rows; i++) {
        bool a_null = sf_operand_is_null(a, i), b_null = sf_operand_is_null(b, i);
        bool differs = a_null || b_null ? a_null != b_null : out[i];
        out[i] = differs == wanted;
    }
}

bool sf_fn_distinct(sf_call *call)
{
    distinct_lanes(call, true);
    return true;
}

bool sf_fn_not_distinct(sf_call *call)
{
    distinct_lanes(call, false);
    return true;
}

/* ---- NULL and truth tests ---- */

static void null_lanes(const sf_call *call, bool wanted)
{
    uint8_t *out = SF_OUT(call, uint8_t);
    const uint64_t *valid = sf_operand_valid(&call->args[0]);
    if (!valid) {
        memset(out, !wanted, call->rows);
        return;
    }
    for (uint32_t i = 0; i < call->rows; i++)
        out[i] = (uint8_t)((valid[i >> 6] >> (i & 63) & 1) ^ wanted);
}

bool sf_fn_is_null(sf_call *call)
{
    null_lanes(call, true);
    return true;
}

bool sf_fn_is_not_null(sf_call *call)
{
    null_lanes(call, false);
    return true;
}

static bool truth_lanes(const sf_call *call, bool value, bool negated)
{
    uint8_t *out = SF_OUT(call, uint8_t);
    for (uint32_t i = 0; i < call->rows; i++) {
        bool is =
            !sf_operand_is_null(&call->args[0], i) && sf_operand_bool(&call->args[0], i) == value;
        out[i] = is != negated;
    }
    return true;
}

bool sf_fn_is_true(sf_call *call)
{
    return truth_lanes(call, true, false);
}

bool sf_fn_is_not_true(sf_call *call)
{
    return truth_lanes(call, true, true);
}

bool sf_fn_is_false(sf_call *call)
{
    return truth_lanes(call, false, false);
}

bool sf_fn_is_not_false(sf_call *call)
{
    return truth_lanes(call, false, true);
}

bool sf_fn_not(sf_call *call)
{
    const uint8_t *restrict a = sf_operand_lanes(&call->args[0]);
    uint8_t *restrict out = SF_OUT(call, uint8_t);
    for (uint32_t i = 0; i < call->rows; i++)
        out[i] = a[i] ^ 1;
    return true;
}
