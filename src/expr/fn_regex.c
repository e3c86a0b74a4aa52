/* Regular expressions by PCRE2. Patterns are compiled once an evaluator and keep bounds on the work
 * and the stack one match may take: beyond them a lane fails instead of holding up the rest. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "expr/cache.h"
#include "expr/kernel.h"

#include <pcre2.h>

enum {
    PATTERN_BYTES_MAX = 8 << 10,
    MATCH_STEPS_MAX = 1000000,
    MATCH_DEPTH_MAX = 10000,
    MATCH_HEAP_KIB_MAX = 8192,
    STACK_BYTES_MIN = 32 << 10,
    STACK_BYTES_MAX = 512 << 10,
    PATTERNS_MAX = 16,
    GROUPS_MAX = 100,
    RESULT_BYTES_MAX = 16 << 20,
};

typedef struct {
    char *text; /* pattern, then flags */
    size_t pattern_len, flags_len;
    pcre2_code *code;
    pcre2_match_data *match;
    bool all; /* flag g */
} regex;

struct sf_eval_cache {
    pcre2_general_context *memory;
    pcre2_match_context *limits;
    pcre2_jit_stack *stack;
    regex patterns[PATTERNS_MAX];
    uint32_t count, next;
};

static void *take_memory(size_t size_bytes, void *self)
{
    SF_UNUSED(self);
    return sf_alloc(size_bytes);
}

static void give_memory(void *memory, void *self)
{
    SF_UNUSED(self);
    sf_free(memory);
}

static void regex_free(regex *r)
{
    pcre2_match_data_free(r->match);
    pcre2_code_free(r->code);
    sf_free(r->text);
    *r = (regex){0};
}

void sf_eval_cache_free(struct sf_eval_cache *cache)
{
    if (!cache)
        return;
    for (uint32_t i = 0; i < cache->count; i++)
        regex_free(&cache->patterns[i]);
    pcre2_jit_stack_free(cache->stack);
    pcre2_match_context_free(cache->limits);
    pcre2_general_context_free(cache->memory);
    sf_free(cache);
}

static struct sf_eval_cache *cache_new(void)
{
    struct sf_eval_cache *cache = sf_calloc(1, sizeof *cache);
    if (!cache)
        return NULL;
    cache->memory = pcre2_general_context_create(take_memory, give_memory, NULL);
    cache->limits = cache->memory ? pcre2_match_context_create(cache->memory) : NULL;
    if (!cache->limits) {
        sf_eval_cache_free(cache);
        return NULL;
    }
    pcre2_set_match_limit(cache->limits, MATCH_STEPS_MAX);
    pcre2_set_depth_limit(cache->limits, MATCH_DEPTH_MAX);
    pcre2_set_heap_limit(cache->limits, MATCH_HEAP_KIB_MAX);
    cache->stack = pcre2_jit_stack_create(STACK_BYTES_MIN, STACK_BYTES_MAX, cache->memory);
    if (cache->stack) /* without one the machine's stack serves, which is smaller */
        pcre2_jit_stack_assign(cache->limits, NULL, cache->stack);
    return cache;
}

/* ---- compiling ---- */

/* PostgreSQL's letters. False: none of them. */
static bool options_of(sf_str flags, uint32_t *options, bool *all)
{
    *options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
    *all = false;
    for (size_t i = 0; i < flags.len; i++) {
        switch (flags.data[i]) {
        case 'c': *options &= ~PCRE2_CASELESS; break;
        case 'g': *all = true; break;
        case 'i': *options |= PCRE2_CASELESS; break;
        case 'm':
        case 'n': *options |= PCRE2_MULTILINE; break;
        case 's': *options |= PCRE2_DOTALL; break;
        case 'x': *options |= PCRE2_EXTENDED; break;
        default: return false;
        }
    }
    return true;
}

typedef enum { REGEX_OK, REGEX_BAD, REGEX_NO_MEMORY } regex_state;

