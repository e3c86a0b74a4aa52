/* tests.h: what the files of this program share: a clock that is set by hand, schemas, a port. */
#ifndef SF_TESTS_UNIT_CONNECT_TESTS_H
#define SF_TESTS_UNIT_CONNECT_TESTS_H

#include "connect/connect.h"
#include "unit/check.h"

typedef struct {
    int64_t wall_ms, mono_ns;
} hand_clock;

sf_clock hand_clock_table(hand_clock *clock);
/* The fields, then _retract and _ts. */
sf_schema *source_schema(const sf_field *fields, uint32_t count);
sf_str text_at(const sf_batch *batch, const char *column, uint32_t row);
int64_t long_at(const sf_batch *batch, const char *column, uint32_t row);
double double_at(const sf_batch *batch, const char *column, uint32_t row);
const sf_column *column_of(const sf_batch *batch, const char *name);
bool same_rows(const sf_batch *a, uint32_t a_row, const sf_batch *b, uint32_t b_row, uint32_t rows);

/* config.c */
void options_are_checked(void);
void ingest_limits(void);
void schedules(void);
void schedules_refused(void);
void backoff_doubles(void);
void kinds_and_descriptors(void);

/* generator.c */
void rows_depend_on_the_seed_alone(void);
void trades_are_sane(void);
void quotes_enclose_trades(void);
void orders_are_sane(void);
void json_events_are_sane(void);
void structures_are_sane(void);
void orders_live_and_end(void);
void generic_follows_the_schema(void);
void generator_refuses(void);
void the_market_walks(void);
void a_failed_batch_changes_nothing(void);
void columns_by_name(void);

/* generator_source.c */
void generator_keeps_its_rate(void);
void generator_goes_on_at_its_position(void);
void generator_positions_are_checked(void);

/* file.c */
void file_is_read_when_it_changes(void);
void file_goes_on_at_its_position(void);
void file_failures_change_nothing(void);
void file_memory_failures_change_nothing(void);
void file_faults_are_counted(void);
void file_config_is_checked(void);
void file_positions_are_checked(void);
void file_waits_for_its_schedule(void);

#endif
