/* Changing the catalog: first the database, then what readers see. */
#include "catalog/inside.h"

enum { KEYS_MAX = 100, ACTOR_BYTES_MAX = SF_NAME_BYTES_MAX };

static bool same_shape(const sf_def *a, const sf_def *b)
{
    if (a->kind == SF_ENTITY_SOURCE)
        return sf_fields_same(&sf_def_source(a)->fields, &sf_def_source(b)->fields);
    return sf_fields_same(&sf_def_query(a)->derived.output, &sf_def_query(b)->derived.output);
}

/* The name is free, but for def itself. `writing` is held. */
static sf_status check_name_free(sf_catalog *catalog, const sf_def *def, sf_error *err)
{
    const sf_def *holder = NULL;
    sf_status found =
        sf_catalog_find_name(catalog, def->environment, sf_str_of(def->name), &holder, NULL);
    bool taken = found != SF_NOT_FOUND && !(holder && strcmp(holder->id, def->id) == 0);
    sf_entity_kind kind = holder ? holder->kind : def->kind;
    sf_def_unref(holder);
    if (!taken)
        return SF_OK;
    sf_fail(err, SF_EXISTS, "the name \"%s\" is already used by another %s", def->name,
            sf_entity_kind_name(kind));
    sf_error_hint(err, "sources, pipelines and tables share one set of names");
    return SF_EXISTS;
}

static sf_status stamp(sf_catalog *catalog, sf_def *def, const char *actor, sf_error *err)
{
    size_t len = strlen(actor);
    len = len < ACTOR_BYTES_MAX ? len : ACTOR_BYTES_MAX;
    def->updated_at_ms = sf_clock_wall_ms(&catalog->clock);
    def->updated_by = sf_arena_strndup(&def->arena, actor, len);
    return def->updated_by ? SF_OK : sf_fail_memory(err);
}

/* Everything but the write: checks, id, times, revisions. */
static sf_status prepare_new(sf_catalog *catalog, sf_def *def, const char *actor, sf_error *err)
{
    char id[SF_ID_BYTES + 1];
    sf_catalog_random_id(&catalog->random, id);
    def->id = sf_arena_strndup(&def->arena, id, SF_ID_BYTES);
    if (!def->id || !sf_catalog_reserve(catalog))
        return sf_fail_memory(err);
    SF_TRY(stamp(catalog, def, actor, err));
    def->created_by = def->updated_by;
    def->created_at_ms = def->updated_at_ms;
    def->revision = def->schema_revision = 1;
    def->running = false;
    if (def->kind == SF_ENTITY_TABLE)
        SF_TRY(sf_table_check(sf_def_table(def), err));
    SF_TRY(sf_def_write_body(def, err));
    return check_name_free(catalog, def, err);
}

/* Shows def to readers; out gets a reference too. */
static void publish(sf_catalog *catalog, const sf_def *def, const sf_def **out)
{
    if (out)
        *out = sf_def_ref(def);
    sf_catalog_publish(catalog, def->id, def);
}

sf_status sf_catalog_create(sf_catalog *catalog, sf_def *def, const char *actor, const sf_def **out,
                            sf_error *err)
{
    pthread_mutex_lock(&catalog->writing);
    sf_status status = prepare_new(catalog, def, actor, err);
    if (status == SF_OK)
        status = sf_catalog_save(catalog, SF_CATALOG_INSERT, def, err);
    if (status == SF_OK)
        publish(catalog, def, out);
    else
        sf_def_unref(def);
    pthread_mutex_unlock(&catalog->writing);
    return status;
}

/* ---- update ---- */

static sf_status check_rename(sf_catalog *catalog, const sf_def *current, const sf_def *def,
                              sf_error *err)
{
    if (strcmp(current->name, def->name) == 0)
        return SF_OK;
    SF_TRY(check_name_free(catalog, def, err));
    if (def->kind != SF_ENTITY_TABLE)
        return SF_OK;
    const char *why = NULL;
    sf_def_list readers = {0};
    SF_TRY(
        sf_catalog_readers(catalog, current->environment, sf_str_of(current->name), &readers, err));
    if (readers.count > 0)
        why = "other queries read it";
    sf_def_list_free(&readers);
    if (sf_def_table(current)->shard_by.count > 0 || sf_def_table(def)->shard_by.count > 0)
        why = "it is sharded";
    if (current->running)
        why = "it is running";
    if (!why)
        return SF_OK;
    sf_fail(err, SF_CONFLICT, "table \"%s\" cannot be renamed: %s", current->name, why);
    sf_error_hint(err, "only a stopped, unsharded table that nothing reads can be renamed");
    return SF_CONFLICT;
}

