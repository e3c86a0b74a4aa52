/* bench micro: the smallest parts, one core: a filter with a projection, GROUP BY, the row parsers.
 * Each figure is the median of several runs; ratios are to a plain C loop over the same arrays in
 * the same run. Results are checked before they are printed. */
#include "base/seam.h"
#include "engine/engine.h"
#include "format/format.h"

#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 7, KEYS = 1000, BATCH = 2048 };

typedef struct {
    const char *name;
    double per_second; /* rows, or bytes */
    const char *unit;
    double ratio; /* to the plain loop; 0: none */
} figure;

static figure figures[16];
static int figure_count;

static _Noreturn void die(const char *what, const sf_error *err)
{
    fprintf(stderr, "bench micro: %s: %s\n", what, err ? err->message : "out of memory");
    exit(1);
}

static double now_s(void)
{
    sf_clock clock = sf_clock_system();
    return (double)sf_clock_mono_ns(&clock) / 1e9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

static void report(const char *name, double per_second, const char *unit, double ratio)
{
    figures[figure_count++] = (figure){name, per_second, unit, ratio};
    printf("%-34s %10.1f M%s/s", name, per_second / 1e6, unit);
    if (ratio > 0)
        printf("   %.2fx the plain loop's time", ratio);
    printf("\n");
}

/* ---- rows in memory: k 0..999, qty 1..500, price, _ts ---- */

static const sf_field fields[] = {
    {"k", SF_TYPE_I64, false}, {"qty", SF_TYPE_I64, false}, {"price", SF_TYPE_F64, false}};

typedef struct {
    sf_batch **batches;
    uint32_t count;
    uint64_t rows;
} table;

static sf_batch *make_batch(const sf_schema *schema, sf_rng *rng, int64_t ts)
{
    sf_column *columns[5] = {
        sf_column_new(SF_TYPE_I64, BATCH, false), sf_column_new(SF_TYPE_I64, BATCH, false),
        sf_column_new(SF_TYPE_F64, BATCH, false), sf_column_nulls(SF_TYPE_BOOL, BATCH),
        sf_column_new(SF_TYPE_I64, BATCH, false)};
    for (int c = 0; c < 5; c++)
        if (!columns[c])
            die("rows", NULL);
    for (uint32_t i = 0; i < BATCH; i++) {
        ((int64_t *)sf_column_lanes(columns[0]))[i] = (int64_t)sf_rng_below(rng, KEYS);
        ((int64_t *)sf_column_lanes(columns[1]))[i] = 1 + (int64_t)sf_rng_below(rng, 500);
        ((double *)sf_column_lanes(columns[2]))[i] = (double)sf_rng_below(rng, 100000) / 100;
        ((int64_t *)sf_column_lanes(columns[4]))[i] = ts + i;
    }
    return sf_batch_new(schema, BATCH, columns, NULL, NULL);
}

static table make_table(const sf_schema *schema, uint64_t rows)
{
    table made = {.count = (uint32_t)((rows + BATCH - 1) / BATCH)};
    made.batches = malloc(made.count * sizeof(sf_batch *));
    sf_rng rng = {1};
    for (uint32_t i = 0; made.batches && i < made.count; i++) {
        made.batches[i] = make_batch(schema, &rng, (int64_t)i * BATCH);
        if (!made.batches[i])
            die("rows", NULL);
        made.rows += BATCH;
    }
    return made;
}

/* ---- filter and projection ---- */

static double plain_loop(const table *rows, double *sum)
{
    static double notional[BATCH];
    static int64_t more[BATCH];
    double start = now_s(), total = 0;
    for (uint32_t b = 0; b < rows->count; b++) {
        const int64_t *qty = SF_LANES(rows->batches[b]->columns[1], int64_t);
        const double *price = SF_LANES(rows->batches[b]->columns[2], double);
        uint32_t n = 0;
        for (uint32_t i = 0; i < BATCH; i++) {
            if (qty[i] <= 250)
                continue;
            notional[n] = price[i] * (double)qty[i];
            more[n++] = qty[i] + 1;
        }
        for (uint32_t i = 0; i < n; i++) /* someone looks at the result, as below */
            total += notional[i] + (double)more[i];
    }
    *sum = total;
    return now_s() - start;
}

typedef struct {
    sf_arena arena;
    const sf_expr *predicate, *notional, *more;
} expressions;

static void bind(expressions *e)
{
    sf_error err = {0};
    sf_span none = {0, 0};
    const sf_expr *qty = NULL, *price = NULL, *limit = NULL, *one = NULL;
    sf_literal value = {.as.i64 = 250}, unit = {.as.i64 = 1};
    sf_arena_init(&e->arena, 0);
    sf_arena *a = &e->arena;
    bool good = sf_expr_column(a, 1, SF_TYPE_I64, none, &qty, &err) == SF_OK &&
                sf_expr_column(a, 2, SF_TYPE_F64, none, &price, &err) == SF_OK &&
                sf_expr_literal(a, SF_TYPE_I64, &value, none, &limit, &err) == SF_OK &&
                sf_expr_literal(a, SF_TYPE_I64, &unit, none, &one, &err) == SF_OK;
    const sf_expr *above[] = {qty, limit}, *times[] = {price, qty}, *plus[] = {qty, one};
    good = good && sf_expr_call(a, SF_STR(">"), above, 2, none, &e->predicate, &err) == SF_OK &&
           sf_expr_call(a, SF_STR("*"), times, 2, none, &e->notional, &err) == SF_OK &&
           sf_expr_call(a, SF_STR("+"), plus, 2, none, &e->more, &err) == SF_OK;
    if (!good)
        die("expressions", &err);
}

static double kernels(const table *rows, const expressions *e, double *sum)
{
    static uint32_t picked[BATCH];
    sf_eval eval;
    sf_error err = {0};
    sf_eval_init(&eval);
    double start = now_s(), total = 0;
    for (uint32_t b = 0; b < rows->count; b++) {
        const sf_batch *batch = rows->batches[b];
        uint32_t n;
        sf_column *notional, *more;
        if (sf_eval_filter(&eval, e->predicate, batch, sf_sel_all(BATCH), picked, &n, &err) !=
            SF_OK)
            die("filter", &err);
        sf_sel sel = {picked, n};
        if (sf_eval_column(&eval, e->notional, batch, sel, &notional, &err) != SF_OK ||
            sf_eval_column(&eval, e->more, batch, sel, &more, &err) != SF_OK)
            die("projection", &err);
        for (uint32_t i = 0; i < n; i++)
            total += SF_LANES(notional, double)[i] + (double)SF_LANES(more, int64_t)[i];
        sf_column_unref(notional);
        sf_column_unref(more);
    }
    *sum = total;
    double seconds = now_s() - start;
    sf_eval_deinit(&eval);
    return seconds;
}

static void bench_filter(const table *rows)
{
    expressions e;
    bind(&e);
    double plain[RUNS], ours[RUNS], want = 0, got = 0;
    for (int r = 0; r < RUNS; r++) { /* in turn, so that both see the same machine */
        plain[r] = plain_loop(rows, &want);
        ours[r] = kernels(rows, &e, &got);
        if (want != got)
            die("filter: wrong sum", NULL);
    }
    double loop = median(plain, RUNS), mine = median(ours, RUNS);
    report("filter + arithmetic projection", (double)rows->rows / mine, "rows", mine / loop);
    sf_arena_deinit(&e.arena);
}

/* ---- GROUP BY ---- */

static void check_groups(sf_engine *engine, uint64_t rows)
{
    sf_error err = {0};
    sf_snapshot *snapshot = sf_engine_snapshot(engine, "g");
    sf_batch *batch = NULL;
    uint64_t total = 0;
    if (!snapshot || sf_snapshot_read(snapshot, sf_plan_schema(sf_engine_plan(engine, "g")), 0,
                                      2 * KEYS, NULL, &batch, &err) != SF_OK)
        die("GROUP BY", &err);
    for (uint32_t i = 0; batch && i < batch->rows; i++)
        total += (uint64_t)SF_LANES(batch->columns[1], int64_t)[i];
    if (!batch || batch->rows != KEYS || total != rows)
        die("GROUP BY: wrong counts", NULL);
    sf_batch_unref(batch);
    sf_snapshot_unref(snapshot);
}

static double group_once(const table *rows)
{
    sf_error err = {0};
    sf_engine *engine = sf_engine_new();
    if (!engine ||
        sf_engine_add_source(engine, "t", fields, SF_COUNT_OF(fields), 1000, true, &err) != SF_OK ||
        sf_engine_add_query(engine, "g", SF_PLAN_TABLE,
                            SF_STR("SELECT k, COUNT(*) AS n, SUM(qty) AS s, AVG(price) AS a "
                                   "FROM t GROUP BY k"),
                            NULL, &err) != SF_OK)
        die("GROUP BY", &err);
    for (uint32_t b = 0; b < rows->count; b++)
        if (sf_engine_push(engine, "t", rows->batches[b], &err) != SF_OK)
            die("push", &err);
    double start = now_s();
    if (sf_engine_run(engine, NULL, NULL, &err) != SF_OK)
        die("run", &err);
    double seconds = now_s() - start;
    check_groups(engine, rows->rows);
    sf_engine_free(engine);
    return seconds;
}

static void bench_group(const table *rows)
{
    double seconds[RUNS];
    for (int r = 0; r < RUNS; r++)
        seconds[r] = group_once(rows);
    report("GROUP BY 1,000 keys: count sum avg", (double)rows->rows / median(seconds, RUNS), "rows",
           0);
}

/* ---- parsers: trades ---- */

static const sf_field trades[] = {{"symbol", SF_TYPE_UTF8, false},
                                  {"price", SF_TYPE_F64, false},
                                  {"qty", SF_TYPE_I64, false},
                                  {"side", SF_TYPE_UTF8, false},
                                  {"venue", SF_TYPE_UTF8, false}};

static void write_trades(sf_buf *out, sf_format format, uint64_t rows)
{
    static const char *const symbols[] = {"AAPL", "MSFT", "NVDA", "AMZN",
                                          "GOOG", "META", "TSLA", "JPM"};
    static const char *const venues[] = {"NYSE", "NASDAQ", "ARCA"};
    sf_rng rng = {2};
    if (format == SF_FORMAT_CSV)
        sf_buf_puts(out, "symbol,price,qty,side,venue\n");
    for (uint64_t i = 0; i < rows; i++) {
        const char *symbol = symbols[sf_rng_below(&rng, 8)], *venue = venues[sf_rng_below(&rng, 3)];
        double price = (double)sf_rng_below(&rng, 10000000) / 10000;
        unsigned long long qty = 10 * (1 + sf_rng_below(&rng, 50));
        const char *side = sf_rng_below(&rng, 2) ? "BUY" : "SELL";
        if (format == SF_FORMAT_CSV)
            sf_buf_printf(out, "%s,%.4f,%llu,%s,%s\n", symbol, price, qty, side, venue);
        else
            sf_buf_printf(out,
                          "{\"symbol\":\"%s\",\"price\":%.4f,\"qty\":%llu,\"side\":\"%s\","
                          "\"venue\":\"%s\"}\n",
                          symbol, price, qty, side, venue);
    }
    if (out->failed)
        die("text", NULL);
}

static double parse_once(const sf_schema *schema, sf_format format, sf_str text, uint64_t want)
{
    enum { PIECE = 256 * 1024 };
    sf_error err = {0};
    sf_parser *parser;
    sf_parser_options options = {.format = format, .schema = schema, .stamp_ms = 1};
    if (sf_parser_new(&options, &parser, &err) != SF_OK)
        die("parser", &err);
    uint64_t rows = 0;
    double start = now_s();
    for (size_t at = 0; at < text.len; at += PIECE) {
        sf_str piece = {text.data + at, text.len - at < PIECE ? text.len - at : PIECE};
        if (sf_parser_feed(parser, piece, &err) != SF_OK)
            die("parse", &err);
        for (sf_batch *batch; (batch = sf_parser_next(parser)) != NULL; sf_batch_unref(batch))
            rows += batch->rows;
    }
    if (sf_parser_finish(parser, &err) != SF_OK)
        die("parse", &err);
    for (sf_batch *batch; (batch = sf_parser_next(parser)) != NULL; sf_batch_unref(batch))
        rows += batch->rows;
    double seconds = now_s() - start;
    sf_parser_free(parser);
    if (rows != want)
        die("parser: wrong number of rows", NULL);
    return seconds;
}

static void bench_parser(sf_format format, const char *name, uint64_t rows)
{
    sf_schema *schema = sf_relation_schema(trades, SF_COUNT_OF(trades), SF_INPUT_SOURCE);
    sf_buf text = {0};
    write_trades(&text, format, rows);
    double seconds[RUNS];
    for (int r = 0; r < RUNS; r++)
        seconds[r] = parse_once(schema, format, sf_buf_str(&text), rows);
    report(name, (double)text.len / median(seconds, RUNS), "B", 0);
    sf_buf_deinit(&text);
    sf_schema_unref(schema);
}

/* ---- output ---- */

static void write_json(const char *path)
{
    FILE *file = fopen(path, "w");
    const char *machine = getenv("SF_BENCH_MACHINE"), *commit = getenv("SF_BENCH_COMMIT");
    if (!file) {
        perror(path);
        exit(1);
    }
    fprintf(file, "{\"machine\":\"%s\",\"commit\":\"%s\",\"runs\":%d,\"results\":[",
            machine ? machine : "", commit ? commit : "", RUNS);
    for (int i = 0; i < figure_count; i++)
        fprintf(file, "%s{\"name\":\"%s\",\"unit\":\"%s\",\"per_s\":%.0f,\"ratio\":%.3f}",
                i ? "," : "", figures[i].name, figures[i].unit, figures[i].per_second,
                figures[i].ratio);
    fprintf(file, "]}\n");
    fclose(file);
}

int main(int argc, char **argv)
{
    uint64_t rows = 4000000;
    const char *json = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--events") == 0)
            rows = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--json") == 0)
            json = argv[i + 1];
    }
    sf_schema *schema = sf_relation_schema(fields, SF_COUNT_OF(fields), SF_INPUT_SOURCE);
    table in_memory = make_table(schema, rows);
    bench_filter(&in_memory);
    bench_group(&in_memory);
    for (uint32_t i = 0; i < in_memory.count; i++)
        sf_batch_unref(in_memory.batches[i]);
    free(in_memory.batches);
    sf_schema_unref(schema);
    bench_parser(SF_FORMAT_NDJSON, "NDJSON trades to columns", rows / 4);
    bench_parser(SF_FORMAT_CSV, "CSV trades to columns", rows / 4);
    if (json)
        write_json(json);
    return 0;
}
