/* Rows pushed over HTTP: who may, what the body says, what has been seen before, the answer. */
#include "service/internal.h"

#include <stdio.h>

enum {
    IDEMPOTENCY_KEPT = 10000,
    IDEMPOTENCY_KEY_BYTES_MAX = 256,
    DEDUP_DEFAULT = 10000,
    ROW_ERRORS_SHOWN = SF_ROW_ERRORS_MAX,
    RETRY_MS = 1000,
};

/* ---- what has been seen: bounded, first in, first out ---- */

typedef struct {
    uint64_t high, low; /* 128 bits of a value's text */
} digest;

typedef struct {
    digest *ring;    /* in order of arrival */
    uint32_t *table; /* 1 + place in the ring; 0: empty */
    uint32_t cap, slots, next, count;
} seen_set;

struct sf_push_memory {
    char *source;
    seen_set keys;  /* dedup, */
    uint64_t rule;  /* by this field and window */
    seen_set done;  /* idempotency keys */
    char **answers; /* of done.ring, by place; NULL: that push is under way */
};

static digest digest_of(sf_str text)
{
    return (digest){sf_hash_bytes(text.data, text.len, 0x5eed),
                    sf_hash_bytes(text.data, text.len, 0xbead)};
}

static bool seen_init(seen_set *set, uint32_t cap)
{
    uint32_t slots = 16;
    while (slots < cap * 2)
        slots *= 2;
    *set = (seen_set){.ring = sf_calloc(cap, sizeof *set->ring),
                      .table = sf_calloc(slots, sizeof *set->table),
                      .cap = cap,
                      .slots = slots};
    return set->ring && set->table;
}

static void seen_deinit(seen_set *set)
{
    sf_free(set->ring);
    sf_free(set->table);
    *set = (seen_set){0};
}

static uint32_t seen_slot(const seen_set *set, digest key)
{
    uint32_t slot = (uint32_t)key.low & (set->slots - 1);
    while (set->table[slot]) {
        digest there = set->ring[set->table[slot] - 1];
        if (there.high == key.high && there.low == key.low)
            break;
        slot = (slot + 1) & (set->slots - 1);
    }
    return slot;
}

/* Place in the ring; UINT32_MAX: not there. */
static uint32_t seen_find(const seen_set *set, digest key)
{
    if (!set->cap)
        return UINT32_MAX;
    uint32_t entry = set->table[seen_slot(set, key)];
    return entry ? entry - 1 : UINT32_MAX;
}

/* Closes the gap that a removed entry leaves (linear probing). */
static void seen_remove(seen_set *set, digest key)
{
    uint32_t hole = seen_slot(set, key), at = hole, mask = set->slots - 1;
    if (!set->table[hole])
        return;
    for (;;) {
        at = (at + 1) & mask;
        if (!set->table[at])
            break;
        uint32_t home = (uint32_t)set->ring[set->table[at] - 1].low & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            set->table[hole] = set->table[at];
            hole = at;
        }
    }
    set->table[hole] = 0;
}

/* Adds a key that is not there; the oldest goes when it is full. Returns its place. */
static uint32_t seen_add(seen_set *set, digest key)
{
    uint32_t place = set->next;
    if (set->count < set->cap)
        set->count++;
    else if (set->table[seen_slot(set, set->ring[place])] == place + 1) /* not added anew since */
        seen_remove(set, set->ring[place]);
    set->ring[place] = key;
    set->table[seen_slot(set, key)] = place + 1;
    set->next = (place + 1) % set->cap;
    return place;
}

static void free_memory(sf_push_memory *memory)
{
    for (uint32_t i = 0; memory->answers && i < memory->done.cap; i++)
        sf_free(memory->answers[i]);
    sf_free(memory->answers);
    seen_deinit(&memory->keys);
    seen_deinit(&memory->done);
    sf_free(memory->source);
    sf_free(memory);
}

