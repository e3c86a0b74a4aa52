/* memory_disk.h: a disk in memory that can fail, and that loses at a crash what was not synced.
 *
 * What survives a crash is drawn from a seed: of every file the synced bytes, and of the writes and
 * truncations after the last sync any subset of their sectors, in order; of every directory the
 * synced names, and any subset of the changes since. */
#ifndef SF_TESTS_UNIT_MEMORY_DISK_H
#define SF_TESTS_UNIT_MEMORY_DISK_H

#include "base/seam.h"

typedef struct memory_disk memory_disk;

memory_disk *memory_disk_new(void);
void memory_disk_free(memory_disk *disk);
sf_disk memory_disk_seam(memory_disk *disk);

/* The n-th change (write, sync, truncate, remove, rename, sync_dir, file made; 1 = the next) fails
 * with status, and so do all later ones; 0 = never. */
void memory_disk_fail_at(memory_disk *disk, uint64_t n, sf_status status);
uint64_t memory_disk_changes(const memory_disk *disk); /* since new, failed ones too */
/* Open files are gone: close them first. */
void memory_disk_crash(memory_disk *disk, uint64_t seed);

/* Straight access, for damage; NULL when the file is missing. Counts as synced. */
uint8_t *memory_disk_bytes(memory_disk *disk, const char *path, size_t *len);

#endif
