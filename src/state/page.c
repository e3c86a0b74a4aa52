/* Pages: numbers, copying before writing, room for rows and their texts, blobs. */
#include "state/internal.h"

enum {
    GARBAGE_MIN = 4096,           /* less is not worth compacting a page for */
    HOLE_MIN = SF_PAGE_BYTES / 8, /* room from which a page is filled again */
};

/* ---- memory ---- */

void *sf_state_take(sf_budget *budget, size_t size_bytes)
{
    if (!sf_budget_charge(budget, size_bytes))
        return NULL;
    void *memory = sf_alloc_aligned(64, (size_bytes + 63) & ~(size_t)63);
    if (!memory)
        sf_budget_release(budget, size_bytes);
    return memory;
}

void sf_state_give(sf_budget *budget, void *memory, size_t size_bytes)
{
    if (!memory)
        return;
    sf_budget_release(budget, size_bytes);
    sf_free(memory);
}

sf_page *sf_page_new(sf_budget *budget, uint32_t size_bytes, bool force)
{
    size_t charged = size_bytes + sizeof(sf_page);
    bool over = !sf_budget_charge(budget, charged);
    if (over && !force)
        return NULL;
    if (over)
        for (sf_budget *b = budget; b; b = b->parent)
            atomic_fetch_add(&b->used_bytes, (int64_t)charged);
    sf_page *page = sf_alloc(sizeof *page);
    uint8_t *bytes = sf_alloc_aligned(64, ((size_t)size_bytes + 63) & ~(size_t)63);
    if (!page || !bytes) {
        sf_free(page);
        sf_free(bytes);
        sf_budget_release(budget, charged);
        return NULL;
    }
    *page = (sf_page){.size = size_bytes, .budget = budget, .bytes = bytes};
    atomic_init(&page->refs, 1);
    return page;
}

void sf_page_unref(sf_page *page)
{
    if (!page || atomic_fetch_sub_explicit(&page->refs, 1, memory_order_acq_rel) != 1)
        return;
    sf_budget_release(page->budget, page->size + sizeof *page);
    sf_free(page->bytes);
    sf_free(page);
}

/* ---- tables by page number ---- */

#define TABLE_ENTRY_BYTES                                                                          \
    (sizeof(uint8_t *) + sizeof(sf_page_entry) + sizeof(uint8_t) + 2 * sizeof(uint32_t *))

/* One array after the other: all of them grow or none. */
static bool table_grow(sf_arr *arr, void **array, size_t item_bytes, uint32_t cap)
{
    void *grown = sf_realloc(*array, cap * item_bytes);
    if (!grown)
        return false;
    memset((uint8_t *)grown + arr->cap * item_bytes, 0, (cap - arr->cap) * item_bytes);
    *array = grown;
    return true;
}

bool sf_arr_tables_grow(sf_arr *arr, uint32_t count)
{
    if (count <= arr->cap)
        return true;
    if (count > PAGE_NO_MAX)
        return false;
    uint32_t cap = arr->cap < 8 ? 8 : arr->cap * 2;
    while (cap < count)
        cap *= 2;
    size_t more = (cap - arr->cap) * TABLE_ENTRY_BYTES;
    if (!sf_budget_charge(arr->budget, more))
        return false;
    if (!table_grow(arr, (void **)&arr->pages.base, sizeof *arr->pages.base, cap) ||
        !table_grow(arr, (void **)&arr->entries, sizeof *arr->entries, cap) ||
        !table_grow(arr, (void **)&arr->own, sizeof *arr->own, cap) ||
        !table_grow(arr, (void **)&arr->next, sizeof *arr->next, cap) ||
        !table_grow(arr, (void **)&arr->prev, sizeof *arr->prev, cap)) {
        sf_budget_release(arr->budget, more);
        return false;
    }
    arr->table_bytes += more;
    arr->cap = cap;
    return true;
}

static size_t link_bytes(const sf_arr *arr)
{
    return arr->layout->rows_max * sizeof(uint32_t);
}

static bool links_new(sf_arr *arr, uint32_t **links)
{
    if (*links)
        return true;
    *links = sf_state_take(arr->budget, link_bytes(arr));
    if (!*links)
        return false;
    memset(*links, 0, link_bytes(arr));
    arr->table_bytes += link_bytes(arr);
    return true;
}

bool sf_arr_page_links(sf_arr *arr, uint32_t page_no)
{
    return !arr->layout->chained || links_new(arr, &arr->next[page_no]);
}

bool sf_arr_page_back_links(sf_arr *arr, uint32_t page_no)
{
    return links_new(arr, &arr->prev[page_no]);
}

