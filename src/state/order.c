/* The ordered index: a B+tree of refs.
 *
 * Beside each ref stands a word for each of the first two order columns, which decides most
 * comparisons without reading the row. Inner nodes keep, for each child, its first ref with its words
 * and how many refs lie below it. A leaf splits in the middle, or at its end when refs arrive in
 * order. Nodes that became small are merged with a neighbour under the same parent; empty ones go. */
#include "state/internal.h"

enum { LEAF_MAX = 64, INNER_MAX = 32, HEIGHT_MAX = 12, WORDS_MAX = 2 };

typedef struct order_leaf {
    struct order_leaf *prev, *next;
    uint32_t count;
    sf_ref refs[LEAF_MAX];
    uint64_t words[]; /* width of each ref */
} order_leaf;

typedef struct {
    uint32_t count;
    sf_ref first[INNER_MAX];
    uint32_t total[INNER_MAX];
    void *child[INNER_MAX];
    uint64_t words[];
} order_inner;

typedef struct {
    order_leaf *leaf;
    uint32_t at;
} order_place;

struct sf_order {
    const sf_arr *arr;
    sf_budget *budget;
    uint32_t by_count;
    uint32_t width;  /* words a ref has */
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
    uint64_t words[WORDS_MAX]; /* of like */
} order_bound;

/* ---- words ---- */

/* Seven bytes, then what lies behind them: length + 1, or 9 when there is more. */
static uint64_t text_word(sf_str text)
{
    uint64_t word = 0;
    for (size_t i = 0; i < 7; i++)
        word = word << 8 | (i < text.len ? (uint8_t)text.data[i] : 0);
    return word << 8 | (text.len < 8 ? text.len + 1 : 9);
}

static uint64_t double_word(double value)
{
    if (value != value)
        return UINT64_MAX;
    value += 0.0; /* both zeroes are one */
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | 1ULL << 63;
}

/* Numbers in their order; what would be 0 becomes 1, because 0 is NULL. */
static uint64_t number_word(sf_type type, const void *lane)
{
    const uint64_t sign = 1ULL << 63;
    uint64_t word;
    switch (type) {
    case SF_TYPE_BOOL:
    case SF_TYPE_U8: word = *(const uint8_t *)lane + 2u; break;
    case SF_TYPE_U16: word = *(const uint16_t *)lane + 2u; break;
    case SF_TYPE_U32: word = *(const uint32_t *)lane + 2ULL; break;
    case SF_TYPE_I8: word = (uint64_t)(int64_t) * (const int8_t *)lane ^ sign; break;
    case SF_TYPE_I16: word = (uint64_t)(int64_t) * (const int16_t *)lane ^ sign; break;
    case SF_TYPE_I32: word = (uint64_t)(int64_t) * (const int32_t *)lane ^ sign; break;
    case SF_TYPE_U64: word = *(const uint64_t *)lane; break;
    case SF_TYPE_F32: word = double_word(*(const float *)lane); break;
    case SF_TYPE_F64: word = double_word(*(const double *)lane); break;
    default: word = *(const uint64_t *)lane ^ sign;
    }
    return word ? word : 1;
}

/* A smaller word is a smaller value; equal words leave it open unless word_decides. */
static uint64_t word_of(const sf_order *order, sf_ref ref, uint32_t i)
{
    const sf_arr *arr = order->arr;
    const sf_row_column *column = &arr->layout->columns[order->by[i].column];
    const uint8_t *row = row_at(arr->layout, &arr->pages, ref);
    uint64_t word = order->by[i].nulls_swapped ? UINT64_MAX : 0;
    if (!row_is_null(row, column))
        word =
            column->text
                ? text_word(sf_row_text(&arr->pages, arr->pages.base[ref_page(ref)], row, column))
                : number_word(column->type, row + column->at);
    return order->by[i].descending ? ~word : word;
}

static bool word_decides(const sf_order *order, uint64_t word, uint32_t i)
{
    word = order->by[i].descending ? ~word : word;
    if (order->arr->layout->columns[order->by[i].column].text)
        return (word & 0xff) <= 8;
    return word != 1 && !(order->by[i].nulls_swapped && word == UINT64_MAX);
}

