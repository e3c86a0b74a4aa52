/* internal.h: the parts of the runtime and how they hold together. Private to the module.
 *
 *   sf_feed    a source at run time: its log in memory, its journal, its driver
 *   sf_cell    a consistency group with the actor that drives it and its checkpoints
 *   sf_query   a running query: a member of a cell
 *   sf_topic   who listens to one entity
 *   sf_state   one checkpoint file
 *
 * Locks are taken in this order: control, cell, state, runtime, feed, topic, sub. control serialises
 * starts and stops, which may take long; the runtime's lock guards the lists and is held shortly. */
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
void sf_topic_tell_state(sf_topic *topic, const char *state);
static inline bool sf_topic_heard(const sf_topic *topic)
{
    return atomic_load_explicit(&topic->listeners, memory_order_acquire) > 0;
}
sf_frame *sf_frame_new(void);

/* ---- feeds (feed.c, driver.c, push.c) ---- */

/* A cell that reads a feed. Positions are written by the cell, under the feed's lock. */
struct sf_reader_slot {
    sf_feed *feed;
    sf_cell *cell;
    uint32_t source;   /* number in the cell's group */
    sf_schema *schema; /* the feed's when it was opened: most rows on disk have it */
    sf_log_reader reader;
    uint64_t needed;  /* least position any of the cell's members still has to read */
    uint64_t durable; /* the same as of the cell's last checkpoint */
    /* reading behind the memory, on the cell's thread only */
    sf_journal_cursor *cursor;
    uint64_t cursor_next;
    uint64_t skipped; /* positions that were let go before they were read */
};

typedef struct sf_push sf_push;

struct sf_feed {
    sf_runtime *runtime;
    char *name;
    const sf_source_kind *kind;
    sf_schema *schema;
    sf_arena settings; /* texts of config and ingest */
    sf_source_config config;
    sf_ingest_config ingest;
    int64_t lateness_ms, idle_ms;
    bool journaled, enabled;
    sf_topic *topic;

    pthread_mutex_t lock; /* guards what follows */
    SF_VEC(sf_log_entry) entries;
    size_t head;         /* first entry kept */
    uint64_t first, end; /* positions in memory */
    size_t bytes;
    sf_marker marker;
    sf_journal *journal;
    SF_VEC(sf_reader_slot *) readers;
    int64_t last_arrival_ms; /* wall clock of the last row, 0: none since start */
    int64_t idle_after_ms;   /* of the next idle step, since the last arrival */
    int64_t idle_base;       /* watermark at the last arrival */
    sf_source_stats stats;
    sf_push *waiting; /* pushes of policy Block, oldest first */
    sf_push *waiting_last;

    /* driver, on its actor */
    sf_actor driver;
    sf_timer timer;
    bool driven, polling;  /* driver initialised; a blocking poll is under way */
    pthread_cond_t polled; /* it has ended */
    sf_source *source;
    sf_buf position; /* after the last rows kept */
    sf_poll poll;
    sf_status poll_status;
    sf_error poll_error;
    bool caught_up;
    sf_journal_waiter sync_waiter;
    bool syncing; /* sync_waiter is in use */
};

SF_MUST_USE sf_status sf_feed_new(sf_runtime *runtime, const sf_source_spec *spec, sf_feed **out,
                                  sf_error *err);
void sf_feed_free(sf_feed *feed); /* its driver is stopped, nobody reads it */
/* New settings and columns; kind and journal stay. Its driver is stopped. */
SF_MUST_USE sf_status sf_feed_change(sf_feed *feed, const sf_source_spec *spec, sf_error *err);
SF_MUST_USE sf_status sf_feed_journal_dir(const sf_feed *feed, sf_buf *out, sf_error *err);
/* Where a fresh feed without journal goes on. */
void sf_feed_restore(sf_feed *feed, uint64_t position, int64_t watermark);
/* Appends rows (schema of the feed, reference stays the caller's) or, batch NULL, the marker's
 * watermark. position: the driver's place behind them (data NULL: none). lsn (NULL allowed) is what
 * the journal's commit waits for, 0 without journal. Feed's lock held. */
SF_MUST_USE sf_status sf_feed_append(sf_feed *feed, const sf_batch *batch, sf_str position,
                                     uint64_t *lsn, sf_error *err);
/* Wakes cells and listeners. Without locks. */
void sf_feed_announce(sf_feed *feed, sf_batch *const *batches, uint32_t count,
                      uint64_t first_position);
/* Lets go of entries nobody needs. Lock held. */
void sf_feed_trim(sf_feed *feed);
uint64_t sf_feed_depth(const sf_feed *feed); /* rows not yet read by every cell; lock held */
bool sf_feed_full(const sf_feed *feed);      /* no room in memory; lock held */
uint64_t sf_feed_oldest(sf_feed *feed);      /* readable position; lock held */
void sf_feed_settle(sf_feed *feed, const sf_reader_slot *slot); /* a cell read on: room, holds */
void sf_feed_sync_soon(sf_feed *feed); /* have the journal synced on a thread that may block */
void sf_feed_idle_tick(sf_feed *feed);

