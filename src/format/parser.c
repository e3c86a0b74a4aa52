/* The row parser as callers see it: input buffers, batches, policies, the report. */
#include "format/parser.h"

#include <stdio.h>

/* ---- names ---- */

static const char *const format_names[] = {
    [SF_FORMAT_NDJSON] = "ndjson", [SF_FORMAT_JSON] = "json", [SF_FORMAT_CSV] = "csv"};

bool sf_format_from_name(sf_str name, sf_format *out)
{
    for (size_t i = 0; i < SF_COUNT_OF(format_names); i++) {
        if (sf_str_eq(name, sf_str_of(format_names[i]))) {
            *out = (sf_format)i;
            return true;
        }
    }
    return false;
}

const char *sf_format_name(sf_format format)
{
    return format_names[format];
}

bool sf_coercion_from_name(sf_str name, sf_coercion *out)
{
    static const char *const names[] = {[SF_COERCE_NULL] = "Null",
                                        [SF_COERCE_DROP_ROW] = "DropRow",
                                        [SF_COERCE_REJECT_BATCH] = "RejectBatch"};
    for (size_t i = 0; i < SF_COUNT_OF(names); i++) {
        if (sf_str_eq(name, sf_str_of(names[i]))) {
            *out = (sf_coercion)i;
            return true;
        }
    }
    return false;
}

#define X(id, name, words) name,
static const char *const misfit_names[] = {SF_MISFIT_LIST(X)};
#undef X
#define X(id, name, words) words,
static const char *const misfit_words[] = {SF_MISFIT_LIST(X)};
#undef X

const char *sf_misfit_name(sf_misfit misfit)
{
    return misfit_names[misfit];
}

/* ---- life ---- */

static sf_status check_options(const sf_parser_options *options, sf_error *err)
{
    const sf_schema *schema = options->schema;
    if (options->delimiter && !strchr(",\t;|", options->delimiter))
        return sf_fail(err, SF_INVALID, "csv delimiter \"%c\" is not one of , tab ; |",
                       options->delimiter);
    if (options->batch_rows > SF_BATCH_ROWS_MAX)
        return sf_fail(err, SF_INVALID, "batches of %u rows are larger than %d",
                       options->batch_rows, SF_BATCH_ROWS_MAX);
    if (options->record_bytes_max > RECORD_BYTES_LIMIT)
        return sf_fail(err, SF_INVALID, "the limit of bytes a row is above %d", RECORD_BYTES_LIMIT);
    for (uint32_t i = 0; i < schema->count; i++) {
        const sf_field *field = &schema->fields[i];
        bool stamp = strcmp(field->name, SF_COL_TS) == 0 && field->type == SF_TYPE_I64;
        bool retract = strcmp(field->name, SF_COL_RETRACT) == 0 && field->type == SF_TYPE_BOOL;
        if (field->hidden && !stamp && !retract)
            return sf_fail(err, SF_INVALID, "hidden column \"%s\" cannot be read from rows",
                           field->name);
        sf_type again;
        if (!sf_type_from_name(sf_str_of(sf_type_name(field->type)), &again))
            return sf_fail(err, SF_INVALID, "column \"%s\" has type %s, which rows cannot hold",
                           field->name, sf_type_name(field->type));
    }
    return SF_OK;
}

sf_status sf_parser_new(const sf_parser_options *options, sf_parser **out, sf_error *err)
{
    SF_TRY(check_options(options, err));
    sf_parser *p = sf_calloc(1, sizeof *p);
    if (!p)
        return sf_fail_memory(err);
    p->options = *options;
    p->schema = sf_schema_ref(options->schema);
    if (!p->options.record_bytes_max)
        p->options.record_bytes_max = RECORD_BYTES_MAX;
    uint32_t batch_rows = options->batch_rows ? options->batch_rows : SF_BATCH_ROWS;
    if (!rows_init(&p->rows, p->schema, batch_rows)) {
        sf_parser_free(p);
        return sf_fail_memory(err);
    }
    p->rows.stamp_ms = options->stamp_ms;
    sf_parser_reset(p);
    *out = p;
    return SF_OK;
}

