/* A table that stays right while rows come and go, computed inside this program.
 *
 * Build: install the library (cmake --install BUILD --component engine --prefix PREFIX), then
 *   PKG_CONFIG_PATH=PREFIX/lib/.../pkgconfig cmake -B build . && cmake --build build */
#include <streamsforge/engine.h>

#include <stdio.h>
#include <stdlib.h>

static void check(sf_world_status status, const sf_world_error *error)
{
    if (status == SF_WORLD_OK)
        return;
    fprintf(stderr, "%u:%u: %s\n%s\n", error->line, error->column, error->message, error->hint);
    exit(1);
}

static void push(sf_world *world, const char *symbol, int64_t quantity, double price,
                 int64_t weight)
{
    sf_world_error error;
    sf_world_value values[] = {sf_world_text(symbol), sf_world_whole(quantity),
                               sf_world_real(price)};
    sf_world_row row = {
        .values = values, .count = 3, .ts_ms = SF_WORLD_STAMP_NOW, .weight = weight};
    check(sf_world_push(world, "trades", &row, &error), &error);
}

static void print_row(const sf_world_row *row)
{
    printf("%.*s trades=%lld volume=%g\n", (int)row->values[0].as.text.len,
           row->values[0].as.text.data, (long long)row->values[1].as.whole, row->values[2].as.real);
}

static void on_change(void *arg, const char *query, const sf_world_row *row)
{
    (void)arg;
    printf("%s %+lld ", query, (long long)row->weight);
    print_row(row);
}

int main(void)
{
    static const sf_world_field fields[] = {
        {"symbol", SF_WORLD_STRING}, {"qty", SF_WORLD_LONG}, {"price", SF_WORLD_DOUBLE}};
    static const sf_world_source_options options = {.takes_retractions = true};
    sf_world *world = sf_world_new();
    sf_world_error error;
    if (!world)
        return 1;
    check(sf_world_add_source(world, "trades", fields, 3, &options, &error), &error);
    check(sf_world_add_table(world, "volumes",
                             "SELECT symbol, COUNT(*) AS trades, SUM(qty * price) AS volume "
                             "FROM trades GROUP BY symbol",
                             &error),
          &error);

    push(world, "ACME", 10, 2.5, 1);
    push(world, "ACME", 4, 2.0, 1);
    push(world, "BOLT", 1, 9.0, 1);
    check(sf_world_run(world, on_change, NULL, &error), &error);

    push(world, "ACME", 4, 2.0, -1); /* this trade was cancelled */
    push(world, "BOLT", 3, 9.5, 1);
    check(sf_world_run(world, on_change, NULL, &error), &error);

    puts("answer:");
    sf_world_reader *reader;
    sf_world_row row;
    check(sf_world_read(world, "volumes", &reader, &error), &error);
    while (sf_world_reader_next(reader, &row, &error))
        print_row(&row);
    check(error.status, &error);
    sf_world_reader_free(reader);
    sf_world_free(world);
    return 0;
}
