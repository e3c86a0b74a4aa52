/* engine.h: the one driver. It cuts epochs, feeds circuits from source logs in order, keeps tables
 * that read tables at one moment, and knows how all of it is checkpointed and recovered.
 *
 * Pure: no threads, files or sockets, no clock it was not given. The server, sf, the tests and the
 * benchmarks all drive this one.
 *
 * sf_group   a consistency group: members (tables and pipelines with their circuits) that share
 *            epoch numbers. For each epoch the group fixes a position in every source log; a member
 *            runs the epoch when all its inputs have. A member that fails stalls those that read it
 *            and nobody else.
 * sf_engine  a whole world in one thread: in-memory logs, a simulated clock, one group.
 *
 * Threads  A group or engine belongs to one thread at a time; images and snapshots may leave it.
 * Fails    Errors of one member stay with it (sf_member_info.error); a call fails only when the
 *          group itself cannot go on. */
#ifndef SF_ENGINE_ENGINE_H
#define SF_ENGINE_ENGINE_H

#include "flow/flow.h"
#include "sql/sql.h"

/* ---- source logs ------------------------------------------------------------------------- */

/* Positions count rows; an entry without rows (a watermark or clock reading) takes one position. */
typedef struct {
    uint64_t position; /* of its first row */
    uint32_t count;    /* positions it takes */
    sf_batch *batch;   /* reference of the receiver's; NULL: only a watermark */
    int64_t mark;      /* the source's watermark after the entry, SF_MARK_NONE: none yet */
} sf_log_entry;

typedef struct sf_log_reader {
    uint64_t (*end)(void *self); /* position after the last entry that may be read */
    /* The whole entry that contains position `from` (from < end). SF_STALE: no longer kept. */
    sf_status (*read)(void *self, uint64_t from, sf_log_entry *out, sf_error *err);
    void *self;
} sf_log_reader;

/* A source's watermark: running maximum of _ts minus the lateness, never going back. */
typedef struct {
    int64_t lateness_ms;
    int64_t watermark; /* SF_MARK_NONE until the first row */
} sf_marker;
void sf_marker_init(sf_marker *marker, int64_t lateness_ms);
/* The batch with the watermark as of each row as its marks. NULL: out of memory. */
SF_MUST_USE sf_batch *sf_marker_stamp(sf_marker *marker, const sf_batch *batch);
/* An idle source's watermark moves on; false when it would go back or not move. */
bool sf_marker_advance(sf_marker *marker, int64_t watermark);

/* Visible fields of a source or table, plus the hidden columns a scan of this kind has. */
SF_MUST_USE sf_schema *sf_relation_schema(const sf_field *fields, uint32_t count,
                                          sf_input_kind kind);

/* ---- groups ------------------------------------------------------------------------------ */

typedef struct sf_group sf_group;

SF_MUST_USE sf_group *sf_group_new(void);
void sf_group_free(sf_group *group);

/* The reader stays the caller's and must outlive the group or be dropped before. */
SF_MUST_USE sf_status sf_group_add_source(sf_group *group, const char *name,
                                          const sf_log_reader *reader, uint32_t *out,
                                          sf_error *err);

/* No member reads it any more; its reader may go. Between epochs. */
void sf_group_drop_source(sf_group *group, uint32_t id);

typedef struct {
    bool is_source;
    uint32_t id;       /* source or member number */
    uint64_t position; /* sources: where to begin */
} sf_member_input;

typedef struct {
    const char *name;
    const sf_plan *plan;           /* stays the caller's, must outlive the member */
    const sf_member_input *inputs; /* one for each of the plan's inputs, in their order */
    sf_budget *budget;             /* NULL: unbounded */
} sf_member_spec;

/* Takes part from the next epoch on. An input table's rows so far are its first input. */
SF_MUST_USE sf_status sf_group_add_member(sf_group *group, const sf_member_spec *spec,
                                          uint32_t *out, sf_error *err);
/* Not while it has readers in the group (SF_CONFLICT names one). Between epochs. */
SF_MUST_USE sf_status sf_group_remove_member(sf_group *group, uint32_t id, sf_error *err);
/* What removing would say; nothing is removed. */
SF_MUST_USE sf_status sf_group_check_remove(const sf_group *group, uint32_t id, sf_error *err);

typedef enum {
    SF_GROUP_IDLE,  /* nothing to do until a log grows or a member joins */
    SF_GROUP_MORE,  /* call again */
    SF_GROUP_EPOCH, /* an epoch has ended: outputs may be taken until the next call */
} sf_group_event;

/* Works for about budget_rows. now_ms is recorded as the time of an epoch that begins. */
sf_group_event sf_group_step(sf_group *group, int64_t now_ms, uint64_t budget_rows);

/* Until when an idle group may be left alone: then time alone makes an epoch due. Between epochs.
 * INT64_MAX: no such time. */
int64_t sf_group_due(const sf_group *group);

uint64_t sf_group_epoch(const sf_group *group); /* the last finished one; 0: none */
bool sf_group_between_epochs(const sf_group *group);
/* Raise the number of the next epoch to at least `epoch` (groups that merge). */
void sf_group_raise_epoch(sf_group *group, uint64_t epoch);

typedef enum { SF_MEMBER_RUNNING, SF_MEMBER_FAILED, SF_MEMBER_STALLED } sf_member_state;
typedef struct {
    sf_member_state state;
    sf_error error;    /* FAILED; STALLED: which input */
    uint64_t frontier; /* last epoch it finished */
} sf_member_info;
void sf_group_member(const sf_group *group, uint32_t id, sf_member_info *out);
sf_circuit *sf_group_circuit(sf_group *group, uint32_t id);
/* Position of the next row it will take from its i-th input (a source). */
uint64_t sf_group_position(const sf_group *group, uint32_t id, uint32_t input);
/* Net change of the epoch that has just ended; owned by the circuit. */
uint32_t sf_group_output_count(const sf_group *group, uint32_t id);
const sf_batch *sf_group_output(const sf_group *group, uint32_t id, uint32_t i);

