/* What operators and functions give, lane by lane. The sample batch (harness.c):
 *
 *      l      m     d      x     s                    r              b  c  t      u
 *   0  1      2     1.5    2.5   abc                  abd            T  T  0      1
 *   1  NULL   3     NULL   0     NULL                 x              -  F  NULL   5
 *   2  max    1     1e308  1e308 (empty)              (empty)        F  F  1.69e12 same
 *   3  min    -1    -0.5   0     a text longer than.. ..the same!    T  F  -1     -86400000
 *   4  -7     0     2.5    -2.5  Straße               STRASSE        F  -  86400000 NULL
 *   5  5      NULL  7      NULL  " 42 "               NULL           T  -  NULL   7 */
#include "tests.h"

#define LONG_MAX_TEXT "9223372036854775807"
#define LONG_MIN_TEXT "-9223372036854775808"

void arithmetic(void)
{
    static const expr_row rows[] = {
        {"(+ l m)", "3|NULL|NULL|NULL|-7|NULL", "overflow@2 overflow@3"},
        {"(- l m)", "-1|NULL|9223372036854775806|-9223372036854775807|-7|NULL", NULL},
        {"(* l m)", "2|NULL|" LONG_MAX_TEXT "|NULL|0|NULL", "overflow@3"},
        {"(* l 3)", "3|NULL|NULL|NULL|-21|15", "overflow@2 overflow@3"},
        {"(* 4294967296 m)", "8589934592|12884901888|4294967296|-4294967296|0|NULL", NULL},
        {"(/ l m)", "0.5|NULL|9223372036854776000|9223372036854776000|NULL|NULL",
         "division by zero@4"},
        {"(/ l 2)", "0.5|NULL|4611686018427388000|-4611686018427388000|-3.5|2.5", NULL},
        {"(% l m)", "1|NULL|0|0|NULL|NULL", "division by zero@4"},
        {"(% l 3)", "1|NULL|1|-2|-1|2", NULL},
        {"(% 7 m)", "1|1|0|0|NULL|NULL", "division by zero@4"},
        {"(neg l)", "-1|NULL|-9223372036854775807|NULL|7|-5", "overflow@3"},
        {"(abs l)", "1|NULL|" LONG_MAX_TEXT "|NULL|7|5", "overflow@3"},
        {"(+ d x)", "4|NULL|NULL|-0.5|0|NULL", "overflow@2"},
        {"(- d x)", "-1|NULL|0|-0.5|5|NULL", NULL},
        {"(* d x)", "3.75|NULL|NULL|-0|-6.25|NULL", "overflow@2"},
        {"(/ d x)", "0.6|NULL|1|NULL|-1|NULL", "division by zero@3"},
        {"(/ 0 x)", "0|NULL|0|NULL|-0|NULL", "division by zero@1 division by zero@3"},
        {"(% d x)", "1.5|NULL|0|NULL|0|NULL", "division by zero@3"},
        {"(+ l d)", "2.5|NULL|1e+308|-9223372036854776000|-4.5|12", NULL},
        {"(neg d)", "-1.5|NULL|-1e+308|0.5|-2.5|-7", NULL},
        {"(abs d)", "1.5|NULL|1e+308|0.5|2.5|7", NULL},
        {"(round d)", "2|NULL|1e+308|-1|3|7", NULL},
        {"(round l)", "1|NULL|" LONG_MAX_TEXT "|" LONG_MIN_TEXT "|-7|5", NULL},
        {"(round l -1)", "0|NULL|NULL|NULL|-10|10", "overflow@2 overflow@3"},
        {"(round l -19)", "0|NULL|NULL|NULL|0|0", "overflow@2 overflow@3"},
        {"(round l -20)", "0|NULL|0|0|0|0", NULL},
        {"(round l m)", "1|NULL|" LONG_MAX_TEXT "|NULL|-7|NULL", "overflow@3"},
        {"(round d 1)", "1.5|NULL|1e+308|-0.5|2.5|7", NULL},
        {"(+ (* d 2) (+ x l))", "6.5|NULL|NULL|-9223372036854776000|-4.5|NULL", "overflow@2"},
        {"(+ t 1000)", "1000|NULL|1699173601000|999|86401000|NULL", NULL},
        {"(+ 1000 t)", "1000|NULL|1699173601000|999|86401000|NULL", NULL},
        {"(- t 1)", "-1|NULL|1699173599999|-2|86399999|NULL", NULL},
        {"(- t u)", "-1|NULL|0|86399999|NULL|NULL", NULL},
        {"(+ l null)", "NULL|NULL|NULL|NULL|NULL|NULL", NULL},
        {"(+ (/ 1 0) l)", "NULL|NULL|NULL|NULL|NULL|NULL",
         "division by zero@0 division by zero@1 division by zero@2 division by zero@3 "
         "division by zero@4 division by zero@5"},
    };
    check_rows(rows, SF_COUNT_OF(rows));
}

