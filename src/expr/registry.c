/* The table of functions and what is looked up in it. */
#include "expr/kernel.h"

static const sf_function functions[] = {
#define F(name, args, result, flags, kernel) {name, args, result, flags, sf_fn_##kernel},
#include "expr/functions.def"
};

static const sf_function_info documented[] = {
#define DOC(name, signature, family, text, example, result)                                        \
    {name, signature, text, family, example, result},
#include "expr/functions.def"
#define AGG(name, shape, signature, text, example, result)                                         \
    {name, signature, text, "aggregate", example, result},
#include "expr/aggregates.def"
#define WINDOW(name, signature, text, example, result)                                             \
    {name, signature, text, "window", example, result},
#include "expr/windows.def"
};

uint32_t sf_function_count(void)
{
    return SF_COUNT_OF(documented);
}

const sf_function_info *sf_function_at(uint32_t index)
{
    return index < SF_COUNT_OF(documented) ? &documented[index] : NULL;
}

const sf_function_info *sf_function_documented(sf_str name)
{
    for (size_t i = 0; i < SF_COUNT_OF(documented); i++)
        if (sf_str_eq_nocase(name, sf_str_of(documented[i].name)))
            return &documented[i];
    return NULL;
}

uint32_t sf_function_overloads(sf_str name, const sf_function **first)
{
    for (size_t i = 0; i < SF_COUNT_OF(functions); i++) {
        if (!sf_str_eq_nocase(name, sf_str_of(functions[i].name)))
            continue;
        uint32_t count = 1;
        while (i + count < SF_COUNT_OF(functions) &&
               strcmp(functions[i].name, functions[i + count].name) == 0)
            count++;
        *first = &functions[i];
        return count;
    }
    return 0;
}

const sf_function *sf_function_get(const char *name, const char *args)
{
    const sf_function *first = NULL, *found = NULL;
    uint32_t count = sf_function_overloads(sf_str_of(name), &first);
    for (uint32_t i = 0; i < count && !found; i++)
        if (strcmp(first[i].args, args) == 0)
            found = &first[i];
    SF_ASSERT(found);
    return found;
}

bool sf_type_of_letter(char letter, sf_type *out)
{
    switch (letter) {
    case 'b': *out = SF_TYPE_BOOL; return true;
    case 'l': *out = SF_TYPE_I64; return true;
    case 'd': *out = SF_TYPE_F64; return true;
    case 's': *out = SF_TYPE_UTF8; return true;
    case 't': *out = SF_TYPE_TIMESTAMP; return true;
    case 'j': *out = SF_TYPE_JSON; return true;
    default: return false;
    }
}

/* ---- spelling ---- */

enum { NAME_MAX_BYTES = 32 };

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* Edits (insert, drop, replace) between two names without regard to case. */
static unsigned edit_distance(sf_str a, sf_str b)
{
    unsigned row[NAME_MAX_BYTES + 1];
    for (unsigned j = 0; j <= b.len; j++)
        row[j] = j;
    for (size_t i = 0; i < a.len; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i + 1;
        for (size_t j = 0; j < b.len; j++) {
            unsigned replace = diagonal + (upper(a.data[i]) != upper(b.data[j]));
            unsigned shorter = row[j] < row[j + 1] ? row[j] + 1 : row[j + 1] + 1;
            diagonal = row[j + 1];
            row[j + 1] = replace < shorter ? replace : shorter;
        }
    }
    return row[b.len];
}

