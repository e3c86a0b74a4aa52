/* Opening access, signing in, and recognising who signed in. */
#include "access/inside.h"

#include <openssl/crypto.h>
#include <stdio.h>

enum {
    APPLICATION_ID = 0x53464143, /* "SFAC" */
    ITERATIONS = 600000,
    ITERATIONS_MAX = 100000000,
    TOKEN_LIFE_MS = 12 * 60 * 60 * 1000,
};

static const char *const upgrades[] = {
    "CREATE TABLE users ("
    " username TEXT PRIMARY KEY, display_name TEXT NOT NULL, role INTEGER NOT NULL,"
    " salt TEXT NOT NULL, hash TEXT NOT NULL, iterations INTEGER NOT NULL, stamp TEXT NOT NULL,"
    " created_at INTEGER NOT NULL) STRICT;"
    "CREATE TABLE facts (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;",
};

static sf_status open_database(sf_access *access, const sf_access_options *options, sf_error *err)
{
    sf_db_options how = {
        .page_bytes = SF_DB_PAGE_CATALOG,
        .application_id = APPLICATION_ID,
        .upgrades = upgrades,
        .upgrade_count = SF_COUNT_OF(upgrades),
    };
    sf_buf path = {0};
    sf_buf_printf(&path, "%s/access.db", options->dir);
    sf_status status = path.failed ? sf_fail_memory(err)
                                   : options->disk.make_dir(options->disk.self, options->dir, err);
    if (status == SF_OK)
        status = sf_db_open(&options->disk, path.data, &how, &access->db, err);
    sf_buf_deinit(&path);
    return status;
}

static sf_status check_options(const sf_access_options *options, sf_error *err)
{
    if (options->hash_iterations > ITERATIONS_MAX)
        return sf_fail(err, SF_INVALID, "passwords cannot be hashed in more than %d rounds",
                       ITERATIONS_MAX);
    if (options->token_life_ms < 0)
        return sf_fail(err, SF_INVALID, "a token cannot live for less than 0 ms");
    if (options->jwt_key && strlen(options->jwt_key) < SF_JWT_KEY_BYTES_MIN) {
        sf_fail(err, SF_INVALID, "Jwt:Key has %zu bytes, and needs at least %d",
                strlen(options->jwt_key), SF_JWT_KEY_BYTES_MIN);
        sf_error_hint(err, "set a longer one, or none: then the server makes its own");
        return SF_INVALID;
    }
    return SF_OK;
}

static sf_status set_up(sf_access *access, const sf_access_options *options, sf_error *err)
{
    const char *issuer = options->jwt_issuer ? options->jwt_issuer : "streamsforge";
    const char *audience = options->jwt_audience ? options->jwt_audience : "streamsforge";
    access->clock = options->clock;
    access->random = options->random;
    access->log = options->log;
    access->hash_iterations = options->hash_iterations ? options->hash_iterations : ITERATIONS;
    access->token_life_ms = options->token_life_ms ? options->token_life_ms : TOKEN_LIFE_MS;
    access->random.fill(access->random.self, &access->throttle.seed, sizeof(uint64_t));
    access->issuer = sf_strdup(issuer);
    access->audience = sf_strdup(audience);
    return access->issuer && access->audience ? SF_OK : sf_fail_memory(err);
}

sf_status sf_access_open(const sf_access_options *options, sf_access **out, sf_error *err)
{
    SF_TRY(check_options(options, err));
    sf_access *access = sf_calloc(1, sizeof *access);
    if (!access)
        return sf_fail_memory(err);
    pthread_mutex_init(&access->writing, NULL);
    pthread_rwlock_init(&access->reading, NULL);
    pthread_mutex_init(&access->throttle.lock, NULL);
    sf_status status = set_up(access, options, err);
    if (status == SF_OK)
        status = open_database(access, options, err);
    if (status == SF_OK)
        status = sf_access_load(access, options->jwt_key, err);
    if (status != SF_OK) {
        sf_access_close(access);
        return status;
    }
    *out = access;
    return SF_OK;
}