/* Lock held. NULL: out of memory. */
static sf_push_memory *memory_of(sf_service *service, const char *source)
{
    for (size_t i = 0; i < service->memories.len; i++)
        if (strcmp(service->memories.data[i]->source, source) == 0)
            return service->memories.data[i];
    sf_push_memory *memory = sf_calloc(1, sizeof *memory);
    if (!memory)
        return NULL;
    memory->source = sf_strdup(source);
    if (memory->source && SF_VEC_PUSH(&service->memories, memory))
        return memory;
    free_memory(memory);
    return NULL;
}

void sf_push_memory_drop(sf_service *service, const char *source)
{
    pthread_mutex_lock(&service->memory_lock);
    for (size_t i = 0; i < service->memories.len; i++) {
        if (strcmp(service->memories.data[i]->source, source) == 0) {
            free_memory(service->memories.data[i]);
            service->memories.data[i] = service->memories.data[--service->memories.len];
            break;
        }
    }
    pthread_mutex_unlock(&service->memory_lock);
}

void sf_push_memories_free(sf_service *service)
{
    for (size_t i = 0; i < service->memories.len; i++)
        free_memory(service->memories.data[i]);
    SF_VEC_DEINIT(&service->memories);
}

/* ---- the body ---- */

typedef struct {
    sf_str events; /* the array's text */
    bool partial;
    sf_buf idempotency_key;
} push_body;

static sf_status read_body(sf_str text, push_body *out, sf_error *err)
{
    sf_json json;
    sf_json_string key;
    sf_json_init(&json, text);
    if (!sf_json_object_begin(&json)) {
        if (json.problem)
            return sf_json_status(&json, err);
        return sf_fail(err, SF_INVALID, "the body must be an object with \"events\"");
    }
    while (sf_json_object_next(&json, &key)) {
        sf_str value;
        if (!sf_json_skip(&json, &value))
            break;
        if (sf_str_eq(key.raw, SF_STR("events"))) {
            out->events = value;
        } else if (sf_str_eq(key.raw, SF_STR("partial"))) {
            out->partial = sf_str_eq(value, SF_STR("true"));
            if (!out->partial && !sf_str_eq(value, SF_STR("false")) &&
                !sf_str_eq(value, SF_STR("null")))
                return sf_fail(err, SF_INVALID, "\"partial\" must be true or false");
        } else if (sf_str_eq(key.raw, SF_STR("idempotencyKey"))) {
            if (sf_str_eq(value, SF_STR("null")))
                continue;
            if (value.len < 2 || value.data[0] != '"')
                return sf_fail(err, SF_INVALID, "\"idempotencyKey\" must be a text");
            sf_buf_clear(&out->idempotency_key);
            if (!sf_json_unescape((sf_str){value.data + 1, value.len - 2}, &out->idempotency_key))
                return sf_fail_memory(err);
        } else {
            sf_fail(err, SF_INVALID, "unknown member \"%.*s\" in the body",
                    key.raw.len < 64 ? (int)key.raw.len : 64, key.raw.data);
            sf_error_hint(err, "it takes events, partial and idempotencyKey");
            return SF_INVALID;
        }
    }
    if (!json.problem)
        (void)sf_json_finish(&json);
    SF_TRY(sf_json_status(&json, err));
    if (!out->events.data || sf_json_kind_of(out->events) != SF_JSON_ARRAY)
        return sf_fail(err, SF_INVALID, "\"events\" must be an array of objects");
    return SF_OK;
}

/* ---- rows ---- */

typedef struct {
    SF_VEC(sf_batch *) batches;
    uint64_t rows, invalid, duplicate, retractions;
    digest *keys; /* of rows that are kept, to be remembered when they were admitted */
    size_t key_count;
} push_rows;

static void drop_rows(push_rows *rows)
{
    for (size_t i = 0; i < rows->batches.len; i++)
        sf_batch_unref(rows->batches.data[i]);
    SF_VEC_DEINIT(&rows->batches);
    sf_free(rows->keys);
}

