/* Checkpoints of a group: taking, writing, loading. Layout of the blobs: docs/formats/checkpoint.md. */
#include "engine/group.h"

#include <stdio.h>

enum { IMAGE_VERSION = 1, KEY_BYTES = 512 };

typedef struct {
    char *name;
    sf_buf blob;
    sf_snapshot **snapshots;
    uint64_t *since;
    uint32_t count;
} member_image;

struct sf_image {
    uint64_t epoch;
    SF_VEC(member_image) members;
    SF_VEC(char *) source_names;
    SF_VEC(uint64_t) source_positions;
};

uint64_t sf_plan_fingerprint(const sf_plan *plan)
{
    sf_buf text = {0};
    sf_buf_putc(&text, plan->kind == SF_PLAN_TABLE ? 'T' : 'P');
    for (size_t i = 0; i < plan->inputs.len; i++) {
        const sf_plan_input *input = &plan->inputs.data[i];
        sf_buf_printf(&text, "%s:%d(", input->name, (int)input->append_only);
        for (uint32_t c = 0; c < input->schema->count; c++)
            sf_buf_printf(&text, "%s %d,", input->schema->fields[c].name,
                          (int)input->schema->fields[c].type);
    }
    sf_plan_print(plan, &text);
    uint64_t hash = text.failed ? 0 : sf_hash_bytes(text.data, text.len, 0);
    sf_buf_deinit(&text);
    return hash;
}

/* ---- taking ---- */

static sf_status save_member(const sf_group *group, const sf_group_member_state *member,
                             sf_buf *out, sf_error *err)
{
    sf_buf_put_u32(out, IMAGE_VERSION);
    sf_buf_put_u64(out, sf_plan_fingerprint(member->plan));
    sf_buf_put_u64(out, member->info.frontier);
    sf_buf_put_u32(out, (uint32_t)member->plan->inputs.len);
    for (uint32_t i = 0; i < member->plan->inputs.len; i++) {
        const sf_input_state *input = &member->inputs[i];
        const char *name = input->is_source ? group->sources.data[input->id].name
                                            : group->members.data[input->id].name;
        sf_buf_put_str(out, sf_str_of(name));
        sf_buf_put_u32(out, input->is_source);
        sf_buf_put_u64(out, input->position);
    }
    return sf_circuit_save(member->circuit, out, err);
}

static sf_status take_member(sf_group *group, sf_group_member_state *member, sf_image *image,
                             sf_error *err)
{
    uint32_t count = sf_circuit_arrangement_count(member->circuit);
    member_image taken = {.name = sf_strdup(member->name), .count = count};
    taken.snapshots = sf_calloc(count + 1u, sizeof(sf_snapshot *));
    taken.since = sf_calloc(count + 1u, sizeof *taken.since);
    sf_status status = taken.name && taken.snapshots && taken.since ? SF_OK : sf_fail_memory(err);
    if (status == SF_OK)
        status = save_member(group, member, &taken.blob, err);
    for (uint32_t i = 0; status == SF_OK && i < count; i++) {
        taken.since[i] = member->written[i];
        taken.snapshots[i] = sf_circuit_arrangement_snapshot(member->circuit, i);
        if (!taken.snapshots[i])
            status = sf_fail_memory(err);
    }
    if (status == SF_OK && SF_VEC_PUSH(&image->members, taken))
        return SF_OK;
    for (uint32_t i = 0; taken.snapshots && i < count; i++)
        sf_snapshot_unref(taken.snapshots[i]);
    sf_free(taken.snapshots);
    sf_free(taken.since);
    sf_buf_deinit(&taken.blob);
    sf_free(taken.name);
    return status == SF_OK ? sf_fail_memory(err) : status;
}

static uint64_t least_position(const sf_group *group, uint32_t source)
{
    uint64_t least = UINT64_MAX;
    for (size_t m = 0; m < group->members.len; m++) {
        const sf_group_member_state *member = &group->members.data[m];
        for (uint32_t i = 0; member->used && i < member->plan->inputs.len; i++)
            if (member->info.state == SF_MEMBER_RUNNING && member->inputs[i].is_source &&
                member->inputs[i].id == source && member->inputs[i].position < least)
                least = member->inputs[i].position;
    }
    return least;
}

sf_status sf_image_take(sf_group *group, sf_image **out, sf_error *err)
{
    SF_ASSERT(!group->running);
    sf_image *image = sf_calloc(1, sizeof *image);
    sf_status status = image ? SF_OK : sf_fail_memory(err);
    for (size_t m = 0; status == SF_OK && m < group->members.len; m++) {
        sf_group_member_state *member = &group->members.data[m];
        bool whole = member->used && !member->fresh && member->info.state != SF_MEMBER_FAILED;
        if (whole)
            status = take_member(group, member, image, err);
    }
    for (uint32_t s = 0; status == SF_OK && s < group->sources.len; s++) {
        char *name = sf_strdup(group->sources.data[s].name);
        if (!name || !SF_VEC_PUSH(&image->source_names, name)) {
            sf_free(name);
            status = sf_fail_memory(err);
        } else if (!SF_VEC_PUSH(&image->source_positions, least_position(group, s))) {
            status = sf_fail_memory(err);
        }
    }
    if (status != SF_OK) {
        sf_image_free(image);
        return status;
    }
    image->epoch = group->epoch;
    *out = image;
    return SF_OK;
}

