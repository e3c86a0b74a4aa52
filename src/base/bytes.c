/* Strings, growable bytes, the reader of persisted bytes, vectors, hashing, logging. */
#include "base/base.h"

#include <stdio.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

bool sf_str_eq_nocase(sf_str a, sf_str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (lower(a.data[i]) != lower(b.data[i]))
            return false;
    return true;
}

int sf_str_cmp(sf_str a, sf_str b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common ? memcmp(a.data, b.data, common) : 0;
    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

char *sf_arena_printf(sf_arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = n < 0 ? NULL : sf_arena_alloc(arena, (size_t)n + 1);
    if (text)
        vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    return text;
}

/* ---- growable bytes ---- */

void sf_buf_deinit(sf_buf *buf)
{
    sf_free(buf->data);
    *buf = (sf_buf){0};
}

void sf_buf_clear(sf_buf *buf)
{
    buf->len = 0;
    buf->failed = false;
    if (buf->data)
        buf->data[0] = '\0';
}

bool sf_buf_reserve(sf_buf *buf, size_t more_bytes)
{
    if (buf->failed)
        return false;
    if (buf->cap - buf->len > more_bytes) /* one byte stays for the terminator */
        return true;
    size_t need = buf->len + more_bytes + 1;
    size_t cap = buf->cap ? buf->cap : 64;
    while (cap < need && cap <= SIZE_MAX / 2)
        cap *= 2;
    char *data = cap >= need ? sf_realloc(buf->data, cap) : NULL;
    if (!data) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->cap = cap;
    return true;
}

void sf_buf_put(sf_buf *buf, const void *bytes, size_t len)
{
    if (!sf_buf_reserve(buf, len))
        return;
    if (len)
        memcpy(buf->data + buf->len, bytes, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void sf_buf_putc(sf_buf *buf, char c)
{
    if (!sf_buf_reserve(buf, 1))
        return;
    buf->data[buf->len++] = c;
    buf->data[buf->len] = '\0';
}

void sf_buf_puts(sf_buf *buf, const char *text)
{
    sf_buf_put(buf, text, strlen(text));
}

void sf_buf_printf(sf_buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0) {
        buf->failed = true;
    } else if (sf_buf_reserve(buf, (size_t)n)) {
        vsnprintf(buf->data + buf->len, (size_t)n + 1, format, again);
        buf->len += (size_t)n;
    }
    va_end(again);
}

void sf_buf_put_u32(sf_buf *buf, uint32_t value)
{
    uint8_t bytes[4];
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    sf_buf_put(buf, bytes, sizeof bytes);
}

void sf_buf_put_u64(sf_buf *buf, uint64_t value)
{
    sf_buf_put_u32(buf, (uint32_t)value);
    sf_buf_put_u32(buf, (uint32_t)(value >> 32));
}

void sf_buf_put_str(sf_buf *buf, sf_str s)
{
    sf_buf_put_u32(buf, (uint32_t)s.len);
    sf_buf_put(buf, s.data, s.len);
}

const void *sf_read_bytes(sf_reader *reader, size_t len)
{
    if (reader->failed || reader->len - reader->pos < len) {
        reader->failed = true;
        return NULL;
    }
    const void *bytes = reader->data + reader->pos;
    reader->pos += len;
    return bytes;
}

uint32_t sf_read_u32(sf_reader *reader)
{
    const uint8_t *b = sf_read_bytes(reader, 4);
    return b ? (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24
             : 0;
}

uint64_t sf_read_u64(sf_reader *reader)
{
    uint64_t low = sf_read_u32(reader);
    return low | (uint64_t)sf_read_u32(reader) << 32;
}

sf_str sf_read_str(sf_reader *reader)
{
    size_t len = sf_read_u32(reader);
    const char *data = sf_read_bytes(reader, len);
    return data ? (sf_str){data, len} : (sf_str){NULL, 0};
}

bool sf_vec_grow(void **data, size_t *cap, size_t item_bytes)
{
    size_t items = *cap ? *cap * 2 : 8, bytes;
    void *grown = sf_mul_size(items, item_bytes, &bytes) ? sf_realloc(*data, bytes) : NULL;
    if (!grown)
        return false;
    *data = grown;
    *cap = items;
    return true;
}

/* ---- hashing ---- */

uint64_t sf_hash_bytes(const void *bytes, size_t len, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, len, seed);
}

uint32_t sf_crc32c(uint32_t crc, const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    crc = ~crc;
#if defined(__SSE4_2__)
    for (; len >= 8; p += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        crc = (uint32_t)__builtin_ia32_crc32di(crc, word);
    }
    for (; len; p++, len--)
        crc = __builtin_ia32_crc32qi(crc, *p);
#else
    for (; len; p++, len--) {
        crc ^= *p;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
    }
#endif
    return ~crc;
}

/* ---- logging ---- */

void sf_log_write(const sf_log *log, sf_log_level level, const char *component, const char *format,
                  ...)
{
    if (!log || level < log->min_level)
        return;
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    for (char *c = line; *c; c++) /* one entry, one line, whatever a name contained */
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    log->write(log->self, level, component, line);
}
