/* catalog.h: the definitions of sources, pipelines and tables: what people declared, what the last
 * compilation found out about it, and whether it is wanted running. Descriptions, nothing running.
 *
 * Owns     catalog.db and instance.json in the data directory. What a call changed is durable when
 *          it returns SF_OK.
 * Threads  sf_catalog is shared and locks itself. An sf_def is immutable once it came out of the
 *          catalog, and may be read and unref'd anywhere; one fresh from sf_def_parse belongs to
 *          its caller.
 * Memory   sf_def is reference counted; `const sf_def **out` hands over a reference. Everything in
 *          an sf_def lives as long as it does; its strings are never NULL unless a comment says so.
 * Fails    SF_INVALID (a definition that cannot be accepted, naming the field), SF_UNSUPPORTED (a
 *          kind that is not available), SF_NOT_FOUND, SF_EXISTS (the name is taken), SF_CONFLICT
 *          (right request, wrong state; ambiguous name), SF_STALE (someone else was quicker),
 *          SF_LIMIT, and what store reports. A failed call changes nothing. */
#ifndef SF_CATALOG_CATALOG_H
#define SF_CATALOG_CATALOG_H

#include "base/seam.h"
#include "column/column.h"

/* ---- definitions ------------------------------------------------------------------------- */

enum {
    SF_NAME_BYTES_MAX = 128,
    SF_ID_BYTES = 32, /* hexadecimal digits */
    SF_SQL_BYTES_MAX = 256 * 1024,
    SF_DEFINITION_BYTES_MAX = 1024 * 1024,
    SF_FIELDS_MAX = 1000,    /* of one source */
    SF_FIELD_DEPTH_MAX = 16, /* children of children */
    SF_PARALLELISM_MAX = 16,
};

typedef enum {
    SF_ENTITY_SOURCE,
    SF_ENTITY_PIPELINE,
    SF_ENTITY_TABLE,
    SF_ENTITY_KINDS
} sf_entity_kind;
const char *sf_entity_kind_name(sf_entity_kind kind); /* "source", "pipeline", "table" */

typedef struct {
    const char *const *items;
    uint32_t count;
} sf_name_list;

typedef struct sf_field_def {
    const char *name;
    sf_type type; /* one of SQL's six */
    bool is_array;
    const struct sf_field_def *children; /* of Json only */
    uint32_t child_count;
} sf_field_def;

typedef struct {
    const sf_field_def *items;
    uint32_t count;
    const sf_field *columns; /* count of them: what rows hold (an array is a Json column) */
    const char *json;        /* the same as FieldDef[] */
} sf_field_list;

typedef struct {
    const char *key, *value;
} sf_pair;

typedef struct {
    sf_entity_kind kind; /* SOURCE or TABLE */
    const char *name;
    uint64_t schema_revision; /* 0: an edge without a claim */
} sf_pin;

/* Where a query begins to read an input. Input "*" is every input that is not named: written
 * "from": "earliest" | "latest" | {"position": n} | {"timestampMs": n}. Others come from
 * replayFrom: {"input": {"seq": n} | {"timestampMs": n}}. */
typedef enum {
    SF_START_LATEST,
    SF_START_EARLIEST,
    SF_START_POSITION,
    SF_START_TIMESTAMP,
} sf_start_kind;
typedef struct {
    const char *input;
    sf_start_kind kind;
    int64_t value; /* POSITION, TIMESTAMP */
} sf_start;

/* What all three kinds have. */
typedef struct sf_def {
    _Atomic uint32_t refs;
    sf_entity_kind kind;
    sf_arena arena; /* of everything below */

    const char *name, *description;
    sf_name_list tags;
    const sf_pair *metadata;
    uint32_t metadata_count;

    /* The server's. */
    const char *id;          /* 32 hex digits; for sources internal: names of files, never shown */
    const char *environment; /* "" is the default one */
    uint64_t revision, schema_revision;
    const char *created_by, *updated_by;
    int64_t created_at_ms, updated_at_ms;
    bool running;      /* pipelines and tables: wanted running, now and after a restart */
    const char *error; /* why it does not run or compile; NULL: no error */
    char *body;        /* canonical JSON of the declared part, secrets included */
} sf_def;