static void links_free(sf_arr *arr, uint32_t **links)
{
    if (!*links)
        return;
    sf_state_give(arr->budget, *links, link_bytes(arr));
    arr->table_bytes -= link_bytes(arr);
    *links = NULL;
}

/* ---- page numbers ---- */

/* First of `count` free numbers in a row; UINT32_MAX: no memory or no numbers. */
static uint32_t numbers_find(sf_arr *arr, uint32_t count)
{
    while (count == 1 && arr->numbers.len > 0) {
        uint32_t number = arr->numbers.data[arr->numbers.len - 1];
        if (arr->entries[number].use == PAGE_NONE)
            return number;
        arr->entries[number].in_numbers = false;
        arr->numbers.len--;
    }
    uint32_t run = 0;
    for (uint32_t i = 0; count > 1 && arr->number_count >= count && i < arr->pages.count; i++) {
        run = arr->entries[i].use == PAGE_NONE ? run + 1 : 0;
        if (run == count)
            return i + 1 - count;
    }
    if (count > PAGE_NO_MAX - arr->pages.count ||
        !sf_arr_tables_grow(arr, arr->pages.count + count))
        return UINT32_MAX;
    return arr->pages.count;
}

static void number_take(sf_arr *arr, uint32_t number, page_use use, sf_page *page)
{
    if (number < arr->pages.count)
        arr->number_count--;
    else
        arr->pages.count = number + 1;
    sf_page_entry *entry = &arr->entries[number];
    entry->page = page;
    entry->changed = arr->version;
    entry->use = (uint8_t)use;
    arr->pages.base[number] = page ? page->bytes : NULL;
    arr->own[number] = 1;
    if (page)
        arr->page_bytes += page->size + sizeof *page;
}

void sf_arr_number_give(sf_arr *arr, uint32_t number)
{
    sf_page_entry *entry = &arr->entries[number];
    if (entry->page)
        arr->page_bytes -= entry->page->size + sizeof *entry->page;
    sf_page_unref(entry->page);
    entry->page = NULL;
    entry->changed = arr->version;
    entry->use = PAGE_NONE;
    entry->in_holes = false;
    arr->pages.base[number] = NULL;
    arr->own[number] = 0;
    arr->number_count++;
    /* Without memory for the list the number waits until it is given again, or a run finds it. */
    if (!entry->in_numbers)
        entry->in_numbers = SF_VEC_PUSH(&arr->numbers, number);
}

bool sf_arr_number_claim(sf_arr *arr, uint32_t page_no, page_use use, sf_page *page)
{
    if (page_no >= PAGE_NO_MAX || !sf_arr_tables_grow(arr, page_no + 1))
        return false;
    if (page_no > arr->pages.count) {
        arr->number_count += page_no - arr->pages.count;
        arr->pages.count = page_no;
    }
    number_take(arr, page_no, use, page);
    arr->entries[page_no].changed = 1; /* as loaded */
    arr->own[page_no] = 0;
    return true;
}

/* ---- copying before writing ---- */

bool sf_arr_own_slow(sf_arr *arr, uint32_t page_no, bool force)
{
    sf_page_entry *entry = &arr->entries[page_no];
    sf_page *page = entry->page;
    if (atomic_load_explicit(&page->refs, memory_order_acquire) != 1) {
        sf_page *copy = sf_page_new(arr->budget, page->size, force);
        if (!copy)
            return false;
        memcpy(copy->bytes, page->bytes, page->size);
        entry->page = copy;
        arr->pages.base[page_no] = copy->bytes;
        sf_page_unref(page);
    }
    entry->changed = arr->version;
    arr->own[page_no] = 1;
    return true;
}

/* ---- row pages ---- */

static void page_init(const sf_arr *arr, uint8_t *base, uint32_t page_no)
{
    *head_of(base) = (page_head){.magic = PAGE_MAGIC_ROWS,
                                 .page_no = page_no,
                                 .fingerprint = arr->layout->fingerprint,
                                 .heap_at = SF_PAGE_BYTES};
}

static bool page_add(sf_arr *arr)
{
    uint32_t page_no = numbers_find(arr, 1);
    if (page_no == UINT32_MAX || !sf_arr_page_links(arr, page_no))
        return false;
    sf_page *page = sf_page_new(arr->budget, SF_PAGE_BYTES, false);
    if (!page) {
        links_free(arr, &arr->next[page_no]);
        return false;
    }
    memset(page->bytes, 0, SF_PAGE_BYTES);
    page_init(arr, page->bytes, page_no);
    number_take(arr, page_no, PAGE_ROWS, page);
    arr->open_page = page_no;
    return true;
}

