/* Opening the catalog, and looking things up in it. */
#include "catalog/inside.h"

#include <stdio.h>
#include <stdlib.h>

enum { APPLICATION_ID = 0x53464341 /* "SFCA" */ };

static const char *const upgrades[] = {
    "CREATE TABLE entities ("
    " id TEXT PRIMARY KEY, environment TEXT NOT NULL, kind INTEGER NOT NULL, name TEXT NOT NULL,"
    " body TEXT NOT NULL, derived TEXT, revision INTEGER NOT NULL,"
    " schema_revision INTEGER NOT NULL, running INTEGER NOT NULL, error TEXT,"
    " created_by TEXT NOT NULL, created_at INTEGER NOT NULL,"
    " updated_by TEXT NOT NULL, updated_at INTEGER NOT NULL) STRICT;"
    "CREATE TABLE keys ("
    " source_id TEXT NOT NULL REFERENCES entities (id) ON DELETE CASCADE, id TEXT NOT NULL,"
    " label TEXT NOT NULL, created_at INTEGER NOT NULL, last_used INTEGER NOT NULL,"
    " hash TEXT NOT NULL, salt TEXT NOT NULL, PRIMARY KEY (source_id, id)) STRICT;"
    "CREATE TABLE facts (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;",
};

static const char *const statement_texts[] = {
#define X(name, sql) sql,
    SF_CATALOG_STATEMENTS(X)
#undef X
};

/* ---- open and close ---- */

static sf_status open_database(sf_catalog *catalog, const char *dir, sf_error *err)
{
    sf_db_options options = {
        .page_bytes = SF_DB_PAGE_CATALOG,
        .application_id = APPLICATION_ID,
        .upgrades = upgrades,
        .upgrade_count = SF_COUNT_OF(upgrades),
    };
    sf_buf path = {0};
    sf_buf_printf(&path, "%s/catalog.db", dir);
    sf_status status = path.failed
                           ? sf_fail_memory(err)
                           : sf_db_open(&catalog->disk, path.data, &options, &catalog->db, err);
    sf_buf_deinit(&path);
    for (int i = 0; i < SF_CATALOG_STATEMENT_COUNT && status == SF_OK; i++)
        status = sf_db_prepare(catalog->db, statement_texts[i], &catalog->statements[i], err);
    return status;
}

static void free_catalog(sf_catalog *catalog)
{
    for (int i = 0; i < SF_CATALOG_STATEMENT_COUNT; i++)
        sf_stmt_free(catalog->statements[i]);
    sf_db_close(catalog->db);
    for (size_t i = 0; i < catalog->by_name.len; i++)
        sf_def_unref(catalog->by_name.data[i]);
    SF_VEC_DEINIT(&catalog->by_name);
    SF_VEC_DEINIT(&catalog->by_id);
    pthread_rwlock_destroy(&catalog->reading);
    pthread_mutex_destroy(&catalog->writing);
    sf_free(catalog);
}

sf_status sf_catalog_open(const sf_catalog_options *options, sf_catalog **out, sf_error *err)
{
    sf_catalog *catalog = sf_calloc(1, sizeof *catalog);
    if (!catalog)
        return sf_fail_memory(err);
    catalog->disk = options->disk;
    catalog->clock = options->clock;
    catalog->random = options->random;
    catalog->log = options->log;
    catalog->rules = options->rules;
    pthread_mutex_init(&catalog->writing, NULL);
    pthread_rwlock_init(&catalog->reading, NULL);
    sf_status status = catalog->disk.make_dir(catalog->disk.self, options->dir, err);
    if (status == SF_OK)
        status = sf_catalog_load_instance(catalog, options->dir, err);
    if (status == SF_OK)
        status = open_database(catalog, options->dir, err);
    if (status == SF_OK)
        status = sf_catalog_load_all(catalog, err);
    if (status != SF_OK) {
        free_catalog(catalog);
        return status;
    }
    *out = catalog;
    return SF_OK;
}