static void put_row_errors(const sf_parse_report *report, sf_buf *out)
{
    sf_buf_puts(out, ",\"rowErrors\":[");
    for (uint32_t i = 0; i < report->error_count && i < ROW_ERRORS_SHOWN; i++) {
        sf_buf_printf(out, "%s{\"row\":%llu,\"error\":", i ? "," : "",
                      (unsigned long long)(report->errors[i].row ? report->errors[i].row - 1 : 0));
        sf_put_text(out, report->errors[i].message);
        sf_buf_putc(out, '}');
    }
    sf_buf_putc(out, ']');
}

/* What a refused push is told: the reason, when to come again, which rows. */
static void put_overload(const sf_error *err, uint32_t retry_ms, sf_answer *answer)
{
    sf_buf_clear(&answer->body);
    sf_buf_puts(&answer->body, "{\"error\":");
    sf_put_text(&answer->body, err->message);
    sf_buf_printf(&answer->body, ",\"retryAfterMs\":%u,\"rowErrors\":[]}", retry_ms);
    answer->retry_ms = retry_ms;
    answer->http_status = 429;
}

/* The refusal of a whole batch, with its rows' errors. */
static sf_status refuse_rows(const sf_parse_report *report, uint64_t invalid, sf_answer *answer,
                             sf_error *err)
{
    const char *first = report->error_count ? report->errors[0].message : "a row is not valid";
    sf_fail(err, SF_INVALID, "%llu of %llu rows are not valid: %.300s", (unsigned long long)invalid,
            (unsigned long long)report->records, first);
    sf_error_hint(err, "mend them, or send \"partial\": true to have the others taken");
    sf_buf_puts(&answer->body, "{\"error\":");
    sf_put_text(&answer->body, err ? err->message : first);
    sf_buf_puts(&answer->body, ",\"retryAfterMs\":null");
    put_row_errors(report, &answer->body);
    sf_buf_putc(&answer->body, '}');
    answer->http_status = 400;
    return SF_INVALID;
}

static sf_status take_batches(sf_parser *parser, push_rows *rows, sf_error *err)
{
    for (sf_batch *batch; (batch = sf_parser_next(parser)) != NULL;) {
        sf_batch *compact = sf_batch_compact(batch);
        sf_batch_unref(batch);
        if (!compact || !SF_VEC_PUSH(&rows->batches, compact)) {
            sf_batch_unref(compact);
            return sf_fail_memory(err);
        }
        rows->rows += compact->rows;
    }
    return SF_OK;
}

static sf_status parse_rows(sf_service *service, const sf_source_def *def,
                            const sf_ingest_config *ingest, const push_body *body, push_rows *rows,
                            sf_answer *answer, sf_error *err)
{
    sf_schema *schema = sf_relation_schema(def->fields.columns, def->fields.count, SF_INPUT_SOURCE);
    sf_parser_options options = {
        .format = SF_FORMAT_JSON,
        .schema = schema,
        .on_misfit = def->on_misfit == SF_ON_MISFIT_DROP_ROW       ? SF_COERCE_DROP_ROW
                     : def->on_misfit == SF_ON_MISFIT_REJECT_BATCH ? SF_COERCE_REJECT_BATCH
                                                                   : SF_COERCE_NULL,
        .reject_unknown_fields = ingest->reject_unknown_fields,
        .stamp_ms = sf_clock_wall_ms(&service->options.clock)};
    sf_parser *parser = NULL;
    sf_status status = schema ? sf_parser_new(&options, &parser, err) : sf_fail_memory(err);
    if (status == SF_OK)
        status = sf_parser_feed(parser, body->events, err);
    if (status == SF_OK)
        status = sf_parser_finish(parser, err);
    if (status == SF_OK)
        status = take_batches(parser, rows, err);
    if (status == SF_OK) {
        const sf_parse_report *report = sf_parser_report(parser);
        rows->invalid = report->malformed + report->dropped + report->unknown_rows;
        rows->retractions = report->retractions;
        if (report->records > (uint64_t)ingest->max_batch_rows) {
            status =
                sf_fail(err, SF_LIMIT, "%llu rows in one push, at most %lld are taken",
                        (unsigned long long)report->records, (long long)ingest->max_batch_rows);
            answer->http_status = 413;
        } else if (sf_parser_rejected(parser) || (rows->invalid && !body->partial)) {
            status = refuse_rows(report, rows->invalid, answer, err);
        }
    }
    sf_parser_free(parser);
    sf_schema_unref(schema);
    return status;
}