/* In the order's own direction. */
static int compare_at(const sf_order *order, sf_ref a, sf_ref b, uint32_t i)
{
    const sf_arr *arr = order->arr;
    const sf_order_by *by = &order->by[i];
    const sf_row_column *column = &arr->layout->columns[by->column];
    int sign = sf_row_compare(arr->layout, &arr->pages, a, b, by->column);
    if (by->nulls_swapped && row_is_null(row_at(arr->layout, &arr->pages, a), column) !=
                                 row_is_null(row_at(arr->layout, &arr->pages, b), column))
        sign = -sign;
    return by->descending ? -sign : sign;
}

/* ---- looking up ---- */

static bool lies_before(const sf_order *order, sf_ref ref, const uint64_t *words,
                        const order_bound *bound)
{
    for (uint32_t i = 0; i < bound->count; i++) {
        if (i < order->width && words[i] != bound->words[i])
            return words[i] < bound->words[i];
        if (ref == bound->like || (i < order->width && word_decides(order, words[i], i)))
            continue;
        int sign = compare_at(order, ref, bound->like, i);
        if (sign)
            return sign < 0;
    }
    if (bound->by_ref && ref != bound->like)
        return ref < bound->like;
    return bound->after;
}

static order_bound bound_of(const sf_order *order, sf_ref like, uint32_t count, bool after)
{
    SF_ASSERT(count <= order->by_count);
    order_bound bound = {.like = like, .count = count, .after = after};
    for (uint32_t i = 0; i < count && i < order->width; i++)
        bound.words[i] = word_of(order, like, i);
    return bound;
}

/* Where the ref is, or would be put behind. */
static order_bound behind(const sf_order *order, sf_ref ref)
{
    order_bound bound = bound_of(order, ref, order->by_count, true);
    bound.by_ref = true;
    return bound;
}

/* How many of the refs lie before the bound. */
static uint32_t count_before(const sf_order *order, const sf_ref *refs, const uint64_t *words,
                             uint32_t count, const order_bound *bound)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (lies_before(order, refs[middle], words + middle * order->width, bound))
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
        uint32_t before = count_before(order, inner->first, inner->words, inner->count, bound);
        uint32_t at = before ? before - 1 : 0;
        path.steps[level] = (order_step){inner, at};
        node = inner->child[at];
    }
    path.leaf = node;
    path.at = count_before(order, path.leaf->refs, path.leaf->words, path.leaf->count, bound);
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

int sf_order_compare(const sf_order *order, sf_ref a, sf_ref b)
{
    for (uint32_t i = 0; i < order->by_count; i++) {
        int sign = compare_at(order, a, b, i);
        if (sign)
            return sign;
    }
    return a < b ? -1 : a > b;
}

bool sf_order_same(const sf_order *order, sf_ref a, sf_ref b, uint32_t prefix_count)
{
    SF_ASSERT(prefix_count <= order->by_count);
    return a == b || has_prefix(order, a, b, prefix_count);
}

sf_ref sf_order_first(const sf_order *order, sf_ref like, uint32_t prefix_count)
{
    order_bound bound = bound_of(order, like, prefix_count, false);
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
    order_bound bound = bound_of(order, like, prefix_count, true);
    order_path path = seek(order, &bound);
    if (path.at == 0 || !has_prefix(order, path.leaf->refs[path.at - 1], like, prefix_count))
        return 0; /* a bound is never at the start of any leaf but the first */
    return found(order, path.leaf, path.at - 1);
}

uint64_t sf_order_count(const sf_order *order, sf_ref like, uint32_t prefix_count)
{
    order_bound bound = bound_of(order, like, prefix_count, false);
    order_path from = seek(order, &bound);
    bound.after = true;
    order_path to = seek(order, &bound);
    return rank_of(order, &to) - rank_of(order, &from);
}

