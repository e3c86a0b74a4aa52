/* sf query: one SQL statement over files, in process. */
#include "cli/query.h"
#include "text/lexer.h"
#include "text/text.h"

#include <stdlib.h>
#include <unistd.h>

#define QUERY "query" /* its name in the engine; an input of this name is refused */

enum { SQL_BYTES_MAX = 1 << 20 };

typedef struct {
    const sf_cli_command *command;
    sf_arena arena;
    sf_query_input *inputs;
    size_t input_count;
    sf_str sql;
    const char *sql_name; /* of its file, or NULL */
    bool pipeline, changes, stats;
    int64_t epoch_rows;
    sf_query_style style;
    sf_clock clock;

    sf_engine *engine;
    sf_plan_kind kind;
    sf_query_output output;
    bool output_open;
    sf_buf sql_file;
    sf_status output_status;
    sf_error error;
    int64_t parse_ns, run_ns, started_ns;
} session;

/* ---- words ---- */

typedef struct {
    sf_cli_words from, schema, time, lateness;
    const char *format, *file;
} words;

static sf_status each(session *s, const sf_cli_words *list,
                      sf_status (*apply)(sf_arena *, const char *, sf_query_input *, size_t,
                                         sf_error *))
{
    for (size_t i = 0; i < list->len; i++)
        SF_TRY(apply(&s->arena, list->data[i], s->inputs, s->input_count, &s->error));
    return SF_OK;
}

static sf_status read_inputs(session *s, const words *w)
{
    s->inputs = SF_ARENA_ARRAY(&s->arena, sf_query_input, w->from.len + 1);
    if (!s->inputs)
        return sf_fail_memory(&s->error);
    size_t standard = 0;
    for (size_t i = 0; i < w->from.len; i++) {
        sf_query_input *input = &s->inputs[i];
        SF_TRY(sf_query_input_spec(&s->arena, w->from.data[i], input, &s->error));
        s->input_count++;
        standard += strcmp(input->path, "-") == 0;
        if (strcmp(input->name, QUERY) == 0)
            return sf_fail(&s->error, SF_INVALID, "an input cannot be named \"%s\"", QUERY);
    }
    if (standard > 1)
        return sf_fail(&s->error, SF_INVALID, "only one input can be standard input");
    SF_TRY(each(s, &w->schema, sf_query_input_schema));
    SF_TRY(each(s, &w->time, sf_query_input_time));
    return each(s, &w->lateness, sf_query_input_lateness);
}

static sf_status read_style(session *s, const char *format)
{
    if (strcmp(format, "table") == 0)
        s->style = SF_QUERY_TABLE;
    else if (strcmp(format, "ndjson") == 0)
        s->style = SF_QUERY_NDJSON;
    else if (strcmp(format, "csv") == 0)
        s->style = SF_QUERY_CSV;
    else
        return sf_fail(&s->error, SF_INVALID, "--format is table, ndjson or csv, not \"%s\"",
                       format);
    return SF_OK;
}

static sf_status read_sql(session *s, const words *w, const sf_cli_words *rest)
{
    if (!w->file == (rest->len == 0))
        return sf_fail(&s->error, SF_INVALID, "give one SELECT, or --file");
    if (rest->len > 1)
        return sf_fail(&s->error, SF_INVALID, "there is a word too much: \"%s\"; quote the SQL",
                       rest->data[1]);
    s->sql = rest->len ? sf_str_of(rest->data[0]) : (sf_str){NULL, 0};
    if (w->file) {
        SF_TRY(sf_cli_read_file(w->file, SQL_BYTES_MAX, &s->sql_file, &s->error));
        s->sql = sf_buf_str(&s->sql_file);
        s->sql_name = w->file;
    }
    return SF_OK;
}

/* ---- compiling ---- */

