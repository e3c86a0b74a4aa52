/* The ordered index: a B+tree of refs. It holds no values: comparing reads the rows.
 *
 * Inner nodes keep, for each child, its first ref and how many refs lie below it. A leaf splits in
 * the middle, or at its end when refs arrive in order. Nodes that became small are merged with a
 * neighbour under the same parent; empty ones go. */
#include "state/internal.h"

enum { LEAF_MAX = 124, INNER_MAX = 32, HEIGHT_MAX = 12 };

typedef struct order_leaf {
    struct order_leaf *prev, *next;
    uint32_t count;
    sf_ref refs[LEAF_MAX];
} order_leaf;

typedef struct {
    uint32_t count;
    sf_ref first[INNER_MAX];
    uint32_t total[INNER_MAX];
    void *child[INNER_MAX];
} order_inner;

typedef struct {
    order_leaf *leaf;
    uint32_t at;
} order_place;

struct sf_order {
    const sf_arr *arr;
    sf_budget *budget;
    uint32_t by_count;
    uint32_t height; /* 0: the root is a leaf */
    void *root;
    order_place *hint; /* where the last look-up ended; walking along costs no search */
    sf_order_by by[];
};

typedef struct {
    order_inner *node;
    uint32_t at;
} order_step;

typedef struct {
    order_step steps[HEIGHT_MAX]; /* from the root; the last one's child is the leaf */
    order_leaf *leaf;
    uint32_t at;
} order_path;

/* What is looked for: refs before it are those less than `like` in the first `count` columns, and
 * equal ones too when `after` is set. */
typedef struct {
    sf_ref like;
    uint32_t count;
    bool by_ref; /* equal columns: the smaller ref comes first */
    bool after;
} order_bound;

/* ---- looking up ---- */

static bool lies_before(const sf_order *order, sf_ref ref, const order_bound *bound)
{
    const sf_arr *arr = order->arr;
    for (uint32_t i = 0; i < bound->count && ref != bound->like; i++) {
        int sign = sf_row_compare(arr->layout, &arr->pages, ref, bound->like, order->by[i].column);
        if (sign)
            return (sign < 0) != order->by[i].descending;
    }
    if (bound->by_ref && ref != bound->like)
        return ref < bound->like;
    return bound->after;
}

/* Where the ref is, or would be put behind. */
static order_bound behind(const sf_order *order, sf_ref ref)
{
    return (order_bound){.like = ref, .count = order->by_count, .by_ref = true, .after = true};
}

/* How many of the refs lie before the bound. */
static uint32_t count_before(const sf_order *order, const sf_ref *refs, uint32_t count,
                             const order_bound *bound)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (lies_before(order, refs[middle], bound))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static order_path seek(const sf_order *order, const order_bound *bound)
{
    order_path path;
    void *node = order->root;
    for (uint32_t level = 0; level < order->height; level++) {
        order_inner *inner = node;
        uint32_t before = count_before(order, inner->first, inner->count, bound);
        uint32_t at = before ? before - 1 : 0;
        path.steps[level] = (order_step){inner, at};
        node = inner->child[at];
    }
    path.leaf = node;
    path.at = count_before(order, path.leaf->refs, path.leaf->count, bound);
    return path;
}

static order_path seek_present(const sf_order *order, sf_ref ref)
{
    order_bound bound = behind(order, ref);
    order_path path = seek(order, &bound);
    SF_ASSERT(path.at > 0 && path.leaf->refs[path.at - 1] == ref);
    path.at--;
    return path;
}

static uint64_t rank_of(const sf_order *order, const order_path *path)
{
    uint64_t rank = path->at;
    for (uint32_t level = 0; level < order->height; level++)
        for (uint32_t i = 0; i < path->steps[level].at; i++)
            rank += path->steps[level].node->total[i];
    return rank;
}

static sf_ref found(const sf_order *order, order_leaf *leaf, uint32_t at)
{
    *order->hint = (order_place){leaf, at};
    return leaf->refs[at];
}

static bool has_prefix(const sf_order *order, sf_ref ref, sf_ref like, uint32_t prefix_count)
{
    for (uint32_t i = 0; i < prefix_count; i++)
        if (sf_row_compare(order->arr->layout, &order->arr->pages, ref, like,
                           order->by[i].column) != 0)
            return false;
    return true;
}

sf_ref sf_order_first(const sf_order *order, sf_ref like, uint32_t prefix_count)
{
    SF_ASSERT(prefix_count <= order->by_count);
    order_bound bound = {.like = like, .count = prefix_count};
    order_path path = seek(order, &bound);
    if (path.at == path.leaf->count) {
        path.leaf = path.leaf->next;
        path.at = 0;
    }
    if (!path.leaf || !has_prefix(order, path.leaf->refs[path.at], like, prefix_count))
        return 0;
    return found(order, path.leaf, path.at);
}

