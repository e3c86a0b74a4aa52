/* How long completion takes: a query of 200 lines over 100 sources, the cursor at several places.
 * Prints the slowest of many runs; the promise is 5 ms. */
#include "sql/sql.h"

#include <stdio.h>
#include <time.h>

enum { SOURCES = 100, QUERIES = 19, RUNS = 200 };

typedef struct {
    sf_schema *schema;
    char names[SOURCES][16];
} catalog;

static sf_status find(void *self, sf_str name, sf_relation *out, sf_error *err)
{
    catalog *c = self;
    for (size_t i = 0; i < SOURCES; i++)
        if (sf_str_eq(name, sf_str_of(c->names[i]))) {
            *out = (sf_relation){c->names[i], SF_INPUT_SOURCE, c->schema, true};
            return SF_OK;
        }
    return sf_fail(err, SF_NOT_FOUND, "no such source");
}

static void list(void *self, bool (*visit)(void *arg, const sf_relation *relation), void *arg)
{
    catalog *c = self;
    bool more = true;
    for (size_t i = 0; more && i < SOURCES; i++) {
        sf_relation relation = {c->names[i], SF_INPUT_SOURCE, c->schema, true};
        more = visit(arg, &relation);
    }
}

/* Ten lines a query of WITH, each reading the one before. */
static void put_text(sf_buf *out)
{
    for (int i = 0; i < QUERIES; i++) {
        sf_buf_printf(out, "%s q%d AS (\n  SELECT s.c0,\n    s.c1,\n", i ? ",\n" : "WITH", i);
        sf_buf_printf(out, "    CASE WHEN s.c2 > 10 THEN s.c2 ELSE t.c3 END AS c2,\n    t.c3\n");
        sf_buf_printf(out, "  FROM s%d s\n  JOIN ", i * 5);
        if (i)
            sf_buf_printf(out, "q%d t\n", i - 1);
        else
            sf_buf_puts(out, "s99 t\n");
        sf_buf_puts(out, "    ON s.c0 = t.c0\n  WHERE s.c1 > 5 AND (s.c2 < 7 OR s.c3 <> 3)\n)");
    }
    sf_buf_puts(out, "\nSELECT a.c0,\n  ");
}

static double run(sf_str text, uint32_t offset, const sf_resolver *resolver, size_t *items)
{
    struct timespec from, to;
    sf_completions found;
    clock_gettime(CLOCK_MONOTONIC, &from);
    sf_status status = sf_sql_complete(text, offset, SF_PLAN_TABLE, resolver, &found, NULL);
    *items = status == SF_OK ? found.items.len : 0;
    sf_completions_deinit(&found);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
}

static void measure(const char *what, sf_str text, uint32_t offset, const sf_resolver *resolver)
{
    double worst = 0, sum = 0;
    size_t items = 0;
    for (int i = 0; i < RUNS; i++) {
        double ms = run(text, offset, resolver, &items);
        worst = ms > worst ? ms : worst;
        sum += ms;
    }
    printf("%-24s %4zu items  mean %.3f ms  worst %.3f ms\n", what, items, sum / RUNS, worst);
}

int main(void)
{
    static const sf_field fields[] = {{"c0", SF_TYPE_I64, false},
                                      {"c1", SF_TYPE_I64, false},
                                      {"c2", SF_TYPE_I64, false},
                                      {"c3", SF_TYPE_I64, false}};
    catalog c = {.schema = sf_schema_new(fields, SF_COUNT_OF(fields))};
    for (size_t i = 0; i < SOURCES; i++)
        snprintf(c.names[i], sizeof c.names[i], "s%zu", i);
    sf_resolver resolver = {.find = find, .list = list, .self = &c};
    sf_buf text = {0};
    put_text(&text);
    uint32_t item = (uint32_t)text.len;
    sf_buf_puts(&text, "\nFROM q18 a\nJOIN s7 b\n  ON a.c0 = b.c0\nJOIN ");
    uint32_t relation = (uint32_t)text.len;
    sf_buf_puts(&text, "\nWHERE a.c1 > 3\n");
    uint32_t end = (uint32_t)text.len, lines = 0;
    for (size_t i = 0; i < text.len; i++)
        lines += text.data[i] == '\n';
    printf("%u lines, %zu bytes, %d sources\n", lines, text.len, SOURCES);
    measure("an expression", sf_buf_str(&text), item, &resolver);
    measure("a source", sf_buf_str(&text), relation, &resolver);
    measure("behind the condition", sf_buf_str(&text), end, &resolver);
    measure("the second line", sf_buf_str(&text), 24, &resolver);
    sf_buf_deinit(&text);
    sf_schema_unref(c.schema);
    return 0;
}
