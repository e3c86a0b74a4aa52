/* base: errors, memory, bytes, hashing; the system's disk. */
#include "base/seam.h"
#include "unit/check.h"

#include <unistd.h>

static void errors_cut_at_characters(void)
{
    sf_error err = {0};
    char name[600];
    memset(name, 'a', sizeof name);
    name[510] = (char)0xc3; /* a two-byte character over the end of message[512] */
    name[511] = (char)0xa9;
    name[599] = '\0';
    CHECK_INT(sf_fail(&err, SF_INVALID, "%s", name), SF_INVALID);
    CHECK_INT(strlen(err.message), 510);
    name[509] = (char)0xc3;
    name[510] = (char)0xa9;
    sf_fail(&err, SF_INVALID, "%s", name);
    CHECK_INT(strlen(err.message), 511);
}

static void errors_take_context(void)
{
    sf_error err = {0};
    sf_fail_at(&err, SF_SYNTAX, (sf_span){7, 3}, "unexpected \"%s\"", "FORM");
    sf_error_hint(&err, "did you mean FROM");
    sf_error_context(&err, "table \"%s\"", "t");
    CHECK_STR(err.message, "table \"t\": unexpected \"FORM\"");
    CHECK_STR(err.hint, "did you mean FROM");
    CHECK_INT(err.where.offset, 7);
    CHECK_STR(sf_status_name(SF_SYNTAX), "SYNTAX");
    CHECK_STR(sf_status_text(SF_NOT_FOUND), "not found");
}

static void budgets_hold_at_every_level(void)
{
    sf_budget whole = {.limit_bytes = 100}, part = {.limit_bytes = 80, .parent = &whole};
    sf_budget other = {.parent = &whole};
    CHECK(sf_budget_charge(&part, 80));
    CHECK(!sf_budget_charge(&part, 1));
    CHECK(sf_budget_charge(&other, 20));
    CHECK(!sf_budget_charge(&other, 1)); /* the parent is full: nothing was charged anywhere */
    CHECK_INT(other.used_bytes, 20);
    sf_budget_release(&part, 80);
    CHECK_INT(whole.used_bytes, 20);
    CHECK(sf_budget_charge(&other, 80));
}

static void arenas_keep_to_their_limit(void)
{
    sf_arena arena;
    sf_arena_init(&arena, 64 * 1024);
    char *text = sf_arena_printf(&arena, "%s-%d", "x", 7);
    REQUIRE(text);
    CHECK_STR(text, "x-7");
    CHECK_INT((uintptr_t)sf_arena_alloc(&arena, 3) % 16, 0);
    CHECK(!sf_arena_alloc(&arena, 1024 * 1024));
    CHECK(!sf_arena_array(&arena, SIZE_MAX / 2, 8));
    sf_arena_reset(&arena);
    CHECK(sf_arena_alloc(&arena, 100));
    sf_arena_deinit(&arena);
}

static void buffers_round_trip(void)
{
    sf_buf buf = {0};
    sf_buf_put_u32(&buf, 0xdeadbeef);
    sf_buf_put_u64(&buf, 0x0123456789abcdefULL);
    sf_buf_put_str(&buf, SF_STR("hello"));
    sf_reader in = {.data = (const uint8_t *)buf.data, .len = buf.len};
    CHECK_INT(sf_read_u32(&in), 0xdeadbeef);
    CHECK(sf_read_u64(&in) == 0x0123456789abcdefULL);
    CHECK(sf_str_eq(sf_read_str(&in), SF_STR("hello")));
    CHECK(!in.failed);
    CHECK_INT(sf_read_u32(&in), 0);
    CHECK(in.failed);
    sf_buf_deinit(&buf);
    uint8_t lying[] = {0xff, 0xff, 0xff, 0xff, 'a'}; /* a text longer than what is there */
    in = (sf_reader){.data = lying, .len = sizeof lying};
    CHECK_INT(sf_read_str(&in).len, 0);
    CHECK(in.failed);
}

static void buffers_fail_once_and_for_all(void)
{
    sf_buf buf = {0};
    sf_alloc_fail_after(1);
    sf_buf_puts(&buf, "lost");
    sf_alloc_fail_after(0);
    CHECK(buf.failed);
    sf_buf_puts(&buf, "lost too");
    CHECK_INT(buf.len, 0);
    sf_buf_clear(&buf);
    sf_buf_puts(&buf, "kept");
    CHECK_STR(buf.data, "kept");
    sf_buf_deinit(&buf);
}

static void arithmetic_at_the_ends(void)
{
    CHECK_INT(sf_floor_div(-1, 5000), -1);
    CHECK_INT(sf_floor_div(-5000, 5000), -1);
    CHECK_INT(sf_floor_div(-5001, 5000), -2);
    CHECK_INT(sf_floor_div(4999, 5000), 0);
    CHECK(sf_sat_add(INT64_MAX, 1) == INT64_MAX);
    CHECK(sf_sat_add(INT64_MIN, -1) == INT64_MIN);
    CHECK_INT(sf_sat_add(-3, 5), 2);
}