void comparisons(void)
{
    static const expr_row rows[] = {
        {"(= l m)", "false|NULL|false|false|false|NULL", NULL},
        {"(< l m)", "true|NULL|false|true|true|NULL", NULL},
        {"(>= l 1)", "true|NULL|true|false|false|true", NULL},
        {"(< 1 l)", "false|NULL|true|false|false|true", NULL},
        {"(<> d x)", "true|NULL|false|true|true|NULL", NULL},
        {"(<= d x)", "true|NULL|true|true|false|NULL", NULL},
        {"(> d 2)", "false|NULL|true|false|true|true", NULL},
        /* Long against Double, by value: the largest Long is below 2^63 */
        {"(< l 9223372036854775808.0)", "true|NULL|true|true|true|true", NULL},
        {"(= l 9223372036854775808.0)", "false|NULL|false|false|false|false", NULL},
        {"(>= l -9223372036854775808.0)", "true|NULL|true|true|true|true", NULL},
        {"(< l 0.5)", "false|NULL|false|true|true|false", NULL},
        {"(<= l 0.5)", "false|NULL|false|true|true|false", NULL},
        {"(> l 0.5)", "true|NULL|true|false|false|true", NULL},
        {"(>= l 0.5)", "true|NULL|true|false|false|true", NULL},
        {"(< -6.5 l)", "true|NULL|true|false|false|true", NULL},
        {"(= l 0.5)", "false|NULL|false|false|false|false", NULL},
        {"(<> l 0.5)", "true|NULL|true|true|true|true", NULL},
        {"(< l 1e300)", "true|NULL|true|true|true|true", NULL},
        {"(> l -1e300)", "true|NULL|true|true|true|true", NULL},
        {"(< m d)", "false|NULL|true|true|true|NULL", NULL},
        {"(> d m)", "false|NULL|true|true|true|NULL", NULL},
        {"(= m x)", "false|false|false|false|false|NULL", NULL},
        /* text by bytes */
        {"(= s r)", "false|NULL|true|false|false|NULL", NULL},
        {"(<> s r)", "true|NULL|false|true|true|NULL", NULL},
        {"(< s r)", "true|NULL|false|true|false|NULL", NULL},
        {"(>= s r)", "false|NULL|true|false|true|NULL", NULL},
        {"(= s 'abc')", "true|NULL|false|false|false|false", NULL},
        {"(= 'a text longer than twelve bytes' s)", "false|NULL|false|true|false|false", NULL},
        {"(<> s 'a text longer than twelve bytez')", "true|NULL|true|true|true|true", NULL},
        {"(< s 'abcd')", "true|NULL|true|true|true|true", NULL},
        {"(> 'abcd' s)", "true|NULL|true|true|true|true", NULL},
        {"(= b c)", "true|NULL|true|false|NULL|NULL", NULL},
        {"(> b c)", "false|NULL|false|true|NULL|NULL", NULL},
        {"(= b true)", "true|NULL|false|true|false|true", NULL},
        {"(< t u)", "true|NULL|false|false|NULL|NULL", NULL},
        {"(= t l)", "false|NULL|false|false|false|NULL", NULL},
        {"(>= t 0)", "true|NULL|true|false|true|NULL", NULL},
        {"(= t '1970-01-02')", "false|NULL|false|false|true|NULL", NULL},
        {"(< '1969-12-31T23:59:59.999Z' t)", "true|NULL|true|false|true|NULL", NULL},
        {"(> t 0.5)", "false|NULL|true|false|true|NULL", NULL},
        {"(= j null)", "NULL|NULL|NULL|NULL|NULL|NULL", NULL},
        {"(between l 0 5)", "true|NULL|false|false|false|true", NULL},
        {"(between (+ m 0) 0 m)", "true|true|true|false|true|NULL", NULL},
        {"(between (+ m 0) 1 null)", "NULL|NULL|NULL|false|false|NULL", NULL},
        {"(between (- m 0.5) -2 1)", "false|false|true|true|true|NULL", NULL},
        {"(in m 2 3)", "true|true|false|false|false|NULL", NULL},
        {"(in m 2 null)", "true|NULL|NULL|NULL|NULL|NULL", NULL},
        {"(in m 1.0 l)", "false|NULL|true|false|false|NULL", NULL},
        {"(in s 'abc' '' r)", "true|NULL|true|false|false|NULL", NULL},
        {"(in m 9 8 7 6 5 4 3 2 2 1.0)", "true|true|true|false|false|NULL", NULL},
        {"(in m 9 8 7 6 5 4 null 3 2 10)", "true|true|NULL|NULL|NULL|NULL", NULL},
        {"(in s 'i' 'h' 'g' 'f' 'abc' 'd' 'c' ' 42 ' '')", "true|NULL|true|false|false|true", NULL},
        {"(in d 7 6 5 4 3 2 1.5 0 -0.5)", "true|NULL|false|true|false|true", NULL},
        {"(in t @0 @1 @2 @3 @4 @5 @6 @7 '1970-01-02')", "true|NULL|false|false|true|NULL", NULL},
        {"(in null 1)", "NULL|NULL|NULL|NULL|NULL|NULL", NULL},
        {"(is_distinct_from l m)", "true|true|true|true|true|true", NULL},
        {"(is_distinct_from m 3)", "true|false|true|true|true|true", NULL},
        {"(is_not_distinct_from b c)", "true|false|true|false|false|false", NULL},
        {"(is_not_distinct_from x null)", "false|false|false|false|false|true", NULL},
        {"(is_distinct_from j null)", "true|false|true|true|true|true", NULL},
        {"(is_distinct_from s r)", "true|true|false|true|true|true", NULL},
        {"(is_distinct_from m x)", "true|true|true|true|true|false", NULL},
    };
    check_rows(rows, SF_COUNT_OF(rows));
}