/* Do these words stand in the text? They only do in pipelines. */
static bool speaks_of_windows(sf_str sql)
{
    enum { EMIT = 1, GROUP, WINDOW, WITHIN };
    static const char *const keywords[] = {"EMIT", "GROUP", "WINDOW", "WITHIN"};
    static const sf_lexer_rules rules = {.keywords = keywords,
                                         .keyword_count = SF_COUNT_OF(keywords),
                                         .line_comment = "--",
                                         .string_quotes = "'",
                                         .name_quote = '"',
                                         .doubling = true,
                                         .multiline = true};
    sf_lexer lexer;
    sf_lexer_init(&lexer, sql, &rules);
    bool within = false; /* WITHIN GROUP belongs to aggregates */
    for (sf_token token = sf_lexer_next(&lexer); token.kind != SF_TOKEN_END;
         token = sf_lexer_next(&lexer)) {
        unsigned code = token.kind == SF_TOKEN_WORD ? token.code : 0;
        if ((within && code != GROUP) || code == EMIT || code == WINDOW)
            return true;
        within = code == WITHIN;
    }
    return within;
}

/* A name that is not known may be a file that was not given. */
static void hint_file(const session *s, const sf_diagnostic *item)
{
    static const char *const endings[] = {"", ".ndjson", ".jsonl", ".json", ".csv", ".tsv"};
    if ((size_t)item->span.offset + item->span.length > s->sql.len || item->span.length == 0)
        return;
    sf_str word = {s->sql.data + item->span.offset, item->span.length};
    if (word.len > 2 && (word.data[0] == '\'' || word.data[0] == '"'))
        word = (sf_str){word.data + 1, word.len - 2};
    for (size_t i = 0; i < SF_COUNT_OF(endings); i++) {
        char path[512];
        int length = snprintf(path, sizeof path, "%.*s%s", SF_STR_ARG(word), endings[i]);
        if (length <= 0 || (size_t)length >= sizeof path || access(path, R_OK) != 0)
            continue;
        if (endings[i][0])
            fprintf(stderr, "  there is a file %s: add --from %.*s=%s\n", path, SF_STR_ARG(word),
                    path);
        else if (strchr(path, '.'))
            fprintf(stderr, "  there is a file %s: add --from name=%s and say FROM name\n", path,
                    path);
        return;
    }
}

static sf_status try_compile(session *s, sf_plan_kind kind, sf_diagnostics *diagnostics)
{
    s->kind = kind;
    return sf_engine_add_query(s->engine, QUERY, kind, s->sql, diagnostics, &s->error);
}

/* A query that compiles as a pipeline streams; all others keep a table's answer. */
static sf_status compile(session *s)
{
    sf_diagnostics diagnostics = {0};
    sf_status status;
    if (s->pipeline || speaks_of_windows(s->sql)) {
        status = try_compile(s, SF_PLAN_PIPELINE, &diagnostics);
    } else {
        sf_diagnostics ignored = {0};
        status = try_compile(s, SF_PLAN_PIPELINE, &ignored);
        sf_diagnostics_deinit(&ignored);
        if (status != SF_OK)
            status = try_compile(s, SF_PLAN_TABLE, &diagnostics);
    }
    if (status != SF_OK || diagnostics.list.len)
        sf_cli_show_diagnostics(stderr, s->sql_name, s->sql, &diagnostics, &s->error);
    for (size_t i = 0; status != SF_OK && i < diagnostics.list.len; i++)
        hint_file(s, &diagnostics.list.data[i]);
    sf_diagnostics_deinit(&diagnostics);
    return status;
}

static sf_status open_inputs(session *s)
{
    s->engine = sf_engine_new();
    if (!s->engine)
        return sf_fail_memory(&s->error);
    for (size_t i = 0; i < s->input_count; i++) {
        sf_query_input *input = &s->inputs[i];
        SF_TRY(sf_query_input_open(&s->arena, input, &s->error));
        SF_TRY(sf_engine_add_source(s->engine, input->name, input->fields, input->field_count,
                                    input->lateness_ms, true, &s->error));
    }
    return SF_OK;
}

