/* Reading stored rows: texts, equality, hashes, order, columns out of rows. */
#include "state/internal.h"

sf_str sf_row_text(const sf_pages *pages, const uint8_t *base, const uint8_t *row,
                   const sf_row_column *column)
{
    const text_lane *lane = (const text_lane *)(const void *)(row + column->at);
    if (SF_LIKELY(lane->len != TEXT_LONG))
        return (sf_str){(const char *)base + lane->at, lane->len};
    text_long place;
    memcpy(&place, base + lane->at, sizeof place);
    return (sf_str){(const char *)pages->base[place.page_no] + place.at, place.len};
}

uint32_t sf_row_heap(const sf_layout *layout, const uint8_t *base, const uint8_t *row,
                     uint32_t *blob_no)
{
    uint32_t bytes = 0;
    *blob_no = UINT32_MAX;
    for (uint32_t c = 0; layout->has_text && c < layout->column_count; c++) {
        if (!layout->columns[c].text)
            continue;
        const text_lane *lane = (const text_lane *)(const void *)(row + layout->columns[c].at);
        if (lane->len == TEXT_LONG) {
            text_long place;
            memcpy(&place, base + lane->at, sizeof place);
            *blob_no = place.page_no;
            bytes += (uint32_t)sizeof place;
        } else {
            bytes += lane->len;
        }
    }
    return bytes;
}

uint32_t sf_row_heap_first(const sf_layout *layout, const uint8_t *row)
{
    for (uint32_t c = 0; c < layout->column_count; c++) {
        if (!layout->columns[c].text)
            continue;
        const text_lane *lane = (const text_lane *)(const void *)(row + layout->columns[c].at);
        if (lane->len)
            return lane->at;
    }
    return SF_PAGE_BYTES;
}

/* ---- equality: as GROUP BY sees it ---- */

/* One value, or the same NaN. */
static bool floats_equal(float a, float b)
{
    uint32_t bits_a, bits_b;
    memcpy(&bits_a, &a, sizeof bits_a);
    memcpy(&bits_b, &b, sizeof bits_b);
    return a == b || bits_a == bits_b;
}

static bool doubles_equal(double a, double b)
{
    uint64_t bits_a, bits_b;
    memcpy(&bits_a, &a, sizeof bits_a);
    memcpy(&bits_b, &b, sizeof bits_b);
    return a == b || bits_a == bits_b;
}

static inline bool lanes_equal(const sf_row_column *column, const void *a, const void *b)
{
#define SAME(T) (*(const T *)a == *(const T *)b)
    if (column->type == SF_TYPE_F64)
        return doubles_equal(*(const double *)a, *(const double *)b);
    if (column->type == SF_TYPE_F32)
        return floats_equal(*(const float *)a, *(const float *)b);
    switch (column->bytes) {
    case 1: return SAME(uint8_t);
    case 2: return SAME(uint16_t);
    case 4: return SAME(uint32_t);
    default: return SAME(uint64_t);
    }
#undef SAME
}

bool sf_row_equals_batch(const sf_layout *layout, const sf_pages *pages, sf_ref ref,
                         const sf_batch *batch, const uint32_t *columns, uint32_t from, uint32_t to,
                         uint32_t row)
{
    const uint8_t *base = pages->base[ref_page(ref)];
    const uint8_t *stored = row_in(layout, (uint8_t *)base, ref_slot(ref));
    for (uint32_t c = from; c < to; c++) {
        const sf_row_column *column = &layout->columns[c];
        const sf_column *given = batch->columns[columns[c]];
        bool null = row_is_null(stored, column);
        if (null == sf_column_is_valid(given, row))
            return false;
        if (null)
            continue;
        if (column->text) {
            if (!sf_str_eq(sf_row_text(pages, base, stored, column), sf_column_str(given, row)))
                return false;
        } else if (!lanes_equal(column, stored + column->at,
                                (const uint8_t *)given->data + (size_t)row * column->bytes)) {
            return false;
        }
    }
    return true;
}