void logic_of_three_values(void)
{
    static const expr_row rows[] = {
        {"(and b c)", "true|false|false|false|false|NULL", NULL},
        {"(or b c)", "true|NULL|false|true|NULL|true", NULL},
        {"(not b)", "false|NULL|true|false|true|false", NULL},
        {"(and b null)", "NULL|NULL|false|NULL|false|NULL", NULL},
        {"(or b null)", "true|NULL|NULL|true|NULL|true", NULL},
        {"(and b true c)", "true|false|false|false|false|NULL", NULL},
        {"(and b false)", "false|false|false|false|false|false", NULL},
        /* m is 0 in row 4 and NULL in row 5: the division happens only where it may */
        {"(and (<> m 0) (> (/ l m) 0))", "true|NULL|true|true|false|NULL", NULL},
        {"(or (= m 0) (> (/ l m) 0))", "true|NULL|true|true|true|NULL", NULL},
        {"(and (> (/ l m) 0) (<> m 0))", "true|NULL|true|true|false|NULL", "division by zero@4"},
        {"(and (> l 0) (> m 0) (= (% 10 m) 0))", "true|false|true|false|false|NULL", NULL},
        {"(and (= m 99) (> (/ l m) 1) c)", "false|false|false|false|false|NULL", NULL},
        {"(not (= l l))", "false|NULL|false|false|false|false", NULL},
        {"(and (is_not_null l) (> (+ l 1) 0) (= s 'abc'))", "true|false|false|false|false|false",
         "overflow@2"},
    };
    check_rows(rows, SF_COUNT_OF(rows));
}

