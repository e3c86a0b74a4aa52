/* check.h: the smallest unit-test frame. A test program lists its cases with SF_CASE and ends
 * with SF_RUN; it prints one line a failure and "N passed, N failed" last. */
#ifndef SF_TESTS_UNIT_CHECK_H
#define SF_TESTS_UNIT_CHECK_H

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    const char *name;
    void (*run)(void);
} sf_case;

/* Of the case that runs. Weak: the files of one test program share it. */
__attribute__((weak)) int sf_check_failures;

#define CHECK(fact)                                                                                \
    do {                                                                                           \
        if (!(fact)) {                                                                             \
            printf("  %s:%d: %s\n", __FILE__, __LINE__, #fact);                                    \
            sf_check_failures++;                                                                   \
        }                                                                                          \
    } while (0)
#define CHECK_INT(got, want)                                                                       \
    do {                                                                                           \
        long long got_ = (long long)(got), want_ = (long long)(want);                              \
        if (got_ != want_) {                                                                       \
            printf("  %s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #got, got_, want_);      \
            sf_check_failures++;                                                                   \
        }                                                                                          \
    } while (0)
#define CHECK_STR(got, want)                                                                       \
    do {                                                                                           \
        const char *got_ = (got), *want_ = (want);                                                 \
        if (strcmp(got_, want_) != 0) {                                                            \
            printf("  %s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #got, got_, want_);  \
            sf_check_failures++;                                                                   \
        }                                                                                          \
    } while (0)
/* Stops the case: for what the rest of it stands on. */
#define REQUIRE(fact)                                                                              \
    do {                                                                                           \
        if (!(fact)) {                                                                             \
            printf("  %s:%d: %s\n", __FILE__, __LINE__, #fact);                                    \
            sf_check_failures++;                                                                   \
            return;                                                                                \
        }                                                                                          \
    } while (0)
#define REQUIRE_OK(call, err)                                                                      \
    do {                                                                                           \
        if ((call) != SF_OK) {                                                                     \
            printf("  %s:%d: %s: %s\n", __FILE__, __LINE__, #call, (err).message);                 \
            sf_check_failures++;                                                                   \
            return;                                                                                \
        }                                                                                          \
    } while (0)

static inline int sf_run_cases(const char *suite, const sf_case *cases, size_t count)
{
    int failed = 0;
    for (size_t i = 0; i < count; i++) {
        sf_check_failures = 0;
        cases[i].run();
        if (sf_check_failures) {
            printf("%s: %s failed\n", suite, cases[i].name);
            failed++;
        }
    }
    printf("%d passed, %d failed\n", (int)count - failed, failed);
    return failed ? 1 : 0;
}
#define SF_CASE(function)                                                                          \
    {                                                                                              \
#function, function                                                                        \
    }
#define SF_RUN(name, cases)                                                                        \
    int main(void)                                                                                 \
    {                                                                                              \
        return sf_run_cases(name, cases, SF_COUNT_OF(cases));                                      \
    }

#endif
