/* Reading JSON that came from outside: types, bounds, unknown members. */
#include "catalog/reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool sf_json_in_fail(sf_json_in *in, sf_status status, const char *format, ...)
{
    if (in->status != SF_OK)
        return false;
    char text[sizeof((sf_error *)0)->message];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    in->status = sf_fail(in->err, status, "%s: %s", in->place, text);
    return true;
}

void sf_json_in_memory(sf_json_in *in)
{
    if (in->status == SF_OK)
        in->status = sf_fail_memory(in->err);
}

void *sf_json_in_alloc(sf_json_in *in, size_t count, size_t size_bytes)
{
    void *memory = sf_arena_array(in->arena, count ? count : 1, size_bytes);
    if (!memory)
        sf_json_in_memory(in);
    return memory;
}

const char *sf_json_in_copy(sf_json_in *in, const char *text, size_t len)
{
    const char *copy = sf_arena_strndup(in->arena, text, len);
    if (!copy)
        sf_json_in_memory(in);
    return copy;
}

const json_t *sf_json_in_get(const sf_json_in *in, const char *key)
{
    const json_t *value = json_object_get(in->object, key);
    return json_is_null(value) ? NULL : value;
}

static bool is_in(const char *name, const char *const *list)
{
    for (; list && *list; list++)
        if (strcmp(name, *list) == 0)
            return true;
    return false;
}

void sf_json_in_known(sf_json_in *in, const char *const *known, const char *const *passed_over)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)in->object, key, value)
    {
        if (is_in(key, known) || is_in(key, passed_over))
            continue;
        if (sf_json_in_fail(in, SF_INVALID, "unknown field \"%s\"", key))
            sf_error_hint(in->err, "remove it, or check its spelling");
        return;
    }
}

const char *sf_json_in_text(sf_json_in *in, const char *key, size_t max_bytes, const char *fallback)
{
    const json_t *value = sf_json_in_get(in, key);
    if (!value)
        return fallback;
    if (!json_is_string(value)) {
        sf_json_in_fail(in, SF_INVALID, "\"%s\" must be text", key);
        return fallback;
    }
    size_t len = json_string_length(value);
    if (len > max_bytes) {
        sf_json_in_fail(in, SF_INVALID, "\"%s\" has %zu bytes, more than the %zu allowed", key, len,
                        max_bytes);
        return fallback;
    }
    const char *copy = sf_json_in_copy(in, json_string_value(value), len);
    return copy ? copy : fallback;
}

bool sf_json_in_bool(sf_json_in *in, const char *key, bool fallback)
{
    const json_t *value = sf_json_in_get(in, key);
    if (!value)
        return fallback;
    if (!json_is_boolean(value))
        sf_json_in_fail(in, SF_INVALID, "\"%s\" must be true or false", key);
    return json_is_true(value);
}

/* A whole number however it was written; some senders have doubles only. */
static bool whole(const json_t *value, int64_t *out)
{
    if (json_is_integer(value)) {
        *out = json_integer_value(value);
        return true;
    }
    double number = json_is_real(value) ? json_real_value(value) : 0.5;
    if (number != floor(number) || fabs(number) > 9007199254740992.0)
        return false;
    *out = (int64_t)number;
    return true;
}

int64_t sf_json_in_integer(sf_json_in *in, const char *key, int64_t min, int64_t max,
                           int64_t fallback)
{
    const json_t *value = sf_json_in_get(in, key);
    int64_t number = fallback;
    if (!value)
        return fallback;
    if (!whole(value, &number) || number < min || number > max) {
        sf_json_in_fail(in, SF_INVALID, "\"%s\" must be a whole number from %lld to %lld", key,
                        (long long)min, (long long)max);
        return fallback;
    }
    return number;
}

double sf_json_in_number(sf_json_in *in, const char *key, double max, double fallback)
{
    const json_t *value = sf_json_in_get(in, key);
    if (!value)
        return fallback;
    double number = json_is_number(value) ? json_number_value(value) : NAN;
    if (isnan(number) || fabs(number) > max) {
        sf_json_in_fail(in, SF_INVALID, "\"%s\" must be a number up to %.0f", key, max);
        return fallback;
    }
    return number;
}

