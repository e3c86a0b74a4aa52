/* Secrets in the blocks of connectors and sinks: never shown, kept when sent back masked. */
#include "catalog/def.h"
#include "text/text.h"

#define MASK "***"
enum { DEPTH_MAX = 64 };

static const char *const secret_names[] = {
    "password", "token", "credentials", "connectionString", "headerValue",
};

/* headers maps names to values, all of which are secret. */
static bool is_secret(const char *parent, const char *key)
{
    if (parent && strcmp(parent, "headers") == 0)
        return true;
    for (size_t i = 0; i < SF_COUNT_OF(secret_names); i++)
        if (strcmp(key, secret_names[i]) == 0)
            return true;
    return false;
}

bool sf_secret_is_in(const char *json)
{
    for (size_t i = 0; i < SF_COUNT_OF(secret_names); i++)
        if (strstr(json, secret_names[i]))
            return true;
    return strstr(json, "headers") != NULL;
}

static bool mask(json_t *value, const char *parent, int depth)
{
    const char *key;
    json_t *member;
    size_t i;
    bool ok = depth < DEPTH_MAX;
    if (json_is_object(value)) {
        json_object_foreach(value, key, member)
        {
            bool full = json_is_string(member) && json_string_length(member) > 0;
            if (is_secret(parent, key) && full)
                ok = ok && json_string_set(member, MASK) == 0;
            else
                ok = ok && mask(member, key, depth + 1);
        }
    } else if (json_is_array(value)) {
        json_array_foreach(value, i, member)
        {
            ok = ok && mask(member, parent, depth + 1);
        }
    }
    return ok;
}

void sf_secret_put_masked(const char *json, sf_buf *out)
{
    if (!sf_secret_is_in(json)) {
        sf_buf_puts(out, json);
        return;
    }
    const size_t flags = JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY;
    json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);
    size_t len = value && mask(value, NULL, 0) ? json_dumpb(value, NULL, 0, flags) : 0;
    if (len && sf_buf_reserve(out, len)) {
        json_dumpb(value, out->data + out->len, len, flags);
        out->len += len;
        out->data[out->len] = '\0';
    } else {
        out->failed = true; /* rather nothing than a secret */
    }
    json_decref(value);
}

/* The stored member of a list that this one replaces: of the same name, else in the same place. */
static const json_t *counterpart(const json_t *stored, const json_t *member, size_t index)
{
    const char *name = json_string_value(json_object_get(member, "name"));
    if (!name || !*name)
        return json_array_get(stored, index);
    size_t i;
    json_t *old;
    json_array_foreach((json_t *)stored, i, old)
    {
        const char *old_name = json_string_value(json_object_get(old, "name"));
        if (old_name && strcmp(name, old_name) == 0)
            return old;
    }
    return NULL;
}

static void restore(sf_json_in *in, json_t *value, const json_t *stored, const char *parent,
                    int depth)
{
    const char *key;
    json_t *member;
    size_t i;
    if (depth >= DEPTH_MAX) {
        sf_json_in_fail(in, SF_INVALID, "objects are nested deeper than %d", DEPTH_MAX);
    } else if (json_is_object(value)) {
        json_object_foreach(value, key, member)
        {
            const json_t *old = json_object_get(stored, key);
            if (!is_secret(parent, key) || !json_is_string(member)) {
                restore(in, member, old, key, depth + 1);
            } else if (strcmp(json_string_value(member), MASK) == 0) {
                if (!json_is_string(old))
                    sf_json_in_fail(in, SF_INVALID, "\"%s\" is masked, but none is stored", key);
                else if (json_string_set(member, json_string_value(old)) != 0)
                    sf_json_in_memory(in);
            }
        }
    } else if (json_is_array(value)) {
        json_array_foreach(value, i, member)
        {
            restore(in, member, counterpart(stored, member, i), parent, depth + 1);
        }
    }
}

void sf_secret_restore(sf_json_in *in, json_t *block, const char *stored)
{
    json_t *old = stored ? json_loads(stored, JSON_DECODE_ANY, NULL) : NULL;
    if (stored && !old)
        sf_json_in_memory(in);
    restore(in, block, old, NULL, 0);
    json_decref(old);
}
