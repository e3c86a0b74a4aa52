/* world.h: a small world of sources and tables to compile against. */
#ifndef SF_TESTS_UNIT_SQL_WORLD_H
#define SF_TESTS_UNIT_SQL_WORLD_H

#include "sql/sql.h"

/*  trades(symbol, price Double, qty Long, side, venue), quotes(symbol, bid, ask Doubles, venue),
 *  structures(trade_id, legs Json, n Long, t Timestamp, ok Bool), changes(k Long, v Long): sources,
 *  the last one sends changes. positions(symbol, trades Long, avg_price Double): a table.
 *  bars, with the same columns: a pipeline. "both" is a stream and a table. */
typedef struct {
    sf_schema *schemas[6];
} world;

bool world_init(world *w);
void world_deinit(world *w);
sf_resolver world_resolver(world *w);

#endif
