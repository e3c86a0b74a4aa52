#include "text/lexer.h"

enum { KEYWORD_BYTES_MAX = 24, TAG_BYTES_MAX = 64 };

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word_start(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* ---- UTF-8 ---- */

/* Bytes of the character at pos, 0 when they are not UTF-8 (overlong forms and surrogates are not).
 */
static size_t char_bytes(sf_str text, size_t pos, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)text.data[pos];
    if (first < 0x80) {
        *code = first;
        return 1;
    }
    size_t n = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.len - pos < n)
        return 0;
    uint32_t value = first & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        unsigned char c = (unsigned char)text.data[pos + i];
        if ((c & 0xc0) != 0x80)
            return 0;
        value = (value << 6) | (c & 0x3fu);
    }
    if (value < least[n] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *code = value;
    return n;
}

/* What word processors and web pages put where a program expects a quote, a dash or a blank. */
static bool is_lookalike(uint32_t c)
{
    return c == 0x00a0 || c == 0x00ad || (c >= 0x2000 && c <= 0x2060) || c == 0x2212 ||
           c == 0x3000 || c == 0xfeff;
}

/* ---- keywords ---- */

uint16_t sf_keyword_find(const sf_lexer_rules *rules, sf_str word)
{
    char folded[KEYWORD_BYTES_MAX];
    if (word.len > sizeof folded)
        return 0;
    for (size_t i = 0; i < word.len; i++)
        folded[i] = upper(word.data[i]);
    size_t low = 0, high = rules->keyword_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = sf_str_cmp((sf_str){folded, word.len}, sf_str_of(rules->keywords[middle]));
        if (order == 0)
            return (uint16_t)(middle + 1);
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return 0;
}

