/* internal.h: the parts of the runtime and how they hold together. Private to the module.
 *
 *   sf_feed    a source at run time: its log in memory, its journal, its driver
 *   sf_cell    a consistency group with the actor that drives it and its checkpoints
 *   sf_query   a running query: a member of a cell
 *   sf_topic   who listens to one entity
 *   sf_state   one checkpoint file
 *
 * Locks are taken in this order: control, the turn of a cell, state, runtime, feed, topic, sub. control
 * serialises starts and stops, which may take long; the runtime's lock guards the lists and is held
 * shortly. A turn is not a lock: who waits for one holds none but control (and with control, at most
 * one other turn), and a worker never waits, it comes back when it is woken. No callback of a caller
 * is made under a lock or within a turn, except the wake of a subscription (under its topic's lock). */
#ifndef SF_RUNTIME_INTERNAL_H
#define SF_RUNTIME_INTERNAL_H

#include "runtime/runtime.h"

#include <pthread.h>

typedef struct sf_feed sf_feed;
typedef struct sf_cell sf_cell;
typedef struct sf_query sf_query;
typedef struct sf_topic sf_topic;
typedef struct sf_state sf_state;
typedef struct sf_reader_slot sf_reader_slot;

/* ---- topics and subscriptions (sub.c) ---- */

struct sf_topic {
    sf_runtime *runtime;
    sf_sub_kind kind;
    char *name;
    uint32_t refs;        /* under the runtime's topics_lock */
    pthread_mutex_t lock; /* guards subs */
    SF_VEC(sf_sub *) subs;
    _Atomic uint32_t listeners; /* subs.len, for a look without the lock */
};

sf_topic *sf_topic_get(sf_runtime *runtime, sf_sub_kind kind, const char *name); /* NULL: memory */
void sf_topic_put(sf_topic *topic);
/* Takes the frame. */
void sf_topic_publish(sf_topic *topic, sf_frame *frame);
/* What should have been published and could not be: every listener is told. */
void sf_topic_skip(sf_topic *topic, uint64_t seq_from, uint64_t seq_to, uint64_t rows);
void sf_topic_tell_state(sf_topic *topic, const char *state);
static inline bool sf_topic_heard(const sf_topic *topic)
{
    return atomic_load_explicit(&topic->listeners, memory_order_acquire) > 0;
}
sf_frame *sf_frame_new(void);

/* ---- feeds (feed*.c, driver.c, push.c) ---- */

/* A cell that reads a feed. Positions are written by the cell, under the feed's lock. */
struct sf_reader_slot {
    sf_feed *feed;
    sf_cell *cell;
    uint32_t source;   /* number in the cell's group */
    sf_schema *schema; /* the feed's when it was opened: most rows on disk have it */
    sf_log_reader reader;
    /* least position any of the cell's members still has to read, UINT64_MAX: none reads on */
    uint64_t needed;
    uint64_t durable; /* the same as of the cell's last checkpoint */
    uint64_t behind;  /* while needed is less than this it catches up and holds nobody up */
    /* reading behind the memory, within the cell's turn only */
    sf_journal_cursor *cursor;
    uint64_t cursor_next;
    uint64_t skipped; /* positions that were let go before they were read */
};

enum { SF_FEED_RETRY_NS = 5000000 }; /* until a refused blocking call is tried again */

typedef struct sf_push sf_push;
typedef struct {
    sf_push *first, *last;
    uint64_t rows;
} sf_push_list;

struct sf_feed {
    sf_runtime *runtime;
    char *name;
    const sf_source_kind *kind;
    bool journaled;
    sf_topic *topic;
    /* Tells listeners, answers pushes, drives the source. Lives as long as the feed. */
    sf_actor actor;
    sf_timer timer;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    uint32_t pins; /* threads and jobs that use the feed; it goes when there are none */
    sf_schema *schema;
    sf_arena settings; /* texts of config and ingest */
    sf_source_config config;
    sf_ingest_config ingest;
    int64_t lateness_ms, idle_ms;
    bool enabled;
    SF_VEC(sf_log_entry) entries;
    size_t head;         /* first entry kept */
    uint64_t first, end; /* positions in memory: without holes, and all that is not durable */
    uint64_t told;       /* listeners know what lies before */
    size_t bytes;
    sf_marker marker;
    sf_buf position; /* the driver's place behind the last row kept */
    sf_journal *journal;
    sf_buf scratch; /* of a journal entry */
    SF_VEC(sf_reader_slot *) readers;
    int64_t arrival_ms;    /* monotonic: since when the source has been idle */
    int64_t idle_after_ms; /* of the next idle step, since then */
    int64_t idle_base;     /* watermark then */
    sf_source_stats stats;
    sf_push_list waiting; /* for room (Block) */
    sf_push_list unread;  /* for all who read (Inline) */
    bool syncing;         /* sync_waiter is in use */
    bool sync_due;        /* a sync was promised and could not be submitted */
    uint64_t sync_lsn;    /* newest rows of the driver */

