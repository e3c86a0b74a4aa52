/* Checkpoints: pages and blobs, all or nothing, checked when read. */
#include "tests.h"

#define PATH "d/group.ckpt"

/* Collects "arrangement's page:first byte/length " as text. */
static sf_status note_page(void *arg, uint32_t page_no, const void *bytes, size_t len,
                           sf_error *err)
{
    sf_buf *out = arg;
    sf_buf_printf(out, "%u:%c/%zu ", page_no, len ? *(const char *)bytes : '-', len);
    return out->failed ? sf_fail_memory(err) : SF_OK;
}

static void check_pages(sf_ckpt *ckpt, uint32_t arrangement, const char *want)
{
    sf_buf got = {0};
    sf_error err;
    sf_buf_puts(&got, "");
    CHECK_INT(sf_ckpt_each_page(ckpt, arrangement, note_page, &got, &err), SF_OK);
    CHECK_STR(got.data, want);
    sf_buf_deinit(&got);
}

static void check_blob(sf_ckpt *ckpt, const char *key, const char *want)
{
    sf_buf got = {0};
    sf_error err;
    CHECK_INT(sf_ckpt_get_blob(ckpt, sf_str_of(key), &got, &err), want ? SF_OK : SF_NOT_FOUND);
    if (want)
        CHECK(sf_str_eq(sf_buf_str(&got), sf_str_of(want)));
    sf_buf_deinit(&got);
}

static char page[65536];

static sf_status put(sf_ckpt *ckpt, uint32_t arrangement, uint32_t no, char fill, sf_error *err)
{
    memset(page, fill, sizeof page);
    return sf_ckpt_put_page(ckpt, arrangement, no, page, sizeof page, err);
}

static void pages_and_blobs_come_back(void)
{
    memory_disk *memory = memory_disk_new();
    sf_disk disk = memory_disk_seam(memory);
    sf_ckpt *ckpt = NULL;
    sf_error err;
    REQUIRE_OK(sf_ckpt_open(&disk, PATH, &ckpt, &err), err);
    check_pages(ckpt, 1, "");
    REQUIRE_OK(sf_ckpt_begin(ckpt, &err), err);
    REQUIRE_OK(put(ckpt, 1, 2, 'c', &err), err);
    REQUIRE_OK(put(ckpt, 1, 0, 'a', &err), err);
    REQUIRE_OK(put(ckpt, 1, 1, 'b', &err), err);
    REQUIRE_OK(put(ckpt, 2, UINT32_MAX, 'z', &err), err);
    REQUIRE_OK(put(ckpt, SF_CKPT_ARRANGEMENT_MAX, 0, 'm', &err), err);
    REQUIRE_OK(sf_ckpt_put_page(ckpt, 3, 0, NULL, 0, &err), err);
    REQUIRE_OK(sf_ckpt_put_blob(ckpt, SF_STR("epoch"), "41", 2, &err), err);
    REQUIRE_OK(sf_ckpt_put_blob(ckpt, SF_STR("empty"), NULL, 0, &err), err);
    REQUIRE_OK(sf_ckpt_commit(ckpt, &err), err);

    REQUIRE_OK(sf_ckpt_begin(ckpt, &err), err);
    REQUIRE_OK(put(ckpt, 1, 1, 'B', &err), err);
    REQUIRE_OK(sf_ckpt_drop_pages(ckpt, 1, 2, &err), err);
    REQUIRE_OK(sf_ckpt_put_blob(ckpt, SF_STR("epoch"), "42", 2, &err), err);
    REQUIRE_OK(sf_ckpt_commit(ckpt, &err), err);
    sf_ckpt_close(ckpt);

    REQUIRE_OK(sf_ckpt_open(&disk, PATH, &ckpt, &err), err);
    check_pages(ckpt, 1, "0:a/65536 1:B/65536 ");
    check_pages(ckpt, 2, "4294967295:z/65536 ");
    check_pages(ckpt, 3, "0:-/0 ");
    check_pages(ckpt, SF_CKPT_ARRANGEMENT_MAX, "0:m/65536 ");
    check_blob(ckpt, "epoch", "42");
    check_blob(ckpt, "empty", "");
    check_blob(ckpt, "none", NULL);

    REQUIRE_OK(sf_ckpt_begin(ckpt, &err), err);
    REQUIRE_OK(sf_ckpt_drop_blob(ckpt, SF_STR("epoch"), &err), err);
    REQUIRE_OK(sf_ckpt_clear(ckpt, &err), err);
    sf_ckpt_rollback(ckpt);
    check_blob(ckpt, "epoch", "42");
    REQUIRE_OK(sf_ckpt_begin(ckpt, &err), err);
    REQUIRE_OK(sf_ckpt_clear(ckpt, &err), err);
    REQUIRE_OK(sf_ckpt_commit(ckpt, &err), err);
    check_pages(ckpt, 1, "");
    check_blob(ckpt, "epoch", NULL);
    CHECK_INT(sf_ckpt_begin(ckpt, &err), SF_OK); /* closing rolls back */
    sf_ckpt_close(ckpt);
    sf_ckpt_close(NULL);
    memory_disk_free(memory);
}

