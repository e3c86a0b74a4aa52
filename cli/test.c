/* sf test: runs query tests from files and reports. */
#include "cli/test.h"
#include "text/text.h"

enum { FILE_BYTES_MAX = 256 << 20 };

typedef struct {
    const char *kind;
    uint32_t passed, failed;
} kind_count;

typedef struct {
    bool json, verbose;
    const char *only; /* run only cases with this id */
    uint32_t passed, failed, skipped;
    sf_arena arena;
    SF_VEC(kind_count) kinds;
} report;

static bool count_kind(report *r, const char *kind, bool passed)
{
    size_t i = 0;
    while (i < r->kinds.len && strcmp(r->kinds.data[i].kind, kind) != 0)
        i++;
    if (i == r->kinds.len) {
        kind_count fresh = {.kind = sf_arena_strndup(&r->arena, kind, strlen(kind))};
        if (!fresh.kind || !SF_VEC_PUSH(&r->kinds, fresh))
            return false;
    }
    *(passed ? &r->kinds.data[i].passed : &r->kinds.data[i].failed) += 1;
    return true;
}

/* ---- one result ---- */

static void put_member(sf_buf *out, const char *name, sf_str text)
{
    sf_buf_printf(out, ",\"%s\":", name);
    sf_json_put_string(out, text);
}

static void print_json(const sf_test_case *test, const sf_test_outcome *outcome)
{
    sf_buf line = {0};
    sf_buf_puts(&line, "{\"file\":");
    sf_json_put_string(&line, sf_str_of(test->file));
    sf_buf_printf(&line, ",\"line\":%u", test->line);
    put_member(&line, "id", sf_str_of(test->id));
    put_member(&line, "title", sf_str_of(test->title));
    put_member(&line, "kind", sf_str_of(test->kind));
    put_member(&line, "status",
               sf_str_of(outcome->skipped  ? "skipped"
                         : outcome->passed ? "passed"
                                           : "failed"));
    if (!outcome->passed && !outcome->skipped) {
        if (outcome->variant)
            put_member(&line, "variant", sf_str_of(outcome->variant));
        put_member(&line, "message", sf_buf_str(&outcome->message));
        put_member(&line, "expected", sf_buf_str(&outcome->expected));
        put_member(&line, "actual", sf_buf_str(&outcome->actual));
    }
    sf_buf_putc(&line, '}');
    if (!line.failed)
        puts(line.data);
    sf_buf_deinit(&line);
}

static void print_failure(const sf_test_case *test, const sf_test_outcome *outcome)
{
    printf("%s:%u: %s%s%s%s: ", test->file, test->line, test->id, *test->id ? " " : "",
           *test->title ? test->title : "case", "");
    if (outcome->variant)
        printf("(%s) ", outcome->variant);
    printf("%s", outcome->message.len ? outcome->message.data : "failed");
    if (outcome->expected.len)
        printf("; expected %s", outcome->expected.data);
    if (outcome->actual.len)
        printf("; actual %s", outcome->actual.data);
    putchar('\n');
}

static bool finish_case(report *r, const sf_test_case *test, const sf_test_outcome *outcome)
{
    bool failed = !outcome->passed && !outcome->skipped;
    r->skipped += outcome->skipped;
    r->passed += outcome->passed && !outcome->skipped;
    r->failed += failed;
    if (r->json)
        print_json(test, outcome);
    else if (failed)
        print_failure(test, outcome);
    else if (r->verbose)
        printf("%s:%u: %s %s: %s\n", test->file, test->line, test->id, test->title,
               outcome->skipped ? "skipped" : "passed");
    return outcome->skipped || count_kind(r, *test->kind ? test->kind : "other", !failed);
}

static bool run_case(report *r, const char *file, uint32_t line, sf_str json)
{
    sf_test_case test;
    sf_test_outcome outcome = {0};
    sf_error err = {0};
    sf_status status = sf_test_load(&test, file, line, json, &err);
    if (r->only && strcmp(test.id, r->only) != 0) {
        sf_test_deinit(&test);
        return true;
    }
    outcome.skipped = status == SF_OK && test.manual;
    if (status == SF_OK && !test.manual)
        status = sf_test_feed(&test, &err);
    if (status != SF_OK)
        sf_buf_printf(&outcome.message, "%s%s%s", err.message, err.hint[0] ? "; " : "", err.hint);
    else if (!test.manual)
        sf_test_run(&test, &outcome);
    bool ok = finish_case(r, &test, &outcome);
    sf_test_outcome_deinit(&outcome);
    sf_test_deinit(&test);
    return ok;
}

/* ---- files ---- */

