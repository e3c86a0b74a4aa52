/* pack.h: a batch as bytes, for journals. Little-endian, self-contained, checked on the way back.
 *
 * Layout   u32 version, u32 rows, u32 columns, u32 flags (1: weights); then each column, weights
 *          last: u32 type, u32 flags (1: validity), [validity words], then fixed lanes, or for text
 *          u32 lengths and the bytes one after the other. Marks are not kept: they follow from the
 *          rows. docs/formats/journal.md tells where it is used. */
#ifndef SF_COLUMN_PACK_H
#define SF_COLUMN_PACK_H

#include "column/column.h"

void sf_batch_pack(const sf_batch *batch, sf_buf *out); /* out->failed tells */
/* schema gives names; its types must be the packed ones. SF_CORRUPT for bytes that do not hold
 * together; nothing in them is trusted. */
SF_MUST_USE sf_status sf_batch_unpack(sf_str bytes, const sf_schema *schema, sf_batch **out,
                                      sf_error *err);

#endif
