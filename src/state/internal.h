/* internal.h: what the files of state share: row layout, pages, the index.
 *
 * A row lies at a fixed stride behind the head of its page, texts in a heap that grows down from
 * the page's end. Chains of equal keys are kept beside the pages, because neither snapshots nor
 * checkpoints need them. docs/formats/page.md draws the page. */
#ifndef SF_STATE_INTERNAL_H
#define SF_STATE_INTERNAL_H

#include "state/state.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "pages are written as they lie");

/* ---- memory that charges a budget --------------------------------------------------------- */

void *sf_state_take(sf_budget *budget, size_t size_bytes); /* NULL: over the budget or no memory */
void sf_state_give(sf_budget *budget, void *memory, size_t size_bytes);

/* ---- rows --------------------------------------------------------------------------------- */

enum {
    ROW_LIVE = 1,          /* bit 0 of a row's first byte; bits 1-7: NULL bits of columns 0-6 */
    ROW_NULLS_IN_HEAD = 7, /* later columns have theirs in bytes behind the row's head */
    WEIGHT_SHIFT = 8,      /* BAG: bytes 1-7 of the row are its weight */
    STRIDE_MAX = 32768,
    TEXT_LONG = 0xffff,   /* length in a text lane: the heap holds a text_long */
    TEXT_LONG_MIN = 8192, /* longer texts leave the page */
    ROW_HEAP_MAX = 16384, /* a row with more text than that keeps only short texts in the page */
    ROW_BLOB_MAX = 16 * 1024 * 1024,
};
#define WEIGHT_MAX ((int64_t)1 << 55)

typedef struct {
    uint16_t at, len; /* of the bytes in the page; 0, 0: empty or NULL */
} text_lane;

typedef struct {
    uint32_t page_no, at, len; /* of the blob, and of the text's bytes in it */
} text_long;

typedef struct {
    sf_type type;
    uint16_t at;      /* of the lane in the row */
    uint16_t null_at; /* of the byte that holds its NULL bit */
    uint8_t null_mask;
    uint8_t bytes; /* of the lane */
    bool text;
} sf_row_column;

typedef struct sf_layout {
    _Atomic uint32_t refs;
    sf_arr_mode mode;
    bool chained;  /* BAG whose key is not the whole row */
    bool fast_key; /* one integer of 8 bytes */
    bool has_text;
    bool extra_weight;
    uint32_t column_count, key_count;
    uint32_t extra_at, extra_bytes;
    uint32_t stride, rows_max; /* bytes a row, rows a page */
    uint32_t fingerprint;      /* pages of another layout are refused */
    sf_row_column columns[];
} sf_layout;

sf_status sf_layout_new(const sf_arr_options *options, sf_layout **out, sf_error *err);
sf_layout *sf_layout_ref(sf_layout *layout);
void sf_layout_unref(sf_layout *layout);

/* ---- pages -------------------------------------------------------------------------------- */

enum {
    PAGE_MAGIC_ROWS = 0x31504653, /* "SFP1" */
    PAGE_MAGIC_BLOB = 0x31424653, /* "SFB1" */
    PAGE_NO_MAX = (1 << 20) - 1,  /* so that no ref is UINT32_MAX - 4095 or more */
    REF_SLOT_BITS = 12,
    REF_SLOT_MASK = 4095,
    SLOTS_MAX = 4095,
};

typedef struct {
    uint32_t magic, page_no, fingerprint;
    uint16_t slots;     /* ever used, live or free */
    uint16_t live;      /* rows */
    uint16_t free_slot; /* first free one below slots, counted from 1; bytes 2-3 hold the next */
    uint16_t zero;
    uint32_t heap_at;      /* first byte of the heap */
    uint32_t heap_garbage; /* bytes of the heap no row shows */
    uint32_t reserved;
} page_head;
_Static_assert(sizeof(page_head) == 32, "rows start 32 bytes into the page");

typedef struct {
    uint32_t magic, page_no, fingerprint;
    uint32_t first_page_no; /* of the blob */
    uint32_t total_bytes;   /* of the blob */
    uint32_t reserved[3];
} blob_head;
_Static_assert(sizeof(blob_head) == sizeof(page_head), "one head size");
enum { BLOB_PIECE_BYTES = SF_PAGE_BYTES - (int)sizeof(blob_head) };

