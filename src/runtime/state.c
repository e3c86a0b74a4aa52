/* Checkpoint files: one a consistency group, each a database (store.h). What they hold besides pages:
 *
 *   member:<name>  a member's image (engine)        group       the group's
 *   members        u32 count, names                 pages:<arrangement>  u32 number of its pages
 *   numbers        u32: the next free one   source:<name>  u64 position, i64 watermark of a source
 *                                                          without journal
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

static sf_state_member *find_member(const sf_state *state, const char *name)
{
    for (size_t i = 0; i < state->members.len; i++)
        if (strcmp(state->members.data[i].name, name) == 0)
            return &state->members.data[i];
    return NULL;
}

/* The member of this name, new ones without an image. NULL: out of memory. */
static sf_state_member *need_member(sf_state *state, sf_str name)
{
    char *copy = sf_strndup(name.data, name.len);
    sf_state_member *found = copy ? find_member(state, copy) : NULL;
    sf_state_member member = {.name = copy};
    if (found || !copy || !SF_VEC_PUSH(&state->members, member)) {
        sf_free(copy);
        return found;
    }
    return &state->members.data[state->members.len - 1];
}

/* What a member's image says of itself; SF_NOT_FOUND: there is none. reads as sf_image_describe. */
static sf_status describe(const sf_state *state, const char *member, const char *source,
                          uint64_t *frontier, bool *reads, sf_error *err)
{
    char key[KEY_BYTES];
    sf_buf blob = {0};
    *frontier = 0;
    sf_status status = sf_ckpt_get_blob(state->ckpt, key_of(key, "member", member), &blob, err);
    if (status == SF_OK && !sf_image_describe(sf_buf_str(&blob), source, frontier, reads))
        *frontier = 0; /* of another version: loading says so */
    sf_buf_deinit(&blob);
    return status;
}

static sf_status read_members(sf_state *state, sf_error *err)
{
    sf_buf blob = {0};
    sf_status status = sf_ckpt_get_blob(state->ckpt, SF_STR("members"), &blob, err);
    sf_reader in = {.data = (const uint8_t *)blob.data, .len = blob.len};
    uint32_t count = status == SF_OK ? sf_read_u32(&in) : 0;
    if (status == SF_NOT_FOUND)
        status = SF_OK;
    for (uint32_t i = 0; i < count && status == SF_OK; i++) {
        sf_str name = sf_read_str(&in);
        sf_state_member *member = in.failed ? NULL : need_member(state, name);
        if (member)
            status = describe(state, member->name, NULL, &member->frontier, NULL, err);
        else
            status = in.failed
                         ? sf_fail(err, SF_CORRUPT, "\"%s\" lists its members wrongly", state->path)
                         : sf_fail_memory(err);
        if (status == SF_NOT_FOUND)
            status = SF_OK;
    }
    sf_buf_deinit(&blob);
    return status;
}

sf_status sf_state_open(sf_runtime *runtime, const char *path, sf_state **out, sf_error *err)
{
    sf_state *state = sf_calloc(1, sizeof *state);
    if (!state)
        return sf_fail_memory(err);
    pthread_mutex_init(&state->lock, NULL);
    state->runtime = runtime;
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
        sf_free(state->members.data[i].name);
    for (size_t i = 0; i < state->arrangements.len; i++)
        sf_free(state->arrangements.data[i]);
    SF_VEC_DEINIT(&state->members);
    SF_VEC_DEINIT(&state->arrangements);
    SF_VEC_DEINIT(&state->numbers);
    pthread_mutex_destroy(&state->lock);
    sf_free(state->path);
    sf_free(state);
}

