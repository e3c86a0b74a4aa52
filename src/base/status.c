/* Status names, errors and the failed-assertion exit. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

#undef sf_fail
#undef sf_fail_at
#undef sf_fail_memory

static const struct {
    const char *name, *text;
} statuses[] = {
#define X(name, text) {#name, text},
    SF_STATUS_LIST(X)
#undef X
};

const char *sf_status_name(sf_status status)
{
    return (size_t)status < SF_COUNT_OF(statuses) ? statuses[status].name : "UNKNOWN";
}

const char *sf_status_text(sf_status status)
{
    return (size_t)status < SF_COUNT_OF(statuses) ? statuses[status].text : "unknown status";
}

/* Cuts at a character boundary, so that a long name never leaves half a UTF-8 sequence. */
static void format_bounded(char *out, size_t size, const char *format, va_list args)
{
    int n = vsnprintf(out, size, format, args);
    if (n < 0) {
        out[0] = '\0';
        return;
    }
    if ((size_t)n < size)
        return;
    size_t last = size - 2; /* of the bytes kept */
    while (last > 0 && ((unsigned char)out[last] & 0xc0) == 0x80)
        last--;
    unsigned char lead = (unsigned char)out[last];
    size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    if (last + length > size - 1)
        out[last] = '\0';
}

static void fill(sf_error *err, sf_status status, sf_span where, const char *format, va_list args)
{
    if (!err)
        return;
    err->status = status;
    err->where = where;
    err->hint[0] = '\0';
    format_bounded(err->message, sizeof err->message, format, args);
}

sf_status sf_fail(sf_error *err, sf_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, status, (sf_span){0, 0}, format, args);
    va_end(args);
    return status;
}

sf_status sf_fail_at(sf_error *err, sf_status status, sf_span where, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, status, where, format, args);
    va_end(args);
    return status;
}

void sf_error_hint(sf_error *err, const char *format, ...)
{
    if (!err)
        return;
    va_list args;
    va_start(args, format);
    format_bounded(err->hint, sizeof err->hint, format, args);
    va_end(args);
}

void sf_error_context(sf_error *err, const char *format, ...)
{
    if (!err)
        return;
    char context[sizeof err->message], whole[2 * sizeof err->message + 2];
    va_list args;
    va_start(args, format);
    format_bounded(context, sizeof context, format, args);
    va_end(args);
    snprintf(whole, sizeof whole, "%s: %s", context, err->message);
    memcpy(err->message, whole, sizeof err->message - 1);
    err->message[sizeof err->message - 1] = '\0';
}

sf_status sf_fail_memory(sf_error *err)
{
    sf_fail(err, SF_LIMIT, "out of memory");
    sf_error_hint(err, "raise the memory limit or reduce the amount of data kept");
    return SF_LIMIT;
}

_Noreturn void sf_assert_failed(const char *fact, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, fact);
    abort();
}
