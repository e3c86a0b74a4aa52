/* One spelling for every JSON text of the same structure. Members are written where they stand;
 * only an object whose keys are out of order is written anew, sorted. */
#include "text/scan.h"

#include <stdlib.h>

typedef struct {
    size_t key_at, key_len; /* plain key, in keys */
    size_t at, len;         /* "key":value, in out */
} member;

typedef struct {
    sf_json json;
    sf_buf *out;
    sf_buf keys, scratch;
    SF_VEC(member) members;
    bool no_memory;
} canon;

static bool put_value(canon *c);

static bool put_string(canon *c, const sf_json_string *string)
{
    if (!string->escaped) {
        /* Nothing in it needs an escape, or it would have one. */
        sf_buf_putc(c->out, '"');
        sf_buf_put(c->out, string->raw.data, string->raw.len);
        sf_buf_putc(c->out, '"');
        return true;
    }
    sf_buf_clear(&c->scratch);
    if (!sf_json_unescape(string->raw, &c->scratch)) {
        c->no_memory = true;
        return false;
    }
    sf_json_put_string(c->out, sf_buf_str(&c->scratch));
    return true;
}

/* at: the letter e, or end. */
static long long written_exponent(const char *at, const char *end)
{
    long long value = 0;
    bool negative = end - at > 1 && at[1] == '-';
    for (; at < end; at++)
        if (*at >= '0' && *at <= '9' && value < 100000000000)
            value = value * 10 + (*at - '0');
    return negative ? -value : value;
}

#define EXPONENT_MAX 2000000000

/* More than 19 significant digits, or an exponent beyond all reason: from the text. */
static void put_long_number(canon *c, const sf_json_number *number)
{
    const char *at = number->raw.data, *end = at + number->raw.len;
    long long exponent = 0;
    bool point = false;
    sf_buf *digits = &c->scratch;
    sf_buf_clear(digits);
    for (; at < end && (*at | 0x20) != 'e'; at++) {
        if (*at == '.')
            point = true;
        if (*at < '0' || *at > '9')
            continue;
        exponent -= point;
        if (digits->len || *at != '0')
            sf_buf_putc(digits, *at);
    }
    exponent += written_exponent(at, end);
    while (digits->len && digits->data[digits->len - 1] == '0') {
        digits->len--;
        exponent++;
    }
    if (digits->len == 0) {
        sf_buf_putc(c->out, '0');
        return;
    }
    if (number->decimal.negative)
        sf_buf_putc(c->out, '-');
    long long before = exponent + (long long)digits->len;
    before = before > EXPONENT_MAX ? EXPONENT_MAX : before;
    before = before < -EXPONENT_MAX ? -EXPONENT_MAX : before;
    if (sf_buf_reserve(c->out, digits->len + 2 * SF_NUMBER_MAX)) {
        char *to = c->out->data + c->out->len;
        c->out->len += sf_print_digits(to, digits->data, digits->len, (int)before);
        c->out->data[c->out->len] = '\0';
    }
}

static void put_number(canon *c, const sf_json_number *number)
{
    sf_decimal decimal = number->decimal;
    if (decimal.inexact) {
        put_long_number(c, number);
        return;
    }
    if (decimal.digits == 0) {
        sf_buf_putc(c->out, '0');
        return;
    }
    while (decimal.digits % 10 == 0) {
        decimal.digits /= 10;
        decimal.exponent++;
    }
    char digits[SF_NUMBER_MAX], text[64];
    size_t count = sf_print_u64(digits, decimal.digits);
    size_t len = sf_print_digits(text, digits, count, (int)count + decimal.exponent);
    if (decimal.negative)
        sf_buf_putc(c->out, '-');
    sf_buf_put(c->out, text, len);
}

static bool put_array(canon *c)
{
    if (!sf_json_array_begin(&c->json))
        return false;
    sf_buf_putc(c->out, '[');
    for (bool first = true; sf_json_array_next(&c->json); first = false) {
        if (!first)
            sf_buf_putc(c->out, ',');
        if (!put_value(c))
            return false;
    }
    sf_buf_putc(c->out, ']');
    return !c->json.problem;
}