sf_reader_slot *sf_feed_open_reader(sf_feed *feed, sf_cell *cell); /* NULL: memory */
void sf_feed_close_reader(sf_reader_slot *slot);

SF_MUST_USE sf_status sf_driver_start(sf_feed *feed, sf_error *err);
void sf_driver_stop(sf_feed *feed);        /* blocks */
void sf_push_retry_waiting(sf_feed *feed); /* room has become free; without locks */

/* ---- state files (state.c) ---- */

struct sf_state {
    char *path;
    sf_ckpt *ckpt;
    pthread_mutex_t lock;
    SF_VEC(char *) members; /* whose state it holds */
    SF_VEC(char *) arrangements;
    SF_VEC(uint32_t) numbers; /* of the arrangements */
    uint64_t epoch;
};

SF_MUST_USE sf_status sf_state_open(sf_runtime *runtime, const char *path, sf_state **out,
                                    sf_error *err);
void sf_state_close(sf_state *state);
/* The file that holds a query's newest state; NULL: none. Control's lock held. */
sf_state *sf_state_of(sf_runtime *runtime, const char *member);
/* One transaction; the sources of the cell are synced before. Blocks. */
SF_MUST_USE sf_status sf_state_write(sf_state *state, sf_cell *cell, const sf_image *image,
                                     bool whole, sf_error *err);
SF_MUST_USE sf_status sf_state_forget(sf_state *state, const char *member, sf_error *err);
sf_image_source sf_state_source(sf_state *state); /* its lock is held while it is used */
/* Newest position and watermark any file knows of a source without journal. */
void sf_state_find_source(sf_runtime *runtime, const char *name, uint64_t *position,
                          int64_t *watermark);

/* ---- cells and queries (cell.c, query.c) ---- */

struct sf_query {
    char *name, *id;
    sf_plan *plan;
    sf_cell *cell;
    uint32_t member;
    sf_budget budget;
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
    pthread_mutex_t lock;
    pthread_cond_t turn; /* an epoch has ended, or nobody waits for its end any more */
    uint32_t waiting;    /* threads that want to come in between epochs */
    uint32_t refs;       /* under the runtime's lock: the list, and threads that look */
    sf_group *group;
    sf_actor actor;
    sf_timer timer;     /* for checkpoints */
    sf_timer due_timer; /* for rows whose time is up */
    bool started;
    sf_error broken; /* status not SF_OK: its state could not be restored, it does not run */
    SF_VEC(sf_query *) queries;
    SF_VEC(sf_reader_slot *) readers;
    sf_state *state;
    bool writing;     /* an image is being written */
    bool write_whole; /* the next one must be whole */
    sf_image *image;
    uint64_t written_epoch;
    int64_t last_write_ns, last_write_ms;
};

/* In the runtime's list. NULL: out of memory. */
SF_MUST_USE sf_cell *sf_cell_new(sf_runtime *runtime);
/* Out of the list; stopped, empty, gone when nobody looks at it any more. Blocks. */
void sf_cell_retire(sf_cell *cell);
void sf_cell_unref(sf_cell *cell);
/* The cell of a running query, with a reference; NULL: it does not run. */
sf_cell *sf_cell_of(sf_runtime *runtime, const char *name);
sf_query *sf_cell_query(const sf_cell *cell, const char *name); /* inside enter */
/* Enters between two epochs; the group may be changed until leave. Blocks shortly. */
void sf_cell_enter(sf_cell *cell);
void sf_cell_leave(sf_cell *cell);
/* Inside enter: out until the cell has ended an epoch or found nothing to do; false: time is over. */
bool sf_cell_wait_epoch(sf_cell *cell, int64_t deadline_mono_ns);
/* No image is being written, as long as the caller stays inside: members and readers may change. */
void sf_cell_quiet(sf_cell *cell);
void sf_cell_start(sf_cell *cell);
void sf_cell_stop(sf_cell *cell);                             /* blocks; not from workers */
sf_reader_slot *sf_cell_reader(sf_cell *cell, sf_feed *feed); /* existing or new; NULL: memory */
/* Writes a checkpoint and waits for it. Inside enter. */
SF_MUST_USE sf_status sf_cell_checkpoint(sf_cell *cell, sf_error *err);
void sf_cell_publish_state(sf_cell *cell); /* tells listeners of members that failed */

void sf_query_publish(sf_query *query, int64_t now_ms); /* the epoch that has just ended */
void sf_query_free(sf_query *query);
void sf_queries_restore(sf_runtime *runtime); /* before anything runs; control held */

/* ---- the whole ---- */

struct sf_runtime {
    sf_runtime_options options;
    char *sources_dir, *state_dir;
    sf_budget budget;
    pthread_mutex_t control; /* one start or stop at a time */
    pthread_mutex_t lock;    /* guards the lists */
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
sf_feed *sf_runtime_feed(sf_runtime *runtime, const char *name);   /* lock held */
sf_query *sf_runtime_query(sf_runtime *runtime, const char *name); /* lock held */

#endif