typedef enum {
    SF_ON_MISFIT_NULL,
    SF_ON_MISFIT_DROP_ROW,
    SF_ON_MISFIT_REJECT_BATCH
} sf_misfit_policy;

typedef struct {
    const char *id, *label;
    int64_t created_at_ms;
    _Atomic int64_t last_used_ms; /* 0: never */
    const char *hash, *salt;      /* as access made them */
} sf_key_record;

typedef struct {
    sf_def def; /* first: one may be cast to the other */
    sf_field_list fields;
    const char *source_kind; /* "generator", "file", "ingest" */
    const char *generator_profile;
    double events_per_second;
    bool enabled;
    sf_misfit_policy on_misfit;
    /* JSON objects whose members belong to the kind; NULL: none. */
    const char *connector, *ingest, *scenario;
    /* The event-time lateness of the source. Declared: rows that come later are refused for every
     * reader, so that state over it may expire. */
    int64_t lateness_ms;
    bool lateness_declared;
    int64_t idle_ms; /* 0: never idle */
    bool journal;    /* rows are on disk before they are acknowledged */
    int64_t journal_retain_bytes, journal_retain_ms; /* 0: unbounded */
    sf_key_record *keys;                             /* ingest; oldest first */
    uint32_t key_count;
} sf_source_def;

/* What a compilation found out, in the order of the plan's inputs. Kept from the last good one. */
typedef struct {
    sf_field_list output;
    sf_name_list stream_inputs; /* sources */
    sf_name_list table_inputs;
    sf_name_list pipeline_inputs; /* pipelines, by name */
    sf_name_list key_fields;
    bool has_key; /* false: a row is its own key (keyFields null); true without names: one row */
} sf_derived;

typedef struct {
    const char *sql;
    const char *sinks; /* SinkSpec[] as JSON, secrets included */
    uint32_t sink_count;
    const sf_pin *depends_on;
    uint32_t pin_count;
    const sf_start *starts; /* empty: where its inputs are now */
    uint32_t start_count;
    sf_derived derived;
    bool compiled; /* derived belongs to this sql */
} sf_query_part;

typedef struct {
    sf_def def;
    sf_query_part query;
} sf_pipeline_def;

typedef enum { SF_SEARCH_EXACT, SF_SEARCH_FUZZY } sf_search_mode;
typedef enum {
    SF_HISTORY_ALL,
    SF_HISTORY_LAST_N,
    SF_HISTORY_FIRST_N,
    SF_HISTORY_MIN_BY,
    SF_HISTORY_MAX_BY,
} sf_history_mode;
typedef enum {
    SF_PERSIST_BATCHED,
    SF_PERSIST_FIRE_AND_FORGET,
    SF_PERSIST_MEMORY_ONLY,
    SF_PERSIST_JOURNALED,
} sf_persistence;

typedef struct {
    sf_def def;
    sf_query_part query;
    bool search_enabled;
    sf_search_mode search_mode;
    bool history_enabled;
    sf_history_mode history_mode;
    int64_t history_limit;
    const char *history_by_field; /* NULL: none */
    int64_t history_window_ms;
    int64_t parallelism;
    sf_persistence persistence;
    int64_t flush_ms, journal_max_entries;        /* 0: the default, 2000 and 200 */
    int64_t retention_max_rows, retention_ttl_ms; /* 0: unbounded */
    sf_name_list shard_by;
} sf_table_def;

static inline const sf_source_def *sf_def_source(const sf_def *def)
{
    SF_ASSERT(def->kind == SF_ENTITY_SOURCE);
    return (const sf_source_def *)def;
}
static inline const sf_table_def *sf_def_table(const sf_def *def)
{
    SF_ASSERT(def->kind == SF_ENTITY_TABLE);
    return (const sf_table_def *)def;
}
const sf_query_part *sf_def_query(const sf_def *def); /* pipelines and tables */

