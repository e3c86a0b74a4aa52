/* JSON objects to rows: ndjson and json. A key is first compared with the one that followed its
 * predecessor last time, which is nearly always right; values of the declared types are read in
 * place. Whatever is unusual goes through the strict scanner, which also words the errors. */
#include "format/parser.h"

static inline const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
        at++;
    return at;
}

/* ---- values ---- */

static void take_string(sf_parser *p, slot *s, const sf_json_string *string)
{
    sf_str shown = {string->raw.data - 1, string->raw.len + 2};
    if (s->kind == KIND_JSON) {
        slot_input_text(p, s, shown.data, shown.len);
    } else if (!string->escaped) {
        slot_coerce_text(p, s, string->raw, true, shown);
    } else {
        sf_buf *scratch = &p->rows.scratch;
        sf_buf_clear(scratch);
        if (sf_json_unescape(string->raw, scratch))
            slot_coerce_text(p, s, sf_buf_str(scratch), false, shown);
        else
            p->no_memory = true;
    }
}

/* Any value, strictly; s NULL: it is passed over. Behind it, NULL when it is malformed. */
static const char *value_strict(sf_parser *p, slot *s, const char *at, const char *end)
{
    sf_json json;
    sf_json_string string;
    sf_json_number number;
    sf_str raw;
    sf_json_init(&json, (sf_str){at, (size_t)(end - at)});
    json.depth = 1; /* the row's own object */
    sf_json_kind kind = sf_json_peek(&json);
    if (!s) {
        sf_json_skip(&json, NULL);
    } else if (kind == SF_JSON_STRING) {
        if (sf_json_string_take(&json, &string))
            take_string(p, s, &string);
    } else if (kind == SF_JSON_NUMBER) {
        if (sf_json_number_take(&json, &number))
            slot_coerce_number(p, s, &number.decimal, number.raw);
    } else if (sf_json_skip(&json, &raw)) {
        if (kind == SF_JSON_NULL)
            slot_null(&p->rows, s);
        else if (s->kind == KIND_JSON || (s->kind == KIND_STRING && kind == SF_JSON_BOOL))
            slot_input_text(p, s, raw.data, raw.len);
        else if (s->kind == KIND_BOOL && kind == SF_JSON_BOOL)
            slot_bool(&p->rows, s, raw.data[0] == 't');
        else
            slot_misfit(&p->rows, s, SF_MISFIT_KIND, raw);
    }
    return json.problem ? NULL : json.at;
}

/* A number for a slot of numbers, in its usual form. NULL: look closer. */
static inline const char *value_number(sf_parser *p, slot *s, const char *at, const char *limit)
{
    sf_decimal decimal;
    double number;
    const char *stop = sf_scan_decimal(at, limit, false, &decimal);
    if (!stop)
        return NULL;
    if (s->kind == KIND_DOUBLE) {
        if (!sf_decimal_quick_f64(&decimal, &number))
            return NULL;
        slot_f64(&p->rows, s, number);
        return stop;
    }
    if (!decimal.integer || decimal.inexact || decimal.digits > INT64_MAX)
        return NULL;
    int64_t whole = (int64_t)decimal.digits;
    slot_i64(&p->rows, s, decimal.negative ? -whole : whole);
    return stop;
}

static inline const char *value(sf_parser *p, slot *s, const char *at, const char *end,
                                const char *limit)
{
    const char *stop = NULL;
    if (s->kind == KIND_STRING) {
        bool high = false;
        if (*at == '"') {
            const char *close = sf_scan_json_plain(at + 1, limit, &high);
            if (close < end && *close == '"' && !high) {
                slot_input_text(p, s, at + 1, (size_t)(close - at) - 1);
                stop = close + 1;
            }
        }
    } else if (s->kind == KIND_DOUBLE || s->kind == KIND_LONG || s->kind == KIND_TIME) {
        stop = value_number(p, s, at, limit);
    }
    if (SF_UNLIKELY(!stop))
        stop = value_strict(p, s, at, end);
    if (SF_UNLIKELY(s->twin != NULL) && stop)
        stop = value_strict(p, s->twin, at, end);
    return stop;
}

/* ---- keys ---- */

static inline bool key_is(const slot *s, const char *at)
{
    if (((sf_load_u64(at) ^ s->head) & s->head_mask) != 0)
        return false;
    uint32_t len = s->pattern_len;
    if (len <= 8)
        return len > 0;
    if (len <= 16)
        return sf_load_u64(at + len - 8) == s->tail;
    return memcmp(at, s->pattern, len) == 0;
}