static sf_status stop_at_two(void *arg, uint32_t page_no, const void *bytes, size_t len,
                             sf_error *err)
{
    SF_UNUSED(bytes);
    SF_UNUSED(len);
    ++*(int *)arg;
    return page_no == 2 ? sf_fail(err, SF_CANCELLED, "enough") : SF_OK;
}

static void a_visit_can_end(void)
{
    memory_disk *memory = memory_disk_new();
    sf_disk disk = memory_disk_seam(memory);
    sf_ckpt *ckpt = NULL;
    int visits = 0;
    sf_error err;
    REQUIRE_OK(sf_ckpt_open(&disk, PATH, &ckpt, &err), err);
    REQUIRE_OK(sf_ckpt_begin(ckpt, &err), err);
    for (uint32_t no = 0; no < 5; no++)
        REQUIRE_OK(put(ckpt, 0, no, 'x', &err), err);
    CHECK_INT(sf_ckpt_put_page(ckpt, 0, 9, page, SF_CKPT_PAGE_BYTES_MAX + 1, &err), SF_LIMIT);
    REQUIRE_OK(sf_ckpt_commit(ckpt, &err), err);
    CHECK_INT(sf_ckpt_each_page(ckpt, 0, stop_at_two, &visits, &err), SF_CANCELLED);
    CHECK_INT(visits, 3);
    check_pages(ckpt, 0, "0:x/65536 1:x/65536 2:x/65536 3:x/65536 4:x/65536 ");
    sf_ckpt_close(ckpt);
    REQUIRE_OK(sf_ckpt_destroy(&disk, PATH, &err), err);
    REQUIRE_OK(sf_ckpt_destroy(&disk, PATH, &err), err);
    REQUIRE_OK(sf_ckpt_open(&disk, PATH, &ckpt, &err), err);
    check_pages(ckpt, 0, "");
    sf_ckpt_close(ckpt);
    memory_disk_free(memory);
}

