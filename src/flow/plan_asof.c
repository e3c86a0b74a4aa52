/* Joins by the nearest time: the node and its text. */
#include "flow/plan_node.h"

sf_status sf_plan_asof(sf_plan *plan, uint32_t left, uint32_t right, const sf_asof_spec *spec,
                       uint32_t *out, sf_error *err)
{
    const sf_schema *a = sf_plan_at(plan, left)->schema, *b = sf_plan_at(plan, right)->schema;
    SF_ASSERT(spec->kind == SF_JOIN_INNER || spec->kind == SF_JOIN_LEFT);
    SF_ASSERT(a->fields[spec->left_time].type == b->fields[spec->right_time].type);
    for (uint32_t i = 0; i < spec->key_count; i++)
        SF_ASSERT(a->fields[spec->left_keys[i]].type == b->fields[spec->right_keys[i]].type);
    uint32_t inputs[2] = {left, right};
    sf_plan_node *node =
        sf_plan_add_node(plan, SF_NODE_ASOF, inputs, 2, sf_plan_join_schema(a, b), err);
    if (!node)
        return err && err->status != SF_OK ? err->status : SF_LIMIT;
    node->as.asof = *spec;
    node->as.asof.left_keys = sf_plan_copy_numbers(plan, spec->left_keys, spec->key_count);
    node->as.asof.right_keys = sf_plan_copy_numbers(plan, spec->right_keys, spec->key_count);
    if (!node->as.asof.left_keys || !node->as.asof.right_keys)
        return sf_fail_memory(err);
    *out = node->id;
    return SF_OK;
}

void sf_asof_print(const sf_asof_spec *asof, const sf_schema *left, const sf_schema *right,
                   sf_buf *out)
{
    static const char *const signs[2][2] = {{">=", ">"}, {"<=", "<"}};
    sf_buf_puts(out, asof->kind == SF_JOIN_LEFT ? " left" : " inner");
    for (uint32_t i = 0; i < asof->key_count; i++)
        sf_buf_printf(out, "%s %s = %s", i ? " and" : " on", left->fields[asof->left_keys[i]].name,
                      right->fields[asof->right_keys[i]].name);
    sf_buf_printf(out, " nearest %s %s %s", left->fields[asof->left_time].name,
                  signs[asof->forward][asof->strict], right->fields[asof->right_time].name);
}