/* Any key with its colon: *s is its slot, NULL for none. Behind it, NULL when it is malformed. */
static const char *read_key(sf_parser *p, const char *at, const char *end, slot **s)
{
    sf_json json;
    sf_json_string key;
    sf_json_init(&json, (sf_str){at, (size_t)(end - at)});
    if (at >= end || *at != '"' || !sf_json_string_take(&json, &key))
        return NULL;
    sf_str name = key.raw;
    if (key.escaped) {
        sf_buf_clear(&p->rows.scratch);
        if (!sf_json_unescape(key.raw, &p->rows.scratch)) {
            p->no_memory = true;
            return NULL;
        }
        name = sf_buf_str(&p->rows.scratch);
    }
    *s = rows_find(&p->rows, name);
    if (!*s && !reserved_name(name))
        parser_unknown(p, name);
    at = skip_space(json.at, end);
    return at < end && *at == ':' ? at + 1 : NULL;
}

/* ---- rows ---- */

/* An object at `at` into the current row. Behind it, NULL when it is malformed or goes beyond end.
 * limit: the input is readable so far, and PAD_BYTES more. */
static const char *read_object(sf_parser *p, const char *at, const char *end, const char *limit)
{
    rowset *r = &p->rows;
    slot *expected = r->first, *before = NULL;
    if (*at != '{')
        return NULL;
    at = skip_space(at + 1, end);
    if (at < end && *at == '}')
        return at + 1;
    for (;;) {
        slot *s = expected;
        if (s && end - at > (ptrdiff_t)s->pattern_len && key_is(s, at)) {
            at += s->pattern_len;
        } else {
            at = read_key(p, at, end, &s);
            if (!at)
                return NULL;
            if (s && before)
                before->next = s;
            else if (s)
                r->first = s;
        }
        at = skip_space(at, end);
        if (at >= end)
            return NULL;
        at = s ? value(p, s, at, end, limit) : value_strict(p, NULL, at, end);
        if (!at || p->no_memory)
            return NULL;
        if (s) {
            before = s;
            expected = s->next;
        }
        at = skip_space(at, end);
        if (at >= end)
            return NULL;
        if (*at == '}')
            return at + 1;
        if (*at != ',')
            return NULL;
        at = skip_space(at + 1, end);
    }
}

/* Why a record is no row. */
static void report_malformed(sf_parser *p, sf_str record)
{
    static const char *const kinds[] = {
        [SF_JSON_NULL] = "null",       [SF_JSON_BOOL] = "a boolean", [SF_JSON_NUMBER] = "a number",
        [SF_JSON_STRING] = "a string", [SF_JSON_ARRAY] = "an array",
    };
    sf_json json;
    sf_json_init(&json, record);
    sf_json_kind kind = sf_json_peek(&json);
    if (sf_json_skip(&json, NULL) && sf_json_finish(&json) && kind != SF_JSON_OBJECT)
        parser_malformed(p, "a row is an object, this is %s", kinds[kind]);
    else
        parser_malformed(p, "byte %zu of the row: %s", sf_json_offset(&json) + 1,
                         json.problem ? json.problem : "it does not parse");
}

static void report_long(sf_parser *p)
{
    parser_malformed(p, "the row is longer than %zu bytes", p->options.record_bytes_max);
}

/* A whole record. */
static void take_record(sf_parser *p, const char *at, const char *end)
{
    p->report.records++;
    if ((size_t)(end - at) > p->options.record_bytes_max) {
        report_long(p);
        return;
    }
    if (!row_begin(p))
        return;
    const char *stop = read_object(p, skip_space(at, end), end, input_end(p));
    if (stop && skip_space(stop, end) == end) {
        row_end(p);
        return;
    }
    rows_rollback(&p->rows);
    if (!p->no_memory)
        report_malformed(p, (sf_str){at, (size_t)(end - at)});
}

/* A BOM may stand before everything else. False: too few bytes to tell. */
static bool pass_bom(sf_parser *p, bool final)
{
    static const char bom[3] = {'\xef', '\xbb', '\xbf'};
    size_t unread = p->fill - p->start, same = unread < 3 ? unread : 3;
    if (p->json.begun)
        return true;
    bool partly = memcmp(input_at(p), bom, same) == 0;
    if (partly && same < 3 && !final)
        return false;
    if (partly && same == 3)
        p->start += 3;
    p->json.begun = true;
    return true;
}

void ndjson_process(sf_parser *p, bool final)
{
    if (p->start == p->fill || !pass_bom(p, final))
        return;
    while (p->start < p->fill && !p->no_memory) {
        const char *at = input_at(p), *limit = input_end(p), *from = at + p->json.scan;
        const char *line_end = memchr(from, '\n', (size_t)(limit - from));
        if (!line_end && !final) {
            p->json.scan = (size_t)(limit - at);
            if (p->json.scan > p->options.record_bytes_max && !p->skipping) {
                p->report.records++;
                report_long(p);
                p->skipping = true;
            }
            if (p->skipping) {
                p->start = p->fill;
                p->json.scan = 0;
            }
            return;
        }
        const char *end = line_end ? line_end : limit;
        p->json.scan = 0;
        if (!p->skipping && skip_space(at, end) < end)
            take_record(p, at, end);
        p->skipping = false;
        p->line++;
        p->start += (size_t)(end - at) + (line_end != NULL);
    }
}

