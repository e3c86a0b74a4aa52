/* suites.h: the parts of unit_sql; each runs its cases and returns 1 when any failed. */
#ifndef SF_TESTS_UNIT_SQL_SUITES_H
#define SF_TESTS_UNIT_SQL_SUITES_H

int suite_lexer(void);
int suite_parse(void);
int suite_refuse(void);
int suite_bind(void);
int suite_bind_refuse(void);
int suite_complete(void);

#endif