/* ---- running ---- */

static uint64_t epoch_now(session *s)
{
    sf_circuit_stats stats;
    sf_circuit_get_stats(sf_engine_circuit(s->engine, QUERY), &stats);
    return stats.epochs;
}

static void on_output(void *arg, const char *query, const sf_batch *batch)
{
    session *s = arg;
    SF_UNUSED(query);
    if (s->output_status != SF_OK || (s->kind == SF_PLAN_TABLE && !s->changes))
        return;
    s->output_status =
        sf_query_output_batch(&s->output, s->changes ? epoch_now(s) : 0, batch, &s->error);
}

static sf_status run_epochs(session *s)
{
    int64_t begun = sf_clock_mono_ns(&s->clock);
    sf_engine_set_now(s->engine, sf_clock_wall_ms(&s->clock));
    SF_TRY(sf_engine_run(s->engine, on_output, s, &s->error));
    s->run_ns += sf_clock_mono_ns(&s->clock) - begun;
    return s->output_status;
}

static sf_status push_chunk(session *s, sf_query_input *input)
{
    int64_t begun = sf_clock_mono_ns(&s->clock);
    SF_TRY(sf_query_input_read(input, sf_clock_wall_ms(&s->clock), &s->error));
    s->parse_ns += sf_clock_mono_ns(&s->clock) - begun;
    for (;;) {
        sf_batch *batch;
        SF_TRY(sf_query_input_next(input, &batch, &s->error));
        if (!batch)
            break;
        sf_status status = sf_engine_push(s->engine, input->name, batch, &s->error);
        sf_batch_unref(batch);
        SF_TRY(status);
        if (s->epoch_rows)
            SF_TRY(run_epochs(s));
    }
    if (input->at_end)
        SF_TRY(sf_engine_watermark(s->engine, input->name, SF_MARK_END, &s->error));
    SF_TRY(run_epochs(s));
    return s->changes || s->kind == SF_PLAN_PIPELINE
               ? sf_query_output_show(&s->output, input->live, &s->error)
               : SF_OK;
}

static sf_status read_all(session *s)
{
    bool more = true;
    SF_TRY(run_epochs(s)); /* what holds before the first row */
    while (more) {
        more = false;
        for (size_t i = 0; i < s->input_count; i++) {
            if (s->inputs[i].done)
                continue;
            SF_TRY(push_chunk(s, &s->inputs[i]));
            s->inputs[i].done = s->inputs[i].at_end;
            more |= !s->inputs[i].done;
        }
    }
    return SF_OK;
}

static sf_status print_answer(session *s)
{
    if (s->kind != SF_PLAN_TABLE || s->changes)
        return SF_OK;
    sf_snapshot *snapshot = sf_engine_snapshot(s->engine, QUERY);
    const sf_schema *schema = sf_plan_schema(sf_engine_plan(s->engine, QUERY));
    sf_snapshot_cursor cursor = {0};
    sf_status status = snapshot ? SF_OK : sf_fail_memory(&s->error);
    while (status == SF_OK) {
        sf_batch *batch = NULL;
        status = sf_snapshot_read(snapshot, schema, 0, SF_BATCH_ROWS, &cursor, &batch, &s->error);
        if (status != SF_OK || !batch)
            break;
        status = sf_query_output_batch(&s->output, 0, batch, &s->error);
        sf_batch_unref(batch);
    }
    sf_snapshot_unref(snapshot);
    return status;
}

