/* CSV bytes to cells. Delimiters and line ends are found 64 bytes at a time; a quote counts only
 * where a cell starts, as RFC 4180 has it, so that an inch sign inside a cell does no harm. */
#include "format/parser.h"

enum { BLOCK = 64 };

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

void csv_scan_from(csv_bytes *bytes, size_t at)
{
    bytes->block_at = at - BLOCK; /* wraps at 0, and back again */
    bytes->mask = 0;
}

static void push_cell(csv_input *csv, size_t record, size_t start, size_t end, bool quoted)
{
    if (csv->cell_count < csv->cell_max)
        csv->cells[csv->cell_count] =
            (csv_cell){.start = (uint32_t)(start - record),
                       .len = (uint32_t)(end - start) & (RECORD_BYTES_LIMIT - 1),
                       .quoted = quoted,
                       .doubled = quoted && csv->doubled};
    else
        csv->surplus |= end > start;
    csv->cell_count++;
}

typedef enum { STEP_MORE, STEP_CELL, STEP_RECORD } step;

/* What stands at csv->at behind a cell: a delimiter or a line end. */
static inline step pass_separator(csv_input *csv, const csv_bytes *bytes)
{
    char c = bytes->base[csv->at++];
    csv->cell_at = csv->at;
    csv->state = CSV_CELL;
    csv->skip_lf = c == '\r';
    return c == csv->delimiter ? STEP_CELL : STEP_RECORD;
}

/* Cells without quotes, until the record ends, a quoted cell starts or the bytes end. What the loop
 * needs lives in registers: it is the hot path of csv. */
static step scan_plain(csv_input *csv, csv_bytes *bytes, size_t record)
{
    const char *base = bytes->base;
    const size_t limit = bytes->limit, cell_max = csv->cell_max;
    const char delimiter = csv->delimiter;
    csv_cell *cells = csv->cells;
    size_t at, cell_at = csv->cell_at, count = csv->cell_count;
    size_t block_at = bytes->block_at; /* blocks go on from csv->at */
    uint64_t mask = bytes->mask;
    step done = STEP_MORE;
    for (;;) {
        while (mask == 0 && block_at + BLOCK < limit) {
            block_at += BLOCK;
            mask = block_mask(base + block_at, delimiter, &csv->high);
            if (limit - block_at < BLOCK)
                mask &= (UINT64_C(1) << (limit - block_at)) - 1;
        }
        if (mask == 0) {
            at = limit;
            break;
        }
        at = block_at + (size_t)__builtin_ctzll(mask);
        mask &= mask - 1;
        if (SF_LIKELY(count < cell_max))
            cells[count] = (csv_cell){.start = (uint32_t)(cell_at - record),
                                      .len = (uint32_t)(at - cell_at) & (RECORD_BYTES_LIMIT - 1)};
        else
            csv->surplus |= at > cell_at;
        count++;
        char c = base[at++];
        cell_at = at;
        if (c != delimiter) {
            csv->skip_lf = c == '\r';
            done = STEP_RECORD;
            break;
        }
        if (at == limit || base[at] == '"') {
            done = STEP_CELL;
            break;
        }
    }
    csv->state = done == STEP_MORE ? CSV_PLAIN : CSV_CELL;
    csv->at = at;
    csv->cell_at = cell_at;
    csv->cell_count = count;
    bytes->block_at = block_at;
    bytes->mask = mask;
    return done;
}

/* Behind an opening quote, or behind a quote inside quotes. */
static step scan_quoted(csv_input *csv, csv_bytes *bytes, size_t record, bool final)
{
    for (;;) {
        if (csv->state == CSV_QUOTED) {
            const char *from = bytes->base + csv->at;
            const char *quote = memchr(from, '"', bytes->limit - csv->at);
            if (!quote) {
                csv->at = bytes->limit;
                return STEP_MORE;
            }
            csv->at += (size_t)(quote - from) + 1;
            csv->state = CSV_QUOTE;
        }
        if (csv->at == bytes->limit && !final)
            return STEP_MORE;
        if (csv->at == bytes->limit || bytes->base[csv->at] != '"')
            break;
        csv->doubled = true;
        csv->at++;
        csv->state = CSV_QUOTED;
    }
    push_cell(csv, record, csv->cell_at, csv->at - 1, true);
    if (csv->at == bytes->limit)
        return STEP_MORE;
    char c = bytes->base[csv->at];
    csv_scan_from(bytes, csv->at);
    if (c == csv->delimiter || c == '\n' || c == '\r') {
        csv_scan_from(bytes, csv->at + 1);
        return pass_separator(csv, bytes);
    }
    /* The rest of the cell is passed over, and counts as a cell of a record that is lost anyway. */
    csv->problem = "text follows the closing quote of a cell";
    csv->state = CSV_PLAIN;
    return STEP_CELL;
}

bool csv_scan_record(csv_input *csv, csv_bytes *bytes, size_t record, bool final)
{
    step done = STEP_CELL;
    while (done == STEP_CELL) {
        if (csv->state == CSV_CELL && csv->at < bytes->limit) {
            csv->cell_at = csv->at;
            csv->state = CSV_PLAIN;
            if (bytes->base[csv->at] == '"') {
                csv->state = CSV_QUOTED;
                csv->quotes = true;
                csv->doubled = false;
                csv->cell_at = ++csv->at;
            }
        }
        if (csv->state == CSV_CELL)
            done = STEP_MORE;
        else if (csv->state == CSV_PLAIN)
            done = scan_plain(csv, bytes, record);
        else
            done = scan_quoted(csv, bytes, record, final);
    }
    if (done == STEP_RECORD)
        return true;
    if (!final)
        return false;
    if (csv->state == CSV_QUOTED)
        csv->problem = "a quote that is opened here is never closed";
    else if (csv->state != CSV_QUOTE)
        push_cell(csv, record, csv->state == CSV_CELL ? csv->at : csv->cell_at, csv->at, false);
    return true;
}
