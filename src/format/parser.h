/* parser.h: the inside of the row parser: the batch under construction, the input, and what the
 * three formats share. Private to src/format. */
#ifndef SF_FORMAT_PARSER_H
#define SF_FORMAT_PARSER_H

#include "format/format.h"
#include "text/scan.h"

enum {
    PAD_BYTES = 64,          /* readable behind the input, so that block loads need no check */
    INPUT_BYTES = 256 << 10, /* one input buffer, unless a row is longer */
    INPUT_BYTES_MIN = 4 << 10,
    RECORD_BYTES_MAX = 16 << 20,
    RECORD_BYTES_LIMIT = 1 << 30, /* what record_bytes_max may be */
    CSV_GROUP_ROWS = 64,          /* one word of validity bits */
};

/* ---- the batch under construction ---- */

typedef enum { KIND_STRING, KIND_DOUBLE, KIND_LONG, KIND_BOOL, KIND_TIME, KIND_JSON } slot_kind;

/* One column of it. */
typedef struct slot {
    slot_kind kind;
    uint8_t counts;  /* 1: declared; 0: a hidden column, which has a default and no NULL */
    bool far;        /* a view of this batch points into a buffer */
    bool failed;     /* the current row's value does not fit, */
    uint8_t misfit;  /* for this reason, */
    sf_str bad;      /* and was this */
    uint64_t seen;   /* the last record that set it */
    void *lanes;     /* of column */
    uint64_t *valid; /* of column; bits from the current row on are 0 */
    sf_column *column;
    struct slot *next; /* the JSON key that followed this one last time */
    struct slot *twin; /* the hidden column a declared field of its name feeds too */
    char *pattern;     /* "name": as compact JSON writes it; NULL when the name needs escapes */
    uint32_t pattern_len;
    uint64_t head, head_mask, tail; /* its first 8 bytes (fewer: masked) and its last 8 */
    sf_type type;
    sf_str name;
} slot;

typedef struct {
    slot *slots;
    uint32_t count, declared;
    slot *stamp, *retract; /* NULL: the schema has no such column */
    slot *first;           /* the key a row is expected to start with */
    uint32_t row, cap, cap_max;
    uint64_t record; /* number of the record being read */
    uint32_t seen;   /* declared slots it has set */
    uint32_t unknown;
    char unknown_name[64]; /* the first of them, cut */
    bool trouble;          /* something about it has to be judged or counted at its end */
    int64_t stamp_ms;
    uint32_t *index; /* slot numbers + 1 by hash of the name; 0: free */
    uint32_t index_mask;
    int64_t input_index, pool_index; /* of these buffers among buffers; -1: not among them */
    SF_VEC(sf_buffer *) buffers;     /* far views of this batch point into these */
    sf_buffer *pool;                 /* text that is not in the input as it is: unescaped strings */
    size_t pool_used;
    sf_buf scratch;
} rowset;

bool rows_init(rowset *r, const sf_schema *schema, uint32_t cap_max);
void rows_deinit(rowset *r);
bool rows_grow(rowset *r);     /* room for the current row; false: memory is short */
void rows_fill(rowset *r);     /* what the record did not set becomes NULL */
void rows_rollback(rowset *r); /* forgets the current row */
/* The rows so far as a batch; the next row starts another. NULL: none, or memory is short. */
sf_batch *rows_finish(rowset *r, const sf_schema *schema);
/* Adds a buffer to the batch; its index, -1 when memory is short. */
int64_t rows_buffer(rowset *r, sf_buffer *buffer);
slot *rows_find(const rowset *r, sf_str name); /* exact */

/* ---- input and parser ---- */

typedef enum { JSON_TOP, JSON_FIRST, JSON_NEXT, JSON_ITEM, JSON_BROKEN } json_state;

/* Where the json format is. Offsets count from the start of the unread input. */
typedef struct {
    json_state state;
    bool begun;   /* the first bytes were seen: a BOM is gone */
    bool inside;  /* of an element; the rest is about it */
    bool tried;   /* it was parsed in vain: find its end first */
    bool string;  /* inside a string, */
    bool escaped; /* just behind a backslash */
    uint32_t depth;
    size_t scan; /* ndjson: no line end before it */
} json_input;

typedef struct {
    uint32_t start;    /* from the start of the record; without quotes */
    uint32_t len : 30; /* RECORD_BYTES_LIMIT keeps it in bounds */
    uint32_t quoted : 1, doubled : 1;
} csv_cell;

typedef struct {
    slot *slot;    /* NULL: not declared, */
    bool unknown;  /* and not reserved either */
    csv_cell name; /* in the header */
} csv_column;

/* A row that waits in the group. */
typedef struct {
    const char *record;
    uint64_t line;
    size_t len;
} csv_row;

