/* store: databases, checkpoints, journals, the lock of a data directory. */
#include "tests.h"

#include <unistd.h>

scratch scratch_make(void)
{
    scratch made = {.disk = sf_disk_system(), .path = "/tmp/sf-store-XXXXXX"};
    SF_ASSERT(mkdtemp(made.path));
    return made;
}

sf_buf scratch_path(const scratch *dir, const char *name)
{
    sf_buf path = {0};
    sf_buf_printf(&path, "%s/%s", dir->path, name);
    SF_ASSERT(!path.failed);
    return path;
}

typedef struct {
    SF_VEC(char *) names;
} name_list;

static bool note_name(void *arg, const char *name)
{
    name_list *list = arg;
    char *copy = sf_strdup(name);
    return copy && SF_VEC_PUSH(&list->names, copy);
}

static void remove_tree(const sf_disk *disk, const char *path)
{
    name_list list = {0};
    bool is_dir = false;
    sf_error err;
    if (disk->stat(disk->self, path, NULL, NULL, &is_dir, &err) == SF_OK && is_dir)
        disk->list(disk->self, path, note_name, &list, &err);
    for (size_t i = 0; i < list.names.len; i++) {
        sf_buf below = {0};
        sf_buf_printf(&below, "%s/%s", path, list.names.data[i]);
        remove_tree(disk, below.data);
        sf_buf_deinit(&below);
        sf_free(list.names.data[i]);
    }
    SF_VEC_DEINIT(&list.names);
    disk->remove(disk->self, path, &err);
}

void scratch_remove(const scratch *dir)
{
    remove_tree(&dir->disk, dir->path);
}

static int64_t still_wall_ms(void *self)
{
    return ((still_clock *)self)->now_ms;
}

static int64_t still_mono_ns(void *self)
{
    return ((still_clock *)self)->now_ms * 1000000;
}

sf_clock still_clock_seam(still_clock *clock)
{
    return (sf_clock){.wall_ms = still_wall_ms, .mono_ns = still_mono_ns, .self = clock};
}

/* ---- the lock of a data directory ---- */

static void one_process_a_directory(void)
{
    scratch s = scratch_make();
    sf_buf dir = scratch_path(&s, "data/deep");
    sf_store_lock *lock = NULL, *second = NULL;
    sf_error err;
    REQUIRE_OK(sf_store_lock_take(&s.disk, dir.data, &lock, &err), err);
    CHECK_INT(sf_store_lock_take(&s.disk, dir.data, &second, &err), SF_CONFLICT);
    CHECK(strstr(err.message, "in use by another process"));
    sf_store_lock_release(lock);
    REQUIRE_OK(sf_store_lock_take(&s.disk, dir.data, &second, &err), err);
    sf_store_lock_release(second);
    sf_store_lock_release(NULL);
    sf_buf_deinit(&dir);
    scratch_remove(&s);
}

static void layouts_of_the_future_are_refused(void)
{
    static const struct {
        const char *text;
        sf_status status;
    } rows[] = {
        {"streamsforge data directory, layout 1\n", SF_OK},
        {"streamsforge data directory, layout 2\n", SF_UNSUPPORTED},
        {"streamsforge data directory, layout x\n", SF_UNSUPPORTED},
        {"something else\n", SF_CORRUPT},
        {"", SF_OK},
    };
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        scratch s = scratch_make();
        sf_buf path = scratch_path(&s, "LOCK");
        sf_store_lock *lock = NULL;
        sf_error err;
        REQUIRE_OK(sf_disk_replace(&s.disk, path.data, rows[i].text, strlen(rows[i].text), &err),
                   err);
        CHECK_INT(sf_store_lock_take(&s.disk, s.path, &lock, &err), rows[i].status);
        sf_store_lock_release(lock);
        sf_buf_deinit(&path);
        scratch_remove(&s);
    }
}

static void a_lock_that_cannot_be_made(void)
{
    for (uint64_t n = 1; n <= 4; n++) { /* make, write, sync, sync_dir */
        memory_disk *memory = memory_disk_new();
        sf_disk disk = memory_disk_seam(memory);
        sf_store_lock *lock = NULL;
        sf_error err;
        memory_disk_fail_at(memory, n, SF_LIMIT);
        CHECK_INT(sf_store_lock_take(&disk, "data", &lock, &err), SF_LIMIT);
        memory_disk_crash(memory, n);
        CHECK_INT(sf_store_lock_take(&disk, "data", &lock, &err), SF_OK);
        sf_store_lock_release(lock);
        memory_disk_free(memory);
    }
}

/* Everything once, on a real disk. */
static sf_status use_everything(const scratch *s, sf_error *err)
{
    static const sf_journal_options options = {.segment_bytes = 100};
    sf_buf path = {0};
    sf_store_lock *lock = NULL;
    sf_journal *journal = NULL;
    sf_journal_cursor *cursor = NULL;
    sf_ckpt *ckpt = NULL;
    sf_clock clock = sf_clock_system();
    sf_entry entry = {SF_ENTRY_ROWS, 0, 1, 0, SF_STR("a row")};
    uint64_t lsn;
    bool more = true;
    sf_status status = sf_store_lock_take(&s->disk, s->path, &lock, err);
    sf_buf_printf(&path, "%s/j", s->path);
    if (status == SF_OK && path.failed)
        status = sf_fail_memory(err);
    if (status == SF_OK)
        status = sf_journal_open(&s->disk, &clock, path.data, &options, &journal, err);
    for (int i = 0; i < 3 && status == SF_OK; i++) {
        entry.first_position = sf_journal_inspect(journal).next_position;
        status = sf_journal_append(journal, &entry, &lsn, err);
        if (status == SF_OK)
            status = sf_journal_commit(journal, lsn, err);
    }
    if (status == SF_OK)
        status = sf_journal_read_from(journal, 0, &cursor, err);
    while (status == SF_OK && more)
        status = sf_journal_next(cursor, &entry, &more, err);
    sf_journal_cursor_close(cursor);
    sf_journal_close(journal);
    sf_buf_puts(&path, ".ckpt");
    if (status == SF_OK && path.failed)
        status = sf_fail_memory(err);
    if (status == SF_OK)
        status = sf_ckpt_open(&s->disk, path.data, &ckpt, err);
    sf_ckpt_close(ckpt);
    sf_store_lock_release(lock);
    sf_buf_deinit(&path);
    return status;
}

static void short_memory_is_a_clean_error(void)
{
    sf_status status = SF_LIMIT;
    uint64_t n = 1;
    for (; status == SF_LIMIT && n < 500; n++) {
        scratch s = scratch_make();
        sf_error err;
        sf_alloc_fail_after(n);
        status = use_everything(&s, &err);
        sf_alloc_fail_after(0);
        if (status == SF_LIMIT)
            status = use_everything(&s, &err) == SF_OK ? SF_LIMIT : SF_INTERNAL;
        scratch_remove(&s);
    }
    CHECK_INT(status, SF_OK);
    CHECK(n > 20);
}

int main(void)
{
    static const sf_case cases[] = {
        SF_CASE(one_process_a_directory),
        SF_CASE(layouts_of_the_future_are_refused),
        SF_CASE(a_lock_that_cannot_be_made),
        SF_CASE(short_memory_is_a_clean_error),
    };
    int failed = sf_run_cases("store", cases, SF_COUNT_OF(cases));
    failed |= run_db_cases();
    failed |= run_ckpt_cases();
    failed |= run_journal_cases();
    failed |= run_journal_crash_cases();
    failed |= run_commit_cases();
    return failed;
}