void null_tests(void)
{
    static const expr_row rows[] = {
        {"(is_null l)", "false|true|false|false|false|false", NULL},
        {"(is_not_null s)", "true|false|true|true|true|true", NULL},
        {"(is_null j)", "false|true|false|false|false|false", NULL},
        {"(is_null (+ l m))", "false|true|true|true|false|true", "overflow@2 overflow@3"},
        {"(is_null null)", "true|true|true|true|true|true", NULL},
        {"(is_true b)", "true|false|false|true|false|true", NULL},
        {"(is_not_true b)", "false|true|true|false|true|false", NULL},
        {"(is_false b)", "false|false|true|false|true|false", NULL},
        {"(is_not_false b)", "true|true|false|true|false|true", NULL},
        {"(is_null b)", "false|true|false|false|false|false", NULL},
    };
    check_rows(rows, SF_COUNT_OF(rows));
}

void branches(void)
{
    static const expr_row rows[] = {
        {"(case (<> m 0) (/ l m) -1)", "0.5|NULL|9223372036854776000|9223372036854776000|-1|-1",
         NULL},
        {"(if b 'yes' 'no')", "yes|no|no|yes|no|yes", NULL},
        {"(if b s 'a constant longer than twelve')",
         "abc|a constant longer than twelve|a constant longer than twelve|a text longer than "
         "twelve "
         "bytes|a constant longer than twelve| 42 ",
         NULL},
        {"(case (= m 2) s (= m 3) r 'else')", "abc|x|else|else|else|else", NULL},
        {"(case b l null)", "1|NULL|NULL|" LONG_MIN_TEXT "|NULL|5", NULL},
        {"(case b null l)", "NULL|NULL|" LONG_MAX_TEXT "|NULL|-7|NULL", NULL},
        {"(case b d m)", "1.5|3|1|-0.5|0|7", NULL},
        {"(case (> l 0) 1 (< l 0) -1 0)", "1|0|1|-1|-1|1", NULL},
        {"(case (> x 0) x 2.5)", "2.5|2.5|1e+308|2.5|2.5|2.5", NULL},
        {"(case b c (not c))", "true|true|true|false|NULL|NULL", NULL},
        {"(case (is_null b) t u)", "1|NULL|1699173600000|-86400000|NULL|7", NULL},
        {"(case true l m)", "1|NULL|" LONG_MAX_TEXT "|" LONG_MIN_TEXT "|-7|5", NULL},
        {"(case false l null m 3)", "3|3|3|3|3|3", NULL},
        {"(case (> (/ 1 m) 0) 1 2)", "1|1|1|2|2|2", "division by zero@4"},
        {"(coalesce l m)", "1|3|" LONG_MAX_TEXT "|" LONG_MIN_TEXT "|-7|5", NULL},
        {"(coalesce m l d)", "2|3|1|-1|0|5", NULL},
        {"(coalesce null s 'none')",
         "abc|none||a text longer than twelve bytes|Stra\xc3\x9f"
         "e| 42 ",
         NULL},
        {"(coalesce (+ l m) (/ m 0) 9)", "3|9|9|9|-7|9",
         "overflow@2 overflow@3 division by zero@1 division by zero@2 division by zero@3"},
        {"(coalesce x d)", "2.5|0|1e+308|0|-2.5|7", NULL},
        {"(coalesce null null)", "NULL|NULL|NULL|NULL|NULL|NULL", NULL},
        {"(coalesce b c)", "true|false|false|true|false|true", NULL},
    };
    check_rows(rows, SF_COUNT_OF(rows));
}

