/* Sources, tables and pipelines of a server: finding them, sf ls, get, start, stop, delete. */
#include "cli/grid.h"
#include "cli/remote.h"
#include "text/text.h"

static const char *const kind_names[] = {"source", "table", "pipeline"};
static const char *const kind_plurals[] = {"sources", "tables", "pipelines"};

const char *sf_cli_kind_name(sf_cli_kind kind)
{
    return kind_names[kind];
}

const char *sf_cli_kind_plural(sf_cli_kind kind)
{
    return kind_plurals[kind];
}

bool sf_cli_kind_from(const char *word, sf_cli_kind *out)
{
    for (int kind = SF_CLI_SOURCE; kind < SF_CLI_ANY; kind++) {
        if (strcmp(word, kind_names[kind]) == 0 || strcmp(word, kind_plurals[kind]) == 0) {
            *out = (sf_cli_kind)kind;
            return true;
        }
    }
    return false;
}

int sf_cli_entity_words(const sf_cli_command *command, const sf_cli_words *words, sf_cli_kind *kind,
                        const char **key)
{
    *kind = SF_CLI_ANY;
    if (words->len == 0)
        return sf_cli_usage(command, "which one? Give its name");
    if (words->len > 2)
        return sf_cli_usage(command, "there is a word too much: \"%s\"", words->data[2]);
    if (words->len == 2 && !sf_cli_kind_from(words->data[0], kind))
        return sf_cli_usage(command, "\"%s\" is none of source, table, pipeline", words->data[0]);
    *key = words->data[words->len - 1];
    return SF_CLI_GO_ON;
}

static sf_status get_entity(sf_cli_remote *remote, sf_cli_kind kind, const char *key,
                            sf_cli_entity *out, sf_error *err)
{
    const char *path = sf_arena_printf(&remote->arena, "/api/%s/%s", sf_cli_kind_plural(kind),
                                       sf_cli_remote_escape(remote, key));
    sf_buf answer = {0};
    if (!path)
        return sf_fail_memory(err);
    SF_TRY(sf_cli_remote_call(remote, "GET", path, SF_CLI_NO_BODY, &answer, err));
    char *json = sf_arena_strndup(&remote->arena, answer.data ? answer.data : "", answer.len);
    *out = (sf_cli_entity){.kind = kind, .json = {json, answer.len}};
    sf_buf_deinit(&answer);
    if (!json)
        return sf_fail_memory(err);
    out->name = sf_cli_member(&remote->arena, out->json, "name");
    out->key = kind == SF_CLI_SOURCE ? out->name : sf_cli_member(&remote->arena, out->json, "id");
    return *out->key ? SF_OK : sf_fail(err, SF_CORRUPT, "the server's answer names no %s", key);
}

sf_status sf_cli_entity_find(sf_cli_remote *remote, sf_cli_kind kind, const char *key,
                             sf_cli_entity *out, sf_error *err)
{
    static const sf_cli_kind order[] = {SF_CLI_TABLE, SF_CLI_PIPELINE, SF_CLI_SOURCE};
    if (kind != SF_CLI_ANY)
        return get_entity(remote, kind, key, out, err);
    for (size_t i = 0; i < SF_COUNT_OF(order); i++) {
        sf_status status = get_entity(remote, order[i], key, out, err);
        if (status != SF_NOT_FOUND)
            return status;
    }
    sf_fail(err, SF_NOT_FOUND, "there is no source, table or pipeline \"%s\"", key);
    sf_error_hint(err, "sf ls lists what there is");
    return SF_NOT_FOUND;
}

static const char *state_of(sf_arena *arena, sf_cli_kind kind, sf_str entity)
{
    sf_str enabled;
    if (kind != SF_CLI_SOURCE)
        return sf_cli_member(arena, entity, "status");
    bool off = sf_json_get_key(entity, SF_STR("enabled"), &enabled) && enabled.data[0] == 'f';
    return off ? "Stopped" : "Running";
}

