#include "memory_disk.h"

#include <stdio.h>

enum { SECTOR_BYTES = 512 };

typedef struct {
    uint64_t offset, size; /* size: of the file when it is a truncation */
    uint8_t *bytes;        /* NULL: a truncation */
    size_t len;
} change;

typedef struct {
    uint8_t *bytes;
    size_t len, cap;
} image;

typedef struct {
    image now, synced;
    SF_VEC(change) changes; /* since the last sync */
    bool locked;
} content;

typedef struct {
    char *path;
    content *now, *synced; /* NULL: no such file */
} name;

struct memory_disk {
    SF_VEC(content *) contents; /* all there ever were */
    SF_VEC(name) names;
    uint64_t changes, fail_at;
    sf_status fail_status;
};

struct sf_file {
    content *content;
    bool owns_lock;
};

static void image_resize(image *img, size_t len)
{
    if (len > img->cap) {
        img->cap = len * 2;
        img->bytes = sf_realloc(img->bytes, img->cap);
        SF_ASSERT(img->bytes);
    }
    if (len > img->len) {
        memset(img->bytes + img->len, 0, len - img->len);
    }
    img->len = len;
}

static void image_write(image *img, const void *bytes, size_t len, uint64_t offset)
{
    if (len == 0)
        return;
    if (offset + len > img->len)
        image_resize(img, offset + len);
    SF_ASSERT(img->bytes);
    memcpy(img->bytes + offset, bytes, len);
}

static void image_copy(image *to, const image *from)
{
    to->len = 0;
    image_resize(to, from->len);
    if (from->len)
        memcpy(to->bytes, from->bytes, from->len);
}

static void forget_changes(content *data)
{
    for (size_t i = 0; i < data->changes.len; i++)
        sf_free(data->changes.data[i].bytes);
    data->changes.len = 0;
}

static sf_status count_change(memory_disk *disk, sf_error *err)
{
    disk->changes++;
    if (disk->fail_at && disk->changes >= disk->fail_at)
        return sf_fail(err, disk->fail_status, "the disk failed as the test asked");
    return SF_OK;
}

static name *find(memory_disk *disk, const char *path)
{
    for (size_t i = 0; i < disk->names.len; i++)
        if (strcmp(disk->names.data[i].path, path) == 0)
            return &disk->names.data[i];
    return NULL;
}

static name *find_or_add(memory_disk *disk, const char *path)
{
    name *found = find(disk, path);
    if (found)
        return found;
    name fresh = {.path = sf_strdup(path)};
    SF_ASSERT(fresh.path && SF_VEC_PUSH(&disk->names, fresh));
    return &disk->names.data[disk->names.len - 1];
}

static sf_status missing(sf_error *err, const char *path)
{
    return sf_fail(err, SF_NOT_FOUND, "\"%s\" is missing", path);
}

static sf_status disk_truncate(void *self, sf_file *file, uint64_t size, sf_error *err)
{
    SF_TRY(count_change(self, err));
    change done = {.size = size};
    SF_ASSERT(SF_VEC_PUSH(&file->content->changes, done));
    image_resize(&file->content->now, size);
    return SF_OK;
}

static sf_status disk_open(void *self, const char *path, unsigned flags, sf_file **out,
                           sf_error *err)
{
    memory_disk *disk = self;
    name *entry = find(disk, path);
    if (!entry || !entry->now) {
        if (!(flags & SF_OPEN_CREATE))
            return missing(err, path);
        SF_TRY(count_change(disk, err));
        content *fresh = sf_calloc(1, sizeof *fresh);
        SF_ASSERT(fresh && SF_VEC_PUSH(&disk->contents, fresh));
        entry = find_or_add(disk, path);
        entry->now = fresh;
    } else if (flags & SF_OPEN_EXCLUSIVE) {
        return sf_fail(err, SF_EXISTS, "\"%s\" exists", path);
    }
    sf_file *file = sf_calloc(1, sizeof *file);
    SF_ASSERT(file);
    file->content = entry->now;
    *out = file;
    return flags & SF_OPEN_TRUNCATE ? disk_truncate(self, file, 0, err) : SF_OK;
}

