/* pack.h: a batch as bytes, for journals. Little-endian, self-contained, checked on the way back.
 *
 * Layout   u32 version, u32 rows, u32 columns, u32 flags (1: weights); then each column: text of its
 *          name (u32 length, bytes), u32 hidden, u32 type, u32 flags (1: validity), [validity words],
 *          then fixed lanes, or for text u32 lengths and the bytes one after the other. Weights come
 *          last, as a column without name. Marks are not kept: they follow from the rows. */
#ifndef SF_COLUMN_PACK_H
#define SF_COLUMN_PACK_H

#include "column/column.h"

void sf_batch_pack(const sf_batch *batch, sf_buf *out); /* out->failed tells */
/* SF_CORRUPT for bytes that do not hold together; nothing in them is trusted. `like` (NULL allowed) is
 * used as the batch's schema when it is the same. */
SF_MUST_USE sf_status sf_batch_unpack(sf_str bytes, const sf_schema *like, sf_batch **out,
                                      sf_error *err);
/* The columns of `schema`, taken by name (exact, then any case) and equal type from the batch; NULLs
 * where it has none. For rows written before a source's fields were changed. */
SF_MUST_USE sf_batch *sf_batch_adapt(const sf_batch *batch, const sf_schema *schema);

#endif