sf_ref sf_order_last(const sf_order *order, sf_ref like, uint32_t prefix_count)
{
    SF_ASSERT(prefix_count <= order->by_count);
    order_bound bound = {.like = like, .count = prefix_count, .after = true};
    order_path path = seek(order, &bound);
    if (path.at == 0 || !has_prefix(order, path.leaf->refs[path.at - 1], like, prefix_count))
        return 0; /* a bound is never at the start of any leaf but the first */
    return found(order, path.leaf, path.at - 1);
}

uint64_t sf_order_count(const sf_order *order, sf_ref like, uint32_t prefix_count)
{
    order_bound bound = {.like = like, .count = prefix_count};
    order_path from = seek(order, &bound);
    bound.after = true;
    order_path to = seek(order, &bound);
    return rank_of(order, &to) - rank_of(order, &from);
}

sf_ref sf_order_at(const sf_order *order, sf_ref like, uint32_t prefix_count, uint64_t n)
{
    order_bound bound = {.like = like, .count = prefix_count};
    order_path path = seek(order, &bound);
    uint64_t rank = rank_of(order, &path) + n;
    void *node = order->root;
    for (uint32_t level = 0; level < order->height; level++) {
        const order_inner *inner = node;
        uint32_t at = 0;
        for (; at + 1 < inner->count && rank >= inner->total[at]; at++)
            rank -= inner->total[at];
        node = inner->child[at];
    }
    order_leaf *leaf = node;
    if (rank >= leaf->count || !has_prefix(order, leaf->refs[rank], like, prefix_count))
        return 0;
    return found(order, leaf, (uint32_t)rank);
}

static order_place place_of(const sf_order *order, sf_ref ref)
{
    order_place place = *order->hint;
    if (place.leaf && place.at < place.leaf->count && place.leaf->refs[place.at] == ref)
        return place;
    order_path path = seek_present(order, ref);
    return (order_place){path.leaf, path.at};
}

sf_ref sf_order_next(const sf_order *order, sf_ref ref)
{
    order_place place = place_of(order, ref);
    if (++place.at == place.leaf->count) {
        place.leaf = place.leaf->next;
        place.at = 0;
    }
    return place.leaf ? found(order, place.leaf, place.at) : 0;
}

sf_ref sf_order_prev(const sf_order *order, sf_ref ref)
{
    order_place place = place_of(order, ref);
    if (place.at == 0) {
        place.leaf = place.leaf->prev;
        if (!place.leaf)
            return 0;
        place.at = place.leaf->count;
    }
    return found(order, place.leaf, place.at - 1);
}

/* ---- nodes ---- */

static size_t node_bytes(bool is_leaf)
{
    return is_leaf ? sizeof(order_leaf) : sizeof(order_inner);
}

static void node_free(sf_order *order, void *node, bool is_leaf)
{
    if (is_leaf)
        *order->hint = (order_place){0};
    sf_state_give(order->budget, node, node_bytes(is_leaf));
}

static void *node_new(sf_order *order, bool is_leaf)
{
    void *node = sf_state_take(order->budget, node_bytes(is_leaf));
    if (node)
        memset(node, 0, node_bytes(is_leaf));
    return node;
}

static uint32_t count_of(const void *node, bool is_leaf)
{
    return is_leaf ? ((const order_leaf *)node)->count : ((const order_inner *)node)->count;
}

/* What the parent says of its child. */
static void tell(order_inner *parent, uint32_t at, bool child_is_leaf)
{
    if (child_is_leaf) {
        const order_leaf *leaf = parent->child[at];
        parent->first[at] = leaf->refs[0];
        parent->total[at] = leaf->count;
        return;
    }
    const order_inner *inner = parent->child[at];
    parent->first[at] = inner->first[0];
    parent->total[at] = 0;
    for (uint32_t i = 0; i < inner->count; i++)
        parent->total[at] += inner->total[i];
}

/* Everybody above `level` hears of a change below. */
static void tell_upwards(const sf_order *order, const order_path *path, uint32_t level)
{
    while (level-- > 0)
        tell(path->steps[level].node, path->steps[level].at, level + 1 == order->height);
}

static void inner_move(order_inner *to, uint32_t to_at, const order_inner *from, uint32_t from_at,
                       uint32_t count)
{
    memmove(to->first + to_at, from->first + from_at, count * sizeof to->first[0]);
    memmove(to->total + to_at, from->total + from_at, count * sizeof to->total[0]);
    memmove(to->child + to_at, from->child + from_at, count * sizeof to->child[0]);
}

