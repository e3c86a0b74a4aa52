/* group.h: the inside of a consistency group. Private to the module. */
#ifndef SF_ENGINE_GROUP_H
#define SF_ENGINE_GROUP_H

#include "engine/engine.h"

typedef struct {
    char *name;
    const sf_log_reader *reader;
    uint64_t target; /* of the epoch that runs */
} sf_group_source;

typedef struct {
    bool is_source;
    bool attached; /* tables: the rows so far have been taken in */
    uint32_t id;
    uint64_t position;     /* sources: next row */
    int64_t mark;          /* sources: watermark there, SF_MARK_NONE: none known */
    sf_snapshot *snapshot; /* while attaching */
    sf_snapshot_cursor cursor;
} sf_input_state;

typedef enum {
    SF_STAGE_BEGIN,
    SF_STAGE_FEED, /* input number `input` is being pushed */
    SF_STAGE_FINISH,
} sf_member_stage;

typedef struct {
    bool used;
    char *name;
    const sf_plan *plan;
    sf_circuit *circuit;
    sf_input_state *inputs;
    sf_member_info info;
    sf_member_stage stage;
    uint32_t input;
    bool feeding;      /* the circuit has work of the current push left */
    bool fresh;        /* has not finished an epoch yet */
    uint64_t *written; /* per arrangement: version of the last durable image */
} sf_group_member_state;

struct sf_group {
    SF_VEC(sf_group_source) sources;
    SF_VEC(sf_group_member_state) members; /* readers come after what they read */
    uint64_t epoch;
    int64_t now_ms;
    bool running;
    uint32_t current; /* member whose turn it is */
};

/* What identifies a query in a checkpoint. */
uint64_t sf_plan_fingerprint(const sf_plan *plan);

#endif
