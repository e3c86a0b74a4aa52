/* access.h: who somebody is, and what they may do.
 *
 * Owns     access.db in the data directory: users and the key that signs tokens.
 * Threads  sf_access is shared and locks itself. sf_access_login and the calls that set a password
 *          compute for a long time on purpose: call them where blocking is allowed.
 * Memory   out-parameters are the caller's.
 * Fails    SF_UNAUTHENTICATED (never says whether the name or the password was wrong),
 *          SF_OVERLOADED (too many failed logins, the hint says how long to wait), SF_FORBIDDEN
 *          (names action and scope), SF_INVALID, SF_EXISTS, SF_NOT_FOUND, SF_CONFLICT. */
#ifndef SF_ACCESS_ACCESS_H
#define SF_ACCESS_ACCESS_H

#include "catalog/catalog.h"

typedef struct sf_access sf_access;

typedef enum { SF_ROLE_VIEWER, SF_ROLE_EDITOR, SF_ROLE_ADMIN, SF_ROLE_COUNT } sf_role;
const char *sf_role_name(sf_role role); /* "Viewer", "Editor", "Admin" */
bool sf_role_from_name(sf_str name, sf_role *out);

typedef struct {
    sf_disk disk;
    sf_clock clock;
    sf_random random;
    const sf_log *log;        /* may be NULL */
    const char *dir;          /* the data directory, locked by the caller */
    uint32_t hash_iterations; /* PBKDF2 rounds of new passwords; 0 = 600,000. Older ones are raised
                                 at the next login */
    int64_t token_life_ms;    /* 0 = 12 hours */
    const char *jwt_key;      /* NULL: a random one, made once and kept */
    const char *jwt_issuer, *jwt_audience; /* NULL = "streamsforge" */
} sf_access_options;

/* An empty directory gets the three users admin, editor and viewer. */
SF_MUST_USE sf_status sf_access_open(const sf_access_options *options, sf_access **out,
                                     sf_error *err);
void sf_access_close(sf_access *access); /* NULL is allowed */

/* ---- who --------------------------------------------------------------------------------- */

typedef struct {
    char username[SF_NAME_BYTES_MAX + 1];
    char display_name[SF_NAME_BYTES_MAX + 1];
    sf_role role;
    int64_t expires_at_ms; /* of the token; 0: never */
} sf_principal;

/* Appends the token. */
SF_MUST_USE sf_status sf_access_login(sf_access *access, sf_str username, sf_str password,
                                      sf_buf *token, sf_principal *out, sf_error *err);
/* Fast. Role and display name are the user's of now, not the token's; one whose user is gone or
 * whose password changed since is refused. */
SF_MUST_USE sf_status sf_access_verify(sf_access *access, sf_str token, sf_principal *out,
                                       sf_error *err);

/* ---- may they ---------------------------------------------------------------------------- */

/* What the action is done to. name NULL: everything ("*"). */
typedef struct {
    const char *name; /* the entity's name, never its id */
    sf_name_list tags;
} sf_scope;
static inline sf_scope sf_scope_of(const sf_def *def)
{
    return (sf_scope){.name = def->name, .tags = def->tags};
}

typedef enum { SF_EFFECT_ALLOW, SF_EFFECT_DENY } sf_effect;
typedef struct {
    const char *action; /* with * globs: "pipeline.*" */
    const char *scope;  /* "*", a name, a prefix glob "prod-*", or "tag:..." */
    sf_effect effect;
} sf_grant;

/* The one place that decides. SF_OK or SF_FORBIDDEN. A matching Deny beats every Allow. */
SF_MUST_USE sf_status sf_access_allows(sf_access *access, const sf_principal *principal,
                                       const char *action, const sf_scope *scope, sf_error *err);
/* The coarse floor of a route. */
SF_MUST_USE sf_status sf_access_floor(const sf_principal *principal, sf_role floor, sf_error *err);
/* Everything that was granted, flattened. Constant. */
const sf_grant *sf_access_grants(const sf_access *access, const sf_principal *principal,
                                 uint32_t *count);
/* Goes up whenever an answer of sf_access_allows may have changed. */
uint64_t sf_access_policy_version(const sf_access *access);

/* ---- users ------------------------------------------------------------------------------- */

typedef struct {
    char username[SF_NAME_BYTES_MAX + 1];
    char display_name[SF_NAME_BYTES_MAX + 1];
    sf_role role;
    int64_t created_at_ms;
} sf_user;

typedef struct {
    sf_user *items; /* sorted by name */
    uint32_t count;
} sf_user_list;
SF_MUST_USE sf_status sf_access_users(sf_access *access, sf_user_list *out, sf_error *err);
void sf_user_list_free(sf_user_list *list);
SF_MUST_USE sf_status sf_access_find_user(sf_access *access, sf_str username, sf_user *out,
                                          sf_error *err);

typedef struct {
    sf_str username;
    sf_str display_name; /* data NULL: unchanged; of a new user: the username */
    sf_str password;     /* data NULL: unchanged */
    bool has_role;
    sf_role role;
} sf_user_change;
SF_MUST_USE sf_status sf_access_create_user(sf_access *access, const sf_user_change *user,
                                            sf_user *out, sf_error *err);
/* The last Admin stays one. */
SF_MUST_USE sf_status sf_access_update_user(sf_access *access, const sf_user_change *change,
                                            sf_user *out, sf_error *err);
/* Nobody deletes themselves, nor the last Admin. */
SF_MUST_USE sf_status sf_access_delete_user(sf_access *access, sf_str username,
                                            const sf_principal *actor, sf_error *err);

/* ---- keys of ingest sources -------------------------------------------------------------- */

enum { SF_KEY_SECRET_BYTES = 4 + 64 }; /* sfk_ and hexadecimal digits */

/* The secret is shown once: only its hash is kept. */
SF_MUST_USE sf_status sf_access_make_key(sf_access *access, sf_catalog *catalog,
                                         const sf_def *source, sf_str label,
                                         char secret[SF_KEY_SECRET_BYTES + 1],
                                         char key_id[SF_ID_BYTES + 1], int64_t *created_at_ms,
                                         sf_error *err);
/* The source's key that this secret belongs to, and notes its use. SF_UNAUTHENTICATED. */
SF_MUST_USE sf_status sf_access_check_key(sf_access *access, const sf_source_def *source,
                                          sf_str secret, const sf_key_record **out, sf_error *err);

#endif
