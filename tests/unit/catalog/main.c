/* catalog: definitions, their JSON, and what is kept of them. */
#include "tests.h"

static int64_t world_wall_ms(void *self)
{
    return ((world *)self)->now_ms;
}

static int64_t world_mono_ns(void *self)
{
    return ((world *)self)->now_ms * 1000000;
}

static void world_fill(void *self, void *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)sf_rng_next(&((world *)self)->rng);
}

static world *failing; /* the world whose disk is asked to fail */

static sf_status world_write(void *self, sf_file *file, const void *bytes, size_t len,
                             uint64_t offset, sf_error *err)
{
    if (failing->fail_writes)
        return sf_fail(err, SF_LIMIT, "the disk is full");
    return failing->real.write(self, file, bytes, len, offset, err);
}

static bool open_catalog(world *w)
{
    sf_catalog_options options = {
        .disk = w->disk,
        .clock = {world_wall_ms, world_mono_ns, w},
        .random = {world_fill, w},
        .dir = w->dir,
        .rules = w->rules,
    };
    w->catalog = NULL;
    bool ok = sf_catalog_open(&options, &w->catalog, &w->err) == SF_OK;
    if (!ok)
        printf("  cannot open: %s\n", w->err.message);
    return ok;
}

bool world_open(world *w)
{
    w->real = w->disk = sf_disk_system();
    w->disk.write = world_write;
    w->now_ms = 1000;
    w->rng = (sf_rng){1};
    failing = w;
    snprintf(w->dir, sizeof w->dir, "/tmp/sf-catalog-XXXXXX");
    return mkdtemp(w->dir) && open_catalog(w);
}

bool world_reopen(world *w)
{
    sf_catalog_close(w->catalog);
    return open_catalog(w);
}

void world_close(world *w)
{
    static const char *const names[] = {"catalog.db", "catalog.db-wal", "instance.json", ""};
    sf_error err;
    sf_catalog_close(w->catalog);
    for (size_t i = 0; i < SF_COUNT_OF(names); i++) {
        sf_buf path = {0};
        sf_buf_printf(&path, "%s/%s", w->dir, names[i]);
        w->disk.remove(w->disk.self, path.data, &err);
        sf_buf_deinit(&path);
    }
}

static void swap(char *text, char from, char to)
{
    for (; *text; text++)
        if (*text == from)
            *text = to;
}

sf_def *parse(world *w, sf_entity_kind kind, const char *json, const sf_def *stored)
{
    sf_def *def = NULL;
    char *text = sf_strdup(json);
    SF_ASSERT(text);
    swap(text, '\'', '"');
    memset(&w->err, 0, sizeof w->err);
    sf_status status = sf_def_parse(w->catalog, kind, "", sf_str_of(text), stored, &def, &w->err);
    SF_ASSERT((status == SF_OK) == (def != NULL) && status == w->err.status);
    sf_free(text);
    return def;
}

const sf_def *create(world *w, sf_entity_kind kind, const char *json)
{
    const sf_def *out = NULL;
    sf_def *def = parse(w, kind, json, NULL);
    if (def && sf_catalog_create(w->catalog, def, "ann", &out, &w->err) != SF_OK)
        out = NULL;
    return out;
}

const sf_def *update(world *w, const sf_def *stored, const char *json)
{
    const sf_def *out = NULL;
    sf_def *def = parse(w, stored->kind, json, stored);
    if (def && sf_catalog_update(w->catalog, def, 0, "bob", &out, &w->err) != SF_OK)
        out = NULL;
    return out;
}

const char *shown(world *w, const sf_def *def)
{
    static char text[8192];
    sf_buf buf = {0};
    sf_catalog_put_json(w->catalog, def, &buf);
    SF_ASSERT(!buf.failed && buf.len < sizeof text);
    memcpy(text, buf.data, buf.len + 1);
    swap(text, '"', '\'');
    sf_buf_deinit(&buf);
    return text;
}

int main(void)
{
    int failed = run_definition_cases();
    failed |= run_catalog_cases();
    return failed;
}
