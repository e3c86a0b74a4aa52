#include "host/config.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

enum { FILE_BYTES_MAX = 1 << 20, KEY_BYTES = 256, DEPTH_MAX = 8 };

typedef enum { KIND_TEXT, KIND_NUMBER, KIND_FLAG } key_kind;

typedef struct {
    const char *key, *help;
    key_kind kind;
    int64_t min, max;
    size_t offset;
} known_key;

#define AT(member) offsetof(sf_settings, member)
static const known_key keys[] = {
    {"Http:Address", "address REST and the hub listen on (127.0.0.1)", KIND_TEXT, 0, 0,
     AT(http_address)},
    {"Http:Port", "port of REST and the hub (5199)", KIND_NUMBER, 0, 65535, AT(http_port)},
    {"Grpc:Port", "port of gRPC (5299)", KIND_NUMBER, 0, 65535, AT(grpc_port)},
    {"DataDir", "directory of all state (data)", KIND_TEXT, 0, 0, AT(data_dir)},
    {"Name", "name of this instance", KIND_TEXT, 0, 0, AT(name)},
    {"NoDemo", "no demo world in an empty data directory", KIND_FLAG, 0, 0, AT(no_demo)},
    {"Jwt:Key", "key that signs tokens, at least 32 bytes", KIND_TEXT, 0, 0, AT(jwt_key)},
    {"Jwt:Issuer", "issuer in tokens", KIND_TEXT, 0, 0, AT(jwt_issuer)},
    {"Jwt:Audience", "audience in tokens", KIND_TEXT, 0, 0, AT(jwt_audience)},
    {"Memory:MaxBytes", "bound on the state of all queries", KIND_NUMBER, 0, INT64_MAX,
     AT(memory_bytes)},
    {"Journal:RetainBytes", "kept of one source for replays (1 GiB)", KIND_NUMBER, 0, INT64_MAX,
     AT(journal_bytes)},
    {"Source:LogBytes", "rows of one source in memory (64 MiB)", KIND_NUMBER, 0, INT64_MAX,
     AT(log_bytes)},
    {"Checkpoint:IntervalMs", "longest time between checkpoints (2000)", KIND_NUMBER, 0, 3600000,
     AT(checkpoint_ms)},
    {"Workers", "threads that run queries (one a core)", KIND_NUMBER, 0, 256, AT(workers)},
};

static const known_key *find_key(sf_str name)
{
    for (size_t i = 0; i < SF_COUNT_OF(keys); i++)
        if (sf_str_eq_nocase(sf_str_of(keys[i].key), name))
            return &keys[i];
    return NULL;
}

static bool starts_with(sf_str name, const char *prefix)
{
    size_t len = strlen(prefix);
    return name.len >= len && sf_str_eq_nocase((sf_str){name.data, len}, sf_str_of(prefix));
}

static sf_status set_number(sf_settings *settings, const known_key *key, const char *value,
                            const char *from, sf_error *err)
{
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (errno || end == value || *end || number < key->min || number > key->max)
        return sf_fail(err, SF_INVALID, "%s: %s takes a whole number from %lld to %lld, not \"%s\"",
                       from, key->key, (long long)key->min, (long long)key->max, value);
    *(int64_t *)(void *)((char *)settings + key->offset) = number;
    if (key->offset == AT(grpc_port))
        settings->grpc_port_given = true;
    return SF_OK;
}

static sf_status set_flag(sf_settings *settings, const known_key *key, const char *value,
                          const char *from, sf_error *err)
{
    bool yes = sf_str_eq_nocase(sf_str_of(value), SF_STR("true")) || strcmp(value, "1") == 0;
    bool no = sf_str_eq_nocase(sf_str_of(value), SF_STR("false")) || strcmp(value, "0") == 0;
    if (!yes && !no)
        return sf_fail(err, SF_INVALID, "%s: %s takes true or false, not \"%s\"", from, key->key,
                       value);
    *(bool *)((char *)settings + key->offset) = yes;
    return SF_OK;
}

/* strict: an unknown key is an error (a typing mistake on the command line), else it is noted. */
static sf_status set(sf_settings *settings, sf_str name, const char *value, const char *from,
                     bool note_unknown, sf_error *err)
{
    if (starts_with(name, "Streams:")) {
        settings->streams_given = true;
        return SF_OK;
    }
    const known_key *key = find_key(name);
    char *copy =
        sf_arena_strndup(&settings->arena, key ? value : name.data, key ? strlen(value) : name.len);
    if (!copy)
        return sf_fail_memory(err);
    if (!key) {
        if (note_unknown && !SF_VEC_PUSH(&settings->unknown, copy))
            return sf_fail_memory(err);
        return SF_OK;
    }
    switch (key->kind) {
    case KIND_NUMBER: return set_number(settings, key, value, from, err);
    case KIND_FLAG: return set_flag(settings, key, value, from, err);
    case KIND_TEXT: *(const char **)(void *)((char *)settings + key->offset) = copy; break;
    }
    return SF_OK;
}

/* ---- the file ---- */

static sf_status set_json(sf_settings *settings, const char *prefix, json_t *object, int depth,
                          const char *from, sf_error *err);