static regex_state compile(pcre2_general_context *memory, sf_str pattern, sf_str flags, regex *out,
                           int *code, size_t *at)
{
    uint32_t options;
    *code = 0;
    *at = 0;
    if (!options_of(flags, &options, &out->all) || pattern.len > PATTERN_BYTES_MAX)
        return REGEX_BAD;
    pcre2_compile_context *context = pcre2_compile_context_create(memory);
    if (!context)
        return REGEX_NO_MEMORY;
    out->code = pcre2_compile((PCRE2_SPTR)pattern.data, pattern.len, options, code, at, context);
    pcre2_compile_context_free(context);
    if (!out->code)
        return *code == PCRE2_ERROR_HEAP_FAILED ? REGEX_NO_MEMORY : REGEX_BAD;
    return REGEX_OK;
}

sf_status sf_regex_check(sf_str pattern, sf_str flags, sf_span span, sf_error *err)
{
    pcre2_general_context *memory = pcre2_general_context_create(take_memory, give_memory, NULL);
    if (!memory)
        return sf_fail_memory(err);
    regex r = {0};
    int code;
    size_t at;
    uint32_t options;
    bool all;
    regex_state state = compile(memory, pattern, flags, &r, &code, &at);
    pcre2_code_free(r.code);
    pcre2_general_context_free(memory);
    if (state == REGEX_OK)
        return SF_OK;
    if (state == REGEX_NO_MEMORY)
        return sf_fail_memory(err);
    if (!options_of(flags, &options, &all)) {
        sf_fail_at(err, SF_INVALID, span, "'%.*s' are no flags of a regular expression",
                   flags.len > 32 ? 32 : (int)flags.len, flags.data);
        sf_error_hint(err, "the flags are c, g, i, m, n, s, x");
        return SF_INVALID;
    }
    PCRE2_UCHAR problem[160] = "pattern is too long";
    if (code)
        pcre2_get_error_message(code, problem, sizeof problem);
    sf_fail_at(err, SF_INVALID, span, "pattern is no regular expression: %s, at character %zu",
               (const char *)problem, at + 1);
    sf_error_hint(err, "write special characters with a backslash to mean themselves");
    return SF_INVALID;
}

static regex *find_compiled(struct sf_eval_cache *cache, sf_str pattern, sf_str flags)
{
    for (uint32_t i = 0; i < cache->count; i++) {
        regex *r = &cache->patterns[i];
        if (r->pattern_len == pattern.len && r->flags_len == flags.len &&
            memcmp(r->text, pattern.data, pattern.len) == 0 &&
            memcmp(r->text + pattern.len, flags.data, flags.len) == 0)
            return r;
    }
    return NULL;
}

/* The compiled pattern of a lane; the oldest one makes room. */
static regex_state compiled(sf_eval *eval, sf_str pattern, sf_str flags, regex **out)
{
    if (!eval->cache)
        eval->cache = cache_new();
    struct sf_eval_cache *cache = eval->cache;
    if (!cache)
        return REGEX_NO_MEMORY;
    *out = find_compiled(cache, pattern, flags);
    if (*out)
        return REGEX_OK;
    regex r = {.pattern_len = pattern.len, .flags_len = flags.len};
    int code;
    size_t at;
    regex_state state = compile(cache->memory, pattern, flags, &r, &code, &at);
    if (state != REGEX_OK)
        return state;
    pcre2_jit_compile(r.code, PCRE2_JIT_COMPLETE); /* interpreted where there is no JIT */
    r.match = pcre2_match_data_create(GROUPS_MAX, cache->memory);
    r.text = sf_alloc(pattern.len + flags.len + 1);
    if (!r.match || !r.text) {
        regex_free(&r);
        return REGEX_NO_MEMORY;
    }
    memcpy(r.text, pattern.data, pattern.len);
    memcpy(r.text + pattern.len, flags.data, flags.len);
    if (cache->count < PATTERNS_MAX) {
        *out = &cache->patterns[cache->count++];
    } else {
        *out = &cache->patterns[cache->next++ % PATTERNS_MAX];
        regex_free(*out);
    }
    **out = r;
    return REGEX_OK;
}