/* Text of a lane, as it identifies a row. */
static digest lane_digest(const sf_column *column, uint32_t row, sf_buf *scratch)
{
    sf_buf_clear(scratch);
    sf_write_json_value(scratch, column, row);
    return digest_of(sf_buf_str(scratch));
}

/* Leaves out rows whose key was seen before, in this push or an earlier one. Memory's lock held. */
static sf_status drop_duplicates(sf_push_memory *memory, const sf_ingest_config *ingest,
                                 push_rows *rows, sf_error *err)
{
    uint32_t cap = ingest->dedup_window > 0 ? (uint32_t)ingest->dedup_window : DEDUP_DEFAULT;
    sf_str field = sf_str_of(ingest->dedup_key_field);
    uint64_t rule = sf_hash_bytes(field.data, field.len, cap);
    if (memory->keys.cap && memory->rule != rule)
        seen_deinit(&memory->keys);
    memory->rule = rule;
    if (!memory->keys.cap && !seen_init(&memory->keys, cap)) {
        seen_deinit(&memory->keys);
        return sf_fail_memory(err);
    }
    seen_set own = {0};
    rows->keys = sf_calloc(rows->rows + 1, sizeof *rows->keys);
    if (!rows->keys || !seen_init(&own, (uint32_t)rows->rows + 1)) {
        seen_deinit(&own);
        return sf_fail_memory(err);
    }
    sf_buf scratch = {0};
    sf_status status = SF_OK;
    for (size_t b = 0; b < rows->batches.len && status == SF_OK; b++) {
        sf_batch *batch = rows->batches.data[b];
        int column = sf_schema_find(batch->schema, field);
        uint32_t *kept = column >= 0 ? sf_alloc((batch->rows + 1u) * sizeof *kept) : NULL;
        uint32_t count = 0;
        for (uint32_t i = 0; kept && i < batch->rows; i++) {
            const sf_column *lanes = batch->columns[column];
            digest key = lane_digest(lanes, i, &scratch);
            bool known =
                sf_column_is_valid(lanes, i) &&
                (seen_find(&memory->keys, key) != UINT32_MAX || seen_find(&own, key) != UINT32_MAX);
            if (known) {
                rows->duplicate++;
                continue;
            }
            if (sf_column_is_valid(lanes, i)) {
                seen_add(&own, key);
                rows->keys[rows->key_count++] = key;
            }
            kept[count++] = i;
        }
        sf_batch *left = kept ? sf_batch_gather(batch, (sf_sel){kept, count}) : NULL;
        sf_free(kept);
        status = left ? SF_OK : sf_fail_memory(err);
        if (left) {
            sf_batch_unref(batch);
            rows->batches.data[b] = left;
        }
    }
    seen_deinit(&own);
    sf_buf_deinit(&scratch);
    size_t kept_batches = 0;
    for (size_t b = 0; b < rows->batches.len; b++) {
        if (rows->batches.data[b]->rows)
            rows->batches.data[kept_batches++] = rows->batches.data[b];
        else
            sf_batch_unref(rows->batches.data[b]);
    }
    rows->batches.len = kept_batches;
    return status;
}

/* ---- the answer ---- */

typedef struct {
    sf_service *service;
    char *source;
    sf_ingest_done done;
    void *arg;
    digest key; /* idempotency */
    bool has_key;
    uint64_t invalid, duplicate;
    digest *row_keys; /* remembered for dedup */
    size_t row_key_count;
} push_call;

static void put_result(const sf_push_result *result, uint64_t invalid, uint64_t duplicate,
                       bool replayed, sf_buf *out)
{
    sf_buf_printf(out,
                  "{\"accepted\":%llu,\"dropped\":%llu,\"invalid\":%llu,\"depthRows\":%llu,"
                  "\"capacityRows\":%llu,\"duplicate\":%llu,\"replayed\":%s,\"durable\":%s}",
                  (unsigned long long)result->accepted, (unsigned long long)result->dropped,
                  (unsigned long long)invalid, (unsigned long long)result->depth_rows,
                  (unsigned long long)result->capacity_rows, (unsigned long long)duplicate,
                  replayed ? "true" : "false", result->durable ? "true" : "false");
}

