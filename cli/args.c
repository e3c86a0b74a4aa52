/* Options and other words of a command line. */
#include "cli/cli.h"
#include "text/text.h"

static const sf_cli_option *option_named(const sf_cli_option *options, size_t count, sf_str name)
{
    for (size_t i = 0; i < count; i++)
        if (sf_str_eq(sf_str_of(options[i].name), name))
            return &options[i];
    return NULL;
}

/* The option nearest to what was typed, for the message; NULL when none is near. */
static const char *near_option(const sf_cli_option *options, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(word);
        if (length > 3 && strncmp(options[i].name, word, length - 1) == 0)
            return options[i].name;
    }
    return NULL;
}

static int take(const sf_cli_command *command, const sf_cli_option *option, const char *value)
{
    switch (option->kind) {
    case SF_CLI_FLAG: *(bool *)option->into = true; return SF_CLI_GO_ON;
    case SF_CLI_TEXT: *(const char **)option->into = value; return SF_CLI_GO_ON;
    case SF_CLI_NUMBER: {
        int64_t number;
        if (sf_parse_i64(sf_str_of(value), &number) != SF_PARSE_OK || number < 0)
            return sf_cli_usage(command, "%s needs a number that is not negative, not \"%s\"",
                                option->name, value);
        *(int64_t *)option->into = number;
        return SF_CLI_GO_ON;
    }
    case SF_CLI_LIST:
        if (!SF_VEC_PUSH((sf_cli_words *)option->into, value))
            return sf_cli_complain(command, "out of memory");
        return SF_CLI_GO_ON;
    }
    return SF_CLI_GO_ON;
}

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != 0;
}

static int take_option(const sf_cli_command *command, int argc, char **argv, int *at,
                       const sf_cli_option *options, size_t count)
{
    const char *word = argv[*at], *equals = strchr(word, '=');
    sf_str name = {word, equals ? (size_t)(equals - word) : strlen(word)};
    const sf_cli_option *option = option_named(options, count, name);
    if (!option) {
        const char *near = near_option(options, count, word);
        return near ? sf_cli_usage(command, "there is no option %.*s; did you mean %s?",
                                   SF_STR_ARG(name), near)
                    : sf_cli_usage(command, "there is no option %.*s", SF_STR_ARG(name));
    }
    if (option->kind == SF_CLI_FLAG) {
        if (equals)
            return sf_cli_usage(command, "%s takes no value", option->name);
        return take(command, option, NULL);
    }
    if (equals)
        return take(command, option, equals + 1);
    if (*at + 1 >= argc)
        return sf_cli_usage(command, "%s needs a value", option->name);
    return take(command, option, argv[++*at]);
}

int sf_cli_parse(const sf_cli_command *command, int argc, char **argv, const sf_cli_option *options,
                 size_t option_count, sf_cli_words *words)
{
    bool only_words = false;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (!only_words && strcmp(word, "--") == 0) {
            only_words = true;
        } else if (!only_words && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            sf_cli_print_help(command);
            return SF_CLI_OK;
        } else if (!only_words && is_option(word)) {
            int status = take_option(command, argc, argv, &i, options, option_count);
            if (status != SF_CLI_GO_ON)
                return status;
        } else if (!SF_VEC_PUSH(words, word)) {
            return sf_cli_complain(command, "out of memory");
        }
    }
    return SF_CLI_GO_ON;
}
