/* Consistency groups: members, epochs, feeding. */
#include "engine/group.h"
#include "column/pack.h"

enum {
    EPOCH_ROWS_MAX = 1 << 18, /* rows a source gives one epoch at most: bounds latency under load */
    ATTACH_ROWS = SF_BATCH_ROWS,
};

sf_group *sf_group_new(void)
{
    return sf_calloc(1, sizeof(sf_group));
}

static void clear_member(sf_group_member_state *member)
{
    for (uint32_t i = 0; member->inputs && i < member->plan->inputs.len; i++)
        sf_snapshot_unref(member->inputs[i].snapshot);
    sf_circuit_free(member->circuit);
    sf_free(member->inputs);
    sf_free(member->written);
    sf_free(member->name);
    *member = (sf_group_member_state){0};
}

void sf_group_free(sf_group *group)
{
    if (!group)
        return;
    for (size_t i = 0; i < group->members.len; i++)
        if (group->members.data[i].used)
            clear_member(&group->members.data[i]);
    for (size_t i = 0; i < group->sources.len; i++)
        sf_free(group->sources.data[i].name);
    SF_VEC_DEINIT(&group->members);
    SF_VEC_DEINIT(&group->sources);
    sf_free(group);
}

sf_status sf_group_add_source(sf_group *group, const char *name, const sf_log_reader *reader,
                              uint32_t *out, sf_error *err)
{
    sf_group_source source = {.name = sf_strdup(name), .reader = reader};
    for (uint32_t s = 0; source.name && s < group->sources.len; s++) {
        if (group->sources.data[s].reader)
            continue;
        sf_free(group->sources.data[s].name); /* the place of one that was dropped */
        group->sources.data[s] = source;
        *out = s;
        return SF_OK;
    }
    if (!source.name || !SF_VEC_PUSH(&group->sources, source)) {
        sf_free(source.name);
        return sf_fail_memory(err);
    }
    *out = (uint32_t)group->sources.len - 1;
    return SF_OK;
}

void sf_group_drop_source(sf_group *group, uint32_t id)
{
    SF_ASSERT(!group->running && id < group->sources.len);
    group->sources.data[id].reader = NULL;
    group->sources.data[id].name[0] = '\0'; /* a later source of this name is another one */
}

/* ---- members ---- */

static sf_group_member_state *member_at(const sf_group *group, uint32_t id)
{
    SF_ASSERT(id < group->members.len && group->members.data[id].used);
    return &group->members.data[id];
}

/* The relation that a plan input is bound to must have the columns the plan was compiled for. */
static sf_status check_table_input(const sf_group *group, const sf_plan_input *input, uint32_t id,
                                   sf_error *err)
{
    const sf_group_member_state *member = member_at(group, id);
    const sf_schema *schema = sf_plan_schema(member->plan);
    bool same = schema->count == input->schema->count;
    for (uint32_t c = 0; same && c < schema->count; c++)
        same = schema->fields[c].type == input->schema->fields[c].type;
    if (same)
        return SF_OK;
    sf_fail(err, SF_CONFLICT, "the columns of \"%s\" have changed since the query was compiled",
            input->name);
    sf_error_hint(err, "compile the query again");
    return SF_CONFLICT;
}