static sf_status check_revision(const sf_def *current, const char *name, uint64_t expected,
                                sf_error *err)
{
    if (current && (expected == 0 || expected == current->revision))
        return SF_OK;
    if (!current)
        return sf_fail(err, SF_NOT_FOUND, "\"%s\" does not exist any more", name);
    sf_fail(err, SF_STALE, "%s \"%s\" has changed: it is at revision %llu, not %llu",
            sf_entity_kind_name(current->kind), name, (unsigned long long)current->revision,
            (unsigned long long)expected);
    sf_error_hint(err, "read it again, then repeat the change");
    return SF_STALE;
}

/* Everything but the write. current is what def replaces. */
static sf_status prepare_update(sf_catalog *catalog, const sf_def *current, sf_def *def,
                                uint64_t expected, const char *actor, sf_error *err)
{
    SF_TRY(check_revision(current, def->name, def->revision, err));
    SF_TRY(check_revision(current, def->name, expected, err));
    SF_ASSERT(current->kind == def->kind);
    SF_TRY(check_rename(catalog, current, def, err));
    if (def->kind != SF_ENTITY_SOURCE && !sf_def_query(def)->compiled) {
        const sf_query_part *old = sf_def_query(current);
        SF_TRY(sf_def_set_derived(def, &old->derived, err));
        sf_def_query_part(def)->compiled = false;
    }
    if (def->kind == SF_ENTITY_TABLE)
        SF_TRY(sf_table_check(sf_def_table(def), err));
    const char *creator = current->created_by;
    def->created_by = sf_arena_strndup(&def->arena, creator, strlen(creator));
    if (!def->created_by)
        return sf_fail_memory(err);
    def->created_at_ms = current->created_at_ms;
    def->running = current->running;
    SF_TRY(stamp(catalog, def, actor, err));
    SF_TRY(sf_def_write_body(def, err));
    def->revision = current->revision + (strcmp(def->body, current->body) != 0);
    def->schema_revision = current->schema_revision + !same_shape(def, current);
    return SF_OK;
}

sf_status sf_catalog_update(sf_catalog *catalog, sf_def *def, uint64_t expected_revision,
                            const char *actor, const sf_def **out, sf_error *err)
{
    sf_def *fresh = NULL;
    pthread_mutex_lock(&catalog->writing);
    const sf_def *current = sf_catalog_by_id(catalog, sf_str_of(def->id));
    sf_status status = prepare_update(catalog, current, def, expected_revision, actor, err);
    if (status == SF_OK)
        status = sf_db_begin(catalog->db, err);
    if (status == SF_OK) {
        status = sf_catalog_save(catalog, SF_CATALOG_UPDATE, def, err);
        if (status == SF_OK) /* read back: with the keys, in the form every reader sees */
            status = sf_catalog_load(catalog, def->id, &fresh, err);
        if (status == SF_OK)
            status = sf_db_commit(catalog->db, err);
        else
            sf_db_rollback(catalog->db);
    }
    if (status == SF_OK)
        publish(catalog, fresh, out);
    else
        sf_def_unref(fresh);
    pthread_mutex_unlock(&catalog->writing);
    sf_def_unref(current);
    sf_def_unref(def);
    return status;
}

sf_status sf_catalog_delete(sf_catalog *catalog, const sf_def *def, uint64_t expected_revision,
                            sf_error *err)
{
    pthread_mutex_lock(&catalog->writing);
    const sf_def *current = sf_catalog_by_id(catalog, sf_str_of(def->id));
    sf_status status = check_revision(current, def->name, expected_revision, err);
    if (status == SF_OK) {
        sf_stmt *stmt = catalog->statements[SF_CATALOG_DELETE];
        sf_stmt_bind_text(stmt, 1, sf_str_of(current->id));
        status = sf_stmt_run(stmt, err);
    }
    if (status == SF_OK)
        sf_catalog_publish(catalog, current->id, NULL);
    pthread_mutex_unlock(&catalog->writing);
    sf_def_unref(current);
    return status;
}

/* ---- parts of one entity ---- */

/* Runs a bound statement about the entity id, then shows what the row says now. `writing` is held. */
static sf_status change_row(sf_catalog *catalog, sf_catalog_statement statement, const char *id,
                            const sf_def **out, sf_error *err)
{
    sf_def *fresh = NULL;
    sf_stmt *stmt = catalog->statements[statement];
    sf_status status = sf_db_begin(catalog->db, err);
    if (status != SF_OK) {
        sf_stmt_reset(stmt);
        return status;
    }
    status = sf_stmt_run(stmt, err);
    if (status == SF_OK)
        status = sf_catalog_load(catalog, id, &fresh, err);
    if (status == SF_OK)
        status = sf_db_commit(catalog->db, err);
    else
        sf_db_rollback(catalog->db);
    if (status != SF_OK) {
        sf_def_unref(fresh);
        return status;
    }
    publish(catalog, fresh, out);
    return SF_OK;
}

