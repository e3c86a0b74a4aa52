#include "unit/sql/world.h"

static const sf_field trades[] = {{"symbol", SF_TYPE_UTF8, false},
                                  {"price", SF_TYPE_F64, false},
                                  {"qty", SF_TYPE_I64, false},
                                  {"side", SF_TYPE_UTF8, false},
                                  {"venue", SF_TYPE_UTF8, false}};
static const sf_field quotes[] = {{"symbol", SF_TYPE_UTF8, false},
                                  {"bid", SF_TYPE_F64, false},
                                  {"ask", SF_TYPE_F64, false},
                                  {"venue", SF_TYPE_UTF8, false}};
static const sf_field structures[] = {{"trade_id", SF_TYPE_UTF8, false},
                                      {"legs", SF_TYPE_JSON, false},
                                      {"n", SF_TYPE_I64, false},
                                      {"t", SF_TYPE_TIMESTAMP, false},
                                      {"ok", SF_TYPE_BOOL, false}};
static const sf_field changes[] = {{"k", SF_TYPE_I64, false}, {"v", SF_TYPE_I64, false}};
static const sf_field positions[] = {{"symbol", SF_TYPE_UTF8, false},
                                     {"trades", SF_TYPE_I64, false},
                                     {"avg_price", SF_TYPE_F64, false}};

static const struct {
    const char *name;
    sf_input_kind kind;
    const sf_field *fields;
    uint32_t count;
    bool append_only;
} relations[] = {
    {"trades", SF_INPUT_SOURCE, trades, SF_COUNT_OF(trades), true},
    {"quotes", SF_INPUT_SOURCE, quotes, SF_COUNT_OF(quotes), true},
    {"structures", SF_INPUT_SOURCE, structures, SF_COUNT_OF(structures), true},
    {"changes", SF_INPUT_SOURCE, changes, SF_COUNT_OF(changes), false},
    {"positions", SF_INPUT_TABLE, positions, SF_COUNT_OF(positions), false},
    {"bars", SF_INPUT_PIPELINE, positions, SF_COUNT_OF(positions), true},
};

bool world_init(world *w)
{
    bool good = true;
    for (size_t i = 0; i < SF_COUNT_OF(relations); i++) {
        w->schemas[i] = sf_schema_new(relations[i].fields, relations[i].count);
        good = good && w->schemas[i];
    }
    return good;
}

void world_deinit(world *w)
{
    for (size_t i = 0; i < SF_COUNT_OF(relations); i++)
        sf_schema_unref(w->schemas[i]);
}

static void describe(const world *w, size_t i, sf_relation *out)
{
    *out = (sf_relation){relations[i].name, relations[i].kind, w->schemas[i],
                         relations[i].append_only};
}

static sf_status find(void *self, sf_str name, sf_relation *out, sf_error *err)
{
    for (size_t i = 0; i < SF_COUNT_OF(relations); i++) {
        if (sf_str_eq(name, sf_str_of(relations[i].name))) {
            describe(self, i, out);
            return SF_OK;
        }
    }
    if (sf_str_eq(name, SF_STR("both")))
        return sf_fail(err, SF_CONFLICT, "\"both\" is a stream and a table");
    return sf_fail(err, SF_NOT_FOUND, "there is no such relation");
}

static void list(void *self, bool (*visit)(void *arg, const sf_relation *relation), void *arg)
{
    sf_relation relation;
    bool more = true;
    for (size_t i = 0; more && i < SF_COUNT_OF(relations); i++) {
        describe(self, i, &relation);
        more = visit(arg, &relation);
    }
}

/* structures.legs is {user {id, tier}, size} */
static void keys(void *self, sf_str relation, sf_str column, const sf_str *path, size_t path_len,
                 void (*visit)(void *arg, const char *key, const char *type), void *arg)
{
    SF_UNUSED(self);
    if (!sf_str_eq(relation, SF_STR("structures")) || !sf_str_eq(column, SF_STR("legs")))
        return;
    if (path_len == 0) {
        visit(arg, "user", "Json");
        visit(arg, "size", "Long");
    } else if (path_len == 1 && sf_str_eq(path[0], SF_STR("user"))) {
        visit(arg, "id", "String");
        visit(arg, "tier", "String");
    }
}

sf_resolver world_resolver(world *w)
{
    return (sf_resolver){.find = find, .list = list, .keys = keys, .self = w};
}
