/* remote.h: a server and its REST API, as the commands see it. Private to cli.
 *
 * Memory   Replies are the caller's. Texts live in the arena of the connection.
 * Fails    An answer of 400 and above is an error whose message is the server's. */
#ifndef SF_CLI_REMOTE_H
#define SF_CLI_REMOTE_H

#include "cli/cli.h"

/* Exit statuses beyond cli.h, for scripts. */
enum {
    SF_CLI_UNREACHABLE = 3, /* no server answers */
    SF_CLI_REFUSED = 4,     /* not signed in, or not allowed */
    SF_CLI_NOT_FOUND = 5,
};

typedef struct {
    const sf_cli_command *command;
    const char *url, *environment, *token; /* token NULL: not signed in */
    const char *user;                      /* whose token it is; may be NULL */
    bool json;
    sf_arena arena;
    void *curl;
} sf_cli_remote;

/* The options of every command that speaks to a server; the array ends with them. */
#define SF_CLI_REMOTE_OPTIONS(remote)                                                              \
    {"--url", SF_CLI_TEXT, &(remote)->url}, {"--env", SF_CLI_TEXT, &(remote)->environment},        \
    {                                                                                              \
        "--json", SF_CLI_FLAG, &(remote)->json                                                     \
    }
#define SF_CLI_REMOTE_HELP                                                                         \
    "  --url URL    the server (default: SF_URL, else http://localhost:5199)\n"                    \
    "  --env NAME   the environment (default: the server's default one)\n"                         \
    "  --json       print what the server said, as JSON\n"                                         \
    "\n"                                                                                           \
    "Signs in with SF_TOKEN, else with what sf login has kept for this server."

/* After the options were read: the environment's variables and the kept token fill what is open. */
SF_MUST_USE sf_status sf_cli_remote_open(sf_cli_remote *remote, const sf_cli_command *command,
                                         sf_error *err);
void sf_cli_remote_close(sf_cli_remote *remote);

typedef struct {
    long status;
    char content_type[64];
    sf_buf body;
} sf_cli_reply;

/* Any status is an answer here. body.data NULL: none. path starts with /. */
SF_MUST_USE sf_status sf_cli_remote_send(sf_cli_remote *remote, const char *method,
                                         const char *path, sf_str body, sf_cli_reply *reply,
                                         sf_error *err);
/* out (NULL allowed): the answer, which is valid JSON or empty. */
SF_MUST_USE sf_status sf_cli_remote_call(sf_cli_remote *remote, const char *method,
                                         const char *path, sf_str body, sf_buf *out, sf_error *err);
SF_MUST_USE sf_status sf_cli_remote_refusal(sf_cli_remote *remote, const sf_cli_reply *reply,
                                            sf_error *err);
/* As part of a path; "" when memory is short. */
const char *sf_cli_remote_escape(sf_cli_remote *remote, const char *text);

/* The exit status of an error, after it was printed. */
int sf_cli_remote_fail(const sf_cli_remote *remote, const sf_error *err);

/* ---- entities ---- */

typedef enum { SF_CLI_SOURCE, SF_CLI_TABLE, SF_CLI_PIPELINE, SF_CLI_ANY } sf_cli_kind;
const char *sf_cli_kind_name(sf_cli_kind kind);   /* table */
const char *sf_cli_kind_plural(sf_cli_kind kind); /* tables */
/* source, sources, table, ...; false: none of them. */
bool sf_cli_kind_from(const char *word, sf_cli_kind *out);

typedef struct {
    sf_cli_kind kind;
    const char *key; /* for writing: the id, a source's name */
    const char *name;
    sf_str json; /* as the server has it */
} sf_cli_entity;
/* By name or id. SF_CLI_ANY looks among tables, pipelines, sources. */
SF_MUST_USE sf_status sf_cli_entity_find(sf_cli_remote *remote, sf_cli_kind kind, const char *key,
                                         sf_cli_entity *out, sf_error *err);
/* On standard error, what keeps it from running; nothing when it runs. */
void sf_cli_entity_tell_state(sf_cli_remote *remote, const sf_cli_entity *entity);
/* Reads "[KIND] KEY" from the words of a command. SF_CLI_GO_ON or an exit status. */
int sf_cli_entity_words(const sf_cli_command *command, const sf_cli_words *words, sf_cli_kind *kind,
                        const char **key);

/* ---- JSON, as text that is known to be valid ---- */

#define SF_CLI_NO_BODY ((sf_str){NULL, 0})
/* Text of a member, in the arena; "" when it is absent, no text, or memory is short. */
const char *sf_cli_member(sf_arena *arena, sf_str object, const char *name);
/* A value as people read it: a string's text, NULL for null. */
void sf_cli_value_text(sf_buf *out, sf_str value);
/* Indented, with a line end. */
void sf_cli_print_json(sf_str json);
/* Appends "name": and the text, with a comma where one is needed. */
void sf_cli_put_member(sf_buf *body, const char *name, const char *text);

/* ---- kept tokens ---- */

/* SF_NOT_FOUND: none for this server. */
SF_MUST_USE sf_status sf_cli_token_load(const char *url, sf_arena *arena, const char **token,
                                        const char **user, sf_error *err);
/* token NULL: forget it. */
SF_MUST_USE sf_status sf_cli_token_save(const char *url, const char *token, const char *user,
                                        sf_error *err);

#endif