void sf_catalog_close(sf_catalog *catalog)
{
    if (!catalog)
        return;
    sf_error err;
    if (sf_catalog_flush(catalog, &err) != SF_OK)
        sf_log_write(catalog->log, SF_LOG_WARN, "catalog", "last uses of keys are lost: %s",
                     err.message);
    free_catalog(catalog);
}

const char *sf_catalog_instance_id(const sf_catalog *catalog)
{
    return catalog->instance_id;
}

void sf_catalog_new_id(sf_catalog *catalog, char id[SF_ID_BYTES + 1])
{
    sf_catalog_random_id(&catalog->random, id);
}

sf_status sf_def_parse(const sf_catalog *catalog, sf_entity_kind kind, const char *environment,
                       sf_str json, const sf_def *stored, sf_def **out, sf_error *err)
{
    if (json.len > SF_DEFINITION_BYTES_MAX)
        return sf_fail(err, SF_LIMIT,
                       "the definition of a %s has %zu bytes, more than the %d allowed",
                       sf_entity_kind_name(kind), json.len, SF_DEFINITION_BYTES_MAX);
    json_t *root = NULL;
    char what[48];
    snprintf(what, sizeof what, "the definition of a %s", sf_entity_kind_name(kind));
    SF_TRY(sf_json_load(json, what, &root, err));
    sf_def *def = sf_def_new(kind);
    sf_status status =
        def ? sf_def_read(&catalog->rules, root, stored, def, err) : sf_fail_memory(err);
    json_decref(root);
    if (status == SF_OK) {
        const char *id = stored ? stored->id : "",
                   *home = stored ? stored->environment : environment;
        const char *error = stored ? stored->error : NULL;
        def->id = sf_arena_strndup(&def->arena, id, strlen(id));
        def->environment = sf_arena_strndup(&def->arena, home, strlen(home));
        def->revision = stored ? stored->revision : 0;
        status =
            def->id && def->environment ? sf_def_set_error(def, error, err) : sf_fail_memory(err);
    }
    if (status != SF_OK) {
        sf_def_unref(def);
        return status;
    }
    *out = def;
    return SF_OK;
}

/* ---- the index in memory ---- */

typedef struct {
    sf_str environment, name, id;
} index_key;

static int compare_names(const index_key *key, const sf_def *def)
{
    int order = sf_str_cmp(key->environment, sf_str_of(def->environment));
    if (order == 0)
        order = sf_str_cmp(key->name, sf_str_of(def->name));
    return order ? order : sf_str_cmp(key->id, sf_str_of(def->id));
}

static int compare_ids(const index_key *key, const sf_def *def)
{
    return sf_str_cmp(key->id, sf_str_of(def->id));
}