/* The first result under an idempotency key is the one all later pushes get. */
static void remember_answer(push_call *call, const sf_push_result *result)
{
    sf_buf text = {0};
    put_result(result, call->invalid, call->duplicate, true, &text);
    pthread_mutex_lock(&call->service->memory_lock);
    sf_push_memory *memory = memory_of(call->service, call->source);
    uint32_t place = memory ? seen_find(&memory->done, call->key) : UINT32_MAX;
    if (place != UINT32_MAX && !text.failed) {
        memory->answers[place] = text.data;
        text = (sf_buf){0};
    }
    pthread_mutex_unlock(&call->service->memory_lock);
    sf_buf_deinit(&text);
}

/* A push that failed has not happened: its key may be used again. */
static void forget_key(sf_service *service, const char *source, digest key)
{
    pthread_mutex_lock(&service->memory_lock);
    sf_push_memory *memory = memory_of(service, source);
    uint32_t place = memory ? seen_find(&memory->done, key) : UINT32_MAX;
    if (place != UINT32_MAX && !memory->answers[place])
        seen_remove(&memory->done, key);
    pthread_mutex_unlock(&service->memory_lock);
}

/* Rows that were refused have not been seen. */
static void undo_dedup(const push_call *call)
{
    if (!call->row_key_count)
        return;
    pthread_mutex_lock(&call->service->memory_lock);
    sf_push_memory *memory = memory_of(call->service, call->source);
    for (size_t i = 0; memory && memory->keys.cap && i < call->row_key_count; i++)
        seen_remove(&memory->keys, call->row_keys[i]);
    pthread_mutex_unlock(&call->service->memory_lock);
}

static void free_call(push_call *call)
{
    sf_free(call->row_keys);
    sf_free(call->source);
    sf_free(call);
}

static void pushed(void *arg, const sf_push_result *result, const sf_error *error)
{
    push_call *call = arg;
    sf_answer answer = {0};
    if (error) {
        undo_dedup(call);
        if (call->has_key)
            forget_key(call->service, call->source, call->key);
        if (error->status == SF_OVERLOADED)
            put_overload(error, RETRY_MS, &answer);
        call->done(call->arg, error->status, &answer, error);
    } else {
        if (call->has_key)
            remember_answer(call, result);
        answer.http_status = 202;
        put_result(result, call->invalid, call->duplicate, false, &answer.body);
        call->done(call->arg, SF_OK, &answer, NULL);
    }
    free_call(call);
}

/* ---- the call ---- */

static sf_status find_pushed_source(sf_service *service, sf_str name,
                                    const sf_ingest_request *request, const sf_def **out,
                                    sf_error *err)
{
    bool by_key = request->key.len > 0;
    if (!by_key && !request->caller) {
        sf_fail(err, SF_UNAUTHENTICATED, "nobody is signed in");
        sf_error_hint(err, "send a token of an Editor, or X-SF-Ingest-Key");
        return SF_UNAUTHENTICATED;
    }
    if (!by_key) {
        SF_TRY(
            sf_find_writable(service, request->caller, SF_NOUN_SOURCE, "ingest", name, out, err));
    } else {
        sf_status found =
            sf_catalog_find_exact(service->catalog, SF_ENTITY_SOURCE, "", name, out, err);
        if (found == SF_NOT_FOUND) /* a key belongs to a source: without one it is nobody's */
            return sf_fail(err, SF_UNAUTHENTICATED, "the ingest key is not valid here");
        SF_TRY(found);
        const sf_key_record *record;
        sf_status status =
            sf_access_check_key(service->access, sf_def_source(*out), request->key, &record, err);
        if (status != SF_OK) {
            sf_def_unref(*out);
            return status;
        }
    }
    if (strcmp(sf_def_source(*out)->source_kind, "ingest") == 0)
        return SF_OK;
    sf_fail(err, SF_CONFLICT, "source \"%s\" is of kind %s, which takes no pushed rows",
            (*out)->name, sf_def_source(*out)->source_kind);
    sf_def_unref(*out);
    return SF_CONFLICT;
}