void sf_cli_entity_tell_state(sf_cli_remote *remote, const sf_cli_entity *entity)
{
    const char *state = state_of(&remote->arena, entity->kind, entity->json);
    if (strcmp(state, "Stopped") == 0)
        fprintf(stderr, "%s is stopped; sf start sets it going\n", entity->name);
    else if (strcmp(state, "Failed") == 0)
        fprintf(stderr, "%s has failed: %s\n", entity->name,
                sf_cli_member(&remote->arena, entity->json, "error"));
}

/* ---- one run of a command ---- */

typedef struct {
    sf_cli_remote remote;
    sf_cli_words words;
    sf_cli_kind kind;
    const char *key;
    sf_error err;
} entity_run;

static int run_with(const sf_cli_command *command, int argc, char **argv, bool needs_key,
                    sf_status (*act)(entity_run *run))
{
    entity_run run = {.kind = SF_CLI_ANY};
    const sf_cli_option options[] = {SF_CLI_REMOTE_OPTIONS(&run.remote)};
    int exit = sf_cli_parse(command, argc, argv, options, SF_COUNT_OF(options), &run.words);
    if (exit == SF_CLI_GO_ON && needs_key)
        exit = sf_cli_entity_words(command, &run.words, &run.kind, &run.key);
    if (exit == SF_CLI_GO_ON) {
        bool ok = sf_cli_remote_open(&run.remote, command, &run.err) == SF_OK && act(&run) == SF_OK;
        exit = ok ? SF_CLI_OK : sf_cli_remote_fail(&run.remote, &run.err);
        sf_cli_remote_close(&run.remote);
    }
    SF_VEC_DEINIT(&run.words);
    return exit;
}

/* ---- sf ls ---- */

/* SQL on one line: no comments, white space outside quotes as one space. */
static void put_line(sf_buf *out, sf_str sql)
{
    char quote = 0;
    for (size_t i = 0; i < sql.len; i++) {
        char c = sql.data[i];
        bool blank = !quote && (c == ' ' || c == '\t' || c == '\r' || c == '\n');
        if (!quote && c == '-' && i + 1 < sql.len && sql.data[i + 1] == '-') {
            while (i + 1 < sql.len && sql.data[i + 1] != '\n')
                i++;
            continue;
        }
        if (quote && c == quote)
            quote = 0;
        else if (!quote && (c == '\'' || c == '"'))
            quote = c;
        if (!blank)
            sf_buf_putc(out, c);
        else if (out->len && out->data[out->len - 1] != ' ')
            sf_buf_putc(out, ' ');
    }
}

static sf_status list_cells(entity_run *run, sf_cli_grid *grid, sf_cli_kind kind, sf_str entity)
{
    enum { SHOWN_BYTES_MAX = 70 };
    sf_arena *arena = &run->remote.arena;
    const char *state = state_of(arena, kind, entity);
    const char *member = kind == SF_CLI_SOURCE          ? "kind"
                         : strcmp(state, "Failed") == 0 ? "error"
                                                        : "sql";
    sf_buf line = {0};
    put_line(&line, sf_str_of(sf_cli_member(arena, entity, member)));
    sf_str cells[] = {sf_str_of(sf_cli_kind_name(kind)),
                      sf_str_of(sf_cli_member(arena, entity, "name")), sf_str_of(state),
                      sf_buf_str(&line)};
    if (line.len > SHOWN_BYTES_MAX) {
        size_t len = SHOWN_BYTES_MAX;
        while (len && ((unsigned char)line.data[len] & 0xC0) == 0x80)
            len--;
        cells[3].len = len;
    }
    sf_status status = line.failed ? sf_fail_memory(&run->err) : SF_OK;
    for (size_t i = 0; status == SF_OK && i < SF_COUNT_OF(cells); i++)
        status = sf_cli_grid_cell(grid, cells[i], &run->err);
    sf_buf_deinit(&line);
    return status;
}

