/* The batch under construction: columns that grow, rows that can be taken back. */
#include "format/parser.h"

enum { ROWS_MIN = 64, POOL_BYTES = 64 << 10 };

/* ---- set up ---- */

static bool kind_of(sf_type type, slot_kind *kind)
{
    switch (type) {
    case SF_TYPE_UTF8: *kind = KIND_STRING; return true;
    case SF_TYPE_F64: *kind = KIND_DOUBLE; return true;
    case SF_TYPE_I64: *kind = KIND_LONG; return true;
    case SF_TYPE_BOOL: *kind = KIND_BOOL; return true;
    case SF_TYPE_TIMESTAMP: *kind = KIND_TIME; return true;
    case SF_TYPE_JSON: *kind = KIND_JSON; return true;
    default: return false;
    }
}

/* "name": for comparing keys, when JSON would write the name without escapes. */
static bool make_pattern(slot *s)
{
    sf_buf text = {0};
    sf_json_put_string(&text, s->name);
    bool plain = text.len == s->name.len + 2;
    sf_buf_putc(&text, ':');
    if (text.failed || !plain || text.len > UINT32_MAX) {
        bool failed = text.failed;
        sf_buf_deinit(&text);
        return !failed;
    }
    s->pattern = text.data;
    s->pattern_len = (uint32_t)text.len;
    size_t first = text.len < 8 ? text.len : 8;
    memcpy(&s->head, text.data, first);
    memset(&s->head_mask, 0xff, first);
    if (text.len >= 8)
        memcpy(&s->tail, text.data + text.len - 8, 8);
    return true;
}

/* Every name once; a declared field before a hidden column of its name. */
static bool make_index(rowset *r)
{
    uint32_t size = 8;
    while (size < 2 * r->count)
        size *= 2;
    r->index = sf_calloc(size, sizeof *r->index);
    if (!r->index)
        return false;
    r->index_mask = size - 1;
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < r->count; i++) {
            sf_str name = r->slots[i].name;
            if (r->slots[i].counts != (pass == 0) || rows_find(r, name))
                continue;
            uint64_t at = sf_hash_bytes(name.data, name.len, 0);
            while (r->index[at & r->index_mask])
                at++;
            r->index[at & r->index_mask] = i + 1;
        }
    }
    return true;
}

slot *rows_find(const rowset *r, sf_str name)
{
    uint64_t at = sf_hash_bytes(name.data, name.len, 0);
    for (uint32_t i; (i = r->index[at & r->index_mask]) != 0; at++)
        if (sf_str_eq(r->slots[i - 1].name, name))
            return &r->slots[i - 1];
    return NULL;
}

bool rows_init(rowset *r, const sf_schema *schema, uint32_t cap_max)
{
    *r = (rowset){.cap_max = cap_max, .input_index = -1, .pool_index = -1};
    r->slots = sf_calloc(schema->count + 1u, sizeof *r->slots);
    if (!r->slots)
        return false;
    r->count = schema->count;
    for (uint32_t i = 0; i < schema->count; i++) {
        const sf_field *field = &schema->fields[i];
        slot *s = &r->slots[i];
        s->name = sf_str_of(field->name);
        s->type = field->type;
        s->counts = !field->hidden;
        if (!kind_of(field->type, &s->kind) || !make_pattern(s))
            return false;
        r->declared += s->counts;
        if (field->hidden && strcmp(field->name, SF_COL_TS) == 0) {
            s->kind = KIND_TIME;
            r->stamp = s;
        } else if (field->hidden) {
            r->retract = s;
        }
    }
    for (uint32_t i = 0; i < r->count; i++) {
        slot *s = &r->slots[i];
        s->next = &r->slots[(i + 1) % r->count];
        for (uint32_t k = 0; s->counts && k < r->count; k++)
            if (!r->slots[k].counts && sf_str_eq(s->name, r->slots[k].name))
                s->twin = &r->slots[k];
    }
    r->first = r->count ? r->slots : NULL;
    return make_index(r);
}

static void drop_batch(rowset *r)
{
    for (uint32_t i = 0; r->slots && i < r->count; i++) {
        slot *s = &r->slots[i];
        sf_column_unref(s->column);
        s->column = NULL;
        s->lanes = NULL;
        s->valid = NULL;
        s->far = false;
    }
    for (size_t i = 0; i < r->buffers.len; i++)
        sf_buffer_unref(r->buffers.data[i]);
    r->buffers.len = 0;
    r->input_index = r->pool_index = -1;
    r->row = r->cap = 0;
}