/* Takes the key for this push, or gives the answer an earlier one got under it. */
static sf_status claim_key(sf_service *service, const char *source, digest key, sf_answer *answer,
                           bool *replayed, sf_error *err)
{
    sf_status status = SF_OK;
    pthread_mutex_lock(&service->memory_lock);
    sf_push_memory *memory = memory_of(service, source);
    bool ready = memory != NULL;
    if (ready && !memory->answers)
        memory->answers = sf_calloc(IDEMPOTENCY_KEPT, sizeof(char *));
    if (ready && memory->answers && !memory->done.cap &&
        !seen_init(&memory->done, IDEMPOTENCY_KEPT))
        seen_deinit(&memory->done);
    ready = ready && memory->answers && memory->done.cap;
    uint32_t place = ready ? seen_find(&memory->done, key) : UINT32_MAX;
    if (!ready) {
        status = sf_fail_memory(err);
    } else if (place == UINT32_MAX) {
        place = seen_add(&memory->done, key);
        sf_free(memory->answers[place]);
        memory->answers[place] = NULL;
    } else if (memory->answers[place]) {
        sf_buf_puts(&answer->body, memory->answers[place]);
        answer->http_status = 202;
        *replayed = true;
    } else {
        status = sf_fail(err, SF_CONFLICT, "a push with this idempotency key is under way");
        sf_error_hint(err, "send it again when that one has been answered");
    }
    pthread_mutex_unlock(&service->memory_lock);
    return status;
}

static sf_status dedup(sf_service *service, const char *source, const sf_ingest_config *ingest,
                       push_rows *rows, sf_error *err)
{
    if (!ingest->dedup_key_field || !ingest->dedup_key_field[0])
        return SF_OK;
    pthread_mutex_lock(&service->memory_lock);
    sf_push_memory *memory = memory_of(service, source);
    sf_status status = memory ? drop_duplicates(memory, ingest, rows, err) : sf_fail_memory(err);
    for (size_t i = 0; status == SF_OK && i < rows->key_count; i++)
        if (seen_find(&memory->keys, rows->keys[i]) == UINT32_MAX)
            seen_add(&memory->keys, rows->keys[i]);
    pthread_mutex_unlock(&service->memory_lock);
    return status;
}

static sf_status push_parsed(sf_service *service, const sf_def *def,
                             const sf_ingest_request *request, const push_body *body,
                             push_rows *rows, sf_ingest_done done, void *arg, sf_answer *answer,
                             sf_error *err)
{
    push_call *call = sf_calloc(1, sizeof *call);
    char *source = sf_strdup(def->name);
    if (!call || !source) {
        sf_free(call);
        sf_free(source);
        return sf_fail_memory(err);
    }
    sf_str key =
        body->idempotency_key.len ? sf_buf_str(&body->idempotency_key) : request->idempotency_key;
    *call = (push_call){.service = service,
                        .source = source,
                        .done = done,
                        .arg = arg,
                        .key = digest_of(key),
                        .has_key = key.len > 0,
                        .invalid = rows->invalid,
                        .duplicate = rows->duplicate,
                        .row_keys = rows->keys,
                        .row_key_count = rows->key_count};
    rows->keys = NULL;
    sf_runtime_count_push(service->runtime, def->name, rows->invalid, rows->duplicate, 0);
    sf_status status = sf_runtime_push(service->runtime, def->name, rows->batches.data,
                                       (uint32_t)rows->batches.len, rows->retractions > 0, pushed,
                                       call, &answer->retry_ms, err);
    if (status != SF_OK) {
        undo_dedup(call);
        free_call(call);
    }
    return status;
}

