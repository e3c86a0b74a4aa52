/* CSV to rows. Delimiters and line ends are found 64 bytes at a time; a quote counts only where a
 * cell starts, as RFC 4180 has it, so that an inch sign inside a cell does no harm. */
#include "format/parser.h"

enum { HEADER_CELLS_MAX = 16384, BLOCK = 64 };

void csv_start(csv_input *csv, char delimiter)
{
    sf_buf_clear(&csv->header);
    csv->columns.len = csv->cells.len = 0;
    csv->state = CSV_CELL;
    csv->delimiter = delimiter;
    csv->headed = csv->begun = csv->skip_lf = csv->doubled = false;
    csv->quotes = csv->high = csv->surplus = false;
    csv->problem = NULL;
    csv->at = csv->cell_at = csv->cell_count = 0;
    csv->cell_max = HEADER_CELLS_MAX;
}

/* ---- cells ---- */

/* A view of the bytes that are scanned, and of the block that is being taken apart. */
typedef struct {
    const char *base;
    size_t limit;    /* bytes; PAD_BYTES more may be read */
    size_t block_at; /* mask is about the BLOCK bytes from here on */
    uint64_t mask;   /* bit set: a delimiter or line end that has not been taken */
    bool no_memory;
} scan;

/* Delimiters and line ends of a block; *high: some byte is not ASCII. */
static inline uint64_t block_mask(const char *at, char delimiter, bool *high)
{
    uint64_t found = 0, tops = 0;
#if defined(__AVX2__)
    for (int i = 0; i < BLOCK; i += 32) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(at + i));
        __m256i any =
            _mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8(delimiter)),
                            _mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('\n')),
                                            _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\r'))));
        found |= (uint64_t)(uint32_t)_mm256_movemask_epi8(any) << i;
        tops |= (uint64_t)(uint32_t)_mm256_movemask_epi8(v);
    }
#elif defined(__SSE2__)
    for (int i = 0; i < BLOCK; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(at + i));
        __m128i any = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(delimiter)),
                                   _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('\n')),
                                                _mm_cmpeq_epi8(v, _mm_set1_epi8('\r'))));
        found |= (uint64_t)(uint32_t)_mm_movemask_epi8(any) << i;
        tops |= (uint64_t)(uint32_t)_mm_movemask_epi8(v);
    }
#else
    for (int i = 0; i < BLOCK; i++) {
        found |= (uint64_t)(at[i] == delimiter || at[i] == '\n' || at[i] == '\r') << i;
        tops |= (unsigned char)at[i] & 0x80;
    }
#endif
    *high |= tops != 0;
    return found;
}

/* Begin taking blocks at `at`. */
static inline void scan_from(scan *s, size_t at)
{
    s->block_at = at - BLOCK; /* wraps at 0, and back again */
    s->mask = 0;
}

static inline void push_cell(csv_input *csv, scan *s, size_t record, size_t start, size_t end,
                             bool quoted)
{
    if (SF_UNLIKELY(csv->cell_count >= csv->cell_max)) {
        csv->surplus |= end > start;
    } else {
        csv_cell cell = {.start = (uint32_t)(start - record),
                         .len = (uint32_t)(end - start),
                         .quoted = quoted,
                         .doubled = quoted && csv->doubled};
        if (!SF_VEC_PUSH(&csv->cells, cell))
            s->no_memory = true;
    }
    csv->cell_count++;
}

typedef enum { STEP_MORE, STEP_CELL, STEP_RECORD } step;

/* What stands at csv->at behind a cell: a delimiter or a line end. */
static inline step pass_separator(csv_input *csv, const scan *s)
{
    char c = s->base[csv->at++];
    csv->cell_at = csv->at;
    csv->state = CSV_CELL;
    csv->skip_lf = c == '\r';
    return c == csv->delimiter ? STEP_CELL : STEP_RECORD;
}