void rows_deinit(rowset *r)
{
    drop_batch(r);
    for (uint32_t i = 0; r->slots && i < r->count; i++)
        sf_free(r->slots[i].pattern);
    sf_free(r->slots);
    sf_free(r->index);
    SF_VEC_DEINIT(&r->buffers);
    sf_buffer_unref(r->pool);
    sf_buf_deinit(&r->scratch);
    *r = (rowset){0};
}

/* ---- rows ---- */

static bool grow_slot(slot *s, uint32_t used, uint32_t cap)
{
    sf_column *column = sf_column_new(s->type, cap, true);
    if (!column)
        return false;
    memset(sf_column_valid(column), 0, SF_VALID_WORDS(cap) * 8);
    if (used) {
        memcpy(sf_column_lanes(column), s->lanes, used * sf_type_lane_bytes(s->type));
        memcpy(sf_column_valid(column), s->valid, SF_VALID_WORDS(used) * 8);
    }
    sf_column_unref(s->column);
    s->column = column;
    s->lanes = sf_column_lanes(column);
    s->valid = sf_column_valid(column);
    return true;
}

bool rows_grow(rowset *r)
{
    uint32_t cap = r->cap ? r->cap * 2 : ROWS_MIN;
    cap = cap > r->cap_max ? r->cap_max : cap;
    for (uint32_t i = 0; i < r->count; i++)
        if (!grow_slot(&r->slots[i], r->row, cap))
            return false;
    r->cap = cap;
    return true;
}

static void clear_lane(const rowset *r, slot *s)
{
    size_t bytes = sf_type_lane_bytes(s->type);
    memset((char *)s->lanes + r->row * bytes, 0, bytes);
    sf_valid_clear(s->valid, r->row);
}

void rows_fill(rowset *r)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (r->slots[i].counts && r->slots[i].seen != r->record)
            clear_lane(r, &r->slots[i]);
}

void rows_rollback(rowset *r)
{
    for (uint32_t i = 0; i < r->count; i++)
        sf_valid_clear(r->slots[i].valid, r->row);
}

/* Takes the slot's column, cut to the rows that were written. */
static sf_column *take_column(rowset *r, slot *s)
{
    sf_column *column = s->column;
    s->column = NULL;
    column->rows = r->row;
    bool whole = !s->counts;
    if (!whole)
        whole = sf_column_null_count(column) == 0;
    if (whole) {
        sf_buffer_unref(column->valid_buffer);
        column->valid_buffer = NULL;
        column->valid = NULL;
    }
    if (s->far && !sf_column_set_buffers(column, r->buffers.data, (uint32_t)r->buffers.len)) {
        sf_column_unref(column);
        return NULL;
    }
    return column;
}

sf_batch *rows_finish(rowset *r, const sf_schema *schema)
{
    sf_batch *batch = NULL;
    if (r->row > 0) {
        sf_column **columns = sf_calloc(r->count + 1u, sizeof(sf_column *));
        bool whole = columns != NULL;
        for (uint32_t i = 0; columns && i < r->count; i++) {
            columns[i] = take_column(r, &r->slots[i]);
            whole = whole && columns[i];
        }
        if (whole) {
            batch = sf_batch_new(schema, r->row, columns, NULL, NULL);
        } else {
            for (uint32_t i = 0; columns && i < r->count; i++)
                sf_column_unref(columns[i]);
        }
        sf_free(columns);
    }
    drop_batch(r);
    return batch;
}

/* ---- text ---- */

int64_t rows_buffer(rowset *r, sf_buffer *buffer)
{
    if (!SF_VEC_PUSH(&r->buffers, buffer))
        return -1;
    sf_buffer_ref(buffer);
    return (int64_t)r->buffers.len - 1;
}

void slot_null(rowset *r, slot *s)
{
    slot_touch(r, s);
    if (s->counts)
        clear_lane(r, s);
    else if (s == r->stamp)
        ((int64_t *)s->lanes)[r->row] = r->stamp_ms;
    else
        ((uint8_t *)s->lanes)[r->row] = 0;
}

void slot_misfit(rowset *r, slot *s, sf_misfit misfit, sf_str value)
{
    slot_null(r, s);
    s->failed = true;
    s->misfit = (uint8_t)misfit;
    s->bad = value;
    r->trouble = true;
}