/* ---- checkpoints ------------------------------------------------------------------------- */

/* A consistent cut of a group between two epochs; may be written by another thread. */
typedef struct sf_image sf_image;

typedef struct {
    sf_status (*put_blob)(void *self, const char *key, const void *bytes, size_t len,
                          sf_error *err);
    /* bytes NULL: the page is gone */
    sf_status (*put_page)(void *self, const char *arrangement, uint32_t page_no, const void *bytes,
                          sf_error *err);
    /* All pages of the arrangement go: it is written whole after this. NULL allowed. */
    sf_status (*drop_pages)(void *self, const char *arrangement, sf_error *err);
    void *self;
} sf_image_sink;

typedef struct {
    /* SF_NOT_FOUND when there is none */
    sf_status (*get_blob)(void *self, const char *key, sf_buf *out, sf_error *err);
    sf_status (*each_page)(void *self, const char *arrangement,
                           sf_status (*visit)(void *arg, uint32_t page_no, const void *bytes,
                                              sf_error *err),
                           void *arg, sf_error *err);
    void *self;
} sf_image_source;

SF_MUST_USE sf_status sf_image_take(sf_group *group, sf_image **out, sf_error *err);
void sf_image_free(sf_image *image);
/* Pages changed since the last image that was reported done, since loading, or (never written, or
 * whole) all of them. */
SF_MUST_USE sf_status sf_image_write(const sf_image *image, bool whole, const sf_image_sink *sink,
                                     sf_error *err);
/* The image is durable: the next one may build on it. On the group's thread. */
void sf_image_done(sf_group *group, const sf_image *image);
/* Least position any member still needs of this source: what lies before may be forgotten once the
 * image is durable. A member that has stopped needs nothing. UINT64_MAX: nobody reads it. */
uint64_t sf_image_position(const sf_image *image, const char *source_name);
/* Of a member's blob ("member:<name>"): the last epoch it contains, and whether its query reads this
 * source (NULL: not asked). false: not such a blob. */
bool sf_image_describe(sf_str blob, const char *source_name, uint64_t *frontier, bool *reads);

/* Restores every new member of the group that the image holds with the same query and whose input
 * tables stand at the very epoch it contains; the others stay as they are. restored[i] (by member
 * number, may be NULL) is set for those. Between epochs. A member in which an error shows must be
 * removed. */
SF_MUST_USE sf_status sf_group_load(sf_group *group, const sf_image_source *source, bool *restored,
                                    sf_error *err);
/* The next image holds all of a member: it goes to another place than the one it was loaded from. */
void sf_group_rewrite(sf_group *group, uint32_t id);
/* Where a member goes on reading its i-th input, a source whose log no longer has the old place. */
void sf_group_seek(sf_group *group, uint32_t id, uint32_t input, uint64_t position);
/* Takes everything out of another group, which is empty afterwards; both between epochs. The sources
 * of `from` that `into` has by name are one. members[i] is the new number of from's member i. */
SF_MUST_USE sf_status sf_group_absorb(sf_group *into, sf_group *from, uint32_t *members,
                                      sf_error *err);
uint32_t sf_group_member_count(const sf_group *group); /* numbers are below */

/* ---- a world in one thread ---------------------------------------------------------------- */

typedef struct sf_engine sf_engine;

SF_MUST_USE sf_engine *sf_engine_new(void);
void sf_engine_free(sf_engine *engine);
/* append_only false: rows with weights below 0 may be pushed. */
SF_MUST_USE sf_status sf_engine_add_source(sf_engine *engine, const char *name,
                                           const sf_field *fields, uint32_t count,
                                           int64_t lateness_ms, bool append_only, sf_error *err);
/* diagnostics may be NULL. */
SF_MUST_USE sf_status sf_engine_add_query(sf_engine *engine, const char *name, sf_plan_kind kind,
                                          sf_str sql, sf_diagnostics *diagnostics, sf_error *err);
/* Visible and hidden columns of a source: fields, _retract, _ts. NULL: unknown name. */
const sf_schema *sf_engine_source_schema(const sf_engine *engine, const char *name);
const sf_plan *sf_engine_plan(const sf_engine *engine, const char *name);
sf_circuit *sf_engine_circuit(sf_engine *engine, const char *name);
/* batch of the source's schema; kept by reference until every query has read it. */
SF_MUST_USE sf_status sf_engine_push(sf_engine *engine, const char *source, const sf_batch *batch,
                                     sf_error *err);
/* Moves a source's event time without a row; SF_MARK_END closes every window. */
SF_MUST_USE sf_status sf_engine_watermark(sf_engine *engine, const char *source, int64_t watermark,
                                          sf_error *err);
void sf_engine_set_now(sf_engine *engine, int64_t now_ms);
int64_t sf_engine_now(const sf_engine *engine);
/* Until nothing is left to do. Each epoch's outputs go to on_output (NULL: dropped); it borrows the
 * batch. Fails when a query has failed. */
SF_MUST_USE sf_status sf_engine_run(sf_engine *engine,
                                    void (*on_output)(void *arg, const char *query,
                                                      const sf_batch *batch),
                                    void *arg, sf_error *err);
/* A table's rows; columns as its plan's schema. */
SF_MUST_USE sf_snapshot *sf_engine_snapshot(sf_engine *engine, const char *table);
/* Checkpoint everything, throw the running state away, restore: nothing may change. */
SF_MUST_USE sf_status sf_engine_restart(sf_engine *engine, sf_error *err);

#endif
