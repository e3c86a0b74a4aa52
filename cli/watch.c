/* sf watch: a table's rows and then every change, a pipeline's results, a source's events. */
#include "cli/hub.h"
#include "text/text.h"

typedef struct {
    sf_cli_remote remote;
    sf_cli_entity entity;
    sf_cli_kind kind;
    const char *key;
    int64_t limit, count; /* count 0: without end */
    int64_t shown;
    int64_t seq; /* of the snapshot: changes up to it are in it */
    sf_status status;
    sf_error err;
} watch_run;

static bool enough(const watch_run *run)
{
    return run->count > 0 && run->shown >= run->count;
}

static int64_t number_of(sf_str object, const char *name, int64_t otherwise)
{
    sf_str value;
    int64_t number;
    return sf_json_get_key(object, sf_str_of(name), &value) &&
                   sf_parse_whole(value, &number) == SF_PARSE_OK
               ? number
               : otherwise;
}

static void show_change(watch_run *run, sf_str row, int64_t weight)
{
    run->shown++;
    if (run->remote.json)
        printf("{\"weight\":%lld,\"row\":%.*s}\n", (long long)weight, SF_STR_ARG(row));
    else if (weight == 1 || weight == -1)
        printf("%c %.*s\n", weight > 0 ? '+' : '-', SF_STR_ARG(row));
    else
        printf("%+lld %.*s\n", (long long)weight, SF_STR_ARG(row));
}

static void show_changes(watch_run *run, sf_str list)
{
    size_t cursor = 0;
    sf_str item, row;
    while (!enough(run) && sf_json_each(list, &cursor, &item))
        if (sf_json_get_key(item, SF_STR("row"), &row))
            show_change(run, row, number_of(item, "weight", 1));
}

/* The rows as of now; changes that came meanwhile wait in the connection. */
static sf_status show_snapshot(watch_run *run)
{
    const char *path =
        sf_arena_printf(&run->remote.arena, "/api/tables/%s/rows?limit=%lld",
                        sf_cli_remote_escape(&run->remote, run->entity.key), (long long)run->limit);
    sf_buf answer = {0};
    sf_str rows;
    if (!path)
        return sf_fail_memory(&run->err);
    SF_TRY(sf_cli_remote_call(&run->remote, "GET", path, SF_CLI_NO_BODY, &answer, &run->err));
    sf_str json = sf_buf_str(&answer);
    run->seq = number_of(json, "seq", 0);
    if (sf_json_get_key(json, SF_STR("rows"), &rows)) {
        show_changes(run, rows);
        int64_t total = number_of(json, "totalRows", 0);
        if (total > run->limit)
            fprintf(stderr, "%lld of %lld rows are shown; --limit shows more\n",
                    (long long)run->limit, (long long)total);
    }
    sf_buf_deinit(&answer);
    return SF_OK;
}

static void show_results(watch_run *run, sf_str list)
{
    size_t cursor = 0;
    sf_str item, row;
    while (!enough(run) && sf_json_each(list, &cursor, &item)) {
        if (!sf_json_get_key(item, SF_STR("row"), &row))
            continue;
        run->shown++;
        sf_str shown = run->remote.json ? item : row;
        printf("%.*s\n", SF_STR_ARG(shown));
    }
}

static void take_event(watch_run *run, const char *target, sf_str arguments)
{
    sf_str second, third;
    int64_t seq = INT64_MAX;
    if (!sf_json_get_index(arguments, 1, &second))
        return;
    if (strcmp(target, "tableDelta") == 0) {
        if (sf_json_get_index(arguments, 2, &third) && sf_parse_whole(third, &seq) == SF_PARSE_OK &&
            seq <= run->seq)
            return; /* the snapshot has it */
        show_changes(run, second);
    } else if (strcmp(target, "pipelineResult") == 0) {
        show_results(run, second);
    } else if (strcmp(target, "sourceEvent") == 0) {
        run->shown++;
        printf("%.*s\n", SF_STR_ARG(second));
    } else if (strcmp(target, "tableStatus") == 0 || strcmp(target, "pipelineStatus") == 0) {
        fprintf(stderr, "%s: %.*s\n", run->entity.name, SF_STR_ARG(second));
    }
}

static bool on_message(void *arg, sf_str json)
{
    watch_run *run = arg;
    sf_str arguments;
    if (number_of(json, "type", 0) == 3) { /* subscribed */
        if (run->entity.kind == SF_CLI_TABLE)
            run->status = show_snapshot(run);
        if (run->status != SF_OK)
            return false;
    } else if (sf_json_get_key(json, SF_STR("arguments"), &arguments)) {
        const char *target = sf_cli_member(&run->remote.arena, json, "target");
        take_event(run, target, arguments);
    }
    fflush(stdout);
    return !enough(run) && !ferror(stdout);
}

static sf_status watch(watch_run *run)
{
    static const char *const methods[] = {"SubscribeSource", "SubscribeTable", "SubscribePipeline"};
    SF_TRY(sf_cli_entity_find(&run->remote, run->kind, run->key, &run->entity, &run->err));
    sf_cli_entity_tell_state(&run->remote, &run->entity);
    SF_TRY(sf_cli_hub_run(&run->remote, methods[run->entity.kind], run->entity.key, on_message, run,
                          &run->err));
    return run->status;
}

static int run_watch(const sf_cli_command *command, int argc, char **argv)
{
    watch_run run = {.limit = 1000};
    sf_cli_words words = {0};
    const sf_cli_option options[] = {
        {"--limit", SF_CLI_NUMBER, &run.limit},
        {"--count", SF_CLI_NUMBER, &run.count},
        SF_CLI_REMOTE_OPTIONS(&run.remote),
    };
    int exit = sf_cli_parse(command, argc, argv, options, SF_COUNT_OF(options), &words);
    if (exit == SF_CLI_GO_ON)
        exit = sf_cli_entity_words(command, &words, &run.kind, &run.key);
    if (exit == SF_CLI_GO_ON) {
        bool ok =
            sf_cli_remote_open(&run.remote, command, &run.err) == SF_OK && watch(&run) == SF_OK;
        exit = ok ? SF_CLI_OK : sf_cli_remote_fail(&run.remote, &run.err);
        sf_cli_remote_close(&run.remote);
    }
    SF_VEC_DEINIT(&words);
    return exit;
}

const sf_cli_command sf_cli_watch = {
    .name = "watch",
    .synopsis = "[table|pipeline|source] NAME [--limit N] [--count N]",
    .summary = "follow a table, pipeline or source",
    .help = "A table: its rows, then every change: + for a row that comes, - for one that goes. A\n"
            "pipeline: its results. A source: its events. Ctrl-C ends it.\n"
            "\n"
            "  --limit N    of a table at most so many rows at first (default 1000)\n"
            "  --count N    end after so many lines\n"
            "\n" SF_CLI_REMOTE_HELP,
    .run = run_watch,
};
