/* Definitions as rows of the database, and back. */
#include "catalog/inside.h"

enum {
    COL_ID,
    COL_ENVIRONMENT,
    COL_KIND,
    COL_NAME,
    COL_BODY,
    COL_DERIVED,
    COL_REVISION,
    COL_SCHEMA_REVISION,
    COL_RUNNING,
    COL_ERROR,
    COL_CREATED_BY,
    COL_CREATED_AT,
    COL_UPDATED_BY,
    COL_UPDATED_AT,
};

static const char *copy_text(sf_def *def, const sf_stmt *stmt, int column, bool *ok)
{
    sf_str text = sf_stmt_text(stmt, column);
    const char *copy = sf_arena_strndup(&def->arena, text.data, text.len);
    *ok = *ok && copy;
    return copy ? copy : "";
}

static sf_status read_body(sf_def *def, const sf_stmt *stmt, sf_error *err)
{
    json_t *root = NULL;
    SF_TRY(sf_json_load(sf_stmt_text(stmt, COL_BODY), "a stored definition", &root, err));
    sf_status status = sf_def_read(NULL, root, NULL, def, err);
    json_decref(root);
    if (status == SF_OK && !sf_stmt_is_null(stmt, COL_DERIVED))
        status = sf_derived_read(def, sf_stmt_text(stmt, COL_DERIVED), err);
    return status;
}

static sf_status read_row(const sf_stmt *stmt, sf_def **out, sf_error *err)
{
    int64_t kind = sf_stmt_i64(stmt, COL_KIND);
    if (kind < 0 || kind >= SF_ENTITY_KINDS)
        return sf_fail(err, SF_CORRUPT, "the catalog holds an entity of unknown kind %lld",
                       (long long)kind);
    sf_def *def = sf_def_new((sf_entity_kind)kind);
    if (!def)
        return sf_fail_memory(err);
    sf_status status = read_body(def, stmt, err);
    if (status != SF_OK && status != SF_LIMIT) {
        sf_str name = sf_stmt_text(stmt, COL_NAME);
        sf_error_context(err, "the catalog's entry of %s \"%.*s\" cannot be read",
                         sf_entity_kind_name(def->kind), SF_STR_ARG(name));
        if (err)
            err->status = SF_CORRUPT;
        status = SF_CORRUPT;
    }
    bool ok = true;
    def->id = copy_text(def, stmt, COL_ID, &ok);
    def->environment = copy_text(def, stmt, COL_ENVIRONMENT, &ok);
    def->created_by = copy_text(def, stmt, COL_CREATED_BY, &ok);
    def->updated_by = copy_text(def, stmt, COL_UPDATED_BY, &ok);
    def->error = sf_stmt_is_null(stmt, COL_ERROR) ? NULL : copy_text(def, stmt, COL_ERROR, &ok);
    def->revision = (uint64_t)sf_stmt_i64(stmt, COL_REVISION);
    def->schema_revision = (uint64_t)sf_stmt_i64(stmt, COL_SCHEMA_REVISION);
    def->running = sf_stmt_i64(stmt, COL_RUNNING) != 0;
    def->created_at_ms = sf_stmt_i64(stmt, COL_CREATED_AT);
    def->updated_at_ms = sf_stmt_i64(stmt, COL_UPDATED_AT);
    if (status == SF_OK)
        status = ok ? sf_def_write_body(def, err) : sf_fail_memory(err);
    if (status != SF_OK) {
        sf_def_unref(def);
        return status;
    }
    *out = def;
    return SF_OK;
}

static sf_status read_keys(sf_catalog *catalog, sf_source_def *source, sf_error *err)
{
    sf_stmt *stmt = catalog->statements[SF_CATALOG_KEYS];
    sf_def *def = &source->def;
    SF_VEC(sf_key_record) keys = {0};
    sf_status status;
    bool row, ok = true;
    sf_stmt_bind_text(stmt, 1, sf_str_of(def->id));
    while ((status = sf_stmt_step(stmt, &row, err)) == SF_OK && row && ok) {
        sf_key_record key = {
            .id = copy_text(def, stmt, 0, &ok),
            .label = copy_text(def, stmt, 1, &ok),
            .created_at_ms = sf_stmt_i64(stmt, 2),
            .last_used_ms = sf_stmt_i64(stmt, 3),
            .hash = copy_text(def, stmt, 4, &ok),
            .salt = copy_text(def, stmt, 5, &ok),
        };
        ok = ok && SF_VEC_PUSH(&keys, key);
    }
    sf_stmt_reset(stmt);
    if (status == SF_OK && ok && keys.len > 0) {
        source->keys = SF_ARENA_ARRAY(&def->arena, sf_key_record, keys.len);
        ok = source->keys != NULL;
        for (size_t i = 0; i < keys.len && ok; i++)
            source->keys[i] = keys.data[i];
        source->key_count = ok ? (uint32_t)keys.len : 0;
    }
    SF_VEC_DEINIT(&keys);
    return status == SF_OK && !ok ? sf_fail_memory(err) : status;
}

