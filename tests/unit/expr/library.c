/* The standard library: numeric, string, time and regular expression functions. */
#include "tests.h"

#define DOMAIN "argument outside the function's domain"

void choices(void)
{
    static const expr_row rows[] = {
        {"(greatest l m 0)", "2|3|9223372036854775807|0|0|5", NULL},
        {"(least l d)", "1|NULL|9223372036854776000|-9223372036854776000|-7|5", NULL},
        {"(greatest s r)",
         "abd|x||a text longer than twelve bytes!|Stra\xc3\x9f"
         "e| 42 ",
         NULL},
        {"(least t u)", "0|5|1699173600000|-86400000|86400000|7", NULL},
        {"(least b c)", "true|false|false|false|false|true", NULL},
        {"(greatest null x)", "2.5|0|1e+308|0|-2.5|NULL", NULL},
        {"(nullif m 2)", "NULL|3|1|-1|0|NULL", NULL},
        {"(nullif m d)", "2|3|1|-1|0|NULL", NULL},
        {"(nullif s 'abc')",
         "NULL|NULL||a text longer than twelve bytes|Stra\xc3\x9f"
         "e| 42 ",
         NULL},
        {"(nullif l null)", "1|NULL|9223372036854775807|-9223372036854775808|-7|5", NULL},
        {"(nullif 1 m)", "1|1|NULL|1|1|1", NULL},
        {"(nullif (-> j 's') null)", "\"txt\"|NULL|NULL|NULL|NULL|NULL", NULL},
    };
    check_rows(rows, SF_COUNT_OF(rows));
}

void mathematics(void)
{
    static const expr_row rows[] = {
        {"(floor d)", "1|NULL|1e+308|-1|2|7", NULL},
        {"(ceil d)", "2|NULL|1e+308|-0|3|7", NULL},
        {"(trunc d)", "1|NULL|1e+308|-0|2|7", NULL},
        {"(floor m)", "2|3|1|-1|0|NULL", NULL},
        {"(sign l)", "1|NULL|1|-1|-1|1", NULL},
        {"(sign x)", "1|0|1|0|-1|NULL", NULL},
        {"(mod l 3)", "1|NULL|1|-2|-1|2", NULL},
        {"(mod 7 m)", "1|1|0|0|NULL|NULL", "division by zero@4"},
        {"(sqrt m)", "1.4142135623730951|1.7320508075688772|1|NULL|0|NULL", DOMAIN "@3"},
        {"(power m 2)", "4|9|1|1|0|NULL", NULL},
        {"(power m -1)", "0.5|0.3333333333333333|1|-1|NULL|NULL", DOMAIN "@4"},
        {"(power d 2)", "2.25|NULL|NULL|0.25|6.25|49", "overflow@2"},
        {"(gcd l 4)", "1|NULL|1|4|1|1", NULL},
    };
    static const value_row values[] = {
        {"(ln 1)", "0"},
        {"(exp 0)", "1"},
        {"(log 1000)", "3"},
        {"(log10 100)", "2"},
        {"(log 2 8)", "3"},
        {"(log2 8)", "3"},
        {"(cbrt 27)", "3"},
        {"(trunc 2.987 2)", "2.98"},
        {"(trunc -2.987 1)", "-2.9"},
        {"(trunc 1234.5 -2)", "1200"},
        {"(trunc 5 -999)", "0"},
        {"(trunc 0.5 999)", "0.5"},
        {"(pow 2 10)", "1024"},
        {"(power -8 3)", "-512"},
        {"(ceiling 1.2)", "2"},
        {"(round (pi) 4)", "3.1416"},
        {"(degrees (pi))", "180"},
        {"(round (radians 180) 4)", "3.1416"},
        {"(sin 0)", "0"},
        {"(cos 0)", "1"},
        {"(tan 0)", "0"},
        {"(asin 0)", "0"},
        {"(acos 1)", "0"},
        {"(atan 0)", "0"},
        {"(atan2 0 1)", "0"},
        {"(gcd 12 -18)", "6"},
        {"(gcd 0 0)", "0"},
        {"(lcm 4 6)", "12"},
        {"(lcm 0 6)", "0"},
    };
    check_rows(rows, SF_COUNT_OF(rows));
    check_values(values, SF_COUNT_OF(values));
}

