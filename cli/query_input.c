/* Inputs of sf query: names, formats, schemas, reading in chunks. */
#include "cli/query.h"
#include "text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CHUNK_BYTES = 1 << 20,
    SAMPLE_BYTES = 1 << 20,      /* what the schema is inferred from; */
    SAMPLE_BYTES_MAX = 32 << 20, /* when the first row alone is longer, up to so many */
    PAUSE_MS = 200,              /* a pipe silent for so long has shown what it has */
};

/* ---- words of the command line ---- */

static bool known_format(sf_str name, sf_query_input *out)
{
    if (sf_str_eq_nocase(name, SF_STR("tsv"))) {
        out->format = SF_FORMAT_CSV;
        out->delimiter = '\t';
    } else if (sf_str_eq_nocase(name, SF_STR("jsonl"))) {
        out->format = SF_FORMAT_NDJSON;
    } else if (!sf_format_from_name(name, &out->format)) {
        return false;
    }
    out->format_known = true;
    return true;
}

static sf_str ending_of(sf_str path, char mark)
{
    for (size_t i = path.len; i > 0 && path.data[i - 1] != '/'; i--)
        if (path.data[i - 1] == mark)
            return (sf_str){path.data + i, path.len - i};
    return (sf_str){NULL, 0};
}

/* trades of ./data/trades.ndjson */
static sf_str stem_of(sf_str path)
{
    size_t start = path.len;
    while (start > 0 && path.data[start - 1] != '/')
        start--;
    size_t end = start;
    while (end < path.len && path.data[end] != '.')
        end++;
    return (sf_str){path.data + start, end - start};
}

sf_status sf_query_input_spec(sf_arena *arena, const char *spec, sf_query_input *out, sf_error *err)
{
    *out = (sf_query_input){.lateness_ms = 1000, .time_index = -1, .fd = -1};
    const char *equals = strchr(spec, '=');
    sf_str path = sf_str_of(equals ? equals + 1 : spec);
    sf_str suffix = ending_of(path, ':');
    if (suffix.len && known_format(suffix, out))
        path.len -= suffix.len + 1;
    sf_str name = equals ? (sf_str){spec, (size_t)(equals - spec)} : stem_of(path);
    if (path.len == 0 || name.len == 0 || sf_str_eq(name, SF_STR("-")))
        return sf_fail(err, SF_INVALID, "--from needs name=path, not \"%s\"", spec);
    if (!out->format_known)
        known_format(ending_of(path, '.'), out);
    out->name = sf_cli_text(arena, name);
    out->path = sf_cli_text(arena, path);
    return out->name && out->path ? SF_OK : sf_fail_memory(err);
}

/* Splits "name=rest" and finds the input. */
static sf_status named_input(const char *option, const char *spec, sf_query_input *inputs,
                             size_t count, sf_query_input **out, sf_str *rest, sf_error *err)
{
    const char *equals = strchr(spec, '=');
    if (!equals || !equals[1])
        return sf_fail(err, SF_INVALID, "%s needs name=..., not \"%s\"", option, spec);
    sf_str name = {spec, (size_t)(equals - spec)};
    for (size_t i = 0; i < count; i++) {
        if (sf_str_eq(sf_str_of(inputs[i].name), name)) {
            *out = &inputs[i];
            *rest = sf_str_of(equals + 1);
            return SF_OK;
        }
    }
    return sf_fail(err, SF_INVALID, "%s names \"%.*s\", and no --from does", option,
                   SF_STR_ARG(name));
}

static sf_status add_field(sf_arena *arena, sf_query_input *input, sf_str item, sf_error *err)
{
    const char *colon = item.len ? memchr(item.data, ':', item.len) : NULL;
    sf_str name = {item.data, colon ? (size_t)(colon - item.data) : item.len};
    sf_str type = {colon ? colon + 1 : NULL, colon ? item.len - name.len - 1 : 0};
    name = sf_text_trim(name);
    type = sf_text_trim(type);
    sf_field *field = &input->fields[input->field_count];
    if (!name.len || !type.len)
        return sf_fail(err, SF_INVALID, "--schema needs column:Type, not \"%.*s\"",
                       SF_STR_ARG(item));
    if (!sf_type_from_name(type, &field->type)) {
        sf_fail(err, SF_INVALID, "there is no type \"%.*s\"", SF_STR_ARG(type));
        sf_error_hint(err, "the types are String, Double, Long, Bool, Timestamp and Json");
        return SF_INVALID;
    }
    field->name = sf_cli_text(arena, name);
    input->field_count++;
    return field->name ? SF_OK : sf_fail_memory(err);
}

