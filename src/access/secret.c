/* Passwords, and the keys of ingest sources. */
#include "access/inside.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>

enum { KEY_RANDOM_BYTES = 32 };
static const char key_prefix[] = "sfk_";
_Static_assert(sizeof key_prefix - 1 + 2 * KEY_RANDOM_BYTES == SF_KEY_SECRET_BYTES,
               "as documented");

void sf_hex(const uint8_t *bytes, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * len] = '\0';
}

bool sf_unhex(sf_str text, uint8_t *out, size_t len)
{
    if (text.len != 2 * len)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            return false;
        out[i / 2] = (uint8_t)(i % 2 ? out[i / 2] << 4 | digit : digit);
    }
    return true;
}

/* ---- passwords ---- */

sf_status sf_password_hash(sf_str password, const sf_password *how, uint8_t out[SF_HASH_BYTES],
                           sf_error *err)
{
    if (PKCS5_PBKDF2_HMAC(password.data ? password.data : "", (int)password.len, how->salt,
                          SF_SALT_BYTES, (int)how->iterations, EVP_sha256(), SF_HASH_BYTES,
                          out) == 1)
        return SF_OK;
    return sf_fail(err, SF_INTERNAL, "the password cannot be hashed");
}

sf_status sf_password_make(sf_access *access, sf_str password, sf_password *out, sf_error *err)
{
    if (password.len == 0)
        return sf_fail(err, SF_INVALID, "a user needs a password");
    if (password.len > SF_PASSWORD_BYTES_MAX)
        return sf_fail(err, SF_INVALID, "a password may have at most %d bytes",
                       SF_PASSWORD_BYTES_MAX);
    access->random.fill(access->random.self, out->salt, sizeof out->salt);
    out->iterations = access->hash_iterations;
    return sf_password_hash(password, out, out->hash, err);
}

/* ---- keys of ingest sources ---- */

/* The secret is random and long: one round of hashing hides it as well as many would. */
static sf_status hash_key(sf_str salt, sf_str secret, char out[2 * SF_HASH_BYTES + 1],
                          sf_error *err)
{
    uint8_t hash[EVP_MAX_MD_SIZE];
    char text[2 * SF_SALT_BYTES + SF_KEY_SECRET_BYTES];
    unsigned len = 0;
    SF_ASSERT(salt.len + secret.len <= sizeof text);
    memcpy(text, salt.data, salt.len);
    memcpy(text + salt.len, secret.data, secret.len);
    int ok = EVP_Digest(text, salt.len + secret.len, hash, &len, EVP_sha256(), NULL);
    OPENSSL_cleanse(text, sizeof text);
    if (ok != 1)
        return sf_fail(err, SF_INTERNAL, "the key cannot be hashed");
    sf_hex(hash, SF_HASH_BYTES, out);
    return SF_OK;
}

sf_status sf_access_make_key(sf_access *access, sf_catalog *catalog, const sf_def *source,
                             sf_str label, char secret[SF_KEY_SECRET_BYTES + 1],
                             char key_id[SF_ID_BYTES + 1], int64_t *created_at_ms, sf_error *err)
{
    uint8_t bytes[KEY_RANDOM_BYTES], salt_bytes[SF_SALT_BYTES];
    char salt[2 * SF_SALT_BYTES + 1], hash[2 * SF_HASH_BYTES + 1], text[SF_NAME_BYTES_MAX + 1];
    if (label.len > SF_NAME_BYTES_MAX)
        return sf_fail(err, SF_INVALID, "the label of a key may have at most %d bytes",
                       SF_NAME_BYTES_MAX);
    snprintf(text, sizeof text, "%.*s", SF_STR_ARG(label));
    access->random.fill(access->random.self, bytes, sizeof bytes);
    access->random.fill(access->random.self, salt_bytes, sizeof salt_bytes);
    memcpy(secret, key_prefix, sizeof key_prefix - 1);
    sf_hex(bytes, sizeof bytes, secret + sizeof key_prefix - 1);
    sf_hex(salt_bytes, sizeof salt_bytes, salt);
    SF_TRY(hash_key(sf_str_of(salt), (sf_str){secret, SF_KEY_SECRET_BYTES}, hash, err));
    sf_catalog_new_id(catalog, key_id);
    sf_key_record key = {
        .id = key_id,
        .label = text,
        .created_at_ms = sf_clock_wall_ms(&access->clock),
        .hash = hash,
        .salt = salt,
    };
    *created_at_ms = key.created_at_ms;
    return sf_catalog_add_key(catalog, source->id, &key, err);
}

sf_status sf_access_check_key(sf_access *access, const sf_source_def *source, sf_str secret,
                              const sf_key_record **out, sf_error *err)
{
    char hash[2 * SF_HASH_BYTES + 1];
    bool possible = secret.len == SF_KEY_SECRET_BYTES;
    for (uint32_t i = 0; possible && i < source->key_count; i++) {
        sf_key_record *key = &source->keys[i];
        sf_str salt = sf_str_of(key->salt), kept = sf_str_of(key->hash);
        if (salt.len != 2 * SF_SALT_BYTES || kept.len != 2 * SF_HASH_BYTES)
            continue;
        SF_TRY(hash_key(salt, secret, hash, err));
        if (CRYPTO_memcmp(hash, kept.data, kept.len) != 0)
            continue;
        atomic_store(&key->last_used_ms, sf_clock_wall_ms(&access->clock));
        *out = key;
        return SF_OK;
    }
    return sf_fail(err, SF_UNAUTHENTICATED, "the ingest key does not belong to source \"%s\"",
                   source->def.name);
}
