/* Kind file: one file, read whole whenever its time of change or its size differs.
 *
 * The position says which state of the file (time of change, size) was taken and how far; what the
 * parser must know to go on lies beside it. A restart goes on behind the last row delivered, or
 * leaves alone a file already taken. A file that changes while it is read is read anew. */
#include "connect/source.h"
#include "text/text.h"

enum {
    POSITION_MAGIC = 0x31464653, /* "SFF1" */
    CHUNK_BYTES_MIN = 16384,
    CHUNK_BYTES_MAX = 1 << 20,
    ROW_BYTES_GUESS = 128,
};

/* Under RejectBatch no row is delivered before the whole file is good, so it must fit in memory. */
#define REJECT_BYTES_MAX (256ULL << 20)

typedef struct {
    const char *path;
    uint32_t format; /* sf_format */
} file_config;

static const char *const format_words[] = {
    [SF_FORMAT_NDJSON] = "ndjson",
    [SF_FORMAT_JSON] = "json",
    [SF_FORMAT_CSV] = "csv",
    NULL,
};

static const sf_option file_options[] = {
    {.key = "path",
     .type = SF_OPTION_STRING,
     .required = true,
     .mono = true,
     .label = "Path",
     .placeholder = "/data/trades.ndjson",
     .help = "File on the server. It is read again whenever it changes.",
     .max = 4096,
     .offset = offsetof(file_config, path)},
    {.key = "format",
     .type = SF_OPTION_SELECT,
     .label = "Format",
     .choices = format_words,
     .fallback = "ndjson",
     .offset = offsetof(file_config, format)},
};

/* Which content, and how much of it was delivered. */
typedef struct {
    bool begun;
    bool done;
    int64_t mtime_ms;
    uint64_t size, offset;
} file_progress;

typedef struct {
    sf_source base;
    sf_disk disk;
    sf_arena arena;
    file_config config;
    sf_parser_options parsing;
    file_progress at; /* as of the last poll that succeeded */
    sf_buf saved;     /* the parser's, at that point */
    /* While a file is read; NULL between files and after a failure. */
    sf_parser *parser;
    sf_file *file;
    uint64_t read_offset; /* behind the last byte fed */
    sf_parse_report counted;
    sf_buf chunk;
} file_source;

/* ---- configuration ---- */

static sf_status read_config(const sf_source_config *config, sf_arena *arena,
                             source_connector *connector, file_config *out, sf_error *err)
{
    const sf_source_kind *kind = &source_kind_file;
    SF_TRY(source_connector_read(kind, config->connector, arena, connector, err));
    return sf_options_read(kind->options, connector->block, "connector.file", arena, out, err);
}

static sf_parser_options parser_options(const sf_source_config *config, const file_config *file)
{
    return (sf_parser_options){
        .format = (sf_format)file->format,
        .schema = config->schema,
        .on_misfit = config->on_misfit,
        .reject_unknown_fields = config->reject_unknown_fields,
    };
}

static sf_status file_check(const sf_source_config *config, sf_error *err)
{
    sf_arena arena;
    source_connector connector;
    file_config file;
    sf_schedule schedule;
    sf_parser *parser = NULL;
    sf_arena_init(&arena, 0);
    sf_status status = read_config(config, &arena, &connector, &file, err);
    if (status == SF_OK)
        status = sf_schedule_parse(connector.schedule, &schedule, err);
    if (status == SF_OK) {
        sf_parser_options options = parser_options(config, &file);
        status = sf_parser_new(&options, &parser, err);
    }
    sf_parser_free(parser);
    sf_arena_deinit(&arena);
    return status;
}

/* ---- position ---- */

static sf_status save(const file_source *self, const file_progress *at, const sf_buf *saved,
                      sf_buf *out, sf_error *err)
{
    if (!at->begun)
        return SF_OK;
    sf_buf_put_u32(out, POSITION_MAGIC);
    sf_buf_put_str(out, sf_str_of(self->config.path));
    sf_buf_put_u32(out, self->config.format);
    sf_buf_put_u32(out, at->done);
    sf_buf_put_u64(out, (uint64_t)at->mtime_ms);
    sf_buf_put_u64(out, at->size);
    sf_buf_put_u64(out, at->offset);
    sf_buf_put_str(out, sf_buf_str(saved));
    return out->failed ? sf_fail_memory(err) : SF_OK;
}

