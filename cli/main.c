/* sf: the command line of StreamsForge. */
#include "cli/cli.h"

typedef struct {
    const char *title;
    const sf_cli_command *commands[16];
} group;

static const group groups[] = {
    {"In process, without a server:",
     {&sf_cli_query, &sf_cli_test, &sf_cli_functions, &sf_cli_nspl}},
    {"Against a server:",
     {&sf_cli_login, &sf_cli_logout, &sf_cli_token, &sf_cli_health, &sf_cli_ls, &sf_cli_get,
      &sf_cli_create, &sf_cli_start, &sf_cli_stop, &sf_cli_delete, &sf_cli_rows, &sf_cli_results,
      &sf_cli_watch, &sf_cli_validate, &sf_cli_api}},
};

static void print_commands(FILE *out)
{
    fputs("usage: sf COMMAND [option...] [word...]\n", out);
    for (size_t g = 0; g < SF_COUNT_OF(groups); g++) {
        fprintf(out, "\n%s\n", groups[g].title);
        for (size_t i = 0; groups[g].commands[i]; i++)
            fprintf(out, "  %-9s %s\n", groups[g].commands[i]->name,
                    groups[g].commands[i]->summary);
    }
    fputs(
        "\nsf COMMAND --help says more about one of them.\n"
        "\n"
        "Status: 0 done, 1 failed, 2 called wrongly, 3 no server answers, 4 not signed in or not\n"
        "allowed, 5 not found.\n"
        "\n"
        "SF_URL, SF_TOKEN, SF_USER and SF_PASSWORD stand for the server, a token, who signs in.\n",
        out);
}

static const sf_cli_command *command_named(const char *name)
{
    for (size_t g = 0; g < SF_COUNT_OF(groups); g++)
        for (size_t i = 0; groups[g].commands[i]; i++)
            if (strcmp(name, groups[g].commands[i]->name) == 0)
                return groups[g].commands[i];
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_commands(stderr);
        return SF_CLI_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        const sf_cli_command *command = argc > 2 ? command_named(argv[2]) : NULL;
        if (command)
            sf_cli_print_help(command);
        else
            print_commands(stdout);
        return SF_CLI_OK;
    }
    if (strcmp(word, "--version") == 0) {
        printf("sf %s\n", SF_VERSION);
        return SF_CLI_OK;
    }
    const sf_cli_command *command = command_named(word);
    if (command)
        return command->run(command, argc - 2, argv + 2);
    fprintf(stderr, "sf: there is no command \"%s\"; sf --help lists them\n", word);
    return SF_CLI_USAGE;
}
