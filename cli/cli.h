/* cli.h: what the commands of sf share: the table of commands, options, and how errors look.
 *
 * Threads  sf is one thread.
 * Memory   Words of the command line live as long as the process.
 * Fails    A command returns its exit status: 0, 1 when it failed, 2 when it was called wrongly. */
#ifndef SF_CLI_CLI_H
#define SF_CLI_CLI_H

#include "base/base.h"
#include "sql/sql.h"

#include <stdio.h>

enum { SF_CLI_OK = 0, SF_CLI_FAILED = 1, SF_CLI_USAGE = 2 };

typedef struct sf_cli_command {
    const char *name;
    const char *synopsis; /* what follows the name; one line a form */
    const char *summary;  /* one line of sf --help */
    const char *help;     /* the rest of sf COMMAND --help */
    int (*run)(const struct sf_cli_command *command, int argc, char **argv);
} sf_cli_command;

extern const sf_cli_command sf_cli_query, sf_cli_test, sf_cli_functions;
extern const sf_cli_command sf_cli_login, sf_cli_logout, sf_cli_token, sf_cli_ls, sf_cli_get,
    sf_cli_create, sf_cli_start, sf_cli_stop, sf_cli_delete, sf_cli_rows, sf_cli_results,
    sf_cli_watch, sf_cli_validate, sf_cli_api, sf_cli_health, sf_cli_nspl;

/* ---- options ---- */

typedef SF_VEC(const char *) sf_cli_words;

typedef enum {
    SF_CLI_FLAG,   /* bool */
    SF_CLI_TEXT,   /* const char * */
    SF_CLI_NUMBER, /* int64_t, not negative */
    SF_CLI_LIST,   /* sf_cli_words: may be given several times */
} sf_cli_option_kind;

typedef struct {
    const char *name; /* with the dashes */
    sf_cli_option_kind kind;
    void *into;
} sf_cli_option;

enum { SF_CLI_GO_ON = -1 };

/* Reads options (anywhere, "--name value" or "--name=value", "--" ends them) and collects the other
 * words. --help is answered here. SF_CLI_GO_ON, or the exit status. */
int sf_cli_parse(const sf_cli_command *command, int argc, char **argv, const sf_cli_option *options,
                 size_t option_count, sf_cli_words *words);

/* ---- messages: all on standard error ---- */

/* "sf query: message", and where help is. Returns SF_CLI_USAGE. */
int sf_cli_usage(const sf_cli_command *command, const char *format, ...) SF_PRINTF(2, 3);
/* "sf query: message" and the hint. Returns SF_CLI_FAILED. */
int sf_cli_fail(const sf_cli_command *command, const sf_error *err);
/* "sf query: message". Returns SF_CLI_FAILED. */
int sf_cli_complain(const sf_cli_command *command, const char *format, ...) SF_PRINTF(2, 3);
void sf_cli_print_help(const sf_cli_command *command);

/* Place, message, the line of the text and a mark below what is meant. name is the text's, or NULL.
 * line and column count from 1; length in bytes may be 0. */
void sf_cli_show_place(FILE *out, const char *name, sf_str text, bool warning, uint32_t line,
                       uint32_t column, uint32_t length, const char *message);
/* All of them; without any, the error itself. */
void sf_cli_show_diagnostics(FILE *out, const char *name, sf_str text,
                             const sf_diagnostics *diagnostics, const sf_error *err);

/* Names, signatures and what they do, aligned. word: only those in whose name or kind it stands;
 * NULL: all. How many were printed. */
size_t sf_cli_print_functions(FILE *out, const char *word);

/* ---- files ---- */

/* A whole file, or standard input for "-". */
sf_status sf_cli_read_file(const char *path, size_t max_bytes, sf_buf *out, sf_error *err);
/* Text as a string that ends with 0 in the arena; NULL: memory is short. */
static inline char *sf_cli_text(sf_arena *arena, sf_str text)
{
    return sf_arena_strndup(arena, text.data, text.len);
}

#endif
