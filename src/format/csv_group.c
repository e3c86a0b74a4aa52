/* CSV rows column by column: one loop a column and type keeps the processor busy, where a row at a
 * time would branch at every cell. A value that is not as usual sends the rows back to be taken
 * one by one; nothing here counts or reports. */
#include "format/parser.h"

/* A column of the group: cell i stands at cells[i * stride], in rows[i]. */
typedef struct {
    const csv_row *rows;
    const csv_cell *cells;
    size_t stride;
    uint32_t count;
    const char *limit;
    uint64_t valid; /* bit i: lane i has a value */
} run;

static inline const char *run_cell(const run *g, uint32_t i, uint32_t *len)
{
    const csv_cell *cell = g->cells + i * g->stride;
    *len = cell->len;
    return g->rows[i].record + cell->start;
}

static bool take_strings(sf_parser *p, slot *s, run *g)
{
    rowset *r = &p->rows;
    sf_view *lanes = (sf_view *)s->lanes + r->row;
    const char *input = (const char *)p->in->data;
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t len;
        const char *at = run_cell(g, i, &len);
        if (SF_LIKELY(len <= SF_VIEW_INLINE)) {
            lanes[i] = view_of_padded(at, len);
            continue;
        }
        if (r->input_index < 0)
            r->input_index = rows_buffer(r, p->in);
        if (r->input_index < 0)
            return false;
        s->far = true;
        lanes[i] = sf_view_far(at, len, (uint32_t)r->input_index, (uint32_t)(at - input));
    }
    g->valid = UINT64_MAX;
    return true;
}

/* A cell of 1 to 8 digits with at most one point among them, in one word. False: it is another. */
static inline bool short_decimal(const char *at, uint32_t len, sf_decimal *out)
{
    /* The cell's bytes end at the top of the word; zeros fill in before them. */
    uint64_t x = (sf_load_u64(at) ^ SF_BYTES('0')) << (64 - 8 * len);
    uint64_t y = x ^ SF_BYTES('.' ^ '0');
    uint64_t point = (y - SF_BYTES(1)) & ~y & SF_BYTES(0x80);
    uint32_t places = 0;
    if (point) {
        /* What stands before the first point moves over it. */
        uint32_t bit = (uint32_t)__builtin_ctzll(point) - 7;
        uint64_t before = (UINT64_C(1) << bit) - 1;
        x = (x & ~(before | UINT64_C(0xff) << bit)) | (x & before) << 8;
        places = 7 - bit / 8;
        if (len == 1)
            return false;
    }
    if (((x + SF_BYTES(0x76)) | x) & SF_BYTES(0x80))
        return false;
    *out = (sf_decimal){
        .digits = sf_digits_sum(x), .exponent = -(int32_t)places, .integer = point == 0};
    return true;
}

/* A decimal in the loose form. */
static inline bool run_decimal(const run *g, const char *at, uint32_t len, sf_decimal *out)
{
    if (SF_LIKELY(len <= 8) && SF_LIKELY(short_decimal(at, len, out)))
        return true;
    return sf_scan_decimal(at, g->limit, true, out) == at + len;
}

static bool take_doubles(const rowset *r, slot *s, run *g)
{
    double *lanes = (double *)s->lanes + r->row;
    for (uint32_t i = 0; i < g->count; i++) {
        sf_decimal decimal;
        uint32_t len;
        const char *at = run_cell(g, i, &len);
        lanes[i] = 0;
        if (len == 0)
            continue;
        if (!run_decimal(g, at, len, &decimal) || !sf_decimal_quick_f64(&decimal, &lanes[i]))
            return false;
        g->valid |= UINT64_C(1) << i;
    }
    return true;
}