void sf_arr_drop_page(sf_arr *arr, uint32_t page_no)
{
    links_free(arr, &arr->next[page_no]);
    links_free(arr, &arr->prev[page_no]);
    sf_arr_number_give(arr, page_no);
}

/* Lays the texts of live rows side by side in fresh bytes. Without memory the page stays. */
static void page_compact(sf_arr *arr, uint32_t page_no)
{
    const sf_layout *layout = arr->layout;
    sf_page *page = arr->entries[page_no].page;
    uint8_t *old = page->bytes, *fresh = sf_alloc_aligned(64, SF_PAGE_BYTES);
    if (!fresh)
        return;
    page_head *head = head_of(fresh);
    size_t rows_end = sizeof *head + (size_t)head_of(old)->slots * layout->stride;
    memcpy(fresh, old, rows_end);
    uint32_t heap_at = SF_PAGE_BYTES;
    for (uint32_t slot = 0; slot < head->slots; slot++) {
        uint8_t *row = row_in(layout, fresh, slot);
        if (!(row[0] & ROW_LIVE))
            continue;
        uint32_t blob_no;
        uint32_t at = heap_at -= sf_row_heap(layout, old, row, &blob_no);
        for (uint32_t c = 0; c < layout->column_count; c++) {
            if (!layout->columns[c].text)
                continue;
            text_lane *lane = (text_lane *)(void *)(row + layout->columns[c].at);
            uint32_t len = lane->len == TEXT_LONG ? sizeof(text_long) : lane->len;
            memcpy(fresh + at, old + lane->at, len);
            lane->at = (uint16_t)(len ? at : 0);
            at += len;
        }
    }
    memset(fresh + rows_end, 0, heap_at - rows_end);
    head->heap_at = heap_at;
    head->heap_garbage = 0;
    page->bytes = arr->pages.base[page_no] = fresh;
    sf_free(old);
}

bool sf_arr_page_room(sf_arr *arr, uint32_t page_no, uint32_t slot_bytes, uint32_t heap_bytes)
{
    const page_head *head = head_of(arr->pages.base[page_no]);
    uint32_t rows_end = (uint32_t)sizeof *head + head->slots * arr->layout->stride;
    uint32_t room = head->heap_at - rows_end, need = slot_bytes + heap_bytes;
    if (SF_LIKELY(room >= need))
        return true;
    if (head->heap_garbage < GARBAGE_MIN || room + head->heap_garbage < need)
        return false;
    page_compact(arr, page_no);
    return head_of(arr->pages.base[page_no])->heap_at - rows_end >= need;
}

/* Can a row of that much text be put here? The page is owned then. */
static bool page_takes(sf_arr *arr, uint32_t page_no, uint32_t heap_bytes)
{
    const page_head *head = head_of(arr->pages.base[page_no]);
    uint32_t slot_bytes = head->free_slot ? 0 : arr->layout->stride;
    if (slot_bytes && head->slots == arr->layout->rows_max)
        return false;
    return arr_own(arr, page_no) && sf_arr_page_room(arr, page_no, slot_bytes, heap_bytes);
}

void sf_arr_note_hole(sf_arr *arr, uint32_t page_no)
{
    const page_head *head = head_of(arr->pages.base[page_no]);
    sf_page_entry *entry = &arr->entries[page_no];
    uint32_t rows_end = (uint32_t)sizeof *head + head->live * arr->layout->stride;
    uint32_t room = head->heap_at - rows_end + head->heap_garbage;
    if (room >= HOLE_MIN && !entry->in_holes && page_no != arr->open_page)
        entry->in_holes = SF_VEC_PUSH(&arr->holes, page_no); /* else its room waits for luck */
}

/* Makes open_page one that takes the row. */
static bool find_room(sf_arr *arr, uint32_t heap_bytes)
{
    if (arr->open_page != UINT32_MAX && page_takes(arr, arr->open_page, heap_bytes))
        return true;
    while (arr->holes.len > 0) {
        uint32_t page_no = arr->holes.data[arr->holes.len - 1];
        bool stale = arr->entries[page_no].use != PAGE_ROWS || !arr->entries[page_no].in_holes;
        if (!stale && page_takes(arr, page_no, heap_bytes)) {
            arr->entries[page_no].in_holes = false;
            arr->holes.len--;
            arr->open_page = page_no;
            return true;
        }
        if (!stale && !arr->own[page_no])
            return false; /* it could not be copied */
        if (!stale)
            arr->entries[page_no].in_holes = false;
        arr->holes.len--;
    }
    return page_add(arr);
}