static sf_status set_member(sf_settings *settings, const char *name, json_t *value, int depth,
                            const char *from, sf_error *err)
{
    char number[32];
    switch (json_typeof(value)) {
    case JSON_OBJECT: return set_json(settings, name, value, depth + 1, from, err);
    case JSON_STRING:
        return set(settings, sf_str_of(name), json_string_value(value), from, true, err);
    case JSON_INTEGER:
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
        return set(settings, sf_str_of(name), number, from, true, err);
    case JSON_TRUE:
    case JSON_FALSE:
        return set(settings, sf_str_of(name), json_is_true(value) ? "true" : "false", from, true,
                   err);
    case JSON_NULL: return SF_OK;
    default:
        return sf_fail(err, SF_INVALID, "%s: %s takes a text, a whole number, true or false", from,
                       name);
    }
}

static sf_status set_json(sf_settings *settings, const char *prefix, json_t *object, int depth,
                          const char *from, sf_error *err)
{
    if (depth > DEPTH_MAX)
        return sf_fail(err, SF_INVALID, "%s: %s is nested deeper than %d", from, prefix, DEPTH_MAX);
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        char name[KEY_BYTES];
        if (snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? ":" : "", key) >=
            (int)sizeof name)
            return sf_fail(err, SF_INVALID, "%s: a key is longer than %d bytes", from, KEY_BYTES);
        SF_TRY(set_member(settings, name, value, depth, from, err));
    }
    return SF_OK;
}

static sf_status read_file(sf_settings *settings, const sf_disk *disk, const char *path,
                           bool required, sf_error *err)
{
    sf_buf text = {0};
    sf_status status = sf_disk_read_all(disk, path, FILE_BYTES_MAX, &text, err);
    if (status == SF_NOT_FOUND && !required) {
        sf_buf_deinit(&text);
        return SF_OK;
    }
    json_error_t place;
    json_t *root = status == SF_OK ? json_loadb(text.data ? text.data : "", text.len,
                                                JSON_REJECT_DUPLICATES, &place)
                                   : NULL;
    if (status == SF_OK && !json_is_object(root))
        status = root ? sf_fail(err, SF_INVALID, "\"%s\" must hold a JSON object", path)
                      : sf_fail(err, SF_SYNTAX, "\"%s\" line %d, column %d: %s", path, place.line,
                                place.column, place.text);
    if (status == SF_OK)
        status = set_json(settings, "", root, 0, path, err);
    json_decref(root);
    sf_buf_deinit(&text);
    return status;
}

/* ---- environment and command line ---- */

static sf_status read_environment(sf_settings *settings, char **environment, sf_error *err)
{
    for (char **entry = environment; entry && *entry; entry++) {
        const char *equals = strchr(*entry, '=');
        char name[KEY_BYTES];
        size_t len = 0;
        if (!equals || equals - *entry >= KEY_BYTES)
            continue;
        for (const char *c = *entry; c < equals; c++) {
            bool separator = c[0] == '_' && c[1] == '_' && c + 1 < equals;
            name[len++] = separator ? ':' : *c;
            c += separator;
        }
        /* The environment is full of others' names: unknown ones are none of ours. */
        if (find_key((sf_str){name, len}) || starts_with((sf_str){name, len}, "Streams:"))
            SF_TRY(set(settings, (sf_str){name, len}, equals + 1, "environment", false, err));
    }
    return SF_OK;
}

static sf_status read_arguments(sf_settings *settings, int count, char **args, sf_error *err)
{
    for (int i = 0; i < count; i++) {
        sf_str name = sf_str_of(args[i]);
        if (sf_str_eq(name, SF_STR("--no-demo"))) {
            settings->no_demo = true;
            continue;
        }
        if (name.len < 3 || memcmp(name.data, "--", 2) != 0)
            return sf_fail(err, SF_INVALID, "unexpected argument \"%s\"; --help lists the settings",
                           args[i]);
        if (i + 1 == count)
            return sf_fail(err, SF_INVALID, "%s needs a value", args[i]);
        name = (sf_str){name.data + 2, name.len - 2};
        if (!sf_str_eq(name, SF_STR("config")))
            SF_TRY(set(settings, name, args[i + 1], "command line", true, err));
        i++;
    }
    return SF_OK;
}

sf_status sf_settings_read(int arg_count, char **args, char **environment, const sf_disk *disk,
                           sf_settings *out, sf_error *err)
{
    *out = (sf_settings){
        .http_address = "127.0.0.1", .http_port = 5199, .grpc_port = 5299, .data_dir = "data"};
    sf_arena_init(&out->arena, FILE_BYTES_MAX);
    const char *file = NULL;
    for (int i = 0; i + 1 < arg_count; i++)
        if (strcmp(args[i], "--config") == 0)
            file = args[i + 1];
    sf_status status = read_file(out, disk, file ? file : "appsettings.json", file != NULL, err);
    if (status == SF_OK)
        status = read_environment(out, environment, err);
    if (status == SF_OK)
        status = read_arguments(out, arg_count, args, err);
    if (status != SF_OK)
        sf_settings_deinit(out);
    return status;
}

void sf_settings_deinit(sf_settings *settings)
{
    sf_arena_deinit(&settings->arena);
    SF_VEC_DEINIT(&settings->unknown);
}

void sf_settings_put_help(sf_buf *out)
{
    sf_buf_puts(out,
                "usage: streamsforge [--config FILE] [--no-demo] [--KEY VALUE]...\n\n"
                "A key may also stand in FILE (default appsettings.json, nested objects) or in "
                "the environment\n(Http__Port). The command line wins over the environment, "
                "the environment over the file.\n\n");
    for (size_t i = 0; i < SF_COUNT_OF(keys); i++)
        sf_buf_printf(out, "  --%-22s %s\n", keys[i].key, keys[i].help);
}
