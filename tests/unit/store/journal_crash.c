/* Journals across crashes: whatever was acknowledged is there, what is there is what was written. */
#include "tests.h"

#define DIR "d/j"

enum { ENTRY_BYTES_MAX = 900 };

/* The payload of an entry is a function of its position, so that every reader can check it. */
static sf_str payload_of(uint64_t position, char *space)
{
    sf_rng rng = {position};
    size_t len = (size_t)sf_rng_below(&rng, ENTRY_BYTES_MAX);
    for (size_t i = 0; i < len; i++)
        space[i] = (char)sf_rng_next(&rng);
    return (sf_str){space, len};
}

typedef struct {
    uint64_t appended, durable; /* positions */
} outcome;

static sf_status write_some(sf_journal *journal, sf_rng *rng, int steps, outcome *out,
                            sf_error *err)
{
    char space[ENTRY_BYTES_MAX];
    uint64_t lsn;
    for (int i = 0; i < steps; i++) {
        uint64_t first = out->appended;
        sf_entry entry = {
            .kind = SF_ENTRY_ROWS,
            .first_position = first,
            .count = 1 + (uint32_t)sf_rng_below(rng, 3),
            .payload = payload_of(first, space),
        };
        SF_TRY(sf_journal_append(journal, &entry, &lsn, err));
        out->appended += entry.count;
        if (sf_rng_below(rng, 3) == 0) {
            SF_TRY(sf_journal_commit(journal, lsn, err));
            out->durable = out->appended;
        }
    }
    return SF_OK;
}

/* Every entry from the first kept position to the end. */
static void check_content(sf_journal *journal)
{
    sf_journal_info info = sf_journal_inspect(journal);
    sf_journal_cursor *cursor = NULL;
    char space[ENTRY_BYTES_MAX];
    uint64_t position = info.first_position;
    sf_entry entry;
    bool more = true;
    sf_error err;
    REQUIRE_OK(sf_journal_read_from(journal, position, &cursor, &err), err);
    while (more) {
        REQUIRE_OK(sf_journal_next(cursor, &entry, &more, &err), err);
        if (!more)
            break;
        CHECK_INT(entry.first_position, position);
        CHECK(sf_str_eq(entry.payload, payload_of(position, space)));
        position += entry.count;
    }
    if (!info.empty)
        CHECK_INT(position, info.durable_position);
    sf_journal_cursor_close(cursor);
}

/* Crashes twice: at the at-th change, and at a drawn one of the second life. */
static bool live_and_crash(uint64_t at, uint64_t seed)
{
    sf_rng rng = {seed * 1000003 + at};
    memory_disk *memory = memory_disk_new();
    sf_disk disk = memory_disk_seam(memory);
    still_clock time = {1000};
    sf_clock clock = still_clock_seam(&time);
    sf_journal_options options = {.segment_bytes = 3000};
    outcome out = {0};
    sf_error err;
    bool failed = false;
    if (seed % 2)
        options.retain_bytes = 9000;
    memory_disk_fail_at(memory, at, SF_IO);
    for (int life = 0; life < 3; life++) {
        sf_journal *journal = NULL;
        sf_status status = sf_journal_open(&disk, &clock, DIR, &options, &journal, &err);
        if (status == SF_OK) {
            sf_journal_info info = sf_journal_inspect(journal);
            uint64_t next = info.empty ? 0 : info.next_position;
            CHECK(next >= out.durable && next <= out.appended);
            CHECK(seed % 2 || info.empty || info.first_position == 0);
            check_content(journal);
            out = (outcome){next, next};
            status = write_some(journal, &rng, 25, &out, &err);
            sf_journal_close(journal);
        }
        CHECK(status == SF_OK || status == SF_IO);
        if (status == SF_CORRUPT)
            printf("  at %d, seed %d: %s\n", (int)at, (int)seed, err.message);
        failed |= life == 0 && status != SF_OK;
        memory_disk_crash(memory, seed + (uint64_t)life);
        if (life == 0)
            memory_disk_fail_at(memory, 1 + sf_rng_below(&rng, 60), SF_IO);
    }
    memory_disk_free(memory);
    return failed;
}

static void acknowledged_entries_survive(void)
{
    bool failed = true;
    uint64_t at = 1;
    for (; failed && at < 500 && !sf_check_failures; at++) {
        failed = false;
        for (uint64_t seed = 0; seed < 24; seed++)
            failed |= live_and_crash(at, seed);
    }
    CHECK(at > 20 && at < 500);
}

int run_journal_crash_cases(void)
{
    static const sf_case cases[] = {SF_CASE(acknowledged_entries_survive)};
    return sf_run_cases("journal crash", cases, SF_COUNT_OF(cases));
}
