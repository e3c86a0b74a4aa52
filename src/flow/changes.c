#include "flow/changes.h"

sf_touched *sf_changes_add(sf_changes *changes, uint32_t count)
{
    sf_touched touched = {.count = count};
    touched.refs = sf_alloc(count * sizeof *touched.refs);
    touched.existed = sf_calloc(count, 1);
    touched.old = sf_calloc(changes->column_count, sizeof *touched.old);
    if (!touched.refs || !touched.existed || !touched.old ||
        !SF_VEC_PUSH(&changes->chunks, touched)) {
        sf_free(touched.refs);
        sf_free(touched.existed);
        sf_free(touched.old);
        return NULL;
    }
    return &changes->chunks.data[changes->chunks.len - 1];
}

void sf_changes_clear(sf_changes *changes)
{
    for (size_t i = 0; i < changes->chunks.len; i++) {
        sf_touched *touched = &changes->chunks.data[i];
        for (uint32_t c = 0; c < changes->column_count; c++)
            sf_column_unref(touched->old[c]);
        sf_free(touched->refs);
        sf_free(touched->existed);
        sf_free(touched->old);
    }
    changes->chunks.len = 0;
    changes->next = 0;
}

void sf_changes_close(sf_changes *changes)
{
    sf_changes_clear(changes);
    SF_VEC_DEINIT(&changes->chunks);
}

bool sf_lane_equal(const sf_column *a, uint32_t row_a, const sf_column *b, uint32_t row_b)
{
    bool present = sf_column_is_valid(a, row_a);
    if (present != sf_column_is_valid(b, row_b))
        return false;
    if (!present)
        return true;
    if (sf_type_is_view(a->type))
        return sf_str_eq(sf_column_str(a, row_a), sf_column_str(b, row_b));
    if (a->type == SF_TYPE_F64)
        return SF_LANES(a, double)[row_a] == SF_LANES(b, double)[row_b];
    if (a->type == SF_TYPE_F32)
        return SF_LANES(a, float)[row_a] == SF_LANES(b, float)[row_b];
    size_t bytes = sf_type_lane_bytes(a->type);
    return memcmp((const uint8_t *)a->data + row_a * bytes,
                  (const uint8_t *)b->data + row_b * bytes, bytes) == 0;
}

/* Clears `same` for rows whose lanes differ in this column. */
static void compare_column(const sf_column *old, const sf_column *now, uint32_t count,
                           uint8_t *same)
{
    bool plain =
        !old->valid && !now->valid && (old->type == SF_TYPE_I64 || old->type == SF_TYPE_TIMESTAMP);
    if (plain) {
        const int64_t *a = old->data, *b = now->data;
        for (uint32_t i = 0; i < count; i++)
            same[i] &= a[i] == b[i];
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        if (same[i] && !sf_lane_equal(old, i, now, i))
            same[i] = 0;
}

static sf_status emit_rows(sf_op *op, sf_column *const *columns, uint32_t column_count, sf_sel sel,
                           int64_t weight, sf_error *err)
{
    if (sel.count == 0)
        return SF_OK;
    sf_column **picked = sf_calloc(column_count, sizeof *picked);
    if (!picked)
        return sf_fail_memory(err);
    bool whole = true;
    for (uint32_t c = 0; c < column_count; c++) {
        picked[c] = sf_column_gather(columns[c], sel);
        whole = whole && picked[c];
    }
    sf_column *weights = weight == 1 ? NULL : sf_column_of_i64(weight, sel.count);
    sf_batch *batch = NULL;
    if (whole && (weight == 1 || weights)) {
        batch = sf_batch_new(op->schema, sel.count, picked, weights, NULL);
    } else {
        for (uint32_t c = 0; c < column_count; c++)
            sf_column_unref(picked[c]);
        sf_column_unref(weights);
    }
    sf_free(picked);
    return sf_op_emit(op, batch, err);
}

sf_status sf_changes_emit(sf_op *op, const sf_touched *touched, sf_column *const *now,
                          const uint8_t *exists, uint32_t column_count, uint32_t compare_count,
                          uint8_t *changed, sf_error *err)
{
    uint32_t count = touched->count;
    uint8_t *same = sf_alloc(count);
    uint32_t *rows = sf_alloc(count * sizeof *rows);
    sf_status status = same && rows ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK) {
        bool any = false;
        for (uint32_t i = 0; i < count; i++) {
            same[i] = touched->existed[i] && exists[i];
            any |= same[i];
        }
        for (uint32_t c = 0; any && c < compare_count; c++)
            compare_column(touched->old[c], now[c], count, same);
        uint32_t gone = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (changed)
                changed[i] = !same[i];
            rows[gone] = i;
            gone += touched->existed[i] && !same[i];
        }
        status = emit_rows(op, touched->old, column_count, (sf_sel){rows, gone}, -1, err);
    }
    if (status == SF_OK) {
        uint32_t fresh = 0;
        for (uint32_t i = 0; i < count; i++) {
            rows[fresh] = i;
            fresh += exists[i] && !same[i];
        }
        status = emit_rows(op, now, column_count, (sf_sel){rows, fresh}, 1, err);
    }
    sf_free(same);
    sf_free(rows);
    return status;
}