    /* driver */
    bool driven;    /* polls are wanted */
    bool driving;   /* the actor is at it */
    bool polling;   /* a blocking poll is under way */
    bool polled;    /* one has ended, its rows wait to be taken */
    bool want_room; /* it waits for room in the log */
    bool caught_up;
    /* of the actor, or of a blocking poll under way */
    sf_source *source;
    sf_poll poll;
    sf_status poll_status;
    sf_error poll_error;
    int64_t next_poll_ns; /* not before */
    uint32_t poll_rows;
    sf_journal_waiter sync_waiter;
};

SF_MUST_USE sf_status sf_feed_new(sf_runtime *runtime, const sf_source_spec *spec, sf_feed **out,
                                  sf_error *err);
/* Nobody finds it any more, nobody reads it. Waits for who uses it, answers pushes that wait. */
void sf_feed_free(sf_feed *feed);
/* New settings and columns; kind and journal stay. Its driver is stopped. */
SF_MUST_USE sf_status sf_feed_change(sf_feed *feed, const sf_source_spec *spec, sf_error *err);
/* The feed cannot go before unpin; NULL: there is none. */
sf_feed *sf_feed_pin(sf_runtime *runtime, const char *name);
void sf_feed_unpin(sf_feed *feed);
/* Where a fresh feed without journal goes on. */
void sf_feed_restore(sf_feed *feed, uint64_t position, int64_t watermark);
/* Appends rows (schema of the feed, reference stays the caller's) or, batch NULL, the marker's
 * watermark. position: the driver's place behind them. lsn (NULL allowed) is what the journal's
 * commit waits for, 0 without journal. SF_OVERLOADED: the journal has to be synced first. Feed's
 * lock held. */
SF_MUST_USE sf_status sf_feed_append(sf_feed *feed, const sf_batch *batch, sf_str position,
                                     uint64_t *lsn, sf_error *err);
/* After appends: trims, wakes who reads and who listens. Feed's lock held. */
void sf_feed_announce(sf_feed *feed);
uint64_t sf_feed_depth(const sf_feed *feed); /* rows that readers have still to read; lock held */
bool sf_feed_full(const sf_feed *feed);      /* no room in memory; lock held */
uint64_t sf_feed_oldest(sf_feed *feed);      /* readable position; lock held */
void sf_feed_evict(sf_feed *feed, uint64_t rows_max); /* keeps no more unread rows; lock held */
/* A reader has moved, come or gone: room, holds, answers. Lock held. */
void sf_feed_settle(sf_feed *feed);
void sf_feed_idle_tick(sf_feed *feed);

/* feed_journal.c */
typedef struct {
    int64_t before, after; /* watermarks */
    int64_t lateness_ms;
    sf_str position; /* the driver's */
    sf_str rows;     /* packed; empty in a watermark entry */
} sf_feed_entry;
SF_MUST_USE bool sf_feed_entry_read(sf_str payload, sf_feed_entry *out);
SF_MUST_USE sf_status sf_feed_journal_dir(const sf_feed *feed, sf_buf *out, sf_error *err);
SF_MUST_USE sf_status sf_feed_open_journal(sf_feed *feed, sf_error *err);
SF_MUST_USE sf_status sf_feed_write_entry(sf_feed *feed, const sf_log_entry *entry, int64_t before,
                                          sf_str position, uint64_t *lsn, sf_error *err);
void sf_feed_sync_soon(sf_feed *feed); /* what sf_journal_notify asked for; without locks */
void sf_feed_sync_driven(sf_feed *feed, uint64_t lsn); /* rows nobody waits for; without locks */

