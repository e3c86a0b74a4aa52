/* sf validate: what a server says about a query. */
#include "cli/remote.h"
#include "text/text.h"

typedef struct {
    sf_cli_remote remote;
    const char *file;
    bool pipeline;
    sf_buf sql;
    sf_error err;
} validate_run;

static uint32_t number_of(sf_str object, const char *name)
{
    sf_str value;
    int64_t number = 0;
    if (!sf_json_get_key(object, sf_str_of(name), &value) ||
        sf_parse_whole(value, &number) != SF_PARSE_OK || number < 0 || number > INT32_MAX)
        return 0;
    return (uint32_t)number;
}

static void print_diagnostics(validate_run *run, sf_str json)
{
    sf_arena *arena = &run->remote.arena;
    sf_str list, item;
    size_t cursor = 0;
    if (!sf_json_get_key(json, SF_STR("diagnostics"), &list))
        return;
    while (sf_json_each(list, &cursor, &item))
        sf_cli_show_place(stderr, run->file, sf_buf_str(&run->sql),
                          strcmp(sf_cli_member(arena, item, "severity"), "Warning") == 0,
                          number_of(item, "line"), number_of(item, "column"), 0,
                          sf_cli_member(arena, item, "message"));
}

static void print_plan(validate_run *run, sf_str json)
{
    sf_arena *arena = &run->remote.arena;
    sf_str list, item;
    size_t cursor = 0;
    const char *summary = sf_cli_member(arena, json, "planSummary");
    puts(*summary ? summary : "ok");
    if (!sf_json_get_key(json, SF_STR("outputSchema"), &list))
        return;
    while (sf_json_each(list, &cursor, &item))
        printf("  %s %s\n", sf_cli_member(arena, item, "name"), sf_cli_member(arena, item, "kind"));
}

static sf_status validate(validate_run *run)
{
    sf_buf body = {0}, answer = {0};
    sf_buf_puts(&body, "{\"sql\":");
    sf_json_put_string(&body, sf_buf_str(&run->sql));
    sf_buf_putc(&body, '}');
    sf_status status = body.failed ? sf_fail_memory(&run->err)
                                   : sf_cli_remote_call(&run->remote, "POST",
                                                        run->pipeline ? "/api/pipelines/validate"
                                                                      : "/api/tables/validate",
                                                        sf_buf_str(&body), &answer, &run->err);
    sf_buf_deinit(&body);
    SF_TRY(status);
    sf_str json = sf_buf_str(&answer), ok;
    bool good = sf_json_get_key(json, SF_STR("ok"), &ok) && ok.data[0] == 't';
    if (run->remote.json)
        sf_cli_print_json(json);
    else
        print_diagnostics(run, json);
    if (good && !run->remote.json)
        print_plan(run, json);
    if (!good)
        status = sf_fail(&run->err, SF_INVALID, "the query is refused");
    sf_buf_deinit(&answer);
    return status;
}

static sf_status read_sql(validate_run *run, const sf_cli_words *words)
{
    if (run->file)
        return sf_cli_read_file(run->file, 4 << 20, &run->sql, &run->err);
    sf_buf_puts(&run->sql, words->data[0]);
    return run->sql.failed ? sf_fail_memory(&run->err) : SF_OK;
}

static int run_validate(const sf_cli_command *command, int argc, char **argv)
{
    validate_run run = {0};
    sf_cli_words words = {0};
    const sf_cli_option options[] = {
        {"--file", SF_CLI_TEXT, &run.file},
        {"--pipeline", SF_CLI_FLAG, &run.pipeline},
        SF_CLI_REMOTE_OPTIONS(&run.remote),
    };
    int exit = sf_cli_parse(command, argc, argv, options, SF_COUNT_OF(options), &words);
    if (exit == SF_CLI_GO_ON && words.len + (run.file != NULL) != 1)
        exit = sf_cli_usage(command, "give one SELECT, or --file");
    if (exit == SF_CLI_GO_ON) {
        bool ok = sf_cli_remote_open(&run.remote, command, &run.err) == SF_OK &&
                  read_sql(&run, &words) == SF_OK && validate(&run) == SF_OK;
        exit = ok ? SF_CLI_OK : sf_cli_remote_fail(&run.remote, &run.err);
        sf_cli_remote_close(&run.remote);
    }
    sf_buf_deinit(&run.sql);
    SF_VEC_DEINIT(&words);
    return exit;
}

const sf_cli_command sf_cli_validate = {
    .name = "validate",
    .synopsis = "[--pipeline] \"SELECT ...\"\n[--pipeline] --file QUERY.sql",
    .summary = "check a query against a server's catalog",
    .help = "Says what the query would compute, or where it is wrong.\n"
            "\n"
            "  --pipeline   as a pipeline; otherwise as a table\n"
            "  --file PATH  the SQL from a file; - is standard input\n"
            "\n" SF_CLI_REMOTE_HELP,
    .run = run_validate,
};
