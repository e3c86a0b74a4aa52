/* vfs.h: SQLite's view of an sf_disk. One registration a database, because the disk hangs from it.
 */
#ifndef SF_STORE_VFS_H
#define SF_STORE_VFS_H

#include "base/seam.h"

#include <sqlite3.h>

typedef struct sf_vfs {
    sqlite3_vfs methods; /* first: SQLite passes its address around */
    sf_disk disk;
    char name[32];
    /* Of the last call that failed. SQLite's own codes cannot carry the cause. */
    sf_error failure;
} sf_vfs;

SF_MUST_USE sf_status sf_vfs_register(const sf_disk *disk, sf_vfs **out, sf_error *err);
void sf_vfs_unregister(sf_vfs *vfs); /* every database opened with it is closed; NULL is allowed */

/* Makes the name of a file durable: syncs the directory it is in. */
sf_status sf_vfs_sync_name(const sf_disk *disk, const char *path, sf_error *err);

#endif
