/* Checkpoint files: one a consistency group, each a database (store.h). What they hold besides pages:
 *
 *   member:<name>  a member's image (engine)        group       the group's
 *   members        u32 count, names                 pages:<arrangement>  u32 number of its pages
 *   source:<name>  u64 position, i64 watermark of a source without journal
 *
 * docs/formats/checkpoint.md. A page that is gone is kept as an empty one. */
#include "runtime/internal.h"

#include <stdio.h>

enum { KEY_BYTES = 640 };

static sf_str key_of(char *out, const char *kind, const char *name)
{
    int n = snprintf(out, KEY_BYTES, "%s:%s", kind, name);
    return (sf_str){out, n < 0 ? 0 : n >= KEY_BYTES ? KEY_BYTES - 1 : (size_t)n};
}

/* ---- opening ---- */

static sf_status read_members(sf_state *state, sf_error *err)
{
    sf_buf blob = {0}, head = {0};
    sf_status status = sf_ckpt_get_blob(state->ckpt, SF_STR("members"), &blob, err);
    sf_reader in = {.data = (const uint8_t *)blob.data, .len = blob.len};
    uint32_t count = status == SF_OK ? sf_read_u32(&in) : 0;
    if (status == SF_NOT_FOUND)
        status = SF_OK;
    for (uint32_t i = 0; i < count && status == SF_OK; i++) {
        sf_str name = sf_read_str(&in);
        char *copy = in.failed ? NULL : sf_strndup(name.data, name.len);
        if (!copy || !SF_VEC_PUSH(&state->members, copy)) {
            sf_free(copy);
            status = in.failed
                         ? sf_fail(err, SF_CORRUPT, "\"%s\" lists its members wrongly", state->path)
                         : sf_fail_memory(err);
        }
    }
    if (status == SF_OK && sf_ckpt_get_blob(state->ckpt, SF_STR("group"), &head, NULL) == SF_OK) {
        sf_reader group = {.data = (const uint8_t *)head.data, .len = head.len};
        (void)sf_read_u32(&group);
        state->epoch = sf_read_u64(&group);
    }
    sf_buf_deinit(&blob);
    sf_buf_deinit(&head);
    return status;
}

sf_status sf_state_open(sf_runtime *runtime, const char *path, sf_state **out, sf_error *err)
{
    sf_state *state = sf_calloc(1, sizeof *state);
    if (!state)
        return sf_fail_memory(err);
    pthread_mutex_init(&state->lock, NULL);
    state->path = sf_strdup(path);
    sf_status status = state->path
                           ? sf_ckpt_open(&runtime->options.port.disk, path, &state->ckpt, err)
                           : sf_fail_memory(err);
    if (status == SF_OK)
        status = read_members(state, err);
    if (status != SF_OK) {
        sf_state_close(state);
        return status;
    }
    *out = state;
    return SF_OK;
}

void sf_state_close(sf_state *state)
{
    if (!state)
        return;
    sf_ckpt_close(state->ckpt);
    for (size_t i = 0; i < state->members.len; i++)
        sf_free(state->members.data[i]);
    for (size_t i = 0; i < state->arrangements.len; i++)
        sf_free(state->arrangements.data[i]);
    SF_VEC_DEINIT(&state->members);
    SF_VEC_DEINIT(&state->arrangements);
    SF_VEC_DEINIT(&state->numbers);
    pthread_mutex_destroy(&state->lock);
    sf_free(state->path);
    sf_free(state);
}

static bool holds(const sf_state *state, const char *member)
{
    for (size_t i = 0; i < state->members.len; i++)
        if (strcmp(state->members.data[i], member) == 0)
            return true;
    return false;
}

sf_state *sf_state_of(sf_runtime *runtime, const char *member)
{
    sf_state *newest = NULL;
    for (size_t i = 0; i < runtime->states.len; i++) {
        sf_state *state = runtime->states.data[i];
        pthread_mutex_lock(&state->lock);
        if (holds(state, member) && (!newest || state->epoch > newest->epoch))
            newest = state;
        pthread_mutex_unlock(&state->lock);
    }
    return newest;
}

void sf_state_find_source(sf_runtime *runtime, const char *name, uint64_t *position,
                          int64_t *watermark)
{
    char key[KEY_BYTES];
    *position = 0;
    *watermark = SF_MARK_NONE;
    for (size_t i = 0; i < runtime->states.len; i++) {
        sf_state *state = runtime->states.data[i];
        sf_buf blob = {0};
        pthread_mutex_lock(&state->lock);
        if (sf_ckpt_get_blob(state->ckpt, key_of(key, "source", name), &blob, NULL) == SF_OK) {
            sf_reader in = {.data = (const uint8_t *)blob.data, .len = blob.len};
            uint64_t at = sf_read_u64(&in);
            int64_t mark = (int64_t)sf_read_u64(&in);
            if (!in.failed && at >= *position)
                *position = at;
            if (!in.failed && mark > *watermark)
                *watermark = mark;
        }
        pthread_mutex_unlock(&state->lock);
        sf_buf_deinit(&blob);
    }
}

