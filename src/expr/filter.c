/* Predicates to selection vectors. */
#include "expr/kernel.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>
#endif

/* Appends the rows whose byte is 1. rows_out may be the selection's own array: it is never written
 * ahead of what was read. */
static uint32_t select_rows(const uint8_t *is_true, sf_sel sel, uint32_t *rows_out)
{
    uint32_t i = 0, n = 0;
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
    const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (; i + 16 <= sel.count; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(is_true + i));
        __mmask16 take = _mm_test_epi8_mask(bytes, bytes);
        __m512i rows = sel.rows ? _mm512_loadu_si512(sel.rows + i)
                                : _mm512_add_epi32(first, _mm512_set1_epi32((int)i));
        _mm512_storeu_si512(rows_out + n, _mm512_maskz_compress_epi32(take, rows));
        n += (uint32_t)__builtin_popcount(take);
    }
#endif
    if (sel.rows) {
        for (; i < sel.count; i++) {
            rows_out[n] = sel.rows[i];
            n += is_true[i];
        }
    } else {
        for (; i < sel.count; i++) {
            rows_out[n] = i;
            n += is_true[i];
        }
    }
    return n;
}

static void and_bytes(uint8_t *restrict is_true, const sf_operand *operand, uint32_t rows)
{
    if (!operand->column) {
        if (operand->constant->is_null || !operand->constant->as.boolean)
            memset(is_true, 0, rows);
        return;
    }
    const uint8_t *restrict lanes = operand->column->data;
    const uint64_t *restrict valid = operand->column->valid;
    if (!valid) {
        for (uint32_t i = 0; i < rows; i++)
            is_true[i] &= lanes[i];
        return;
    }
    for (uint32_t i = 0; i < rows; i++)
        is_true[i] &= (uint8_t)(lanes[i] & (valid[i >> 6] >> (i & 63)));
}

/* Conditions that cost little are all computed for every row; then the rows are picked once. */
static sf_status filter_cheap(const sf_eval_ctx *ctx, const sf_expr *const *args,
                              uint32_t arg_count, sf_sel sel, uint32_t *rows_out,
                              uint32_t *count_out)
{
    if (arg_count == 1) {
        sf_operand only;
        SF_TRY(sf_eval_operand(ctx, args[0], sel, &only));
        if (only.column && !only.column->valid) {
            *count_out = select_rows(only.column->data, sel, rows_out);
            sf_operand_drop(&only);
            return SF_OK;
        }
        uint8_t *bytes = sf_alloc(sel.count + 1u);
        if (bytes) {
            memset(bytes, 1, sel.count);
            and_bytes(bytes, &only, sel.count);
            *count_out = select_rows(bytes, sel, rows_out);
        }
        sf_operand_drop(&only);
        sf_free(bytes);
        return bytes ? SF_OK : sf_fail_memory(ctx->err);
    }
    uint8_t *bytes = sf_alloc(sel.count + 1u);
    if (!bytes)
        return sf_fail_memory(ctx->err);
    memset(bytes, 1, sel.count);
    sf_status status = SF_OK;
    for (uint32_t i = 0; i < arg_count && status == SF_OK; i++) {
        sf_operand operand;
        status = sf_eval_operand(ctx, args[i], sel, &operand);
        if (status != SF_OK)
            break;
        and_bytes(bytes, &operand, sel.count);
        sf_operand_drop(&operand);
    }
    if (status == SF_OK)
        *count_out = select_rows(bytes, sel, rows_out);
    sf_free(bytes);
    return status;
}

sf_status sf_eval_filter(sf_eval *eval, const sf_expr *predicate, const sf_batch *batch, sf_sel sel,
                         uint32_t *rows_out, uint32_t *count_out, sf_error *err)
{
    SF_ASSERT(predicate->type == SF_TYPE_BOOL);
    eval->errors.len = 0;
    sf_eval_ctx ctx = {.eval = eval, .batch = batch, .err = err};
    if (predicate->kind != SF_EXPR_AND)
        return filter_cheap(&ctx, &predicate, 1, sel, rows_out, count_out);
    for (uint32_t i = 0; i < predicate->arg_count;) {
        uint32_t cheap = 0;
        while (i + cheap < predicate->arg_count && sf_expr_is_cheap(predicate->args[i + cheap]))
            cheap++;
        uint32_t step = cheap ? cheap : 1;
        SF_TRY(filter_cheap(&ctx, predicate->args + i, step, sel, rows_out, count_out));
        sel = (sf_sel){rows_out, *count_out};
        if (sel.count == 0)
            break;
        i += step;
    }
    return SF_OK;
}