static void disk_close(void *self, sf_file *file)
{
    SF_UNUSED(self);
    if (!file)
        return;
    if (file->owns_lock)
        file->content->locked = false;
    sf_free(file);
}

static sf_status disk_read(void *self, sf_file *file, void *bytes, size_t len, uint64_t offset,
                           size_t *got, sf_error *err)
{
    SF_UNUSED(self);
    SF_UNUSED(err);
    const image *img = &file->content->now;
    *got = offset >= img->len ? 0 : img->len - offset < len ? img->len - offset : len;
    if (*got)
        memcpy(bytes, img->bytes + offset, *got);
    return SF_OK;
}

static sf_status disk_write(void *self, sf_file *file, const void *bytes, size_t len,
                            uint64_t offset, sf_error *err)
{
    SF_TRY(count_change(self, err));
    change done = {.offset = offset, .len = len, .bytes = sf_alloc(len)};
    SF_ASSERT(done.bytes);
    memcpy(done.bytes, bytes, len);
    SF_ASSERT(SF_VEC_PUSH(&file->content->changes, done));
    image_write(&file->content->now, bytes, len, offset);
    return SF_OK;
}

static sf_status disk_sync(void *self, sf_file *file, sf_error *err)
{
    SF_TRY(count_change(self, err));
    content *data = file->content;
    for (size_t i = 0; i < data->changes.len; i++) {
        const change *done = &data->changes.data[i];
        if (done->bytes)
            image_write(&data->synced, done->bytes, done->len, done->offset);
        else
            image_resize(&data->synced, done->size);
    }
    forget_changes(data);
    return SF_OK;
}

static sf_status disk_size(void *self, sf_file *file, uint64_t *out, sf_error *err)
{
    SF_UNUSED(self);
    SF_UNUSED(err);
    *out = file->content->now.len;
    return SF_OK;
}

static sf_status disk_lock(void *self, sf_file *file, sf_error *err)
{
    SF_UNUSED(self);
    if (file->owns_lock)
        return SF_OK;
    if (file->content->locked)
        return sf_fail(err, SF_CONFLICT, "the file is in use");
    file->owns_lock = file->content->locked = true;
    return SF_OK;
}

static sf_status disk_remove(void *self, const char *path, sf_error *err)
{
    name *entry = find(self, path);
    if (!entry || !entry->now)
        return missing(err, path);
    SF_TRY(count_change(self, err));
    entry->now = NULL;
    return SF_OK;
}

static sf_status disk_rename(void *self, const char *from, const char *to, sf_error *err)
{
    name *entry = find(self, from);
    if (!entry || !entry->now)
        return missing(err, from);
    SF_TRY(count_change(self, err));
    content *moved = entry->now;
    entry->now = NULL;
    find_or_add(self, to)->now = moved;
    return SF_OK;
}

static sf_status disk_make_dir(void *self, const char *path, sf_error *err)
{
    SF_UNUSED(self); /* directories are there as soon as somebody names one */
    SF_UNUSED(path);
    SF_UNUSED(err);
    return SF_OK;
}

static bool is_in(const char *path, const char *dir)
{
    size_t len = strlen(dir);
    return strncmp(path, dir, len) == 0 && path[len] == '/' && !strchr(path + len + 1, '/');
}

static sf_status disk_sync_dir(void *self, const char *path, sf_error *err)
{
    memory_disk *disk = self;
    SF_TRY(count_change(disk, err));
    for (size_t i = 0; i < disk->names.len; i++)
        if (is_in(disk->names.data[i].path, path))
            disk->names.data[i].synced = disk->names.data[i].now;
    return SF_OK;
}

static sf_status disk_list(void *self, const char *path, bool (*visit)(void *arg, const char *name),
                           void *arg, sf_error *err)
{
    SF_UNUSED(err);
    memory_disk *disk = self;
    for (size_t i = 0; i < disk->names.len; i++)
        if (disk->names.data[i].now && is_in(disk->names.data[i].path, path))
            if (!visit(arg, disk->names.data[i].path + strlen(path) + 1))
                break;
    return SF_OK;
}