/* ---- numbers of arrangements ---- */

/* The number under which an arrangement's pages stand; a new one is given when `create`. */
static sf_status number_of(sf_state *state, const char *arrangement, bool create, uint32_t *out,
                           sf_error *err)
{
    for (size_t i = 0; i < state->arrangements.len; i++) {
        if (strcmp(state->arrangements.data[i], arrangement) == 0) {
            *out = state->numbers.data[i];
            return SF_OK;
        }
    }
    char key[KEY_BYTES];
    sf_buf blob = {0};
    sf_status status =
        sf_ckpt_get_blob(state->ckpt, key_of(key, "pages", arrangement), &blob, NULL);
    sf_reader in = {.data = (const uint8_t *)blob.data, .len = blob.len};
    *out = sf_read_u32(&in);
    sf_buf_clear(&blob);
    if (status == SF_NOT_FOUND && create) {
        uint32_t next = 0;
        if (sf_ckpt_get_blob(state->ckpt, SF_STR("numbers"), &blob, NULL) == SF_OK) {
            in = (sf_reader){.data = (const uint8_t *)blob.data, .len = blob.len};
            next = sf_read_u32(&in);
        }
        sf_buf number = {0};
        *out = next;
        sf_buf_put_u32(&number, next);
        status = number.failed ? sf_fail_memory(err)
                               : sf_ckpt_put_blob(state->ckpt, key_of(key, "pages", arrangement),
                                                  number.data, number.len, err);
        sf_buf_clear(&number);
        sf_buf_put_u32(&number, next + 1);
        if (status == SF_OK)
            status = sf_ckpt_put_blob(state->ckpt, SF_STR("numbers"), number.data, number.len, err);
        sf_buf_deinit(&number);
    }
    sf_buf_deinit(&blob);
    char *copy = status == SF_OK ? sf_strdup(arrangement) : NULL;
    if (copy && SF_VEC_PUSH(&state->arrangements, copy)) {
        if (SF_VEC_PUSH(&state->numbers, *out))
            return SF_OK;
        state->arrangements.len--;
    }
    sf_free(copy);
    return status == SF_OK ? sf_fail_memory(err) : status;
}

/* What was numbered in a transaction that failed is not known to the file. */
static void forget_numbers(sf_state *state)
{
    for (size_t i = 0; i < state->arrangements.len; i++)
        sf_free(state->arrangements.data[i]);
    state->arrangements.len = 0;
    state->numbers.len = 0;
}

/* ---- writing ---- */

static sf_status put_blob(void *self, const char *key, const void *bytes, size_t len, sf_error *err)
{
    sf_state *state = self;
    return sf_ckpt_put_blob(state->ckpt, sf_str_of(key), bytes, len, err);
}

static sf_status put_page(void *self, const char *arrangement, uint32_t page_no, const void *bytes,
                          sf_error *err)
{
    sf_state *state = self;
    uint32_t number;
    SF_TRY(number_of(state, arrangement, true, &number, err));
    return sf_ckpt_put_page(state->ckpt, number, page_no, bytes ? bytes : "",
                            bytes ? SF_PAGE_BYTES : 0, err);
}

static sf_status put_members(sf_state *state, sf_error *err)
{
    sf_buf blob = {0};
    sf_buf_put_u32(&blob, (uint32_t)state->members.len);
    for (size_t i = 0; i < state->members.len; i++)
        sf_buf_put_str(&blob, sf_str_of(state->members.data[i]));
    sf_status status =
        blob.failed ? sf_fail_memory(err)
                    : sf_ckpt_put_blob(state->ckpt, SF_STR("members"), blob.data, blob.len, err);
    sf_buf_deinit(&blob);
    return status;
}

static sf_status add_members(sf_state *state, const sf_cell *cell, sf_error *err)
{
    for (size_t i = 0; i < cell->queries.len; i++) {
        if (holds(state, cell->queries.data[i]->name))
            continue;
        char *copy = sf_strdup(cell->queries.data[i]->name);
        if (!copy || !SF_VEC_PUSH(&state->members, copy)) {
            sf_free(copy);
            return sf_fail_memory(err);
        }
    }
    return put_members(state, err);
}

/* Where sources without a journal stand, so that positions never go back. */
static sf_status put_sources(sf_state *state, const sf_cell *cell, sf_error *err)
{
    char key[KEY_BYTES];
    for (size_t i = 0; i < cell->readers.len; i++) {
        sf_feed *feed = cell->readers.data[i]->feed;
        if (feed->journal)
            continue;
        sf_buf blob = {0};
        pthread_mutex_lock(&feed->lock);
        sf_buf_put_u64(&blob, feed->end);
        sf_buf_put_u64(&blob, (uint64_t)feed->marker.watermark);
        pthread_mutex_unlock(&feed->lock);
        sf_status status = blob.failed
                               ? sf_fail_memory(err)
                               : sf_ckpt_put_blob(state->ckpt, key_of(key, "source", feed->name),
                                                  blob.data, blob.len, err);
        sf_buf_deinit(&blob);
        SF_TRY(status);
    }
    return SF_OK;
}