static inline uint32_t blob_pieces(uint32_t total_bytes)
{
    return (total_bytes + BLOB_PIECE_BYTES - 1) / BLOB_PIECE_BYTES;
}

/* Shared by an arrangement and its snapshots; written only while refs is 1. */
typedef struct {
    _Atomic uint32_t refs;
    uint32_t size; /* SF_PAGE_BYTES, or the length of a blob */
    sf_budget *budget;
    uint8_t *bytes;
} sf_page;
void sf_page_unref(sf_page *page);

typedef enum { PAGE_NONE, PAGE_ROWS, PAGE_BLOB, PAGE_BLOB_REST } page_use;

/* What reading needs, alike in an arrangement and a snapshot. */
typedef struct {
    uint8_t **base; /* bytes of each page, NULL where there is none; of a blob its text */
    uint32_t count;
} sf_pages;

static inline page_head *head_of(uint8_t *base)
{
    return (page_head *)(void *)base;
}
static inline uint32_t ref_page(sf_ref ref)
{
    return ref >> REF_SLOT_BITS;
}
static inline uint32_t ref_slot(sf_ref ref)
{
    return (ref & REF_SLOT_MASK) - 1;
}
static inline sf_ref ref_of(uint32_t page_no, uint32_t slot)
{
    return page_no << REF_SLOT_BITS | (slot + 1);
}
static inline uint8_t *row_in(const sf_layout *layout, uint8_t *base, uint32_t slot)
{
    return base + sizeof(page_head) + (size_t)slot * layout->stride;
}
static inline uint8_t *row_at(const sf_layout *layout, const sf_pages *pages, sf_ref ref)
{
    return row_in(layout, pages->base[ref_page(ref)], ref_slot(ref));
}
static inline bool row_is_null(const uint8_t *row, const sf_row_column *column)
{
    return row[column->null_at] & column->null_mask;
}
static inline int64_t row_weight(const sf_layout *layout, const uint8_t *row)
{
    int64_t word = 1;
    if (layout->mode == SF_ARR_BAG) {
        memcpy(&word, row, sizeof word);
        return word >> WEIGHT_SHIFT;
    }
    if (layout->extra_weight)
        memcpy(&word, row + layout->extra_at, sizeof word);
    return word;
}

/* row.c: reading and comparing. base is the page that holds row. */
sf_str sf_row_text(const sf_pages *pages, const uint8_t *base, const uint8_t *row,
                   const sf_row_column *column);
bool sf_row_equals_batch(const sf_layout *layout, const sf_pages *pages, sf_ref ref,
                         const sf_batch *batch, const uint32_t *columns, uint32_t from, uint32_t to,
                         uint32_t row);
bool sf_row_equals_row(const sf_layout *layout, const sf_pages *pages, sf_ref a, sf_ref b,
                       uint32_t from, uint32_t to);
uint64_t sf_row_hash(const sf_layout *layout, const sf_pages *pages, sf_ref ref, uint32_t from,
                     uint32_t to);
int sf_row_compare(const sf_layout *layout, const sf_pages *pages, sf_ref a, sf_ref b,
                   uint32_t column);
sf_column *sf_rows_gather(const sf_layout *layout, const sf_pages *pages, uint32_t column,
                          const sf_ref *refs, uint32_t count);
/* Bytes the row holds in its page's heap; *blob_no its blob's first page, UINT32_MAX: none. */
uint32_t sf_row_heap(const sf_layout *layout, const uint8_t *base, const uint8_t *row,
                     uint32_t *blob_no);
/* Where they start: the texts of a row lie side by side in the order of its columns. */
uint32_t sf_row_heap_first(const sf_layout *layout, const uint8_t *row);

static inline uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

/* ---- index -------------------------------------------------------------------------------- */

/* Multimap of 32-bit tags to refs; see index.c. */
typedef struct {
    uint64_t *slots; /* tag << 32 | ref, 0 = empty; ascending; the last one is always empty */
    uint32_t homes;  /* tags are spread over the first homes slots, in order */
    uint32_t total;
    uint32_t used, used_max;
    uint32_t end;   /* no slot from here on is in use */
    uint32_t depth; /* leading bits that all tags in it share */
} sf_segment;

typedef struct {
    sf_segment **dir; /* by the first depth bits of the tag; neighbours may share a segment */
    uint32_t depth;
    uint32_t made; /* segments ever; grows whenever slots move to other arrays */
    uint64_t used;
    size_t bytes;
    sf_budget *budget;
} sf_index;