static sf_status list_kind(entity_run *run, sf_cli_grid *grid, sf_cli_kind kind, bool *first)
{
    const char *path = sf_arena_printf(&run->remote.arena, "/api/%s", sf_cli_kind_plural(kind));
    sf_buf answer = {0};
    sf_str item;
    size_t cursor = 0;
    if (!path)
        return sf_fail_memory(&run->err);
    SF_TRY(sf_cli_remote_call(&run->remote, "GET", path, SF_CLI_NO_BODY, &answer, &run->err));
    sf_status status = SF_OK;
    if (run->remote.json)
        printf("%s\"%s\":%.*s", *first ? "{" : ",", sf_cli_kind_plural(kind),
               SF_STR_ARG(sf_buf_str(&answer)));
    *first = false;
    while (!run->remote.json && status == SF_OK &&
           sf_json_each(sf_buf_str(&answer), &cursor, &item))
        status = list_cells(run, grid, kind, item);
    sf_buf_deinit(&answer);
    return status;
}

static sf_status list(entity_run *run)
{
    static const char *const titles[] = {"kind", "name", "status", "SQL, kind of source, or error"};
    sf_cli_kind kind = SF_CLI_ANY;
    if (run->words.len > 1 || (run->words.len == 1 && !sf_cli_kind_from(run->words.data[0], &kind)))
        return sf_fail(&run->err, SF_INVALID, "\"%s\" is none of sources, tables, pipelines",
                       run->words.data[run->words.len - 1]);
    sf_cli_grid grid;
    bool first = true;
    sf_status status = sf_cli_grid_init(&grid, SF_COUNT_OF(titles), &run->err);
    for (size_t i = 0; status == SF_OK && i < SF_COUNT_OF(titles); i++)
        status = sf_cli_grid_cell(&grid, sf_str_of(titles[i]), &run->err);
    for (int k = SF_CLI_SOURCE; status == SF_OK && k < SF_CLI_ANY; k++)
        if (kind == SF_CLI_ANY || k == (int)kind)
            status = list_kind(run, &grid, (sf_cli_kind)k, &first);
    if (status == SF_OK && run->remote.json)
        puts("}");
    else if (status == SF_OK)
        status = sf_cli_grid_show(&grid, true, &run->err);
    sf_cli_grid_deinit(&grid);
    return status;
}

static int run_ls(const sf_cli_command *command, int argc, char **argv)
{
    return run_with(command, argc, argv, false, list);
}

const sf_cli_command sf_cli_ls = {
    .name = "ls",
    .synopsis = "[sources|tables|pipelines]",
    .summary = "list what a server has",
    .help = "Lists sources, tables and pipelines with their state.\n\n" SF_CLI_REMOTE_HELP,
    .run = run_ls,
};

/* ---- sf get ---- */

static sf_status show(entity_run *run)
{
    sf_cli_entity entity;
    SF_TRY(sf_cli_entity_find(&run->remote, run->kind, run->key, &entity, &run->err));
    sf_cli_print_json(entity.json);
    return SF_OK;
}

static int run_get(const sf_cli_command *command, int argc, char **argv)
{
    return run_with(command, argc, argv, true, show);
}

const sf_cli_command sf_cli_get = {
    .name = "get",
    .synopsis = "[source|table|pipeline] NAME",
    .summary = "show a definition as JSON",
    .help = "Shows the definition and state of a source, table or pipeline, by name or id.\n"
            "\n" SF_CLI_REMOTE_HELP,
    .run = run_get,
};

/* ---- sf start, stop, delete ---- */

/* The source's definition with another value of "enabled". */
static sf_status enable_source(entity_run *run, const sf_cli_entity *entity, bool on,
                               sf_buf *answer)
{
    const char *path = sf_arena_printf(&run->remote.arena, "/api/sources/%s",
                                       sf_cli_remote_escape(&run->remote, entity->key));
    size_t cursor = 0;
    sf_json_string key;
    sf_str value;
    sf_buf body = {0};
    sf_buf_printf(&body, "{\"enabled\":%s", on ? "true" : "false");
    while (sf_json_each_member(entity->json, &cursor, &key, &value))
        if (!sf_str_eq(key.raw, SF_STR("enabled")))
            sf_buf_printf(&body, ",\"%.*s\":%.*s", SF_STR_ARG(key.raw), SF_STR_ARG(value));
    sf_buf_putc(&body, '}');
    sf_status status =
        body.failed || !path
            ? sf_fail_memory(&run->err)
            : sf_cli_remote_call(&run->remote, "PUT", path, sf_buf_str(&body), answer, &run->err);
    sf_buf_deinit(&body);
    return status;
}