/* Constant calls that fail stay calls; each row counts its error. */
void failing_constants(void)
{
    static const char *const texts[] = {
        "(/ 1 0)",
        "(sqrt -1)",
        "(ln 0)",
        "(ln -1)",
        "(log 1 5)",
        "(exp 1000)",
        "(power -8 0.5)",
        "(asin 2)",
        "(mod 1 0)",
        "(lcm 9223372036854775807 2)",
        "(substring 'a' 1 -1)",
        "(split_part 'a' 'b' 0)",
        "(repeat 'ab' 1000000)",
        "(lpad 'a' 1000000)",
        "(chr 55296)",
        "(chr -1)",
        "(regexp_extract 'a' 'a' 1)",
        "(date_trunc 'fortnight' @0)",
        "(date_format @0 'yyyy b')",
        "(add_months @0 99999999999)",
        "(date_diff 'decade' @0 @1)",
        "(gcd -9223372036854775808 0)",
        "(date_trunc 'week' @-9223372036854775808)",
    };
    for (size_t i = 0; i < SF_COUNT_OF(texts); i++) {
        sf_arena arena;
        sf_arena_init(&arena, 0);
        sf_eval eval;
        sf_eval_init(&eval);
        const sf_expr *expr;
        sf_error err = {0};
        sf_column *column = NULL;
        REQUIRE_OK(read_expr(&arena, texts[i], &expr, &err), err);
        REQUIRE_OK(sf_eval_column(&eval, expr, NULL, sf_sel_all(3), &column, &err), err);
        uint64_t errors = 0;
        for (int k = 0; k < SF_EVAL_ERROR_COUNT; k++)
            errors += eval.error_counts[k];
        if (sf_expr_is_constant(expr) || errors != 3 || sf_column_null_count(column) != 3) {
            printf("  %s: %llu errors\n", texts[i], (unsigned long long)errors);
            sf_check_failures++;
        }
        sf_column_unref(column);
        sf_eval_deinit(&eval);
        sf_arena_deinit(&arena);
    }
}

