/* tests.h: the parts of this test program, and what they share. */
#ifndef SF_TESTS_UNIT_STORE_TESTS_H
#define SF_TESTS_UNIT_STORE_TESTS_H

#include "memory_disk.h"
#include "store/store.h"
#include "unit/check.h"

#include <stdatomic.h>

int run_db_cases(void);
int run_ckpt_cases(void);
int run_journal_cases(void);
int run_journal_crash_cases(void);
int run_commit_cases(void);

/* A directory of its own on the real disk. */
typedef struct {
    sf_disk disk;
    char path[64];
} scratch;
scratch scratch_make(void);
void scratch_remove(const scratch *dir);
sf_buf scratch_path(const scratch *dir, const char *name);

/* A clock that stands still until told otherwise. */
typedef struct {
    int64_t now_ms;
} still_clock;
sf_clock still_clock_seam(still_clock *clock);

#endif
