/* The lock of a data directory, which also says what layout the directory has. */
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>

enum { LAYOUT = 1, TEXT_BYTES_MAX = 128 };
static const char layout_text[] = "streamsforge data directory, layout ";

struct sf_store_lock {
    sf_disk disk;
    sf_file *file;
};

static sf_status check_layout(const sf_disk *disk, sf_file *file, const char *dir, sf_error *err)
{
    char text[TEXT_BYTES_MAX + 1];
    size_t got, prefix = sizeof layout_text - 1;
    SF_TRY(disk->read(disk->self, file, text, TEXT_BYTES_MAX, 0, &got, err));
    text[got] = '\0';
    if (got == 0 || text[0] == '\0') { /* a new directory, or one whose first start was cut short */
        int n = snprintf(text, sizeof text, "%s%d\n", layout_text, LAYOUT);
        SF_TRY(disk->write(disk->self, file, text, (size_t)n, 0, err));
        SF_TRY(disk->sync(disk->self, file, err));
        return disk->sync_dir(disk->self, dir, err);
    }
    if (strncmp(text, layout_text, prefix) != 0)
        return sf_fail(err, SF_CORRUPT, "\"%s/LOCK\" does not say which layout the directory has",
                       dir);
    long layout = strtol(text + prefix, NULL, 10);
    if (layout >= 1 && layout <= LAYOUT)
        return SF_OK;
    sf_fail(err, SF_UNSUPPORTED,
            "data directory \"%s\" has layout %ld, written by a newer version than this one, which "
            "knows layouts up to %d",
            dir, layout, LAYOUT);
    sf_error_hint(err, "start the newer version, or choose another data directory");
    return SF_UNSUPPORTED;
}

sf_status sf_store_lock_take(const sf_disk *disk, const char *dir, sf_store_lock **out,
                             sf_error *err)
{
    sf_file *file = NULL;
    sf_buf path = {0};
    sf_buf_printf(&path, "%s/LOCK", dir);
    sf_store_lock *lock = sf_alloc(sizeof *lock);
    sf_status status = path.failed || !lock ? sf_fail_memory(err) : SF_OK;
    if (status == SF_OK)
        status = disk->make_dir(disk->self, dir, err);
    if (status == SF_OK)
        status = disk->open(disk->self, path.data, SF_OPEN_CREATE, &file, err);
    if (status == SF_OK)
        status = disk->lock(disk->self, file, err);
    if (status == SF_CONFLICT) {
        sf_fail(err, SF_CONFLICT, "data directory \"%s\" is in use by another process", dir);
        sf_error_hint(err, "stop the other process or choose another data directory");
    }
    if (status == SF_OK)
        status = check_layout(disk, file, dir, err);
    sf_buf_deinit(&path);
    if (status != SF_OK) {
        if (file)
            disk->close(disk->self, file);
        sf_free(lock);
        return status;
    }
    *lock = (sf_store_lock){.disk = *disk, .file = file};
    *out = lock;
    return SF_OK;
}

void sf_store_lock_release(sf_store_lock *lock)
{
    if (!lock)
        return;
    lock->disk.close(lock->disk.self, lock->file);
    sf_free(lock);
}