typedef enum {
    CSV_CELL,   /* at the start of a cell */
    CSV_PLAIN,  /* inside one without quotes */
    CSV_QUOTED, /* inside quotes */
    CSV_QUOTE,  /* behind a quote inside quotes: the first of two, or the end */
} csv_state;

/* Where the csv format is. Offsets count from the start of the record while nobody reads. */
typedef struct {
    csv_state state;
    char delimiter;      /* 0: not known yet */
    bool headed;         /* the header was read */
    bool begun;          /* the first bytes were seen: a BOM is gone */
    bool skip_lf;        /* a LF that comes next belongs to the CR before it */
    bool doubled;        /* the current cell holds doubled quotes */
    bool quotes;         /* the current record has a quoted cell, */
    bool high;           /* perhaps bytes beyond ASCII, */
    bool surplus;        /* text in a cell beyond cell_max, */
    const char *problem; /* and this is wrong with it */
    size_t at;           /* scanned up to here */
    size_t cell_at;      /* where the current cell starts */
    size_t cell_count;   /* of the record; only cell_max are kept */
    size_t cell_max;     /* room in cells */
    csv_cell *cells;     /* of the record: a window of store behind those of the group */
    csv_cell *store;
    csv_row group[CSV_GROUP_ROWS];  /* rows without anything unusual, not converted yet */
    uint32_t group_rows, group_max; /* max 0: this header allows no groups */
    uint32_t unknown_columns;
    SF_VEC(csv_column) columns;
    sf_buf header; /* as read, with PAD_BYTES behind it */
} csv_input;

struct sf_parser {
    sf_parser_options options;
    sf_schema *schema;
    rowset rows;
    sf_buffer *in;
    size_t start, fill; /* unread input */
    uint64_t base;      /* offset in the input of in->data[0] */
    uint64_t line;      /* of start, from 1 */
    bool finished, rejected;
    bool skipping; /* the record is too long: drop it up to its end */
    bool no_memory;
    uint64_t input_rows; /* of this input */
    json_input json;
    csv_input csv;
    SF_VEC(sf_batch *) ready;
    size_t ready_at;
    sf_parse_report report;
};

static inline const char *input_at(const sf_parser *p)
{
    return (const char *)p->in->data + p->start;
}
static inline const char *input_end(const sf_parser *p)
{
    return (const char *)p->in->data + p->fill;
}

/* Take what can be taken; final: no more will come. */
void ndjson_process(sf_parser *p, bool final);
void json_process(sf_parser *p, bool final);
void csv_process(sf_parser *p, bool final);
/* The bytes that csv scans; offsets count from base. */
typedef struct {
    const char *base;
    size_t limit;    /* PAD_BYTES more may be read */
    size_t block_at; /* mask is about the block of bytes from here on */
    uint64_t mask;   /* bit set: a delimiter or line end that has not been taken */
} csv_bytes;
/* Begin taking blocks at `at`. */
void csv_scan_from(csv_bytes *bytes, size_t at);
/* Goes on to the end of the record; true: it is complete, and csv->at is behind it. */
bool csv_scan_record(csv_input *csv, csv_bytes *bytes, size_t record, bool final);
/* Converts count (at most CSV_GROUP_ROWS, and what fits the batch) rows of the group column by
 * column. False: some value wants a closer look, or memory is short; no row has been taken. */
bool csv_group_take(sf_parser *p, uint32_t from, uint32_t count);
static inline size_t csv_cells_kept(const csv_input *csv)
{
    return csv->cell_count < csv->cell_max ? csv->cell_count : csv->cell_max;
}
/* CSV: takes the header from text; delimiter 0: whichever it has most of. False: memory is short. */
bool csv_set_header(sf_parser *p, sf_str text, char delimiter);
void csv_start(csv_input *csv, char delimiter);
/* A header cell as read; borrowed until the next call. */
sf_str csv_header_name(sf_parser *p, size_t column);

/* Undeclared fields that the platform itself writes. */
bool reserved_name(sf_str name);
/* A record that does not parse, with the reason. */
void parser_malformed(sf_parser *p, const char *format, ...) SF_PRINTF(2, 3);
void parser_error(sf_parser *p, const char *format, ...) SF_PRINTF(2, 3);
/* The current row is whole but troubled: counts and applies the policies. False: leave it out. */
bool parser_judge(sf_parser *p);
void parser_unknown(sf_parser *p, sf_str name); /* the row has a field that is not declared */
/* The batch is as large as it may get. */
void parser_batch_full(sf_parser *p);

/* ---- setting values ---- */