/* Cells without quotes, until the record ends, a quoted cell starts or the bytes end. */
static inline step scan_plain(csv_input *csv, scan *s, size_t record)
{
    for (;;) {
        while (s->mask == 0) {
            size_t next = s->block_at + BLOCK;
            if (next >= s->limit) {
                csv->at = s->limit;
                return STEP_MORE;
            }
            s->block_at = next;
            s->mask = block_mask(s->base + next, csv->delimiter, &csv->high);
            if (s->limit - next < BLOCK)
                s->mask &= (UINT64_C(1) << (s->limit - next)) - 1;
        }
        csv->at = s->block_at + (size_t)__builtin_ctzll(s->mask);
        s->mask &= s->mask - 1;
        push_cell(csv, s, record, csv->cell_at, csv->at, false);
        step done = pass_separator(csv, s);
        if (done == STEP_RECORD)
            return done;
        if (csv->at == s->limit || s->base[csv->at] == '"')
            return STEP_CELL;
        csv->state = CSV_PLAIN;
    }
}

/* Behind an opening quote, or behind a quote inside quotes. */
static step scan_quoted(csv_input *csv, scan *s, size_t record, bool final)
{
    for (;;) {
        if (csv->state == CSV_QUOTED) {
            const char *from = s->base + csv->at;
            const char *quote = memchr(from, '"', s->limit - csv->at);
            if (!quote) {
                csv->at = s->limit;
                return STEP_MORE;
            }
            csv->at += (size_t)(quote - from) + 1;
            csv->state = CSV_QUOTE;
        }
        if (csv->at == s->limit && !final)
            return STEP_MORE;
        if (csv->at == s->limit || s->base[csv->at] != '"')
            break;
        csv->doubled = true;
        csv->at++;
        csv->state = CSV_QUOTED;
    }
    push_cell(csv, s, record, csv->cell_at, csv->at - 1, true);
    if (csv->at == s->limit)
        return STEP_MORE;
    char c = s->base[csv->at];
    scan_from(s, csv->at);
    if (c == csv->delimiter || c == '\n' || c == '\r') {
        scan_from(s, csv->at + 1);
        return pass_separator(csv, s);
    }
    /* The rest of the cell is passed over, and counts as a cell of a record that is lost anyway. */
    csv->problem = "text follows the closing quote of a cell";
    csv->state = CSV_PLAIN;
    return STEP_CELL;
}

/* Goes on to the end of the record; true: it is complete, and csv->at is behind it. */
static bool scan_record(csv_input *csv, scan *s, size_t record, bool final)
{
    step done = STEP_CELL;
    while (done == STEP_CELL && !s->no_memory) {
        if (csv->state == CSV_CELL && csv->at < s->limit) {
            csv->cell_at = csv->at;
            csv->state = CSV_PLAIN;
            if (s->base[csv->at] == '"') {
                csv->state = CSV_QUOTED;
                csv->quotes = true;
                csv->doubled = false;
                csv->cell_at = ++csv->at;
            }
        }
        if (csv->state == CSV_CELL)
            done = STEP_MORE;
        else if (csv->state == CSV_PLAIN)
            done = scan_plain(csv, s, record);
        else
            done = scan_quoted(csv, s, record, final);
    }
    if (done == STEP_RECORD)
        return true;
    if (!final || s->no_memory)
        return false;
    if (csv->state == CSV_QUOTED)
        csv->problem = "a quote that is opened here is never closed";
    else if (csv->state != CSV_QUOTE)
        push_cell(csv, s, record, csv->state == CSV_CELL ? csv->at : csv->cell_at, csv->at, false);
    return true;
}

/* ---- records ---- */

static void next_record(csv_input *csv)
{
    csv->cells.len = csv->cell_count = 0;
    csv->quotes = csv->surplus = false;
    csv->problem = NULL;
}

/* Line ends of a record with quotes: CR LF is one. */
static uint64_t lines_of(const char *record, size_t len)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < len; i++)
        lines +=
            record[i] == '\n' || (record[i] == '\r' && (i + 1 == len || record[i + 1] != '\n'));
    return lines;
}

/* ---- header ---- */