/* Room for len bytes in the pool; NULL: memory is short. */
static char *pool_reserve(rowset *r, size_t len)
{
    if (!r->pool || r->pool->size - r->pool_used < len) {
        size_t size = len > POOL_BYTES ? len : POOL_BYTES;
        sf_buffer *pool = sf_buffer_new(size);
        if (!pool)
            return NULL;
        sf_buffer_unref(r->pool);
        r->pool = pool;
        r->pool_used = 0;
        r->pool_index = -1;
    }
    if (r->pool_index < 0)
        r->pool_index = rows_buffer(r, r->pool);
    return r->pool_index < 0 ? NULL : (char *)r->pool->data + r->pool_used;
}

void slot_text(sf_parser *p, slot *s, sf_str text)
{
    rowset *r = &p->rows;
    slot_touch(r, s);
    sf_view view;
    if (text.len <= SF_VIEW_INLINE) {
        view = sf_view_short(text.data, (uint32_t)text.len);
    } else {
        char *at = pool_reserve(r, text.len);
        if (!at) {
            p->no_memory = true;
            return;
        }
        memcpy(at, text.data, text.len);
        view = sf_view_far(at, (uint32_t)text.len, (uint32_t)r->pool_index, (uint32_t)r->pool_used);
        r->pool_used += text.len;
        s->far = true;
    }
    ((sf_view *)s->lanes)[r->row] = view;
    slot_set_valid(r, s);
}

/* ---- coercion ---- */

static void coerce_parsed(rowset *r, slot *s, sf_parse result, int64_t value, sf_str shown)
{
    if (result == SF_PARSE_OK)
        slot_i64(r, s, value);
    else
        slot_misfit(r, s, result == SF_PARSE_RANGE ? SF_MISFIT_RANGE : SF_MISFIT_TEXT, shown);
}

void slot_coerce_text(sf_parser *p, slot *s, sf_str text, bool in_input, sf_str shown)
{
    rowset *r = &p->rows;
    int64_t whole = 0;
    double number = 0;
    bool flag = false;
    sf_parse result;
    switch (s->kind) {
    case KIND_STRING:
        if (in_input)
            slot_input_text(p, s, text.data, text.len);
        else
            slot_text(p, s, text);
        return;
    case KIND_LONG:
        result = sf_parse_whole(text, &whole);
        if (result == SF_PARSE_BAD && sf_parse_f64(text, &number) == SF_PARSE_OK)
            slot_misfit(r, s, SF_MISFIT_FRACTION, shown);
        else
            coerce_parsed(r, s, result, whole, shown);
        return;
    case KIND_TIME:
        result = sf_parse_timestamp(text, &whole);
        coerce_parsed(r, s, result, whole, shown);
        return;
    case KIND_DOUBLE:
        result = sf_parse_f64(text, &number);
        if (result == SF_PARSE_OK)
            slot_f64(r, s, number);
        else
            slot_misfit(r, s, result == SF_PARSE_RANGE ? SF_MISFIT_RANGE : SF_MISFIT_TEXT, shown);
        return;
    case KIND_BOOL:
        if (sf_parse_bool(text, &flag) == SF_PARSE_OK)
            slot_bool(r, s, flag);
        else
            slot_misfit(r, s, SF_MISFIT_TEXT, shown);
        return;
    case KIND_JSON: slot_misfit(r, s, SF_MISFIT_KIND, shown); return;
    }
}

void slot_coerce_number(sf_parser *p, slot *s, const sf_decimal *decimal, sf_str raw)
{
    rowset *r = &p->rows;
    int64_t whole = 0;
    double number = 0;
    sf_parse result;
    switch (s->kind) {
    case KIND_STRING:
    case KIND_JSON: slot_input_text(p, s, raw.data, raw.len); return;
    case KIND_LONG:
    case KIND_TIME:
        result = sf_decimal_to_i64(decimal, raw, &whole);
        if (result == SF_PARSE_OK)
            slot_i64(r, s, whole);
        else
            slot_misfit(r, s, result == SF_PARSE_RANGE ? SF_MISFIT_RANGE : SF_MISFIT_FRACTION, raw);
        return;
    case KIND_DOUBLE:
        if (sf_decimal_to_f64(decimal, raw, &number) == SF_PARSE_OK)
            slot_f64(r, s, number);
        else
            slot_misfit(r, s, SF_MISFIT_RANGE, raw);
        return;
    case KIND_BOOL: slot_misfit(r, s, SF_MISFIT_KIND, raw); return;
    }
}
