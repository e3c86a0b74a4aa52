/* sf login, sf logout and sf token. */
#include "cli/remote.h"

#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

enum { LINE_BYTES_MAX = 1024 };

/* One line of standard input, without its end. */
static sf_status read_line(char out[LINE_BYTES_MAX], sf_error *err)
{
    if (!fgets(out, LINE_BYTES_MAX, stdin))
        return sf_fail(err, SF_IO, "standard input ended before the answer");
    out[strcspn(out, "\r\n")] = 0;
    return SF_OK;
}

static sf_status ask(const char *question, bool secret, char out[LINE_BYTES_MAX], sf_error *err)
{
    struct termios before, silent;
    bool terminal = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &before) == 0;
    if (terminal) {
        fprintf(stderr, "%s: ", question);
        fflush(stderr);
    }
    if (terminal && secret) {
        silent = before;
        silent.c_lflag &= ~(tcflag_t)ECHO;
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
    }
    sf_status status = read_line(out, err);
    if (terminal && secret) {
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
        fputc('\n', stderr);
    }
    return status;
}

static sf_status sign_in(sf_cli_remote *remote, const char *user, const char *password,
                         sf_error *err)
{
    sf_buf body = {0}, answer = {0};
    sf_buf_putc(&body, '{');
    sf_cli_put_member(&body, "username", user);
    sf_cli_put_member(&body, "password", password);
    sf_buf_putc(&body, '}');
    remote->token = NULL;
    sf_status status = body.failed ? sf_fail_memory(err)
                                   : sf_cli_remote_call(remote, "POST", "/api/auth/login",
                                                        sf_buf_str(&body), &answer, err);
    if (body.data)
        explicit_bzero(body.data, body.len);
    sf_buf_deinit(&body);
    SF_TRY(status);
    sf_str json = sf_buf_str(&answer);
    const char *token = sf_cli_member(&remote->arena, json, "token");
    status = *token ? sf_cli_token_save(remote->url, token, user, err)
                    : sf_fail(err, SF_CORRUPT, "the server gave no token");
    if (status == SF_OK && remote->json)
        sf_cli_print_json(json);
    else if (status == SF_OK)
        printf("signed in to %s as %s (%s)\n", remote->url,
               sf_cli_member(&remote->arena, json, "username"),
               sf_cli_member(&remote->arena, json, "role"));
    sf_buf_deinit(&answer);
    return status;
}

static sf_status login(sf_cli_remote *remote, const char *user, sf_error *err)
{
    char name[LINE_BYTES_MAX], password[LINE_BYTES_MAX];
    const char *kept = getenv("SF_PASSWORD");
    if (!user || !*user) {
        SF_TRY(ask("user", false, name, err));
        user = name;
    }
    if (!kept || !*kept) {
        SF_TRY(ask("password", true, password, err));
        kept = password;
    }
    sf_status status = sign_in(remote, user, kept, err);
    explicit_bzero(password, sizeof password);
    return status;
}

static int run_login(const sf_cli_command *command, int argc, char **argv)
{
    sf_cli_remote remote = {0};
    sf_cli_words words = {0};
    sf_error err = {0};
    const char *user = getenv("SF_USER");
    const sf_cli_option options[] = {{"--user", SF_CLI_TEXT, &user},
                                     SF_CLI_REMOTE_OPTIONS(&remote)};
    int exit = sf_cli_parse(command, argc, argv, options, SF_COUNT_OF(options), &words);
    if (exit == SF_CLI_GO_ON && words.len > 1)
        exit = sf_cli_usage(command, "there is a word too much: \"%s\"", words.data[1]);
    if (exit == SF_CLI_GO_ON) {
        user = words.len ? words.data[0] : user;
        bool ok = sf_cli_remote_open(&remote, command, &err) == SF_OK &&
                  login(&remote, user, &err) == SF_OK;
        exit = ok ? SF_CLI_OK : sf_cli_remote_fail(&remote, &err);
        sf_cli_remote_close(&remote);
    }
    SF_VEC_DEINIT(&words);
    return exit;
}

const sf_cli_command sf_cli_login = {
    .name = "login",
    .synopsis = "[USER] [--url URL]",
    .summary = "sign in to a server and keep the token",
    .help =
        "Asks for the password, or takes it from SF_PASSWORD or from standard input, and keeps\n"
        "the token in $XDG_CONFIG_HOME/streamsforge/tokens.json (or ~/.config/...), which only\n"
        "you can read. USER defaults to SF_USER.\n"
        "\n" SF_CLI_REMOTE_HELP,
    .run = run_login,
};

static sf_status logout(sf_cli_remote *remote, sf_error *err)
{
    if (!remote->token)
        return sf_fail(err, SF_NOT_FOUND, "not signed in to %s", remote->url);
    sf_error ignored; /* the kept token goes, whatever the server says */
    sf_status told =
        sf_cli_remote_call(remote, "POST", "/api/auth/logout", SF_CLI_NO_BODY, NULL, &ignored);
    SF_TRY(sf_cli_token_save(remote->url, NULL, NULL, err));
    printf("signed out of %s%s\n", remote->url, told == SF_OK ? "" : " (the server was not told)");
    return SF_OK;
}

/* A command without words of its own. */
static int run_plain(const sf_cli_command *command, int argc, char **argv,
                     sf_status (*act)(sf_cli_remote *remote, sf_error *err))
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
            sf_cli_remote_open(&remote, command, &err) == SF_OK && act(&remote, &err) == SF_OK;
        exit = ok ? SF_CLI_OK : sf_cli_remote_fail(&remote, &err);
        sf_cli_remote_close(&remote);
    }
    SF_VEC_DEINIT(&words);
    return exit;
}

static int run_logout(const sf_cli_command *command, int argc, char **argv)
{
    return run_plain(command, argc, argv, logout);
}

const sf_cli_command sf_cli_logout = {
    .name = "logout",
    .synopsis = "[--url URL]",
    .summary = "forget the token of a server",
    .help = "Ends the session and forgets the kept token.\n\n" SF_CLI_REMOTE_HELP,
    .run = run_logout,
};

static sf_status show_token(sf_cli_remote *remote, sf_error *err)
{
    if (remote->token) {
        puts(remote->token);
        return SF_OK;
    }
    sf_fail(err, SF_NOT_FOUND, "not signed in to %s", remote->url);
    sf_error_hint(err, "sf login signs in");
    return SF_NOT_FOUND;
}

static int run_token(const sf_cli_command *command, int argc, char **argv)
{
    return run_plain(command, argc, argv, show_token);
}

const sf_cli_command sf_cli_token = {
    .name = "token",
    .synopsis = "[--url URL]",
    .summary = "print the kept token, for other programs",
    .help = "curl -H \"Authorization: Bearer $(sf token)\" http://localhost:5199/api/tables\n"
            "\n" SF_CLI_REMOTE_HELP,
    .run = run_token,
};