const sf_def *sf_def_ref(const sf_def *def);
void sf_def_unref(const sf_def *def); /* NULL is allowed */

/* ---- the catalog ------------------------------------------------------------------------- */

typedef struct sf_catalog sf_catalog;

/* What the rest of the server can do: kinds that are refused name those that work. */
typedef struct {
    const char *const *source_kinds; /* ended by NULL; NULL: generator, file, ingest */
    const char *const *sink_kinds;   /* ended by NULL; NULL: none */
    /* The members of connector, ingest and scenario, the profile; called by sf_def_parse for what
     * is new. NULL: everything is accepted. */
    sf_status (*check_source)(void *self, const sf_source_def *source, sf_error *err);
    void *self;
} sf_catalog_rules;

typedef struct {
    sf_disk disk;
    sf_clock clock;
    sf_random random;
    const sf_log *log;      /* may be NULL */
    const char *dir;        /* the data directory, locked by the caller */
    sf_catalog_rules rules; /* pointers are kept */
} sf_catalog_options;

SF_MUST_USE sf_status sf_catalog_open(const sf_catalog_options *options, sf_catalog **out,
                                      sf_error *err);
void sf_catalog_close(sf_catalog *catalog); /* NULL is allowed */
/* Writes down when keys were last used; call it now and then. Closing does it too. */
SF_MUST_USE sf_status sf_catalog_flush(sf_catalog *catalog, sf_error *err);

/* Who this instance is, for ever: 32 hex digits, kept in instance.json. */
const char *sf_catalog_instance_id(const sf_catalog *catalog);
/* 32 fresh hex digits and a terminator. */
void sf_catalog_new_id(sf_catalog *catalog, char id[SF_ID_BYTES + 1]);

/* Small facts of the server itself: "seeded", the generator's world. SF_NOT_FOUND. */
SF_MUST_USE sf_status sf_catalog_get_fact(sf_catalog *catalog, const char *key, sf_buf *out,
                                          sf_error *err);
SF_MUST_USE sf_status sf_catalog_put_fact(sf_catalog *catalog, const char *key, sf_str value,
                                          sf_error *err);

/* ---- from JSON, to JSON ------------------------------------------------------------------ */

/* Reads a definition as the contract spells it. Server-owned members are passed over, unknown ones
 * refused by name. stored (NULL: a new entity) gives what a replacement leaves out: the name,
 * secrets sent back as "***", and of pipelines and tables absent or null tags, metadata, sinks and
 * shardBy. The result has no derived part: sf_def_set_derived, when its SQL compiles. */
SF_MUST_USE sf_status sf_def_parse(const sf_catalog *catalog, sf_entity_kind kind,
                                   const char *environment, sf_str json, const sf_def *stored,
                                   sf_def **out, sf_error *err);
/* Copies. Of a def that is not in the catalog yet. Without it an update keeps the stored one's. */
SF_MUST_USE sf_status sf_def_set_derived(sf_def *def, const sf_derived *derived, sf_error *err);
/* Error text of a compilation; NULL: none. Of a def that is not in the catalog yet. */
SF_MUST_USE sf_status sf_def_set_error(sf_def *def, const char *text, sf_error *err);
/* A FieldDef[]: count fields, in the arena. columns and json are filled too. */
SF_MUST_USE sf_status sf_fields_from_columns(sf_arena *arena, const sf_field *columns,
                                             uint32_t count, sf_field_list *out, sf_error *err);

/* Appends the entity as the contract spells it, secrets masked. A pipeline's or table's status is
 * Stopped, Running, or Failed when it is wanted running and has an error. */
void sf_catalog_put_json(sf_catalog *catalog, const sf_def *def, sf_buf *out);

/* ---- changing ---------------------------------------------------------------------------- */

