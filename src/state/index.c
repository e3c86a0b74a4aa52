/* The hash index: 32-bit tags to refs in 8-byte slots.
 *
 * A segment is an array in which entries lie in order of their tags, each at or behind its home,
 * with gaps. The home of a tag grows with the tag (multiply and shift), so linear probing can stop
 * at the first larger tag, and growing or splitting a segment reads and writes both arrays from
 * front to back. Tags in the slots are all that needs: no row is read.
 *
 * Segments hold disjoint ranges of tags (extendible hashing by leading bits), so growth costs one
 * segment at a time, never a pause for the whole table. Removal closes the gap: no tombstones. */
#include "state/internal.h"

enum {
    SEGMENT_SLOTS_MIN = 32,
    SEGMENT_SLOTS_MAX = 65536, /* 512 KiB: then it splits */
    SEGMENT_TAIL_MIN = 16,     /* slots behind the homes; the last one stays empty */
    DEPTH_MAX = 20,
    ROUND_SLOTS = 8192, /* large arrays are whole 64 KiB, as the allocator rounds them anyway */
};

/* ---- segments ---- */

/* Segments fill alike, so each gets another limit (69 to 80 %): they grow one after the other instead
 * of all within one batch. */
static uint32_t used_max(const sf_index *index, uint32_t homes)
{
    return (uint32_t)((uint64_t)homes * (44 + index->made % 8) / 64);
}

static sf_segment *segment_new(sf_index *index, uint32_t slots, uint32_t tail, uint32_t depth)
{
    if (slots > ROUND_SLOTS)
        slots = (slots + ROUND_SLOTS - 1) / ROUND_SLOTS * ROUND_SLOTS;
    sf_segment *segment = sf_state_take(index->budget, sizeof *segment);
    uint64_t *array = sf_state_take(index->budget, slots * sizeof *array);
    if (!segment || !array) {
        sf_state_give(index->budget, segment, sizeof *segment);
        sf_state_give(index->budget, array, slots * sizeof *array);
        return NULL;
    }
    memset(array, 0, slots * sizeof *array);
    *segment = (sf_segment){.slots = array,
                            .homes = slots - tail,
                            .total = slots,
                            .used_max = used_max(index, slots - tail),
                            .depth = depth};
    index->made++;
    index->bytes += sizeof *segment + slots * sizeof *array;
    return segment;
}

static void segment_free(sf_index *index, sf_segment *segment)
{
    index->bytes -= sizeof *segment + segment->total * sizeof *segment->slots;
    sf_state_give(index->budget, segment->slots, segment->total * sizeof *segment->slots);
    sf_state_give(index->budget, segment, sizeof *segment);
}

/* Entries [from, to) of an ordered array into an empty segment. false: they run over its end. */
static bool segment_fill(sf_segment *segment, const uint64_t *from, const uint64_t *to)
{
    uint64_t *free_at = segment->slots, *last = segment->slots + segment->total - 1;
    for (; from < to; from++) {
        if (!*from)
            continue;
        uint64_t *home = segment_home(segment, (uint32_t)(*from >> 32));
        if (home > free_at)
            free_at = home;
        if (free_at >= last)
            return false;
        *free_at++ = *from;
        segment->used++;
    }
    segment->end = (uint32_t)(free_at - segment->slots);
    return true;
}

/* As segment_new and segment_fill, with as long a tail as it takes. */
static sf_segment *segment_copy(sf_index *index, uint32_t homes, uint32_t tail, uint32_t depth,
                                const uint64_t *from, const uint64_t *to)
{
    for (;; tail *= 2) {
        sf_segment *copy = segment_new(index, homes + tail, tail, depth);
        if (!copy || segment_fill(copy, from, to))
            return copy;
        segment_free(index, copy);
    }
}

/* ---- directory ---- */

static void dir_set(sf_index *index, uint32_t tag, uint32_t depth, sf_segment *segment)
{
    uint32_t shift = index->depth - depth;
    uint64_t first = (uint64_t)tag >> (32 - depth) << shift;
    for (uint64_t i = 0; i < 1ULL << shift; i++)
        index->dir[first + i] = segment;
}

static bool dir_double(sf_index *index)
{
    size_t count = (size_t)1 << index->depth;
    sf_segment **dir = sf_state_take(index->budget, 2 * count * sizeof(sf_segment *));
    if (!dir)
        return false;
    for (size_t i = 0; i < count; i++)
        dir[2 * i] = dir[2 * i + 1] = index->dir[i];
    sf_state_give(index->budget, index->dir, count * sizeof(sf_segment *));
    index->dir = dir;
    index->depth++;
    index->bytes += count * sizeof(sf_segment *);
    return true;
}

static bool split(sf_index *index, sf_segment *segment, uint32_t tag)
{
    if (segment->depth == index->depth && !dir_double(index))
        return false;
    uint32_t depth = segment->depth + 1;
    uint32_t first_tag =
        (uint32_t)((uint64_t)tag >> (32 - segment->depth) << (32 - segment->depth));
    uint32_t upper_tag = first_tag | 1u << (32 - depth);
    const uint64_t *end = segment->slots + segment->total;
    const uint64_t *cut = segment->slots;
    while (cut < end && (!*cut || *cut >> 32 < upper_tag))
        cut++;
    uint32_t homes = segment->used / 4 * 3; /* half of the entries each: two thirds full */
    sf_segment *lower = segment_copy(index, homes, SEGMENT_TAIL_MIN, depth, segment->slots, cut);
    sf_segment *upper =
        lower ? segment_copy(index, homes, SEGMENT_TAIL_MIN, depth, cut, end) : NULL;
    if (!upper) {
        if (lower)
            segment_free(index, lower);
        return false;
    }
    dir_set(index, first_tag, depth, lower);
    dir_set(index, upper_tag, depth, upper);
    segment_free(index, segment);
    return true;
}

