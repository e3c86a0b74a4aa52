/* Help, errors and diagnostics as people see them. */
#include "base/seam.h"
#include "cli/cli.h"

#include <unistd.h>

void sf_cli_print_help(const sf_cli_command *command)
{
    const char *at = command->synopsis, *lead = "usage:";
    do {
        size_t length = strcspn(at, "\n");
        printf("%s sf %s %.*s\n", lead, command->name, (int)length, at);
        lead = "      ";
        at += length + (at[length] == '\n');
    } while (*at);
    printf("\n%s\n", command->help);
}

static void complain(const sf_cli_command *command, const char *format, va_list args)
    SF_PRINTF(2, 0);
static void complain(const sf_cli_command *command, const char *format, va_list args)
{
    fprintf(stderr, "sf %s: ", command->name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

int sf_cli_usage(const sf_cli_command *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    complain(command, format, args);
    va_end(args);
    fprintf(stderr, "sf %s --help tells how it is called\n", command->name);
    return SF_CLI_USAGE;
}

int sf_cli_complain(const sf_cli_command *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    complain(command, format, args);
    va_end(args);
    return SF_CLI_FAILED;
}

int sf_cli_fail(const sf_cli_command *command, const sf_error *err)
{
    fprintf(stderr, "sf %s: %s\n", command->name, err->message);
    if (err->hint[0])
        fprintf(stderr, "  %s\n", err->hint);
    return SF_CLI_FAILED;
}

/* Line `line` (from 1) of the text, without its end. */
static sf_str line_of(sf_str text, uint32_t line)
{
    size_t start = 0;
    while (line > 1) {
        const char *end =
            text.len > start ? memchr(text.data + start, '\n', text.len - start) : NULL;
        if (!end)
            return (sf_str){NULL, 0};
        start = (size_t)(end - text.data) + 1;
        line--;
    }
    const char *end = text.len > start ? memchr(text.data + start, '\n', text.len - start) : NULL;
    size_t length = end ? (size_t)(end - text.data) - start : text.len - start;
    if (length && text.data[start + length - 1] == '\r')
        length--;
    return (sf_str){text.data + start, length};
}

/* Bytes of the line before the column, which counts characters. */
static size_t bytes_before(sf_str line, uint32_t column)
{
    size_t at = 0;
    for (uint32_t seen = 1; at < line.len; at++) {
        bool starts = ((unsigned char)line.data[at] & 0xC0) != 0x80;
        if (starts && seen++ == column)
            break;
    }
    return at;
}

void sf_cli_show_place(FILE *out, const char *name, sf_str text, bool warning, uint32_t line,
                       uint32_t column, uint32_t length, const char *message)
{
    if (name)
        fprintf(out, "%s:", name);
    fprintf(out, "%u:%u: %s: %s\n", line, column, warning ? "warning" : "error", message);
    sf_str shown = line_of(text, line);
    if (!shown.data)
        return;
    size_t before = bytes_before(shown, column);
    fprintf(out, "  %.*s\n  ", SF_STR_ARG(shown));
    for (size_t i = 0; i < before; i++) /* tabs stay tabs, so that the mark stands right */
        if (((unsigned char)shown.data[i] & 0xC0) != 0x80)
            fputc(shown.data[i] == '\t' ? '\t' : ' ', out);
    size_t end = before + (length ? length : 1);
    fputc('^', out);
    for (size_t i = before + 1; i < end && i < shown.len; i++)
        if (((unsigned char)shown.data[i] & 0xC0) != 0x80)
            fputc('~', out);
    fputc('\n', out);
}

void sf_cli_show_diagnostics(FILE *out, const char *name, sf_str text,
                             const sf_diagnostics *diagnostics, const sf_error *err)
{
    for (size_t i = 0; i < diagnostics->list.len; i++) {
        const sf_diagnostic *item = &diagnostics->list.data[i];
        sf_cli_show_place(out, name, text, item->warning, item->line, item->column,
                          item->span.length, item->message);
    }
    if (diagnostics->list.len == 0 && err->status != SF_OK)
        fprintf(out, "error: %s%s%s\n", err->message, err->hint[0] ? "; " : "", err->hint);
}

static sf_status read_stdin(size_t max_bytes, sf_buf *out, sf_error *err)
{
    for (;;) {
        if (!sf_buf_reserve(out, 65536))
            return sf_fail_memory(err);
        ssize_t got = read(STDIN_FILENO, out->data + out->len, 65536);
        if (got < 0)
            return sf_fail(err, SF_IO, "standard input cannot be read");
        if (got == 0)
            return SF_OK;
        out->len += (size_t)got;
        out->data[out->len] = 0;
        if (out->len > max_bytes)
            return sf_fail(err, SF_LIMIT, "standard input is longer than %zu bytes", max_bytes);
    }
}

sf_status sf_cli_read_file(const char *path, size_t max_bytes, sf_buf *out, sf_error *err)
{
    if (strcmp(path, "-") == 0)
        return read_stdin(max_bytes, out, err);
    sf_disk disk = sf_disk_system();
    return sf_disk_read_all(&disk, path, max_bytes, out, err);
}
