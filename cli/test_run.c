/* A case in all its variants, and the verdict. */
#include "cli/test.h"
#include "text/text.h"

#include <ctype.h>

/* ---- what an expectation accepts ---- */

bool sf_test_accepts(const sf_test_expect *expect, const sf_test_answer *answer, sf_buf *why)
{
    if (sf_test_match(answer, &expect->rows, &expect->optional_rows, why))
        return true;
    sf_buf other = {0};
    bool accepted = false;
    for (size_t i = 0; !accepted && i < expect->or_rows.len; i++)
        accepted = sf_test_match(answer, &expect->or_rows.data[i], &expect->optional_rows, &other);
    sf_buf_deinit(&other);
    return accepted;
}

static bool contains(const char *text, sf_str part)
{
    size_t length = strlen(text);
    for (size_t at = 0; at + part.len <= length; at++) {
        size_t i = 0;
        while (i < part.len &&
               tolower((unsigned char)text[at + i]) == tolower((unsigned char)part.data[i]))
            i++;
        if (i == part.len)
            return true;
    }
    return false;
}

static bool refusal_fits(const sf_test_result *result, sf_str part, uint32_t line, uint32_t column)
{
    for (size_t i = 0; i < result->diagnostics.list.len; i++) {
        const sf_diagnostic *item = &result->diagnostics.list.data[i];
        if (!item->warning && contains(item->message, part) && (!line || line == item->line) &&
            (!column || column == item->column))
            return true;
    }
    return result->diagnostics.list.len == 0 && !line && !column &&
           (contains(result->error.message, part) || contains(result->error.hint, part));
}

static void print_refusal(sf_buf *out, const sf_test_result *result)
{
    for (size_t i = 0; i < result->diagnostics.list.len; i++) {
        const sf_diagnostic *item = &result->diagnostics.list.data[i];
        sf_buf_printf(out, "%s%u:%u %s", out->len ? "; " : "", item->line, item->column,
                      item->message);
    }
    if (result->diagnostics.list.len == 0)
        sf_buf_puts(out, result->error.message);
}

/* ---- verdicts ---- */

static void print_expected(sf_buf *out, const sf_test_expect *expect)
{
    if (!expect->refused) {
        sf_test_print_rows(out, &expect->rows);
        return;
    }
    sf_buf_printf(out, "refused with \"%.*s\"", SF_STR_ARG(expect->error_contains));
    if (expect->line)
        sf_buf_printf(out, " at %u:%u", expect->line, expect->column);
}

static bool judge_refusal(const sf_test_expect *expect, const sf_test_result *result,
                          sf_test_outcome *outcome)
{
    if (expect->refused &&
        refusal_fits(result, expect->error_contains, expect->line, expect->column))
        return true;
    if (expect->or_error && refusal_fits(result, expect->or_error_contains, 0, 0))
        return true;
    sf_buf_puts(&outcome->message,
                expect->refused ? "it was refused for another reason" : "the SQL was refused");
    print_refusal(&outcome->actual, result);
    print_expected(&outcome->expected, expect);
    return false;
}