static bool grow(sf_index *index, sf_segment *segment, uint32_t tag)
{
    /* Many equal tags cannot be split, so a segment may also be larger than wished. */
    if (segment->total >= SEGMENT_SLOTS_MAX && segment->depth < DEPTH_MAX)
        return split(index, segment, tag);
    uint32_t homes = segment->homes, tail = segment->total - segment->homes;
    if (segment->used < segment->used_max) /* the end was reached, not the load */
        tail *= 2;
    else if (segment->total < ROUND_SLOTS)
        homes *= 2;
    else
        homes = segment->total + ROUND_SLOTS - tail;
    sf_segment *larger = segment_copy(index, homes, tail, segment->depth, segment->slots,
                                      segment->slots + segment->total);
    if (!larger)
        return false;
    dir_set(index, tag, segment->depth, larger);
    segment_free(index, segment);
    return true;
}

/* ---- entries ---- */

bool sf_index_reserve_slow(sf_index *index, uint32_t tag)
{
    for (;;) {
        sf_segment *segment = index_segment(index, tag);
        if (segment->used < segment->used_max && segment->end + 1 < segment->total)
            return true;
        if (!grow(index, segment, tag))
            return false;
    }
}

void sf_index_insert_at(sf_index *index, uint64_t *at, uint32_t tag, sf_ref ref)
{
    sf_segment *segment = index_segment(index, tag);
    uint64_t moving = (uint64_t)tag << 32 | ref;
    while (moving) {
        uint64_t next = *at;
        *at++ = moving;
        moving = next;
    }
    uint32_t end = (uint32_t)(at - segment->slots);
    segment->end = end > segment->end ? end : segment->end;
    segment->used++;
    index->used++;
}

void sf_index_insert(sf_index *index, uint32_t tag, sf_ref ref)
{
    uint64_t *at = index_seek(index, tag);
    while (entry_is(*at, tag))
        at++;
    sf_index_insert_at(index, at, tag, ref);
}

static uint64_t *find_entry(const sf_index *index, uint32_t tag, sf_ref ref)
{
    uint64_t entry = (uint64_t)tag << 32 | ref;
    uint64_t *at = segment_home(index_segment(index, tag), tag);
    while (*at != entry) {
        SF_ASSERT(*at);
        at++;
    }
    return at;
}

void sf_index_remove(sf_index *index, uint32_t tag, sf_ref ref)
{
    sf_segment *segment = index_segment(index, tag);
    uint64_t *at = find_entry(index, tag, ref);
    while (at[1] && segment_home(segment, (uint32_t)(at[1] >> 32)) <= at) {
        at[0] = at[1];
        at++;
    }
    *at = 0;
    segment->used--;
    index->used--;
}

void sf_index_set(sf_index *index, uint32_t tag, sf_ref old_ref, sf_ref new_ref)
{
    *find_entry(index, tag, old_ref) = (uint64_t)tag << 32 | new_ref;
}

/* ---- life ---- */

bool sf_index_init(sf_index *index, sf_budget *budget)
{
    *index = (sf_index){.budget = budget};
    index->dir = sf_state_take(budget, sizeof(sf_segment *));
    if (!index->dir)
        return false;
    index->bytes = sizeof(sf_segment *);
    index->dir[0] = segment_new(index, SEGMENT_SLOTS_MIN, SEGMENT_TAIL_MIN, 0);
    if (!index->dir[0])
        sf_index_deinit(index);
    return index->dir != NULL;
}

void sf_index_deinit(sf_index *index)
{
    if (!index->dir)
        return;
    size_t count = (size_t)1 << index->depth;
    for (size_t i = 0; i < count; i++) {
        sf_segment *segment = index->dir[i];
        if (!segment)
            continue;
        i += ((size_t)1 << (index->depth - segment->depth)) - 1;
        segment_free(index, segment);
    }
    sf_state_give(index->budget, index->dir, count * sizeof(sf_segment *));
    *index = (sf_index){0};
}

bool sf_index_presize(sf_index *index, uint64_t entries)
{
    SF_ASSERT(index->used == 0 && index->depth == 0);
    while (index->depth < DEPTH_MAX && entries >> index->depth > SEGMENT_SLOTS_MAX / 3 * 2)
        if (!dir_double(index))
            return false;
    if (entries < SEGMENT_SLOTS_MIN)
        return true;
    uint32_t homes = (uint32_t)((entries >> index->depth) * 3 / 2);
    sf_segment *whole = index->dir[0];
    for (uint32_t i = 0; i < 1u << index->depth; i++) {
        index->dir[i] =
            segment_new(index, homes + SEGMENT_TAIL_MIN, SEGMENT_TAIL_MIN, index->depth);
        if (index->dir[i])
            continue;
        while (i-- > 0)
            segment_free(index, index->dir[i]);
        for (uint32_t j = 0; j < 1u << index->depth; j++)
            index->dir[j] = whole;
        return false;
    }
    segment_free(index, whole);
    return true;
}
