/* connect.h: source kinds: how rows reach the platform, one file a kind, one table of them.
 *
 * Owns     the table of kinds, their options and descriptors, schedules and back-off, the synthetic
 *          generator, the limits of ingest. Nothing here runs by itself: a driver polls.
 * Threads  a source and a generator belong to one thread at a time. A source whose kind `blocks`
 *          reads from disk while polled: poll it where blocking is allowed.
 * Memory   texts in a config are read during the call and copied; the schema is referenced; the
 *          port's tables are copied, its log is borrowed until close. Batches in a poll are the
 *          caller's.
 * Fails    SF_INVALID, SF_SYNTAX (configuration, with place and remedy), SF_CORRUPT (a position that
 *          no version wrote), the disk's own; SF_LIMIT when memory is short. A failed poll changes
 *          nothing: the source continues from its last position at the next poll. */
#ifndef SF_CONNECT_CONNECT_H
#define SF_CONNECT_CONNECT_H

#include "base/seam.h"
#include "format/format.h"

/* ---- options: what can be set, described once for checking, forms and masking ------------- */

typedef enum {
    SF_OPTION_STRING,
    SF_OPTION_SECRET, /* a string that is never shown */
    SF_OPTION_TEXT,   /* a string of several lines */
    SF_OPTION_NUMBER, /* whole */
    SF_OPTION_BOOL,
    SF_OPTION_SELECT,
    SF_OPTION_JSON, /* any value, kept as text; not in forms */
} sf_option_type;

typedef struct {
    const char *key;
    sf_option_type type;
    bool required, mono;
    const char *label, *group, *placeholder, *help; /* NULL: none */
    const char *fallback;                           /* as it would be written; NULL: none */
    const char *const *choices;                     /* SELECT: ended by NULL */
    int64_t min, max; /* NUMBER; of strings max is bytes; both 0: the widest */
    size_t offset; /* in the struct that is read: const char *, int64_t, bool, uint32_t, sf_str */
} sf_option;

typedef struct {
    const char *key, *label, *help, *object_key; /* NULL: none */
    bool optional;
} sf_option_group;

typedef struct {
    const sf_option *options;
    uint32_t count;
} sf_option_list;

/* Reads a JSON object into a struct: every option by its offset, absent ones (and null) from the
 * fallback. Refuses unknown keys, wrong types, values out of bounds, naming `place`.key. Empty text
 * and null are an object without members. Strings live in the arena and are never NULL. */
SF_MUST_USE sf_status sf_options_read(sf_option_list list, sf_str object, const char *place,
                                      sf_arena *arena, void *into, sf_error *err);

/* ---- schedules and back-off --------------------------------------------------------------- */

enum { SF_INTERVAL_MS_DEFAULT = 30000, SF_INTERVAL_MS_MIN = 1000 };

typedef struct {
    int64_t interval_ms; /* 0: by the fields below, each a set of bits */
    uint64_t seconds, minutes;
    uint32_t hours, days, months, weekdays; /* days and months from bit 1; Sunday is bit 0 */
} sf_schedule;

/* {"intervalMs": n}, {"cron": "m h d M w"} (or six fields, seconds first; UTC) or "every 30s".
 * Empty text and null: every 30 s. Shorter intervals than a second are a second. */
SF_MUST_USE sf_status sf_schedule_parse(sf_str json, sf_schedule *out, sf_error *err);
/* The first time after after_ms (wall clock). */
int64_t sf_schedule_next_ms(const sf_schedule *schedule, int64_t after_ms);

/* How long to wait after so many failures in a row: 30 s, doubled each time, at most 15 min. */
int64_t sf_backoff_ms(uint32_t failures);

/* ---- what a source is given --------------------------------------------------------------- */

/* The market all generators of one instance show: prices are a function of it and of the time, so
 * that sources agree without sharing anything. Keep it with the catalog: with a new one the prices
 * jump. */
typedef struct {
    uint64_t seed;
    int64_t start_ms; /* wall clock */
} sf_world;

/* The outside, as far as a source may see it. */
typedef struct {
    sf_disk disk;
    sf_clock clock;
    sf_random random;
    const sf_log *log;
    sf_world world;
} sf_source_port;

typedef struct {
    sf_str name;             /* of the source, for messages */
    const sf_schema *schema; /* declared fields, _retract, _ts */
    sf_str fields;           /* the declared FieldDef[] as JSON: shapes of Json columns; or empty */
    sf_str connector;        /* the ConnectorConfig as JSON; empty or null: none */
    sf_str profile;          /* generator: which; empty = generic */
    double events_per_second;
    uint64_t seed; /* generator: 0 = drawn from the port */
    sf_coercion on_misfit;
    bool reject_unknown_fields;
} sf_source_config;

/* ---- what a poll gives -------------------------------------------------------------------- */

typedef struct {
    SF_VEC(sf_batch *) batches; /* in order; the caller takes them or lets reset drop them */
    uint64_t rows;
    sf_buf position;      /* where to go on after these rows: opaque, kept by the driver */
    int64_t next_mono_ns; /* poll again then; not after now: at once; INT64_MAX: never */
    bool caught_up;       /* everything there is has been delivered */
    /* Of this poll: what was found wrong, and the first row error (row 0: none). */
    uint64_t malformed_rows, coercion_failures, dropped_rows;
    sf_row_error first_error;
} sf_poll;
void sf_poll_reset(sf_poll *poll); /* also of one that is all zero */
void sf_poll_deinit(sf_poll *poll);

