/* lexer.h: text -> tokens, for both languages. What differs between them (keywords, quotes,
 * comments) is a table of rules.
 *
 * Owns     nothing: tokens are positions in the caller's text.
 * Threads  a lexer belongs to one thread; rules are constant and shared.
 * Memory   sf_token_text borrows from the text, or from the arena where it had to undo doubled
 *          quotes.
 * Fails    sf_lexer_next never fails: bytes that make no token become one SF_TOKEN_BAD that says
 *          why, and the lexer goes on behind it. So half-typed text still gives all its tokens. */
#ifndef SF_TEXT_LEXER_H
#define SF_TEXT_LEXER_H

#include "base/base.h"

typedef enum {
    SF_TOKEN_END,      /* at the end of the text, again and again */
    SF_TOKEN_WORD,     /* name or keyword; code: number of the keyword, 0 for none */
    SF_TOKEN_NAME,     /* quoted name */
    SF_TOKEN_STRING,   /* quoted text */
    SF_TOKEN_INTEGER,  /* digits */
    SF_TOKEN_DECIMAL,  /* digits with a point, an exponent or both */
    SF_TOKEN_QUANTITY, /* digits and a unit, as 30s */
    SF_TOKEN_SYMBOL,   /* code: the character, or SF_SYMBOL_... for longer ones */
    SF_TOKEN_BAD,      /* code: sf_token_fault */
} sf_token_kind;

/* Symbols of several characters; those of one are their own code. */
enum {
    SF_SYMBOL_ARROW = 256,  /* -> */
    SF_SYMBOL_LONG_ARROW,   /* ->> */
    SF_SYMBOL_CONCAT,       /* || */
    SF_SYMBOL_CAST,         /* :: */
    SF_SYMBOL_NOT_EQUAL,    /* <> or != */
    SF_SYMBOL_LESS_EQUAL,   /* <= */
    SF_SYMBOL_GREATER_EQUAL /* >= */
};

typedef enum {
    SF_FAULT_CHARACTER,    /* no token starts with it */
    SF_FAULT_LOOKALIKE,    /* typographic quote, dash or invisible blank from another program */
    SF_FAULT_UTF8,         /* bytes that are not UTF-8 */
    SF_FAULT_OPEN_STRING,  /* no closing quote */
    SF_FAULT_OPEN_NAME,    /* no closing quote around a name */
    SF_FAULT_OPEN_COMMENT, /* no end of the comment */
    SF_FAULT_EMPTY_NAME,   /* "" */
    SF_FAULT_NUMBER,       /* as 12abc or 1e+ */
} sf_token_fault;

typedef struct {
    sf_span span; /* with the quotes */
    uint16_t code;
    uint8_t kind; /* sf_token_kind */
} sf_token;

typedef struct {
    const char *const *keywords; /* upper case, sorted by bytes; keyword i has the number i + 1 */
    size_t keyword_count;
    const char *line_comment;  /* as "--" */
    const char *string_quotes; /* each of these characters may enclose a string */
    char name_quote;
    bool doubling;       /* a quote inside is written twice; otherwise it cannot be inside */
    bool multiline;      /* strings may hold line breaks */
    bool block_comments; /* nesting */
    bool dollar_strings; /* $tag$ ... $tag$ */
    bool quantities;
    bool loose_decimals; /* 1. and .5 and 1e3 are numbers */
} sf_lexer_rules;

typedef struct {
    sf_str text;
    const sf_lexer_rules *rules;
    size_t pos;
} sf_lexer;

/* text: at most UINT32_MAX bytes. */
void sf_lexer_init(sf_lexer *lexer, sf_str text, const sf_lexer_rules *rules);
sf_token sf_lexer_next(sf_lexer *lexer);

/* The token as it is written. */
sf_str sf_token_raw(sf_str text, sf_token token);
/* What a WORD, NAME or STRING says, without quotes. SF_LIMIT when memory is short. */
sf_status sf_token_text(sf_str text, const sf_lexer_rules *rules, sf_token token, sf_arena *arena,
                        sf_str *out);
/* Fill err for an SF_TOKEN_BAD. */
sf_status sf_token_fail(sf_str text, sf_token token, sf_error *err);
#define sf_token_fail(...) SF_IS_FAILURE(sf_token_fail(__VA_ARGS__))

/* The keyword's number, 0 when the word is none. */
uint16_t sf_keyword_find(const sf_lexer_rules *rules, sf_str word);
/* Edits (insert, delete, replace, swap neighbours) between two words, ASCII case ignored;
 * more than limit counts as limit + 1. */
unsigned sf_word_distance(sf_str a, sf_str b, unsigned limit);

/* Line and column of a byte, both from 1; a column is a character, not a byte. */
typedef struct {
    uint32_t line, column;
} sf_text_place;
sf_text_place sf_text_place_of(sf_str text, uint32_t offset);

#endif
