/* inside.h: the catalog's own insides: its database and what it keeps of it in memory. */
#ifndef SF_CATALOG_INSIDE_H
#define SF_CATALOG_INSIDE_H

#include "catalog/def.h"
#include "store/store.h"

#include <pthread.h>

#define SF_CATALOG_COLUMNS                                                                         \
    "id, environment, kind, name, body, derived, revision, schema_revision, running, error, "      \
    "created_by, created_at, updated_by, updated_at"

#define SF_CATALOG_STATEMENTS(X)                                                                   \
    X(ALL, "SELECT " SF_CATALOG_COLUMNS " FROM entities")                                          \
    X(ONE, "SELECT " SF_CATALOG_COLUMNS " FROM entities WHERE id = ?1")                            \
    X(INSERT, "INSERT INTO entities (" SF_CATALOG_COLUMNS ") VALUES "                              \
              "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)")                     \
    X(UPDATE, "UPDATE entities SET environment = ?2, kind = ?3, name = ?4, body = ?5, "            \
              "derived = ?6, revision = ?7, schema_revision = ?8, running = ?9, error = ?10, "     \
              "created_by = ?11, created_at = ?12, updated_by = ?13, updated_at = ?14 "            \
              "WHERE id = ?1")                                                                     \
    X(DELETE, "DELETE FROM entities WHERE id = ?1")                                                \
    X(SET_STATE, "UPDATE entities SET running = ?2, error = ?3 WHERE id = ?1")                     \
    X(SET_DERIVED, "UPDATE entities SET derived = ?2, schema_revision = ?3 WHERE id = ?1")         \
    X(KEYS, "SELECT id, label, created_at, last_used, hash, salt FROM keys WHERE source_id = ?1 "  \
            "ORDER BY created_at, id")                                                             \
    X(ADD_KEY, "INSERT INTO keys (source_id, id, label, created_at, last_used, hash, salt) "       \
               "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")                                              \
    X(REMOVE_KEY, "DELETE FROM keys WHERE source_id = ?1 AND id = ?2")                             \
    X(USE_KEY, "UPDATE keys SET last_used = ?3 WHERE source_id = ?1 AND id = ?2")                  \
    X(GET_FACT, "SELECT value FROM facts WHERE key = ?1")                                          \
    X(PUT_FACT, "INSERT INTO facts (key, value) VALUES (?1, ?2) "                                  \
                "ON CONFLICT (key) DO UPDATE SET value = excluded.value")

typedef enum {
#define X(name, sql) SF_CATALOG_##name,
    SF_CATALOG_STATEMENTS(X)
#undef X
        SF_CATALOG_STATEMENT_COUNT
} sf_catalog_statement;

typedef SF_VEC(const sf_def *) sf_def_index;

struct sf_catalog {
    sf_disk disk;
    sf_clock clock;
    sf_random random;
    const sf_log *log;
    sf_catalog_rules rules;
    char instance_id[SF_ID_BYTES + 1];

    pthread_mutex_t writing; /* one change at a time; guards the database */
    sf_db *db;
    sf_stmt *statements[SF_CATALOG_STATEMENT_COUNT];
    int64_t flushed_ms; /* uses of keys before that are written down */

    pthread_rwlock_t reading; /* guards what follows; taken inside `writing` */
    sf_def_index by_name;     /* by environment, name, id; holds the references */
    sf_def_index by_id;
};

void sf_catalog_random_id(const sf_random *random, char id[SF_ID_BYTES + 1]);
sf_status sf_catalog_load_instance(sf_catalog *catalog, const char *dir, sf_error *err);

/* The row of this id as a definition, with its keys. `writing` is held. */
sf_status sf_catalog_load(sf_catalog *catalog, const char *id, sf_def **out, sf_error *err);
sf_status sf_catalog_load_all(sf_catalog *catalog, sf_error *err);
/* Writes def's row; statement INSERT or UPDATE. */
sf_status sf_catalog_save(sf_catalog *catalog, sf_catalog_statement statement, const sf_def *def,
                          sf_error *err);

/* Room for one more, so that publishing cannot fail after the commit. `writing` is held. */
bool sf_catalog_reserve(sf_catalog *catalog);
/* Puts def (its reference is taken) in the place of what has its id; NULL def: removes that. */
void sf_catalog_publish(sf_catalog *catalog, const char *id, const sf_def *def);
/* The newest of this id with a reference, or NULL. */
const sf_def *sf_catalog_by_id(sf_catalog *catalog, sf_str id);

#endif