/* feed_read.c */
/* The entry in memory that contains `from`, with a reference to its batch. Lock held. */
bool sf_feed_find(const sf_feed *feed, uint64_t from, sf_log_entry *out);
sf_reader_slot *sf_feed_open_reader(sf_feed *feed, sf_cell *cell); /* NULL: memory */
/* One more member of the cell reads from here. Lock held. */
void sf_reader_slot_include(sf_reader_slot *slot, uint64_t position);
void sf_feed_close_reader(sf_reader_slot *slot);

void sf_driver_start(sf_feed *feed);
void sf_driver_stop(sf_feed *feed);  /* blocks */
sf_run sf_driver_run(sf_feed *feed); /* a step, on the actor */

/* On the actor: admits pushes that wait for room, answers those whose rows are read, and those whose
 * time is over. Time of the next deadline, INT64_MAX: none. */
int64_t sf_push_settle(sf_feed *feed);
void sf_push_end(sf_feed *feed); /* answers all that are left; the feed's journal is closed */

/* ---- state files (state.c) ---- */

typedef struct {
    char *name;
    uint64_t frontier; /* last epoch its image contains, 0: there is none */
    uint64_t writing;  /* ... once the transaction under way has ended, 0: as before */
} sf_state_member;

struct sf_state {
    sf_runtime *runtime;
    char *path;
    sf_ckpt *ckpt;
    pthread_mutex_t lock; /* guards all but path */
    SF_VEC(sf_state_member) members;
    SF_VEC(char *) arrangements;
    SF_VEC(uint32_t) numbers; /* of the arrangements */
};

SF_MUST_USE sf_status sf_state_open(sf_runtime *runtime, const char *path, sf_state **out,
                                    sf_error *err);
void sf_state_close(sf_state *state);
/* The file that holds a query's newest state; NULL: none. Control's lock held. */
sf_state *sf_state_of(sf_runtime *runtime, const char *name);
/* One transaction; the sources of the cell are synced before. Blocks. */
SF_MUST_USE sf_status sf_state_write(sf_state *state, sf_cell *cell, const sf_image *image,
                                     sf_error *err);
/* A member's image goes. keep_name: the file stays the one its epochs are numbered by. */
SF_MUST_USE sf_status sf_state_forget(sf_state *state, const char *name, bool keep_name,
                                      sf_error *err);
/* The images of all queries that read a source go: it is removed, another may take its name. */
SF_MUST_USE sf_status sf_state_forget_readers(sf_state *state, const char *source, sf_error *err);
/* Loads what this file has of the group's new members, each if this is the newest of it. Control
 * held. */
SF_MUST_USE sf_status sf_state_load(sf_state *state, sf_group *group, bool *restored,
                                    sf_error *err);
/* Of every member only the newest image stays, and no file without members. While opening. */
SF_MUST_USE sf_status sf_states_clean(sf_runtime *runtime, sf_error *err);
/* Newest position and watermark any file knows of a source without journal. */
void sf_state_find_source(sf_runtime *runtime, const char *name, uint64_t *position,
                          int64_t *watermark);

/* ---- cells and queries (cell.c, query.c) ---- */

struct sf_query {
    char *name, *id;
    sf_plan *plan;
    sf_cell *cell;
    uint32_t member;
    sf_budget *budget; /* the runtime's: snapshots may outlive the query */
    sf_topic *topic;
    sf_member_state told;   /* the state listeners know */
    SF_VEC(sf_buf) results; /* pipelines: ring of envelopes */
    size_t results_next;
    int64_t last_change_ms;
    /* rates */
    int64_t sample_ns;
    uint64_t sample_in, sample_out;
    double rate_in, rate_out;
};

enum { SF_RESULTS_KEPT = 100 };

struct sf_cell {
    sf_runtime *runtime;
    sf_actor actor;
    sf_timer timer;     /* for checkpoints */
    sf_timer due_timer; /* for rows whose time is up */
    uint32_t refs;      /* under the runtime's lock: the list, and threads that look */

    pthread_mutex_t lock; /* guards what follows up to the blank line */
    pthread_cond_t turn;  /* the turn is free, an epoch has ended, an image is written */
    bool busy;            /* somebody has the turn */
    bool in_epoch;        /* only the actor may have it */
    bool held_up;         /* the actor came while it was busy, and waits to be woken */
    uint32_t waiting;     /* threads that want the turn */
    uint32_t ahead;       /* of them: those that came before the actor */
    bool started;
    bool writing; /* an image is being written: members and readers stay as they are */
    bool written; /* ... was; the outcome is to be looked at by who has the turn */
    sf_status write_status;
    sf_error write_error;