/* The position of another path or format has nothing to do with this file. */
static sf_status restore(file_source *self, sf_str position, sf_error *err)
{
    sf_reader in = {.data = (const uint8_t *)position.data, .len = position.len};
    uint32_t magic = sf_read_u32(&in);
    sf_str path = sf_read_str(&in);
    uint32_t format = sf_read_u32(&in), done = sf_read_u32(&in);
    file_progress at = {.begun = true, .done = done == 1};
    at.mtime_ms = (int64_t)sf_read_u64(&in);
    at.size = sf_read_u64(&in);
    at.offset = sf_read_u64(&in);
    sf_str saved = sf_read_str(&in);
    if (in.failed || in.pos != in.len || magic != POSITION_MAGIC || done > 1)
        return sf_fail(err, SF_CORRUPT, "the position of a file source cannot be read");
    if (!sf_str_eq(path, sf_str_of(self->config.path)) || format != self->config.format)
        return SF_OK;
    sf_buf_put(&self->saved, saved.data, saved.len);
    if (self->saved.failed)
        return sf_fail_memory(err);
    self->at = at;
    return SF_OK;
}

/* ---- opening and closing ---- */

static void stop_reading(file_source *self)
{
    sf_parser_free(self->parser);
    self->parser = NULL;
    if (self->file)
        self->disk.close(self->disk.self, self->file);
    self->file = NULL;
}

static void file_close(sf_source *source)
{
    file_source *self = (file_source *)source;
    stop_reading(self);
    sf_schema_unref(self->parsing.schema);
    sf_buf_deinit(&self->saved);
    sf_buf_deinit(&self->chunk);
    sf_arena_deinit(&self->arena);
    sf_free(self);
}

static sf_status file_open(const sf_source_config *config, sf_str position,
                           const sf_source_port *port, sf_source **out, sf_error *err)
{
    file_source *self = sf_calloc(1, sizeof *self);
    if (!self)
        return sf_fail_memory(err);
    source_connector connector;
    sf_arena_init(&self->arena, 0);
    self->disk = port->disk;
    sf_status status = read_config(config, &self->arena, &connector, &self->config, err);
    if (status == SF_OK) {
        self->parsing = parser_options(config, &self->config);
        sf_schema_ref(self->parsing.schema);
        status = source_init(&self->base, &source_kind_file, port, &connector, err);
    }
    if (status == SF_OK && position.len > 0)
        status = restore(self, position, err);
    if (status != SF_OK) {
        file_close(&self->base);
        return status;
    }
    if (self->at.begun && !self->at.done)
        self->base.due_mono_ns = INT64_MIN; /* half taken: no slot to wait for */
    *out = &self->base;
    return SF_OK;
}

/* ---- reading ---- */

static sf_status look(file_source *self, file_progress *now, sf_error *err)
{
    bool is_dir = false;
    *now = (file_progress){.begun = true};
    SF_TRY(self->disk.stat(self->disk.self, self->config.path, &now->size, &now->mtime_ms, &is_dir,
                           err));
    if (is_dir) {
        sf_fail(err, SF_INVALID, "\"%s\" is a directory", self->config.path);
        sf_error_hint(err, "give the path of a file");
        return SF_INVALID;
    }
    if (self->parsing.on_misfit == SF_COERCE_REJECT_BATCH && now->size > REJECT_BYTES_MAX) {
        sf_fail(err, SF_LIMIT, "\"%s\" has %llu bytes, RejectBatch takes at most %llu",
                self->config.path, (unsigned long long)now->size, REJECT_BYTES_MAX);
        sf_error_hint(err, "set onCoercionFailure to Null or DropRow, or split the file");
        return SF_LIMIT;
    }
    return SF_OK;
}

/* A parser that stands where the progress says, and the open file. */
static sf_status start_reading(file_source *self, sf_error *err)
{
    SF_TRY(sf_parser_new(&self->parsing, &self->parser, err));
    if (self->at.offset > 0)
        SF_TRY(sf_parser_restore(self->parser, sf_buf_str(&self->saved), err));
    self->counted = *sf_parser_report(self->parser);
    self->read_offset = self->at.offset;
    return self->disk.open(self->disk.self, self->config.path, SF_OPEN_READONLY, &self->file, err);
}

static sf_status take_batches(file_source *self, sf_poll *out, sf_error *err)
{
    sf_batch *batch;
    while ((batch = sf_parser_next(self->parser))) {
        out->rows += batch->rows;
        if (!SF_VEC_PUSH(&out->batches, batch)) {
            sf_batch_unref(batch);
            return sf_fail_memory(err);
        }
    }
    return SF_OK;
}

