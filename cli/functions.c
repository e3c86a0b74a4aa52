/* sf functions: what there is in the registry, for people, programs and the documentation. */
#include "cli/cli.h"
#include "text/text.h"

#include <strings.h>

typedef struct {
    bool json, markdown;
} words;

static bool is_wanted(const sf_function_info *info, const char *word)
{
    if (!word || strcasecmp(info->family, word) == 0)
        return true;
    size_t len = strlen(word);
    for (const char *at = info->name; *at; at++)
        if (strncasecmp(at, word, len) == 0)
            return true;
    return false;
}

size_t sf_cli_print_functions(FILE *out, const char *word)
{
    size_t printed = 0;
    for (uint32_t i = 0; i < sf_function_count(); i++) {
        const sf_function_info *info = sf_function_at(i);
        if (!is_wanted(info, word))
            continue;
        fprintf(out, "%-12s %s\n%-12s %s\n", info->family, info->signature, "", info->doc);
        fprintf(out, "%-12s %s%s%s\n", "", info->example, *info->result ? " = " : "", info->result);
        printed++;
    }
    return printed;
}

static void put_member(sf_buf *out, const char *name, const char *text)
{
    sf_buf_printf(out, "\"%s\":", name);
    sf_json_put_string(out, sf_str_of(text));
}

static size_t print_json(const char *word)
{
    sf_buf out = {0};
    size_t printed = 0;
    sf_buf_putc(&out, '[');
    for (uint32_t i = 0; i < sf_function_count(); i++) {
        const sf_function_info *info = sf_function_at(i);
        if (!is_wanted(info, word))
            continue;
        sf_buf_puts(&out, printed++ ? ",\n{" : "{");
        put_member(&out, "name", info->name);
        sf_buf_putc(&out, ',');
        put_member(&out, "signature", info->signature);
        sf_buf_putc(&out, ',');
        put_member(&out, "family", info->family);
        sf_buf_putc(&out, ',');
        put_member(&out, "doc", info->doc);
        sf_buf_putc(&out, ',');
        put_member(&out, "example", info->example);
        sf_buf_putc(&out, ',');
        put_member(&out, "result", info->result);
        sf_buf_putc(&out, '}');
    }
    sf_buf_puts(&out, "]\n");
    if (!out.failed)
        fputs(out.data, stdout);
    sf_buf_deinit(&out);
    return printed;
}

/* A bar would end the table's cell. */
static void put_cell(const char *text)
{
    for (; *text; text++)
        fputs(*text == '|' ? "\\|" : (char[]){*text, 0}, stdout);
}

static void print_family(const char *family)
{
    printf("\n## %c%s\n\n| function | | example |\n|---|---|---|\n", family[0] & ~0x20, family + 1);
    for (uint32_t i = 0; i < sf_function_count(); i++) {
        const sf_function_info *info = sf_function_at(i);
        if (strcmp(info->family, family) != 0)
            continue;
        fputs("| `", stdout);
        put_cell(info->signature);
        fputs("` | ", stdout);
        put_cell(info->doc);
        fputs(" | `", stdout);
        put_cell(info->example);
        fputs("`", stdout);
        if (*info->result) {
            fputs(" = `", stdout);
            put_cell(info->result);
            fputs("`", stdout);
        }
        fputs(" |\n", stdout);
    }
}

static size_t print_markdown(void)
{
    fputs(
        "# Functions\n"
        "\n"
        "Made by `sf functions --markdown`; a test keeps it so. `sf functions` prints the same\n"
        "list, `sf query \"SHOW FUNCTIONS\"` too, and `GET /api/sql/functions` gives it as JSON.\n"
        "\n"
        "Functions are total: an argument outside a function's domain, a cast that fails and a\n"
        "number out of range give NULL and are counted by reason. Unless its text says otherwise "
        "a\n"
        "function of NULL is NULL. Names are written in any case. Times are UTC; where a time is\n"
        "wanted, its ISO-8601 text or its milliseconds since 1970 will do.\n"
        "\n"
        "Every aggregate takes `DISTINCT` and `FILTER (WHERE condition)`, and leaves NULLs out\n"
        "unless its text says otherwise. Examples of aggregates are over the rows\n"
        "`(name, x, ok)`: `('a', 1, TRUE)`, `('b', 2, FALSE)`, `('b', 4, TRUE)`; those of window\n"
        "functions over the first of these alone.\n",
        stdout);
    for (uint32_t i = 0; i < sf_function_count(); i++) {
        bool fresh = true;
        for (uint32_t k = 0; k < i && fresh; k++)
            fresh = strcmp(sf_function_at(k)->family, sf_function_at(i)->family) != 0;
        if (fresh)
            print_family(sf_function_at(i)->family);
    }
    return sf_function_count();
}

static int run_functions(const sf_cli_command *command, int argc, char **argv)
{
    words w = {0};
    sf_cli_words rest = {0};
    sf_cli_option options[] = {{"--json", SF_CLI_FLAG, &w.json},
                               {"--markdown", SF_CLI_FLAG, &w.markdown}};
    int status = sf_cli_parse(command, argc, argv, options, SF_COUNT_OF(options), &rest);
    if (status == SF_CLI_GO_ON && (rest.len > 1 || (w.json && w.markdown)))
        status = sf_cli_usage(command, "give one word, and one of --json and --markdown");
    if (status == SF_CLI_GO_ON) {
        const char *word = rest.len ? rest.data[0] : NULL;
        size_t printed = w.json       ? print_json(word)
                         : w.markdown ? print_markdown()
                                      : sf_cli_print_functions(stdout, word);
        status = printed ? SF_CLI_OK
                         : sf_cli_complain(command, "no function has \"%s\" in its name",
                                           word ? word : "");
    }
    SF_VEC_DEINIT(&rest);
    return status;
}

const sf_cli_command sf_cli_functions = {
    .name = "functions",
    .synopsis = "[--json | --markdown] [WORD]",
    .summary = "what functions and aggregates SQL has here",
    .help =
        "Prints each with its kind, its arguments, what it gives and an example. With a word,\n"
        "only those with it in their name, or of that kind: numeric, string, hash, json, time,\n"
        "conditional, conversion, aggregate.\n"
        "\n"
        "  --json       as JSON\n"
        "  --markdown   as the page of the reference\n",
    .run = run_functions,
};