void conversions(void)
{
    static const expr_row rows[] = {
        {"(to_long s)", "NULL|NULL|NULL|NULL|NULL|42",
         "value cannot be converted@0 value cannot be converted@2 value cannot be converted@3 "
         "value cannot be converted@4"},
        {"(coalesce (to_double s) 0)", "0|0|0|0|0|42",
         "value cannot be converted@0 value cannot be converted@2 value cannot be converted@3 "
         "value cannot be converted@4"},
        {"(to_long d)", "1|NULL|NULL|0|2|7", "value cannot be converted@2"},
        {"(to_timestamp d)", "1|NULL|NULL|0|2|7", "value cannot be converted@2"},
        {"(to_long b)", "1|NULL|0|1|0|1", NULL},
        {"(to_double b)", "1|NULL|0|1|0|1", NULL},
        {"(to_long t)", "0|NULL|1699173600000|-1|86400000|NULL", NULL},
        {"(to_double t)", "0|NULL|1699173600000|-1|86400000|NULL", NULL},
        {"(to_timestamp m)", "2|3|1|-1|0|NULL", NULL},
        {"(to_bool m)", "true|true|true|true|false|NULL", NULL},
        {"(to_bool x)", "true|false|true|false|true|NULL", NULL},
        {"(to_bool s)", "true|NULL|false|true|true|true", NULL},
        {"(to_string l)", "1|NULL|" LONG_MAX_TEXT "|" LONG_MIN_TEXT "|-7|5", NULL},
        {"(to_string d)", "1.5|NULL|1e+308|-0.5|2.5|7", NULL},
        {"(to_string b)", "true|NULL|false|true|false|true", NULL},
        /* a bare Timestamp column prints its milliseconds, a computed one as ISO-8601 */
        {"(to_string t)", "0|NULL|1699173600000|-1|86400000|NULL", NULL},
        {"(to_string (to_timestamp (to_long t)))",
         "1970-01-01T00:00:00.000Z|NULL|2023-11-05T08:40:00.000Z|1969-12-31T23:59:59.999Z|"
         "1970-01-02T00:00:00.000Z|NULL",
         NULL},
        {"(cast String m)", "2|3|1|-1|0|NULL", NULL},
        {"(cast Long l)", "1|NULL|" LONG_MAX_TEXT "|" LONG_MIN_TEXT "|-7|5", NULL},
        {"(to_long (-> j 'a'))", "1|NULL|NULL|NULL|NULL|NULL", "value cannot be converted@3"},
        {"(to_long (-> j 'n'))", "NULL|NULL|NULL|12|NULL|NULL", NULL},
        {"(to_double (-> (-> j 'b') 1))", "20.5|NULL|NULL|NULL|NULL|NULL", NULL},
        {"(to_timestamp j)", "NULL|NULL|NULL|NULL|NULL|1709208000000",
         "value cannot be converted@0 value cannot be converted@2 value cannot be converted@3 "
         "value cannot be converted@4"},
        {"(to_bool (-> (-> j 2) 'z'))", "NULL|NULL|NULL|NULL|true|NULL", NULL},
        {"(to_string (-> j 's'))", "txt|NULL|NULL|NULL|NULL|NULL", NULL},
        {"(to_string (-> j 1))", "NULL|NULL|NULL|NULL|two\n|NULL", NULL},
    };
    static const value_row values[] = {
        {"(to_long ' +12 ')", "12"},
        {"(to_double '1e3')", "1000"},
        {"(to_double ' -.5')", "-0.5"},
        {"(to_long -3.9)", "-3"},
        {"(to_long -9223372036854775808.0)", LONG_MIN_TEXT},
        {"(to_bool 'FALSE')", "false"},
        {"(to_bool ' 0 ')", "false"},
        {"(to_bool 'no')", "true"},
        {"(to_timestamp '2023-11-05T01:40:00-07:00')", "1699173600000"},
        {"(to_timestamp '1699173600000')", "1699173600000"},
        {"(to_string 0.1)", "0.1"},
        {"(to_string 1e300)", "1e+300"},
        {"(to_long j'9007199254740993')", "9007199254740993"},
        {"(to_long j'3e2')", "300"},
        {"(to_long j'-2.9')", "-2"},
        {"(to_long j'\" 8 \"')", "8"},
        {"(to_long j'true')", "1"},
        {"(to_long j'null')", "NULL"},
        {"(to_double j'\"1.5\"')", "1.5"},
        {"(to_bool j'0')", "false"},
        {"(to_bool j'\"false\"')", "false"},
        {"(to_timestamp j'1000')", "1000"},
        {"(to_string j'{\"a\": 1}')", "{\"a\": 1}"},
        {"(to_string j'null')", "NULL"},
    };
    check_rows(rows, SF_COUNT_OF(rows));
    check_values(values, SF_COUNT_OF(values));
}