static bool take_longs(const rowset *r, slot *s, run *g)
{
    int64_t *lanes = (int64_t *)s->lanes + r->row;
    for (uint32_t i = 0; i < g->count; i++) {
        sf_decimal decimal;
        uint32_t len;
        const char *at = run_cell(g, i, &len);
        lanes[i] = s->counts ? 0 : r->stamp_ms;
        if (len == 0)
            continue;
        if (!run_decimal(g, at, len, &decimal) || !decimal.integer || decimal.inexact ||
            decimal.digits > INT64_MAX) {
            sf_str text = {at, len};
            if (s->kind != KIND_TIME || sf_parse_timestamp(text, &lanes[i]) != SF_PARSE_OK)
                return false;
        } else {
            int64_t whole = (int64_t)decimal.digits;
            lanes[i] = decimal.negative ? -whole : whole;
        }
        g->valid |= UINT64_C(1) << i;
    }
    return true;
}

static bool take_bools(const rowset *r, slot *s, run *g)
{
    uint8_t *lanes = (uint8_t *)s->lanes + r->row;
    for (uint32_t i = 0; i < g->count; i++) {
        bool flag = false;
        uint32_t len;
        const char *at = run_cell(g, i, &len);
        if (len > 0 && sf_parse_bool((sf_str){at, len}, &flag) != SF_PARSE_OK)
            return false;
        lanes[i] = flag;
        g->valid |= (uint64_t)(len > 0) << i;
    }
    return true;
}

static bool take_column(sf_parser *p, slot *s, run *g)
{
    switch (s->kind) {
    case KIND_STRING: return take_strings(p, s, g);
    case KIND_DOUBLE: return take_doubles(&p->rows, s, g);
    case KIND_LONG:
    case KIND_TIME: return take_longs(&p->rows, s, g);
    case KIND_BOOL: return take_bools(&p->rows, s, g);
    default: return false;
    }
}

/* Bits of lanes row.. of a column; those not in `valid` are cleared. */
static void put_valid(slot *s, uint32_t row, uint32_t count, uint64_t valid)
{
    uint64_t all = count == 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
    uint32_t word = row >> 6, shift = row & 63;
    valid &= all;
    s->valid[word] = (s->valid[word] & ~(all << shift)) | valid << shift;
    if (shift + count > 64) {
        uint32_t left = 64 - shift;
        s->valid[word + 1] = (s->valid[word + 1] & ~(all >> left)) | valid >> left;
    }
}

/* Columns that the header does not name. */
static void fill_column(const rowset *r, slot *s, uint32_t count)
{
    size_t bytes = sf_type_lane_bytes(s->type);
    memset((char *)s->lanes + r->row * bytes, 0, count * bytes);
    for (uint32_t i = 0; s == r->stamp && i < count; i++)
        ((int64_t *)s->lanes)[r->row + i] = r->stamp_ms;
}

bool csv_group_take(sf_parser *p, uint32_t from, uint32_t count)
{
    csv_input *csv = &p->csv;
    rowset *r = &p->rows;
    while (r->cap - r->row < count)
        if (!rows_grow(r)) {
            p->no_memory = true;
            return false;
        }
    r->record++;
    bool good = true;
    for (size_t i = 0; i < csv->columns.len && good; i++) {
        slot *s = csv->columns.data[i].slot;
        if (!s)
            continue;
        run g = {.rows = csv->group + from,
                 .cells = csv->store + from * csv->columns.len + i,
                 .stride = csv->columns.len,
                 .count = count,
                 .limit = input_end(p)};
        good = take_column(p, s, &g);
        s->seen = r->record;
        put_valid(s, r->row, count, good ? g.valid : 0);
    }
    for (uint32_t i = 0; i < r->count; i++) {
        slot *s = &r->slots[i];
        if (!good)
            put_valid(s, r->row, count, 0);
        else if (s->seen != r->record)
            fill_column(r, s, count);
    }
    if (!good)
        return false;
    p->report.records += count;
    p->report.rows += count;
    p->report.unknown_fields += (uint64_t)count * csv->unknown_columns;
    p->input_rows += count;
    r->row += count;
    if (r->row == r->cap_max)
        parser_batch_full(p);
    return true;
}