bool sf_row_equals_row(const sf_layout *layout, const sf_pages *pages, sf_ref a, sf_ref b,
                       uint32_t from, uint32_t to)
{
    const uint8_t *base_a = pages->base[ref_page(a)], *base_b = pages->base[ref_page(b)];
    const uint8_t *row_a = row_at(layout, pages, a), *row_b = row_at(layout, pages, b);
    for (uint32_t c = from; c < to; c++) {
        const sf_row_column *column = &layout->columns[c];
        bool null = row_is_null(row_a, column);
        if (null != row_is_null(row_b, column))
            return false;
        if (null)
            continue;
        bool same = column->text ? sf_str_eq(sf_row_text(pages, base_a, row_a, column),
                                             sf_row_text(pages, base_b, row_b, column))
                                 : lanes_equal(column, row_a + column->at, row_b + column->at);
        if (!same)
            return false;
    }
    return true;
}

/* ---- hash: what sf_batch_hash gives for the same values ---- */

uint64_t sf_row_hash(const sf_layout *layout, const sf_pages *pages, sf_ref ref, uint32_t from,
                     uint32_t to)
{
    const uint8_t *base = pages->base[ref_page(ref)];
    const uint8_t *row = row_at(layout, pages, ref);
    uint64_t hash = 0;
    for (uint32_t c = from; c < to; c++) {
        const sf_row_column *column = &layout->columns[c];
        uint64_t part = row_is_null(row, column) ? SF_HASH_NULL
                        : column->text ? sf_hash_text(sf_row_text(pages, base, row, column))
                                       : sf_hash_lane(column->type, row + column->at);
        hash = c == from ? part : sf_hash_mix(hash, part);
    }
    return hash;
}

/* ---- order ---- */

static int compare_doubles(double a, double b)
{
    if (a < b || a > b)
        return a < b ? -1 : 1;
    return (a != a) - (b != b); /* not a number: behind all numbers */
}

static int compare_lanes(sf_type type, const void *a, const void *b)
{
#define ORDER(T) (*(const T *)a > *(const T *)b) - (*(const T *)a < *(const T *)b)
    switch (type) {
    case SF_TYPE_BOOL:
    case SF_TYPE_U8: return ORDER(uint8_t);
    case SF_TYPE_I8: return ORDER(int8_t);
    case SF_TYPE_I16: return ORDER(int16_t);
    case SF_TYPE_U16: return ORDER(uint16_t);
    case SF_TYPE_I32: return ORDER(int32_t);
    case SF_TYPE_U32: return ORDER(uint32_t);
    case SF_TYPE_U64: return ORDER(uint64_t);
    case SF_TYPE_F32: return compare_doubles(*(const float *)a, *(const float *)b);
    case SF_TYPE_F64: return compare_doubles(*(const double *)a, *(const double *)b);
    default: return ORDER(int64_t);
    }
#undef ORDER
}

int sf_row_compare(const sf_layout *layout, const sf_pages *pages, sf_ref a, sf_ref b,
                   uint32_t column_no)
{
    const sf_row_column *column = &layout->columns[column_no];
    const uint8_t *row_a = row_at(layout, pages, a), *row_b = row_at(layout, pages, b);
    bool null_a = row_is_null(row_a, column), null_b = row_is_null(row_b, column);
    if (null_a || null_b)
        return (int)null_b - (int)null_a;
    if (!column->text)
        return compare_lanes(column->type, row_a + column->at, row_b + column->at);
    return sf_str_cmp(sf_row_text(pages, pages->base[ref_page(a)], row_a, column),
                      sf_row_text(pages, pages->base[ref_page(b)], row_b, column));
}

/* ---- columns out of rows ---- */

enum { GATHER_AHEAD = 16 };

