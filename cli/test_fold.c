/* A multiset of texts: open addressing, no removal. */
#include "cli/test.h"

static size_t slot_of(const sf_test_fold *fold, sf_str text, uint64_t hash)
{
    size_t at = hash & (fold->cap - 1);
    while (fold->items[at].text &&
           (fold->items[at].hash != hash || !sf_str_eq(sf_str_of(fold->items[at].text), text)))
        at = (at + 1) & (fold->cap - 1);
    return at;
}

static bool grow(sf_test_fold *fold)
{
    size_t cap = fold->cap ? fold->cap * 2 : 64;
    sf_test_fold_item *old = fold->items, *items = sf_calloc(cap, sizeof *items);
    if (!items)
        return false;
    size_t count = fold->cap;
    fold->items = items;
    fold->cap = cap;
    for (size_t i = 0; i < count; i++)
        if (old[i].text)
            items[slot_of(fold, sf_str_of(old[i].text), old[i].hash)] = old[i];
    sf_free(old);
    return true;
}

bool sf_test_fold_add(sf_test_fold *fold, sf_str text, int64_t count)
{
    if (fold->used * 2 >= fold->cap && !grow(fold))
        return false;
    uint64_t hash = sf_hash_bytes(text.data, text.len, 0);
    sf_test_fold_item *item = &fold->items[slot_of(fold, text, hash)];
    if (!item->text) {
        item->text = sf_strndup(text.data, text.len);
        if (!item->text)
            return false;
        item->hash = hash;
        fold->used++;
    }
    item->count += count;
    return true;
}

int64_t sf_test_fold_count(const sf_test_fold *fold, sf_str text)
{
    if (!fold->cap)
        return 0;
    const sf_test_fold_item *item =
        &fold->items[slot_of(fold, text, sf_hash_bytes(text.data, text.len, 0))];
    return item->text ? item->count : 0;
}

void sf_test_fold_deinit(sf_test_fold *fold)
{
    for (size_t i = 0; i < fold->cap; i++)
        sf_free(fold->items[i].text);
    sf_free(fold->items);
    *fold = (sf_test_fold){0};
}
