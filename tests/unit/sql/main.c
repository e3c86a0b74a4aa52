#include "unit/sql/suites.h"

int main(void)
{
    return suite_lexer() | suite_parse() | suite_refuse() | suite_bind() | suite_bind_refuse() |
           suite_complete();
}