/* Uses of keys that are not written down yet live in the definition that is replaced. */
static void keep_last_uses(const sf_def *old, sf_source_def *source)
{
    if (!old || old->kind != SF_ENTITY_SOURCE)
        return;
    const sf_source_def *before = sf_def_source(old);
    for (uint32_t i = 0; i < source->key_count; i++)
        for (uint32_t j = 0; j < before->key_count; j++)
            if (strcmp(source->keys[i].id, before->keys[j].id) == 0)
                source->keys[i].last_used_ms = atomic_load(&before->keys[j].last_used_ms);
}

sf_status sf_catalog_load(sf_catalog *catalog, const char *id, sf_def **out, sf_error *err)
{
    sf_stmt *stmt = catalog->statements[SF_CATALOG_ONE];
    bool row;
    sf_stmt_bind_text(stmt, 1, sf_str_of(id));
    sf_status status = sf_stmt_step(stmt, &row, err);
    if (status == SF_OK && !row)
        status = sf_fail(err, SF_NOT_FOUND, "no entity has the id \"%s\"", id);
    if (status == SF_OK)
        status = read_row(stmt, out, err);
    sf_stmt_reset(stmt);
    if (status == SF_OK && (*out)->kind == SF_ENTITY_SOURCE) {
        sf_source_def *source = (sf_source_def *)*out;
        status = read_keys(catalog, source, err);
        const sf_def *old = sf_catalog_by_id(catalog, sf_str_of(id));
        keep_last_uses(old, source);
        sf_def_unref(old);
        if (status != SF_OK)
            sf_def_unref(*out);
    }
    return status;
}

sf_status sf_catalog_load_all(sf_catalog *catalog, sf_error *err)
{
    sf_stmt *stmt = catalog->statements[SF_CATALOG_ALL];
    sf_status status;
    bool row;
    while ((status = sf_stmt_step(stmt, &row, err)) == SF_OK && row) {
        sf_def *def;
        status = read_row(stmt, &def, err);
        if (status != SF_OK)
            break;
        if (def->kind == SF_ENTITY_SOURCE)
            status = read_keys(catalog, (sf_source_def *)def, err);
        if (status == SF_OK && !sf_catalog_reserve(catalog))
            status = sf_fail_memory(err);
        if (status != SF_OK) {
            sf_def_unref(def);
            break;
        }
        sf_catalog_publish(catalog, def->id, def);
    }
    sf_stmt_reset(stmt);
    return status;
}

sf_status sf_catalog_save(sf_catalog *catalog, sf_catalog_statement statement, const sf_def *def,
                          sf_error *err)
{
    sf_stmt *stmt = catalog->statements[statement];
    sf_buf derived = {0};
    if (def->kind != SF_ENTITY_SOURCE)
        sf_derived_put_json(sf_def_query(def), &derived);
    if (derived.failed) {
        sf_buf_deinit(&derived);
        return sf_fail_memory(err);
    }
    sf_stmt_bind_text(stmt, COL_ID + 1, sf_str_of(def->id));
    sf_stmt_bind_text(stmt, COL_ENVIRONMENT + 1, sf_str_of(def->environment));
    sf_stmt_bind_i64(stmt, COL_KIND + 1, def->kind);
    sf_stmt_bind_text(stmt, COL_NAME + 1, sf_str_of(def->name));
    sf_stmt_bind_text(stmt, COL_BODY + 1, sf_str_of(def->body));
    sf_stmt_bind_text(stmt, COL_DERIVED + 1, sf_buf_str(&derived));
    sf_stmt_bind_i64(stmt, COL_REVISION + 1, (int64_t)def->revision);
    sf_stmt_bind_i64(stmt, COL_SCHEMA_REVISION + 1, (int64_t)def->schema_revision);
    sf_stmt_bind_i64(stmt, COL_RUNNING + 1, def->running);
    sf_stmt_bind_text(stmt, COL_ERROR + 1, sf_str_of(def->error));
    sf_stmt_bind_text(stmt, COL_CREATED_BY + 1, sf_str_of(def->created_by));
    sf_stmt_bind_i64(stmt, COL_CREATED_AT + 1, def->created_at_ms);
    sf_stmt_bind_text(stmt, COL_UPDATED_BY + 1, sf_str_of(def->updated_by));
    sf_stmt_bind_i64(stmt, COL_UPDATED_AT + 1, def->updated_at_ms);
    sf_status status = sf_stmt_run(stmt, err);
    sf_buf_deinit(&derived);
    return status;
}