/* def is taken, also on failure. actor: who asked. Assigns id, revisions (1), times. */
SF_MUST_USE sf_status sf_catalog_create(sf_catalog *catalog, sf_def *def, const char *actor,
                                        const sf_def **out, sf_error *err);
/* def came from sf_def_parse with the stored entity; SF_STALE when that is no longer the newest, or
 * when expected_revision (0: any) is not its revision. A renamed table is SF_CONFLICT unless it is
 * stopped, unsharded and read by no other table. */
SF_MUST_USE sf_status sf_catalog_update(sf_catalog *catalog, sf_def *def,
                                        uint64_t expected_revision, const char *actor,
                                        const sf_def **out, sf_error *err);
/* expected_revision 0: any. Also deletes its keys. */
SF_MUST_USE sf_status sf_catalog_delete(sf_catalog *catalog, const sf_def *def,
                                        uint64_t expected_revision, sf_error *err);
/* Wanted running or not, and the error it stands with (NULL: none). Not a revision. */
SF_MUST_USE sf_status sf_catalog_set_state(sf_catalog *catalog, const char *id, bool running,
                                           const char *error, const sf_def **out, sf_error *err);
/* A new compilation of the same definition, because an input changed: raises schemaRevision when
 * the output's shape did. */
SF_MUST_USE sf_status sf_catalog_set_derived(sf_catalog *catalog, const char *id,
                                             const sf_derived *derived, const sf_def **out,
                                             sf_error *err);

/* How the shape of a source (or of an output) changes, one sentence a removed field or changed
 * type: "field 'qty' changed type: Double -> String". Additions do not break. Appends a JSON array;
 * returns how many. */
uint32_t sf_fields_breaking(const sf_field_list *before, const sf_field_list *after, sf_buf *out);

/* ---- looking up -------------------------------------------------------------------------- */

/* By id, else by exact name. SF_NOT_FOUND, or SF_CONFLICT naming the ids when several have it.
 * Sources have names only. */
SF_MUST_USE sf_status sf_catalog_find(sf_catalog *catalog, sf_entity_kind kind,
                                      const char *environment, sf_str key, const sf_def **out,
                                      sf_error *err);
/* Writes address pipelines and tables by id, sources by name. */
SF_MUST_USE sf_status sf_catalog_find_exact(sf_catalog *catalog, sf_entity_kind kind,
                                            const char *environment, sf_str key, const sf_def **out,
                                            sf_error *err);
/* The one of any kind that has this name: what FROM means. */
SF_MUST_USE sf_status sf_catalog_find_name(sf_catalog *catalog, const char *environment,
                                           sf_str name, const sf_def **out, sf_error *err);

typedef struct {
    const sf_def **items; /* sorted by name */
    uint32_t count;
} sf_def_list;
SF_MUST_USE sf_status sf_catalog_list(sf_catalog *catalog, sf_entity_kind kind,
                                      const char *environment, sf_def_list *out, sf_error *err);
/* Pipelines and tables that read this name, by their last good compilation. */
SF_MUST_USE sf_status sf_catalog_readers(sf_catalog *catalog, const char *environment, sf_str name,
                                         sf_def_list *out, sf_error *err);
void sf_def_list_free(sf_def_list *list);

/* Why a pin of def no longer holds, one sentence; false: all hold. */
bool sf_catalog_stale_reason(sf_catalog *catalog, const sf_def *def, sf_buf *out);

/* ---- keys of ingest sources -------------------------------------------------------------- */

/* access makes and checks the secrets; the catalog keeps what is left of them. SF_CONFLICT when the
 * source is not an ingest source. */
SF_MUST_USE sf_status sf_catalog_add_key(sf_catalog *catalog, const char *source_id,
                                         const sf_key_record *key, sf_error *err);
SF_MUST_USE sf_status sf_catalog_remove_key(sf_catalog *catalog, const char *source_id,
                                            sf_str key_id, sf_error *err);

#endif
