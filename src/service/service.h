/* service.h: the use cases, start to end: parse, authorise, check, apply, report. What the API and the
 * hub offer is decided here; they only translate.
 *
 * Answers  A use case appends one JSON text to answer->body and may set how it differs from the
 *          usual: an HTTP-like status, a retry time, a revision. Errors are sf_status and sf_error.
 * Threads  Everything may be called from any thread. Calls marked "quick" never block and may run on
 *          an event loop; all others may wait for a disk or for the end of an epoch.
 * Memory   Arguments are read during the call. An sf_caller is freed by sf_service_release.
 * Fails    SF_UNAUTHENTICATED, SF_FORBIDDEN (before SF_NOT_FOUND), SF_INVALID and SF_SYNTAX with
 *          place and remedy, SF_CONFLICT, SF_EXISTS, SF_STALE, SF_LIMIT, SF_OVERLOADED. */
#ifndef SF_SERVICE_SERVICE_H
#define SF_SERVICE_SERVICE_H

#include "base/seam.h"
#include "column/column.h"

typedef struct sf_service sf_service;
typedef struct sf_caller sf_caller; /* who asks; NULL: nobody has signed in */

typedef struct {
    const char *dir; /* data directory: created when missing, locked while open */
    const char *name, *version, *rest_url, *grpc_url; /* as /api/meta/instance tells them */
    bool seed_demo;                                   /* into an empty data directory */
    int64_t memory_bytes, journal_bytes, checkpoint_ms, log_bytes, workers; /* 0: the defaults */
    const char *jwt_key, *jwt_issuer, *jwt_audience;                        /* NULL: the defaults */
    uint32_t hash_iterations; /* 0: the default; tests use few */
    sf_disk disk;
    sf_clock clock;
    sf_random random;
    const sf_log *log;
} sf_service_options;

/* Opens everything, restores, starts what is wanted running. */
SF_MUST_USE sf_status sf_service_open(const sf_service_options *options, sf_service **out,
                                      sf_error *err);
/* Every subscription is closed and no call runs any more. A last checkpoint is written. */
void sf_service_close(sf_service *service); /* NULL allowed */
/* A thread of the service that may block runs it. false: too much waits already. Quick. */
bool sf_service_run(sf_service *service, void (*run)(void *arg), void *arg);

typedef struct {
    int http_status; /* 0: as the status says (200, or 204 without a body) */
    sf_buf body;
    uint32_t retry_ms;     /* SF_OVERLOADED: when to try again; 0: not told */
    uint64_t revision;     /* of the definition answered, for an entity tag; 0: none */
    char location[300];    /* of what was created; "" none */
    const char *file_name; /* of a download, lives in the answer; NULL: none */
    char file_name_bytes[160];
} sf_answer;
void sf_answer_deinit(sf_answer *answer);

/* ---- who (quick but for login) ---- */

SF_MUST_USE sf_status sf_service_login(sf_service *service, sf_str body, sf_answer *out,
                                       sf_error *err);
SF_MUST_USE sf_status sf_service_verify(sf_service *service, sf_str token, sf_caller **out,
                                        sf_error *err);
void sf_service_release(sf_caller *caller); /* NULL allowed */
typedef enum { SF_LEVEL_VIEWER, SF_LEVEL_EDITOR, SF_LEVEL_ADMIN } sf_level;
SF_MUST_USE sf_status sf_service_at_least(const sf_caller *caller, sf_level level, sf_error *err);
const char *sf_caller_name(const sf_caller *caller);
SF_MUST_USE sf_status sf_service_environment(sf_service *service, sf_str name, sf_error *err);
SF_MUST_USE sf_status sf_service_me(sf_service *service, const sf_caller *caller, sf_answer *out,
                                    sf_error *err);

/* ---- definitions ---- */

typedef enum { SF_NOUN_SOURCE, SF_NOUN_PIPELINE, SF_NOUN_TABLE } sf_noun;

SF_MUST_USE sf_status sf_service_list(sf_service *service, const sf_caller *caller, sf_noun noun,
                                      sf_answer *out, sf_error *err);
SF_MUST_USE sf_status sf_service_get(sf_service *service, const sf_caller *caller, sf_noun noun,
                                     sf_str key, sf_answer *out, sf_error *err);
SF_MUST_USE sf_status sf_service_create(sf_service *service, const sf_caller *caller, sf_noun noun,
                                        sf_str body, sf_answer *out, sf_error *err);
typedef struct {
    uint64_t if_revision; /* 0: any */
    bool gate_breaking;   /* sources: refuse a change of shape that breaks readers */
} sf_update_options;
SF_MUST_USE sf_status sf_service_update(sf_service *service, const sf_caller *caller, sf_noun noun,
                                        sf_str key, sf_str body, const sf_update_options *options,
                                        sf_answer *out, sf_error *err);
SF_MUST_USE sf_status sf_service_delete(sf_service *service, const sf_caller *caller, sf_noun noun,
                                        sf_str key, uint64_t if_revision, sf_answer *out,
                                        sf_error *err);
SF_MUST_USE sf_status sf_service_start(sf_service *service, const sf_caller *caller, sf_noun noun,
                                       sf_str key, sf_answer *out, sf_error *err);
SF_MUST_USE sf_status sf_service_stop(sf_service *service, const sf_caller *caller, sf_noun noun,
                                      sf_str key, sf_answer *out, sf_error *err);