void strings(void)
{
    static const expr_row rows[] = {
        {"(length s)", "3|NULL|0|31|6|4", NULL},
        {"(octet_length s)", "3|NULL|0|31|7|4", NULL},
        {"(substring s 3)",
         "c|NULL||text longer than twelve bytes|ra\xc3\x9f"
         "e|2 ",
         NULL},
        {"(substring s 5 1)", "|NULL||x|\xc3\x9f|", NULL},
        {"(substring s m 2)", "bc|NULL|||S|NULL", NULL},
        {"(left s 2)", "ab|NULL||a |St| 4", NULL},
        {"(right s 2)",
         "bc|NULL||es|\xc3\x9f"
         "e|2 ",
         NULL},
        {"(left s -2)", "a|NULL||a text longer than twelve byt|Stra| 4", NULL},
        {"(right s -2)",
         "c|NULL||text longer than twelve bytes|ra\xc3\x9f"
         "e|2 ",
         NULL},
        {"(trim s)",
         "abc|NULL||a text longer than twelve bytes|Stra\xc3\x9f"
         "e|42",
         NULL},
        {"(ltrim s 'Sat')",
         "bc|NULL|| text longer than twelve bytes|ra\xc3\x9f"
         "e| 42 ",
         NULL},
        {"(rtrim s 'es\xc3\x9f')", "abc|NULL||a text longer than twelve byt|Stra| 42 ", NULL},
        {"(replace s 'e' '<>')",
         "abc|NULL||a t<>xt long<>r than tw<>lv<> byt<>s|Stra\xc3\x9f<>| 42 ", NULL},
        {"(split_part s ' ' 2)", "|NULL||text||42", NULL},
        {"(position 'a' s)", "1|NULL|0|1|4|0", NULL},
        {"(strpos s 'e')", "0|NULL|0|4|6|0", NULL},
        {"(starts_with s 'a')", "true|NULL|false|true|false|false", NULL},
        {"(ends_with s 'bytes')", "false|NULL|false|true|false|false", NULL},
        {"(contains s 't')", "false|NULL|false|true|true|false", NULL},
        {"(concat s '/' m)",
         "abc/2|/3|/1|a text longer than twelve bytes/-1|Stra\xc3\x9f"
         "e/0| 42 /",
         NULL},
        {"(concat_ws '-' s null m)",
         "abc-2|3|-1|a text longer than twelve bytes--1|Stra\xc3\x9f"
         "e-0| 42 ",
         NULL},
        {"(concat_ws s 1 2)",
         "1abc2|NULL|12|1a text longer than twelve bytes2|1Stra\xc3\x9f"
         "e2|1 42 2",
         NULL},
        {"(reverse r)", "dba|x||!setyb evlewt naht regnol txet a|ESSARTS|NULL", NULL},
        {"(repeat r m)", "abdabd|xxx||||NULL", NULL},
        {"(lpad s 5 '*')", "**abc|NULL|*****|a tex|Stra\xc3\x9f|* 42 ", NULL},
        {"(rpad s 5)", "abc  |NULL|     |a tex|Stra\xc3\x9f| 42  ", NULL},
    };
    static const value_row values[] = {
        {"(substring 'alphabet' 3 2)", "ph"},
        {"(substring 'alphabet' 0 2)", "a"},
        {"(substring 'alphabet' -2 5)", "al"},
        {"(substring 'alphabet' 7 99)", "et"},
        {"(substring 'alphabet' 3 9223372036854775807)", "phabet"},
        {"(substring 'alphabet' -9223372036854775808 9223372036854775807)", ""},
        {"(right 'abc' -9223372036854775808)", ""},
        {"(left 'abc' -9223372036854775808)", ""},
        {"(btrim 'xxabcyx' 'xy')", "abc"},
        {"(trim '\xc3\xa4"
         "b\xc3\xa4' '\xc3\xa4')",
         "b"},
        {"(trim '   ')", ""},
        {"(replace 'aaa' 'aa' 'b')", "ba"},
        {"(replace 'abc' '' 'x')", "abc"},
        {"(translate '12345' '143' 'ax')", "a2x5"},
        {"(split_part 'a,b,c' ',' 1)", "a"},
        {"(split_part 'a,b,c' ',' 3)", "c"},
        {"(split_part 'a,b,c' ',' 4)", ""},
        {"(split_part 'a,b,c' ',' -1)", "c"},
        {"(split_part 'a,b,c' ',' -4)", ""},
        {"(split_part 'a,b' '' 1)", "a,b"},
        {"(split_part '' ',' 1)", ""},
        {"(position '' 'abc')", "1"},
        {"(position '\xc3\x9f' 'a\xc3\xa4\xc3\x9f')", "3"},
        {"(lpad 'hi' 5 'xy')", "xyxhi"},
        {"(rpad 'hi' 5 '\xc3\xa4"
         "b')",
         "hi\xc3\xa4"
         "b\xc3\xa4"},
        {"(lpad 'hello' 2)", "he"},
        {"(lpad 'hi' 5 '')", "hi"},
        {"(rpad 'hi' -1)", ""},
        {"(initcap 'hello wORLD-wide \xc3\xa4hm')", "Hello World-Wide \xc3\x84hm"},
        {"(reverse '\xc3\xa4"
         "b\xf0\x9f\x98\x80')",
         "\xf0\x9f\x98\x80"
         "b\xc3\xa4"},
        {"(ascii 'A')", "65"},
        {"(ascii '\xe2\x82\xac')", "8364"},
        {"(ascii '')", "0"},
        {"(chr 8364)", "\xe2\x82\xac"},
        {"(repeat 'ab' 3)", "ababab"},
        {"(repeat 'ab' -3)", ""},
        {"(char_length '\xf0\x9f\x98\x80')", "1"},
        {"(concat null null)", ""},
        {"(concat 1 true 2.5)", "1true2.5"},
    };
    check_rows(rows, SF_COUNT_OF(rows));
    check_values(values, SF_COUNT_OF(values));
}

