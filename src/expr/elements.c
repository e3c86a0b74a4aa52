/* Elements of JSON arrays, for operators that unnest them. */
#include "expr/expr.h"
#include "text/text.h"

bool sf_elements_begin(sf_str array, sf_elements *iter)
{
    *iter = (sf_elements){.text = array};
    return sf_json_kind_of(array) == SF_JSON_ARRAY;
}

bool sf_elements_next(sf_elements *iter, sf_str *element)
{
    return sf_json_each(iter->text, &iter->pos, element);
}