sf_state *sf_state_of(sf_runtime *runtime, const char *name)
{
    sf_state *newest = NULL;
    uint64_t frontier = 0;
    for (size_t i = 0; i < runtime->states.len; i++) {
        sf_state *state = runtime->states.data[i];
        pthread_mutex_lock(&state->lock);
        const sf_state_member *member = find_member(state, name);
        if (member && (!newest || member->frontier > frontier)) {
            newest = state;
            frontier = member->frontier;
        }
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

static sf_status get_number(const sf_state *state, sf_str key, uint32_t *out, sf_error *err)
{
    sf_buf blob = {0};
    sf_status status = sf_ckpt_get_blob(state->ckpt, key, &blob, err);
    sf_reader in = {.data = (const uint8_t *)blob.data, .len = blob.len};
    *out = sf_read_u32(&in);
    sf_buf_deinit(&blob);
    if (status == SF_OK && in.failed)
        status = sf_fail(err, SF_CORRUPT, "\"%s\" has no number in \"%.*s\"", state->path,
                         SF_STR_ARG(key));
    return status;
}

static sf_status put_number(const sf_state *state, sf_str key, uint32_t number, sf_error *err)
{
    uint8_t bytes[4] = {(uint8_t)number, (uint8_t)(number >> 8), (uint8_t)(number >> 16),
                        (uint8_t)(number >> 24)};
    return sf_ckpt_put_blob(state->ckpt, key, bytes, sizeof bytes, err);
}

/* The next number that is free, for `key`. */
static sf_status new_number(const sf_state *state, sf_str key, uint32_t *out, sf_error *err)
{
    sf_status status = get_number(state, SF_STR("numbers"), out, err);
    if (status == SF_NOT_FOUND)
        *out = 0;
    else
        SF_TRY(status);
    SF_TRY(put_number(state, key, *out, err));
    return put_number(state, SF_STR("numbers"), *out + 1, err);
}

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
    char text[KEY_BYTES];
    sf_str key = key_of(text, "pages", arrangement);
    sf_status status = get_number(state, key, out, err);
    if (status == SF_NOT_FOUND && create)
        status = new_number(state, key, out, err);
    SF_TRY(status);
    char *copy = sf_strdup(arrangement);
    if (copy && SF_VEC_PUSH(&state->arrangements, copy)) {
        if (SF_VEC_PUSH(&state->numbers, *out))
            return SF_OK;
        state->arrangements.len--;
    }
    sf_free(copy);
    return sf_fail_memory(err);
}

/* What was numbered in a transaction that failed is not known to the file. */
static void forget_numbers(sf_state *state)
{
    for (size_t i = 0; i < state->arrangements.len; i++)
        sf_free(state->arrangements.data[i]);
    state->arrangements.len = 0;
    state->numbers.len = 0;
}

/* ---- transactions ---- */

/* Ends what sf_ckpt_begin began, as `status` says; members change with the file. Lock held. */
static sf_status end_transaction(sf_state *state, sf_status status, sf_error *err)
{
    if (status == SF_OK)
        status = sf_ckpt_commit(state->ckpt, err);
    else
        sf_ckpt_rollback(state->ckpt);
    for (size_t i = 0; i < state->members.len; i++) {
        sf_state_member *member = &state->members.data[i];
        if (status == SF_OK && member->writing)
            member->frontier = member->writing;
        member->writing = 0;
    }
    if (status != SF_OK)
        forget_numbers(state);
    return status;
}

/* Lists all members but one (NULL: all). */
static sf_status put_members(sf_state *state, const char *without, sf_error *err)
{
    sf_buf blob = {0};
    uint32_t count = (uint32_t)state->members.len;
    sf_buf_put_u32(&blob, without && find_member(state, without) ? count - 1 : count);
    for (size_t i = 0; i < state->members.len; i++)
        if (!without || strcmp(state->members.data[i].name, without) != 0)
            sf_buf_put_str(&blob, sf_str_of(state->members.data[i].name));
    sf_status status =
        blob.failed ? sf_fail_memory(err)
                    : sf_ckpt_put_blob(state->ckpt, SF_STR("members"), blob.data, blob.len, err);
    sf_buf_deinit(&blob);
    return status;
}

/* ---- writing ---- */

static sf_status put_blob(void *self, const char *key, const void *bytes, size_t len, sf_error *err)
{
    static const char of_member[] = "member:";
    sf_state *state = self;
    uint64_t frontier;
    if (strncmp(key, of_member, sizeof of_member - 1) == 0 &&
        sf_image_describe((sf_str){bytes, len}, NULL, &frontier, NULL)) {
        sf_state_member *member = need_member(state, sf_str_of(key + sizeof of_member - 1));
        if (!member)
            return sf_fail_memory(err);
        member->writing = frontier;
    }
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

/* What it has of another query of this name, or of a life before, must not be mixed in. */
static sf_status drop_pages(void *self, const char *arrangement, sf_error *err)
{
    sf_state *state = self;
    uint32_t number;
    sf_status status = number_of(state, arrangement, false, &number, err);
    if (status == SF_NOT_FOUND)
        return SF_OK;
    SF_TRY(status);
    return sf_ckpt_drop_pages(state->ckpt, number, 0, err);
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

static sf_status write_all(sf_state *state, const sf_cell *cell, const sf_image *image,
                           sf_error *err)
{
    sf_image_sink sink = {
        .put_blob = put_blob, .put_page = put_page, .drop_pages = drop_pages, .self = state};
    SF_TRY(sf_image_write(image, false, &sink, err));
    for (size_t i = 0; i < cell->queries.len; i++)
        if (!need_member(state, sf_str_of(cell->queries.data[i]->name)))
            return sf_fail_memory(err);
    SF_TRY(put_members(state, NULL, err));
    return put_sources(state, cell, err);
}

sf_status sf_state_write(sf_state *state, sf_cell *cell, const sf_image *image, sf_error *err)
{
    /* What the image has counted must not be lost behind it. */
    for (size_t i = 0; i < cell->readers.len; i++)
        if (cell->readers.data[i]->feed->journal)
            SF_TRY(sf_journal_sync(cell->readers.data[i]->feed->journal, err));
    pthread_mutex_lock(&state->lock);
    sf_status status = sf_ckpt_begin(state->ckpt, err);
    if (status == SF_OK)
        status = end_transaction(state, write_all(state, cell, image, err), err);
    pthread_mutex_unlock(&state->lock);
    return status;
}

/* ---- forgetting ---- */

static sf_status drop_image(sf_state *state, const char *member, sf_error *err)
{
    char key[KEY_BYTES], arrangement[KEY_BYTES];
    SF_TRY(sf_ckpt_drop_blob(state->ckpt, key_of(key, "member", member), err));
    for (uint32_t n = 0;; n++) {
        uint32_t number;
        snprintf(arrangement, sizeof arrangement, "%s/%u", member, n);
        sf_status status = number_of(state, arrangement, false, &number, err);
        if (status == SF_NOT_FOUND)
            return SF_OK;
        SF_TRY(status);
        SF_TRY(sf_ckpt_drop_pages(state->ckpt, number, 0, err));
    }
}

static void remove_member(sf_state *state, sf_state_member *member)
{
    sf_free(member->name);
    *member = state->members.data[--state->members.len];
}

sf_status sf_state_forget(sf_state *state, const char *name, bool keep_name, sf_error *err)
{
    pthread_mutex_lock(&state->lock);
    sf_state_member *member = find_member(state, name);
    bool due = member && (member->frontier > 0 || !keep_name);
    sf_status status = due ? sf_ckpt_begin(state->ckpt, err) : SF_OK;
    if (due && status == SF_OK) {
        status = drop_image(state, name, err);
        if (status == SF_OK && !keep_name)
            status = put_members(state, name, err);
        status = end_transaction(state, status, err);
    }
    if (due && status == SF_OK) {
        member->frontier = 0;
        if (!keep_name)
            remove_member(state, member);
    }
    pthread_mutex_unlock(&state->lock);
    return status;
}

/* SF_OK: reads[i] says of each member's image whether its query reads the source; one may be gone. */
static sf_status drop_readers(sf_state *state, const char *source, bool *reads, sf_error *err)
{
    char key[KEY_BYTES];
    SF_TRY(sf_ckpt_drop_blob(state->ckpt, key_of(key, "source", source), err));
    for (size_t i = 0; i < state->members.len; i++) {
        uint64_t frontier;
        const char *name = state->members.data[i].name;
        sf_status status = describe(state, name, source, &frontier, &reads[i], err);
        if (status == SF_OK && reads[i])
            status = drop_image(state, name, err);
        if (status != SF_OK && status != SF_NOT_FOUND)
            return status;
    }
    return SF_OK;
}

sf_status sf_state_forget_readers(sf_state *state, const char *source, sf_error *err)
{
    pthread_mutex_lock(&state->lock);
    bool *reads = sf_calloc(state->members.len + 1, sizeof *reads);
    sf_status status = reads ? sf_ckpt_begin(state->ckpt, err) : sf_fail_memory(err);
    if (status == SF_OK)
        status = end_transaction(state, drop_readers(state, source, reads, err), err);
    for (size_t i = 0; status == SF_OK && i < state->members.len; i++)
        if (reads[i])
            state->members.data[i].frontier = 0;
    sf_free(reads);
    pthread_mutex_unlock(&state->lock);
    return status;
}

/* A file that holds nothing any more goes. */
static sf_status drop_empty(sf_runtime *runtime, sf_error *err)
{
    for (size_t s = 0; s < runtime->states.len;) {
        sf_state *state = runtime->states.data[s];
        if (state->members.len > 0) {
            s++;
            continue;
        }
        sf_ckpt_close(state->ckpt);
        state->ckpt = NULL;
        sf_status status = sf_ckpt_destroy(&runtime->options.port.disk, state->path, err);
        sf_state_close(state);
        runtime->states.data[s] = runtime->states.data[--runtime->states.len];
        SF_TRY(status);
    }
    return SF_OK;
}

sf_status sf_states_clean(sf_runtime *runtime, sf_error *err)
{
    for (size_t s = 0; s < runtime->states.len; s++) {
        sf_state *state = runtime->states.data[s];
        for (size_t i = 0; i < state->members.len;) {
            const char *name = state->members.data[i].name;
            if (sf_state_of(runtime, name) == state)
                i++;
            else /* its place is taken by another member */
                SF_TRY(sf_state_forget(state, name, false, err));
        }
    }
    return drop_empty(runtime, err);
}

/* ---- reading ---- */

static sf_status get_blob(void *self, const char *key, sf_buf *out, sf_error *err)
{
    static const char of_member[] = "member:";
    sf_state *state = self;
    bool member = strncmp(key, of_member, sizeof of_member - 1) == 0;
    if (member && sf_state_of(state->runtime, key + sizeof of_member - 1) != state)
        return sf_fail(err, SF_NOT_FOUND, "\"%s\" has no newest image", state->path);
    pthread_mutex_lock(&state->lock);
    sf_status status = sf_ckpt_get_blob(state->ckpt, sf_str_of(key), out, err);
    pthread_mutex_unlock(&state->lock);
    return status;
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
    page_visit to = {visit, arg, state->path};
    pthread_mutex_lock(&state->lock);
    sf_status status = number_of(state, arrangement, false, &number, err);
    if (status == SF_OK)
        status = sf_ckpt_each_page(state->ckpt, number, visit_page, &to, err);
    else if (status == SF_NOT_FOUND)
        status = SF_OK; /* it never had a page */
    pthread_mutex_unlock(&state->lock);
    return status;
}

sf_status sf_state_load(sf_state *state, sf_group *group, bool *restored, sf_error *err)
{
    sf_image_source source = {.get_blob = get_blob, .each_page = each_page, .self = state};
    return sf_group_load(group, &source, restored, err);
}