sf_ref sf_order_at(const sf_order *order, sf_ref like, uint32_t prefix_count, uint64_t n)
{
    order_bound bound = bound_of(order, like, prefix_count, false);
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

sf_ref sf_order_before(const sf_order *order, sf_ref like)
{
    order_bound bound = behind(order, like);
    bound.after = false;
    order_path path = seek(order, &bound);
    return path.at ? found(order, path.leaf, path.at - 1) : 0;
}

sf_ref sf_order_after(const sf_order *order, sf_ref like)
{
    order_bound bound = behind(order, like);
    order_path path = seek(order, &bound);
    if (path.at == path.leaf->count) {
        path.leaf = path.leaf->next;
        path.at = 0;
    }
    return path.leaf ? found(order, path.leaf, path.at) : 0;
}

/* ---- nodes ---- */

static size_t node_bytes(const sf_order *order, bool is_leaf)
{
    return is_leaf ? sizeof(order_leaf) + LEAF_MAX * order->width * sizeof(uint64_t)
                   : sizeof(order_inner) + INNER_MAX * order->width * sizeof(uint64_t);
}

static void node_free(sf_order *order, void *node, bool is_leaf)
{
    if (is_leaf)
        *order->hint = (order_place){0};
    sf_state_give(order->budget, node, node_bytes(order, is_leaf));
}

static void *node_new(sf_order *order, bool is_leaf)
{
    void *node = sf_state_take(order->budget, node_bytes(order, is_leaf));
    if (node)
        memset(node, 0, node_bytes(order, is_leaf));
    return node;
}

static uint32_t count_of(const void *node, bool is_leaf)
{
    return is_leaf ? ((const order_leaf *)node)->count : ((const order_inner *)node)->count;
}

/* What the parent says of its child. */
static void tell(const sf_order *order, order_inner *parent, uint32_t at, bool child_is_leaf)
{
    const uint64_t *words;
    if (child_is_leaf) {
        const order_leaf *leaf = parent->child[at];
        parent->first[at] = leaf->refs[0];
        parent->total[at] = leaf->count;
        words = leaf->words;
    } else {
        const order_inner *inner = parent->child[at];
        parent->first[at] = inner->first[0];
        parent->total[at] = 0;
        for (uint32_t i = 0; i < inner->count; i++)
            parent->total[at] += inner->total[i];
        words = inner->words;
    }
    for (uint32_t i = 0; i < order->width; i++)
        parent->words[at * order->width + i] = words[i];
}

/* Everybody above `level` hears of a change below. */
static void tell_upwards(const sf_order *order, const order_path *path, uint32_t level)
{
    while (level-- > 0)
        tell(order, path->steps[level].node, path->steps[level].at, level + 1 == order->height);
}

static void words_move(const sf_order *order, uint64_t *to, uint32_t to_at, const uint64_t *from,
                       uint32_t from_at, uint32_t count)
{
    uint32_t width = order->width;
    memmove(to + to_at * width, from + from_at * width, (size_t)count * width * sizeof *to);
}

static void leaf_move(const sf_order *order, order_leaf *to, uint32_t to_at, const order_leaf *from,
                      uint32_t from_at, uint32_t count)
{
    memmove(to->refs + to_at, from->refs + from_at, count * sizeof to->refs[0]);
    words_move(order, to->words, to_at, from->words, from_at, count);
}

static void inner_move(const sf_order *order, order_inner *to, uint32_t to_at,
                       const order_inner *from, uint32_t from_at, uint32_t count)
{
    memmove(to->first + to_at, from->first + from_at, count * sizeof to->first[0]);
    memmove(to->total + to_at, from->total + from_at, count * sizeof to->total[0]);
    memmove(to->child + to_at, from->child + from_at, count * sizeof to->child[0]);
    words_move(order, to->words, to_at, from->words, from_at, count);
}

static void inner_insert(const sf_order *order, order_inner *inner, uint32_t at, void *child,
                         bool child_is_leaf)
{
    inner_move(order, inner, at + 1, inner, at, inner->count - at);
    inner->count++;
    inner->child[at] = child;
    tell(order, inner, at, child_is_leaf);
}

static void inner_erase(const sf_order *order, order_inner *inner, uint32_t at)
{
    inner_move(order, inner, at, inner, at + 1, inner->count - at - 1);
    inner->count--;
}

/* ---- putting in ---- */

/* The bound the place was found by carries the ref's words. */
static void leaf_insert(const sf_order *order, order_leaf *leaf, uint32_t at,
                        const order_bound *added)
{
    leaf_move(order, leaf, at + 1, leaf, at, leaf->count - at);
    leaf->refs[at] = added->like;
    for (uint32_t i = 0; i < order->width; i++)
        leaf->words[at * order->width + i] = added->words[i];
    leaf->count++;
}

static void leaf_split(const sf_order *order, order_leaf *leaf, order_leaf *right, uint32_t at,
                       const order_bound *added)
{
    uint32_t keep = at == LEAF_MAX && !leaf->next ? LEAF_MAX : LEAF_MAX / 2;
    right->count = LEAF_MAX - keep;
    leaf_move(order, right, 0, leaf, keep, right->count);
    leaf->count = keep;
    right->prev = leaf;
    right->next = leaf->next;
    if (leaf->next)
        leaf->next->prev = right;
    leaf->next = right;
    if (at > keep || right->count == 0)
        leaf_insert(order, right, at - keep, added);
    else
        leaf_insert(order, leaf, at, added);
}

/* A full inner node takes one more child: the upper half goes to right. */
static void inner_split(const sf_order *order, order_inner *inner, order_inner *right, uint32_t at,
                        void *child, bool child_is_leaf)
{
    uint32_t keep = at == INNER_MAX ? INNER_MAX - 1 : INNER_MAX / 2;
    SF_ASSERT(right); /* taken before */
    right->count = INNER_MAX - keep;
    inner_move(order, right, 0, inner, keep, right->count);
    inner->count = keep;
    if (at > keep)
        inner_insert(order, right, at - keep, child, child_is_leaf);
    else
        inner_insert(order, inner, at, child, child_is_leaf);
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

static void insert_splitting(sf_order *order, const order_path *path, const order_bound *added_ref,
                             void **nodes)
{
    uint32_t used = 0, level = order->height;
    void *added = nodes[used++];
    leaf_split(order, path->leaf, added, path->at, added_ref);
    while (added && level-- > 0) {
        order_inner *inner = path->steps[level].node;
        uint32_t at = path->steps[level].at;
        bool child_is_leaf = level + 1 == order->height;
        tell(order, inner, at, child_is_leaf); /* of the part that stayed */
        if (inner->count < INNER_MAX) {
            inner_insert(order, inner, at + 1, added, child_is_leaf);
            added = NULL;
        } else {
            void *right = nodes[used++];
            inner_split(order, inner, right, at + 1, added, child_is_leaf);
            added = right;
        }
    }
    if (added) { /* the root was split */
        order_inner *root = nodes[used];
        inner_insert(order, root, 0, order->root, order->height == 0);
        inner_insert(order, root, 1, added, order->height == 0);
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
        leaf_insert(order, path.leaf, path.at, &bound);
        tell_upwards(order, &path, order->height);
        return SF_OK;
    }
    void *nodes[HEIGHT_MAX + 2] = {0};
    if (order->height + 1 >= HEIGHT_MAX || !take_nodes(order, nodes, needed))
        return sf_arr_no_memory(order->arr, err);
    insert_splitting(order, &path, &bound, nodes);
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
        leaf_move(order, to, left_count, from, 0, count);
        to->count += count;
        leaf_unlink(from);
    } else {
        inner_move(order, left, left_count, right, 0, count);
        ((order_inner *)left)->count += count;
    }
    node_free(order, right, child_is_leaf);
    inner_erase(order, parent, at + 1);
    tell(order, parent, at, child_is_leaf);
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
        inner_erase(order, parent, step->at);
        return;
    }
    tell(order, parent, step->at, child_is_leaf);
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
    leaf_move(order, leaf, path.at, leaf, path.at + 1, leaf->count - path.at);
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
    order->width = by_count < WORDS_MAX ? by_count : WORDS_MAX;
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