void regular_expressions(void)
{
    static const expr_row rows[] = {
        {"(regexp_like s '^a.*s$')", "false|NULL|false|true|false|false", NULL},
        {"(regexp_like s r)", "false|NULL|true|false|false|NULL", NULL},
        {"(regexp_like r 'STRASSE' 'i')", "false|false|false|false|true|NULL", NULL},
        {"(regexp_extract s '[0-9]+')", "NULL|NULL|NULL|NULL|NULL|42", NULL},
        {"(regexp_extract s '(t[a-z]+) (b[a-z]+)' 2)", "NULL|NULL|NULL|bytes|NULL|NULL", NULL},
        {"(regexp_extract s '.+')",
         "abc|NULL|NULL|a text longer than twelve bytes|Stra\xc3\x9f"
         "e| 42 ",
         NULL},
        {"(regexp_replace s '[aeiou]' '*')",
         "*bc|NULL||* text longer than twelve bytes|Str*\xc3\x9f"
         "e| 42 ",
         NULL},
        {"(regexp_replace s '[aeiou]' '*' 'g')",
         "*bc|NULL||* t*xt l*ng*r th*n tw*lv* byt*s|Str*\xc3\x9f*| 42 ", NULL},
        {"(regexp_count s '[a-z]+')", "1|NULL|0|6|2|0", NULL},
        {"(regexp_like '(' s)", "false|NULL|true|false|false|false", NULL},
        {"(regexp_like 'x' (|| s '('))", "NULL|NULL|NULL|NULL|NULL|NULL",
         DOMAIN "@0 " DOMAIN "@2 " DOMAIN "@3 " DOMAIN "@4 " DOMAIN "@5"},
    };
    static const value_row values[] = {
        {"(regexp_replace 'John Smith' '(\\w+) (\\w+)' '\\2, \\1')", "Smith, John"},
        {"(regexp_replace 'abc' 'b' '[\\&]')", "a[b]c"},
        {"(regexp_replace 'abc' 'b' '\\\\\\q')", "a\\\\qc"},
        {"(regexp_replace 'abc' 'x*' '-' 'g')", "-a-b-c-"},
        {"(regexp_replace '\xc3\xa4\xc3\xa4' '' '.' 'g')", ".\xc3\xa4.\xc3\xa4."},
        {"(regexp_replace 'aXbx' 'x' '' 'gi')", "ab"},
        {"(regexp_extract 'channel_id=42&x' '(&|^)?channel_id=([^&]*)' 2)", "42"},
        {"(regexp_extract 'b' '(a)?b' 1)", "NULL"},
        {"(regexp_like '\xc3\xa4' '^.$')", "true"},
        {"(regexp_like 'a\nb' 'a.b')", "false"},
        {"(regexp_like 'a\nb' 'a.b' 's')", "true"},
        {"(regexp_like 'a\nb' '^b' 'm')", "true"},
        {"(regexp_count 'aaa' 'a*?')", "4"},
    };
    static const refusal_row refused[] = {
        {"(regexp_like s '(a')", "pattern is no regular expression: missing closing parenthesis",
         "backslash"},
        {"(regexp_like s 'a' 'q')", "'q' are no flags", "c, g, i, m, n, s, x"},
        {"(regexp_replace s '[' 'x' 'g')", "pattern is no regular expression", NULL},
        {"(regexp_extract s '*')", "pattern is no regular expression", NULL},
    };
    check_rows(rows, SF_COUNT_OF(rows));
    check_values(values, SF_COUNT_OF(values));
    check_refusals(refused, SF_COUNT_OF(refused));
}

/* Patterns that would run for years fail; many patterns take turns in the cache. */
void regular_expressions_are_bounded(void)
{
    sf_arena arena;
    sf_arena_init(&arena, 0);
    sf_eval eval;
    sf_eval_init(&eval);
    sf_batch *batch = sample_batch();
    const sf_expr *expr;
    sf_error err = {0};
    sf_column *column = NULL;
    REQUIRE_OK(read_expr(&arena,
                         "(regexp_like (|| s (repeat 'a' 40)) '^(([a-z ])+.)+[A-Z]([a-z])+$')",
                         &expr, &err),
               err);
    REQUIRE_OK(sf_eval_column(&eval, expr, batch, sf_sel_all(6), &column, &err), err);
    CHECK(eval.error_counts[SF_EVAL_DOMAIN] > 0);
    sf_column_unref(column);
    for (int i = 0; i < 100; i++) {
        char text[64];
        snprintf(text, sizeof text, "(regexp_count (|| s '%d') '%d')", i, i);
        REQUIRE_OK(read_expr(&arena, text, &expr, &err), err);
        REQUIRE_OK(sf_eval_column(&eval, expr, batch, sf_sel_all(6), &column, &err), err);
        CHECK(SF_LANES(column, int64_t)[0] == 1);
        sf_column_unref(column);
    }
    sf_batch_unref(batch);
    sf_eval_deinit(&eval);
    sf_arena_deinit(&arena);
}

