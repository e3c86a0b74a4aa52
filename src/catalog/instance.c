/* Who this instance is: a random number made at the first start and kept in instance.json. */
#include "catalog/inside.h"

enum { FILE_BYTES_MAX = 64 * 1024 };

void sf_catalog_random_id(const sf_random *random, char id[SF_ID_BYTES + 1])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[SF_ID_BYTES / 2];
    random->fill(random->self, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        id[2 * i] = digits[bytes[i] >> 4];
        id[2 * i + 1] = digits[bytes[i] & 15];
    }
    id[SF_ID_BYTES] = '\0';
}

static bool is_id(const char *text)
{
    return text && strlen(text) == SF_ID_BYTES && strspn(text, "0123456789abcdef") == SF_ID_BYTES;
}

static sf_status read_id(sf_catalog *catalog, const char *path, sf_str text, sf_error *err)
{
    json_t *root = NULL;
    SF_TRY(sf_json_load(text, path, &root, err));
    const char *id = json_string_value(json_object_get(root, "instanceId"));
    bool good = is_id(id);
    if (good)
        memcpy(catalog->instance_id, id, SF_ID_BYTES + 1);
    json_decref(root);
    if (good)
        return SF_OK;
    sf_fail(err, SF_CORRUPT, "\"%s\" holds no instanceId of 32 hexadecimal digits", path);
    sf_error_hint(err, "restore the file, or remove it to become a new instance");
    return SF_CORRUPT;
}

sf_status sf_catalog_load_instance(sf_catalog *catalog, const char *dir, sf_error *err)
{
    sf_buf path = {0}, text = {0};
    sf_buf_printf(&path, "%s/instance.json", dir);
    sf_status status = path.failed ? sf_fail_memory(err) : SF_OK;
    if (status == SF_OK)
        status = sf_disk_read_all(&catalog->disk, path.data, FILE_BYTES_MAX, &text, err);
    if (status == SF_OK) {
        status = read_id(catalog, path.data, sf_buf_str(&text), err);
    } else if (status == SF_NOT_FOUND) {
        sf_catalog_random_id(&catalog->random, catalog->instance_id);
        sf_buf_printf(&text, "{\"instanceId\":\"%s\"}\n", catalog->instance_id);
        status = text.failed ? sf_fail_memory(err)
                             : sf_disk_replace(&catalog->disk, path.data, text.data, text.len, err);
    }
    sf_buf_deinit(&path);
    sf_buf_deinit(&text);
    return status;
}