static void drop_ready(sf_parser *p)
{
    for (size_t i = p->ready_at; i < p->ready.len; i++)
        sf_batch_unref(p->ready.data[i]);
    p->ready.len = p->ready_at = 0;
}

void sf_parser_free(sf_parser *p)
{
    if (!p)
        return;
    drop_ready(p);
    SF_VEC_DEINIT(&p->ready);
    rows_deinit(&p->rows);
    sf_buffer_unref(p->in);
    sf_free(p->csv.store);
    SF_VEC_DEINIT(&p->csv.columns);
    sf_buf_deinit(&p->csv.header);
    sf_schema_unref(p->schema);
    sf_free(p);
}

void sf_parser_reset(sf_parser *p)
{
    drop_ready(p);
    sf_batch_unref(rows_finish(&p->rows, p->schema));
    p->rejected = p->finished = p->skipping = false;
    p->base = 0;
    p->start = p->fill = 0;
    sf_buffer_unref(p->in); /* batches may still read it */
    p->in = NULL;
    p->rows.input_index = -1;
    p->line = 1;
    p->input_rows = 0;
    p->json = (json_input){0};
    csv_start(&p->csv, p->options.delimiter);
}

void sf_parser_set_stamp(sf_parser *p, int64_t stamp_ms)
{
    p->rows.stamp_ms = stamp_ms;
}

const sf_parse_report *sf_parser_report(const sf_parser *p)
{
    return &p->report;
}

bool sf_parser_rejected(const sf_parser *p)
{
    return p->rejected;
}

/* ---- rows and policies ---- */

bool reserved_name(sf_str name)
{
    static const char *const names[] = {SF_COL_TS, SF_COL_RETRACT, "_source",
                                        "_weight", "_op",          "_final"};
    for (size_t i = 0; i < SF_COUNT_OF(names); i++)
        if (sf_str_eq(name, sf_str_of(names[i])))
            return true;
    return false;
}

void parser_error(sf_parser *p, const char *format, ...)
{
    if (p->report.error_count == SF_ROW_ERRORS_MAX)
        return;
    sf_row_error *error = &p->report.errors[p->report.error_count++];
    error->row = p->report.records;
    error->line = p->options.format == SF_FORMAT_JSON ? 0 : p->line;
    va_list args;
    va_start(args, format);
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
}

void parser_malformed(sf_parser *p, const char *format, ...)
{
    p->report.malformed++;
    if (p->report.error_count == SF_ROW_ERRORS_MAX)
        return;
    char message[sizeof p->report.errors[0].message];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    parser_error(p, "%s", message);
}

/* At most 60 bytes of a value, not cut inside a character. */
static sf_str excerpt(sf_str value)
{
    if (value.len > 60)
        for (value.len = 60; value.len && ((unsigned char)value.data[value.len] & 0xc0) == 0x80;)
            value.len--;
    return value;
}

void parser_unknown(sf_parser *p, sf_str name)
{
    rowset *r = &p->rows;
    if (r->unknown++ == 0) {
        sf_str shown = excerpt(name);
        memcpy(r->unknown_name, shown.data, shown.len);
        r->unknown_name[shown.len] = '\0';
    }
    r->trouble = true;
}

static void count_misfits(sf_parser *p)
{
    rowset *r = &p->rows;
    uint64_t before = p->report.misfits;
    for (uint32_t i = 0; i < r->count; i++) {
        slot *s = &r->slots[i];
        if (s->seen != r->record || !s->failed)
            continue;
        p->report.misfits++;
        p->report.misfit_by_reason[s->misfit]++;
        sf_str shown = excerpt(s->bad);
        parser_error(p, "field \"%.*s\" (%s): %.*s %s", (int)(s->name.len > 60 ? 60 : s->name.len),
                     s->name.data, s == r->stamp ? "Timestamp" : sf_type_name(s->type),
                     SF_STR_ARG(shown), misfit_words[s->misfit]);
    }
    p->report.misfit_rows += p->report.misfits > before;
}

