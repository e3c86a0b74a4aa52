/* def.h: the insides of definitions: making, reading and writing them. */
#ifndef SF_CATALOG_DEF_H
#define SF_CATALOG_DEF_H

#include "catalog/catalog.h"
#include "catalog/reader.h"

extern const char *const sf_misfit_names[];
extern const char *const sf_search_mode_names[];
extern const char *const sf_history_mode_names[];
extern const char *const sf_persistence_names[];

/* An empty definition with one reference. */
sf_def *sf_def_new(sf_entity_kind kind);
sf_query_part *sf_def_query_part(sf_def *def); /* of a pipeline or table */

/* Non-empty, at most SF_NAME_BYTES_MAX bytes, no dot, no control characters, valid UTF-8. */
sf_status sf_name_check(const char *what, sf_str name, sf_error *err);

/* Reads the declared part into def. rules NULL: it was accepted once, its kinds are not checked. */
sf_status sf_def_read(const sf_catalog_rules *rules, const json_t *json, const sf_def *stored,
                      sf_def *def, sf_error *err);
/* Fills def->body. */
sf_status sf_def_write_body(sf_def *def, sf_error *err);
/* The members every form has: the declared part between braces that the caller writes. */
void sf_def_put_declared(const sf_def *def, bool mask, sf_buf *out);

/* A FieldDef[]. declared: by somebody, so reserved and repeated names are refused. */
sf_field_list sf_fields_read(sf_json_in *in, const char *key, bool declared);
bool sf_fields_same(const sf_field_list *a, const sf_field_list *b);

void sf_derived_put_json(const sf_query_part *query, sf_buf *out);
sf_status sf_derived_read(sf_def *def, sf_str json, sf_error *err);

void sf_names_put_json(const sf_name_list *names, sf_buf *out);

/* Secrets are recognised by the names of their members, wherever they stand in a block. */
bool sf_secret_is_in(const char *json);
/* Appends the block with its secrets replaced by "***". */
void sf_secret_put_masked(const char *json, sf_buf *out);
/* Puts what is stored in the place of every "***". stored may be NULL. */
void sf_secret_restore(sf_json_in *in, json_t *block, const char *stored);

/* The rules of tables that need a whole definition: SF_CONFLICT. */
sf_status sf_table_check(const sf_table_def *table, sf_error *err);

#endif