/* The candidate that occurs most often outside quotes; the earlier one of equals. */
static char sniff(sf_str header)
{
    static const char candidates[] = {',', '\t', ';', '|'};
    size_t counts[SF_COUNT_OF(candidates)] = {0}, best = 0;
    bool quoted = false;
    for (size_t i = 0; i < header.len; i++) {
        quoted ^= header.data[i] == '"';
        for (size_t k = 0; k < SF_COUNT_OF(candidates) && !quoted; k++)
            counts[k] += header.data[i] == candidates[k];
    }
    for (size_t k = 1; k < SF_COUNT_OF(candidates); k++)
        if (counts[k] > counts[best])
            best = k;
    return candidates[best];
}

/* The cell's text, with doubled quotes undone in scratch. */
static sf_str cell_text(const char *record, const csv_cell *cell, sf_buf *scratch)
{
    sf_str text = {record + cell->start, cell->len};
    if (!cell->doubled)
        return text;
    sf_buf_clear(scratch);
    for (size_t i = 0; i < text.len; i++) {
        sf_buf_putc(scratch, text.data[i]);
        i += text.data[i] == '"';
    }
    return sf_buf_str(scratch);
}

static slot *find_any_case(const rowset *r, sf_str name)
{
    slot *found = NULL;
    for (uint32_t i = 0; i < r->count && !found; i++)
        if (sf_str_eq_nocase(r->slots[i].name, name))
            found = &r->slots[i];
    return found;
}

sf_str csv_header_name(sf_parser *p, size_t column)
{
    return cell_text(p->csv.header.data, &p->csv.columns.data[column].name, &p->rows.scratch);
}

/* One column a header cell. A field takes the last header that is exactly its name, else the last
 * that is its name in another case. */
static bool map_columns(sf_parser *p, const char *text)
{
    csv_input *csv = &p->csv;
    rowset *r = &p->rows;
    uint32_t *exact = sf_calloc(r->count + 1u, sizeof *exact);
    if (!exact)
        return false;
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < csv->cells.len; i++) {
            sf_str name = cell_text(text, &csv->cells.data[i], &r->scratch);
            slot *s = rows_find(r, name);
            bool exactly = s != NULL;
            if (!exactly)
                s = find_any_case(r, sf_text_trim(name));
            csv_column column = {
                .slot = s, .unknown = !s && !reserved_name(name), .name = csv->cells.data[i]};
            if (pass == 0 && exactly)
                exact[s - r->slots] = 1;
            if (pass == 1 && s && !exactly && exact[s - r->slots])
                column = (csv_column){.unknown = true, .name = csv->cells.data[i]};
            if (pass == 1 && !SF_VEC_PUSH(&csv->columns, column)) {
                sf_free(exact);
                return false;
            }
        }
    }
    memset(exact, 0, r->count * sizeof *exact);
    for (size_t i = csv->columns.len; i-- > 0;) {
        csv_column *column = &csv->columns.data[i];
        if (column->slot && exact[column->slot - r->slots]++)
            column->slot = NULL; /* repeated: only the last counts */
    }
    sf_free(exact);
    return true;
}

bool csv_set_header(sf_parser *p, sf_str text, char delimiter)
{
    csv_input *csv = &p->csv;
    sf_buf copy = {0};
    sf_buf_put(&copy, text.data, text.len);
    if (!sf_buf_reserve(&copy, PAD_BYTES)) {
        sf_buf_deinit(&copy);
        return false;
    }
    memset(copy.data + copy.len, 0, PAD_BYTES);
    sf_buf_deinit(&csv->header);
    csv->header = copy;
    csv->delimiter = delimiter ? delimiter : sniff(text);
    csv->state = CSV_CELL;
    csv->at = csv->cell_at = csv->cell_count = 0;
    csv->cells.len = csv->columns.len = 0;
    csv->cell_max = HEADER_CELLS_MAX;
    scan s = {.base = copy.data, .limit = copy.len};
    scan_from(&s, 0);
    if (!scan_record(csv, &s, 0, true) || s.no_memory || !map_columns(p, copy.data))
        return false;
    csv->cell_max = csv->columns.len;
    csv->headed = true;
    next_record(csv);
    csv->state = CSV_CELL;
    csv->at = csv->cell_at = 0;
    return true;
}