static uint64_t report_count(const sf_parse_report *report, sf_str name, bool *known)
{
#define X(field)                                                                                   \
    if (sf_str_eq(name, SF_STR(#field)))                                                           \
        return report->field;
    X(records)
    X(rows)
    X(malformed)
    X(misfits)
    X(misfit_rows)
    X(dropped)
    X(unknown_fields)
    X(unknown_rows)
    X(short_rows)
    X(retractions)
#undef X
    *known = false;
    return 0;
}

static bool judge_report(const sf_test_expect *expect, const sf_test_result *result,
                         sf_test_outcome *outcome)
{
    size_t cursor = 0;
    sf_json_string key;
    sf_str value;
    while (expect->report.len && sf_json_each_member(expect->report, &cursor, &key, &value)) {
        bool known = result->reported;
        uint64_t count = report_count(&result->report, key.raw, &known);
        int64_t wanted;
        if (known && sf_parse_whole(value, &wanted) == SF_PARSE_OK && (uint64_t)wanted == count)
            continue;
        sf_buf_printf(&outcome->message,
                      known ? "the report says %.*s: %llu" : "the report has no count \"%.*s\"",
                      SF_STR_ARG(key.raw), (unsigned long long)count);
        sf_buf_put(&outcome->expected, expect->report.data, expect->report.len);
        sf_buf_printf(&outcome->actual, "{\"%.*s\":%llu}", SF_STR_ARG(key.raw),
                      (unsigned long long)count);
        return false;
    }
    return true;
}

static bool judge(const sf_test_case *test, sf_test_result *result, sf_test_outcome *outcome)
{
    const sf_test_expect *expect = result->failed_expect ? result->failed_expect : &test->expect;
    if (result->refused)
        return judge_refusal(expect, result, outcome);
    if (result->failed && !result->failed_expect) {
        sf_buf_puts(&outcome->message, result->why.data ? result->why.data : "out of memory");
        print_expected(&outcome->expected, expect);
        return false;
    }
    if (expect->refused) {
        sf_buf_puts(&outcome->message, "the SQL was accepted");
        print_expected(&outcome->expected, expect);
        sf_test_print_answer(&outcome->actual, &result->answer);
        return false;
    }
    if (!result->failed && sf_test_accepts(expect, &result->answer, &result->why))
        return judge_report(expect, result, outcome);
    if (result->failed_expect)
        sf_buf_puts(&outcome->message, "at an \"expect\" on the way: ");
    sf_buf_put(&outcome->message, result->why.data, result->why.len);
    print_expected(&outcome->expected, expect);
    sf_test_print_answer(&outcome->actual, &result->answer);
    return false;
}

/* ---- variants ---- */

static const sf_test_variant variants[] = {
    {.name = "one epoch an event"},
    {.name = "few epochs", .big_epochs = true},
    {.name = "a restart after every event", .restart_often = true},
    {.name = "in steps", .steps = true},
    {.name = "in steps, few epochs", .steps = true, .big_epochs = true},
};

static const sf_test_variant format_variants[] = {
    {.name = "in one piece"},
    {.name = "byte by byte", .byte_by_byte = true},
};

/* Several answers may be right, but every variant must give the same one. */
static bool agrees(const sf_test_answer *first, const sf_test_answer *other,
                   sf_test_outcome *outcome)
{
    sf_arena arena;
    sf_test_rows rows = {0};
    sf_buf text = {0};
    bool ok = true;
    sf_arena_init(&arena, 0);
    for (size_t i = 0; ok && i < first->rows.len; i++) {
        sf_buf_clear(&text);
        sf_write_json_row(&text, first->rows.data[i].batch, first->rows.data[i].row, false);
        char *kept = text.failed ? NULL : sf_arena_strndup(&arena, text.data, text.len);
        ok = kept && SF_VEC_PUSH(&rows, ((sf_str){kept, text.len}));
    }
    sf_buf_clear(&text);
    bool same = ok && sf_test_match(other, &rows, NULL, &text);
    if (!same) {
        sf_buf_printf(&outcome->message, "the answer differs from \"%s\": %s", variants[0].name,
                      ok ? text.data : "out of memory");
        sf_test_print_rows(&outcome->expected, &rows);
        sf_test_print_answer(&outcome->actual, other);
    }
    sf_buf_deinit(&text);
    SF_VEC_DEINIT(&rows);
    sf_arena_deinit(&arena);
    return same;
}

static bool has_alternatives(const sf_test_case *test)
{
    return test->expect.or_rows.len || test->expect.optional_rows.len || test->expect.or_error;
}

static bool run_variant(sf_test_case *test, const sf_test_variant *variant, sf_test_result *first,
                        sf_test_outcome *outcome)
{
    sf_test_result result;
    outcome->variant = variant->name;
    sf_test_world(test, variant, &result);
    bool passed = judge(test, &result, outcome);
    if (passed && first->answer.schema && !result.refused && has_alternatives(test))
        passed = agrees(&first->answer, &result.answer, outcome);
    if (passed && first->answer.schema && result.refused != first->refused) {
        sf_buf_printf(&outcome->message, "it is refused, and was not in \"%s\"", variants[0].name);
        passed = false;
    }
    if (!first->answer.schema && !result.refused)
        *first = result;
    else
        sf_test_result_deinit(&result);
    return passed;
}

void sf_test_run(sf_test_case *test, sf_test_outcome *outcome)
{
    bool format = test->mode == SF_TEST_FORMAT;
    const sf_test_variant *list = format ? format_variants : variants;
    size_t count = format ? SF_COUNT_OF(format_variants) : SF_COUNT_OF(variants);
    sf_test_result first = {0};
    outcome->passed = true;
    for (size_t i = 0; outcome->passed && i < count; i++)
        if (!list[i].steps || test->steps.len)
            outcome->passed = run_variant(test, &list[i], &first, outcome);
    sf_test_result_deinit(&first);
}

void sf_test_outcome_deinit(sf_test_outcome *outcome)
{
    sf_buf_deinit(&outcome->message);
    sf_buf_deinit(&outcome->expected);
    sf_buf_deinit(&outcome->actual);
}
