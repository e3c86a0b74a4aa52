/* CSV to rows: the header, then a value a cell. */
#include "format/parser.h"

enum { HEADER_CELLS_MAX = 16384, GROUP_CELLS_MAX = 8192 };

void csv_start(csv_input *csv, char delimiter)
{
    sf_buf_clear(&csv->header);
    csv->columns.len = 0;
    csv->state = CSV_CELL;
    csv->delimiter = delimiter;
    csv->headed = csv->begun = csv->skip_lf = csv->doubled = false;
    csv->quotes = csv->high = csv->surplus = false;
    csv->problem = NULL;
    csv->at = csv->cell_at = csv->cell_count = 0;
}

/* ---- records ---- */

static void next_record(csv_input *csv)
{
    csv->cell_count = 0;
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
        for (size_t i = 0; i < csv_cells_kept(csv); i++) {
            sf_str name = cell_text(text, &csv->cells[i], &r->scratch);
            slot *s = rows_find(r, name);
            bool exactly = s != NULL;
            if (!exactly)
                s = find_any_case(r, sf_text_trim(name));
            csv_column column = {
                .slot = s, .unknown = !s && !reserved_name(name), .name = csv->cells[i]};
            if (pass == 0 && exactly)
                exact[s - r->slots] = 1;
            if (pass == 1 && s && !exactly && exact[s - r->slots])
                column = (csv_column){.unknown = true, .name = csv->cells[i]};
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

/* Room for the cells of so many records. */
static bool reserve_cells(csv_input *csv, size_t records, size_t cells)
{
    sf_free(csv->store);
    csv->store = csv->cells = sf_calloc(records * cells, sizeof *csv->cells);
    csv->cell_max = csv->store ? cells : 0;
    csv->group_rows = 0;
    return csv->store != NULL;
}

/* Rows go in groups when every column is of a kind that is quick to convert. */
static void plan_groups(sf_parser *p)
{
    csv_input *csv = &p->csv;
    size_t rows_max = GROUP_CELLS_MAX / (csv->columns.len + 1);
    csv->group_max = rows_max > CSV_GROUP_ROWS ? CSV_GROUP_ROWS : (uint32_t)rows_max;
    csv->unknown_columns = 0;
    for (size_t i = 0; i < csv->columns.len; i++) {
        const slot *s = csv->columns.data[i].slot;
        csv->unknown_columns += csv->columns.data[i].unknown;
        if (s && (s->twin || s->kind == KIND_JSON || (!s->counts && s->kind == KIND_BOOL)))
            csv->group_max = 0;
    }
    if (csv->unknown_columns && p->options.reject_unknown_fields)
        csv->group_max = 0;
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
    csv->columns.len = 0;
    if (!reserve_cells(csv, 1, text.len < HEADER_CELLS_MAX ? text.len + 1 : HEADER_CELLS_MAX))
        return false;
    csv_bytes bytes = {.base = copy.data, .limit = copy.len};
    csv_scan_from(&bytes, 0);
    csv_scan_record(csv, &bytes, 0, true);
    if (!map_columns(p, copy.data))
        return false;
    plan_groups(p);
    if (!reserve_cells(csv, csv->group_max + 1u, csv->columns.len))
        return false;
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
    /* Behind the cell stands a delimiter, quote or line end: the digits stop by themselves. */
    const char *stop = s->kind == KIND_LONG || s->kind == KIND_DOUBLE
                           ? sf_scan_decimal(at, input_end(p), true, &decimal)
                           : NULL;
    if (stop && stop == end) {
        if (s->kind == KIND_DOUBLE && sf_decimal_quick_f64(&decimal, &number)) {
            slot_f64(&p->rows, s, number);
            return;
        }
        if (s->kind == KIND_LONG && decimal.integer && !decimal.inexact &&
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
    size_t count = csv_cells_kept(csv);
    if (csv->cell_count < csv->columns.len)
        p->report.short_rows++;
    if (!row_begin(p))
        return;
    for (size_t i = 0; i < count; i++) {
        const csv_column *column = &csv->columns.data[i];
        if (column->slot) {
            set_cell(p, column->slot, record, &csv->cells[i]);
            if (SF_UNLIKELY(column->slot->twin != NULL))
                any_cell(p, column->slot->twin, record, &csv->cells[i]);
        } else if (column->unknown) {
            parser_unknown(p, csv_header_name(p, i));
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
    const csv_cell *cell = csv->cells;
    sf_str text = {record + cell->start, cell->len};
    return text.len == 0 || (csv->columns.len > 1 && sf_text_trim(text).len == 0);
}

static void take_record(sf_parser *p, const char *record, size_t len)
{
    csv_input *csv = &p->csv;
    if (is_blank(csv, record))
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
    csv->cell_count = 0;
}

/* Converts the rows that wait; one by one where the quick way finds something unusual. */
static void flush_group(sf_parser *p)
{
    csv_input *csv = &p->csv;
    csv_cell *window = csv->cells;
    csv_input now = *csv;
    uint64_t line = p->line;
    uint32_t done = 0;
    while (done < csv->group_rows && !p->no_memory) {
        uint32_t room = p->rows.cap_max - p->rows.row, count = csv->group_rows - done;
        count = count > room ? room : count;
        if (!csv_group_take(p, done, count)) {
            csv->cell_count = csv->columns.len;
            csv->surplus = csv->quotes = csv->high = false;
            csv->problem = NULL;
            for (uint32_t i = done; i < done + count && !p->no_memory; i++) {
                p->line = csv->group[i].line;
                csv->cells = csv->store + i * csv->columns.len;
                take_record(p, csv->group[i].record, csv->group[i].len);
            }
        }
        done += count;
    }
    p->line = line;
    csv->cell_count = now.cell_count;
    csv->surplus = now.surplus;
    csv->quotes = now.quotes;
    csv->high = now.high;
    csv->problem = now.problem;
    csv->cells = window;
    csv->group_rows = 0;
}

/* The cells of the record that is being read move to the front of the store. */
static void rewind_cells(csv_input *csv)
{
    memmove(csv->store, csv->cells, csv_cells_kept(csv) * sizeof *csv->cells);
    csv->cells = csv->store;
}

/* The usual record waits for others of its kind. False: it is not. */
static bool join_group(sf_parser *p, const char *record, size_t len)
{
    csv_input *csv = &p->csv;
    if (csv->group_max == 0 || csv->cell_count != csv->columns.len || csv->quotes || csv->problem ||
        len > p->options.record_bytes_max || is_blank(csv, record) ||
        (csv->high && !sf_utf8_valid((sf_str){record, len})))
        return false;
    csv->group[csv->group_rows++] = (csv_row){record, p->line, len};
    csv->cells += csv->columns.len;
    if (csv->group_rows == csv->group_max) {
        flush_group(p);
        csv->cells = csv->store;
    }
    return true;
}

void csv_process(sf_parser *p, bool final)
{
    csv_input *csv = &p->csv;
    if (!csv->headed && (p->skipping || !read_header(p, final))) {
        p->start = p->skipping ? p->fill : p->start;
        return;
    }
    csv_bytes bytes = {.base = (const char *)p->in->data, .limit = p->fill};
    /* Offsets are absolute while scanning. */
    csv->at += p->start;
    csv->cell_at += p->start;
    csv_scan_from(&bytes, csv->at);
    while (p->start < p->fill && !p->no_memory) {
        if (csv->skip_lf && csv->at == p->start) {
            csv->skip_lf = false;
            if (bytes.base[p->start] == '\n') {
                csv->at = csv->cell_at = ++p->start;
                csv_scan_from(&bytes, csv->at);
                continue;
            }
        }
        if (!csv_scan_record(csv, &bytes, p->start, final))
            break;
        const char *record = bytes.base + p->start;
        size_t len = csv->at - p->start;
        if (!p->skipping && !join_group(p, record, len)) {
            flush_group(p);
            take_record(p, record, len);
            csv->cells = csv->store;
        }
        p->line += csv->quotes ? lines_of(record, len) : 1;
        p->skipping = false;
        p->start = csv->at;
        next_record(csv);
    }
    flush_group(p);
    rewind_cells(csv);
    csv->at -= p->start;
    csv->cell_at -= p->start;
    if (!final && p->fill - p->start > p->options.record_bytes_max)
        too_long(p);
    else if (csv->at == 0)
        csv->high = false;
}
