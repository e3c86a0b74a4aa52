/* text.h: scanners and printers everyone shares: UTF-8, numbers, JSON, times, durations.
 *
 * Owns     nothing. Scanners borrow the bytes they read; spans they return point into those bytes.
 * Threads  No state beyond the caller's structs.
 * Memory   Only what goes into the caller's sf_buf. No call keeps its arguments.
 * Fails    Scanners answer false and leave a sentence and a byte offset; conversions answer
 *          sf_parse. Nothing here trusts its input: every read is bounded, nesting has a limit.
 *
 * Inner loops that want the block scanners inlined include "text/scan.h". */
#ifndef SF_TEXT_TEXT_H
#define SF_TEXT_TEXT_H

#include "base/base.h"

/* ---- UTF-8 ------------------------------------------------------------------------------- */

bool sf_utf8_valid(sf_str text); /* no surrogates, no overlong forms, at most U+10FFFF */
bool sf_text_is_ascii(sf_str text);
/* The bytes of one code point; 0 for a surrogate or beyond U+10FFFF. */
size_t sf_utf8_encode(char out[4], uint32_t code_point);
sf_str sf_text_trim(sf_str text); /* without ASCII white space at both ends */

/* ---- numbers ----------------------------------------------------------------------------- */

typedef enum {
    SF_PARSE_OK,
    SF_PARSE_BAD,   /* not of this form */
    SF_PARSE_RANGE, /* the form is right, the value does not fit */
} sf_parse;

/* A decimal number as written: digits * 10^exponent. `inexact`: more than 19 significant digits or
 * an exponent too large to hold, so the value must be taken from the text. */
typedef struct {
    uint64_t digits;
    int32_t exponent;
    bool negative;
    bool integer; /* written without fraction and exponent */
    bool inexact;
} sf_decimal;

/* The longest number at the start of text: where it ends, NULL when there is none. The JSON form
 * has no leading zeros, no leading plus and a digit on both sides of the point; the loose form
 * allows them and asks for one digit in all. */
const char *sf_decimal_scan_json(const char *at, const char *end, sf_decimal *out);
const char *sf_decimal_scan_loose(const char *at, const char *end, sf_decimal *out);
/* The value of a scanned number; text is the span that was scanned. Doubles are correctly rounded;
 * too small becomes 0, too large is SF_PARSE_RANGE. An integer must be whole (3.0 and 3e2 are). */
sf_parse sf_decimal_to_f64(const sf_decimal *decimal, sf_str text, double *out);
sf_parse sf_decimal_to_i64(const sf_decimal *decimal, sf_str text, int64_t *out);

/* Casts: the whole text, trimmed, must parse. No NaN, no infinity, no hexadecimal. */
sf_parse sf_parse_i64(sf_str text, int64_t *out); /* [+-]digits only */
sf_parse sf_parse_f64(sf_str text, double *out);
sf_parse sf_parse_bool(sf_str text, bool *out); /* true or false, any case */
/* A whole number in any spelling (3, 3.0, 3e2): what a Long field accepts from quoted text. */
sf_parse sf_parse_whole(sf_str text, int64_t *out);

/* Printers write at most SF_NUMBER_MAX bytes, no terminator, and return how many. Doubles take the
 * shortest digits that read back equal: whole values print as integers (3.0 is "3", -0.0 is "0"),
 * below 1e-6 and from 1e21 on with an exponent ("1e-7", "1.5e+21"); "NaN", "Infinity". */
#define SF_NUMBER_MAX 32
size_t sf_print_i64(char out[SF_NUMBER_MAX], int64_t value);
size_t sf_print_u64(char out[SF_NUMBER_MAX], uint64_t value);
size_t sf_print_f64(char out[SF_NUMBER_MAX], double value);
void sf_buf_put_i64_text(sf_buf *buf, int64_t value);
void sf_buf_put_f64_text(sf_buf *buf, double value);

/* ---- JSON: pull scanner ------------------------------------------------------------------ */

#define SF_JSON_DEPTH_MAX 256

typedef enum {
    SF_JSON_NONE, /* nothing there, or a byte no value starts with */
    SF_JSON_NULL,
    SF_JSON_BOOL,
    SF_JSON_NUMBER,
    SF_JSON_STRING,
    SF_JSON_ARRAY,
    SF_JSON_OBJECT,
} sf_json_kind;

/* Strict and total: everything passed over has been validated. The first problem stays; every
 * later call answers false. */
typedef struct {
    const char *begin, *at, *end;
    const char *problem; /* a sentence, NULL while all is well; `at` is its place */
    uint32_t depth;      /* containers open around `at` */
    bool fresh;          /* just inside a container: no comma expected */
} sf_json;

/* A string between its quotes. Without escapes the raw bytes are the value. */
typedef struct {
    sf_str raw;
    bool escaped;
} sf_json_string;

typedef struct {
    sf_str raw;
    sf_decimal decimal;
} sf_json_number;