/* Where key is, or belongs. */
static size_t lower_bound(const sf_def_index *index, const index_key *key,
                          int (*compare)(const index_key *, const sf_def *))
{
    size_t low = 0, high = index->len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(key, index->data[middle]) > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert_at(sf_def_index *index, size_t at, const sf_def *def)
{
    SF_ASSERT(index->len < index->cap);
    memmove(index->data + at + 1, index->data + at, (index->len - at) * sizeof *index->data);
    index->data[at] = def;
    index->len++;
}

static void remove_at(sf_def_index *index, size_t at)
{
    index->len--;
    memmove(index->data + at, index->data + at + 1, (index->len - at) * sizeof *index->data);
}

static bool reserve(sf_def_index *index)
{
    return index->len < index->cap ||
           sf_vec_grow((void **)&index->data, &index->cap, sizeof *index->data);
}

bool sf_catalog_reserve(sf_catalog *catalog)
{
    pthread_rwlock_wrlock(&catalog->reading);
    bool ok = reserve(&catalog->by_name) && reserve(&catalog->by_id);
    pthread_rwlock_unlock(&catalog->reading);
    return ok;
}

static index_key key_of(const sf_def *def)
{
    return (index_key){sf_str_of(def->environment), sf_str_of(def->name), sf_str_of(def->id)};
}

void sf_catalog_publish(sf_catalog *catalog, const char *id, const sf_def *def)
{
    index_key key = {.id = sf_str_of(id)};
    const sf_def *old = NULL;
    pthread_rwlock_wrlock(&catalog->reading);
    size_t at = lower_bound(&catalog->by_id, &key, compare_ids);
    if (at < catalog->by_id.len && strcmp(catalog->by_id.data[at]->id, id) == 0) {
        old = catalog->by_id.data[at];
        remove_at(&catalog->by_id, at);
        key = key_of(old);
        remove_at(&catalog->by_name, lower_bound(&catalog->by_name, &key, compare_names));
    }
    if (def) {
        key = key_of(def);
        insert_at(&catalog->by_id, lower_bound(&catalog->by_id, &key, compare_ids), def);
        insert_at(&catalog->by_name, lower_bound(&catalog->by_name, &key, compare_names), def);
    }
    pthread_rwlock_unlock(&catalog->reading);
    sf_def_unref(old);
}

const sf_def *sf_catalog_by_id(sf_catalog *catalog, sf_str id)
{
    index_key key = {.id = id};
    pthread_rwlock_rdlock(&catalog->reading);
    size_t at = lower_bound(&catalog->by_id, &key, compare_ids);
    const sf_def *def = at < catalog->by_id.len ? catalog->by_id.data[at] : NULL;
    def = def && sf_str_eq(sf_str_of(def->id), id) ? sf_def_ref(def) : NULL;
    pthread_rwlock_unlock(&catalog->reading);
    return def;
}

/* ---- looking up ---- */

static bool is_named(const sf_def *def, const char *environment, sf_str name)
{
    return strcmp(def->environment, environment) == 0 && sf_str_eq(sf_str_of(def->name), name);
}

/* SF_ENTITY_KINDS: of any kind. Holds the read lock. */
static sf_status find_named(sf_catalog *catalog, sf_entity_kind kind, const char *environment,
                            sf_str name, const sf_def **out, sf_error *err)
{
    index_key key = {sf_str_of(environment), name, {NULL, 0}};
    const sf_def *found = NULL;
    uint32_t count = 0;
    sf_buf ids = {0};
    for (size_t at = lower_bound(&catalog->by_name, &key, compare_names);
         at < catalog->by_name.len && is_named(catalog->by_name.data[at], environment, name);
         at++) {
        const sf_def *def = catalog->by_name.data[at];
        if (kind != SF_ENTITY_KINDS && def->kind != kind)
            continue;
        found = def;
        sf_buf_printf(&ids, "%s%s", count++ ? ", " : "", def->id);
    }
    sf_status status = SF_OK;
    const char *what =
        kind == SF_ENTITY_KINDS ? "source, pipeline or table" : sf_entity_kind_name(kind);
    if (count == 0)
        status = sf_fail(err, SF_NOT_FOUND, "%s \"%.*s\" does not exist", what,
                         (int)(name.len < 256 ? name.len : 256), name.data);
    else if (count > 1)
        status = sf_fail(err, SF_CONFLICT, "%u %ss are named \"%.*s\": address one by id: %s",
                         count, kind == SF_ENTITY_KINDS ? "entitie" : what, SF_STR_ARG(name),
                         ids.failed ? "" : ids.data);
    else
        *out = sf_def_ref(found);
    sf_buf_deinit(&ids);
    return status;
}

sf_status sf_catalog_find(sf_catalog *catalog, sf_entity_kind kind, const char *environment,
                          sf_str key, const sf_def **out, sf_error *err)
{
    if (kind != SF_ENTITY_SOURCE) {
        const sf_def *def = sf_catalog_by_id(catalog, key);
        if (def && def->kind == kind && strcmp(def->environment, environment) == 0) {
            *out = def;
            return SF_OK;
        }
        sf_def_unref(def);
    }
    pthread_rwlock_rdlock(&catalog->reading);
    sf_status status = find_named(catalog, kind, environment, key, out, err);
    pthread_rwlock_unlock(&catalog->reading);
    return status;
}

sf_status sf_catalog_find_exact(sf_catalog *catalog, sf_entity_kind kind, const char *environment,
                                sf_str key, const sf_def **out, sf_error *err)
{
    if (kind == SF_ENTITY_SOURCE)
        return sf_catalog_find(catalog, kind, environment, key, out, err);
    const sf_def *def = sf_catalog_by_id(catalog, key);
    if (def && def->kind == kind && strcmp(def->environment, environment) == 0) {
        *out = def;
        return SF_OK;
    }
    sf_def_unref(def);
    return sf_fail(err, SF_NOT_FOUND, "%s with id \"%.*s\" does not exist",
                   sf_entity_kind_name(kind), (int)(key.len < 256 ? key.len : 256), key.data);
}

sf_status sf_catalog_find_name(sf_catalog *catalog, const char *environment, sf_str name,
                               const sf_def **out, sf_error *err)
{
    pthread_rwlock_rdlock(&catalog->reading);
    sf_status status = find_named(catalog, SF_ENTITY_KINDS, environment, name, out, err);
    pthread_rwlock_unlock(&catalog->reading);
    return status;
}

static bool is_in(const sf_name_list *names, sf_str name)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (sf_str_eq(sf_str_of(names->items[i]), name))
            return true;
    return false;
}