sf_status sf_service_ingest(sf_service *service, sf_str name, const sf_ingest_request *request,
                            sf_ingest_done done, void *arg, sf_answer *answer, sf_error *err)
{
    const sf_def *def;
    push_body body = {0};
    push_rows rows = {0};
    sf_arena arena;
    sf_ingest_config ingest;
    SF_TRY(find_pushed_source(service, name, request, &def, err));
    sf_arena_init(&arena, 1 << 20);
    sf_status status =
        sf_ingest_config_read(sf_str_of(sf_def_source(def)->ingest), &arena, &ingest, err);
    if (status == SF_OK)
        status = read_body(request->body, &body, err);
    sf_str key =
        body.idempotency_key.len ? sf_buf_str(&body.idempotency_key) : request->idempotency_key;
    if (status == SF_OK && key.len > IDEMPOTENCY_KEY_BYTES_MAX)
        status = sf_fail(err, SF_INVALID, "the idempotency key has more than %d bytes",
                         IDEMPOTENCY_KEY_BYTES_MAX);
    bool replayed = false, claimed = false;
    if (status == SF_OK && key.len) {
        status = claim_key(service, def->name, digest_of(key), answer, &replayed, err);
        claimed = status == SF_OK && !replayed;
    }
    if (replayed) {
        done(arg, SF_OK, answer, NULL);
    } else if (status == SF_OK) {
        status = parse_rows(service, sf_def_source(def), &ingest, &body, &rows, answer, err);
        if (status == SF_OK)
            status = dedup(service, def->name, &ingest, &rows, err);
        if (status == SF_OK)
            status = push_parsed(service, def, request, &body, &rows, done, arg, answer, err);
        else if (status == SF_INVALID)
            sf_runtime_count_push(service->runtime, def->name, rows.invalid, 0, 0);
        if (status == SF_OVERLOADED && err)
            put_overload(err, answer->retry_ms, answer);
        if (status != SF_OK && claimed)
            forget_key(service, def->name, digest_of(key));
    }
    drop_rows(&rows);
    sf_buf_deinit(&body.idempotency_key);
    sf_arena_deinit(&arena);
    sf_def_unref(def);
    return status;
}

/* ---- status and keys ---- */

static sf_status find_ingest(sf_service *service, const sf_caller *caller, const char *verb,
                             sf_str name, const sf_def **out, sf_error *err)
{
    SF_TRY(sf_find_writable(service, caller, SF_NOUN_SOURCE, verb, name, out, err));
    if (strcmp(sf_def_source(*out)->source_kind, "ingest") == 0)
        return SF_OK;
    sf_fail(err, SF_CONFLICT, "source \"%s\" is not of kind ingest", (*out)->name);
    sf_def_unref(*out);
    return SF_CONFLICT;
}

sf_status sf_service_ingest_status(sf_service *service, const sf_caller *caller, sf_str name,
                                   sf_answer *out, sf_error *err)
{
    static const char *const policies[] = {"Reject", "Block", "DropNewest", "DropOldest", "Inline"};
    const sf_def *def;
    SF_TRY(sf_find_readable(service, caller, SF_NOUN_SOURCE, name, &def, err));
    if (strcmp(sf_def_source(def)->source_kind, "ingest") != 0) {
        sf_def_unref(def);
        out->http_status = 204;
        return SF_OK;
    }
    sf_arena arena;
    sf_ingest_config ingest;
    sf_source_stats stats;
    sf_arena_init(&arena, 1 << 20);
    sf_status status =
        sf_ingest_config_read(sf_str_of(sf_def_source(def)->ingest), &arena, &ingest, err);
    if (status == SF_OK)
        status = sf_runtime_source_stats(service->runtime, def->name, &stats, err);
    if (status == SF_OK)
        sf_buf_printf(
            &out->body,
            "{\"policy\":\"%s\",\"capacityRows\":%lld,\"depthRows\":%llu,\"maxBatchRows\":%lld,"
            "\"totalAccepted\":%llu,\"totalRejected\":%llu,\"totalDropped\":%llu,"
            "\"totalInvalid\":%llu,\"totalPublished\":%llu,\"downstreamDropped\":0,"
            "\"lastPushMs\":%lld,\"totalDuplicate\":%llu,\"instanceId\":\"%s\","
            "\"aggregated\":false,\"durable\":%s}",
            policies[ingest.policy], (long long)ingest.capacity_rows,
            (unsigned long long)stats.buffered_rows, (long long)ingest.max_batch_rows,
            (unsigned long long)stats.pushed_total, (unsigned long long)stats.rejected_total,
            (unsigned long long)stats.dropped_total, (unsigned long long)stats.invalid_total,
            (unsigned long long)stats.events_total, (long long)stats.last_push_ms,
            (unsigned long long)stats.duplicate_total, sf_catalog_instance_id(service->catalog),
            ingest.durable ? "true" : "false");
    sf_arena_deinit(&arena);
    sf_def_unref(def);
    return status == SF_OK ? sf_answered(out, err) : status;
}