uint32_t sf_json_in_choice(sf_json_in *in, const char *key, const char *const *names,
                           uint32_t fallback)
{
    const json_t *value = sf_json_in_get(in, key);
    if (!value)
        return fallback;
    for (uint32_t i = 0; json_is_string(value) && names[i]; i++)
        if (strcmp(json_string_value(value), names[i]) == 0)
            return i;
    char all[256];
    size_t len = 0;
    all[0] = '\0';
    for (uint32_t i = 0; names[i] && len < sizeof all; i++)
        len += (size_t)snprintf(all + len, sizeof all - len, "%s%s", i ? ", " : "", names[i]);
    sf_json_in_fail(in, SF_INVALID, "\"%s\" must be one of %s", key, all);
    return fallback;
}

const json_t *sf_json_in_array(sf_json_in *in, const char *key, size_t max)
{
    const json_t *value = sf_json_in_get(in, key);
    if (!value)
        return NULL;
    if (!json_is_array(value)) {
        sf_json_in_fail(in, SF_INVALID, "\"%s\" must be a list", key);
        return NULL;
    }
    if (json_array_size(value) > max) {
        sf_json_in_fail(in, SF_INVALID, "\"%s\" has %zu members, more than the %zu allowed", key,
                        json_array_size(value), max);
        return NULL;
    }
    return value;
}

const json_t *sf_json_in_object(sf_json_in *in, const char *key, size_t max)
{
    const json_t *value = sf_json_in_get(in, key);
    if (!value)
        return NULL;
    if (!json_is_object(value)) {
        sf_json_in_fail(in, SF_INVALID, "\"%s\" must be an object", key);
        return NULL;
    }
    if (json_object_size(value) > max) {
        sf_json_in_fail(in, SF_INVALID, "\"%s\" has %zu members, more than the %zu allowed", key,
                        json_object_size(value), max);
        return NULL;
    }
    return value;
}

sf_name_list sf_json_in_names(sf_json_in *in, const char *key, size_t max_count, size_t max_bytes)
{
    sf_name_list list = {0};
    const json_t *array = sf_json_in_array(in, key, max_count);
    size_t count = json_array_size(array);
    const char **items = count ? sf_json_in_alloc(in, count, sizeof *items) : NULL;
    if (!items)
        return list;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(array, i);
        size_t len = json_string_length(item);
        if (!json_is_string(item) || len == 0 || len > max_bytes) {
            sf_json_in_fail(in, SF_INVALID, "\"%s\"[%zu] must be text of 1 to %zu bytes", key, i,
                            max_bytes);
            return list;
        }
        items[i] = sf_json_in_copy(in, json_string_value(item), len);
        if (!items[i])
            return list;
    }
    list.items = items;
    list.count = (uint32_t)count;
    return list;
}

const char *sf_json_in_dump(sf_json_in *in, const json_t *value)
{
    size_t flags = JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY;
    size_t len = json_dumpb(value, NULL, 0, flags);
    char *text = len ? sf_json_in_alloc(in, len + 1, 1) : NULL;
    if (!text) {
        sf_json_in_memory(in);
        return NULL;
    }
    json_dumpb(value, text, len, flags);
    return text;
}

sf_status sf_json_load(sf_str text, const char *what, json_t **out, sf_error *err)
{
    json_error_t fault;
    *out = json_loadb(text.data ? text.data : "", text.len, JSON_DECODE_ANY, &fault);
    if (*out)
        return SF_OK;
    if (json_error_code(&fault) == json_error_out_of_memory)
        return sf_fail_memory(err);
    sf_span where = {fault.position > 0 ? (uint32_t)fault.position - 1 : 0, 1};
    return sf_fail_at(err, SF_SYNTAX, where, "%s is not valid JSON: line %d, column %d: %s", what,
                      fault.line, fault.column, fault.text);
}