static void inner_insert(order_inner *inner, uint32_t at, void *child, bool child_is_leaf)
{
    inner_move(inner, at + 1, inner, at, inner->count - at);
    inner->count++;
    inner->child[at] = child;
    tell(inner, at, child_is_leaf);
}

static void inner_erase(order_inner *inner, uint32_t at)
{
    inner_move(inner, at, inner, at + 1, inner->count - at - 1);
    inner->count--;
}

/* ---- putting in ---- */

static void leaf_insert(order_leaf *leaf, uint32_t at, sf_ref ref)
{
    memmove(leaf->refs + at + 1, leaf->refs + at, (leaf->count - at) * sizeof(sf_ref));
    leaf->refs[at] = ref;
    leaf->count++;
}

static void leaf_split(order_leaf *leaf, order_leaf *right, uint32_t at, sf_ref ref)
{
    uint32_t keep = at == LEAF_MAX && !leaf->next ? LEAF_MAX : LEAF_MAX / 2;
    right->count = LEAF_MAX - keep;
    memcpy(right->refs, leaf->refs + keep, right->count * sizeof(sf_ref));
    leaf->count = keep;
    right->prev = leaf;
    right->next = leaf->next;
    if (leaf->next)
        leaf->next->prev = right;
    leaf->next = right;
    if (at > keep || right->count == 0)
        leaf_insert(right, at - keep, ref);
    else
        leaf_insert(leaf, at, ref);
}

/* A full inner node takes one more child: the upper half goes to right. */
static void inner_split(order_inner *inner, order_inner *right, uint32_t at, void *child,
                        bool child_is_leaf)
{
    uint32_t keep = at == INNER_MAX ? INNER_MAX - 1 : INNER_MAX / 2;
    right->count = INNER_MAX - keep;
    inner_move(right, 0, inner, keep, right->count);
    inner->count = keep;
    if (at > keep)
        inner_insert(right, at - keep, child, child_is_leaf);
    else
        inner_insert(inner, at, child, child_is_leaf);
}

/* New nodes for every full one on the path, and perhaps for a new root. */
static uint32_t nodes_needed(const sf_order *order, const order_path *path)
{
    if (path->leaf->count < LEAF_MAX)
        return 0;
    uint32_t needed = 1, level = order->height;
    while (level > 0 && path->steps[level - 1].node->count == INNER_MAX) {
        needed++;
        level--;
    }
    return level > 0 ? needed : needed + 1;
}

static bool take_nodes(sf_order *order, void **nodes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        nodes[i] = node_new(order, i == 0);
        if (nodes[i])
            continue;
        while (i-- > 0)
            node_free(order, nodes[i], i == 0);
        return false;
    }
    return true;
}

static void insert_splitting(sf_order *order, const order_path *path, sf_ref ref, void **nodes)
{
    uint32_t used = 0, level = order->height;
    void *added = nodes[used++];
    leaf_split(path->leaf, added, path->at, ref);
    while (added && level-- > 0) {
        order_inner *inner = path->steps[level].node;
        uint32_t at = path->steps[level].at;
        bool child_is_leaf = level + 1 == order->height;
        tell(inner, at, child_is_leaf); /* of the part that stayed */
        if (inner->count < INNER_MAX) {
            inner_insert(inner, at + 1, added, child_is_leaf);
            added = NULL;
        } else {
            void *right = nodes[used++];
            inner_split(inner, right, at + 1, added, child_is_leaf);
            added = right;
        }
    }
    if (added) { /* the root was split */
        order_inner *root = nodes[used];
        inner_insert(root, 0, order->root, order->height == 0);
        inner_insert(root, 1, added, order->height == 0);
        order->root = root;
        order->height++;
    } else {
        tell_upwards(order, path, level);
    }
}

sf_status sf_order_insert(sf_order *order, sf_ref ref, sf_error *err)
{
    order_bound bound = behind(order, ref);
    order_path path = seek(order, &bound);
    SF_ASSERT(path.at == 0 || path.leaf->refs[path.at - 1] != ref); /* once only */
    uint32_t needed = nodes_needed(order, &path);
    if (needed == 0) {
        leaf_insert(path.leaf, path.at, ref);
        tell_upwards(order, &path, order->height);
        return SF_OK;
    }
    void *nodes[HEIGHT_MAX + 2];
    if (order->height + 1 >= HEIGHT_MAX || !take_nodes(order, nodes, needed))
        return sf_arr_no_memory(order->arr, err);
    insert_splitting(order, &path, ref, nodes);
    return SF_OK;
}

/* ---- taking out ---- */

