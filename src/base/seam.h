/* seam.h: the outside world as tables of functions: clock, disk, randomness. Production, tests and
 * the simulator each bring their own; nothing above reaches the operating system for these.
 *
 * Threads  Every function may be called from any thread.
 * Fails    Disk calls: SF_IO, SF_NOT_FOUND, SF_EXISTS, SF_LIMIT (disk full), SF_CONFLICT (lock
 * held). */
#ifndef SF_BASE_SEAM_H
#define SF_BASE_SEAM_H

#include "base/base.h"

typedef struct sf_clock {
    int64_t (*wall_ms)(void *self); /* milliseconds since 1970-01-01 UTC; may jump */
    int64_t (*mono_ns)(void *self); /* nanoseconds since some start; never goes back */
    void *self;
} sf_clock;
static inline int64_t sf_clock_wall_ms(const sf_clock *clock)
{
    return clock->wall_ms(clock->self);
}
static inline int64_t sf_clock_mono_ns(const sf_clock *clock)
{
    return clock->mono_ns(clock->self);
}
sf_clock sf_clock_system(void);

typedef struct sf_random {
    void (*fill)(void *self, void *bytes, size_t len);
    void *self;
} sf_random;
sf_random sf_random_system(void); /* getrandom(2): fit for keys and salts */

/* Deterministic generator for synthetic data and tests (splitmix64); never for secrets. */
typedef struct {
    uint64_t state;
} sf_rng;
uint64_t sf_rng_next(sf_rng *rng);
uint64_t sf_rng_below(sf_rng *rng, uint64_t n); /* uniform on 0..n-1, n > 0 */
double sf_rng_unit(sf_rng *rng);                /* uniform on [0,1) */

typedef struct sf_file sf_file;

enum {
    SF_OPEN_CREATE = 1,    /* create when missing */
    SF_OPEN_EXCLUSIVE = 2, /* with CREATE: SF_EXISTS when it is there */
    SF_OPEN_READONLY = 4,
    SF_OPEN_TRUNCATE = 8,
};

typedef struct sf_disk {
    sf_status (*open)(void *self, const char *path, unsigned flags, sf_file **out, sf_error *err);
    void (*close)(void *self, sf_file *file);
    /* Reads up to len bytes at offset; *got is short only at the end of the file. */
    sf_status (*read)(void *self, sf_file *file, void *bytes, size_t len, uint64_t offset,
                      size_t *got, sf_error *err);
    sf_status (*write)(void *self, sf_file *file, const void *bytes, size_t len, uint64_t offset,
                       sf_error *err);
    sf_status (*sync)(void *self, sf_file *file, sf_error *err); /* data and length are durable */
    sf_status (*truncate)(void *self, sf_file *file, uint64_t size, sf_error *err);
    sf_status (*size)(void *self, sf_file *file, uint64_t *out, sf_error *err);
    /* Advisory exclusive lock for the life of the file: SF_CONFLICT when someone else holds it. */
    sf_status (*lock)(void *self, sf_file *file, sf_error *err);
    sf_status (*remove)(void *self, const char *path, sf_error *err);
    sf_status (*rename)(void *self, const char *from, const char *to, sf_error *err);
    sf_status (*make_dir)(void *self, const char *path, sf_error *err); /* and its parents */
    sf_status (*sync_dir)(void *self, const char *path, sf_error *err); /* names are durable */
    /* Calls visit for every entry but . and .., in no order. visit returning false ends it. */
    sf_status (*list)(void *self, const char *path, bool (*visit)(void *arg, const char *name),
                      void *arg, sf_error *err);
    /* Size in bytes, modification time (ms since 1970) and kind; SF_NOT_FOUND when missing. */
    sf_status (*stat)(void *self, const char *path, uint64_t *size, int64_t *mtime_ms, bool *is_dir,
                      sf_error *err);
    void *self;
} sf_disk;
sf_disk sf_disk_system(void);

/* Whole file into out (appended). SF_LIMIT when longer than max_bytes. */
sf_status sf_disk_read_all(const sf_disk *disk, const char *path, size_t max_bytes, sf_buf *out,
                           sf_error *err);
/* Replace a file so that after a crash it holds the old or the new bytes, never a mixture. */
sf_status sf_disk_replace(const sf_disk *disk, const char *path, const void *bytes, size_t len,
                          sf_error *err);

#endif
