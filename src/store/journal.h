/* journal.h: the insides of a journal, shared by opening, appending and reading it. */
#ifndef SF_STORE_JOURNAL_H
#define SF_STORE_JOURNAL_H

#include "store/segment.h"

#include <pthread.h>

struct sf_journal {
    sf_disk disk;
    sf_clock clock;
    char *dir;
    sf_journal_options options;

    pthread_mutex_t lock;
    pthread_cond_t synced;
    /* All below is guarded by lock, except what the thread that set `syncing` owns meanwhile:
     * file, writing, path, and the last segment's size (it changes only under lock). */
    SF_VEC(sf_segment) segments; /* ascending; the last one is written to */
    sf_file *file;               /* of the last segment; NULL while there is none */
    sf_buf path;                 /* scratch */
    sf_buf pending, writing;     /* records appended; records being written */
    uint64_t pending_first;      /* position of the first pending record */
    uint64_t next_position, durable_position;
    uint64_t appended_lsn, durable_lsn;
    uint64_t hold;
    bool empty; /* nothing was ever appended */
    bool syncing;
    bool removal_unsynced; /* the name of a removed segment may come back */
    bool promised;         /* somebody was told to call sf_journal_sync_waiters */
    sf_journal_waiter *waiters, *waiters_last;
    sf_error failure; /* status other than SF_OK: the journal has stopped */
};

/* Finds and checks the segments of the directory, cuts a torn tail, opens the last for writing. */
sf_status sf_journal_recover(sf_journal *journal, sf_error *err);
/* A new last segment that starts at first_position, its header and its name durable. */
sf_status sf_journal_start_segment(sf_journal *journal, uint64_t first_position, sf_error *err);

#endif
