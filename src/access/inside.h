/* inside.h: the insides of access: its users in memory, passwords, tokens. */
#ifndef SF_ACCESS_INSIDE_H
#define SF_ACCESS_INSIDE_H

#include "access/access.h"
#include "store/store.h"

#include <pthread.h>

enum {
    SF_HASH_BYTES = 32,
    SF_SALT_BYTES = 16,
    SF_STAMP_BYTES = 8,
    SF_PASSWORD_BYTES_MAX = 1024,
    SF_JWT_KEY_BYTES_MIN = 32,
    SF_TOKEN_BYTES_MAX = 4096,
};

typedef struct {
    uint8_t salt[SF_SALT_BYTES], hash[SF_HASH_BYTES];
    uint32_t iterations;
} sf_password;

typedef struct {
    sf_user user;
    sf_password password;
    char stamp[2 * SF_STAMP_BYTES + 1]; /* of the password: tokens carry it */
} sf_account;

/* ---- throttle: who failed to sign in lately ---- */

enum { SF_THROTTLE_SETS = 1024, SF_THROTTLE_WAYS = 4 };
typedef struct {
    uint64_t who; /* hash of the name; 0: free */
    uint32_t failures;
    int64_t last_ms; /* monotonic */
} sf_failures;
typedef struct {
    pthread_mutex_t lock;
    uint64_t seed;
    sf_failures slots[SF_THROTTLE_SETS][SF_THROTTLE_WAYS];
} sf_throttle;

/* SF_OVERLOADED while the name has to wait. */
sf_status sf_throttle_check(sf_throttle *throttle, sf_str name, int64_t now_ms, sf_error *err);
void sf_throttle_note(sf_throttle *throttle, sf_str name, int64_t now_ms, bool failed);

struct sf_access {
    sf_clock clock;
    sf_random random;
    const sf_log *log;
    uint32_t hash_iterations;
    int64_t token_life_ms;
    char *jwt_key, *issuer, *audience;
    size_t jwt_key_bytes;
    sf_throttle throttle;

    pthread_mutex_t writing; /* one change at a time; guards the database */
    sf_db *db;
    pthread_rwlock_t reading;    /* guards what follows; taken inside `writing` */
    SF_VEC(sf_account) accounts; /* sorted by name */
    uint64_t policy_version;
};

void sf_hex(const uint8_t *bytes, size_t len, char *out); /* 2 * len digits and a terminator */
bool sf_unhex(sf_str text, uint8_t *out, size_t len);

/* Slow on purpose. */
sf_status sf_password_hash(sf_str password, const sf_password *how, uint8_t out[SF_HASH_BYTES],
                           sf_error *err);
/* With a fresh salt. */
sf_status sf_password_make(sf_access *access, sf_str password, sf_password *out, sf_error *err);

sf_status sf_token_make(sf_access *access, const sf_account *account, sf_buf *out,
                        int64_t *expires_at_ms, sf_error *err);
/* Signature, times, issuer and audience. What it says about its user is still to be compared. */
typedef struct {
    char username[SF_NAME_BYTES_MAX + 1];
    char stamp[2 * SF_STAMP_BYTES + 1];
    int64_t expires_at_ms;
} sf_claims;
sf_status sf_token_read(const sf_access *access, sf_str token, sf_claims *out, sf_error *err);

/* Reads all users, makes the three first ones and the key of tokens when there are none. */
sf_status sf_access_load(sf_access *access, const char *jwt_key, sf_error *err);
/* A copy of the account; false: there is none. */
bool sf_access_account(sf_access *access, sf_str username, sf_account *out);
/* The same user with a newly hashed password, unless it was changed meanwhile. */
sf_status sf_access_rehash(sf_access *access, const sf_account *account,
                           const sf_password *password, sf_error *err);

#endif
