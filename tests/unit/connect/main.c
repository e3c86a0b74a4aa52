/* Kinds of sources, their options, and the generator. */
#include "tests.h"

static int64_t hand_wall_ms(void *self)
{
    return ((hand_clock *)self)->wall_ms;
}

static int64_t hand_mono_ns(void *self)
{
    return ((hand_clock *)self)->mono_ns;
}

sf_clock hand_clock_table(hand_clock *clock)
{
    return (sf_clock){.wall_ms = hand_wall_ms, .mono_ns = hand_mono_ns, .self = clock};
}

sf_schema *source_schema(const sf_field *fields, uint32_t count)
{
    sf_field all[32];
    SF_ASSERT(count + 2 <= SF_COUNT_OF(all));
    for (uint32_t i = 0; i < count; i++)
        all[i] = fields[i];
    all[count] = (sf_field){SF_COL_RETRACT, SF_TYPE_BOOL, true};
    all[count + 1] = (sf_field){SF_COL_TS, SF_TYPE_I64, true};
    sf_schema *schema = sf_schema_new(all, count + 2);
    SF_ASSERT(schema);
    return schema;
}

const sf_column *column_of(const sf_batch *batch, const char *name)
{
    int i = sf_schema_find(batch->schema, sf_str_of(name));
    SF_ASSERT(i >= 0);
    return batch->columns[i];
}

sf_str text_at(const sf_batch *batch, const char *column, uint32_t row)
{
    return sf_column_str(column_of(batch, column), row);
}

int64_t long_at(const sf_batch *batch, const char *column, uint32_t row)
{
    return SF_LANES(column_of(batch, column), int64_t)[row];
}

double double_at(const sf_batch *batch, const char *column, uint32_t row)
{
    return SF_LANES(column_of(batch, column), double)[row];
}

static bool same_lane(const sf_column *a, uint32_t a_row, const sf_column *b, uint32_t b_row)
{
    if (sf_column_is_valid(a, a_row) != sf_column_is_valid(b, b_row))
        return false;
    if (!sf_column_is_valid(a, a_row))
        return true;
    if (sf_type_is_view(a->type))
        return sf_str_eq(sf_column_str(a, a_row), sf_column_str(b, b_row));
    size_t bytes = sf_type_lane_bytes(a->type);
    return memcmp((const char *)a->data + a_row * bytes, (const char *)b->data + b_row * bytes,
                  bytes) == 0;
}

bool same_rows(const sf_batch *a, uint32_t a_row, const sf_batch *b, uint32_t b_row, uint32_t rows)
{
    for (uint32_t c = 0; c < a->schema->count; c++) {
        for (uint32_t i = 0; i < rows; i++) {
            if (!same_lane(a->columns[c], a_row + i, b->columns[c], b_row + i))
                return false;
        }
    }
    return true;
}

static const sf_case cases[] = {
    SF_CASE(options_are_checked),
    SF_CASE(ingest_limits),
    SF_CASE(schedules),
    SF_CASE(schedules_refused),
    SF_CASE(backoff_doubles),
    SF_CASE(kinds_and_descriptors),
    SF_CASE(rows_depend_on_the_seed_alone),
    SF_CASE(trades_are_sane),
    SF_CASE(quotes_enclose_trades),
    SF_CASE(orders_are_sane),
    SF_CASE(json_events_are_sane),
    SF_CASE(structures_are_sane),
    SF_CASE(orders_live_and_end),
    SF_CASE(generic_follows_the_schema),
    SF_CASE(generator_refuses),
    SF_CASE(the_market_walks),
    SF_CASE(a_failed_batch_changes_nothing),
    SF_CASE(columns_by_name),
    SF_CASE(generator_keeps_its_rate),
    SF_CASE(generator_goes_on_at_its_position),
    SF_CASE(generator_positions_are_checked),
    SF_CASE(file_is_read_when_it_changes),
    SF_CASE(file_goes_on_at_its_position),
    SF_CASE(file_failures_change_nothing),
    SF_CASE(file_memory_failures_change_nothing),
    SF_CASE(file_faults_are_counted),
    SF_CASE(file_config_is_checked),
    SF_CASE(file_positions_are_checked),
    SF_CASE(file_waits_for_its_schedule),
};
SF_RUN("connect", cases)