sf_status sf_group_add_member(sf_group *group, const sf_member_spec *spec, uint32_t *out,
                              sf_error *err)
{
    SF_ASSERT(!group->running);
    uint32_t inputs = (uint32_t)spec->plan->inputs.len;
    for (uint32_t i = 0; i < inputs; i++)
        if (!spec->inputs[i].is_source)
            SF_TRY(check_table_input(group, &spec->plan->inputs.data[i], spec->inputs[i].id, err));
    sf_group_member_state member = {.used = true, .plan = spec->plan, .fresh = true};
    member.info.state = SF_MEMBER_RUNNING;
    member.name = sf_strdup(spec->name);
    member.inputs = sf_calloc(inputs + 1u, sizeof *member.inputs);
    sf_status status = member.name && member.inputs ? SF_OK : sf_fail_memory(err);
    for (uint32_t i = 0; status == SF_OK && i < inputs; i++) {
        const sf_member_input *input = &spec->inputs[i];
        member.inputs[i].is_source = input->is_source;
        member.inputs[i].id = input->id;
        member.inputs[i].position = input->position;
        member.inputs[i].mark = SF_MARK_NONE;
        /* A pipeline has no rows so far to give. */
        member.inputs[i].attached =
            input->is_source || member_at(group, input->id)->plan->kind == SF_PLAN_PIPELINE;
    }
    if (status == SF_OK)
        status = sf_circuit_new(spec->plan, spec->budget, &member.circuit, err);
    if (status == SF_OK) {
        member.written = sf_calloc(sf_circuit_arrangement_count(member.circuit) + 1u, 8);
        if (!member.written || !SF_VEC_PUSH(&group->members, member))
            status = sf_fail_memory(err);
    }
    if (status != SF_OK) {
        clear_member(&member);
        return status;
    }
    *out = (uint32_t)group->members.len - 1;
    return SF_OK;
}

sf_status sf_group_check_remove(const sf_group *group, uint32_t id, sf_error *err)
{
    const sf_group_member_state *member = member_at(group, id);
    for (size_t m = 0; m < group->members.len; m++) {
        const sf_group_member_state *reader = &group->members.data[m];
        for (uint32_t i = 0; reader->used && i < reader->plan->inputs.len; i++) {
            if (!reader->inputs[i].is_source && reader->inputs[i].id == id) {
                sf_fail(err, SF_CONFLICT, "\"%s\" is read by \"%s\"", member->name, reader->name);
                sf_error_hint(err, "stop \"%s\" first", reader->name);
                return SF_CONFLICT;
            }
        }
    }
    return SF_OK;
}

sf_status sf_group_remove_member(sf_group *group, uint32_t id, sf_error *err)
{
    SF_ASSERT(!group->running);
    SF_TRY(sf_group_check_remove(group, id, err));
    clear_member(member_at(group, id));
    while (group->members.len > 0 && !group->members.data[group->members.len - 1].used)
        group->members.len--;
    return SF_OK;
}

void sf_group_member(const sf_group *group, uint32_t id, sf_member_info *out)
{
    *out = member_at(group, id)->info;
}

sf_circuit *sf_group_circuit(sf_group *group, uint32_t id)
{
    return member_at(group, id)->circuit;
}

uint64_t sf_group_position(const sf_group *group, uint32_t id, uint32_t input)
{
    const sf_group_member_state *member = member_at(group, id);
    SF_ASSERT(input < member->plan->inputs.len);
    return member->inputs[input].position;
}

uint64_t sf_group_epoch(const sf_group *group)
{
    return group->running ? group->epoch - 1 : group->epoch;
}

bool sf_group_between_epochs(const sf_group *group)
{
    return !group->running;
}

void sf_group_raise_epoch(sf_group *group, uint64_t epoch)
{
    SF_ASSERT(!group->running);
    if (epoch > group->epoch + 1)
        group->epoch = epoch - 1;
}

/* ---- failure ---- */

static void fail_member(sf_group_member_state *member, const sf_error *err)
{
    member->info.state = SF_MEMBER_FAILED;
    member->info.error = *err;
}

/* A member whose input does not run cannot run either. */
static void stall_behind(const sf_group *group, sf_group_member_state *member)
{
    for (uint32_t i = 0; i < member->plan->inputs.len; i++) {
        if (member->inputs[i].is_source)
            continue;
        const sf_group_member_state *input = member_at(group, member->inputs[i].id);
        if (input->info.state == SF_MEMBER_RUNNING)
            continue;
        member->info.state = SF_MEMBER_STALLED;
        sf_fail(&member->info.error, SF_CONFLICT, "its input \"%s\" has stopped: %s", input->name,
                input->info.error.message);
        return;
    }
}

/* ---- epochs ---- */

int64_t sf_group_due(const sf_group *group)
{
    int64_t due = INT64_MAX;
    for (size_t m = 0; m < group->members.len; m++) {
        const sf_group_member_state *member = &group->members.data[m];
        if (!member->used || member->info.state != SF_MEMBER_RUNNING)
            continue;
        int64_t own = sf_circuit_due(member->circuit);
        due = own < due ? own : due;
    }
    return due;
}

