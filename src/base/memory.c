/* The only caller of the allocator; budgets and arenas. */
#include "base/base.h"

#include <stdlib.h>
#ifndef SF_SANITIZED
#include <mimalloc.h>
#define raw_malloc        mi_malloc
#define raw_calloc        mi_calloc
#define raw_realloc       mi_realloc
#define raw_free          mi_free
#define raw_aligned(a, n) mi_malloc_aligned((n), (a))
#else /* sanitizers see every block only through the C library's allocator */
#define raw_malloc        malloc
#define raw_calloc        calloc
#define raw_realloc       realloc
#define raw_free          free
#define raw_aligned(a, n) aligned_alloc((a), ((n) + (a)-1) / (a) * (a))
#endif

/* Fault injection for tests: 0 = off, otherwise counts down to the first failing allocation. */
static _Atomic uint64_t fail_countdown;

void sf_alloc_fail_after(uint64_t n)
{
    atomic_store(&fail_countdown, n);
}

static bool injected_failure(void)
{
    if (SF_LIKELY(atomic_load_explicit(&fail_countdown, memory_order_relaxed) == 0))
        return false;
    if (atomic_load(&fail_countdown) == 1)
        return true; /* stays failed, so that clean-up paths are tested without memory too */
    atomic_fetch_sub(&fail_countdown, 1);
    return false;
}

void *sf_alloc(size_t size_bytes)
{
    return injected_failure() ? NULL : raw_malloc(size_bytes ? size_bytes : 1);
}

void *sf_calloc(size_t count, size_t size_bytes)
{
    size_t total;
    if (!sf_mul_size(count, size_bytes, &total) || injected_failure())
        return NULL;
    return raw_calloc(1, total ? total : 1);
}

void *sf_realloc(void *memory, size_t size_bytes)
{
    return injected_failure() ? NULL : raw_realloc(memory, size_bytes ? size_bytes : 1);
}

void *sf_alloc_aligned(size_t alignment, size_t size_bytes)
{
    return injected_failure() ? NULL : raw_aligned(alignment, size_bytes ? size_bytes : alignment);
}

void sf_free(void *memory)
{
    raw_free(memory);
}

char *sf_strndup(const char *text, size_t length)
{
    char *copy = sf_alloc(length + 1);
    if (copy) {
        if (length)
            memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

char *sf_strdup(const char *text)
{
    return sf_strndup(text, strlen(text));
}

bool sf_budget_charge(sf_budget *budget, size_t size_bytes)
{
    int64_t size = (int64_t)size_bytes;
    for (sf_budget *b = budget; b; b = b->parent) {
        int64_t now = atomic_fetch_add(&b->used_bytes, size) + size;
        if (SF_LIKELY(b->limit_bytes == 0 || now <= b->limit_bytes))
            continue;
        for (sf_budget *undo = budget;; undo = undo->parent) {
            atomic_fetch_sub(&undo->used_bytes, size);
            if (undo == b)
                return false;
        }
    }
    return true;
}

void sf_budget_release(sf_budget *budget, size_t size_bytes)
{
    for (sf_budget *b = budget; b; b = b->parent)
        atomic_fetch_sub(&b->used_bytes, (int64_t)size_bytes);
}

/* ---- arena ---- */

enum { ARENA_BLOCK_BYTES = 16 * 1024, ARENA_ALIGN = 16 };

struct sf_arena_block {
    struct sf_arena_block *next;
    size_t used, size;
    _Alignas(16) char bytes[];
};

void sf_arena_init(sf_arena *arena, size_t limit_bytes)
{
    *arena = (sf_arena){.limit_bytes = limit_bytes};
}

void sf_arena_deinit(sf_arena *arena)
{
    struct sf_arena_block *block = arena->first;
    while (block) {
        struct sf_arena_block *next = block->next;
        sf_free(block);
        block = next;
    }
    *arena = (sf_arena){.limit_bytes = arena->limit_bytes};
}

void sf_arena_reset(sf_arena *arena)
{
    struct sf_arena_block *first = arena->first;
    if (!first)
        return;
    for (struct sf_arena_block *block = first->next; block;) {
        struct sf_arena_block *next = block->next;
        sf_free(block);
        block = next;
    }
    first->next = NULL;
    first->used = 0;
    arena->current = first;
    arena->used_bytes = first->size;
}

void *sf_arena_alloc(sf_arena *arena, size_t size_bytes)
{
    if (size_bytes > SIZE_MAX / 2)
        return NULL;
    size_t size = (size_bytes + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    struct sf_arena_block *block = arena->current;
    if (!block || block->size - block->used < size) {
        size_t bytes = size > ARENA_BLOCK_BYTES ? size : ARENA_BLOCK_BYTES;
        if (arena->limit_bytes && arena->used_bytes + bytes > arena->limit_bytes)
            return NULL;
        block = sf_alloc(sizeof *block + bytes);
        if (!block)
            return NULL;
        block->next = NULL;
        block->used = 0;
        block->size = bytes;
        arena->used_bytes += bytes;
        if (arena->current)
            arena->current->next = block;
        else
            arena->first = block;
        arena->current = block;
    }
    void *memory = block->bytes + block->used;
    block->used += size;
    return memset(memory, 0, size);
}

void *sf_arena_array(sf_arena *arena, size_t count, size_t size_bytes)
{
    size_t total;
    return sf_mul_size(count, size_bytes, &total) ? sf_arena_alloc(arena, total) : NULL;
}

char *sf_arena_strndup(sf_arena *arena, const char *text, size_t length)
{
    char *copy = sf_arena_alloc(arena, length + 1);
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}