sf_status sf_query_input_schema(sf_arena *arena, const char *spec, sf_query_input *inputs,
                                size_t count, sf_error *err)
{
    sf_query_input *input;
    sf_str rest;
    SF_TRY(named_input("--schema", spec, inputs, count, &input, &rest, err));
    size_t items = 1;
    for (size_t i = 0; i < rest.len; i++)
        items += rest.data[i] == ',';
    if (items > SF_COLUMNS_MAX - 2)
        return sf_fail(err, SF_LIMIT, "--schema names too many columns");
    input->fields = SF_ARENA_ARRAY(arena, sf_field, items);
    input->field_count = 0;
    input->schema_given = true;
    if (!input->fields)
        return sf_fail_memory(err);
    while (items-- > 0) {
        const char *comma = rest.len ? memchr(rest.data, ',', rest.len) : NULL;
        size_t length = comma ? (size_t)(comma - rest.data) : rest.len;
        SF_TRY(add_field(arena, input, (sf_str){rest.data, length}, err));
        size_t taken = length + (comma != NULL);
        rest = (sf_str){rest.data + taken, rest.len - taken};
    }
    return SF_OK;
}

sf_status sf_query_input_time(sf_arena *arena, const char *spec, sf_query_input *inputs,
                              size_t count, sf_error *err)
{
    sf_query_input *input;
    sf_str rest;
    SF_TRY(named_input("--time", spec, inputs, count, &input, &rest, err));
    input->time_column = sf_cli_text(arena, rest);
    return input->time_column ? SF_OK : sf_fail_memory(err);
}

sf_status sf_query_input_lateness(sf_arena *arena, const char *spec, sf_query_input *inputs,
                                  size_t count, sf_error *err)
{
    sf_query_input *input;
    sf_str rest;
    SF_UNUSED(arena);
    SF_TRY(named_input("--lateness", spec, inputs, count, &input, &rest, err));
    if (sf_parse_i64(rest, &input->lateness_ms) != SF_PARSE_OK || input->lateness_ms < 0)
        return sf_fail(err, SF_INVALID, "--lateness needs milliseconds, not \"%.*s\"",
                       SF_STR_ARG(rest));
    return SF_OK;
}

/* ---- opening and inference ---- */

static sf_status read_some(sf_query_input *input, sf_buf *into, sf_error *err)
{
    if (!sf_buf_reserve(into, CHUNK_BYTES))
        return sf_fail_memory(err);
    ssize_t got;
    do
        got = read(input->fd, into->data + into->len, CHUNK_BYTES);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return sf_fail(err, SF_IO, "%s cannot be read: %s", input->path, strerror(errno));
    into->len += (size_t)got;
    into->data[into->len] = 0;
    input->bytes += (uint64_t)got;
    input->at_end = got == 0;
    return SF_OK;
}

static bool pauses(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    return poll(&poll_fd, 1, PAUSE_MS) == 0;
}

/* Enough for an inference: so many bytes, all there is, or what a pipe gives before it pauses. */
static sf_status read_sample(sf_query_input *input, size_t wanted, sf_error *err)
{
    while (!input->at_end && input->sample.len < wanted) {
        SF_TRY(read_some(input, &input->sample, err));
        bool has_line = input->sample.len && memchr(input->sample.data, '\n', input->sample.len);
        if (has_line && pauses(input->fd))
            break;
    }
    return SF_OK;
}

static void sniff_format(sf_query_input *input)
{
    sf_str text = sf_text_trim(sf_buf_str(&input->sample));
    if (text.len >= 3 && memcmp(text.data, "\xEF\xBB\xBF", 3) == 0)
        text = (sf_str){text.data + 3, text.len - 3};
    char first = text.len ? text.data[0] : 0;
    input->format = first == '{' ? SF_FORMAT_NDJSON : first == '[' ? SF_FORMAT_JSON : SF_FORMAT_CSV;
    input->format_known = true;
}

static sf_status find_time_column(sf_query_input *input, sf_error *err)
{
    for (uint32_t i = 0; input->time_column && i < input->field_count; i++)
        if (strcmp(input->fields[i].name, input->time_column) == 0)
            input->time_index = (int)i;
    if (!input->time_column)
        return SF_OK;
    if (input->time_index < 0)
        return sf_fail(err, SF_INVALID, "--time: \"%s\" has no column \"%s\"", input->name,
                       input->time_column);
    sf_field *field = &input->fields[input->time_index];
    if (!input->schema_given && field->type == SF_TYPE_UTF8) /* a date without a time of day */
        field->type = SF_TYPE_TIMESTAMP;
    if (field->type == SF_TYPE_TIMESTAMP || field->type == SF_TYPE_I64)
        return SF_OK;
    return sf_fail(err, SF_INVALID, "--time: column \"%s\" is a %s, not a Timestamp or Long",
                   field->name, sf_type_name(field->type));
}