/* Finds the end of a header line; its delimiter is not known yet, so that quotes count wherever
 * they stand. False: it has not arrived. */
static bool header_end(sf_parser *p, bool final)
{
    csv_input *csv = &p->csv;
    const char *first = input_at(p), *limit = input_end(p), *at = first + csv->at;
    for (; at < limit && (csv->quotes || (*at != '\n' && *at != '\r')); at++)
        csv->quotes ^= *at == '"';
    csv->at = (size_t)(at - first);
    if (csv->at > p->options.record_bytes_max) {
        parser_malformed(p, "the header is longer than %zu bytes, so that no row can be read",
                         p->options.record_bytes_max);
        p->skipping = true;
        return false;
    }
    return at < limit || final;
}

/* The header is the first line that is not blank. False: it has not arrived as a whole. */
static bool read_header(sf_parser *p, bool final)
{
    csv_input *csv = &p->csv;
    while (p->start < p->fill) {
        if (csv->skip_lf && csv->at == 0) {
            csv->skip_lf = false;
            p->start += *input_at(p) == '\n';
            continue;
        }
        if (!header_end(p, final))
            return false;
        sf_str text = {input_at(p), csv->at};
        size_t taken = csv->at + (p->start + csv->at < p->fill);
        bool cr = taken > csv->at && text.data[csv->at] == '\r', open = csv->quotes;
        if (!csv->begun && text.len >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0)
            text = (sf_str){text.data + 3, text.len - 3};
        bool blank = sf_text_trim(text).len == 0;
        if (!blank && open)
            parser_malformed(p, "a quote that is opened in the header is never closed");
        if (!blank && !csv_set_header(p, text, csv->delimiter)) {
            p->no_memory = true;
            return false;
        }
        p->line += lines_of(text.data, text.len) + 1;
        p->start += taken;
        csv->at = 0;
        csv->quotes = false;
        csv->begun = true;
        csv->skip_lf = cr;
        if (csv->headed)
            return true;
    }
    return false;
}

/* ---- rows ---- */

/* A cell of a JSON field: NULL when it says null. */
static void json_cell(sf_parser *p, slot *s, sf_str text, bool in_input, sf_str shown)
{
    text = sf_text_trim(text);
    if (sf_json_validate(text, NULL) != SF_OK)
        slot_misfit(&p->rows, s, SF_MISFIT_TEXT, shown);
    else if (sf_json_kind_of(text) == SF_JSON_NULL)
        slot_null(&p->rows, s);
    else if (in_input)
        slot_input_text(p, s, text.data, text.len);
    else
        slot_text(p, s, text);
}

static void any_cell(sf_parser *p, slot *s, const char *record, const csv_cell *cell)
{
    sf_str shown = {record + cell->start, cell->len};
    sf_str text = cell_text(record, cell, &p->rows.scratch);
    if (cell->doubled && p->rows.scratch.failed)
        p->no_memory = true;
    else if (text.len == 0 && s->kind != KIND_STRING)
        slot_null(&p->rows, s);
    else if (s->kind == KIND_JSON)
        json_cell(p, s, text, !cell->doubled, shown);
    else
        slot_coerce_text(p, s, text, !cell->doubled, shown);
}

/* The usual cells; everything else goes to any_cell. */
static inline void set_cell(sf_parser *p, slot *s, const char *record, const csv_cell *cell)
{
    const char *at = record + cell->start, *end = at + cell->len;
    sf_decimal decimal;
    double number;
    if (s->kind == KIND_STRING && !cell->doubled) {
        slot_input_text(p, s, at, cell->len);
        return;
    }
    if (s->kind == KIND_LONG || s->kind == KIND_DOUBLE) {
        /* Behind the cell stands a delimiter, quote or line end: the digits stop by themselves. */
        const char *stop = sf_scan_decimal(at, input_end(p), true, &decimal);
        if (stop == end && s->kind == KIND_DOUBLE && sf_decimal_quick_f64(&decimal, &number)) {
            slot_f64(&p->rows, s, number);
            return;
        }
        if (stop == end && s->kind == KIND_LONG && decimal.integer && !decimal.inexact &&
            decimal.digits <= INT64_MAX) {
            int64_t whole = (int64_t)decimal.digits;
            slot_i64(&p->rows, s, decimal.negative ? -whole : whole);
            return;
        }
    }
    any_cell(p, s, record, cell);
}