sf_status sf_service_keys(sf_service *service, const sf_caller *caller, sf_str name, sf_answer *out,
                          sf_error *err)
{
    const sf_def *def;
    SF_TRY(find_ingest(service, caller, "write", name, &def, err));
    const sf_source_def *source = sf_def_source(def);
    sf_buf_putc(&out->body, '[');
    for (uint32_t i = 0; i < source->key_count; i++) {
        const sf_key_record *key = &source->keys[i];
        sf_buf_printf(&out->body, "%s{\"id\":\"%s\",\"label\":", i ? "," : "", key->id);
        sf_put_text(&out->body, key->label);
        sf_buf_printf(&out->body, ",\"createdAtMs\":%lld,\"lastUsedMs\":%lld}",
                      (long long)key->created_at_ms, (long long)atomic_load(&key->last_used_ms));
    }
    sf_buf_putc(&out->body, ']');
    sf_def_unref(def);
    return sf_answered(out, err);
}

sf_status sf_service_make_key(sf_service *service, const sf_caller *caller, sf_str name,
                              sf_str body, sf_answer *out, sf_error *err)
{
    const sf_def *def;
    SF_TRY(find_ingest(service, caller, "write", name, &def, err));
    sf_buf label = {0};
    sf_str raw;
    sf_status status = body.len ? sf_json_validate(body, err) : SF_OK;
    if (status == SF_OK && sf_json_get_key(body, SF_STR("label"), &raw)) {
        if (raw.len < 2 || raw.data[0] != '"')
            status = sf_fail(err, SF_INVALID, "\"label\" must be a text");
        else if (!sf_json_unescape((sf_str){raw.data + 1, raw.len - 2}, &label))
            status = sf_fail_memory(err);
    }
    char secret[SF_KEY_SECRET_BYTES + 1], id[SF_ID_BYTES + 1];
    int64_t created_at_ms = 0;
    pthread_mutex_lock(&service->control);
    if (status == SF_OK)
        status = sf_access_make_key(service->access, service->catalog, def,
                                    label.data ? sf_buf_str(&label) : SF_STR(""), secret, id,
                                    &created_at_ms, err);
    pthread_mutex_unlock(&service->control);
    if (status == SF_OK) {
        sf_buf_printf(&out->body, "{\"id\":\"%s\",\"label\":", id);
        sf_put_text(&out->body, label.data);
        sf_buf_printf(&out->body, ",\"secret\":\"%s\",\"createdAtMs\":%lld}", secret,
                      (long long)created_at_ms);
    }
    sf_buf_deinit(&label);
    sf_def_unref(def);
    return status == SF_OK ? sf_answered(out, err) : status;
}

sf_status sf_service_revoke_key(sf_service *service, const sf_caller *caller, sf_str name,
                                sf_str key_id, sf_answer *out, sf_error *err)
{
    const sf_def *def;
    SF_TRY(find_ingest(service, caller, "write", name, &def, err));
    pthread_mutex_lock(&service->control);
    sf_status status = sf_catalog_remove_key(service->catalog, def->id, key_id, err);
    pthread_mutex_unlock(&service->control);
    sf_def_unref(def);
    out->http_status = status == SF_OK ? 204 : 0;
    return status;
}