    /* with the turn; the lists of queries also under the runtime's lock */
    sf_group *group;
    sf_error broken; /* status not SF_OK: its state could not be restored, it does not run */
    SF_VEC(sf_query *) queries;
    SF_VEC(sf_reader_slot *) readers;
    sf_state *state;
    sf_image *image;
    uint64_t written_epoch;
    int64_t last_write_ns, last_write_ms;
};

/* In the runtime's list. NULL: out of memory. */
sf_cell *sf_cell_new(sf_runtime *runtime);
/* Out of the list; stopped, empty, gone when nobody looks at it any more. Blocks. */
void sf_cell_retire(sf_cell *cell);
void sf_cell_unref(sf_cell *cell);
/* The cell of a running query, with a reference; NULL: it does not run. */
sf_cell *sf_cell_of(sf_runtime *runtime, const char *name);
sf_query *sf_cell_query(const sf_cell *cell, const char *name); /* with the turn */
/* Takes the turn between two epochs; the group may be changed until leave. Blocks shortly. */
void sf_cell_enter(sf_cell *cell);
void sf_cell_leave(sf_cell *cell);
bool sf_cell_try_enter(sf_cell *cell); /* false: somebody else has it, or wants it */
/* Gives the turn away until an epoch has ended, or the time is over (false). */
bool sf_cell_wait_epoch(sf_cell *cell, int64_t deadline_mono_ns);
/* With the turn: no image is being written as long as it is kept. */
void sf_cell_quiet(sf_cell *cell);
void sf_cell_start(sf_cell *cell);
void sf_cell_stop(sf_cell *cell);                             /* blocks; not from workers */
sf_reader_slot *sf_cell_reader(sf_cell *cell, sf_feed *feed); /* existing or new; NULL: memory */
/* With the turn: queries have come, moved or gone. Feeds are told what is still read; readers that no
 * query needs go. */
void sf_cell_tell_needs(sf_cell *cell);
void sf_cell_drop_readers(sf_cell *cell);
/* Writes a checkpoint and waits for it. With the turn. */
SF_MUST_USE sf_status sf_cell_checkpoint(sf_cell *cell, sf_error *err);
void sf_cell_sample(sf_cell *cell, int64_t now_ns); /* rates of its queries; with the turn */

void sf_query_publish(sf_query *query, int64_t now_ms);   /* the epoch that has just ended */
void sf_query_free(sf_runtime *runtime, sf_query *query); /* control held; NULL allowed */
/* Out of the lists, not out of its group. With the turn. */
void sf_query_unlist(sf_query *query);
void sf_queries_restore(sf_runtime *runtime); /* before anything runs; control held */

/* ---- the whole ---- */

struct sf_runtime {
    sf_runtime_options options;
    char *sources_dir, *state_dir;
    sf_budget budget;        /* of all queries */
    pthread_mutex_t control; /* one start or stop at a time */
    /* Budgets of queries that are gone: snapshots may still charge them, so they stay, and serve
     * again once nothing is charged. Under control, with room for all that are in use. */
    SF_VEC(sf_budget *) spare_budgets;
    uint32_t budget_count; /* ever made */
    pthread_mutex_t lock;  /* guards the lists */
    SF_VEC(sf_feed *) feeds;
    SF_VEC(sf_cell *) cells;
    SF_VEC(sf_query *) queries;
    SF_VEC(sf_state *) states;
    uint32_t next_state;
    bool started;
    pthread_mutex_t topics_lock;
    SF_VEC(sf_topic *) topics;
    sf_timer tick;
};

static inline int64_t sf_runtime_wall_ms(const sf_runtime *runtime)
{
    return sf_clock_wall_ms(&runtime->options.port.clock);
}
static inline int64_t sf_runtime_mono_ns(const sf_runtime *runtime)
{
    return sf_clock_mono_ns(&runtime->options.port.clock);
}
/* Control held; NULL: memory. */
sf_budget *sf_runtime_take_budget(sf_runtime *runtime);
void sf_runtime_give_budget(sf_runtime *runtime, sf_budget *budget); /* NULL allowed */
sf_feed *sf_runtime_feed(sf_runtime *runtime, const char *name);     /* lock held */
sf_query *sf_runtime_query(sf_runtime *runtime, const char *name);   /* lock held */

#endif