/* Fixes how far each source is read; false when no running member would get anything to do. */
static bool cut(sf_group *group, int64_t now_ms)
{
    int64_t due = sf_group_due(group);
    bool work = due != INT64_MAX && due <= now_ms;
    for (size_t s = 0; s < group->sources.len; s++)
        group->sources.data[s].target = 0;
    for (size_t m = 0; m < group->members.len; m++) {
        const sf_group_member_state *member = &group->members.data[m];
        if (!member->used || member->info.state != SF_MEMBER_RUNNING)
            continue;
        work |= member->fresh;
        for (uint32_t i = 0; i < member->plan->inputs.len; i++) {
            if (!member->inputs[i].is_source)
                continue;
            sf_group_source *source = &group->sources.data[member->inputs[i].id];
            if (member->inputs[i].position > source->target)
                source->target = member->inputs[i].position; /* the furthest member, so far */
        }
    }
    for (size_t s = 0; s < group->sources.len; s++) {
        sf_group_source *source = &group->sources.data[s];
        uint64_t end = source->reader ? source->reader->end(source->reader->self) : 0;
        if (end > source->target)
            source->target =
                end - source->target > EPOCH_ROWS_MAX ? source->target + EPOCH_ROWS_MAX : end;
    }
    for (size_t m = 0; m < group->members.len && !work; m++) {
        const sf_group_member_state *member = &group->members.data[m];
        if (!member->used || member->info.state != SF_MEMBER_RUNNING)
            continue;
        for (uint32_t i = 0; i < member->plan->inputs.len; i++)
            work |= member->inputs[i].is_source &&
                    member->inputs[i].position < group->sources.data[member->inputs[i].id].target;
    }
    return work;
}

/* Rows of a source whose fields were changed, in the columns the query was compiled for. Takes the
 * batch. */
static sf_batch *as_compiled(const sf_group_member_state *member, uint32_t number, sf_batch *batch)
{
    const sf_schema *schema = member->plan->inputs.data[number].schema;
    if (batch->schema == schema || sf_schema_same(batch->schema, schema))
        return batch;
    sf_batch *adapted = sf_batch_adapt(batch, schema);
    sf_batch_unref(batch);
    return adapted;
}

/* Pushes the next piece of a source's log; false when the target is reached. */
static sf_status feed_source(sf_group *group, sf_group_member_state *member, uint32_t number,
                             bool *fed, sf_error *err)
{
    sf_input_state *input = &member->inputs[number];
    const sf_group_source *source = &group->sources.data[input->id];
    *fed = input->position < source->target;
    if (!*fed)
        return SF_OK;
    sf_log_entry entry;
    sf_status status = source->reader->read(source->reader->self, input->position, &entry, err);
    if (status != SF_OK) {
        sf_error_context(err, "reading source \"%s\"", source->name);
        return status;
    }
    uint64_t end = entry.position + entry.count;
    uint64_t to = end < source->target ? end : source->target;
    int64_t mark = entry.mark;
    if (entry.batch) {
        uint32_t from = (uint32_t)(input->position - entry.position);
        uint32_t count = (uint32_t)(to - input->position);
        sf_batch *piece = from == 0 && count == entry.batch->rows
                              ? sf_batch_ref(entry.batch)
                              : sf_batch_slice(entry.batch, from, count);
        if (piece)
            piece = as_compiled(member, number, piece);
        status = piece ? sf_circuit_push(member->circuit, number, piece, err) : sf_fail_memory(err);
        if (to < end && entry.batch->marks) /* cut in its middle: the watermark there */
            mark = SF_LANES(entry.batch->marks, int64_t)[from + count - 1];
        sf_batch_unref(piece);
        sf_batch_unref(entry.batch);
    }
    if (mark != SF_MARK_NONE)
        input->mark = mark;
    input->position = to;
    return status;
}

/* Watermarks move when all inputs have been read as far as the epoch goes: each row was judged by its
 * own source's, and which sources have had rows must not depend on the order they are read in. */