void times(void)
{
    static const expr_row rows[] = {
        {"(hour t)", "0|NULL|8|23|0|NULL", NULL},
        {"(year t)", "1970|NULL|2023|1969|1970|NULL", NULL},
        {"(second t)", "0|NULL|0|59.999|0|NULL", NULL},
        {"(extract 'epoch' u)", "0.001|0.005|1699173600|-86400|NULL|0.007", NULL},
        {"(date_trunc 'day' t)", "0|NULL|1699142400000|-86400000|86400000|NULL", NULL},
        {"(date_trunc 'hour' l)", "0|NULL|9223372036854000000|NULL|-3600000|0", DOMAIN "@3"},
        {"(date_diff 'day' t u)", "0|NULL|0|0|NULL|NULL", NULL},
        {"(date_format t 'yyyy-MM-dd HH:mm:ss.SSS')",
         "1970-01-01 00:00:00.000|NULL|2023-11-05 08:40:00.000|1969-12-31 23:59:59.999|"
         "1970-01-02 00:00:00.000|NULL",
         NULL},
        {"(date_format t (case b 'HH:mm' '%H'))", "00:00|NULL|08|23:59|00|NULL", NULL},
        {"(timezone '+05:30' t)", "19800000|NULL|1699193400000|19799999|106200000|NULL", NULL},
        {"(add_months t 1)", "2678400000|NULL|1701765600000|2678399999|2764800000|NULL", NULL},
    };
    static const value_row values[] = {
        /* 2024-02-29T13:07:09.045Z, a Thursday, the 60th day, ISO week 9 */
        {"(extract 'year' @1709212029045)", "2024"},
        {"(extract 'Quarter' @1709212029045)", "1"},
        {"(extract 'month' @1709212029045)", "2"},
        {"(extract 'week' @1709212029045)", "9"},
        {"(extract 'day' @1709212029045)", "29"},
        {"(extract 'dow' @1709212029045)", "4"},
        {"(extract 'isodow' @1709212029045)", "4"},
        {"(extract 'doy' @1709212029045)", "60"},
        {"(extract 'hour' @1709212029045)", "13"},
        {"(extract 'minute' @1709212029045)", "7"},
        {"(extract 'second' @1709212029045)", "9.045"},
        {"(extract 'millisecond' @1709212029045)", "9045"},
        {"(extract 'decade' @1709212029045)", "202"},
        {"(extract 'century' @1709212029045)", "21"},
        {"(extract 'millennium' @1709212029045)", "3"},
        {"(date_part 'epoch' @1709212029045)", "1709212029.045"},
        {"(extract 'century' '2000-12-31')", "20"},
        /* 2021-01-03, a Sunday, still belongs to the last week of 2020 */
        {"(extract 'week' '2021-01-03')", "53"},
        {"(extract 'isoyear' '2021-01-03')", "2020"},
        {"(extract 'isodow' '2021-01-03')", "7"},
        {"(extract 'dow' '2021-01-03')", "0"},
        {"(to_string (date_trunc 'second' @1709212029045))", "2024-02-29T13:07:09.000Z"},
        {"(to_string (date_trunc 'minute' @1709212029045))", "2024-02-29T13:07:00.000Z"},
        {"(to_string (date_trunc 'week' @1709212029045))", "2024-02-26T00:00:00.000Z"},
        {"(to_string (date_trunc 'month' @1709212029045))", "2024-02-01T00:00:00.000Z"},
        {"(to_string (date_trunc 'quarter' @1709212029045))", "2024-01-01T00:00:00.000Z"},
        {"(to_string (date_trunc 'year' @1709212029045))", "2024-01-01T00:00:00.000Z"},
        {"(to_string (date_trunc 'decade' @1709212029045))", "2020-01-01T00:00:00.000Z"},
        {"(to_string (date_trunc 'century' @1709212029045))", "2001-01-01T00:00:00.000Z"},
        {"(to_string (date_trunc 'isoyear' '2021-01-03'))", "2019-12-30T00:00:00.000Z"},
        {"(to_string (date_trunc 'year' '1969-06-01'))", "1969-01-01T00:00:00.000Z"},
        {"(to_string (add_months '2024-01-31T10:00:00Z' 1))", "2024-02-29T10:00:00.000Z"},
        {"(to_string (add_months '2024-03-31' -1))", "2024-02-29T00:00:00.000Z"},
        {"(to_string (add_months '2023-12-15' 1))", "2024-01-15T00:00:00.000Z"},
        {"(to_string (add_months '1970-01-31' -11))", "1969-02-28T00:00:00.000Z"},
        {"(date_diff 'day' '2024-02-28T23:59:00Z' '2024-03-01T00:01:00Z')", "2"},
        {"(date_diff 'month' '2024-01-31' '2024-02-01')", "1"},
        {"(date_diff 'week' '2024-02-25' '2024-02-26')", "1"},
        {"(date_diff 'year' '2024-01-01' '2023-12-31')", "-1"},
        {"(date_diff 'quarter' '2023-12-31' '2024-04-01')", "2"},
        {"(date_format @1709212029045 'EEE, d MMM yy h:m:s a')", "Thu, 29 Feb 24 1:7:9 PM"},
        {"(date_format @1709212029045 'EEEE d MMMM ''at'' H''''')", "Thursday 29 February at 13'"},
        {"(date_format @1709212029045 'DDD Q S SSSSS')", "060 1 0 04500"},
        {"(date_format @1709212029045 '%Y-%m-%dT%H:%M:%S.%L %a %b %j %p %I %%')",
         "2024-02-29T13:07:09.045 Thu Feb 060 PM 01 %"},
        {"(date_format @1709212029045 '%F %T %f %y %A %B %e %u %w %V %G %s %z %Z')",
         "2024-02-29 13:07:09 045000 24 Thursday February 29 4 4 09 2024 1709212029 +0000 UTC"},
        {"(to_char @1709212029045 'YYYY-MM-DD HH24:MI:SS.MS')", "2024-02-29 13:07:09.045"},
        {"(to_char @1709212029045 'FMDay, FMDD Mon YY HH12:MI am')",
         "Thursday, 29 Feb 24 01:07 pm"},
        {"(to_char @1709212029045 'DAY|month|DY|Q|IW|IYYY|DDD|D|ID|W|WW')",
         "THURSDAY |february |THU|1|09|2024|060|5|4|5|09"},
        {"(to_char @1709212029045 '\"Year\" YYYY, SSSSS US')", "Year 2024, 47229 045000"},
        {"(extract 'year' @-9223372036854775808)", "-292275055"},
        {"(extract 'hour' @-9223372036854775808)", "16"},
        {"(extract 'week' @9223372036854775807)", "33"},
        {"(timezone 'utc' @5)", "5"},
        {"(timezone '-08' @0)", "-28800000"},
        {"(timezone '+0130' @0)", "5400000"},
    };
    static const refusal_row refused[] = {
        {"(extract 'fortnight' t)", "EXTRACT has no such part", "quarter"},
        {"(extract s t)", "EXTRACT has no such part", NULL},
        {"(extract 'hour' s)", "EXTRACT cannot take String and String", NULL},
        {"(extract 'hour')", "takes 2 arguments, not 1", "EXTRACT(part FROM time)"},
        {"(hour t u)", "takes 1 argument, not 2", "HOUR(time)"},
        {"(date_trunc 'day' 'soon')", "'soon' is no time", NULL},
        {"(greatest j j)", "GREATEST cannot take Json and Json", NULL},
        {"(greatest l s)", "GREATEST cannot take Long and String", NULL},
        {"(date_format d 'yyyy')", "DATE_FORMAT cannot take Double and String", NULL},
    };
    check_rows(rows, SF_COUNT_OF(rows));
    check_values(values, SF_COUNT_OF(values));
    check_refusals(refused, SF_COUNT_OF(refused));
}

void now_is_the_epochs(void)
{
    sf_arena arena;
    sf_arena_init(&arena, 0);
    sf_eval eval;
    sf_eval_init(&eval);
    eval.now_ms = 1709212029045;
    const sf_expr *expr;
    sf_error err = {0};
    sf_column *column = NULL;
    REQUIRE_OK(read_expr(&arena, "(- (now) 45)", &expr, &err), err);
    CHECK(!sf_expr_is_constant(expr));
    REQUIRE_OK(sf_eval_column(&eval, expr, NULL, sf_sel_all(2), &column, &err), err);
    CHECK_INT(SF_LANES(column, int64_t)[1], 1709212029000);
    CHECK_INT(column->type, SF_TYPE_TIMESTAMP);
    sf_column_unref(column);
    sf_eval_deinit(&eval);
    sf_arena_deinit(&arena);
}