static void leaf_unlink(order_leaf *leaf)
{
    if (leaf->prev)
        leaf->prev->next = leaf->next;
    if (leaf->next)
        leaf->next->prev = leaf->prev;
}

/* Child at + 1 into child at, when both are small enough. */
static bool merge_pair(sf_order *order, order_inner *parent, uint32_t at, bool child_is_leaf)
{
    void *left = parent->child[at], *right = parent->child[at + 1];
    uint32_t left_count = count_of(left, child_is_leaf), count = count_of(right, child_is_leaf);
    if (left_count + count > (child_is_leaf ? LEAF_MAX : INNER_MAX) / 4 * 3)
        return false;
    if (child_is_leaf) {
        order_leaf *to = left, *from = right;
        memcpy(to->refs + left_count, from->refs, count * sizeof(sf_ref));
        to->count += count;
        leaf_unlink(from);
    } else {
        inner_move(left, left_count, right, 0, count);
        ((order_inner *)left)->count += count;
    }
    node_free(order, right, child_is_leaf);
    inner_erase(parent, at + 1);
    tell(parent, at, child_is_leaf);
    return true;
}

/* After the child at path step `level` lost something. */
static void mend(sf_order *order, const order_step *step, bool child_is_leaf)
{
    order_inner *parent = step->node;
    void *child = parent->child[step->at];
    uint32_t count = count_of(child, child_is_leaf);
    if (count == 0) {
        if (child_is_leaf)
            leaf_unlink(child);
        node_free(order, child, child_is_leaf);
        inner_erase(parent, step->at);
        return;
    }
    tell(parent, step->at, child_is_leaf);
    if (count >= (child_is_leaf ? LEAF_MAX : INNER_MAX) / 4)
        return;
    if (step->at + 1 < parent->count && merge_pair(order, parent, step->at, child_is_leaf))
        return;
    if (step->at > 0)
        merge_pair(order, parent, step->at - 1, child_is_leaf);
}

static void lower_root(sf_order *order)
{
    while (order->height > 0) {
        order_inner *root = order->root;
        SF_ASSERT(root->count > 0); /* a leaf is only dropped when another one stands beside it */
        if (root->count > 1)
            return;
        order->root = root->child[0];
        node_free(order, root, false);
        order->height--;
    }
}

void sf_order_remove(sf_order *order, sf_ref ref)
{
    order_path path = seek_present(order, ref);
    order_leaf *leaf = path.leaf;
    leaf->count--;
    memmove(leaf->refs + path.at, leaf->refs + path.at + 1,
            (leaf->count - path.at) * sizeof(sf_ref));
    for (uint32_t level = order->height; level-- > 0;)
        mend(order, &path.steps[level], level + 1 == order->height);
    lower_root(order);
}

/* ---- life ---- */

static void free_nodes(sf_order *order, void *node, uint32_t height)
{
    order_inner *inner = node;
    for (uint32_t i = 0; height > 0 && i < inner->count; i++)
        free_nodes(order, inner->child[i], height - 1);
    node_free(order, node, height == 0);
}

sf_status sf_order_new(const sf_arr *arr, const sf_order_by *by, uint32_t by_count, sf_order **out,
                       sf_error *err)
{
    for (uint32_t i = 0; i < by_count; i++)
        SF_ASSERT(by[i].column < arr->layout->column_count);
    sf_order *order = sf_calloc(1, sizeof *order + by_count * sizeof *by);
    if (!order)
        return sf_fail_memory(err);
    order->arr = arr;
    order->budget = arr->budget;
    order->by_count = by_count;
    if (by_count)
        memcpy(order->by, by, by_count * sizeof *by);
    order->hint = sf_calloc(1, sizeof *order->hint);
    order->root = order->hint ? node_new(order, true) : NULL;
    if (!order->root) {
        sf_free(order->hint);
        sf_free(order);
        return sf_arr_no_memory(arr, err);
    }
    *out = order;
    return SF_OK;
}

void sf_order_free(sf_order *order)
{
    if (!order)
        return;
    free_nodes(order, order->root, order->height);
    sf_free(order->hint);
    sf_free(order);
}

sf_status sf_order_rebuild(sf_order *order, sf_error *err)
{
    void *root = node_new(order, true);
    if (!root)
        return sf_arr_no_memory(order->arr, err);
    free_nodes(order, order->root, order->height);
    order->root = root;
    order->height = 0;
    sf_ref refs[PROBE_CHUNK], last = 0;
    uint32_t count;
    while ((count = sf_arr_scan(order->arr, last, refs, PROBE_CHUNK)) > 0) {
        for (uint32_t i = 0; i < count; i++)
            SF_TRY(sf_order_insert(order, refs[i], err));
        last = refs[count - 1];
    }
    return SF_OK;
}