void sf_image_free(sf_image *image)
{
    if (!image)
        return;
    for (size_t m = 0; m < image->members.len; m++) {
        member_image *member = &image->members.data[m];
        for (uint32_t i = 0; i < member->count; i++)
            sf_snapshot_unref(member->snapshots[i]);
        sf_free(member->snapshots);
        sf_free(member->since);
        sf_buf_deinit(&member->blob);
        sf_free(member->name);
    }
    for (size_t s = 0; s < image->source_names.len; s++)
        sf_free(image->source_names.data[s]);
    SF_VEC_DEINIT(&image->members);
    SF_VEC_DEINIT(&image->source_names);
    SF_VEC_DEINIT(&image->source_positions);
    sf_free(image);
}

uint64_t sf_image_position(const sf_image *image, const char *source_name)
{
    for (size_t s = 0; s < image->source_names.len; s++)
        if (strcmp(image->source_names.data[s], source_name) == 0)
            return image->source_positions.data[s];
    return UINT64_MAX;
}

/* ---- writing ---- */

static void arrangement_key(char *out, const char *member, uint32_t number)
{
    snprintf(out, KEY_BYTES, "%s/%u", member, number);
}

static void member_key(char *out, const char *member)
{
    snprintf(out, KEY_BYTES, "member:%s", member);
}

typedef struct {
    const sf_image_sink *sink;
    const char *arrangement;
} page_sink;

static sf_status put_page(void *arg, uint32_t page_no, const void *bytes, sf_error *err)
{
    const page_sink *to = arg;
    return to->sink->put_page(to->sink->self, to->arrangement, page_no, bytes, err);
}

sf_status sf_image_write(const sf_image *image, bool whole, const sf_image_sink *sink,
                         sf_error *err)
{
    char key[KEY_BYTES];
    for (size_t m = 0; m < image->members.len; m++) {
        const member_image *member = &image->members.data[m];
        member_key(key, member->name);
        SF_TRY(sink->put_blob(sink->self, key, member->blob.data, member->blob.len, err));
        for (uint32_t i = 0; i < member->count; i++) {
            arrangement_key(key, member->name, i);
            page_sink to = {sink, key};
            uint64_t since = whole ? 0 : member->since[i];
            if (since == 0 && sink->drop_pages)
                SF_TRY(sink->drop_pages(sink->self, key, err));
            SF_TRY(sf_snapshot_pages(member->snapshots[i], since, put_page, &to, err));
        }
    }
    sf_buf head = {0};
    sf_buf_put_u32(&head, IMAGE_VERSION);
    sf_buf_put_u64(&head, image->epoch);
    sf_status status = head.failed ? sf_fail_memory(err)
                                   : sink->put_blob(sink->self, "group", head.data, head.len, err);
    sf_buf_deinit(&head);
    return status;
}

void sf_image_done(sf_group *group, const sf_image *image)
{
    for (size_t m = 0; m < image->members.len; m++) {
        const member_image *taken = &image->members.data[m];
        for (size_t g = 0; g < group->members.len; g++) {
            sf_group_member_state *member = &group->members.data[g];
            if (!member->used || strcmp(member->name, taken->name) != 0)
                continue;
            for (uint32_t i = 0; i < taken->count; i++)
                member->written[i] = sf_snapshot_version(taken->snapshots[i]);
        }
    }
}

/* ---- loading ---- */

typedef struct {
    sf_circuit *circuit;
    uint32_t number;
} page_target;

static sf_status load_page(void *arg, uint32_t page_no, const void *bytes, sf_error *err)
{
    const page_target *to = arg;
    return sf_circuit_load_page(to->circuit, to->number, page_no, bytes, err);
}

typedef struct {
    sf_str name;
    bool is_source;
    uint64_t position;
} stored_input;

static stored_input read_input(sf_reader *in)
{
    stored_input input = {.name = sf_read_str(in)};
    input.is_source = sf_read_u32(in) != 0;
    input.position = sf_read_u64(in);
    return input;
}

bool sf_image_describe(sf_str blob, const char *source_name, uint64_t *frontier, bool *reads)
{
    sf_reader in = {.data = (const uint8_t *)blob.data, .len = blob.len};
    bool known = sf_read_u32(&in) == IMAGE_VERSION;
    (void)sf_read_u64(&in); /* the fingerprint */
    *frontier = sf_read_u64(&in);
    uint32_t count = sf_read_u32(&in);
    if (!known || in.failed)
        return false;
    for (uint32_t i = 0; source_name && i < count && !in.failed; i++) {
        stored_input input = read_input(&in);
        *reads |= input.is_source && sf_str_eq(input.name, sf_str_of(source_name));
    }
    return !in.failed;
}