bool parser_judge(sf_parser *p)
{
    rowset *r = &p->rows;
    uint64_t misfits = p->report.misfits;
    p->report.unknown_fields += r->unknown;
    if (r->unknown && p->options.reject_unknown_fields) {
        p->report.unknown_rows++;
        parser_error(p, "field \"%s\" is not declared", r->unknown_name);
        return false;
    }
    count_misfits(p);
    if (p->report.misfits > misfits && p->options.on_misfit != SF_COERCE_NULL) {
        p->report.dropped++;
        p->rejected = p->rejected || p->options.on_misfit == SF_COERCE_REJECT_BATCH;
        return false;
    }
    if (r->retract && ((const uint8_t *)r->retract->lanes)[r->row])
        p->report.retractions++;
    return true;
}

void parser_batch_full(sf_parser *p)
{
    if (p->rows.row == 0)
        return;
    sf_batch *batch = rows_finish(&p->rows, p->schema);
    if (!batch || (!p->rejected && !SF_VEC_PUSH(&p->ready, batch))) {
        sf_batch_unref(batch);
        p->no_memory = true;
    } else if (p->rejected) {
        sf_batch_unref(batch); /* nobody will get it */
    }
}

/* The first row that does not fit takes all rows of its input with it. */
static void apply_rejection(sf_parser *p)
{
    drop_ready(p);
    sf_batch_unref(rows_finish(&p->rows, p->schema));
    p->report.rows -= p->input_rows;
    p->report.dropped += p->input_rows;
    p->input_rows = 0;
}

/* ---- input ---- */

static size_t usable(const sf_buffer *buffer)
{
    return buffer->size - PAD_BYTES;
}

/* Makes room behind the unread input, which may move to the front of another buffer. */
static bool make_room(sf_parser *p, size_t wanted)
{
    size_t unread = p->fill - p->start;
    if (p->in && usable(p->in) > p->fill)
        return true;
    p->base += p->start;
    /* Batches that refer to the buffer keep it as it is. */
    bool alone = p->in && atomic_load_explicit(&p->in->refs, memory_order_acquire) == 1;
    if (alone && unread <= usable(p->in) / 2) {
        memmove(p->in->data, p->in->data + p->start, unread);
    } else {
        size_t size = p->in ? p->in->size * 2 : wanted + PAD_BYTES;
        size = size > INPUT_BYTES ? INPUT_BYTES : size;
        size = size < INPUT_BYTES_MIN ? INPUT_BYTES_MIN : size;
        size = size < 2 * unread + PAD_BYTES ? 2 * unread + PAD_BYTES : size;
        sf_buffer *buffer = sf_buffer_new(size);
        if (!buffer) {
            p->base -= p->start;
            return false;
        }
        memset(buffer->data + size - PAD_BYTES, 0, PAD_BYTES);
        if (p->in && unread)
            memcpy(buffer->data, p->in->data + p->start, unread);
        sf_buffer_unref(p->in);
        p->in = buffer;
        p->rows.input_index = -1;
    }
    p->start = 0;
    p->fill = unread;
    return true;
}

static void process(sf_parser *p, bool final)
{
    switch (p->options.format) {
    case SF_FORMAT_NDJSON: ndjson_process(p, final); break;
    case SF_FORMAT_JSON: json_process(p, final); break;
    case SF_FORMAT_CSV: csv_process(p, final); break;
    }
}

sf_status sf_parser_feed(sf_parser *p, sf_str bytes, sf_error *err)
{
    SF_ASSERT(!p->finished);
    while (bytes.len > 0) {
        if (!make_room(p, bytes.len))
            return sf_fail_memory(err);
        size_t room = usable(p->in) - p->fill, n = bytes.len < room ? bytes.len : room;
        memcpy(p->in->data + p->fill, bytes.data, n);
        p->fill += n;
        bytes = (sf_str){bytes.data + n, bytes.len - n};
        process(p, false);
        if (p->no_memory)
            return sf_fail_memory(err);
    }
    return SF_OK;
}

sf_status sf_parser_finish(sf_parser *p, sf_error *err)
{
    if (p->finished)
        return SF_OK;
    if (!make_room(p, 1))
        return sf_fail_memory(err);
    process(p, true);
    p->finished = true;
    p->start = p->fill;
    if (p->rejected)
        apply_rejection(p);
    parser_batch_full(p);
    return p->no_memory ? sf_fail_memory(err) : SF_OK;
}