unsigned sf_word_distance(sf_str a, sf_str b, unsigned limit)
{
    enum { MAX = 32 };
    unsigned rows[3][MAX + 1];
    if (a.len > MAX || b.len > MAX)
        return sf_str_eq_nocase(a, b) ? 0 : limit + 1;
    unsigned *before = rows[0], *previous = rows[1], *current = rows[2];
    for (unsigned j = 0; j <= b.len; j++)
        before[j] = previous[j] = j;
    for (unsigned i = 1; i <= a.len; i++) {
        current[0] = i;
        for (unsigned j = 1; j <= b.len; j++) {
            char x = upper(a.data[i - 1]), y = upper(b.data[j - 1]);
            unsigned best = previous[j - 1] + (x != y);
            if (previous[j] + 1 < best)
                best = previous[j] + 1;
            if (current[j - 1] + 1 < best)
                best = current[j - 1] + 1;
            if (i > 1 && j > 1 && x == upper(b.data[j - 2]) && y == upper(a.data[i - 2]) &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            current[j] = best;
        }
        unsigned *oldest = before;
        before = previous, previous = current, current = oldest;
    }
    return previous[b.len] <= limit ? previous[b.len] : limit + 1;
}

/* ---- scanning ---- */

void sf_lexer_init(sf_lexer *lexer, sf_str text, const sf_lexer_rules *rules)
{
    SF_ASSERT(text.len <= UINT32_MAX);
    *lexer = (sf_lexer){.text = text, .rules = rules};
}

static unsigned char peek(const sf_lexer *lexer, size_t ahead)
{
    return lexer->text.len - lexer->pos > ahead
               ? (unsigned char)lexer->text.data[lexer->pos + ahead]
               : 0;
}

static bool starts_with(const sf_lexer *lexer, const char *text)
{
    size_t len = strlen(text);
    return lexer->text.len - lexer->pos >= len &&
           memcmp(lexer->text.data + lexer->pos, text, len) == 0;
}

static sf_token token_from(const sf_lexer *lexer, size_t start, sf_token_kind kind, unsigned code)
{
    return (sf_token){
        {(uint32_t)start, (uint32_t)(lexer->pos - start)}, (uint16_t)code, (uint8_t)kind};
}

static sf_token bad(const sf_lexer *lexer, size_t start, sf_token_fault fault)
{
    return token_from(lexer, start, SF_TOKEN_BAD, fault);
}

/* Behind a nesting comment; false when it has no end. */
static bool skip_block_comment(sf_lexer *lexer)
{
    size_t open = 0;
    while (lexer->pos < lexer->text.len) {
        if (starts_with(lexer, "/*")) {
            open++;
            lexer->pos += 2;
        } else if (starts_with(lexer, "*/")) {
            lexer->pos += 2;
            if (--open == 0)
                return true;
        } else {
            lexer->pos++;
        }
    }
    return false;
}

/* False: a comment without end, which started at *start. */
static bool skip_blanks(sf_lexer *lexer, size_t *start)
{
    while (lexer->pos < lexer->text.len) {
        unsigned char c = peek(lexer, 0);
        if (c == ' ' || (c >= '\t' && c <= '\r')) {
            lexer->pos++;
        } else if (starts_with(lexer, lexer->rules->line_comment)) {
            const char *end =
                memchr(lexer->text.data + lexer->pos, '\n', lexer->text.len - lexer->pos);
            lexer->pos = end ? (size_t)(end - lexer->text.data) : lexer->text.len;
        } else if (lexer->rules->block_comments && starts_with(lexer, "/*")) {
            *start = lexer->pos;
            if (!skip_block_comment(lexer))
                return false;
        } else {
            break;
        }
    }
    return true;
}

/* Skips characters that may stand inside a word. */
static void skip_word(sf_lexer *lexer)
{
    while (lexer->pos < lexer->text.len) {
        unsigned char c = peek(lexer, 0);
        uint32_t code;
        if (is_word_start(c) || is_digit(c) || (c == '$' && !lexer->rules->dollar_strings)) {
            lexer->pos++;
        } else if (c >= 0x80) {
            size_t n = char_bytes(lexer->text, lexer->pos, &code);
            if (!n || is_lookalike(code))
                return;
            lexer->pos += n;
        } else {
            return;
        }
    }
}

static sf_token scan_word(sf_lexer *lexer)
{
    size_t start = lexer->pos;
    skip_word(lexer);
    sf_str word = {lexer->text.data + start, lexer->pos - start};
    return token_from(lexer, start, SF_TOKEN_WORD, sf_keyword_find(lexer->rules, word));
}

/* From the opening quote to behind the closing one. A string that must end on its line and does
 * not is cut there, so that the rest of half-typed text keeps its tokens. */
static sf_token scan_quoted(sf_lexer *lexer, sf_token_kind kind)
{
    size_t start = lexer->pos;
    char quote = lexer->text.data[lexer->pos++];
    while (lexer->pos < lexer->text.len) {
        unsigned char c = peek(lexer, 0);
        uint32_t code;
        size_t n = char_bytes(lexer->text, lexer->pos, &code);
        if (!n) {
            lexer->pos++;
            return bad(lexer, start, SF_FAULT_UTF8);
        }
        if (c == (unsigned char)quote) {
            lexer->pos++;
            if (!lexer->rules->doubling || peek(lexer, 0) != c || lexer->pos >= lexer->text.len) {
                if (kind == SF_TOKEN_NAME && lexer->pos - start == 2)
                    return bad(lexer, start, SF_FAULT_EMPTY_NAME);
                return token_from(lexer, start, kind, 0);
            }
        } else if (c == '\n' && (kind == SF_TOKEN_NAME || !lexer->rules->multiline)) {
            break;
        }
        lexer->pos += n;
    }
    return bad(lexer, start, kind == SF_TOKEN_NAME ? SF_FAULT_OPEN_NAME : SF_FAULT_OPEN_STRING);
}

static sf_token scan_dollar(sf_lexer *lexer)
{
    size_t start = lexer->pos, tag = 1;
    while (tag < TAG_BYTES_MAX && (is_word_start(peek(lexer, tag)) || is_digit(peek(lexer, tag))))
        tag++;
    if (peek(lexer, tag) != '$') {
        lexer->pos++;
        return bad(lexer, start, SF_FAULT_CHARACTER);
    }
    tag++;
    lexer->pos += tag;
    const char *mark = lexer->text.data + start;
    while (lexer->pos < lexer->text.len) {
        uint32_t code;
        size_t n = char_bytes(lexer->text, lexer->pos, &code);
        if (!n) {
            lexer->pos++;
            return bad(lexer, start, SF_FAULT_UTF8);
        }
        if (lexer->text.len - lexer->pos >= tag &&
            memcmp(lexer->text.data + lexer->pos, mark, tag) == 0) {
            lexer->pos += tag;
            return token_from(lexer, start, SF_TOKEN_STRING, 0);
        }
        lexer->pos += n;
    }
    return bad(lexer, start, SF_FAULT_OPEN_STRING);
}

static void skip_digits(sf_lexer *lexer)
{
    while (is_digit(peek(lexer, 0)))
        lexer->pos++;
}

static sf_token scan_number(sf_lexer *lexer)
{
    const sf_lexer_rules *rules = lexer->rules;
    size_t start = lexer->pos;
    sf_token_kind kind = SF_TOKEN_INTEGER;
    skip_digits(lexer);
    if (peek(lexer, 0) == '.' && (rules->loose_decimals || is_digit(peek(lexer, 1)))) {
        kind = SF_TOKEN_DECIMAL;
        lexer->pos++;
        skip_digits(lexer);
    }
    if (rules->loose_decimals && (peek(lexer, 0) | 0x20) == 'e') {
        size_t sign = peek(lexer, 1) == '+' || peek(lexer, 1) == '-';
        if (is_digit(peek(lexer, 1 + sign))) {
            kind = SF_TOKEN_DECIMAL;
            lexer->pos += 1 + sign;
            skip_digits(lexer);
        }
    }
    size_t end = lexer->pos;
    skip_word(lexer);
    if (lexer->pos == end)
        return token_from(lexer, start, kind, 0);
    if (rules->quantities && kind == SF_TOKEN_INTEGER)
        return token_from(lexer, start, SF_TOKEN_QUANTITY, 0);
    return bad(lexer, start, SF_FAULT_NUMBER);
}

static sf_token scan_symbol(sf_lexer *lexer)
{
    static const struct {
        const char *text;
        uint16_t code;
    } longer[] = {
        {"->>", SF_SYMBOL_LONG_ARROW}, {"->", SF_SYMBOL_ARROW},         {"||", SF_SYMBOL_CONCAT},
        {"::", SF_SYMBOL_CAST},        {"<>", SF_SYMBOL_NOT_EQUAL},     {"!=", SF_SYMBOL_NOT_EQUAL},
        {"<=", SF_SYMBOL_LESS_EQUAL},  {">=", SF_SYMBOL_GREATER_EQUAL},
    };
    size_t start = lexer->pos;
    for (size_t i = 0; i < SF_COUNT_OF(longer); i++) {
        if (starts_with(lexer, longer[i].text)) {
            lexer->pos += strlen(longer[i].text);
            return token_from(lexer, start, SF_TOKEN_SYMBOL, longer[i].code);
        }
    }
    char c = lexer->text.data[lexer->pos++];
    if (c && strchr("()[]{},.;:*+-/%<>=?", c))
        return token_from(lexer, start, SF_TOKEN_SYMBOL, (unsigned char)c);
    return bad(lexer, start, SF_FAULT_CHARACTER);
}

sf_token sf_lexer_next(sf_lexer *lexer)
{
    const sf_lexer_rules *rules = lexer->rules;
    size_t start = 0;
    if (!skip_blanks(lexer, &start))
        return bad(lexer, start, SF_FAULT_OPEN_COMMENT);
    start = lexer->pos;
    if (start >= lexer->text.len)
        return token_from(lexer, start, SF_TOKEN_END, 0);
    unsigned char c = peek(lexer, 0);
    if (is_word_start(c))
        return scan_word(lexer);
    if (is_digit(c) || (c == '.' && rules->loose_decimals && is_digit(peek(lexer, 1))))
        return scan_number(lexer);
    if (c && strchr(rules->string_quotes, c))
        return scan_quoted(lexer, SF_TOKEN_STRING);
    if (c == (unsigned char)rules->name_quote)
        return scan_quoted(lexer, SF_TOKEN_NAME);
    if (c == '$' && rules->dollar_strings)
        return scan_dollar(lexer);
    if (c < 0x80)
        return scan_symbol(lexer);
    uint32_t code;
    size_t n = char_bytes(lexer->text, start, &code);
    if (n && !is_lookalike(code))
        return scan_word(lexer);
    lexer->pos += n ? n : 1;
    return bad(lexer, start, n ? SF_FAULT_LOOKALIKE : SF_FAULT_UTF8);
}

/* ---- what tokens say ---- */

sf_str sf_token_raw(sf_str text, sf_token token)
{
    return (sf_str){text.data + token.span.offset, token.span.length};
}

sf_status sf_token_text(sf_str text, const sf_lexer_rules *rules, sf_token token, sf_arena *arena,
                        sf_str *out)
{
    sf_str raw = sf_token_raw(text, token);
    *out = raw;
    if (token.kind != SF_TOKEN_NAME && token.kind != SF_TOKEN_STRING)
        return SF_OK;
    char quote = raw.data[0];
    if (quote == '$' && rules->dollar_strings) {
        const char *end = memchr(raw.data + 1, '$', raw.len - 1);
        SF_ASSERT(end);
        size_t tag = (size_t)(end - raw.data) + 1;
        *out = (sf_str){raw.data + tag, raw.len - 2 * tag};
        return SF_OK;
    }
    sf_str inner = {raw.data + 1, raw.len - 2};
    *out = inner;
    if (!inner.len || !memchr(inner.data, quote, inner.len))
        return SF_OK;
    char *copy = sf_arena_alloc(arena, inner.len);
    if (!copy)
        return SF_LIMIT;
    size_t len = 0;
    for (size_t i = 0; i < inner.len; i++) {
        copy[len++] = inner.data[i];
        if (inner.data[i] == quote)
            i++;
    }
    *out = (sf_str){copy, len};
    return SF_OK;
}

static sf_status fail_character(sf_str raw, sf_token token, sf_error *err)
{
    unsigned char c = (unsigned char)raw.data[0];
    if (token.code == SF_FAULT_LOOKALIKE) {
        uint32_t code = 0;
        (void)char_bytes(raw, 0, &code);
        sf_fail_at(err, SF_SYNTAX, token.span, "unexpected character U+%04X", code);
        sf_error_hint(err, "it looks like a quote, a dash or a blank but is another character: "
                           "type it again");
    } else if (c < 0x20 || c == 0x7f) {
        sf_fail_at(err, SF_SYNTAX, token.span, "unexpected control character 0x%02X", c);
        sf_error_hint(err, "remove it");
    } else {
        sf_fail_at(err, SF_SYNTAX, token.span, "unexpected character %c", c);
        sf_error_hint(err, "remove it, or quote the name or text it belongs to");
    }
    return SF_SYNTAX;
}

#undef sf_token_fail

sf_status sf_token_fail(sf_str text, sf_token token, sf_error *err)
{
    SF_ASSERT(token.kind == SF_TOKEN_BAD);
    sf_str raw = sf_token_raw(text, token);
    /* An unclosed quote reaches to the end: point at the quote, not at everything after it. */
    sf_span start = {token.span.offset, 1};
    switch ((sf_token_fault)token.code) {
    case SF_FAULT_CHARACTER:
    case SF_FAULT_LOOKALIKE: return fail_character(raw, token, err);
    case SF_FAULT_UTF8:
        sf_fail_at(err, SF_SYNTAX, token.span, "the text is not valid UTF-8");
        sf_error_hint(err, "save or send it as UTF-8");
        break;
    case SF_FAULT_OPEN_STRING:
        sf_fail_at(err, SF_SYNTAX, start, "text that starts with %c is not closed", raw.data[0]);
        sf_error_hint(err, "end it with the same quote");
        break;
    case SF_FAULT_OPEN_NAME:
        sf_fail_at(err, SF_SYNTAX, start, "name that starts with %c is not closed", raw.data[0]);
        sf_error_hint(err, "end it with %c on the same line", raw.data[0]);
        break;
    case SF_FAULT_OPEN_COMMENT:
        sf_fail_at(err, SF_SYNTAX, (sf_span){start.offset, 2}, "comment is not closed");
        sf_error_hint(err, "end it with */");
        break;
    case SF_FAULT_EMPTY_NAME:
        sf_fail_at(err, SF_SYNTAX, token.span, "name %.*s is empty", SF_STR_ARG(raw));
        sf_error_hint(err, "write at least one character between the quotes");
        break;
    case SF_FAULT_NUMBER:
        sf_fail_at(err, SF_SYNTAX, token.span, "%.*s is not a number",
                   (int)(raw.len < 40 ? raw.len : 40), raw.data);
        sf_error_hint(err, "put a blank between a number and a word; quote a name that starts "
                           "with a digit");
        break;
    }
    return SF_SYNTAX;
}

/* ---- places ---- */

sf_text_place sf_text_place_of(sf_str text, uint32_t offset)
{
    sf_text_place place = {1, 1};
    size_t end = offset < text.len ? offset : text.len;
    for (size_t i = 0; i < end; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '\n') {
            place.line++;
            place.column = 1;
        } else if ((c & 0xc0) != 0x80) {
            place.column++;
        }
    }
    return place;
}