void json_paths(void)
{
    static const expr_row rows[] = {
        {"(-> j 'a')", "1|NULL|NULL|{\"k\":\"a value of some length\"}|NULL|NULL", NULL},
        {"(->> j 'a')", "1|NULL|NULL|{\"k\":\"a value of some length\"}|NULL|NULL", NULL},
        {"(->> (-> j 'a') 'k')", "NULL|NULL|NULL|a value of some length|NULL|NULL", NULL},
        {"(-> (-> j 'a') 'k')", "NULL|NULL|NULL|\"a value of some length\"|NULL|NULL", NULL},
        {"(-> j 'b')", "[10,20.5]|NULL|[]|NULL|NULL|NULL", NULL},
        {"(-> (-> j 'b') 0)", "10|NULL|NULL|NULL|NULL|NULL", NULL},
        {"(->> j 1)", "NULL|NULL|NULL|NULL|two\n|NULL", NULL},
        {"(->> j -1)", "NULL|NULL|NULL|NULL|NULL|NULL", NULL},
        {"(->> j 2)", "NULL|NULL|NULL|NULL|{\"z\":true}|NULL", NULL},
        {"(= (->> j 's') 'txt')", "true|NULL|NULL|NULL|NULL|NULL", NULL},
    };
    static const value_row values[] = {
        {"(->> j'{\"a.b\":1,\"a\":{\"b\":2}}' 'a.b')", "1"},
        {"(->> j'{\"a\":\"null\"}' 'a')", "null"},
        {"(->> j'{\"a\":false}' 'a')", "false"},
        {"(->> j'{\"a\":1,\"a\":2}' 'a')", "2"},
        {"(->> j'{\"\\u0061\":\"x\"}' 'a')", "x"},
        {"(->> j'[[1,2],[3]]' 1)", "[3]"},
    };
    check_rows(rows, SF_COUNT_OF(rows));
    check_values(values, SF_COUNT_OF(values));
}

void texts(void)
{
    static const expr_row rows[] = {
        {"(upper s)",
         "ABC|NULL||A TEXT LONGER THAN TWELVE BYTES|STRA\xc3\x9f"
         "E| 42 ",
         NULL},
        {"(lower r)", "abd|x||a text longer than twelve bytes!|strasse|NULL", NULL},
        {"(|| s r)",
         "abcabd|NULL||a text longer than twelve bytesa text longer than twelve bytes!|"
         "Stra\xc3\x9f"
         "eSTRASSE|NULL",
         NULL},
        {"(|| 'n=' m)", "n=2|n=3|n=1|n=-1|n=0|NULL", NULL},
        {"(|| (|| b '/') x)", "true/2.5|NULL|false/1e+308|true/0|false/-2.5|NULL", NULL},
        {"(|| '<' (-> j 's'))", "<txt|NULL|NULL|NULL|NULL|NULL", NULL},
    };
    static const value_row values[] = {
        {"(upper 'caf\xc3\xa9 \xce\xb4')", "CAF\xc3\x89 \xce\x94"},
        {"(lower '\xc3\x84\xd0\x96')", "\xc3\xa4\xd0\xb6"},
        {"(upper 'a\xff"
         "b')",
         "A\xff"
         "B"},
        {"(|| 'it''s' ' so')", "it's so"},
        {"(|| null 'a')", "NULL"},
    };
    check_rows(rows, SF_COUNT_OF(rows));
    check_values(values, SF_COUNT_OF(values));
}