sf_ref sf_arr_place(sf_arr *arr, uint32_t heap_bytes)
{
    const sf_layout *layout = arr->layout;
    if (!find_room(arr, heap_bytes))
        return 0;
    uint32_t page_no = arr->open_page, slot;
    uint8_t *base = arr->pages.base[page_no];
    page_head *head = head_of(base);
    if (head->free_slot) {
        slot = head->free_slot - 1u;
        memcpy(&head->free_slot, row_in(layout, base, slot) + 2, sizeof head->free_slot);
    } else {
        slot = head->slots++;
    }
    uint8_t *placed = row_in(layout, base, slot); /* a row or texts may have been here */
    memset(placed, 0, layout->stride);
    placed[0] = ROW_LIVE;
    head->live++;
    head->heap_at -= heap_bytes;
    if (layout->chained)
        arr->next[page_no][slot] = 0;
    if (arr->prev[page_no])
        arr->prev[page_no][slot] = 0;
    arr->rows++;
    return ref_of(page_no, slot);
}

/* ---- taking rows away ---- */

void sf_arr_drop_texts(sf_arr *arr, sf_ref ref)
{
    const sf_layout *layout = arr->layout;
    if (!layout->has_text)
        return;
    uint8_t *base = arr->pages.base[ref_page(ref)];
    uint8_t *row = row_in(layout, base, ref_slot(ref));
    page_head *head = head_of(base);
    uint32_t blob_no, heap = sf_row_heap(layout, base, row, &blob_no);
    if (blob_no != UINT32_MAX)
        sf_arr_blob_free(arr, blob_no);
    if (heap == 0)
        return;
    uint32_t first = sf_row_heap_first(layout, row);
    for (uint32_t c = 0; c < layout->column_count; c++)
        if (layout->columns[c].text)
            *(text_lane *)(void *)(row + layout->columns[c].at) = (text_lane){0};
    if (first == head->heap_at) /* the last row put here: nothing is lost */
        head->heap_at += heap;
    else
        head->heap_garbage += heap;
}

void sf_arr_unplace(sf_arr *arr, sf_ref ref)
{
    sf_arr_drop_texts(arr, ref);
    uint32_t page_no = ref_page(ref), slot = ref_slot(ref);
    uint8_t *base = arr->pages.base[page_no];
    page_head *head = head_of(base);
    uint8_t *row = row_in(arr->layout, base, slot);
    row[0] = 0; /* a log may still name it, even when its page is emptied */
    arr->rows--;
    if (--head->live == 0) {
        if (page_no == arr->open_page) {
            page_init(arr, base, page_no);
            return;
        }
        sf_arr_drop_page(arr, page_no);
        return;
    }
    memcpy(row + 2, &head->free_slot, sizeof head->free_slot);
    head->free_slot = (uint16_t)(slot + 1);
    sf_arr_note_hole(arr, page_no);
}

/* ---- blobs ---- */

bool sf_arr_blob_new(sf_arr *arr, uint32_t size_bytes, uint32_t *page_no)
{
    uint32_t count = blob_pieces(size_bytes);
    uint32_t first = numbers_find(arr, count);
    if (first == UINT32_MAX)
        return false;
    sf_page *page = sf_page_new(arr->budget, size_bytes, false);
    if (!page)
        return false;
    number_take(arr, first, PAGE_BLOB, page);
    for (uint32_t i = 1; i < count; i++)
        number_take(arr, first + i, PAGE_BLOB_REST, NULL);
    *page_no = first;
    return true;
}

void sf_arr_blob_free(sf_arr *arr, uint32_t page_no)
{
    uint32_t count = blob_pieces(arr->entries[page_no].page->size);
    for (uint32_t i = 0; i < count; i++)
        sf_arr_number_give(arr, page_no + count - 1 - i);
}

/* ---- life ---- */

void sf_arr_pages_deinit(sf_arr *arr)
{
    for (uint32_t i = 0; i < arr->pages.count; i++) {
        sf_page_unref(arr->entries[i].page);
        links_free(arr, &arr->next[i]);
        links_free(arr, &arr->prev[i]);
    }
    sf_free(arr->pages.base);
    sf_free(arr->entries);
    sf_free(arr->own);
    sf_free(arr->next);
    sf_free(arr->prev);
    sf_budget_release(arr->budget, arr->cap * TABLE_ENTRY_BYTES);
    SF_VEC_DEINIT(&arr->holes);
    SF_VEC_DEINIT(&arr->numbers);
}