static inline sf_segment *index_segment(const sf_index *index, uint32_t tag)
{
    return index->dir[(uint64_t)tag >> (32 - index->depth)];
}
/* Where the tag's entries start, or would. */
static inline uint64_t *segment_home(const sf_segment *segment, uint32_t tag)
{
    return segment->slots +
           ((uint64_t)(uint32_t)((uint64_t)tag << segment->depth) * segment->homes >> 32);
}
static inline uint64_t *index_seek(const sf_index *index, uint32_t tag)
{
    uint64_t *at = segment_home(index_segment(index, tag), tag);
    while (*at && *at >> 32 < tag)
        at++;
    return at;
}
static inline bool entry_is(uint64_t entry, uint32_t tag)
{
    return entry && entry >> 32 == tag;
}

bool sf_index_init(sf_index *index, sf_budget *budget); /* one small segment */
void sf_index_deinit(sf_index *index);
SF_MUST_USE bool sf_index_reserve_slow(sf_index *index, uint32_t tag);
/* Room for one more entry of this tag, so that the next insert cannot fail. */
SF_MUST_USE static inline bool sf_index_reserve(sf_index *index, uint32_t tag)
{
    const sf_segment *segment = index_segment(index, tag);
    return SF_LIKELY(segment->used < segment->used_max && segment->end + 1 < segment->total) ||
           sf_index_reserve_slow(index, tag);
}
void sf_index_insert(sf_index *index, uint32_t tag, sf_ref ref); /* after reserve */
/* The same where a search for the tag ended, unless reserve moved the segment meanwhile. */
void sf_index_insert_at(sf_index *index, uint64_t *at, uint32_t tag, sf_ref ref);
void sf_index_remove(sf_index *index, uint32_t tag, sf_ref ref);
void sf_index_set(sf_index *index, uint32_t tag, sf_ref old_ref, sf_ref new_ref);
/* Of an empty index: room for about that many entries. */
SF_MUST_USE bool sf_index_presize(sf_index *index, uint64_t entries);

/* ---- arrangement -------------------------------------------------------------------------- */

typedef struct {
    sf_page *page;    /* NULL in PAGE_NONE and PAGE_BLOB_REST */
    uint64_t changed; /* version of the first snapshot that shows the last change */
    uint8_t use;
    bool in_holes, in_numbers;
} sf_page_entry;

/* What a batch did so far, to take it back. */
typedef struct {
    sf_ref ref;
    uint32_t tag;
    int64_t delta;
} sf_add_log;

struct sf_arr {
    sf_layout *layout;
    sf_budget *budget;
    sf_pages pages; /* count: numbers in use or once used */
    sf_page_entry *entries;
    uint8_t *own;             /* 1: not shared, changed carries the current version */
    uint32_t **next;          /* chained: of each slot of a page */
    uint32_t **prev;          /* only where a chain is linked both ways; of a head: CHAIN_* */
    uint32_t cap;             /* of the arrays above */
    uint32_t open_page;       /* where rows are put; UINT32_MAX: none */
    SF_VEC(uint32_t) holes;   /* pages with room again */
    SF_VEC(uint32_t) numbers; /* free page numbers; may hold stale ones */
    uint32_t number_count;    /* numbers below pages.count that are free */
    SF_VEC(sf_add_log) log;
    SF_VEC(sf_ref) created;
    sf_index index;      /* tag of the key -> row, or head of the key's chain */
    sf_index rows_index; /* tag of the whole row -> row, of chains that are CHAIN_INDEXED */
    bool has_rows_index;
    bool retracting; /* BAG: a negative weight was seen: equal rows are looked for */
    bool loading, broken;
    uint64_t rows;
    uint64_t version; /* of the next snapshot */
    size_t page_bytes, table_bytes;
};

enum { CHAIN_LONG = 32 };              /* rows a chain is searched row by row */
#define CHAIN_LINKED  (UINT32_MAX - 1) /* prev of a head: prev links of its chain hold */
#define CHAIN_INDEXED UINT32_MAX       /* and its rows are in rows_index */

static inline uint32_t *next_of(const sf_arr *arr, sf_ref ref)
{
    return &arr->next[ref_page(ref)][ref_slot(ref)];
}