/* ---- matching ---- */

typedef enum { MATCH_YES, MATCH_NO, MATCH_FAILS, MATCH_NO_MEMORY } match_state;

static match_state match_at(const sf_call *call, const regex *r, sf_str text, size_t from,
                            uint32_t options)
{
    int found = pcre2_match(r->code, (PCRE2_SPTR)text.data, text.len, from, options, r->match,
                            call->eval->cache->limits);
    if (found >= 0)
        return MATCH_YES;
    if (found == PCRE2_ERROR_NOMATCH)
        return MATCH_NO;
    return found == PCRE2_ERROR_NOMEMORY ? MATCH_NO_MEMORY : MATCH_FAILS;
}

/* The pattern of a lane, flags from argument `flags_at` if there are any. */
static match_state lane_regex(sf_call *call, uint32_t lane, uint32_t flags_at, regex **out)
{
    sf_str flags =
        call->arg_count > flags_at ? sf_operand_str(&call->args[flags_at], lane) : SF_STR("");
    switch (compiled(call->eval, sf_operand_str(&call->args[1], lane), flags, out)) {
    case REGEX_OK: return MATCH_YES;
    case REGEX_BAD: return MATCH_FAILS;
    default: return MATCH_NO_MEMORY;
    }
}

bool sf_fn_regexp_like(sf_call *call)
{
    uint8_t *out = SF_OUT(call, uint8_t);
    for (uint32_t i = 0; i < call->rows; i++) {
        out[i] = 0;
        if (sf_call_is_null(call, i))
            continue;
        regex *r;
        match_state state = lane_regex(call, i, 2, &r);
        if (state == MATCH_YES)
            state = match_at(call, r, sf_operand_str(&call->args[0], i), 0, 0);
        out[i] = state == MATCH_YES;
        if (state == MATCH_NO_MEMORY ||
            (state == MATCH_FAILS && !sf_call_fail(call, i, SF_EVAL_DOMAIN)))
            return false;
    }
    return true;
}

/* Behind a match: one character on after an empty one, so that every search ends. */
static size_t behind(const size_t *span, sf_str text)
{
    size_t at = span[1];
    if (span[1] > span[0])
        return at;
    do
        at++;
    while (at < text.len && ((unsigned char)text.data[at] & 0xc0) == 0x80);
    return at;
}

bool sf_fn_regexp_count(sf_call *call)
{
    for (uint32_t i = 0; i < call->rows; i++) {
        int64_t count = 0;
        if (!sf_call_is_null(call, i)) {
            sf_str text = sf_operand_str(&call->args[0], i);
            regex *r;
            match_state state = lane_regex(call, i, 2, &r);
            for (size_t at = 0; state == MATCH_YES && at <= text.len;) {
                state = match_at(call, r, text, at, 0);
                if (state != MATCH_YES)
                    break;
                at = behind(pcre2_get_ovector_pointer(r->match), text);
                count++;
            }
            if (state == MATCH_NO_MEMORY ||
                (state == MATCH_FAILS && !sf_call_fail(call, i, SF_EVAL_DOMAIN)))
                return false;
        }
        SF_OUT(call, int64_t)[i] = sf_call_is_null(call, i) ? 0 : count;
    }
    return true;
}