static sf_status feed_marks(sf_group_member_state *member, sf_error *err)
{
    if (member->plan->kind != SF_PLAN_PIPELINE)
        return SF_OK;
    for (uint32_t i = 0; i < member->plan->inputs.len; i++)
        if (member->inputs[i].is_source && member->inputs[i].mark != SF_MARK_NONE)
            SF_TRY(sf_circuit_mark(member->circuit, i, member->inputs[i].mark, err));
    return SF_OK;
}

/* The rows an input table has so far, piece by piece. */
static sf_status feed_snapshot(sf_group *group, sf_group_member_state *member, uint32_t number,
                               bool *fed, sf_error *err)
{
    sf_input_state *input = &member->inputs[number];
    sf_group_member_state *table = member_at(group, input->id);
    if (!input->snapshot) {
        input->snapshot = sf_circuit_snapshot(table->circuit);
        input->cursor = (sf_snapshot_cursor){0};
        if (!input->snapshot)
            return sf_fail_memory(err);
    }
    sf_batch *batch;
    SF_TRY(sf_snapshot_read(input->snapshot, sf_plan_schema(table->plan), 0, ATTACH_ROWS,
                            &input->cursor, &batch, err));
    *fed = batch != NULL;
    if (!batch) {
        sf_snapshot_unref(input->snapshot);
        input->snapshot = NULL;
        input->attached = true;
        return SF_OK;
    }
    sf_status status = sf_circuit_push(member->circuit, number, batch, err);
    sf_batch_unref(batch);
    return status;
}

/* The change its input has published for this epoch, at once: batches are only referenced. */
static sf_status feed_changes(sf_group *group, sf_group_member_state *member, uint32_t number,
                              sf_error *err)
{
    sf_circuit *input = member_at(group, member->inputs[number].id)->circuit;
    for (uint32_t i = 0; i < sf_circuit_output_count(input); i++)
        SF_TRY(sf_circuit_push(member->circuit, number, sf_circuit_output(input, i), err));
    return SF_OK;
}

static sf_status feed(sf_group *group, sf_group_member_state *member, bool *fed, sf_error *err)
{
    *fed = false;
    if (member->input == member->plan->inputs.len)
        return SF_OK; /* it has none: its rows stand in the query */
    sf_input_state *input = &member->inputs[member->input];
    if (input->is_source)
        return feed_source(group, member, member->input, fed, err);
    if (!input->attached)
        return feed_snapshot(group, member, member->input, fed, err);
    return feed_changes(group, member, member->input, err);
}

/* One member's share of the epoch. SF_STEP_DONE: it has finished it. */
static sf_step run_member(sf_group *group, sf_group_member_state *member, uint64_t *budget,
                          sf_error *err)
{
    if (member->stage == SF_STAGE_BEGIN) {
        sf_circuit_begin(member->circuit, group->epoch, group->now_ms);
        member->stage = SF_STAGE_FEED;
        member->input = 0;
        member->feeding = false;
    }
    for (;;) {
        if (member->feeding || member->stage == SF_STAGE_FINISH) {
            if (*budget == 0)
                return SF_STEP_MORE;
            sf_step step = sf_circuit_step(member->circuit, *budget, err);
            if (step != SF_STEP_DONE)
                return step;
            member->feeding = false;
            if (member->stage == SF_STAGE_FINISH)
                break;
        }
        bool fed = false;
        if (feed(group, member, &fed, err) != SF_OK)
            return SF_STEP_FAILED;
        member->feeding = true;
        *budget -= *budget < SF_BATCH_ROWS ? *budget : SF_BATCH_ROWS;
        if (fed)
            continue;
        if (++member->input < member->plan->inputs.len)
            continue;
        if (feed_marks(member, err) != SF_OK)
            return SF_STEP_FAILED;
        sf_circuit_finish(member->circuit);
        member->stage = SF_STAGE_FINISH;
    }
    member->stage = SF_STAGE_BEGIN;
    member->fresh = false;
    member->info.frontier = group->epoch;
    return SF_STEP_DONE;
}