void sf_access_close(sf_access *access)
{
    if (!access)
        return;
    sf_db_close(access->db);
    if (access->jwt_key)
        OPENSSL_cleanse(access->jwt_key, access->jwt_key_bytes);
    sf_free(access->jwt_key);
    sf_free(access->issuer);
    sf_free(access->audience);
    SF_VEC_DEINIT(&access->accounts);
    pthread_mutex_destroy(&access->throttle.lock);
    pthread_rwlock_destroy(&access->reading);
    pthread_mutex_destroy(&access->writing);
    sf_free(access);
}

static void fill_principal(const sf_account *account, int64_t expires_at_ms, sf_principal *out)
{
    *out = (sf_principal){.role = account->user.role, .expires_at_ms = expires_at_ms};
    memcpy(out->username, account->user.username, sizeof out->username);
    memcpy(out->display_name, account->user.display_name, sizeof out->display_name);
}

/* ---- signing in ---- */

/* Takes as long for a name that nobody has. */
static sf_status check_password(sf_access *access, sf_str username, sf_str password,
                                sf_account *account, sf_error *err)
{
    uint8_t hash[SF_HASH_BYTES];
    bool known = sf_access_account(access, username, account);
    if (!known)
        *account = (sf_account){.password.iterations = access->hash_iterations};
    bool fits = password.len <= SF_PASSWORD_BYTES_MAX;
    SF_TRY(sf_password_hash(fits ? password : SF_STR(""), &account->password, hash, err));
    bool equal = CRYPTO_memcmp(hash, account->password.hash, sizeof hash) == 0;
    OPENSSL_cleanse(hash, sizeof hash);
    if (known && equal && fits)
        return SF_OK;
    return sf_fail(err, SF_UNAUTHENTICATED, "unknown user or wrong password");
}

/* A failure here must not keep anybody out. */
static void strengthen(sf_access *access, const sf_account *account, sf_str password)
{
    sf_password stronger;
    sf_error err;
    if (account->password.iterations >= access->hash_iterations)
        return;
    if (sf_password_make(access, password, &stronger, &err) != SF_OK ||
        sf_access_rehash(access, account, &stronger, &err) != SF_OK)
        sf_log_write(access->log, SF_LOG_WARN, "access",
                     "the password of \"%s\" keeps its older hash: %s", account->user.username,
                     err.message);
}

sf_status sf_access_login(sf_access *access, sf_str username, sf_str password, sf_buf *token,
                          sf_principal *out, sf_error *err)
{
    sf_account account;
    int64_t expires_at_ms;
    int64_t now_ms = sf_clock_mono_ns(&access->clock) / 1000000;
    SF_TRY(sf_throttle_check(&access->throttle, username, now_ms, err));
    sf_status status = check_password(access, username, password, &account, err);
    if (status == SF_OK || status == SF_UNAUTHENTICATED)
        sf_throttle_note(&access->throttle, username, now_ms, status != SF_OK);
    SF_TRY(status);
    strengthen(access, &account, password);
    SF_TRY(sf_token_make(access, &account, token, &expires_at_ms, err));
    fill_principal(&account, expires_at_ms, out);
    return SF_OK;
}

sf_status sf_access_verify(sf_access *access, sf_str token, sf_principal *out, sf_error *err)
{
    sf_claims claims;
    sf_account account;
    SF_TRY(sf_token_read(access, token, &claims, err));
    bool known = sf_access_account(access, sf_str_of(claims.username), &account);
    if (!known || strcmp(account.stamp, claims.stamp) != 0) {
        sf_fail(err, SF_UNAUTHENTICATED, "the token is not valid: %s",
                known ? "the password was changed since" : "its user does not exist any more");
        sf_error_hint(err, "sign in again");
        return SF_UNAUTHENTICATED;
    }
    fill_principal(&account, claims.expires_at_ms, out);
    return SF_OK;
}