/* Names that other systems use for what is here. */
static const struct {
    const char *theirs, *ours;
} known_elsewhere[] = {
    {"IFNULL", "COALESCE"},
    {"NVL", "COALESCE"},
    {"ISNULL", "COALESCE"},
    {"UCASE", "UPPER"},
    {"LCASE", "LOWER"},
    {"MEAN", "AVG"},
    {"TO_INT", "TO_LONG"},
    {"TO_INTEGER", "TO_LONG"},
    {"TO_NUMBER", "TO_DOUBLE"},
    {"TO_FLOAT", "TO_DOUBLE"},
    {"TO_TEXT", "TO_STRING"},
    {"STR", "TO_STRING"},
    {"IIF", "IF"},
    {"VAR", "VAR_SAMP"},
    {"STDEV", "STDDEV"},
    {"STRPTIME", "PARSE_TIMESTAMP"},
    {"STRFTIME", "DATE_FORMAT"},
    {"STR_TO_DATE", "PARSE_TIMESTAMP"},
    {"STRINGTOTIMESTAMP", "PARSE_TIMESTAMP"},
    {"TIMESTAMPTOSTRING", "DATE_FORMAT"},
    {"FORMAT_TIMESTAMP", "DATE_FORMAT"},
    {"TO_UTC_TIMESTAMP", "FROM_TIMEZONE"},
    {"FROM_UTC_TIMESTAMP", "TIMEZONE"},
    {"CONVERT_TZ", "TIMEZONE"},
    {"DATEADD", "DATE_ADD"},
    {"DATESUB", "DATE_SUB"},
    {"DATEDIFF", "DATE_DIFF"},
    {"TIMESTAMPDIFF", "DATE_DIFF"},
    {"TIMESTAMPADD", "DATE_ADD"},
    {"TIME_BUCKET", "DATE_BIN"},
    {"DATETRUNC", "DATE_TRUNC"},
    {"DATEPART", "DATE_PART"},
    {"FORMAT_DATETIME", "DATE_FORMAT"},
    {"JSON_EXTRACT_STRING", "JSON_VALUE"},
    {"EXTRACTJSONFIELD", "JSON_VALUE"},
    {"JSON_TYPE", "JSON_TYPEOF"},
    {"JSON_LENGTH", "JSON_ARRAY_LENGTH"},
    {"JSON_BUILD_ARRAY", "JSON_ARRAY"},
    {"JSON_BUILD_OBJECT", "JSON_OBJECT"},
    {"HASH", "XXHASH"},
    {"XXHASH64", "XXHASH"},
    {"SHA2", "SHA256"},
    {"INSTR", "STRPOS"},
    {"LEN", "LENGTH"},
    {"CHARACTER_LENGTH", "CHAR_LENGTH"},
    {"REGEXP_MATCHES", "REGEXP_LIKE"},
    {"REGEXP_SUBSTR", "REGEXP_EXTRACT"},
    {"LOG1P", "LN"},
    {"FIRST_VALUE", "FIRST"},
    {"LAST_VALUE", "LAST"},
    {"EARLIEST", "FIRST"},
    {"LATEST", "LAST"},
    {"LATEST_BY_OFFSET", "LAST"},
    {"EARLIEST_BY_OFFSET", "FIRST"},
    {"GROUP_CONCAT", "STRING_AGG"},
    {"COLLECT_LIST", "ARRAY_AGG"},
    {"LIST", "ARRAY_AGG"},
    {"ANY", "ANY_VALUE"},
    {"COUNTIF", "COUNT_IF"},
    {"UNIQ", "APPROX_COUNT_DISTINCT"},
    {"QUANTILE", "PERCENTILE_CONT"},
    {"QUANTILE_CONT", "PERCENTILE_CONT"},
    {"QUANTILE_DISC", "PERCENTILE_DISC"},
};

const char *sf_function_nearest(sf_str name)
{
    for (size_t i = 0; i < SF_COUNT_OF(known_elsewhere); i++)
        if (sf_str_eq_nocase(name, sf_str_of(known_elsewhere[i].theirs)))
            return known_elsewhere[i].ours;
    const char *best = NULL;
    unsigned limit = name.len <= 3 ? 1 : name.len <= 6 ? 2 : 3, best_distance = limit + 1;
    for (size_t i = 0; i < SF_COUNT_OF(documented) && name.len <= NAME_MAX_BYTES; i++) {
        sf_str candidate = sf_str_of(documented[i].name);
        if (candidate.len > NAME_MAX_BYTES)
            continue;
        unsigned distance = edit_distance(name, candidate);
        if (distance < best_distance) {
            best = documented[i].name;
            best_distance = distance;
        }
    }
    return best;
}