void patterns(void)
{
    static const expr_row rows[] = {
        {"(like s 'a%')", "true|NULL|false|true|false|false", NULL},
        {"(like s '%bytes')", "false|NULL|false|true|false|false", NULL},
        {"(like s '%t%')", "false|NULL|false|true|true|false", NULL},
        {"(like s 'abc')", "true|NULL|false|false|false|false", NULL},
        {"(like s '%')", "true|NULL|true|true|true|true", NULL},
        {"(like s '')", "false|NULL|true|false|false|false", NULL},
        {"(like s 'Stra_e')", "false|NULL|false|false|true|false", NULL},
        {"(like s '_%_')", "true|NULL|false|true|true|true", NULL},
        {"(like s r)", "false|NULL|true|false|false|NULL", NULL},
        {"(ilike s 'A%')", "true|NULL|false|true|false|false", NULL},
        {"(ilike s 'STRA\xc3\x9f%')", "false|NULL|false|false|true|false", NULL},
        {"(not (like s '%e%'))", "true|NULL|true|false|false|true", NULL},
        {"(like s '%\\')", "NULL|NULL|NULL|NULL|NULL|NULL",
         "argument outside the function's domain@0 argument outside the function's domain@2 "
         "argument outside the function's domain@3 argument outside the function's domain@4 "
         "argument outside the function's domain@5"},
    };
    static const value_row values[] = {
        {"(like 'a%b' 'a\\%b')", "true"},
        {"(like 'axb' 'a\\%b')", "false"},
        {"(like 'a%b' 'a!%b' '!')", "true"},
        {"(like 'a\\b' 'a\\b' '')", "true"},
        {"(like 'aXbXc' 'a%b%c')", "true"},
        {"(like 'aaaaaaaaaaaaaaaaaaaab' '%a%a%a%a%a%c')", "false"},
        {"(like 'mississippi' '%iss%ip%')", "true"},
        {"(like 'mississippi' 'm%iss%iss')", "false"},
        {"(like '\xf0\x9f\x98\x80' '_')", "true"},
        {"(like '\xff' '_')", "true"},
        {"(ilike '\xc3\x84' '\xc3\xa4')", "true"},
        {"(like 'a_b' 'a\\_b')", "true"},
        {"(like 'ab' 'a%%b')", "true"},
    };
    check_rows(rows, SF_COUNT_OF(rows));
    check_values(values, SF_COUNT_OF(values));
}

void keys(void)
{
    static const expr_row rows[] = {
        {"(key (* d x))", "3.75|NULL|NULL|0|-6.25|NULL", "overflow@2"},
        {"(key s)",
         "abc|NULL||a text longer than twelve bytes|Stra\xc3\x9f"
         "e| 42 ",
         NULL},
        {"(key j)",
         "{\"a\":1,\"b\":[10,20.5],\"s\":\"txt\"}|NULL|{\"a\":null,\"b\":[]}|"
         "{\"a\":{\"k\":\"a value of some length\"},\"n\":\"12\"}|[1,\"two\\n\",{\"z\":true}]|"
         "\"2024-02-29T12:00:00Z\"",
         NULL},
    };
    static const value_row values[] = {
        {"(key -0.0)", "0"},
        {"(key j'{ \"b\" : 1.0, \"a\" : [ 1e0 ] }')", "{\"a\":[1],\"b\":1}"},
    };
    check_rows(rows, SF_COUNT_OF(rows));
    check_values(values, SF_COUNT_OF(values));
}

void constants_fold(void)
{
    static const value_row values[] = {
        {"(+ 1 (* 2 3))", "7"},
        {"(/ 1 2)", "0.5"},
        {"(round 2.675 2)", "2.68"},
        {"(round 1234.5678 2)", "1234.57"},
        {"(round 1250 -2)", "1300"},
        {"(round -1250 -2)", "-1300"},
        {"(round 15.0 -1)", "20"},
        {"(round 1e308 5)", "1e+308"},
        {"(round 5.5 -400)", "0"},
        {"(% -7.5 2)", "-1.5"},
        {"(case (> 2 1) 'a' 'b')", "a"},
        {"(coalesce null 2)", "2"},
        {"(and true (or false null))", "NULL"},
        {"(and false null)", "false"},
        {"(or null true)", "true"},
        {"(between 3 1 5)", "true"},
        {"(in 'b' 'a' 'b')", "true"},
        {"(is_null null)", "true"},
        {"(is_distinct_from null null)", "false"},
        {"(= 9007199254740993 9007199254740992.0)", "false"},
        {"(< 9007199254740992.0 9007199254740993)", "true"},
        {"(cast Double null)", "NULL"},
    };
    check_values(values, SF_COUNT_OF(values));
}
