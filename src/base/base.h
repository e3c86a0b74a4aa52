/* base.h: what every module stands on: status and errors, memory, strings, checked arithmetic,
 * hashing, logging.
 *
 * Threads  Nothing here locks. An arena, a buffer and a vector belong to one thread at a time;
 *          sf_budget and the allocation counters are atomic and may be shared.
 * Memory   sf_alloc and friends are the only place that calls malloc. They return NULL when memory
 *          is short (or when a test asked for it); callers report SF_LIMIT.
 * Fails    sf_status, with an sf_error filled by whoever knows the cause. err may be NULL. */
#ifndef SF_BASE_BASE_H
#define SF_BASE_BASE_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SF_MUST_USE        __attribute__((warn_unused_result))
#define SF_PRINTF(f, a)    __attribute__((format(printf, f, a)))
#define SF_LIKELY(x)       __builtin_expect(!!(x), 1)
#define SF_UNLIKELY(x)     __builtin_expect(!!(x), 0)
#define SF_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define SF_UNUSED(x)       ((void)(x))

/* ---- status and errors ------------------------------------------------------------------- */

#define SF_STATUS_LIST(X)                                                                          \
    X(OK, "ok")                                                                                    \
    X(SYNTAX, "syntax error") /* text that does not parse */                                       \
    X(INVALID, "invalid")     /* parses, but cannot be accepted */                                 \
    X(NOT_FOUND, "not found")                                                                      \
    X(EXISTS, "already exists")                                                                    \
    X(CONFLICT, "conflict")     /* right request, wrong state */                                   \
    X(STALE, "stale")           /* a precondition (If-Match) failed */                             \
    X(LIMIT, "limit exceeded")  /* memory, size, count */                                          \
    X(OVERLOADED, "overloaded") /* retry later */                                                  \
    X(UNAUTHENTICATED, "not signed in")                                                            \
    X(FORBIDDEN, "forbidden")                                                                      \
    X(UNSUPPORTED, "not supported")                                                                \
    X(UNAVAILABLE, "unavailable")                                                                  \
    X(TIMEOUT, "timed out")                                                                        \
    X(CANCELLED, "cancelled")                                                                      \
    X(IO, "input/output failure") /* retry may help */                                             \
    X(CORRUPT, "corrupt data")    /* never retry */                                                \
    X(INTERNAL, "internal error")

typedef enum {
#define X(name, text) SF_##name,
    SF_STATUS_LIST(X)
#undef X
} sf_status;

const char *sf_status_name(sf_status status); /* "OK", "SYNTAX", ... */
const char *sf_status_text(sf_status status); /* "ok", "syntax error", ... */

/* Bytes of the statement's text. length 0: no position. */
typedef struct {
    uint32_t offset, length;
} sf_span;

/* Messages start in lower case, end without a full stop and name kind and object. */
typedef struct {
    sf_status status;
    sf_span where;
    char message[512]; /* what happened, naming the object */
    char hint[256];    /* what the user can do; may be empty */
} sf_error;

/* Fill err (NULL allowed) and return status, so that callers write: return sf_fail(err, ...). */
sf_status sf_fail(sf_error *err, sf_status status, const char *format, ...) SF_PRINTF(3, 4);
sf_status sf_fail_at(sf_error *err, sf_status status, sf_span where, const char *format, ...)
    SF_PRINTF(4, 5);
/* Add the remedy to an error already filled. */
void sf_error_hint(sf_error *err, const char *format, ...) SF_PRINTF(2, 3);
/* Put "context: " before the message of an error already filled. */
void sf_error_context(sf_error *err, const char *format, ...) SF_PRINTF(2, 3);
/* The usual answer to a failed allocation. */
sf_status sf_fail_memory(sf_error *err);

/* Compilers and analyzers read one file at a time: here they see that a failure is never SF_OK. */
#define SF_IS_FAILURE(call)                                                                        \
    ({                                                                                             \
        sf_status sf_failure_ = (call);                                                            \
        if (sf_failure_ == SF_OK)                                                                  \
            __builtin_unreachable();                                                               \
        sf_failure_;                                                                               \
    })