sf_status sf_catalog_set_state(sf_catalog *catalog, const char *id, bool running, const char *error,
                               const sf_def **out, sf_error *err)
{
    pthread_mutex_lock(&catalog->writing);
    sf_stmt *stmt = catalog->statements[SF_CATALOG_SET_STATE];
    sf_stmt_bind_text(stmt, 1, sf_str_of(id));
    sf_stmt_bind_i64(stmt, 2, running);
    sf_stmt_bind_text(stmt, 3, sf_str_of(error));
    sf_status status = change_row(catalog, SF_CATALOG_SET_STATE, id, out, err);
    pthread_mutex_unlock(&catalog->writing);
    return status;
}

static sf_status bind_derived(sf_catalog *catalog, const char *id, const sf_derived *derived,
                              sf_buf *json, sf_error *err)
{
    sf_def *now = NULL;
    SF_TRY(sf_catalog_load(catalog, id, &now, err));
    const sf_derived *old = &sf_def_query(now)->derived;
    /* Copied once to bring it into the stored form, names checked. */
    sf_def *copy = sf_def_new(now->kind);
    sf_status status = copy ? sf_def_set_derived(copy, derived, err) : sf_fail_memory(err);
    if (status == SF_OK) {
        const sf_derived *new = &sf_def_query(copy)->derived;
        sf_stmt *stmt = catalog->statements[SF_CATALOG_SET_DERIVED];
        sf_derived_put_json(sf_def_query(copy), json);
        if (json->failed)
            status = sf_fail_memory(err);
        uint64_t revision = now->schema_revision + !sf_fields_same(&old->output, &new->output);
        sf_stmt_bind_text(stmt, 1, sf_str_of(id));
        sf_stmt_bind_text(stmt, 2, sf_buf_str(json));
        sf_stmt_bind_i64(stmt, 3, (int64_t)revision);
    }
    sf_def_unref(copy);
    sf_def_unref(now);
    return status;
}

sf_status sf_catalog_set_derived(sf_catalog *catalog, const char *id, const sf_derived *derived,
                                 const sf_def **out, sf_error *err)
{
    sf_buf json = {0};
    pthread_mutex_lock(&catalog->writing);
    sf_status status = bind_derived(catalog, id, derived, &json, err);
    if (status == SF_OK)
        status = change_row(catalog, SF_CATALOG_SET_DERIVED, id, out, err);
    pthread_mutex_unlock(&catalog->writing);
    sf_buf_deinit(&json);
    return status;
}

/* ---- keys ---- */

static sf_status check_keys(sf_catalog *catalog, const char *source_id, sf_error *err)
{
    const sf_def *def = sf_catalog_by_id(catalog, sf_str_of(source_id));
    sf_status status = SF_OK;
    if (!def)
        return sf_fail(err, SF_NOT_FOUND, "the source does not exist any more");
    if (def->kind != SF_ENTITY_SOURCE || !sf_def_source(def)->ingest)
        status = sf_fail(err, SF_CONFLICT, "%s \"%s\" takes no keys: it is not an ingest source",
                         sf_entity_kind_name(def->kind), def->name);
    else if (sf_def_source(def)->key_count >= KEYS_MAX)
        status = sf_fail(err, SF_LIMIT, "source \"%s\" has %d keys, and may not have more",
                         def->name, KEYS_MAX);
    sf_def_unref(def);
    return status;
}

sf_status sf_catalog_add_key(sf_catalog *catalog, const char *source_id, const sf_key_record *key,
                             sf_error *err)
{
    pthread_mutex_lock(&catalog->writing);
    sf_status status = check_keys(catalog, source_id, err);
    if (status == SF_OK) {
        sf_stmt *stmt = catalog->statements[SF_CATALOG_ADD_KEY];
        sf_stmt_bind_text(stmt, 1, sf_str_of(source_id));
        sf_stmt_bind_text(stmt, 2, sf_str_of(key->id));
        sf_stmt_bind_text(stmt, 3, sf_str_of(key->label));
        sf_stmt_bind_i64(stmt, 4, key->created_at_ms);
        sf_stmt_bind_i64(stmt, 5, atomic_load(&((sf_key_record *)key)->last_used_ms));
        sf_stmt_bind_text(stmt, 6, sf_str_of(key->hash));
        sf_stmt_bind_text(stmt, 7, sf_str_of(key->salt));
        status = change_row(catalog, SF_CATALOG_ADD_KEY, source_id, NULL, err);
    }
    pthread_mutex_unlock(&catalog->writing);
    return status;
}

