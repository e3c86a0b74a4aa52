/* GREATEST, LEAST, NULLIF: one of the arguments, by comparing them. */
#include "expr/kernel.h"

/* The argument that wins a lane, NULLs left out; NULL when all are. */
static const sf_operand *winner(const sf_call *call, uint32_t lane, int wanted)
{
    const sf_operand *best = NULL;
    for (uint32_t k = 0; k < call->arg_count; k++) {
        const sf_operand *arg = &call->args[k];
        if (sf_operand_is_null(arg, lane))
            continue;
        int order = best ? sf_operand_order(arg, lane, best, lane) : wanted;
        if (order * wanted > 0)
            best = arg;
    }
    return best;
}

/* Copies one lane of an argument to the result. */
static void put_lane(sf_call *call, sf_text_out *text, const sf_operand *from, uint32_t lane)
{
    if (text)
        sf_text_put(text, lane, sf_operand_str(from, lane));
    else if (from->type == SF_TYPE_BOOL)
        SF_OUT(call, uint8_t)[lane] = sf_operand_bool(from, lane);
    else if (from->type == SF_TYPE_F64)
        SF_OUT(call, double)[lane] = sf_operand_f64(from, lane);
    else
        SF_OUT(call, int64_t)[lane] = sf_operand_i64(from, lane);
}

static bool extreme(sf_call *call, int wanted)
{
    sf_text_out out, *text = sf_type_is_view(call->expr->type) ? &out : NULL;
    if (text && !sf_text_begin(text, call, NULL))
        return false;
    bool ok = true;
    for (uint32_t i = 0; i < call->rows && ok; i++) {
        const sf_operand *best = winner(call, i, wanted);
        if (best)
            put_lane(call, text, best, i);
        else
            ok = sf_call_null(call, i);
    }
    return (!text || sf_text_end(text)) && ok;
}

bool sf_fn_greatest(sf_call *call)
{
    return extreme(call, 1);
}

bool sf_fn_least(sf_call *call)
{
    return extreme(call, -1);
}

bool sf_fn_nullif(sf_call *call)
{
    const sf_operand *a = &call->args[0], *b = &call->args[1];
    bool never = !b->column && b->constant->is_null, all_null = !a->column && a->constant->is_null;
    uint8_t *equal = sf_alloc(call->rows + 1u);
    if (!equal)
        return false;
    memset(equal, 0, call->rows);
    if (!never && !all_null)
        sf_compare_lanes(SF_CMP_EQ, a, b, call->rows, equal);
    sf_text_out out, *text = sf_type_is_view(call->expr->type) ? &out : NULL;
    bool ok = !text || sf_text_begin(text, call, NULL), begun = ok;
    for (uint32_t i = 0; i < call->rows && ok; i++) {
        if (sf_operand_is_null(a, i) || (equal[i] && !sf_operand_is_null(b, i)))
            ok = sf_call_null(call, i);
        else
            put_lane(call, text, a, i);
    }
    sf_free(equal);
    return begun && (!text || sf_text_end(text)) && ok;
}