/* page.c: room for rows. Everything that may fail leaves the arrangement as it was. */
SF_MUST_USE bool sf_arr_own_slow(sf_arr *arr, uint32_t page_no, bool force);
/* The page may be written now; pointers into it taken before are void. */
SF_MUST_USE static inline bool arr_own(sf_arr *arr, uint32_t page_no)
{
    return SF_LIKELY(arr->own[page_no]) || sf_arr_own_slow(arr, page_no, false);
}
/* A zeroed row and heap_bytes at the page's heap_at; 0: no memory. */
sf_ref sf_arr_place(sf_arr *arr, uint32_t heap_bytes);
/* Can the row's page hold heap_bytes more? Compacts it when that helps. The page is owned. */
bool sf_arr_page_room(sf_arr *arr, uint32_t page_no, uint32_t slot_bytes, uint32_t heap_bytes);
void sf_arr_unplace(sf_arr *arr, sf_ref ref); /* the page is owned */
/* Fill the page again when there is room enough in it. */
void sf_arr_note_hole(sf_arr *arr, uint32_t page_no);
/* Give back heap bytes and blob of a row that stays. */
void sf_arr_drop_texts(sf_arr *arr, sf_ref ref);
SF_MUST_USE bool sf_arr_blob_new(sf_arr *arr, uint32_t size_bytes, uint32_t *page_no);
void sf_arr_blob_free(sf_arr *arr, uint32_t page_no);
/* Where a page was read from disk: the number is in use then. false: no memory or too large. */
SF_MUST_USE bool sf_arr_number_claim(sf_arr *arr, uint32_t page_no, page_use use, sf_page *page);
void sf_arr_number_give(sf_arr *arr, uint32_t number);
SF_MUST_USE bool sf_arr_tables_grow(sf_arr *arr, uint32_t count);
SF_MUST_USE bool sf_arr_page_links(sf_arr *arr, uint32_t page_no); /* the next array of a page */
SF_MUST_USE bool sf_arr_page_back_links(sf_arr *arr, uint32_t page_no); /* its prev array */
sf_page *sf_page_new(sf_budget *budget, uint32_t size_bytes, bool force);
void sf_arr_drop_page(sf_arr *arr, uint32_t page_no);
void sf_arr_pages_deinit(sf_arr *arr);

/* write.c: batch rows into pages. */
typedef struct {
    uint32_t heap_bytes, blob_bytes;
    uint32_t long_min; /* texts longer than this go to the blob */
} sf_row_size;
sf_status sf_row_measure(const sf_layout *layout, const sf_batch *batch, const uint32_t *columns,
                         uint32_t row, sf_row_size *out, sf_error *err);
/* A new row with the batch row's values; not yet in any index. */
sf_status sf_row_create(sf_arr *arr, const sf_batch *batch, const uint32_t *columns, uint32_t row,
                        int64_t weight, sf_ref *out, sf_error *err);
sf_status sf_row_overwrite(sf_arr *arr, sf_ref ref, const sf_batch *batch, const uint32_t *columns,
                           uint32_t row, sf_ref *out, sf_error *err);

/* find.c: the row of the batch row's key. */
sf_ref sf_arr_find_one(const sf_arr *arr, const sf_batch *batch, const uint32_t *columns,
                       uint32_t row, uint32_t tag);
enum { PROBE_CHUNK = 64 };
/* Bring slots and rows of the next probes near. count <= PROBE_CHUNK. */
void sf_arr_prefetch(const sf_arr *arr, const uint64_t *hashes, uint32_t count);
void sf_arr_check_batch(const sf_arr *arr, const sf_batch *batch, const uint32_t *columns,
                        uint32_t count);
sf_status sf_arr_no_memory(const sf_arr *arr, sf_error *err);
/* Take the row out of index and chain and free it. The page is owned. */
void sf_arr_unlink(sf_arr *arr, sf_ref ref, uint32_t tag);

/* chain.c. tag: of the key. */
/* A new row before head (0: the key has none). */
sf_status sf_chain_push(sf_arr *arr, sf_ref ref, sf_ref head, uint32_t tag, sf_error *err);
void sf_chain_remove(sf_arr *arr, sf_ref ref, uint32_t tag);
/* A row of the chain that equals the batch row, 0: none. */
sf_status sf_chain_find(sf_arr *arr, sf_ref head, const sf_batch *batch, const uint32_t *columns,
                        uint32_t row, uint32_t tag, sf_ref *out, sf_error *err);

#endif