/* False: memory is short. */
static inline bool row_begin(sf_parser *p)
{
    rowset *r = &p->rows;
    if (SF_UNLIKELY(r->row == r->cap) && !rows_grow(r)) {
        p->no_memory = true;
        return false;
    }
    r->record++;
    r->seen = 0;
    r->unknown = 0;
    r->trouble = false;
    if (r->stamp)
        ((int64_t *)r->stamp->lanes)[r->row] = r->stamp_ms;
    if (r->retract)
        ((uint8_t *)r->retract->lanes)[r->row] = 0;
    return true;
}

static inline void row_end(sf_parser *p)
{
    rowset *r = &p->rows;
    if (SF_UNLIKELY(r->seen != r->declared))
        rows_fill(r);
    if (SF_UNLIKELY(r->trouble) && !parser_judge(p)) {
        rows_rollback(r);
        return;
    }
    p->report.rows++;
    p->input_rows++;
    if (SF_UNLIKELY(++r->row == r->cap_max))
        parser_batch_full(p);
}

/* A value or NULL comes for this slot; a second one in the same record replaces the first. */
static inline void slot_touch(rowset *r, slot *s)
{
    if (SF_UNLIKELY(s->seen == r->record)) {
        s->failed = false;
        return;
    }
    s->seen = r->record;
    s->failed = false;
    r->seen += s->counts;
    r->trouble |= s->counts == 0;
}

static inline void slot_set_valid(const rowset *r, slot *s)
{
    s->valid[r->row >> 6] |= UINT64_C(1) << (r->row & 63);
}

static inline void slot_i64(rowset *r, slot *s, int64_t value)
{
    slot_touch(r, s);
    ((int64_t *)s->lanes)[r->row] = value;
    slot_set_valid(r, s);
}

static inline void slot_f64(rowset *r, slot *s, double value)
{
    slot_touch(r, s);
    ((double *)s->lanes)[r->row] = value;
    slot_set_valid(r, s);
}

static inline void slot_bool(rowset *r, slot *s, bool value)
{
    slot_touch(r, s);
    ((uint8_t *)s->lanes)[r->row] = value;
    slot_set_valid(r, s);
}

/* A view over 16 readable bytes of which len <= 12 count, without a branch on len. */
static inline sf_view view_of_padded(const char *at, uint32_t len)
{
    /* The last len of the first twelve bytes from ones + 12 - len on are 0xff. */
    static const uint8_t ones[SF_VIEW_INLINE * 2 + 4] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                                         0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    const uint8_t *mask = ones + SF_VIEW_INLINE - len;
    sf_view view;
#if defined(__SSE2__)
    __m128i text = _mm_loadu_si128((const __m128i *)(const void *)at);
    text = _mm_and_si128(text, _mm_loadu_si128((const __m128i *)(const void *)mask));
    text = _mm_or_si128(_mm_slli_si128(text, 4), _mm_cvtsi32_si128((int)len));
    _mm_storeu_si128((__m128i *)(void *)&view, text);
#else
    uint64_t a = sf_load_u64(at) & sf_load_u64((const char *)mask);
    uint64_t b = sf_load_u64(at + 8) & sf_load_u64((const char *)mask + 8);
    uint64_t words[2] = {len | a << 32, a >> 32 | b << 32};
    memcpy(&view, words, sizeof view);
#endif
    return view;
}

/* Text inside the input buffer: short text is copied, long text referenced. */
static inline void slot_input_text(sf_parser *p, slot *s, const char *at, size_t len)
{
    rowset *r = &p->rows;
    slot_touch(r, s);
    sf_view view;
    if (len <= SF_VIEW_INLINE) {
        view = view_of_padded(at, (uint32_t)len);
    } else {
        if (SF_UNLIKELY(r->input_index < 0))
            r->input_index = rows_buffer(r, p->in);
        if (SF_UNLIKELY(r->input_index < 0)) {
            p->no_memory = true;
            return;
        }
        s->far = true;
        view = sf_view_far(at, (uint32_t)len, (uint32_t)r->input_index,
                           (uint32_t)(at - (const char *)p->in->data));
    }
    ((sf_view *)s->lanes)[r->row] = view;
    slot_set_valid(r, s);
}

void slot_null(rowset *r, slot *s);
void slot_misfit(rowset *r, slot *s, sf_misfit misfit, sf_str value);
/* Text from elsewhere: copied. */
void slot_text(sf_parser *p, slot *s, sf_str text);

/* The value of a declared type that text stands for, as casts read it. `in_input`: text lies in the
 * input buffer. shown: how messages quote it. */
void slot_coerce_text(sf_parser *p, slot *s, sf_str text, bool in_input, sf_str shown);
void slot_coerce_number(sf_parser *p, slot *s, const sf_decimal *decimal, sf_str raw);

#endif