sf_status sf_parser_flush(sf_parser *p, sf_error *err)
{
    if (!p->rejected)
        parser_batch_full(p);
    return p->no_memory ? sf_fail_memory(err) : SF_OK;
}

sf_batch *sf_parser_next(sf_parser *p)
{
    if (p->options.on_misfit == SF_COERCE_REJECT_BATCH && !p->finished)
        return NULL;
    if (p->ready_at == p->ready.len) {
        p->ready.len = p->ready_at = 0;
        return NULL;
    }
    return p->ready.data[p->ready_at++];
}

/* ---- going on later ---- */

enum { SAVED_VERSION = 1 };

uint64_t sf_parser_consumed(const sf_parser *p)
{
    return p->base + p->start;
}

/* Only a record that is being skipped is saved in its middle. */
void sf_parser_save(const sf_parser *p, sf_buf *out)
{
    const json_input *json = &p->json;
    const csv_input *csv = &p->csv;
    uint32_t flags = 0;
    bool within = p->skipping;
    const bool bits[] = {json->begun,
                         within,
                         within && json->inside,
                         within && json->string,
                         within && json->escaped,
                         csv->begun,
                         csv->skip_lf,
                         csv->headed};
    for (uint32_t i = 0; i < SF_COUNT_OF(bits); i++)
        flags |= (uint32_t)bits[i] << i;
    sf_buf_put_u32(out, SAVED_VERSION << 8 | (uint32_t)p->options.format);
    sf_buf_put_u64(out, sf_parser_consumed(p));
    sf_buf_put_u64(out, p->report.records);
    sf_buf_put_u64(out, p->line);
    sf_buf_put_u32(out, flags);
    sf_buf_put_u32(out, (uint32_t)json->state);
    sf_buf_put_u32(out, p->skipping ? json->depth : 0);
    sf_buf_put_u32(out, p->skipping ? (uint32_t)csv->state : CSV_CELL);
    sf_buf_put_u32(out, (uint32_t)(unsigned char)csv->delimiter);
    sf_buf_put_str(out, sf_buf_str(&csv->header));
}

sf_status sf_parser_restore(sf_parser *p, sf_str saved, sf_error *err)
{
    sf_reader reader = {.data = (const uint8_t *)saved.data, .len = saved.len};
    uint32_t version = sf_read_u32(&reader);
    uint64_t consumed = sf_read_u64(&reader), records = sf_read_u64(&reader);
    uint64_t line = sf_read_u64(&reader);
    uint32_t flags = sf_read_u32(&reader), state = sf_read_u32(&reader);
    uint32_t depth = sf_read_u32(&reader), csv_at = sf_read_u32(&reader);
    uint32_t delimiter = sf_read_u32(&reader);
    sf_str header = sf_read_str(&reader);
    bool known = !reader.failed && version == (SAVED_VERSION << 8 | (uint32_t)p->options.format) &&
                 state <= JSON_BROKEN && csv_at <= CSV_QUOTE && reader.pos == reader.len &&
                 (delimiter == 0 || (delimiter < 128 && strchr(",\t;|", (int)delimiter)));
    if (!known)
        return sf_fail(err, SF_CORRUPT, "this is no saved position of a %s parser",
                       sf_format_name(p->options.format));
    sf_parser_reset(p);
    p->base = consumed;
    p->report.records = records;
    p->line = line;
    p->skipping = flags >> 1 & 1;
    p->json = (json_input){.state = (json_state)state,
                           .begun = flags & 1,
                           .inside = flags >> 2 & 1,
                           .tried = true,
                           .string = flags >> 3 & 1,
                           .escaped = flags >> 4 & 1,
                           .depth = depth};
    if ((flags >> 7 & 1) && !csv_set_header(p, header, (char)delimiter))
        return sf_fail_memory(err);
    p->csv.begun = flags >> 5 & 1;
    p->csv.skip_lf = flags >> 6 & 1;
    p->csv.state = (csv_state)csv_at;
    return SF_OK;
}