sf_group_event sf_group_step(sf_group *group, int64_t now_ms, uint64_t budget_rows)
{
    if (!group->running) {
        if (!cut(group, now_ms))
            return SF_GROUP_IDLE;
        group->running = true;
        group->epoch++;
        group->now_ms = now_ms;
        group->current = 0;
    }
    uint64_t budget = budget_rows;
    for (; group->current < group->members.len; group->current++) {
        sf_group_member_state *member = &group->members.data[group->current];
        if (!member->used)
            continue;
        if (member->info.state == SF_MEMBER_RUNNING)
            stall_behind(group, member);
        if (member->info.state != SF_MEMBER_RUNNING)
            continue;
        sf_error err = {0};
        sf_step step = run_member(group, member, &budget, &err);
        if (step == SF_STEP_MORE)
            return SF_GROUP_MORE;
        if (step == SF_STEP_FAILED)
            fail_member(member, &err);
    }
    group->running = false;
    return SF_GROUP_EPOCH;
}

uint32_t sf_group_output_count(const sf_group *group, uint32_t id)
{
    const sf_group_member_state *member = member_at(group, id);
    bool current = !group->running && member->info.frontier == group->epoch;
    return current ? sf_circuit_output_count(member->circuit) : 0;
}

const sf_batch *sf_group_output(const sf_group *group, uint32_t id, uint32_t i)
{
    return sf_circuit_output(member_at(group, id)->circuit, i);
}

uint32_t sf_group_member_count(const sf_group *group)
{
    return (uint32_t)group->members.len;
}

void sf_group_rewrite(sf_group *group, uint32_t id)
{
    sf_group_member_state *member = member_at(group, id);
    for (uint32_t i = 0; i < sf_circuit_arrangement_count(member->circuit); i++)
        member->written[i] = 0;
}

void sf_group_seek(sf_group *group, uint32_t id, uint32_t input, uint64_t position)
{
    sf_group_member_state *member = member_at(group, id);
    SF_ASSERT(!group->running && member->inputs[input].is_source);
    member->inputs[input].position = position;
}

/* ---- merging ---- */

static sf_status absorb_source(sf_group *into, const sf_group_source *source, uint32_t *out,
                               sf_error *err)
{
    for (size_t s = 0; s < into->sources.len; s++) {
        if (into->sources.data[s].reader && strcmp(into->sources.data[s].name, source->name) == 0) {
            *out = (uint32_t)s;
            return SF_OK;
        }
    }
    return sf_group_add_source(into, source->name, source->reader, out, err);
}

/* Room first, so that moving cannot fail half way. */
static bool reserve_members(sf_group *group, size_t more)
{
    while (group->members.cap - group->members.len < more)
        if (!sf_vec_grow((void **)&group->members.data, &group->members.cap,
                         sizeof *group->members.data))
            return false;
    return true;
}

sf_status sf_group_absorb(sf_group *into, sf_group *from, uint32_t *members, sf_error *err)
{
    SF_ASSERT(!into->running && !from->running && into != from);
    uint32_t *sources = sf_alloc((from->sources.len + 1) * sizeof *sources);
    sf_status status =
        sources && reserve_members(into, from->members.len) ? SF_OK : sf_fail_memory(err);
    for (size_t s = 0; status == SF_OK && s < from->sources.len; s++)
        if (from->sources.data[s].reader) /* not one that was dropped */
            status = absorb_source(into, &from->sources.data[s], &sources[s], err);
    for (size_t m = 0; status == SF_OK && m < from->members.len; m++) {
        sf_group_member_state *member = &from->members.data[m];
        members[m] = (uint32_t)into->members.len;
        for (uint32_t i = 0; member->used && i < member->plan->inputs.len; i++)
            member->inputs[i].id = member->inputs[i].is_source ? sources[member->inputs[i].id]
                                                               : members[member->inputs[i].id];
        if (member->used)
            sf_group_rewrite(from, (uint32_t)m); /* nothing of it stands in the new checkpoint */
        into->members.data[into->members.len++] = *member;
        *member = (sf_group_member_state){0};
    }
    if (status == SF_OK && from->epoch > into->epoch)
        into->epoch = from->epoch;
    sf_free(sources);
    return status;
}
