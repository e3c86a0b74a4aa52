/* sf create: sources, tables and pipelines. */
#include "cli/remote.h"
#include "text/text.h"

enum { TEXT_BYTES_MAX = 4 << 20 };

typedef struct {
    sf_cli_remote remote;
    sf_cli_kind kind;
    const char *name, *sql, *file, *definition;
    const char *source_kind, *schema, *path, *format, *description, *persistence;
    bool start;
    sf_error err;
} create_run;

/* A file's text as a member. */
static sf_status put_file(create_run *run, sf_buf *body, const char *name, const char *path)
{
    sf_buf text = {0};
    SF_TRY(sf_cli_read_file(path, TEXT_BYTES_MAX, &text, &run->err));
    sf_buf_putc(&text, 0);
    if (!text.failed)
        sf_cli_put_member(body, name, text.data);
    else
        body->failed = true;
    sf_buf_deinit(&text);
    return SF_OK;
}

/* "id:Long,price:Double" as an array of fields. */
static sf_status put_fields(create_run *run, sf_buf *body)
{
    sf_str rest = sf_str_of(run->schema);
    sf_buf_puts(body, ",\"fields\":[");
    while (rest.len) {
        const char *comma = memchr(rest.data, ',', rest.len);
        sf_str item = {rest.data, comma ? (size_t)(comma - rest.data) : rest.len};
        const char *colon = memchr(item.data, ':', item.len);
        sf_str name = {item.data, colon ? (size_t)(colon - item.data) : item.len};
        sf_type type;
        if (!colon ||
            !sf_type_from_name(sf_text_trim((sf_str){colon + 1, item.len - name.len - 1}), &type)) {
            sf_fail(&run->err, SF_INVALID, "--schema needs column:Type, not \"%.*s\"",
                    SF_STR_ARG(item));
            sf_error_hint(&run->err,
                          "the types are String, Double, Long, Bool, Timestamp and Json");
            return SF_INVALID;
        }
        sf_buf_puts(body, "{\"name\":");
        sf_json_put_string(body, sf_text_trim(name));
        sf_buf_printf(body, ",\"type\":\"%s\"}%s", sf_type_name(type), comma ? "," : "");
        size_t taken = item.len + (comma != NULL);
        rest = (sf_str){rest.data + taken, rest.len - taken};
    }
    sf_buf_putc(body, ']');
    return SF_OK;
}

static sf_status put_source(create_run *run, sf_buf *body)
{
    sf_cli_put_member(body, "kind",
                      run->source_kind ? run->source_kind
                      : run->path      ? "file"
                                       : "ingest");
    if (run->schema)
        SF_TRY(put_fields(run, body));
    if (run->path) {
        sf_buf_puts(body, ",\"connector\":{\"file\":{");
        sf_cli_put_member(body, "path", run->path);
        if (run->format)
            sf_cli_put_member(body, "format", run->format);
        sf_buf_puts(body, "}}");
    }
    return SF_OK;
}

static sf_status make_body(create_run *run, sf_buf *body)
{
    if (run->definition)
        return sf_cli_read_file(run->definition, TEXT_BYTES_MAX, body, &run->err);
    sf_buf_putc(body, '{');
    sf_cli_put_member(body, "name", run->name);
    if (run->description)
        sf_cli_put_member(body, "description", run->description);
    if (run->persistence)
        sf_cli_put_member(body, "persistence", run->persistence);
    sf_status status = SF_OK;
    if (run->kind == SF_CLI_SOURCE)
        status = put_source(run, body);
    else if (run->file)
        status = put_file(run, body, "sql", run->file);
    else
        sf_cli_put_member(body, "sql", run->sql);
    sf_buf_putc(body, '}');
    return status;
}

static sf_status start_created(create_run *run, const char *id, const char *name)
{
    const char *path =
        sf_arena_printf(&run->remote.arena, "/api/%s/%s/start", sf_cli_kind_plural(run->kind),
                        sf_cli_remote_escape(&run->remote, id));
    sf_buf answer = {0};
    if (!path)
        return sf_fail_memory(&run->err);
    SF_TRY(sf_cli_remote_call(&run->remote, "POST", path, SF_CLI_NO_BODY, &answer, &run->err));
    sf_str json = sf_buf_str(&answer);
    sf_status status = SF_OK;
    if (strcmp(sf_cli_member(&run->remote.arena, json, "status"), "Failed") == 0)
        status = sf_fail(&run->err, SF_INVALID, "\"%s\" was created and did not start: %s", name,
                         sf_cli_member(&run->remote.arena, json, "error"));
    sf_buf_deinit(&answer);
    return status;
}

/* A definition is kept although its query does not compile: what it reads may come later. */
static void tell_not_compiled(const create_run *run, const char *name, sf_str json)
{
    sf_str fields;
    if (run->kind != SF_CLI_SOURCE && sf_json_get_key(json, SF_STR("outputFields"), &fields) &&
        sf_json_array_len(fields) == 0)
        fprintf(stderr, "%s does not compile as things are; sf start says why\n", name);
}