/* Chunks of the file until the budget is used or the file ends. */
static sf_status read_rows(file_source *self, uint32_t budget_rows, sf_poll *out, bool *ends,
                           sf_error *err)
{
    size_t want = (size_t)budget_rows * ROW_BYTES_GUESS;
    want = want < CHUNK_BYTES_MIN   ? CHUNK_BYTES_MIN
           : want > CHUNK_BYTES_MAX ? CHUNK_BYTES_MAX
                                    : want;
    sf_buf_clear(&self->chunk);
    if (!sf_buf_reserve(&self->chunk, want))
        return sf_fail_memory(err);
    *ends = false;
    for (size_t total = 0; !*ends && out->rows < budget_rows && total < CHUNK_BYTES_MAX;) {
        size_t got = 0;
        SF_TRY(self->disk.read(self->disk.self, self->file, self->chunk.data, want,
                               self->read_offset, &got, err));
        self->read_offset += got;
        total += got;
        SF_TRY(sf_parser_feed(self->parser, (sf_str){self->chunk.data, got}, err));
        *ends = got < want;
        if (*ends)
            SF_TRY(sf_parser_finish(self->parser, err));
        else if (self->parsing.on_misfit != SF_COERCE_REJECT_BATCH)
            SF_TRY(sf_parser_flush(self->parser, err));
        SF_TRY(take_batches(self, out, err));
    }
    return SF_OK;
}

static void count_faults(const file_source *self, sf_poll *out)
{
    const sf_parse_report *now = sf_parser_report(self->parser), *before = &self->counted;
    out->malformed_rows = now->malformed - before->malformed;
    out->coercion_failures = now->misfits - before->misfits;
    out->dropped_rows = now->dropped - before->dropped + now->unknown_rows - before->unknown_rows;
    if (now->error_count > before->error_count)
        out->first_error = now->errors[before->error_count];
}

/* The progress after this poll, and the parser's part of it. */
static sf_status next_progress(const file_source *self, bool ends, file_progress *at, sf_buf *saved,
                               sf_error *err)
{
    *at = self->at;
    if (ends) {
        at->done = true;
        at->offset = at->size;
    } else if (self->parsing.on_misfit != SF_COERCE_REJECT_BATCH) {
        at->offset = sf_parser_consumed(self->parser);
        sf_parser_save(self->parser, saved);
        if (saved->failed)
            return sf_fail_memory(err);
    }
    return SF_OK;
}

/* Another content than before starts at its beginning. */
static void note_content(file_source *self, const file_progress *found)
{
    if (self->at.begun && self->at.mtime_ms == found->mtime_ms && self->at.size == found->size)
        return;
    stop_reading(self);
    self->at = *found;
    sf_buf_clear(&self->saved);
}

/* Nothing of this source moves before the position is written. */
static sf_status read_on(file_source *self, uint32_t budget_rows, sf_poll *out, sf_error *err)
{
    if (!self->parser)
        SF_TRY(start_reading(self, err));
    sf_parser_set_stamp(self->parser, sf_clock_wall_ms(&self->base.clock));
    bool ends = false;
    SF_TRY(read_rows(self, budget_rows, out, &ends, err));
    file_progress at;
    sf_buf saved = {0};
    sf_status status = next_progress(self, ends, &at, &saved, err);
    if (status == SF_OK)
        status = save(self, &at, &saved, &out->position, err);
    if (status != SF_OK) {
        sf_buf_deinit(&saved);
        return status;
    }
    sf_buf_deinit(&self->saved);
    self->saved = saved;
    self->at = at;
    count_faults(self, out);
    self->counted = *sf_parser_report(self->parser);
    if (ends)
        stop_reading(self);
    return SF_OK;
}

static sf_status file_poll(sf_source *source, uint32_t budget_rows, sf_poll *out, sf_error *err)
{
    file_source *self = (file_source *)source;
    int64_t now_ns = sf_clock_mono_ns(&source->clock);
    out->next_mono_ns = source->due_mono_ns;
    out->caught_up = true;
    if (now_ns < source->due_mono_ns)
        return save(self, &self->at, &self->saved, &out->position, err);
    file_progress found;
    SF_TRY(look(self, &found, err));
    note_content(self, &found);
    if (self->at.done) {
        source_wait(source, out);
        return save(self, &self->at, &self->saved, &out->position, err);
    }
    sf_status status = read_on(self, budget_rows, out, err);
    if (status != SF_OK) {
        stop_reading(self);
        return status;
    }
    out->next_mono_ns = now_ns;
    out->caught_up = self->at.done;
    if (self->at.done)
        source_wait(source, out);
    return SF_OK;
}

const sf_source_kind source_kind_file = {
    .name = "file",
    .label = "File",
    .help = "One file on the server, read whole whenever it changes.",
    .config_property = "file",
    .options = {file_options, SF_COUNT_OF(file_options)},
    .delivery = SF_DELIVERY_REPLAYABLE,
    .polled = true,
    .blocks = true,
    .check = file_check,
    .open = file_open,
    .poll = file_poll,
    .close = file_close,
};
