/* plan_node.h: what the builders of plans share. Private to the module. */
#ifndef SF_FLOW_PLAN_NODE_H
#define SF_FLOW_PLAN_NODE_H

#include "flow/plan.h"

/* Adds a node whose schema is `schema` (the reference is taken, also on failure). NULL: err tells. */
SF_MUST_USE sf_plan_node *sf_plan_add_node(sf_plan *plan, sf_node_kind kind, const uint32_t *inputs,
                                           uint32_t input_count, sf_schema *schema, sf_error *err);
/* Into the plan's arena; NULL: out of memory. */
SF_MUST_USE uint32_t *sf_plan_copy_numbers(sf_plan *plan, const uint32_t *numbers, uint32_t count);

/* Partition, order, limit and calls of a node as text. */
void sf_over_print(const sf_over_spec *over, const sf_schema *input, sf_buf *out);
void sf_asof_print(const sf_asof_spec *asof, const sf_schema *left, const sf_schema *right,
                   sf_buf *out);

#endif