static bool has_key(sf_catalog *catalog, const char *source_id, sf_str key_id)
{
    const sf_def *def = sf_catalog_by_id(catalog, sf_str_of(source_id));
    bool found = false;
    if (def && def->kind == SF_ENTITY_SOURCE)
        for (uint32_t i = 0; i < sf_def_source(def)->key_count; i++)
            found = found || sf_str_eq(sf_str_of(sf_def_source(def)->keys[i].id), key_id);
    sf_def_unref(def);
    return found;
}

sf_status sf_catalog_remove_key(sf_catalog *catalog, const char *source_id, sf_str key_id,
                                sf_error *err)
{
    sf_status status;
    pthread_mutex_lock(&catalog->writing);
    if (has_key(catalog, source_id, key_id)) {
        sf_stmt *stmt = catalog->statements[SF_CATALOG_REMOVE_KEY];
        sf_stmt_bind_text(stmt, 1, sf_str_of(source_id));
        sf_stmt_bind_text(stmt, 2, key_id);
        status = change_row(catalog, SF_CATALOG_REMOVE_KEY, source_id, NULL, err);
    } else {
        status = sf_fail(err, SF_NOT_FOUND, "the source has no key with this id");
    }
    pthread_mutex_unlock(&catalog->writing);
    return status;
}

static sf_status flush_source(sf_catalog *catalog, const sf_source_def *source, sf_error *err)
{
    sf_stmt *stmt = catalog->statements[SF_CATALOG_USE_KEY];
    for (uint32_t i = 0; i < source->key_count; i++) {
        int64_t used_ms = atomic_load(&source->keys[i].last_used_ms);
        if (used_ms < catalog->flushed_ms || used_ms == 0)
            continue;
        sf_stmt_bind_text(stmt, 1, sf_str_of(source->def.id));
        sf_stmt_bind_text(stmt, 2, sf_str_of(source->keys[i].id));
        sf_stmt_bind_i64(stmt, 3, used_ms);
        SF_TRY(sf_stmt_run(stmt, err));
    }
    return SF_OK;
}

sf_status sf_catalog_flush(sf_catalog *catalog, sf_error *err)
{
    pthread_mutex_lock(&catalog->writing);
    int64_t now_ms = sf_clock_wall_ms(&catalog->clock);
    sf_status status = sf_db_begin(catalog->db, err);
    /* Only changes, which `writing` keeps away, touch the index. */
    for (size_t i = 0; i < catalog->by_id.len && status == SF_OK; i++)
        if (catalog->by_id.data[i]->kind == SF_ENTITY_SOURCE)
            status = flush_source(catalog, sf_def_source(catalog->by_id.data[i]), err);
    if (status == SF_OK)
        status = sf_db_commit(catalog->db, err);
    else
        sf_db_rollback(catalog->db);
    if (status == SF_OK)
        catalog->flushed_ms = now_ms;
    pthread_mutex_unlock(&catalog->writing);
    return status;
}

/* ---- facts ---- */

sf_status sf_catalog_get_fact(sf_catalog *catalog, const char *key, sf_buf *out, sf_error *err)
{
    pthread_mutex_lock(&catalog->writing);
    sf_stmt *stmt = catalog->statements[SF_CATALOG_GET_FACT];
    bool row;
    sf_stmt_bind_text(stmt, 1, sf_str_of(key));
    sf_status status = sf_stmt_step(stmt, &row, err);
    if (status == SF_OK && !row)
        status = sf_fail(err, SF_NOT_FOUND, "the catalog holds no fact \"%s\"", key);
    if (status == SF_OK) {
        sf_str value = sf_stmt_text(stmt, 0);
        sf_buf_put(out, value.data, value.len);
        if (out->failed)
            status = sf_fail_memory(err);
    }
    sf_stmt_reset(stmt);
    pthread_mutex_unlock(&catalog->writing);
    return status;
}

sf_status sf_catalog_put_fact(sf_catalog *catalog, const char *key, sf_str value, sf_error *err)
{
    pthread_mutex_lock(&catalog->writing);
    sf_stmt *stmt = catalog->statements[SF_CATALOG_PUT_FACT];
    sf_stmt_bind_text(stmt, 1, sf_str_of(key));
    sf_stmt_bind_blob(stmt, 2, value.data, value.len);
    sf_status status = sf_stmt_run(stmt, err);
    pthread_mutex_unlock(&catalog->writing);
    return status;
}