void sf_json_init(sf_json *json, sf_str text);
static inline size_t sf_json_offset(const sf_json *json)
{
    return (size_t)(json->at - json->begin);
}
/* SF_SYNTAX with the scanner's sentence and place; SF_OK when it has no problem. */
sf_status sf_json_status(const sf_json *json, sf_error *err);

sf_json_kind sf_json_peek(sf_json *json);      /* passes white space; consumes nothing else */
bool sf_json_skip(sf_json *json, sf_str *raw); /* any value; raw (NULL allowed): its bytes */
bool sf_json_string_take(sf_json *json, sf_json_string *out);
bool sf_json_number_take(sf_json *json, sf_json_number *out);
bool sf_json_bool_take(sf_json *json, bool *out);
bool sf_json_null_take(sf_json *json);
/* begin enters; each next moves before a key's value or an element, which the caller must consume;
 * false at the closing bracket (consumed) or on a problem. */
bool sf_json_object_begin(sf_json *json);
bool sf_json_object_next(sf_json *json, sf_json_string *key);
bool sf_json_array_begin(sf_json *json);
bool sf_json_array_next(sf_json *json);
bool sf_json_finish(sf_json *json); /* only white space is left */

/* ---- JSON: whole texts ------------------------------------------------------------------- */

/* One value and nothing after it. */
sf_status sf_json_validate(sf_str text, sf_error *err);

/* Path access for texts that were validated once: cheap, still safe on any bytes. The span found
 * has no white space around it. Of duplicate keys the last counts. */
sf_json_kind sf_json_kind_of(sf_str text);
bool sf_json_get_key(sf_str text, sf_str key, sf_str *out);      /* key: plain, not escaped */
bool sf_json_get_index(sf_str text, int64_t index, sf_str *out); /* 0-based; negative: false */
/* Elements of an array: start with *cursor = 0; false at the end or when text is no array. */
bool sf_json_each(sf_str text, size_t *cursor, sf_str *element);
/* Members of an object, as written: duplicates come too. */
bool sf_json_each_member(sf_str text, size_t *cursor, sf_json_string *key, sf_str *value);
size_t sf_json_array_len(sf_str text);

/* What ->> gives: a string's value, any other value's text. plain borrows where it can, else
 * points into scratch (cleared first). False when memory is short. */
bool sf_json_text_of(sf_str value, sf_buf *scratch, sf_str *plain);
/* Appends the value of a validated string's inside. */
bool sf_json_unescape(sf_str raw, sf_buf *buf);
/* Appends "..." with the escapes JSON demands and no others. */
void sf_json_put_string(sf_buf *buf, sf_str text);
/* Appends a number, `null` when it is not finite. */
void sf_json_put_f64(sf_buf *buf, double value);
/* Appends the value without white space, keys sorted by bytes (the last of duplicates), numbers by
 * exact decimal value (1, 1.0 and 1e0 are 1), strings minimally escaped: equal structure gives
 * equal bytes. SF_SYNTAX: not JSON. SF_LIMIT: memory. */
sf_status sf_json_canonical(sf_str text, sf_buf *buf, sf_error *err);

/* ---- times ------------------------------------------------------------------------------- */

/* Proleptic Gregorian, UTC, milliseconds since 1970-01-01. */
#define SF_TIME_MIN_MS INT64_C(-62135596800000) /* 0001-01-01T00:00:00.000Z */
#define SF_TIME_MAX_MS INT64_C(253402300799999) /* 9999-12-31T23:59:59.999Z */

typedef struct {
    int32_t year, month, day; /* month and day from 1 */
    int32_t hour, minute, second, millisecond;
} sf_civil;

int64_t sf_days_from_civil(int64_t year, int32_t month, int32_t day);
sf_civil sf_civil_from_ms(int64_t ms);

/* Trimmed ISO-8601 date, or date and time (T or blank between) with optional seconds, fraction and
 * offset (Z, +hh:mm, +hhmm, +hh); no offset means UTC. Digits past the millisecond are cut off.
 * SF_PARSE_RANGE: right form, impossible calendar value. */
sf_parse sf_parse_time(sf_str text, int64_t *ms);
/* sf_parse_time, or a whole number of milliseconds. */
sf_parse sf_parse_timestamp(sf_str text, int64_t *ms);
/* "2023-11-05T08:40:00.000Z"; outside the years 0001..9999 the number itself. */
size_t sf_print_time(char out[SF_NUMBER_MAX], int64_t ms);

/* ---- durations --------------------------------------------------------------------------- */

/* Milliseconds of MILLISECOND, SECOND, MINUTE, HOUR, singular or plural, any case. */
bool sf_duration_unit(sf_str word, int64_t *unit_ms);
/* "5 SECONDS" -> 5000. SF_PARSE_RANGE: beyond 64 bits. Never negative. */
sf_parse sf_parse_duration(sf_str text, int64_t *ms);
/* "every 30s", "every 5m", "every 2h" (blanks between are free). */
sf_parse sf_parse_every(sf_str text, int64_t *ms);
/* The largest unit that divides: 5000 -> "5 SECONDS", 1500 -> "1500 MILLISECONDS". */
void sf_buf_put_duration(sf_buf *buf, int64_t ms);

#endif
