/* JSON web tokens, signed with HMAC-SHA-256. */
#include "access/inside.h"

#include <jansson.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

/* {"alg":"HS256","typ":"JWT"} */
static const char header_text[] = "{\"alg\":\"HS256\",\"typ\":\"JWT\"}";

static void put_base64(sf_buf *out, const void *bytes, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const uint8_t *p = bytes;
    for (size_t i = 0; i < len; i += 3) {
        uint32_t word = (uint32_t)p[i] << 16;
        word |= i + 1 < len ? (uint32_t)p[i + 1] << 8 : 0;
        word |= i + 2 < len ? (uint32_t)p[i + 2] : 0;
        size_t count = len - i < 3 ? len - i + 1 : 4; /* no padding */
        for (size_t j = 0; j < count; j++)
            sf_buf_putc(out, digits[word >> (18 - 6 * j) & 63]);
    }
}

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

/* Strict: one spelling for each value. *len: room, then bytes. */
static bool read_base64(sf_str text, uint8_t *out, size_t *len)
{
    size_t done = 0;
    uint32_t word = 0, bits = 0;
    for (size_t i = 0; i < text.len; i++) {
        int digit = digit_of(text.data[i]);
        if (digit < 0)
            return false;
        word = word << 6 | (uint32_t)digit;
        bits += 6;
        if (bits < 8)
            continue;
        bits -= 8;
        if (done == *len)
            return false;
        out[done++] = (uint8_t)(word >> bits);
        word &= (1u << bits) - 1;
    }
    *len = done;
    return text.len % 4 != 1 && word == 0;
}

static bool sign(const sf_access *access, sf_str text, uint8_t out[SF_HASH_BYTES])
{
    unsigned len = 0;
    return HMAC(EVP_sha256(), access->jwt_key, (int)access->jwt_key_bytes,
                (const uint8_t *)text.data, text.len, out, &len) &&
           len == SF_HASH_BYTES;
}

/* ---- making ---- */

sf_status sf_token_make(sf_access *access, const sf_account *account, sf_buf *out,
                        int64_t *expires_at_ms, sf_error *err)
{
    int64_t now_s = sf_floor_div(sf_clock_wall_ms(&access->clock), 1000);
    int64_t end_s = now_s + access->token_life_ms / 1000;
    size_t start = out->len;
    char text[2048];
    json_t *claims =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I}", "sub", account->user.username, "name",
                  account->user.display_name, "role", sf_role_name(account->user.role), "iss",
                  access->issuer, "aud", access->audience, "stamp", account->stamp, "iat",
                  (long long)now_s, "exp", (long long)end_s);
    size_t len = claims ? json_dumpb(claims, text, sizeof text, JSON_COMPACT) : 0;
    json_decref(claims);
    if (len == 0 || len > sizeof text)
        return sf_fail_memory(err);
    put_base64(out, header_text, sizeof header_text - 1);
    sf_buf_putc(out, '.');
    put_base64(out, text, len);
    uint8_t signature[SF_HASH_BYTES];
    if (out->failed)
        return sf_fail_memory(err);
    if (!sign(access, (sf_str){out->data + start, out->len - start}, signature))
        return sf_fail(err, SF_INTERNAL, "the token cannot be signed");
    sf_buf_putc(out, '.');
    put_base64(out, signature, sizeof signature);
    *expires_at_ms = end_s * 1000;
    return out->failed ? sf_fail_memory(err) : SF_OK;
}

/* ---- reading ---- */

static sf_status refuse(sf_error *err, const char *why)
{
    sf_fail(err, SF_UNAUTHENTICATED, "the token is not valid: %s", why);
    sf_error_hint(err, "sign in again");
    return SF_UNAUTHENTICATED;
}

/* Splits head.body.signature. */
static bool split(sf_str token, sf_str *signed_part, sf_str *body, sf_str *signature)
{
    const char *end = token.data + token.len;
    const char *first = memchr(token.data, '.', token.len);
    const char *second = first ? memchr(first + 1, '.', (size_t)(end - first - 1)) : NULL;
    if (!second || memchr(second + 1, '.', (size_t)(end - second - 1)))
        return false;
    *signed_part = (sf_str){token.data, (size_t)(second - token.data)};
    *body = (sf_str){first + 1, (size_t)(second - first - 1)};
    *signature = (sf_str){second + 1, (size_t)(end - second - 1)};
    return true;
}

/* Only this server makes tokens it accepts, and it makes all with one head. */
static bool head_is_ours(sf_str token)
{
    sf_buf head = {0};
    put_base64(&head, header_text, sizeof header_text - 1);
    sf_buf_putc(&head, '.');
    bool ours =
        !head.failed && token.len > head.len && memcmp(token.data, head.data, head.len) == 0;
    sf_buf_deinit(&head);
    return ours;
}

static bool copy_claim(const json_t *claims, const char *key, char *out, size_t size)
{
    const json_t *value = json_object_get(claims, key);
    size_t len = json_string_length(value);
    if (!json_is_string(value) || len >= size)
        return false;
    memcpy(out, json_string_value(value), len + 1);
    return true;
}

static bool claim_is(const json_t *claims, const char *key, const char *want)
{
    const char *value = json_string_value(json_object_get(claims, key));
    return value && strcmp(value, want) == 0;
}

static sf_status read_claims(const sf_access *access, const json_t *claims, sf_claims *out,
                             sf_error *err)
{
    const json_t *expires = json_object_get(claims, "exp");
    if (!claim_is(claims, "iss", access->issuer) || !claim_is(claims, "aud", access->audience))
        return refuse(err, "it was made for another server");
    if (!copy_claim(claims, "sub", out->username, sizeof out->username) ||
        !copy_claim(claims, "stamp", out->stamp, sizeof out->stamp) || !json_is_integer(expires) ||
        json_integer_value(expires) > INT64_MAX / 1000)
        return refuse(err, "a claim is missing");
    out->expires_at_ms = json_integer_value(expires) * 1000;
    if (sf_clock_wall_ms(&access->clock) >= out->expires_at_ms)
        return refuse(err, "it has expired");
    return SF_OK;
}

sf_status sf_token_read(const sf_access *access, sf_str token, sf_claims *out, sf_error *err)
{
    uint8_t want[SF_HASH_BYTES], got[SF_HASH_BYTES], text[SF_TOKEN_BYTES_MAX];
    size_t got_len = sizeof got, text_len = sizeof text;
    sf_str signed_part, body, signature;
    if (token.len == 0 || token.len > SF_TOKEN_BYTES_MAX || !head_is_ours(token) ||
        !split(token, &signed_part, &body, &signature))
        return refuse(err, "it is malformed");
    if (!sign(access, signed_part, want))
        return sf_fail(err, SF_INTERNAL, "the token cannot be checked");
    if (!read_base64(signature, got, &got_len) || got_len != sizeof want ||
        CRYPTO_memcmp(want, got, sizeof want) != 0)
        return refuse(err, "its signature is wrong");
    if (!read_base64(body, text, &text_len))
        return refuse(err, "it is malformed");
    json_t *claims = json_loadb((const char *)text, text_len, 0, NULL);
    sf_status status = json_is_object(claims) ? read_claims(access, claims, out, err)
                                              : refuse(err, "it is malformed");
    json_decref(claims);
    return status;
}
