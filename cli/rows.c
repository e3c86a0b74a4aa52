/* sf rows and sf results: what a table holds, what a pipeline has given. */
#include "cli/grid.h"
#include "cli/remote.h"
#include "text/text.h"

typedef struct {
    sf_cli_remote remote;
    const char *key, *format;
    int64_t limit, offset;
    bool table;
    sf_error err;
} rows_run;

/* The columns of all rows, in the order in which they first appear. */
static sf_status column_names(rows_run *run, sf_str rows, sf_cli_words *out)
{
    sf_str item, row, value;
    size_t cursor = 0;
    while (sf_json_each(rows, &cursor, &item)) {
        size_t inner = 0;
        sf_json_string key;
        if (!sf_json_get_key(item, SF_STR("row"), &row))
            continue;
        while (sf_json_each_member(row, &inner, &key, &value)) {
            size_t i = 0;
            while (i < out->len && !sf_str_eq(sf_str_of(out->data[i]), key.raw))
                i++;
            if (i < out->len)
                continue;
            char *name = sf_arena_strndup(&run->remote.arena, key.raw.data, key.raw.len);
            if (!name || !SF_VEC_PUSH(out, name))
                return sf_fail_memory(&run->err);
        }
    }
    return SF_OK;
}

static sf_status grid_row(rows_run *run, sf_cli_grid *grid, const sf_cli_words *names, sf_str row)
{
    sf_buf text = {0};
    sf_status status = SF_OK;
    for (size_t i = 0; status == SF_OK && i < names->len; i++) {
        sf_str value = SF_STR("null");
        sf_json_get_key(row, sf_str_of(names->data[i]), &value);
        sf_cli_value_text(&text, value);
        status = text.failed ? sf_fail_memory(&run->err)
                             : sf_cli_grid_cell(grid, sf_buf_str(&text), &run->err);
    }
    sf_buf_deinit(&text);
    return status;
}

static sf_status print_grid(rows_run *run, sf_str rows, const sf_cli_words *names)
{
    sf_cli_grid grid;
    sf_str item, row;
    size_t cursor = 0;
    sf_status status = sf_cli_grid_init(&grid, names->len, &run->err);
    for (size_t i = 0; status == SF_OK && i < names->len; i++)
        status = sf_cli_grid_cell(&grid, sf_str_of(names->data[i]), &run->err);
    while (status == SF_OK && sf_json_each(rows, &cursor, &item))
        if (sf_json_get_key(item, SF_STR("row"), &row))
            status = grid_row(run, &grid, names, row);
    if (status == SF_OK)
        status = sf_cli_grid_show(&grid, true, &run->err);
    sf_cli_grid_deinit(&grid);
    return status;
}

static sf_status print_rows(rows_run *run, sf_str rows)
{
    sf_str item, row;
    size_t cursor = 0;
    if (strcmp(run->format, "table") == 0) {
        sf_cli_words names = {0};
        sf_status status = column_names(run, rows, &names);
        if (status == SF_OK && names.len)
            status = print_grid(run, rows, &names);
        SF_VEC_DEINIT(&names);
        return status;
    }
    while (sf_json_each(rows, &cursor, &item))
        if (sf_json_get_key(item, SF_STR("row"), &row))
            printf("%.*s\n", SF_STR_ARG(row));
    return SF_OK;
}

static sf_status print_csv(rows_run *run, const char *path)
{
    sf_cli_reply reply;
    SF_TRY(sf_cli_remote_send(&run->remote, "GET", path, SF_CLI_NO_BODY, &reply, &run->err));
    sf_status status = reply.status >= 400 ? sf_cli_remote_refusal(&run->remote, &reply, &run->err)
                                           : sf_cli_put(&reply.body, &run->err);
    sf_buf_deinit(&reply.body);
    return status;
}