bool sf_fn_regexp_extract(sf_call *call)
{
    sf_text_out out;
    if (!sf_text_begin(&out, call, call->args[0].column))
        return false;
    bool ok = true;
    for (uint32_t i = 0; i < call->rows && ok; i++) {
        if (sf_call_is_null(call, i))
            continue;
        sf_str text = sf_operand_str(&call->args[0], i);
        int64_t group = call->arg_count > 2 ? sf_operand_i64(&call->args[2], i) : 0;
        regex *r;
        match_state state = lane_regex(call, i, 3, &r);
        if (state == MATCH_YES)
            state = match_at(call, r, text, 0, 0);
        const size_t *spans = state == MATCH_YES ? pcre2_get_ovector_pointer(r->match) : NULL;
        uint32_t groups = 0;
        if (state == MATCH_YES)
            pcre2_pattern_info(r->code, PCRE2_INFO_CAPTURECOUNT, &groups);
        if (state == MATCH_YES && (group < 0 || group > groups || group >= GROUPS_MAX))
            state = MATCH_FAILS;
        if (state == MATCH_YES && spans[2 * group] == PCRE2_UNSET)
            state = MATCH_NO;
        if (state == MATCH_YES)
            sf_text_slice(
                &out, i,
                (sf_str){text.data + spans[2 * group], spans[2 * group + 1] - spans[2 * group]});
        else if (state == MATCH_NO)
            ok = sf_call_null(call, i);
        else
            ok = state == MATCH_FAILS && sf_call_fail(call, i, SF_EVAL_DOMAIN);
    }
    return sf_text_end(&out) && ok;
}

/* ---- REGEXP_REPLACE ---- */

/* \1 to \9 are groups, \& the match, \\ a backslash; anything else stands for itself. */
static void put_replacement(sf_buf *buf, sf_str replacement, sf_str text, const regex *r)
{
    const size_t *spans = pcre2_get_ovector_pointer(r->match);
    uint32_t groups = 0;
    pcre2_pattern_info(r->code, PCRE2_INFO_CAPTURECOUNT, &groups);
    for (size_t i = 0; i < replacement.len; i++) {
        char c = replacement.data[i], next = i + 1 < replacement.len ? replacement.data[i + 1] : 0;
        uint32_t group = next == '&' ? 0 : (uint32_t)(next - '0');
        if (c != '\\' || !(next == '&' || next == '\\' || (next >= '1' && next <= '9'))) {
            sf_buf_putc(buf, c);
            continue;
        }
        i++;
        if (next == '\\')
            sf_buf_putc(buf, next);
        else if (group <= groups && spans[2 * group] != PCRE2_UNSET)
            sf_buf_put(buf, text.data + spans[2 * group], spans[2 * group + 1] - spans[2 * group]);
    }
}

static match_state replace(const sf_call *call, const regex *r, sf_str text, sf_str replacement,
                           sf_buf *buf)
{
    size_t copied = 0, at = 0;
    match_state state = MATCH_YES;
    while (at <= text.len) {
        state = match_at(call, r, text, at, 0);
        if (state != MATCH_YES)
            break;
        const size_t *spans = pcre2_get_ovector_pointer(r->match);
        if (spans[0] > copied)
            sf_buf_put(buf, text.data + copied, spans[0] - copied);
        copied = spans[1];
        at = behind(spans, text);
        put_replacement(buf, replacement, text, r);
        if (!r->all || buf->len > RESULT_BYTES_MAX)
            break;
    }
    sf_buf_put(buf, text.data + copied, text.len - copied);
    return state == MATCH_NO ? MATCH_YES : state;
}

bool sf_fn_regexp_replace(sf_call *call)
{
    sf_text_out out;
    if (!sf_text_begin(&out, call, NULL))
        return false;
    sf_buf buf = {0};
    bool ok = true;
    for (uint32_t i = 0; i < call->rows && ok; i++) {
        if (sf_call_is_null(call, i))
            continue;
        regex *r;
        sf_buf_clear(&buf);
        match_state state = lane_regex(call, i, 3, &r);
        if (state == MATCH_YES)
            state = replace(call, r, sf_operand_str(&call->args[0], i),
                            sf_operand_str(&call->args[2], i), &buf);
        if (state == MATCH_YES && buf.len > RESULT_BYTES_MAX)
            ok = sf_call_fail(call, i, SF_EVAL_OVERFLOW);
        else if (state == MATCH_YES)
            sf_text_put(&out, i, sf_buf_str(&buf));
        else
            ok = state == MATCH_FAILS && sf_call_fail(call, i, SF_EVAL_DOMAIN);
        ok = ok && !buf.failed;
    }
    sf_buf_deinit(&buf);
    return sf_text_end(&out) && ok;
}