static void take_row(sf_parser *p, const char *record)
{
    csv_input *csv = &p->csv;
    size_t count = csv->cells.len;
    if (csv->cell_count < csv->columns.len)
        p->report.short_rows++;
    if (!row_begin(p))
        return;
    for (size_t i = 0; i < count; i++) {
        const csv_column *column = &csv->columns.data[i];
        if (column->slot) {
            set_cell(p, column->slot, record, &csv->cells.data[i]);
            if (SF_UNLIKELY(column->slot->twin != NULL))
                any_cell(p, column->slot->twin, record, &csv->cells.data[i]);
        } else if (column->unknown) {
            p->rows.unknown++;
            p->rows.trouble = true;
        }
    }
    if (p->no_memory)
        rows_rollback(&p->rows);
    else
        row_end(p);
}

static bool is_blank(const csv_input *csv, const char *record)
{
    if (csv->cell_count != 1 || csv->quotes || csv->problem)
        return csv->cell_count == 0 && !csv->problem;
    const csv_cell *cell = csv->cells.data;
    sf_str text = {record + cell->start, cell->len};
    return text.len == 0 || (csv->columns.len > 1 && sf_text_trim(text).len == 0);
}

static void take_record(sf_parser *p, const char *record, size_t len)
{
    csv_input *csv = &p->csv;
    if (csv->cells.len && is_blank(csv, record))
        return;
    p->report.records++;
    bool checked = csv->high || csv->quotes;
    if (len > p->options.record_bytes_max)
        parser_malformed(p, "the row is longer than %zu bytes", p->options.record_bytes_max);
    else if (csv->problem)
        parser_malformed(p, "%s", csv->problem);
    else if (checked && !sf_utf8_valid((sf_str){record, len}))
        parser_malformed(p, "the row is not valid UTF-8");
    else if (csv->surplus)
        parser_malformed(p, "the row has %zu cells, the header %zu", csv->cell_count,
                         csv->columns.len);
    else
        take_row(p, record);
}

static void too_long(sf_parser *p)
{
    csv_input *csv = &p->csv;
    if (!p->skipping) {
        p->report.records++;
        parser_malformed(p, "the row is longer than %zu bytes", p->options.record_bytes_max);
    }
    p->skipping = true;
    if (csv->quotes)
        p->line += lines_of(input_at(p), p->fill - p->start);
    p->start = p->fill;
    csv->at = csv->cell_at = 0;
    csv->cells.len = csv->cell_count = 0;
}

void csv_process(sf_parser *p, bool final)
{
    csv_input *csv = &p->csv;
    if (!csv->headed && (p->skipping || !read_header(p, final))) {
        p->start = p->skipping ? p->fill : p->start;
        return;
    }
    scan s = {.base = (const char *)p->in->data, .limit = p->fill};
    /* Offsets are absolute while scanning. */
    csv->at += p->start;
    csv->cell_at += p->start;
    scan_from(&s, csv->at);
    while (p->start < p->fill && !p->no_memory) {
        if (csv->skip_lf && csv->at == p->start) {
            csv->skip_lf = false;
            if (s.base[p->start] == '\n') {
                csv->at = csv->cell_at = ++p->start;
                scan_from(&s, csv->at);
                continue;
            }
        }
        if (!scan_record(csv, &s, p->start, final))
            break;
        const char *record = s.base + p->start;
        size_t len = csv->at - p->start;
        if (!p->skipping)
            take_record(p, record, len);
        p->line += csv->quotes ? lines_of(record, len) : 1;
        p->skipping = false;
        p->start = csv->at;
        next_record(csv);
    }
    p->no_memory = p->no_memory || s.no_memory;
    csv->at -= p->start;
    csv->cell_at -= p->start;
    if (!final && p->fill - p->start > p->options.record_bytes_max)
        too_long(p);
    else if (csv->at == 0)
        csv->high = false;
}