SF_MUST_USE sf_status sf_service_validate(sf_service *service, const sf_caller *caller,
                                          sf_noun noun, sf_str body, sf_answer *out, sf_error *err);
SF_MUST_USE sf_status sf_service_complete(sf_service *service, const sf_caller *caller,
                                          sf_noun noun, sf_str body, sf_answer *out, sf_error *err);

/* ---- what runs ---- */

SF_MUST_USE sf_status sf_service_rows(sf_service *service, const sf_caller *caller, sf_str key,
                                      int64_t limit, int64_t offset, sf_answer *out, sf_error *err);
SF_MUST_USE sf_status sf_service_results(sf_service *service, const sf_caller *caller, sf_str key,
                                         int64_t limit, sf_answer *out, sf_error *err);
SF_MUST_USE sf_status sf_service_metrics(sf_service *service, const sf_caller *caller, sf_noun noun,
                                         sf_str key, sf_answer *out, sf_error *err);
SF_MUST_USE sf_status sf_service_plan(sf_service *service, const sf_caller *caller, sf_noun noun,
                                      sf_str key, sf_answer *out, sf_error *err);
SF_MUST_USE sf_status sf_service_source_status(sf_service *service, const sf_caller *caller,
                                               sf_str name, sf_answer *out, sf_error *err);

/* A CSV download, piece by piece from one moment's rows. */
typedef struct sf_csv sf_csv;
SF_MUST_USE sf_status sf_service_rows_csv(sf_service *service, const sf_caller *caller, sf_str key,
                                          int64_t limit, int64_t offset, sf_csv **out,
                                          sf_answer *answer, sf_error *err);
SF_MUST_USE sf_status sf_service_results_csv(sf_service *service, const sf_caller *caller,
                                             sf_str key, int64_t limit, sf_answer *out,
                                             sf_error *err);
/* Appends about max_bytes; *more false: that was the last. Quick enough for a loop. */
SF_MUST_USE sf_status sf_csv_take(sf_csv *csv, size_t max_bytes, sf_buf *out, bool *more,
                                  sf_error *err);
void sf_csv_free(sf_csv *csv);

/* ---- ingest ---- */

/* Who pushes: a caller, or the secret of one of the source's keys. done is called once, from any
 * thread, unless the call fails; then the answer is the caller's to give. Quick. */
typedef struct {
    const sf_caller *caller;
    sf_str key;             /* X-SF-Ingest-Key; empty: none */
    sf_str idempotency_key; /* header; the body's wins */
    sf_str body;
} sf_ingest_request;
typedef void (*sf_ingest_done)(void *arg, sf_status status, sf_answer *answer, const sf_error *err);
SF_MUST_USE sf_status sf_service_ingest(sf_service *service, sf_str name,
                                        const sf_ingest_request *request, sf_ingest_done done,
                                        void *arg, sf_answer *answer, sf_error *err);
SF_MUST_USE sf_status sf_service_ingest_status(sf_service *service, const sf_caller *caller,
                                               sf_str name, sf_answer *out, sf_error *err);
SF_MUST_USE sf_status sf_service_keys(sf_service *service, const sf_caller *caller, sf_str name,
                                      sf_answer *out, sf_error *err);
SF_MUST_USE sf_status sf_service_make_key(sf_service *service, const sf_caller *caller, sf_str name,
                                          sf_str body, sf_answer *out, sf_error *err);
SF_MUST_USE sf_status sf_service_revoke_key(sf_service *service, const sf_caller *caller,
                                            sf_str name, sf_str key_id, sf_answer *out,
                                            sf_error *err);

/* ---- about the server ---- */

SF_MUST_USE sf_status sf_service_health(sf_service *service, sf_answer *out, sf_error *err);
SF_MUST_USE sf_status sf_service_instance(sf_service *service, sf_answer *out, sf_error *err);
SF_MUST_USE sf_status sf_service_environments(sf_service *service, const sf_caller *caller,
                                              sf_answer *out, sf_error *err);
SF_MUST_USE sf_status sf_service_transports(sf_service *service, sf_answer *out, sf_error *err);
SF_MUST_USE sf_status sf_service_functions(sf_service *service, sf_answer *out, sf_error *err);

/* ---- listening ---- */

typedef enum { SF_LISTEN_TABLE, SF_LISTEN_PIPELINE, SF_LISTEN_SOURCE, SF_LISTEN_METRICS } sf_listen;
typedef struct sf_listener sf_listener;

/* Quick. wake: as of a subscription (runtime.h). name_out: the resolved name, 256 bytes. */
SF_MUST_USE sf_status sf_service_listen(sf_service *service, const sf_caller *caller,
                                        sf_listen what, sf_str name, void (*wake)(void *arg),
                                        void *arg, sf_listener **out, char *name_out,
                                        sf_error *err);
/* Where events go: begin gives the buffer for the JSON arguments, separated by commas. */
typedef struct {
    sf_buf *(*begin)(void *self, const char *target);
    void (*end)(void *self);
    void *self;
} sf_event_sink;
/* Writes events of about max_bytes; true: more are there. Quick. */
bool sf_listener_take(sf_listener *listener, size_t max_bytes, const sf_event_sink *sink);
void sf_listener_close(sf_listener *listener); /* NULL allowed */

#endif