static void print_stats(const session *s)
{
    uint64_t rows = 0, bytes = 0;
    for (size_t i = 0; i < s->input_count; i++) {
        rows += s->inputs[i].rows;
        bytes += s->inputs[i].bytes;
    }
    sf_circuit_stats stats;
    sf_circuit_get_stats(sf_engine_circuit(s->engine, QUERY), &stats);
    double seconds = (double)(sf_clock_mono_ns(&s->clock) - s->started_ns) / 1e9;
    fprintf(stderr, "%llu rows, %.1f MB in %.3f s: %.0f rows/s, %.1f MB/s\n",
            (unsigned long long)rows, (double)bytes / 1e6, seconds, (double)rows / seconds,
            (double)bytes / 1e6 / seconds);
    fprintf(stderr,
            "reading and parsing %.3f s, query %.3f s, %llu rows out, %llu epochs, "
            "%llu late rows\n",
            (double)s->parse_ns / 1e9, (double)s->run_ns / 1e9, (unsigned long long)s->output.rows,
            (unsigned long long)stats.epochs, (unsigned long long)stats.late_rows);
}

static void warn_of_errors(const session *s)
{
    sf_circuit_stats stats;
    sf_circuit_get_stats(sf_engine_circuit(s->engine, QUERY), &stats);
    for (size_t i = 0; i < s->input_count; i++)
        sf_query_input_warn(&s->inputs[i]);
    for (int i = 0; i < SF_EVAL_ERROR_COUNT; i++)
        if (stats.eval_errors[i])
            fprintf(stderr, "warning: %llu values became NULL: %s\n",
                    (unsigned long long)stats.eval_errors[i], sf_eval_code_text((sf_eval_code)i));
    if (stats.late_rows)
        fprintf(stderr, "warning: %llu rows came too late for their windows\n",
                (unsigned long long)stats.late_rows);
}

static sf_status run_query(session *s)
{
    s->started_ns = sf_clock_mono_ns(&s->clock);
    for (size_t i = 0; i < s->input_count; i++) {
        sf_query_input *input = &s->inputs[i];
        SF_TRY(sf_query_input_start(input, sf_engine_source_schema(s->engine, input->name),
                                    (uint32_t)s->epoch_rows, &s->error));
    }
    SF_TRY(sf_query_output_init(&s->output, s->style, s->changes,
                                sf_plan_schema(sf_engine_plan(s->engine, QUERY)), &s->error));
    SF_TRY(read_all(s));
    SF_TRY(print_answer(s));
    SF_TRY(sf_query_output_finish(&s->output, &s->error));
    warn_of_errors(s);
    if (s->stats)
        print_stats(s);
    return SF_OK;
}

/* SHOW FUNCTIONS is no query: it lists the registry. */
static bool shows_functions(sf_str sql)
{
    static const char *const want[] = {"SHOW", "FUNCTIONS"};
    static const sf_lexer_rules rules = {.line_comment = "--", .string_quotes = "'"};
    sf_lexer lexer;
    sf_lexer_init(&lexer, sql, &rules);
    for (size_t i = 0; i < SF_COUNT_OF(want); i++) {
        sf_token token = sf_lexer_next(&lexer);
        if (token.kind != SF_TOKEN_WORD ||
            !sf_str_eq_nocase(sf_token_raw(sql, token), sf_str_of(want[i])))
            return false;
    }
    return sf_lexer_next(&lexer).kind == SF_TOKEN_END;
}

static int run_session(session *s, const words *w, const sf_cli_words *rest)
{
    if (s->epoch_rows > SF_BATCH_ROWS_MAX)
        return sf_cli_usage(s->command, "--epoch-rows is at most %d", SF_BATCH_ROWS_MAX);
    if (read_style(s, w->format) != SF_OK || read_inputs(s, w) != SF_OK ||
        read_sql(s, w, rest) != SF_OK) {
        if (s->error.status == SF_INVALID) {
            sf_cli_fail(s->command, &s->error);
            fprintf(stderr, "sf query --help tells how it is called\n");
            return SF_CLI_USAGE;
        }
        return sf_cli_fail(s->command, &s->error);
    }
    if (shows_functions(s->sql)) {
        sf_cli_print_functions(stdout, NULL);
        return SF_CLI_OK;
    }
    if (open_inputs(s) != SF_OK)
        return sf_cli_fail(s->command, &s->error);
    if (compile(s) != SF_OK)
        return SF_CLI_FAILED; /* the diagnostics have said why */
    return run_query(s) == SF_OK ? SF_CLI_OK : sf_cli_fail(s->command, &s->error);
}