static bool reads(const sf_def *def, sf_str name)
{
    if (def->kind == SF_ENTITY_SOURCE)
        return false;
    const sf_derived *derived = &sf_def_query(def)->derived;
    return is_in(&derived->stream_inputs, name) || is_in(&derived->table_inputs, name) ||
           is_in(&derived->pipeline_inputs, name);
}

/* name NULL: all of this kind; else those of any kind that read it. */
static sf_status collect(sf_catalog *catalog, sf_entity_kind kind, const char *environment,
                         const sf_str *name, sf_def_list *out, sf_error *err)
{
    sf_def_index found = {0};
    bool ok = true;
    pthread_rwlock_rdlock(&catalog->reading);
    for (size_t i = 0; i < catalog->by_name.len && ok; i++) {
        const sf_def *def = catalog->by_name.data[i];
        if (strcmp(def->environment, environment) == 0 &&
            (name ? reads(def, *name) : def->kind == kind))
            ok = SF_VEC_PUSH(&found, sf_def_ref(def));
    }
    pthread_rwlock_unlock(&catalog->reading);
    *out = (sf_def_list){found.data, (uint32_t)found.len};
    if (ok)
        return SF_OK;
    sf_def_list_free(out);
    return sf_fail_memory(err);
}

sf_status sf_catalog_list(sf_catalog *catalog, sf_entity_kind kind, const char *environment,
                          sf_def_list *out, sf_error *err)
{
    return collect(catalog, kind, environment, NULL, out, err);
}

sf_status sf_catalog_readers(sf_catalog *catalog, const char *environment, sf_str name,
                             sf_def_list *out, sf_error *err)
{
    return collect(catalog, SF_ENTITY_KINDS, environment, &name, out, err);
}

void sf_def_list_free(sf_def_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        sf_def_unref(list->items[i]);
    sf_free(list->items);
    *list = (sf_def_list){0};
}

bool sf_catalog_stale_reason(sf_catalog *catalog, const sf_def *def, sf_buf *out)
{
    if (def->kind == SF_ENTITY_SOURCE)
        return false;
    const sf_query_part *query = sf_def_query(def);
    for (uint32_t i = 0; i < query->pin_count; i++) {
        const sf_pin *pin = &query->depends_on[i];
        const sf_def *target;
        if (pin->schema_revision == 0)
            continue;
        const char *what = sf_entity_kind_name(pin->kind);
        if (sf_catalog_find(catalog, pin->kind, def->environment, sf_str_of(pin->name), &target,
                            NULL) != SF_OK) {
            sf_buf_printf(out, "%s '%s' no longer exists; schemaRevision %llu was expected", what,
                          pin->name, (unsigned long long)pin->schema_revision);
            return true;
        }
        uint64_t now = target->schema_revision;
        sf_def_unref(target);
        if (now == pin->schema_revision)
            continue;
        sf_buf_printf(out, "%s '%s' moved from schemaRevision %llu to %llu", what, pin->name,
                      (unsigned long long)pin->schema_revision, (unsigned long long)now);
        return true;
    }
    return false;
}