#define sf_fail(...)        SF_IS_FAILURE(sf_fail(__VA_ARGS__))
#define sf_fail_at(...)     SF_IS_FAILURE(sf_fail_at(__VA_ARGS__))
#define sf_fail_memory(err) SF_IS_FAILURE(sf_fail_memory(err))

/* Pass a failure up. The only macro that hides a return. */
#define SF_TRY(call)                                                                               \
    do {                                                                                           \
        sf_status sf_try_status_ = (call);                                                         \
        if (SF_UNLIKELY(sf_try_status_ != SF_OK))                                                  \
            return sf_try_status_;                                                                 \
    } while (0)

/* States what the programmer knows. Stays on in release; never for input from outside. */
#define SF_ASSERT(fact)                                                                            \
    do {                                                                                           \
        if (SF_UNLIKELY(!(fact)))                                                                  \
            sf_assert_failed(#fact, __FILE__, __LINE__);                                           \
    } while (0)
_Noreturn void sf_assert_failed(const char *fact, const char *file, int line);

/* ---- memory ------------------------------------------------------------------------------ */

SF_MUST_USE void *sf_alloc(size_t size_bytes);                 /* uninitialised */
SF_MUST_USE void *sf_calloc(size_t count, size_t size_bytes);  /* zeroed, product checked */
SF_MUST_USE void *sf_realloc(void *memory, size_t size_bytes); /* old block kept on failure */
SF_MUST_USE void *sf_alloc_aligned(size_t alignment, size_t size_bytes);
void sf_free(void *memory); /* NULL is allowed */
SF_MUST_USE char *sf_strdup(const char *text);
SF_MUST_USE char *sf_strndup(const char *text, size_t length);

/* Tests: the n-th allocation from now on (1 = the next) and all later ones fail; 0 = never. */
void sf_alloc_fail_after(uint64_t n);

/* A bound on bytes held; charges are atomic. parent (NULL allowed) is charged too. */
typedef struct sf_budget {
    _Atomic int64_t used_bytes;
    int64_t limit_bytes; /* 0 = unbounded */
    struct sf_budget *parent;
} sf_budget;
SF_MUST_USE bool sf_budget_charge(sf_budget *budget, size_t size_bytes); /* false: over the limit */
void sf_budget_release(sf_budget *budget, size_t size_bytes);

/* Bump allocator: everything lives until reset or free. Not for objects that need closing. */
typedef struct sf_arena {
    struct sf_arena_block *first, *current;
    size_t used_bytes, limit_bytes; /* limit 0 = unbounded */
} sf_arena;
void sf_arena_init(sf_arena *arena, size_t limit_bytes);
void sf_arena_deinit(sf_arena *arena);
void sf_arena_reset(sf_arena *arena);                                 /* keeps the first block */
SF_MUST_USE void *sf_arena_alloc(sf_arena *arena, size_t size_bytes); /* 16-aligned, zeroed */
SF_MUST_USE char *sf_arena_strndup(sf_arena *arena, const char *text, size_t length);
SF_MUST_USE char *sf_arena_printf(sf_arena *arena, const char *format, ...) SF_PRINTF(2, 3);
#define SF_ARENA_NEW(arena, T)          ((T *)sf_arena_alloc((arena), sizeof(T)))
#define SF_ARENA_ARRAY(arena, T, count) ((T *)sf_arena_array((arena), (count), sizeof(T)))
SF_MUST_USE void *sf_arena_array(sf_arena *arena, size_t count, size_t size_bytes);

/* ---- strings ----------------------------------------------------------------------------- */

/* Borrowed text, not terminated. */
typedef struct {
    const char *data;
    size_t len;
} sf_str;
#define SF_STR(literal) ((sf_str){(literal), sizeof(literal) - 1})
#define SF_STR_ARG(s)   (int)(s).len, (s).data /* for "%.*s" */
static inline sf_str sf_str_of(const char *text)
{
    return (sf_str){text, text ? strlen(text) : 0};
}
static inline bool sf_str_eq(sf_str a, sf_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}
bool sf_str_eq_nocase(sf_str a, sf_str b); /* ASCII only */
int sf_str_cmp(sf_str a, sf_str b);        /* bytes, then length */

/* Growable bytes. After a failed append `failed` stays set and further appends do nothing, so that
 * a writer checks once at its end. data is always terminated by a 0 that len does not count. */
typedef struct {
    char *data;
    size_t len, cap;
    bool failed;
} sf_buf;
void sf_buf_deinit(sf_buf *buf);
void sf_buf_clear(sf_buf *buf);
bool sf_buf_reserve(sf_buf *buf, size_t more_bytes);
void sf_buf_put(sf_buf *buf, const void *bytes, size_t len);
void sf_buf_putc(sf_buf *buf, char c);
void sf_buf_puts(sf_buf *buf, const char *text);
void sf_buf_printf(sf_buf *buf, const char *format, ...) SF_PRINTF(2, 3);
/* Little-endian integers of persisted and wire formats. */
void sf_buf_put_u32(sf_buf *buf, uint32_t value);
void sf_buf_put_u64(sf_buf *buf, uint64_t value);
void sf_buf_put_str(sf_buf *buf, sf_str s); /* u32 length, bytes */
static inline sf_str sf_buf_str(const sf_buf *buf)
{
    return (sf_str){buf->data, buf->len};
}

/* Reads what sf_buf_put_* wrote, never past the end; `failed` stays set once anything was short. */
typedef struct {
    const uint8_t *data;
    size_t len, pos;
    bool failed;
} sf_reader;
uint32_t sf_read_u32(sf_reader *reader);
uint64_t sf_read_u64(sf_reader *reader);
sf_str sf_read_str(sf_reader *reader); /* borrowed from the reader's bytes */
const void *sf_read_bytes(sf_reader *reader, size_t len);

/* Growable array of T: SF_VEC(int) ids = {0}; SF_VEC_PUSH(&ids, 7) is false when memory is short.
 */
#define SF_VEC(T)                                                                                  \
    struct {                                                                                       \
        T *data;                                                                                   \
        size_t len, cap;                                                                           \
    }
#define SF_VEC_PUSH(v, value)                                                                      \
    (((v)->len < (v)->cap || sf_vec_grow((void **)&(v)->data, &(v)->cap, sizeof(*(v)->data)))      \
         ? ((v)->data[(v)->len++] = (value), true)                                                 \
         : false)
#define SF_VEC_DEINIT(v) (sf_free((v)->data), (v)->data = NULL, (v)->len = (v)->cap = 0)
bool sf_vec_grow(void **data, size_t *cap, size_t item_bytes);

/* ---- arithmetic and hashing -------------------------------------------------------------- */

static inline bool sf_add_i64(int64_t a, int64_t b, int64_t *out) /* false: overflow */
{
    return !__builtin_add_overflow(a, b, out);
}
static inline bool sf_mul_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}
static inline int64_t sf_floor_div(int64_t a, int64_t b) /* b > 0 */
{
    int64_t q = a / b;
    return q - (a % b < 0);
}
static inline int64_t sf_sat_add(int64_t a, int64_t b) /* saturates at the ends */
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return b > 0 ? INT64_MAX : INT64_MIN;
}
uint64_t sf_hash_bytes(const void *bytes, size_t len, uint64_t seed); /* XXH3, stable on disk */
static inline uint64_t sf_hash_u64(uint64_t x) /* murmur3 finaliser: every bit moves every bit */
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    x ^= x >> 33;
    return x;
}
static inline uint64_t sf_hash_mix(uint64_t a, uint64_t b) /* combine, order matters */
{
    return sf_hash_u64(a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6) + (a >> 2)));
}
uint32_t sf_crc32c(uint32_t crc, const void *bytes, size_t len); /* Castagnoli, start with 0 */

/* ---- logging ----------------------------------------------------------------------------- */

typedef enum { SF_LOG_DEBUG, SF_LOG_INFO, SF_LOG_WARN, SF_LOG_ERROR } sf_log_level;

/* Where log lines go. write gets one line without line end and may be called by any thread. */
typedef struct sf_log {
    sf_log_level min_level;
    void (*write)(void *self, sf_log_level level, const char *component, const char *line);
    void *self;
} sf_log;
/* log NULL: dropped. Never pass a secret. */
void sf_log_write(const sf_log *log, sf_log_level level, const char *component, const char *format,
                  ...) SF_PRINTF(4, 5);

#endif
