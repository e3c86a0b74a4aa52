/* sf api, sf health, and what is not built yet. */
#include "cli/grid.h"
#include "cli/remote.h"
#include "text/text.h"

#include <ctype.h>

enum { BODY_BYTES_MAX = 256 << 20 };

typedef struct {
    sf_cli_remote remote;
    const char *data;
    const char *method, *path;
    sf_error err;
} api_run;

/* The body itself, @FILE, or - for standard input. */
static sf_status read_body(api_run *run, sf_buf *out)
{
    if (!run->data)
        return SF_OK;
    if (run->data[0] == '@')
        return sf_cli_read_file(run->data + 1, BODY_BYTES_MAX, out, &run->err);
    if (strcmp(run->data, "-") == 0)
        return sf_cli_read_file("-", BODY_BYTES_MAX, out, &run->err);
    sf_buf_puts(out, run->data);
    return out->failed ? sf_fail_memory(&run->err) : SF_OK;
}

static sf_status request(api_run *run)
{
    sf_buf body = {0};
    sf_cli_reply reply = {0};
    sf_status status = read_body(run, &body);
    if (status == SF_OK) {
        sf_str bytes = run->data ? (sf_str){body.data ? body.data : "", body.len} : SF_CLI_NO_BODY;
        status = sf_cli_remote_send(&run->remote, run->method, run->path, bytes, &reply, &run->err);
    }
    sf_buf_deinit(&body);
    if (status == SF_OK && reply.status >= 400)
        status = sf_cli_remote_refusal(&run->remote, &reply, &run->err);
    else if (status == SF_OK && strncmp(reply.content_type, "application/json", 16) == 0 &&
             reply.body.len && sf_json_validate(sf_buf_str(&reply.body), NULL) == SF_OK)
        sf_cli_print_json(sf_buf_str(&reply.body));
    else if (status == SF_OK)
        status = sf_cli_put(&reply.body, &run->err);
    sf_buf_deinit(&reply.body);
    return status;
}

static int check_words(const sf_cli_command *command, api_run *run, const sf_cli_words *words)
{
    if (words->len != 2)
        return sf_cli_usage(command, "give a method and a path");
    run->method = words->data[0];
    run->path = words->data[1];
    for (const char *c = run->method; *c; c++)
        if (!isupper((unsigned char)*c))
            return sf_cli_usage(command, "the method is a word like GET or POST, not \"%s\"",
                                run->method);
    return run->path[0] == '/' ? SF_CLI_GO_ON
                               : sf_cli_usage(command, "the path begins with /, as /api/tables");
}

static int run_api(const sf_cli_command *command, int argc, char **argv)
{
    api_run run = {0};
    sf_cli_words words = {0};
    const sf_cli_option options[] = {{"--data", SF_CLI_TEXT, &run.data},
                                     SF_CLI_REMOTE_OPTIONS(&run.remote)};
    int exit = sf_cli_parse(command, argc, argv, options, SF_COUNT_OF(options), &words);
    if (exit == SF_CLI_GO_ON)
        exit = check_words(command, &run, &words);
    if (exit == SF_CLI_GO_ON) {
        bool ok =
            sf_cli_remote_open(&run.remote, command, &run.err) == SF_OK && request(&run) == SF_OK;
        exit = ok ? SF_CLI_OK : sf_cli_remote_fail(&run.remote, &run.err);
        sf_cli_remote_close(&run.remote);
    }
    SF_VEC_DEINIT(&words);
    return exit;
}

const sf_cli_command sf_cli_api = {
    .name = "api",
    .synopsis = "METHOD PATH [--data JSON|@FILE|-]",
    .summary = "send any request",
    .help = "Sends the request with your token and prints the answer.\n"
            "\n"
            "  --data JSON|@FILE|-   the body: itself, from a file, from standard input\n"
            "\n" SF_CLI_REMOTE_HELP "\n\nExample: sf api GET /api/tables",
    .run = run_api,
};

/* ---- sf health ---- */

static sf_status health(sf_cli_remote *remote, sf_error *err)
{
    sf_buf answer = {0};
    SF_TRY(sf_cli_remote_call(remote, "GET", "/healthz", SF_CLI_NO_BODY, NULL, err));
    SF_TRY(sf_cli_remote_call(remote, "GET", "/api/meta/instance", SF_CLI_NO_BODY, &answer, err));
    sf_str json = sf_buf_str(&answer);
    if (remote->json)
        sf_cli_print_json(json);
    else
        printf("%s is well: %s %s, instance %s\n", remote->url,
               sf_cli_member(&remote->arena, json, "name"),
               sf_cli_member(&remote->arena, json, "version"),
               sf_cli_member(&remote->arena, json, "instanceId"));
    sf_buf_deinit(&answer);
    return SF_OK;
}

static int run_health(const sf_cli_command *command, int argc, char **argv)
{
    sf_cli_remote remote = {0};
    sf_cli_words words = {0};
    sf_error err = {0};
    const sf_cli_option options[] = {SF_CLI_REMOTE_OPTIONS(&remote)};
    int exit = sf_cli_parse(command, argc, argv, options, SF_COUNT_OF(options), &words);
    if (exit == SF_CLI_GO_ON && words.len)
        exit = sf_cli_usage(command, "there is a word too much: \"%s\"", words.data[0]);
    if (exit == SF_CLI_GO_ON) {
        bool ok =
            sf_cli_remote_open(&remote, command, &err) == SF_OK && health(&remote, &err) == SF_OK;
        exit = ok ? SF_CLI_OK : sf_cli_remote_fail(&remote, &err);
        sf_cli_remote_close(&remote);
    }
    SF_VEC_DEINIT(&words);
    return exit;
}

const sf_cli_command sf_cli_health = {
    .name = "health",
    .synopsis = "[--url URL]",
    .summary = "ask whether a server is there",
    .help = "Status 0: it answers; 3: it does not.\n\n" SF_CLI_REMOTE_HELP,
    .run = run_health,
};

/* ---- sf nspl ---- */

static int run_nspl(const sf_cli_command *command, int argc, char **argv)
{
    sf_cli_words words = {0};
    int exit = sf_cli_parse(command, argc, argv, NULL, 0, &words);
    SF_VEC_DEINIT(&words);
    if (exit != SF_CLI_GO_ON)
        return exit;
    fputs("sf nspl: NSPL is not built yet\n", stderr);
    return SF_CLI_USAGE;
}

const sf_cli_command sf_cli_nspl = {
    .name = "nspl",
    .synopsis = "[...]",
    .summary = "declare graphs in NSPL (not built yet)",
    .help = "NSPL is not built yet; the status is 2.",
    .run = run_nspl,
};