static sf_status switch_query(entity_run *run, const sf_cli_entity *entity, bool on, sf_buf *answer)
{
    const char *path =
        sf_arena_printf(&run->remote.arena, "/api/%s/%s/%s", sf_cli_kind_plural(entity->kind),
                        sf_cli_remote_escape(&run->remote, entity->key), on ? "start" : "stop");
    if (!path)
        return sf_fail_memory(&run->err);
    return sf_cli_remote_call(&run->remote, "POST", path, SF_CLI_NO_BODY, answer, &run->err);
}

static sf_status switch_entity(entity_run *run, bool on)
{
    sf_cli_entity entity;
    sf_buf answer = {0};
    SF_TRY(sf_cli_entity_find(&run->remote, run->kind, run->key, &entity, &run->err));
    SF_TRY(entity.kind == SF_CLI_SOURCE ? enable_source(run, &entity, on, &answer)
                                        : switch_query(run, &entity, on, &answer));
    sf_str json = sf_buf_str(&answer);
    const char *state = sf_cli_member(&run->remote.arena, json, "status");
    sf_status status = SF_OK;
    if (strcmp(state, "Failed") == 0)
        status = sf_fail(&run->err, SF_INVALID, "%s \"%s\" did not start: %s",
                         sf_cli_kind_name(entity.kind), entity.name,
                         sf_cli_member(&run->remote.arena, json, "error"));
    else if (run->remote.json)
        sf_cli_print_json(json);
    else
        printf("%s %s %s\n", sf_cli_kind_name(entity.kind), entity.name,
               on ? "started" : "stopped");
    sf_buf_deinit(&answer);
    return status;
}

static sf_status start(entity_run *run)
{
    return switch_entity(run, true);
}

static sf_status stop(entity_run *run)
{
    return switch_entity(run, false);
}

static sf_status delete_entity(entity_run *run)
{
    sf_cli_entity entity;
    SF_TRY(sf_cli_entity_find(&run->remote, run->kind, run->key, &entity, &run->err));
    const char *path =
        sf_arena_printf(&run->remote.arena, "/api/%s/%s", sf_cli_kind_plural(entity.kind),
                        sf_cli_remote_escape(&run->remote, entity.key));
    if (!path)
        return sf_fail_memory(&run->err);
    SF_TRY(sf_cli_remote_call(&run->remote, "DELETE", path, SF_CLI_NO_BODY, NULL, &run->err));
    if (!run->remote.json)
        printf("%s %s deleted\n", sf_cli_kind_name(entity.kind), entity.name);
    return SF_OK;
}

static int run_start(const sf_cli_command *command, int argc, char **argv)
{
    return run_with(command, argc, argv, true, start);
}

static int run_stop(const sf_cli_command *command, int argc, char **argv)
{
    return run_with(command, argc, argv, true, stop);
}

static int run_delete(const sf_cli_command *command, int argc, char **argv)
{
    return run_with(command, argc, argv, true, delete_entity);
}

const sf_cli_command sf_cli_start = {
    .name = "start",
    .synopsis = "[source|table|pipeline] NAME",
    .summary = "start a table, pipeline or source",
    .help = "Fails when the query does not start, and says why.\n\n" SF_CLI_REMOTE_HELP,
    .run = run_start,
};

const sf_cli_command sf_cli_stop = {
    .name = "stop",
    .synopsis = "[source|table|pipeline] NAME",
    .summary = "stop it",
    .help = "What it has computed stays; start goes on from there.\n\n" SF_CLI_REMOTE_HELP,
    .run = run_stop,
};

const sf_cli_command sf_cli_delete = {
    .name = "delete",
    .synopsis = "[source|table|pipeline] NAME",
    .summary = "delete it",
    .help = "Refused while something that runs reads it.\n\n" SF_CLI_REMOTE_HELP,
    .run = run_delete,
};