static sf_status infer(sf_arena *arena, sf_query_input *input, sf_error *err)
{
    for (size_t wanted = 2 * SAMPLE_BYTES;; wanted *= 2) {
        sf_status status = sf_infer_fields(input->format, sf_buf_str(&input->sample), input->at_end,
                                           arena, &input->fields, &input->field_count, err);
        if (status != SF_INVALID)
            return status;
        if (input->at_end || wanted > SAMPLE_BYTES_MAX) {
            sf_error_context(err, "no schema can be inferred for \"%s\" from %s", input->name,
                             input->path);
            sf_error_hint(err, "give it with --schema %s=column:Type,...", input->name);
            return status;
        }
        SF_TRY(read_sample(input, wanted, err));
    }
}

sf_status sf_query_input_open(sf_arena *arena, sf_query_input *input, sf_error *err)
{
    bool standard = strcmp(input->path, "-") == 0;
    input->fd = standard ? STDIN_FILENO : open(input->path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (input->fd < 0 || fstat(input->fd, &info) != 0)
        return sf_fail(err, SF_IO, "%s cannot be opened: %s", input->path, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return sf_fail(err, SF_IO, "%s is a directory", input->path);
    input->live = !S_ISREG(info.st_mode);
    if (!input->schema_given || !input->format_known)
        SF_TRY(read_sample(input, SAMPLE_BYTES, err));
    if (!input->format_known)
        sniff_format(input);
    if (!input->schema_given)
        SF_TRY(infer(arena, input, err));
    return find_time_column(input, err);
}

sf_status sf_query_input_start(sf_query_input *input, const sf_schema *schema, uint32_t batch_rows,
                               sf_error *err)
{
    sf_parser_options options = {.format = input->format,
                                 .schema = schema,
                                 .delimiter = input->delimiter,
                                 .batch_rows = batch_rows};
    return sf_parser_new(&options, &input->parser, err);
}

void sf_query_input_close(sf_query_input *input)
{
    sf_parser_free(input->parser);
    sf_buf_deinit(&input->sample);
    if (input->fd > STDIN_FILENO)
        close(input->fd);
}

/* ---- reading ---- */

sf_status sf_query_input_read(sf_query_input *input, int64_t now_ms, sf_error *err)
{
    sf_parser_set_stamp(input->parser, now_ms);
    if (input->sample.len == 0 && !input->at_end)
        SF_TRY(read_some(input, &input->sample, err));
    SF_TRY(sf_parser_feed(input->parser, sf_buf_str(&input->sample), err));
    sf_buf_clear(&input->sample);
    return input->at_end ? sf_parser_finish(input->parser, err)
                         : sf_parser_flush(input->parser, err);
}

/* The batch with another column's values as _ts; rows where it is NULL keep theirs. */
static sf_status take_time(const sf_query_input *input, sf_batch **batch, sf_error *err)
{
    const sf_batch *from = *batch;
    uint32_t last = from->schema->count - 1;
    const sf_column *time = from->columns[input->time_index];
    sf_column *stamps = sf_column_new(SF_TYPE_I64, from->rows, false);
    sf_column *columns[SF_COLUMNS_MAX];
    if (!stamps)
        return sf_fail_memory(err);
    int64_t *lanes = sf_column_lanes(stamps);
    memcpy(lanes, from->columns[last]->data, from->rows * sizeof *lanes);
    for (uint32_t row = 0; row < from->rows; row++)
        if (sf_column_is_valid(time, row))
            lanes[row] = SF_LANES(time, int64_t)[row];
    for (uint32_t i = 0; i < last; i++)
        columns[i] = sf_column_ref(from->columns[i]);
    columns[last] = stamps;
    *batch = sf_batch_new(from->schema, from->rows, columns, sf_column_ref(from->weights), NULL);
    sf_batch_unref(from);
    return *batch ? SF_OK : sf_fail_memory(err);
}

sf_status sf_query_input_next(sf_query_input *input, sf_batch **out, sf_error *err)
{
    *out = sf_parser_next(input->parser);
    if (!*out)
        return SF_OK;
    input->rows += (*out)->rows;
    return input->time_index >= 0 ? take_time(input, out, err) : SF_OK;
}

static void warn(const char *name, uint64_t count, const char *what, const char *fate)
{
    if (count)
        fprintf(stderr, "warning: %s: %llu %s%s %s\n", name, (unsigned long long)count, what,
                count == 1 ? "" : "s", fate);
}

void sf_query_input_warn(const sf_query_input *input)
{
    const sf_parse_report *report = sf_parser_report(input->parser);
    warn(input->name, report->malformed, "malformed row",
         report->malformed == 1 ? "was left out" : "were left out");
    warn(input->name, report->misfits, "value", "did not fit and became NULL");
    for (uint32_t i = 0; i < report->error_count && i < 3; i++) {
        const sf_row_error *error = &report->errors[i];
        if (error->line)
            fprintf(stderr, "  %s:%llu: %s\n", input->path, (unsigned long long)error->line,
                    error->message);
        else
            fprintf(stderr, "  %s: row %llu: %s\n", input->path, (unsigned long long)error->row,
                    error->message);
    }
}