static void checksums_are_the_known_ones(void)
{
    /* RFC 3720, B.4: 32 bytes of zeroes, and the ascending bytes 0..31 */
    uint8_t zeroes[32] = {0}, ascending[32];
    for (int i = 0; i < 32; i++)
        ascending[i] = (uint8_t)i;
    CHECK_INT(sf_crc32c(0, zeroes, 32), 0x8a9136aa);
    CHECK_INT(sf_crc32c(0, ascending, 32), 0x46dd794e);
    CHECK_INT(sf_crc32c(sf_crc32c(0, ascending, 10), ascending + 10, 22), 0x46dd794e);
}

static char log_line[1024];
static void keep_line(void *self, sf_log_level level, const char *component, const char *line)
{
    SF_UNUSED(self);
    SF_UNUSED(level);
    SF_UNUSED(component);
    snprintf(log_line, sizeof log_line, "%s", line);
}

static void logs_stay_on_one_line(void)
{
    sf_log log = {.min_level = SF_LOG_INFO, .write = keep_line};
    sf_log_write(&log, SF_LOG_WARN, "t", "a name\nwith \"a\" line\tend");
    CHECK_STR(log_line, "a name with \"a\" line end");
    sf_log_write(&log, SF_LOG_DEBUG, "t", "below the level");
    CHECK_STR(log_line, "a name with \"a\" line end");
    sf_log_write(NULL, SF_LOG_ERROR, "t", "nowhere");
}

static bool count_name(void *arg, const char *name)
{
    SF_UNUSED(name);
    ++*(int *)arg;
    return true;
}

static void the_disk_replaces_and_locks(void)
{
    char dir[] = "/tmp/sf-base-XXXXXX", path[64];
    REQUIRE(mkdtemp(dir));
    sf_disk disk = sf_disk_system();
    sf_error err = {0};
    snprintf(path, sizeof path, "%s/a/b", dir);
    REQUIRE_OK(disk.make_dir(disk.self, path, &err), err);
    REQUIRE_OK(disk.make_dir(disk.self, path, &err), err); /* again is fine */
    CHECK(disk.make_dir(disk.self, "", &err) == SF_INVALID);
    CHECK_STR(err.message, "the directory has an empty name");
    snprintf(path, sizeof path, "%s/a/file", dir);
    REQUIRE_OK(sf_disk_replace(&disk, path, "old", 3, &err), err);
    REQUIRE_OK(sf_disk_replace(&disk, path, "newer", 5, &err), err);
    sf_buf text = {0};
    REQUIRE_OK(sf_disk_read_all(&disk, path, 100, &text, &err), err);
    CHECK_STR(text.data, "newer");
    CHECK_INT(sf_disk_read_all(&disk, path, 4, &text, &err), SF_LIMIT);
    sf_buf_deinit(&text);
    sf_file *first, *second;
    REQUIRE_OK(disk.open(disk.self, path, 0, &first, &err), err);
    REQUIRE_OK(disk.open(disk.self, path, 0, &second, &err), err);
    CHECK_INT(disk.lock(disk.self, first, &err), SF_OK);
    CHECK_INT(disk.lock(disk.self, second, &err), SF_CONFLICT);
    disk.close(disk.self, first);
    CHECK_INT(disk.lock(disk.self, second, &err), SF_OK);
    disk.close(disk.self, second);
    CHECK_INT(disk.open(disk.self, "/nonexistent/file", 0, &first, &err), SF_NOT_FOUND);
    int names = 0;
    snprintf(path, sizeof path, "%s/a", dir);
    REQUIRE_OK(disk.list(disk.self, path, count_name, &names, &err), err);
    CHECK_INT(names, 2); /* the file and the directory; no leftover of the replacement */
    snprintf(path, sizeof path, "%s/a/file", dir);
    CHECK_INT(disk.remove(disk.self, path, &err), SF_OK);
    snprintf(path, sizeof path, "%s/a/b", dir);
    CHECK_INT(disk.remove(disk.self, path, &err), SF_OK);
    snprintf(path, sizeof path, "%s/a", dir);
    CHECK_INT(disk.remove(disk.self, path, &err), SF_OK);
    CHECK_INT(disk.remove(disk.self, dir, &err), SF_OK);
}

static const sf_case cases[] = {
    SF_CASE(errors_cut_at_characters),    SF_CASE(errors_take_context),
    SF_CASE(budgets_hold_at_every_level), SF_CASE(arenas_keep_to_their_limit),
    SF_CASE(buffers_round_trip),          SF_CASE(buffers_fail_once_and_for_all),
    SF_CASE(arithmetic_at_the_ends),      SF_CASE(checksums_are_the_known_ones),
    SF_CASE(logs_stay_on_one_line),       SF_CASE(the_disk_replaces_and_locks),
};
SF_RUN("base", cases)