/* ---- kinds -------------------------------------------------------------------------------- */

typedef enum {
    SF_DELIVERY_LIVE,       /* what was not kept is gone: a restart goes on with new rows */
    SF_DELIVERY_REPLAYABLE, /* goes on exactly behind its position */
    SF_DELIVERY_PUSHED,     /* the sender keeps it until it is acknowledged */
} sf_delivery;

typedef struct sf_source sf_source;

typedef struct {
    const char *name, *label, *help;
    const char *config_property; /* its block in ConnectorConfig; NULL: it has none */
    sf_option_list options;
    const sf_option_group *groups;
    uint32_t group_count;
    sf_delivery delivery;
    bool polled; /* on a schedule */
    bool mapping, can_probe, duplex;
    bool blocks;
    /* NULL open: rows are pushed, nothing is driven. */
    sf_status (*check)(const sf_source_config *config, sf_error *err);
    sf_status (*open)(const sf_source_config *config, sf_str position, const sf_source_port *port,
                      sf_source **out, sf_error *err);
    sf_status (*poll)(sf_source *source, uint32_t budget_rows, sf_poll *out, sf_error *err);
    void (*close)(sf_source *source);
} sf_source_kind;

uint32_t sf_source_kind_count(void);
const sf_source_kind *sf_source_kind_at(uint32_t i);
const sf_source_kind *sf_source_kind_find(sf_str name); /* NULL: there is none */
/* The descriptor of GET /api/transports, one JSON object. */
void sf_source_kind_put_json(const sf_source_kind *kind, sf_buf *out);

/* Everything that open would refuse about the configuration; nothing is opened. */
SF_MUST_USE sf_status sf_source_check(const sf_source_kind *kind, const sf_source_config *config,
                                      sf_error *err);
/* position: of the last poll whose rows were kept; empty: from the start. */
SF_MUST_USE sf_status sf_source_open(const sf_source_kind *kind, const sf_source_config *config,
                                     sf_str position, const sf_source_port *port, sf_source **out,
                                     sf_error *err);
/* At most about budget_rows rows. Never waits for data. A driver that could not keep the rows of a
 * poll closes the source and opens it at the old position. */
SF_MUST_USE sf_status sf_source_poll(sf_source *source, uint32_t budget_rows, sf_poll *out,
                                     sf_error *err);
/* When to poll again after the n-th failure in a row: after the back-off; on a cron schedule at the
 * first slot that is not before it. */
int64_t sf_source_retry_ns(const sf_source *source, uint32_t failures);
void sf_source_close(sf_source *source); /* NULL is allowed */

/* ---- generator, for benchmarks too -------------------------------------------------------- */

typedef struct sf_generator sf_generator;

typedef struct {
    sf_str profile;          /* trades quotes orders json-events multileg lifecycle generic */
    const sf_schema *schema; /* columns by name; those the profile does not have are NULL */
    sf_str fields;           /* as in sf_source_config; generic only */
    uint64_t seed;
    sf_world world;
} sf_generator_options;

/* Row n is a function of seed, n, its time and the world (and, for lifecycle, of the rows before). */
SF_MUST_USE sf_status sf_generator_new(const sf_generator_options *options, sf_generator **out,
                                       sf_error *err);
void sf_generator_free(sf_generator *generator); /* NULL is allowed */
/* The next rows (1..SF_BATCH_ROWS_MAX), with times spread evenly over (from_ms, to_ms]. */
SF_MUST_USE sf_status sf_generator_rows(sf_generator *generator, uint32_t rows, int64_t from_ms,
                                        int64_t to_ms, sf_batch **out, sf_error *err);
/* What a profile's rows hold, for sources declared without fields. false: no such profile. */
bool sf_generator_fields(sf_str profile, const sf_field **fields, uint32_t *count);

/* ---- ingest: limits of what is pushed ----------------------------------------------------- */

typedef enum {
    SF_INGEST_REJECT,      /* refuse the whole batch */
    SF_INGEST_BLOCK,       /* wait, then refuse */
    SF_INGEST_DROP_NEWEST, /* take what fits */
    SF_INGEST_DROP_OLDEST, /* make room */
    SF_INGEST_INLINE,      /* no buffer: wait until it is published */
} sf_ingest_policy;

typedef struct {
    const char *id, *label;
    int64_t created_at_ms, last_used_ms; /* 0: never */
    const char *hash, *salt;
} sf_ingest_key;

typedef struct {
    uint32_t policy; /* sf_ingest_policy */
    int64_t capacity_rows, max_wait_ms, max_batch_rows;
    bool reject_unknown_fields;
    bool durable;                /* on disk before the answer */
    const char *dedup_key_field; /* "": none */
    int64_t dedup_window;        /* keys remembered */
    sf_str keys_json;            /* as read; keys holds the same */
    const sf_ingest_key *keys;
    uint32_t key_count;
} sf_ingest_config;

/* The IngestConfig as JSON; empty or null: all defaults. Strings live in the arena. */
SF_MUST_USE sf_status sf_ingest_config_read(sf_str json, sf_arena *arena, sf_ingest_config *out,
                                            sf_error *err);

#endif