static void damaged_pages_are_not_loaded(void)
{
    memory_disk *memory = memory_disk_new();
    sf_disk disk = memory_disk_seam(memory);
    sf_ckpt *ckpt = NULL;
    sf_buf sink = {0};
    size_t len;
    sf_error err;
    REQUIRE_OK(sf_ckpt_open(&disk, PATH, &ckpt, &err), err);
    REQUIRE_OK(sf_ckpt_begin(ckpt, &err), err);
    REQUIRE_OK(put(ckpt, 5, 0, 'x', &err), err);
    REQUIRE_OK(sf_ckpt_put_blob(ckpt, SF_STR("k"), "precious-value", 14, &err), err);
    REQUIRE_OK(sf_ckpt_commit(ckpt, &err), err);
    sf_ckpt_close(ckpt);
    uint8_t *bytes = memory_disk_bytes(memory, PATH, &len);
    REQUIRE(bytes);
    uint8_t *blob = memmem(bytes, len, "precious-value", 14);
    uint8_t *run = memmem(bytes, len, "xxxxxxxxxxxxxxxx", 16);
    REQUIRE(blob && run);
    blob[3] ^= 1;
    run[9] ^= 1;
    REQUIRE_OK(sf_ckpt_open(&disk, PATH, &ckpt, &err), err);
    CHECK_INT(sf_ckpt_each_page(ckpt, 5, note_page, &sink, &err), SF_CORRUPT);
    CHECK(strstr(err.message, "page 0 of arrangement 5 fails its checksum"));
    CHECK_INT(sf_ckpt_get_blob(ckpt, SF_STR("k"), &sink, &err), SF_CORRUPT);
    sf_ckpt_close(ckpt);
    sf_buf_deinit(&sink);
    memory_disk_free(memory);
}

/* Checkpoint n holds pages and an epoch that all say n. */
static int checkpoint_until_failure(const sf_disk *disk, int last, sf_status *status)
{
    sf_ckpt *ckpt = NULL;
    int done = 0;
    sf_error err;
    *status = sf_ckpt_open(disk, PATH, &ckpt, &err);
    while (*status == SF_OK && done < last) {
        char mark = (char)('a' + done);
        *status = sf_ckpt_begin(ckpt, &err);
        for (uint32_t no = 0; no < 3 && *status == SF_OK; no++)
            *status = put(ckpt, 1, no, mark, &err);
        if (*status == SF_OK)
            *status = sf_ckpt_put_blob(ckpt, SF_STR("epoch"), &mark, 1, &err);
        if (*status == SF_OK)
            *status = sf_ckpt_commit(ckpt, &err);
        done += *status == SF_OK;
    }
    sf_ckpt_close(ckpt);
    return done;
}

static void checkpoints_are_whole_after_every_crash(void)
{
    for (uint64_t at = 1;; at++) {
        sf_status status = SF_OK;
        for (uint64_t seed = 0; seed < 4; seed++) {
            memory_disk *memory = memory_disk_new();
            sf_disk disk = memory_disk_seam(memory);
            sf_ckpt *ckpt = NULL;
            sf_buf epoch = {0};
            char want[64];
            sf_error err;
            memory_disk_fail_at(memory, at, SF_IO);
            int done = checkpoint_until_failure(&disk, 4, &status);
            memory_disk_crash(memory, seed);
            REQUIRE_OK(sf_ckpt_open(&disk, PATH, &ckpt, &err), err);
            int got = 0;
            if (sf_ckpt_get_blob(ckpt, SF_STR("epoch"), &epoch, &err) == SF_OK)
                got = epoch.data[0] - 'a' + 1;
            CHECK(got == done || got == done + 1);
            char mark = (char)('a' + got - 1);
            snprintf(want, sizeof want, "0:%c/65536 1:%c/65536 2:%c/65536 ", mark, mark, mark);
            check_pages(ckpt, 1, got ? want : "");
            sf_ckpt_close(ckpt);
            sf_buf_deinit(&epoch);
            memory_disk_free(memory);
        }
        if (status == SF_OK)
            break;
        REQUIRE(at < 1000);
    }
}

int run_ckpt_cases(void)
{
    static const sf_case cases[] = {
        SF_CASE(pages_and_blobs_come_back),
        SF_CASE(a_visit_can_end),
        SF_CASE(damaged_pages_are_not_loaded),
        SF_CASE(checkpoints_are_whole_after_every_crash),
    };
    return sf_run_cases("ckpt", cases, SF_COUNT_OF(cases));
}