static bool run_lines(report *r, const char *file, sf_str text)
{
    uint32_t line = 0;
    bool ok = true;
    while (ok && text.len) {
        const char *end = memchr(text.data, '\n', text.len);
        size_t length = end ? (size_t)(end - text.data) : text.len;
        sf_str json = sf_text_trim((sf_str){text.data, length});
        line++;
        if (json.len)
            ok = run_case(r, file, line, json);
        size_t taken = length + (end != NULL);
        text = (sf_str){text.data + taken, text.len - taken};
    }
    return ok;
}

static uint32_t line_at(sf_str text, const char *at)
{
    uint32_t line = 1;
    for (const char *p = text.data; p < at; p++)
        line += *p == '\n';
    return line;
}

static bool run_document(report *r, const char *file, sf_str text, sf_error *err)
{
    sf_status status = sf_json_validate(text, err);
    if (status != SF_OK) {
        sf_error_context(err, "%s:%u", file, line_at(text, text.data + err->where.offset));
        return false;
    }
    if (sf_json_kind_of(text) != SF_JSON_ARRAY)
        return run_case(r, file, 1, text);
    size_t cursor = 0;
    sf_str json;
    bool ok = true;
    while (ok && sf_json_each(text, &cursor, &json))
        ok = run_case(r, file, line_at(text, json.data), json);
    return ok;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static sf_status run_file(report *r, const char *file, sf_error *err)
{
    sf_buf text = {0};
    SF_TRY(sf_cli_read_file(file, FILE_BYTES_MAX, &text, err));
    *err = (sf_error){0};
    bool ok = ends_with(file, ".jsonl") || ends_with(file, ".ndjson") || strcmp(file, "-") == 0
                  ? run_lines(r, file, sf_buf_str(&text))
                  : run_document(r, file, sf_buf_str(&text), err);
    sf_buf_deinit(&text);
    return ok ? SF_OK : err->status != SF_OK ? err->status : sf_fail_memory(err);
}

static void print_totals(const report *r)
{
    FILE *out = r->json ? stderr : stdout;
    for (size_t i = 0; i < r->kinds.len; i++)
        if (r->kinds.data[i].failed || r->verbose)
            fprintf(out, "  %s: %u passed, %u failed\n", r->kinds.data[i].kind,
                    r->kinds.data[i].passed, r->kinds.data[i].failed);
    fprintf(out, "%u passed, %u failed", r->passed, r->failed);
    if (r->skipped)
        fprintf(out, ", %u skipped", r->skipped);
    fputc('\n', out);
}

static int run(const sf_cli_command *command, int argc, char **argv)
{
    report r = {0};
    sf_cli_words files = {0};
    const sf_cli_option options[] = {
        {"--json", SF_CLI_FLAG, &r.json},
        {"--verbose", SF_CLI_FLAG, &r.verbose},
        {"--only", SF_CLI_TEXT, &r.only},
    };
    int exit = sf_cli_parse(command, argc, argv, options, SF_COUNT_OF(options), &files);
    if (exit == SF_CLI_GO_ON && files.len == 0)
        exit = sf_cli_usage(command, "which file?");
    if (exit != SF_CLI_GO_ON) {
        SF_VEC_DEINIT(&files);
        return exit;
    }
    sf_arena_init(&r.arena, 0);
    sf_error err = {0};
    exit = SF_CLI_OK;
    for (size_t i = 0; i < files.len; i++)
        if (run_file(&r, files.data[i], &err) != SF_OK)
            exit = sf_cli_fail(command, &err);
    print_totals(&r);
    if (exit == SF_CLI_OK && r.passed + r.failed + r.skipped == 0)
        exit = sf_cli_complain(command, "there was no case to run");
    SF_VEC_DEINIT(&r.kinds);
    SF_VEC_DEINIT(&files);
    sf_arena_deinit(&r.arena);
    return r.failed ? SF_CLI_FAILED : exit;
}

const sf_cli_command sf_cli_test = {
    .name = "test",
    .synopsis = "[--json] [--verbose] [--only ID] FILE...",
    .summary = "run query tests: rows in, answer expected",
    .help =
        "Runs query tests: each gives sources, events in order, a query, and the answer it must\n"
        "hold. FILE is a .jsonl file with a case a line, or a .json file with one case or an "
        "array\n"
        "of cases; - reads lines from standard input. docs/query-tests.md describes a case.\n"
        "\n"
        "Every case runs several times under a simulated clock: an epoch for each event, all "
        "events\n"
        "in few epochs, with a restart after every event, and built in steps where it says how.\n"
        "Bytes of a format are fed in one piece and one by one. All must give the same answer.\n"
        "\n"
        "  --json      one result a line as JSON; the totals go to standard error\n"
        "  --verbose   name the cases that passed, too\n"
        "  --only ID   only the case with this id\n"
        "\n"
        "The last line is \"N passed, N failed\"; the status is 0 when nothing failed.",
    .run = run,
};