static sf_status disk_stat(void *self, const char *path, uint64_t *size, int64_t *mtime_ms,
                           bool *is_dir, sf_error *err)
{
    name *entry = find(self, path);
    if (!entry || !entry->now)
        return missing(err, path);
    if (size)
        *size = entry->now->now.len;
    if (mtime_ms)
        *mtime_ms = 0;
    if (is_dir)
        *is_dir = false;
    return SF_OK;
}

memory_disk *memory_disk_new(void)
{
    memory_disk *disk = sf_calloc(1, sizeof *disk);
    SF_ASSERT(disk);
    return disk;
}

void memory_disk_free(memory_disk *disk)
{
    for (size_t i = 0; i < disk->contents.len; i++) {
        content *data = disk->contents.data[i];
        forget_changes(data);
        SF_VEC_DEINIT(&data->changes);
        sf_free(data->now.bytes);
        sf_free(data->synced.bytes);
        sf_free(data);
    }
    for (size_t i = 0; i < disk->names.len; i++)
        sf_free(disk->names.data[i].path);
    SF_VEC_DEINIT(&disk->contents);
    SF_VEC_DEINIT(&disk->names);
    sf_free(disk);
}

sf_disk memory_disk_seam(memory_disk *disk)
{
    return (sf_disk){
        .open = disk_open,
        .close = disk_close,
        .read = disk_read,
        .write = disk_write,
        .sync = disk_sync,
        .truncate = disk_truncate,
        .size = disk_size,
        .lock = disk_lock,
        .remove = disk_remove,
        .rename = disk_rename,
        .make_dir = disk_make_dir,
        .sync_dir = disk_sync_dir,
        .list = disk_list,
        .stat = disk_stat,
        .self = disk,
    };
}

void memory_disk_fail_at(memory_disk *disk, uint64_t n, sf_status status)
{
    disk->fail_at = n ? disk->changes + n : 0;
    disk->fail_status = status;
}

uint64_t memory_disk_changes(const memory_disk *disk)
{
    return disk->changes;
}

/* Per crash: everything reached the platter, nothing did, or each sector by itself. */
typedef enum { KEEP_ALL, KEEP_NONE, KEEP_SOME } survival;

static bool survives(sf_rng *rng, survival how)
{
    return how == KEEP_ALL || (how == KEEP_SOME && sf_rng_below(rng, 2) == 0);
}

static void crash_content(content *data, sf_rng *rng, survival how)
{
    image left = {0};
    image_copy(&left, &data->synced);
    for (size_t i = 0; i < data->changes.len; i++) {
        const change *done = &data->changes.data[i];
        if (!done->bytes) {
            if (survives(rng, how))
                image_resize(&left, done->size);
            continue;
        }
        for (size_t at = 0; at < done->len;) {
            size_t rest = SECTOR_BYTES - (size_t)((done->offset + at) % SECTOR_BYTES);
            size_t len = rest < done->len - at ? rest : done->len - at;
            if (survives(rng, how))
                image_write(&left, done->bytes + at, len, done->offset + at);
            at += len;
        }
    }
    forget_changes(data);
    image_copy(&data->now, &left);
    image_copy(&data->synced, &left);
    data->locked = false;
    sf_free(left.bytes);
}

void memory_disk_crash(memory_disk *disk, uint64_t seed)
{
    sf_rng rng = {seed};
    survival how = (survival)sf_rng_below(&rng, 3);
    for (size_t i = 0; i < disk->contents.len; i++)
        crash_content(disk->contents.data[i], &rng, how);
    for (size_t i = 0; i < disk->names.len; i++) {
        name *entry = &disk->names.data[i];
        if (entry->now != entry->synced && !survives(&rng, how))
            entry->now = entry->synced;
        entry->synced = entry->now;
    }
    disk->fail_at = 0;
}

uint8_t *memory_disk_bytes(memory_disk *disk, const char *path, size_t *len)
{
    name *entry = find(disk, path);
    if (!entry || !entry->now)
        return NULL;
    *len = entry->now->now.len;
    return entry->now->now.bytes;
}