static sf_status print_json_rows(rows_run *run, const char *path)
{
    sf_buf answer = {0};
    SF_TRY(sf_cli_remote_call(&run->remote, "GET", path, SF_CLI_NO_BODY, &answer, &run->err));
    sf_str json = sf_buf_str(&answer), rows = json, total;
    sf_status status = SF_OK;
    if (run->remote.json)
        sf_cli_print_json(json);
    else if (run->table && !sf_json_get_key(json, SF_STR("rows"), &rows))
        status = sf_fail(&run->err, SF_CORRUPT, "the server's answer has no rows");
    else
        status = print_rows(run, rows);
    if (status == SF_OK && !run->remote.json && strcmp(run->format, "table") == 0) {
        size_t shown = sf_json_array_len(rows);
        bool known = run->table && sf_json_get_key(json, SF_STR("totalRows"), &total);
        printf("(%zu row%s", shown, shown == 1 ? "" : "s");
        if (known)
            printf(" of %.*s", SF_STR_ARG(total));
        puts(")");
    }
    sf_buf_deinit(&answer);
    return status;
}

static sf_status fetch(rows_run *run)
{
    sf_cli_entity entity;
    SF_TRY(sf_cli_entity_find(&run->remote, run->table ? SF_CLI_TABLE : SF_CLI_PIPELINE, run->key,
                              &entity, &run->err));
    sf_cli_entity_tell_state(&run->remote, &entity);
    bool csv = strcmp(run->format, "csv") == 0;
    const char *path = sf_arena_printf(&run->remote.arena, "/api/%s/%s/%s%s?limit=%lld&offset=%lld",
                                       sf_cli_kind_plural(entity.kind),
                                       sf_cli_remote_escape(&run->remote, entity.key),
                                       run->table ? "rows" : "results", csv ? ".csv" : "",
                                       (long long)run->limit, (long long)run->offset);
    if (!path)
        return sf_fail_memory(&run->err);
    return csv ? print_csv(run, path) : print_json_rows(run, path);
}

static int run_rows(const sf_cli_command *command, int argc, char **argv)
{
    rows_run run = {.format = "table", .limit = 100, .table = command == &sf_cli_rows};
    sf_cli_words words = {0};
    const sf_cli_option options[] = {
        {"--limit", SF_CLI_NUMBER, &run.limit},
        {"--offset", SF_CLI_NUMBER, &run.offset},
        {"--format", SF_CLI_TEXT, &run.format},
        SF_CLI_REMOTE_OPTIONS(&run.remote),
    };
    int exit = sf_cli_parse(command, argc, argv, options, SF_COUNT_OF(options), &words);
    if (exit == SF_CLI_GO_ON && words.len != 1)
        exit = sf_cli_usage(command, "give the name of one %s", run.table ? "table" : "pipeline");
    if (exit == SF_CLI_GO_ON && strcmp(run.format, "table") != 0 &&
        strcmp(run.format, "ndjson") != 0 && strcmp(run.format, "csv") != 0)
        exit = sf_cli_usage(command, "--format is table, ndjson or csv, not \"%s\"", run.format);
    if (exit == SF_CLI_GO_ON) {
        run.key = words.data[0];
        bool ok =
            sf_cli_remote_open(&run.remote, command, &run.err) == SF_OK && fetch(&run) == SF_OK;
        exit = ok ? SF_CLI_OK : sf_cli_remote_fail(&run.remote, &run.err);
        sf_cli_remote_close(&run.remote);
    }
    SF_VEC_DEINIT(&words);
    return exit;
}

const sf_cli_command sf_cli_rows = {
    .name = "rows",
    .synopsis = "TABLE [--limit N] [--offset N] [--format table|ndjson|csv]",
    .summary = "print the rows of a table",
    .help = "  --limit N    at most so many rows (default 100)\n"
            "  --offset N   skip so many\n"
            "  --format F   table, ndjson or csv\n"
            "\n" SF_CLI_REMOTE_HELP,
    .run = run_rows,
};

const sf_cli_command sf_cli_results = {
    .name = "results",
    .synopsis = "PIPELINE [--limit N] [--format table|ndjson|csv]",
    .summary = "print the latest results of a pipeline",
    .help = "  --limit N    at most so many (default 100), the newest last\n"
            "  --format F   table, ndjson or csv\n"
            "\n" SF_CLI_REMOTE_HELP,
    .run = run_rows,
};