/* ---- the json format: elements between brackets ---- */

/* Scans on for the end of the element; true: it is at json.scan. */
static bool find_end(sf_parser *p, bool final)
{
    json_input *json = &p->json;
    const char *first = input_at(p), *limit = input_end(p), *at = first + json->scan;
    bool high = false, scalar = json->depth == 0 && !json->string;
    bool begins = at == first && !p->skipping;
    if (scalar && begins && at < limit && (*at == '"' || (*at | 0x20) == '{'))
        scalar = false;
    while (scalar && at < limit && !strchr(",]}[{\" \t\r\n", *at))
        at++;
    if (scalar) {
        at += at == first && begins && at < limit; /* a byte that can begin nothing */
        json->scan = (size_t)(at - first);
        return at < limit || final;
    }
    while (at < limit) {
        if (json->string) {
            if (json->escaped) {
                json->escaped = false;
                at++;
                continue;
            }
            at = sf_scan_json_plain(at, limit, &high);
            if (at == limit)
                break;
            json->escaped = *at == '\\';
            json->string = *at != '"';
        } else {
            at = sf_scan_json_structure(at, limit);
            if (at == limit)
                break;
            json->string = *at == '"';
            if ((*at | 0x20) == '{')
                json->depth++;
            else if ((*at | 0x20) == '}')
                json->depth--;
        }
        at++;
        if (json->depth == 0 && !json->string) {
            json->scan = (size_t)(at - first);
            return true;
        }
    }
    json->scan = (size_t)(at - first);
    return false;
}

static void structure_broken(sf_parser *p, const char *problem)
{
    p->report.records++;
    parser_malformed(p, "%s; what follows is not read", problem);
    p->json.state = JSON_BROKEN;
    p->start = p->fill;
}

/* Between elements. True: one starts at the unread input. */
static bool next_element(sf_parser *p)
{
    json_input *json = &p->json;
    while (p->start < p->fill && json->state != JSON_BROKEN) {
        char c = *input_at(p);
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            p->start++;
            continue;
        }
        bool ends = c == ']' && (json->state == JSON_FIRST || json->state == JSON_NEXT);
        if (json->state == JSON_TOP && c == '[')
            json->state = JSON_FIRST;
        else if (ends)
            json->state = JSON_TOP;
        else if (json->state == JSON_NEXT && c == ',')
            json->state = JSON_ITEM;
        else if (json->state == JSON_NEXT)
            structure_broken(p, "a comma or ] is expected between rows");
        else if (c == ',' || c == ']' || c == '}')
            structure_broken(p, "a row is expected");
        else
            return true;
        p->start += json->state != JSON_BROKEN;
    }
    if (json->state == JSON_BROKEN)
        p->start = p->fill;
    return false;
}

static void element_done(sf_parser *p, size_t len)
{
    json_input *json = &p->json;
    p->start += len;
    p->skipping = false;
    *json = (json_input){.begun = true, .state = json->state == JSON_TOP ? JSON_TOP : JSON_NEXT};
}

/* An object that is there as a whole needs no search for its end. */
static bool try_element(sf_parser *p)
{
    const char *at = input_at(p), *limit = input_end(p);
    if (p->json.tried || *at != '{' || !row_begin(p))
        return false;
    p->json.tried = true;
    const char *stop = read_object(p, at, limit, limit);
    if (!stop || (size_t)(stop - at) > p->options.record_bytes_max) {
        rows_rollback(&p->rows);
        return false;
    }
    p->report.records++;
    row_end(p);
    element_done(p, (size_t)(stop - at));
    return true;
}

/* The input ends inside an element or array. */
static void end_early(sf_parser *p)
{
    if (p->json.inside && !p->skipping) {
        p->report.records++;
        report_malformed(p, (sf_str){input_at(p), p->fill - p->start});
    } else if (!p->json.inside && p->json.state != JSON_TOP && p->json.state != JSON_BROKEN) {
        structure_broken(p, "the array is not closed");
    }
    p->start = p->fill;
}

void json_process(sf_parser *p, bool final)
{
    json_input *json = &p->json;
    if (p->start < p->fill && !pass_bom(p, final))
        return;
    while (!p->no_memory) {
        if (!json->inside && !next_element(p))
            break;
        json->inside = true;
        if (try_element(p))
            continue;
        if (p->no_memory)
            break;
        bool whole = find_end(p, final);
        if (whole && !p->skipping)
            take_record(p, input_at(p), input_at(p) + json->scan);
        if (whole) {
            element_done(p, json->scan);
            continue;
        }
        if (json->scan > p->options.record_bytes_max && !p->skipping) {
            p->report.records++;
            report_long(p);
            p->skipping = true;
        }
        if (p->skipping) {
            p->start += json->scan;
            json->scan = 0;
        }
        break;
    }
    if (final && !p->no_memory)
        end_early(p);
}