static sf_status create(create_run *run)
{
    sf_buf body = {0}, answer = {0};
    const char *path =
        sf_arena_printf(&run->remote.arena, "/api/%s", sf_cli_kind_plural(run->kind));
    sf_status status = make_body(run, &body);
    if (status == SF_OK && (body.failed || !path))
        status = sf_fail_memory(&run->err);
    if (status == SF_OK)
        status =
            sf_cli_remote_call(&run->remote, "POST", path, sf_buf_str(&body), &answer, &run->err);
    sf_buf_deinit(&body);
    SF_TRY(status);
    sf_str json = sf_buf_str(&answer);
    const char *name = sf_cli_member(&run->remote.arena, json, "name");
    const char *id = sf_cli_member(&run->remote.arena, json, "id");
    if (run->start && run->kind != SF_CLI_SOURCE)
        status = start_created(run, id, name);
    if (status == SF_OK && run->remote.json)
        sf_cli_print_json(json);
    else if (status == SF_OK)
        printf("%s %s created%s\n", sf_cli_kind_name(run->kind), name,
               run->start && run->kind != SF_CLI_SOURCE ? " and started" : "");
    if (status == SF_OK && !run->start)
        tell_not_compiled(run, name, json);
    sf_buf_deinit(&answer);
    return status;
}

static int check_words(const sf_cli_command *command, create_run *run, const sf_cli_words *words)
{
    if (words->len == 0 || !sf_cli_kind_from(words->data[0], &run->kind))
        return sf_cli_usage(command, "create what? A source, table or pipeline");
    if (run->definition)
        return words->len == 1 ? SF_CLI_GO_ON
                               : sf_cli_usage(command, "--definition has the name and all else");
    if (words->len < 2)
        return sf_cli_usage(command, "the %s needs a name", sf_cli_kind_name(run->kind));
    run->name = words->data[1];
    run->sql = words->len > 2 ? words->data[2] : NULL;
    if (words->len > 3 || (run->sql && (run->file || run->kind == SF_CLI_SOURCE)))
        return sf_cli_usage(command, "there is a word too much: \"%s\"",
                            words->data[words->len - 1]);
    if (run->kind != SF_CLI_SOURCE && !run->sql && !run->file)
        return sf_cli_usage(command, "the %s needs its SELECT, or --file",
                            sf_cli_kind_name(run->kind));
    return SF_CLI_GO_ON;
}

static int run(const sf_cli_command *command, int argc, char **argv)
{
    create_run run = {0};
    sf_cli_words words = {0};
    const sf_cli_option options[] = {
        {"--file", SF_CLI_TEXT, &run.file},
        {"--definition", SF_CLI_TEXT, &run.definition},
        {"--description", SF_CLI_TEXT, &run.description},
        {"--persistence", SF_CLI_TEXT, &run.persistence},
        {"--kind", SF_CLI_TEXT, &run.source_kind},
        {"--schema", SF_CLI_TEXT, &run.schema},
        {"--path", SF_CLI_TEXT, &run.path},
        {"--format", SF_CLI_TEXT, &run.format},
        {"--start", SF_CLI_FLAG, &run.start},
        SF_CLI_REMOTE_OPTIONS(&run.remote),
    };
    int exit = sf_cli_parse(command, argc, argv, options, SF_COUNT_OF(options), &words);
    if (exit == SF_CLI_GO_ON)
        exit = check_words(command, &run, &words);
    if (exit == SF_CLI_GO_ON) {
        bool ok =
            sf_cli_remote_open(&run.remote, command, &run.err) == SF_OK && create(&run) == SF_OK;
        exit = ok ? SF_CLI_OK : sf_cli_remote_fail(&run.remote, &run.err);
        sf_cli_remote_close(&run.remote);
    }
    SF_VEC_DEINIT(&words);
    return exit;
}

const sf_cli_command sf_cli_create = {
    .name = "create",
    .synopsis =
        "table|pipeline NAME \"SELECT ...\" [--start]\n"
        "table|pipeline NAME --file QUERY.sql [--start]\n"
        "source NAME --schema COLUMN:TYPE,... [--kind ingest|generator|file] [--path PATH]\n"
        "source|table|pipeline --definition FILE.json",
    .summary = "create a source, table or pipeline",
    .help = "  --file PATH         the SQL from a file; - is standard input\n"
            "  --start             start it, too\n"
            "  --description TEXT  what it is for\n"
            "  --persistence MODE  of a table: Batched, FireAndForget, MemoryOnly, Journaled\n"
            "  --schema LIST       of a source: its columns; types String Double Long Bool\n"
            "                      Timestamp Json\n"
            "  --kind KIND         of a source: ingest (default), file, generator, ...\n"
            "  --path PATH         of a file source, as the server sees it\n"
            "  --format FORMAT     of a file source: ndjson, json or csv\n"
            "  --definition FILE   the whole definition as JSON; - is standard input\n"
            "\n" SF_CLI_REMOTE_HELP,
    .run = run,
};
