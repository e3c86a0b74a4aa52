/* Digests of texts. */
#include "expr/kernel.h"

#include <openssl/evp.h>

/* As lower-case hexadecimal digits. */
static bool put_digest(const EVP_MD *method, sf_str text, sf_buf *out)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (EVP_Digest(text.data, text.len, bytes, &len, method, NULL) != 1)
        return false;
    for (unsigned i = 0; i < len; i++) {
        sf_buf_putc(out, digits[bytes[i] >> 4]);
        sf_buf_putc(out, digits[bytes[i] & 15]);
    }
    return !out->failed;
}

static bool digested(sf_call *call, const EVP_MD *method)
{
    sf_text_out out;
    if (!sf_text_begin(&out, call, NULL))
        return false;
    sf_buf buf = {0};
    bool ok = true;
    for (uint32_t i = 0; i < call->rows && ok; i++) {
        if (sf_call_is_null(call, i))
            continue;
        sf_buf_clear(&buf);
        ok = put_digest(method, sf_operand_str(&call->args[0], i), &buf);
        sf_text_put(&out, i, sf_buf_str(&buf));
    }
    sf_buf_deinit(&buf);
    return sf_text_end(&out) && ok;
}

bool sf_fn_md5(sf_call *call)
{
    return digested(call, EVP_md5());
}

bool sf_fn_sha1(sf_call *call)
{
    return digested(call, EVP_sha1());
}

bool sf_fn_sha256(sf_call *call)
{
    return digested(call, EVP_sha256());
}

bool sf_fn_sha512(sf_call *call)
{
    return digested(call, EVP_sha512());
}

bool sf_fn_xxhash(sf_call *call)
{
    for (uint32_t i = 0; i < call->rows; i++) {
        sf_str text = sf_call_is_null(call, i) ? SF_STR("") : sf_operand_str(&call->args[0], i);
        SF_OUT(call, int64_t)[i] = (int64_t)sf_hash_bytes(text.data, text.len, 0);
    }
    return true;
}

bool sf_fn_crc32c(sf_call *call)
{
    for (uint32_t i = 0; i < call->rows; i++) {
        sf_str text = sf_call_is_null(call, i) ? SF_STR("") : sf_operand_str(&call->args[0], i);
        SF_OUT(call, int64_t)[i] = sf_crc32c(0, text.data, text.len);
    }
    return true;
}