/* Marks NULLs; true when there is any. */
static bool gather_nulls(const sf_layout *layout, const sf_pages *pages, uint32_t column_no,
                         const sf_ref *refs, uint32_t count, uint64_t *valid)
{
    const sf_row_column *column = &layout->columns[column_no];
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        if (i + GATHER_AHEAD < count && refs[i + GATHER_AHEAD])
            __builtin_prefetch(row_at(layout, pages, refs[i + GATHER_AHEAD]));
        if (refs[i] && !row_is_null(row_at(layout, pages, refs[i]), column))
            continue;
        sf_valid_clear(valid, i);
        any = true;
    }
    return any;
}

static void gather_fixed(const sf_layout *layout, const sf_pages *pages, uint32_t column_no,
                         const sf_ref *refs, uint32_t count, void *lanes)
{
    uint32_t at = layout->columns[column_no].at;
#define GATHER(T)                                                                                  \
    {                                                                                              \
        T *out = lanes;                                                                            \
        for (uint32_t i = 0; i < count; i++)                                                       \
            out[i] =                                                                               \
                refs[i] ? *(const T *)(const void *)(row_at(layout, pages, refs[i]) + at) : 0;     \
    }
    switch (layout->columns[column_no].bytes) {
    case 1: GATHER(uint8_t) break;
    case 2: GATHER(uint16_t) break;
    case 4: GATHER(uint32_t) break;
    default: GATHER(uint64_t) break;
    }
#undef GATHER
}

static sf_str text_at(const sf_layout *layout, const sf_pages *pages, uint32_t column_no,
                      sf_ref ref)
{
    if (!ref)
        return (sf_str){0};
    return sf_row_text(pages, pages->base[ref_page(ref)], row_at(layout, pages, ref),
                       &layout->columns[column_no]); /* of NULL: empty */
}

static bool gather_texts(const sf_layout *layout, const sf_pages *pages, uint32_t column_no,
                         const sf_ref *refs, uint32_t count, sf_column *out)
{
    size_t far_bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t len = text_at(layout, pages, column_no, refs[i]).len;
        far_bytes += len > SF_VIEW_INLINE ? len : 0;
    }
    if (far_bytes > UINT32_MAX)
        return false;
    sf_buffer *buffer = far_bytes ? sf_buffer_new(far_bytes) : NULL;
    if (far_bytes && (!buffer || !sf_column_set_buffers(out, &buffer, 1))) {
        sf_buffer_unref(buffer);
        return false;
    }
    sf_view *views = sf_column_lanes(out);
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        sf_str text = text_at(layout, pages, column_no, refs[i]);
        if (text.len <= SF_VIEW_INLINE) {
            views[i] = sf_view_short(text.data, (uint32_t)text.len);
            continue;
        }
        SF_ASSERT(buffer); /* such a text has been counted */
        memcpy(buffer->data + used, text.data, text.len);
        views[i] = sf_view_far(text.data, (uint32_t)text.len, 0, used);
        used += (uint32_t)text.len;
    }
    sf_buffer_unref(buffer); /* the column holds it */
    return true;
}

sf_column *sf_rows_gather(const sf_layout *layout, const sf_pages *pages, uint32_t column_no,
                          const sf_ref *refs, uint32_t count)
{
    SF_ASSERT(column_no < layout->column_count);
    const sf_row_column *column = &layout->columns[column_no];
    sf_column *out = sf_column_new(column->type, count, true);
    if (!out)
        return NULL;
    if (!gather_nulls(layout, pages, column_no, refs, count, sf_column_valid(out))) {
        sf_buffer_unref(out->valid_buffer);
        out->valid_buffer = NULL;
        out->valid = NULL;
    }
    if (!column->text) {
        gather_fixed(layout, pages, column_no, refs, count, sf_column_lanes(out));
    } else if (!gather_texts(layout, pages, column_no, refs, count, out)) {
        sf_column_unref(out);
        return NULL;
    }
    return out;
}