static sf_str key_of(const canon *c, const member *m)
{
    return (sf_str){c->keys.data + m->key_at, m->key_len};
}

static int compare_members(const void *a, const void *b, void *context)
{
    const member *left = a, *right = b;
    int order = sf_str_cmp(key_of(context, left), key_of(context, right));
    /* Equal keys stay in the order of the text. */
    return order ? order : (left->at > right->at) - (left->at < right->at);
}

/* The members from base on were written from start on, in the order of the text. */
static void sort_members(canon *c, size_t base, size_t start)
{
    member *members = c->members.data + base;
    size_t count = c->members.len - base, i = 1;
    while (i < count && sf_str_cmp(key_of(c, &members[i - 1]), key_of(c, &members[i])) < 0)
        i++;
    if (i >= count)
        return;
    qsort_r(members, count, sizeof *members, compare_members, c);
    sf_buf_clear(&c->scratch);
    for (i = 0; i < count; i++) {
        bool repeated =
            i + 1 < count && sf_str_eq(key_of(c, &members[i]), key_of(c, &members[i + 1]));
        if (repeated)
            continue;
        if (c->scratch.len)
            sf_buf_putc(&c->scratch, ',');
        sf_buf_put(&c->scratch, c->out->data + members[i].at, members[i].len);
    }
    c->no_memory |= c->scratch.failed;
    c->out->len = start;
    sf_buf_put(c->out, c->scratch.data, c->scratch.len);
}

static bool put_object(canon *c)
{
    size_t base = c->members.len, keys_base = c->keys.len;
    if (!sf_json_object_begin(&c->json))
        return false;
    sf_buf_putc(c->out, '{');
    size_t start = c->out->len;
    sf_json_string key;
    while (sf_json_object_next(&c->json, &key)) {
        if (c->members.len > base)
            sf_buf_putc(c->out, ',');
        member m = {.key_at = c->keys.len, .at = c->out->len};
        if (!sf_json_unescape(key.raw, &c->keys) || !put_string(c, &key)) {
            c->no_memory = true;
            return false;
        }
        m.key_len = c->keys.len - m.key_at;
        sf_buf_putc(c->out, ':');
        if (!put_value(c))
            return false;
        m.len = c->out->len - m.at;
        if (c->out->failed || !SF_VEC_PUSH(&c->members, m)) {
            c->no_memory = true;
            return false;
        }
    }
    if (c->json.problem)
        return false;
    sort_members(c, base, start);
    c->members.len = base;
    c->keys.len = keys_base;
    sf_buf_putc(c->out, '}');
    return true;
}

/* Recursion ends at SF_JSON_DEPTH_MAX, which the scanner enforces. */
static bool put_value(canon *c)
{
    sf_json_string string;
    sf_json_number number;
    sf_str raw;
    switch (sf_json_peek(&c->json)) {
    case SF_JSON_OBJECT: return put_object(c);
    case SF_JSON_ARRAY: return put_array(c);
    case SF_JSON_STRING: return sf_json_string_take(&c->json, &string) && put_string(c, &string);
    case SF_JSON_NUMBER:
        if (!sf_json_number_take(&c->json, &number))
            return false;
        put_number(c, &number);
        return true;
    default:
        if (!sf_json_skip(&c->json, &raw))
            return false;
        sf_buf_put(c->out, raw.data, raw.len);
        return true;
    }
}

sf_status sf_json_canonical(sf_str text, sf_buf *buf, sf_error *err)
{
    canon c = {.out = buf};
    size_t before = buf->len;
    sf_json_init(&c.json, text);
    bool good = put_value(&c) && sf_json_finish(&c.json) && !buf->failed && !c.no_memory;
    sf_status status = good ? SF_OK : sf_json_status(&c.json, err);
    if (!good && status == SF_OK)
        status = sf_fail_memory(err);
    if (!good && buf->data) {
        buf->len = before;
        buf->data[before] = '\0';
    }
    sf_buf_deinit(&c.keys);
    sf_buf_deinit(&c.scratch);
    SF_VEC_DEINIT(&c.members);
    return status;
}