static sf_status write_all(sf_state *state, sf_cell *cell, const sf_image *image, bool whole,
                           sf_error *err)
{
    sf_image_sink sink = {.put_blob = put_blob, .put_page = put_page, .self = state};
    SF_TRY(sf_image_write(image, whole, &sink, err));
    SF_TRY(add_members(state, cell, err));
    return put_sources(state, cell, err);
}

sf_status sf_state_write(sf_state *state, sf_cell *cell, const sf_image *image, bool whole,
                         sf_error *err)
{
    /* What the image has counted must not be lost behind it. */
    for (size_t i = 0; i < cell->readers.len; i++)
        if (cell->readers.data[i]->feed->journal)
            SF_TRY(sf_journal_sync(cell->readers.data[i]->feed->journal, err));
    pthread_mutex_lock(&state->lock);
    sf_status status = sf_ckpt_begin(state->ckpt, err);
    if (status == SF_OK) {
        status = write_all(state, cell, image, whole, err);
        if (status == SF_OK)
            status = sf_ckpt_commit(state->ckpt, err);
        else
            sf_ckpt_rollback(state->ckpt);
        if (status != SF_OK)
            forget_numbers(state);
    }
    pthread_mutex_unlock(&state->lock);
    return status;
}

/* ---- forgetting ---- */

static sf_status forget_all(sf_state *state, const char *member, sf_error *err)
{
    char key[KEY_BYTES], arrangement[KEY_BYTES];
    SF_TRY(sf_ckpt_drop_blob(state->ckpt, key_of(key, "member", member), err));
    for (uint32_t n = 0;; n++) {
        uint32_t number;
        snprintf(arrangement, sizeof arrangement, "%s/%u", member, n);
        if (number_of(state, arrangement, false, &number, NULL) != SF_OK)
            break;
        SF_TRY(sf_ckpt_drop_pages(state->ckpt, number, 0, err));
    }
    return put_members(state, err);
}

sf_status sf_state_forget(sf_state *state, const char *member, sf_error *err)
{
    pthread_mutex_lock(&state->lock);
    char *name = NULL;
    for (size_t i = 0; i < state->members.len && !name; i++) {
        if (strcmp(state->members.data[i], member) == 0) {
            name = state->members.data[i];
            state->members.data[i] = state->members.data[--state->members.len];
        }
    }
    sf_status status = name ? sf_ckpt_begin(state->ckpt, err) : SF_OK;
    if (name && status == SF_OK) {
        status = forget_all(state, member, err);
        if (status == SF_OK)
            status = sf_ckpt_commit(state->ckpt, err);
        else
            sf_ckpt_rollback(state->ckpt);
    }
    if (name && status != SF_OK)
        state->members.data[state->members.len++] = name; /* its place is still there */
    else
        sf_free(name);
    pthread_mutex_unlock(&state->lock);
    return status;
}

/* ---- reading ---- */

static sf_status get_blob(void *self, const char *key, sf_buf *out, sf_error *err)
{
    return sf_ckpt_get_blob(((sf_state *)self)->ckpt, sf_str_of(key), out, err);
}

typedef struct {
    sf_status (*visit)(void *arg, uint32_t page_no, const void *bytes, sf_error *err);
    void *arg;
    const char *path;
} page_visit;

static sf_status visit_page(void *arg, uint32_t page_no, const void *bytes, size_t len,
                            sf_error *err)
{
    const page_visit *to = arg;
    if (len == 0)
        return SF_OK;
    if (len != SF_PAGE_BYTES)
        return sf_fail(err, SF_CORRUPT, "\"%s\" has a page of %zu bytes", to->path, len);
    return to->visit(to->arg, page_no, bytes, err);
}

static sf_status each_page(void *self, const char *arrangement,
                           sf_status (*visit)(void *arg, uint32_t page_no, const void *bytes,
                                              sf_error *err),
                           void *arg, sf_error *err)
{
    sf_state *state = self;
    uint32_t number;
    sf_status status = number_of(state, arrangement, false, &number, err);
    if (status == SF_NOT_FOUND)
        return SF_OK; /* it never had a page */
    SF_TRY(status);
    page_visit to = {visit, arg, state->path};
    return sf_ckpt_each_page(state->ckpt, number, visit_page, &to, err);
}

sf_image_source sf_state_source(sf_state *state)
{
    return (sf_image_source){.get_blob = get_blob, .each_page = each_page, .self = state};
}