static int run(const sf_cli_command *command, int argc, char **argv)
{
    session s = {.command = command, .clock = sf_clock_system()};
    words w = {.format = "table"};
    sf_cli_words rest = {0};
    const sf_cli_option options[] = {
        {"--from", SF_CLI_LIST, &w.from},         {"--schema", SF_CLI_LIST, &w.schema},
        {"--time", SF_CLI_LIST, &w.time},         {"--lateness", SF_CLI_LIST, &w.lateness},
        {"--format", SF_CLI_TEXT, &w.format},     {"--file", SF_CLI_TEXT, &w.file},
        {"--pipeline", SF_CLI_FLAG, &s.pipeline}, {"--changes", SF_CLI_FLAG, &s.changes},
        {"--stats", SF_CLI_FLAG, &s.stats},       {"--epoch-rows", SF_CLI_NUMBER, &s.epoch_rows},
    };
    sf_arena_init(&s.arena, 0);
    int exit = sf_cli_parse(command, argc, argv, options, SF_COUNT_OF(options), &rest);
    if (exit == SF_CLI_GO_ON)
        exit = run_session(&s, &w, &rest);
    sf_query_output_deinit(&s.output);
    for (size_t i = 0; i < s.input_count; i++)
        sf_query_input_close(&s.inputs[i]);
    sf_engine_free(s.engine);
    sf_buf_deinit(&s.sql_file);
    SF_VEC_DEINIT(&w.from);
    SF_VEC_DEINIT(&w.schema);
    SF_VEC_DEINIT(&w.time);
    SF_VEC_DEINIT(&w.lateness);
    SF_VEC_DEINIT(&rest);
    sf_arena_deinit(&s.arena);
    return exit;
}

const sf_cli_command sf_cli_query = {
    .name = "query",
    .synopsis = "[--from NAME=PATH[:FORMAT]]... [option...] \"SELECT ...\"\n"
                "[--from NAME=PATH[:FORMAT]]... [option...] --file QUERY.sql",
    .summary = "run SQL over files or standard input",
    .help =
        "Runs a SELECT in process. Queries that aggregate or join print their final answer when "
        "the\n"
        "input ends; filters and windowed queries (WINDOW, WITHIN) print rows as they come.\n"
        "\n"
        "  --from NAME=PATH[:FORMAT]     a file as relation NAME; - is standard input. The format "
        "is\n"
        "                                ndjson, json, csv or tsv; by default the file's ending, "
        "else\n"
        "                                its first byte, decides\n"
        "  --schema NAME=COLUMN:TYPE,... the columns, in place of those inferred from the first "
        "MB;\n"
        "                                types: String Double Long Bool Timestamp Json\n"
        "  --time NAME=COLUMN            the column that is a row's event time (default: _ts, "
        "else\n"
        "                                the time of reading)\n"
        "  --lateness NAME=MS            how late rows may come (default 1000)\n"
        "  --format table|ndjson|csv     how rows are printed (default table)\n"
        "  --changes                     print each epoch's changes with _epoch and _weight\n"
        "  --epoch-rows N                at most N rows an epoch (default: a chunk of the file)\n"
        "  --pipeline                    compile as a pipeline, whatever the text says\n"
        "  --file PATH                   read the SQL from a file\n"
        "  --stats                       rows and bytes a second, on standard error\n"
        "\n"
        "Example: sf query --from trades=trades.ndjson \\\n"
        "           \"SELECT symbol, COUNT(*) AS n FROM trades GROUP BY symbol\"\n"
        "\n"
        "Status: 0 done, 1 the SQL or the input failed, 2 called wrongly.",
    .run = run,
};