/* Goes over the inputs. Are they this member's, and do the tables among them stand at the epoch that
 * the image contains? Its state stands on theirs. A pipeline's results of the meantime are lost to
 * its readers, but none may come twice. */
static bool check_inputs(const sf_group *group, const sf_group_member_state *member,
                         uint64_t frontier, sf_reader *in)
{
    if (sf_read_u32(in) != member->plan->inputs.len)
        return false;
    for (uint32_t i = 0; i < member->plan->inputs.len; i++) {
        const sf_input_state *input = &member->inputs[i];
        const sf_group_member_state *query =
            input->is_source ? NULL : &group->members.data[input->id];
        const char *name = query ? query->name : group->sources.data[input->id].name;
        stored_input stored = read_input(in);
        if (in->failed || !sf_str_eq(stored.name, sf_str_of(name)) ||
            stored.is_source != input->is_source)
            return false;
        if (query && (query->fresh || query->info.frontier < frontier))
            return false;
        if (query && query->plan->kind == SF_PLAN_TABLE && query->info.frontier > frontier)
            return false;
    }
    return true;
}

static void take_inputs(sf_group_member_state *member, sf_reader *in)
{
    (void)sf_read_u32(in);
    for (uint32_t i = 0; i < member->plan->inputs.len; i++) {
        member->inputs[i].position = read_input(in).position;
        member->inputs[i].attached = true;
    }
}

/* Pages and the rest of the blob, from `in` on. */
static sf_status load_circuit(sf_group_member_state *member, const sf_image_source *source,
                              const sf_reader *in, sf_error *err)
{
    char key[KEY_BYTES];
    uint32_t count = sf_circuit_arrangement_count(member->circuit);
    for (uint32_t i = 0; i < count; i++) {
        arrangement_key(key, member->name, i);
        page_target to = {member->circuit, i};
        SF_TRY(source->each_page(source->self, key, load_page, &to, err));
    }
    sf_str rest = {(const char *)in->data + in->pos, in->len - in->pos};
    SF_TRY(sf_circuit_load_finish(member->circuit, rest, err));
    for (uint32_t i = 0; i < count; i++)
        member->written[i] = 1; /* the next image takes what changes from here on */
    return SF_OK;
}

/* SF_NOT_FOUND: there is nothing that this member could take up; it stays new. */
static sf_status load_member(sf_group *group, sf_group_member_state *member,
                             const sf_image_source *source, sf_error *err)
{
    char key[KEY_BYTES];
    sf_buf blob = {0};
    member_key(key, member->name);
    sf_status status = source->get_blob(source->self, key, &blob, err);
    sf_reader in = {.data = (const uint8_t *)blob.data, .len = blob.len};
    if (status == SF_OK && sf_read_u32(&in) != IMAGE_VERSION)
        status = sf_fail(err, SF_UNSUPPORTED,
                         "the checkpoint of \"%s\" was written by another version", member->name);
    if (status == SF_OK && sf_read_u64(&in) != sf_plan_fingerprint(member->plan))
        status = SF_NOT_FOUND; /* another query: it starts anew */
    uint64_t frontier = sf_read_u64(&in);
    sf_reader inputs = in;
    if (status == SF_OK && !check_inputs(group, member, frontier, &in))
        status = SF_NOT_FOUND;
    if (status == SF_OK)
        status = load_circuit(member, source, &in, err);
    if (status == SF_OK) {
        take_inputs(member, &inputs);
        member->fresh = false;
        member->info.frontier = frontier;
    } else if (status != SF_NOT_FOUND) {
        sf_error_context(err, "restoring \"%s\"", member->name);
    }
    sf_buf_deinit(&blob);
    return status;
}

sf_status sf_group_load(sf_group *group, const sf_image_source *source, bool *restored,
                        sf_error *err)
{
    SF_ASSERT(!group->running);
    sf_buf head = {0};
    sf_status status = source->get_blob(source->self, "group", &head, err);
    sf_reader in = {.data = (const uint8_t *)head.data, .len = head.len};
    uint32_t version = sf_read_u32(&in);
    uint64_t epoch = sf_read_u64(&in);
    sf_buf_deinit(&head);
    if (status == SF_NOT_FOUND)
        return SF_OK;
    SF_TRY(status);
    if (in.failed || version != IMAGE_VERSION) {
        sf_fail(err, SF_UNSUPPORTED, "the checkpoint has version %u, this program reads %d",
                version, IMAGE_VERSION);
        return SF_UNSUPPORTED;
    }
    if (epoch > group->epoch)
        group->epoch = epoch;
    for (size_t m = 0; m < group->members.len; m++) {
        sf_group_member_state *member = &group->members.data[m];
        if (!member->used || !member->fresh)
            continue;
        status = load_member(group, member, source, err);
        if (status != SF_OK && status != SF_NOT_FOUND)
            return status;
        if (restored)
            restored[m] = status == SF_OK;
    }
    return SF_OK;
}
