/* The catalog: names, revisions, states, keys, and that all of it survives. */
#include "store/store.h"
#include "tests.h"

#include <pthread.h>

static const sf_field two_columns[] = {
    {.name = "sym", .type = SF_TYPE_UTF8},
    {.name = "n", .type = SF_TYPE_I64},
};

/* As a compilation would: reads source s, gives `count` of the columns, keyed by the first. */
static sf_derived derived_of(const char *const *inputs, uint32_t count)
{
    static const char *const key[] = {"sym"};
    return (sf_derived){
        .output = {.columns = two_columns, .count = count},
        .stream_inputs = {inputs, 1},
        .key_fields = {key, 1},
        .has_key = true,
    };
}

static const sf_def *find(world *w, sf_entity_kind kind, const char *key)
{
    const sf_def *def = NULL;
    return sf_catalog_find(w->catalog, kind, "", sf_str_of(key), &def, &w->err) == SF_OK ? def
                                                                                         : NULL;
}

static void instances_are_somebody(void)
{
    world w = {0};
    char id[SF_ID_BYTES + 1];
    REQUIRE(world_open(&w));
    memcpy(id, sf_catalog_instance_id(w.catalog), sizeof id);
    CHECK_INT(strlen(id), 32);
    REQUIRE(world_reopen(&w));
    CHECK_STR(sf_catalog_instance_id(w.catalog), id);
    world_close(&w);

    static const char *const broken[] = {"{}", "{\"instanceId\":\"xyz\"}", "not JSON"};
    for (size_t i = 0; i < SF_COUNT_OF(broken); i++) {
        world v = {0};
        sf_buf path = {0};
        REQUIRE(world_open(&v));
        sf_catalog_close(v.catalog);
        v.catalog = NULL;
        sf_buf_printf(&path, "%s/instance.json", v.dir);
        CHECK_INT(sf_disk_replace(&v.disk, path.data, broken[i], strlen(broken[i]), &v.err), SF_OK);
        sf_catalog_options options = {
            .disk = v.disk, .clock = sf_clock_system(), .random = sf_random_system(), .dir = v.dir};
        CHECK_INT(sf_catalog_open(&options, &v.catalog, &v.err), i < 2 ? SF_CORRUPT : SF_SYNTAX);
        sf_buf_deinit(&path);
        world_close(&v);
    }
}

static void everything_survives(void)
{
    world w = {0};
    REQUIRE(world_open(&w));
    static const char *const inputs[] = {"s"};
    char before[3][4096];
    const sf_def *s = create(&w, SF_ENTITY_SOURCE,
                             "{'name':'s','tags':['x'],'fields':[{'name':'a','type':'Json',"
                             "'isArray':true,'children':[{'name':'b','type':'Bool'}]}]}");
    const sf_def *p =
        create(&w, SF_ENTITY_PIPELINE, "{'name':'p','sql':'SELECT','replayFrom':{'s':{'seq':5}}}");
    sf_def *parsed = parse(&w, SF_ENTITY_TABLE, "{'name':'t','sql':'q','parallelism':4}", NULL);
    const sf_def *t = NULL;
    sf_derived derived = derived_of(inputs, 2);
    REQUIRE(s && p && parsed);
    REQUIRE_OK(sf_def_set_derived(parsed, &derived, &w.err), w.err);
    REQUIRE_OK(sf_catalog_create(w.catalog, parsed, "ann", &t, &w.err), w.err);
    sf_def_unref(p);
    REQUIRE_OK(sf_catalog_set_state(w.catalog, p->id, true, "1:1 no", &p, &w.err), w.err);
    REQUIRE_OK(sf_catalog_put_fact(w.catalog, "seeded", SF_STR("yes\0no"), &w.err), w.err);
    CHECK(strstr(shown(&w, p), "'status':'Failed','error':'1:1 no'"));
    CHECK(strstr(shown(&w, t), "'streamInputs':['s'],'tableInputs':[],'pipelineInputs':[],"
                               "'keyFields':['sym'],'outputFields':[{'name':'sym','type':'String',"
                               "'children':null,'isArray':false},{'name':'n','type':'Long',"
                               "'children':null,'isArray':false}]"));
    snprintf(before[0], sizeof before[0], "%s", shown(&w, s));
    snprintf(before[1], sizeof before[1], "%s", shown(&w, p));
    snprintf(before[2], sizeof before[2], "%s", shown(&w, t));
    sf_def_unref(s);
    sf_def_unref(p);
    sf_def_unref(t);
    REQUIRE(world_reopen(&w));
    s = find(&w, SF_ENTITY_SOURCE, "s");
    p = find(&w, SF_ENTITY_PIPELINE, "p");
    t = find(&w, SF_ENTITY_TABLE, "t");
    REQUIRE(s && p && t);
    CHECK_STR(shown(&w, s), before[0]);
    CHECK_STR(shown(&w, p), before[1]);
    CHECK_STR(shown(&w, t), before[2]);
    CHECK(p->running && sf_def_query(t)->compiled && !sf_def_query(p)->compiled);
    sf_buf fact = {0};
    REQUIRE_OK(sf_catalog_get_fact(w.catalog, "seeded", &fact, &w.err), w.err);
    CHECK(sf_str_eq(sf_buf_str(&fact), SF_STR("yes\0no")));
    CHECK_INT(sf_catalog_get_fact(w.catalog, "other", &fact, &w.err), SF_NOT_FOUND);
    sf_buf_deinit(&fact);
    sf_def_unref(s);
    sf_def_unref(p);
    sf_def_unref(t);
    world_close(&w);
}

static void names_are_shared_by_all_kinds(void)
{
    world w = {0};
    REQUIRE(world_open(&w));
    const sf_def *s = create(&w, SF_ENTITY_SOURCE, "{'name':'x'}");
    CHECK(!create(&w, SF_ENTITY_SOURCE, "{'name':'x'}"));
    CHECK_INT(w.err.status, SF_EXISTS);
    CHECK(!create(&w, SF_ENTITY_TABLE, "{'name':'x','sql':'q'}"));
    CHECK_STR(w.err.message, "the name \"x\" is already used by another source");
    const sf_def *upper = create(&w, SF_ENTITY_PIPELINE, "{'name':'X','sql':'q'}"); /* by case */
    REQUIRE(s && upper);
    CHECK(!update(&w, upper, "{'name':'x','sql':'q'}"));
    CHECK_INT(w.err.status, SF_EXISTS);
    CHECK(!update(&w, s, "{'name':'y'}"));
    CHECK_STR(w.err.message, "source \"x\": a source cannot be renamed, to \"y\" or else");
    const sf_def *renamed = update(&w, upper, "{'name':'z','sql':'q'}");
    REQUIRE(renamed);
    const sf_def *found = NULL;
    CHECK_INT(sf_catalog_find_name(w.catalog, "", SF_STR("X"), &found, &w.err), SF_NOT_FOUND);
    CHECK_INT(sf_catalog_find_name(w.catalog, "", SF_STR("z"), &found, &w.err), SF_OK);
    CHECK(found == renamed);
    sf_def_unref(found);
    REQUIRE_OK(sf_catalog_delete(w.catalog, s, 0, &w.err), w.err);
    CHECK_INT(sf_catalog_delete(w.catalog, s, 0, &w.err), SF_NOT_FOUND);
    const sf_def *again = create(&w, SF_ENTITY_TABLE, "{'name':'x','sql':'q'}");
    CHECK(again);
    sf_def_unref(s);
    sf_def_unref(upper);
    sf_def_unref(renamed);
    sf_def_unref(again);
    world_close(&w);
}

static void keys_resolve_by_id_then_name(void)
{
    world w = {0};
    REQUIRE(world_open(&w));
    const sf_def *a = create(&w, SF_ENTITY_TABLE, "{'name':'a','sql':'q'}");
    char json[128];
    snprintf(json, sizeof json, "{'name':'%s','sql':'q'}", a->id); /* a name that is an id */
    const sf_def *b = create(&w, SF_ENTITY_TABLE, json);
    REQUIRE(a && b);
    const sf_def *found = find(&w, SF_ENTITY_TABLE, a->id);
    CHECK(found == a); /* the id wins */
    sf_def_unref(found);
    found = find(&w, SF_ENTITY_TABLE, "a");
    CHECK(found == a);
    sf_def_unref(found);
    CHECK(!find(&w, SF_ENTITY_PIPELINE, "a"));
    CHECK_INT(w.err.status, SF_NOT_FOUND);
    CHECK_STR(w.err.message, "pipeline \"a\" does not exist");
    CHECK(!find(&w, SF_ENTITY_TABLE, "A"));
    CHECK_INT(sf_catalog_find_exact(w.catalog, SF_ENTITY_TABLE, "", SF_STR("a"), &found, &w.err),
              SF_NOT_FOUND);
    CHECK_INT(
        sf_catalog_find_exact(w.catalog, SF_ENTITY_TABLE, "", sf_str_of(a->id), &found, &w.err),
        SF_OK);
    sf_def_unref(found);
    CHECK_INT(sf_catalog_find(w.catalog, SF_ENTITY_TABLE, "prod", sf_str_of(a->id), &found, &w.err),
              SF_NOT_FOUND);
    sf_def_unref(a);
    sf_def_unref(b);
    world_close(&w);
}

/* Names that were doubled by other means than this catalog: nobody is picked silently. */
static void doubled_names_are_a_conflict(void)
{
    world w = {0};
    sf_buf path = {0};
    sf_db *db = NULL;
    sf_db_options options = {4096, 0x53464341, NULL, 1};
    REQUIRE(world_open(&w));
    const sf_def *a = create(&w, SF_ENTITY_PIPELINE, "{'name':'dup','sql':'q'}");
    sf_def_unref(a);
    sf_catalog_close(w.catalog);
    w.catalog = NULL;
    sf_buf_printf(&path, "%s/catalog.db", w.dir);
    REQUIRE_OK(sf_db_open(&w.disk, path.data, &options, &db, &w.err), w.err);
    REQUIRE_OK(sf_db_exec(db,
                          "UPDATE entities SET id = 'id-one';"
                          "INSERT INTO entities SELECT 'id-two', environment, kind, name, body, "
                          "derived, revision, schema_revision, running, error, created_by, "
                          "created_at, updated_by, updated_at FROM entities",
                          &w.err),
               w.err);
    sf_db_close(db);
    REQUIRE(world_reopen(&w));
    CHECK(!find(&w, SF_ENTITY_PIPELINE, "dup"));
    CHECK_INT(w.err.status, SF_CONFLICT);
    CHECK_STR(w.err.message, "2 pipelines are named \"dup\": address one by id: id-one, id-two");
    const sf_def *one = find(&w, SF_ENTITY_PIPELINE, "id-two");
    CHECK(one);
    sf_def_unref(one);
    CHECK(!create(&w, SF_ENTITY_SOURCE, "{'name':'dup'}"));
    CHECK_INT(w.err.status, SF_EXISTS);
    sf_buf_deinit(&path);
    world_close(&w);
}

static void revisions_count_what_changed(void)
{
    static const struct {
        const char *json;
        uint64_t revision, schema_revision;
    } steps[] = {
        {"{'name':'s','fields':[{'name':'a','type':'Long'}]}", 1, 1}, /* nothing */
        {"{'fields':[{'type':'Long','name':'a'}],'eventsPerSecond':5.0}", 1, 1},
        {"{'name':'s','fields':[{'name':'a','type':'Long'}],'eventsPerSecond':6}", 2, 1},
        {"{'name':'s','fields':[{'name':'a','type':'Double'}],'eventsPerSecond':6}", 3, 2},
        {"{'name':'s','fields':[{'name':'a','type':'Double'},{'name':'b','type':'Long'}],"
         "'eventsPerSecond':6}",
         4, 3},
        {"{'name':'s','fields':[{'name':'b','type':'Long'},{'name':'a','type':'Double'}],"
         "'eventsPerSecond':6}",
         5, 3}, /* their order is not their shape */
        {"{'name':'s','fields':[{'name':'b','type':'Long'}],'eventsPerSecond':6}", 6, 4},
    };
    world w = {0};
    REQUIRE(world_open(&w));
    const sf_def *def =
        create(&w, SF_ENTITY_SOURCE, "{'name':'s','fields':[{'name':'a','type':'Long'}]}");
    REQUIRE(def);
    for (size_t i = 0; i < SF_COUNT_OF(steps); i++) {
        w.now_ms++;
        const sf_def *next = update(&w, def, steps[i].json);
        REQUIRE(next);
        CHECK_INT(next->revision, steps[i].revision);
        CHECK_INT(next->schema_revision, steps[i].schema_revision);
        CHECK_STR(next->created_by, "ann");
        CHECK_STR(next->updated_by, "bob");
        CHECK_INT(next->created_at_ms, 1000);
        CHECK_INT(next->updated_at_ms, 1001 + (int64_t)i);
        sf_def_unref(def);
        def = next;
    }
    sf_def_unref(def);
    world_close(&w);
}

static void stale_edits_are_refused(void)
{
    world w = {0};
    REQUIRE(world_open(&w));
    const sf_def *first = create(&w, SF_ENTITY_SOURCE, "{'name':'s'}");
    const sf_def *second = update(&w, first, "{'idleMs':2}");
    REQUIRE(first && second);
    CHECK(!update(&w, first, "{'idleMs':3}"));
    CHECK_INT(w.err.status, SF_STALE);
    CHECK_STR(w.err.message, "source \"s\" has changed: it is at revision 2, not 1");
    sf_def *def = parse(&w, SF_ENTITY_SOURCE, "{'idleMs':3}", second);
    REQUIRE(def);
    CHECK_INT(sf_catalog_update(w.catalog, def, 1, "bob", NULL, &w.err), SF_STALE);
    CHECK_INT(sf_catalog_delete(w.catalog, second, 1, &w.err), SF_STALE);
    CHECK_INT(sf_catalog_delete(w.catalog, second, 2, &w.err), SF_OK);
    def = parse(&w, SF_ENTITY_SOURCE, "{'idleMs':3}", second);
    REQUIRE(def);
    CHECK_INT(sf_catalog_update(w.catalog, def, 0, "bob", NULL, &w.err), SF_NOT_FOUND);
    sf_def_unref(first);
    sf_def_unref(second);
    world_close(&w);
}

static void absent_parts_of_a_query_stay(void)
{
    world w = {0};
    REQUIRE(world_open(&w));
    const sf_def *t = create(&w, SF_ENTITY_TABLE,
                             "{'name':'t','sql':'q','tags':['a'],'metadata':{'k':'v'},"
                             "'shardBy':['c'],'flushMs':5,'description':'d'}");
    const sf_def *kept = update(&w, t, "{'tags':null}");
    REQUIRE(t && kept);
    CHECK(strstr(shown(&w, kept), "'name':'t','description':'','tags':['a'],'metadata':{'k':'v'},"
                                  "'sql':'q'"));
    CHECK(strstr(shown(&w, kept), "'shardBy':['c']"));
    CHECK(strstr(shown(&w, kept), "'flushMs':0"));
    const sf_def *cleared = update(&w, kept, "{'tags':[],'metadata':{},'shardBy':[]}");
    REQUIRE(cleared);
    CHECK(strstr(shown(&w, cleared), "'tags':[],'metadata':{},'sql':'q'"));
    CHECK(strstr(shown(&w, cleared), "'shardBy':[]"));
    sf_def_unref(t);
    sf_def_unref(kept);
    sf_def_unref(cleared);
    world_close(&w);
}

static void compilations_are_kept_and_replaced(void)
{
    static const char *const inputs[] = {"s"}, *const other[] = {"u"};
    world w = {0};
    REQUIRE(world_open(&w));
    sf_def *parsed = parse(&w, SF_ENTITY_TABLE, "{'name':'t','sql':'q'}", NULL);
    sf_derived derived = derived_of(inputs, 1);
    const sf_def *t = NULL, *next = NULL;
    sf_def_list readers;
    REQUIRE(parsed);
    REQUIRE_OK(sf_def_set_derived(parsed, &derived, &w.err), w.err);
    REQUIRE_OK(sf_catalog_create(w.catalog, parsed, "ann", &t, &w.err), w.err);
    REQUIRE_OK(sf_catalog_readers(w.catalog, "", SF_STR("s"), &readers, &w.err), w.err);
    CHECK_INT(readers.count, 1);
    sf_def_list_free(&readers);

    next = update(&w, t, "{'sql':'broken'}"); /* does not compile: the last good one stays */
    REQUIRE(next);
    CHECK_INT(sf_def_query(next)->derived.output.count, 1);
    CHECK(!sf_def_query(next)->compiled);
    CHECK_INT(next->schema_revision, 1);
    sf_def_unref(t);
    t = next;

    derived = derived_of(other, 2); /* an input changed its shape */
    REQUIRE_OK(sf_catalog_set_derived(w.catalog, t->id, &derived, &next, &w.err), w.err);
    CHECK_INT(next->schema_revision, 2);
    CHECK_INT(next->revision, 2);
    CHECK(sf_def_query(next)->compiled);
    REQUIRE_OK(sf_catalog_readers(w.catalog, "", SF_STR("s"), &readers, &w.err), w.err);
    CHECK_INT(readers.count, 0);
    sf_def_list_free(&readers);
    sf_def_unref(t);
    sf_def_unref(next);
    CHECK_INT(sf_catalog_set_state(w.catalog, "nobody", true, NULL, &next, &w.err), SF_NOT_FOUND);
    world_close(&w);
}

static void tables_have_rules(void)
{
    static const struct {
        const char *json;
        const char *message; /* NULL: accepted */
    } rows[] = {
        {"{'name':'t','sql':'q','parallelism':16}", NULL},
        {"{'name':'t','sql':'q','parallelism':17}", "\"parallelism\" must be from 1 to 16"},
        {"{'name':'t','sql':'q','parallelism':0}", "\"parallelism\" must be from 1 to 16"},
        {"{'name':'t','sql':'q','historyEnabled':true,'historyMode':'MinBy'}",
         "needs \"historyByField\""},
        {"{'name':'t','sql':'q','historyEnabled':true,'historyMode':'MaxBy','historyByField':'n'}",
         NULL},
        {"{'name':'t','sql':'q','historyEnabled':true,'historyMode':'MaxBy',"
         "'historyByField':'sym'}",
         "must be an output column of type Double, Long or Timestamp, and \"sym\" is none"},
        {"{'name':'t','sql':'q','historyMode':'MinBy'}", NULL}, /* not enabled */
        {"{'name':'t','sql':'q','shardBy':['sym']}", NULL},
        {"{'name':'t','sql':'q','shardBy':['zzz']}", "\"zzz\", which is no output column"},
        {"{'name':'t','sql':'q','shardBy':['sym'],'searchEnabled':true}", "has no search"},
        {"{'name':'t','sql':'q','shardBy':['sym'],'persistence':'MemoryOnly'}", "MemoryOnly"},
    };
    static const char *const inputs[] = {"s"};
    world w = {0};
    sf_derived derived = derived_of(inputs, 2);
    REQUIRE(world_open(&w));
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_def *parsed = parse(&w, SF_ENTITY_TABLE, rows[i].json, NULL);
        const sf_def *t = NULL;
        REQUIRE(parsed);
        REQUIRE_OK(sf_def_set_derived(parsed, &derived, &w.err), w.err);
        sf_status status = sf_catalog_create(w.catalog, parsed, "ann", &t, &w.err);
        CHECK_INT(status, rows[i].message ? SF_CONFLICT : SF_OK);
        if (status == SF_OK)
            CHECK_INT(sf_catalog_delete(w.catalog, t, 0, &w.err), SF_OK);
        else if (rows[i].message)
            CHECK(strstr(w.err.message, rows[i].message));
        sf_def_unref(status == SF_OK ? t : NULL);
    }
    world_close(&w);
}

static void tables_are_renamed_with_care(void)
{
    static const char *const inputs[] = {"t"};
    world w = {0};
    REQUIRE(world_open(&w));
    const sf_def *t = create(&w, SF_ENTITY_TABLE, "{'name':'t','sql':'q'}");
    REQUIRE(t);
    const sf_def *running = NULL;
    REQUIRE_OK(sf_catalog_set_state(w.catalog, t->id, true, NULL, &running, &w.err), w.err);
    CHECK(!update(&w, running, "{'name':'v'}"));
    CHECK_STR(w.err.message, "table \"t\" cannot be renamed: it is running");
    CHECK_INT(w.err.status, SF_CONFLICT);
    sf_def_unref(running);
    REQUIRE_OK(sf_catalog_set_state(w.catalog, t->id, false, NULL, &running, &w.err), w.err);
    CHECK(!update(&w, running, "{'name':'v','shardBy':['a']}"));
    CHECK(strstr(w.err.message, "it is sharded"));
    const sf_def *renamed = update(&w, running, "{'name':'v'}");
    CHECK(renamed);
    const sf_def *back = update(&w, renamed, "{'name':'t'}");
    CHECK(back);
    sf_def *reader = parse(&w, SF_ENTITY_TABLE, "{'name':'r','sql':'q'}", NULL);
    sf_derived derived = derived_of(inputs, 1);
    REQUIRE_OK(sf_def_set_derived(reader, &derived, &w.err), w.err);
    REQUIRE_OK(sf_catalog_create(w.catalog, reader, "ann", NULL, &w.err), w.err);
    CHECK(!update(&w, back, "{'name':'v'}"));
    CHECK(strstr(w.err.message, "other queries read it"));
    sf_def_unref(t);
    sf_def_unref(running);
    sf_def_unref(renamed);
    sf_def_unref(back);
    world_close(&w);
}

static void lists_are_sorted(void)
{
    static const char *const names[] = {"b", "a", "c", "B"};
    world w = {0};
    sf_def_list list;
    REQUIRE(world_open(&w));
    for (size_t i = 0; i < SF_COUNT_OF(names); i++) {
        char json[64];
        snprintf(json, sizeof json, "{'name':'%s'}", names[i]);
        const sf_def *def = create(&w, SF_ENTITY_SOURCE, json);
        sf_def_unref(def);
    }
    REQUIRE_OK(sf_catalog_list(w.catalog, SF_ENTITY_SOURCE, "", &list, &w.err), w.err);
    REQUIRE(list.count == 4);
    CHECK_STR(list.items[0]->name, "B");
    CHECK_STR(list.items[1]->name, "a");
    CHECK_STR(list.items[3]->name, "c");
    sf_def_list_free(&list);
    REQUIRE_OK(sf_catalog_list(w.catalog, SF_ENTITY_TABLE, "", &list, &w.err), w.err);
    CHECK_INT(list.count, 0);
    sf_def_list_free(&list);
    REQUIRE_OK(sf_catalog_list(w.catalog, SF_ENTITY_SOURCE, "prod", &list, &w.err), w.err);
    CHECK_INT(list.count, 0);
    sf_def_list_free(&list);
    world_close(&w);
}

static void pins_go_stale(void)
{
    world w = {0};
    REQUIRE(world_open(&w));
    const sf_def *s = create(&w, SF_ENTITY_SOURCE, "{'name':'s'}");
    const sf_def *p = create(&w, SF_ENTITY_PIPELINE,
                             "{'name':'p','sql':'q','dependsOn':[{'kind':'source','name':'gone'},"
                             "{'kind':'source','name':'s','schemaRevision':1}]}");
    REQUIRE(s && p);
    CHECK(strstr(shown(&w, p), "'staleReason':null"));
    const sf_def *s2 = update(&w, s, "{'fields':[{'name':'a','type':'Long'}]}");
    REQUIRE(s2);
    CHECK(strstr(shown(&w, p), "'staleReason':'source 's' moved from schemaRevision 1 to 2'"));
    sf_def_unref(s);
    sf_def_unref(s2);
    sf_def_unref(p);
    world_close(&w);
}

static void breaking_changes_have_reasons(void)
{
    world w = {0};
    sf_buf out = {0};
    REQUIRE(world_open(&w));
    sf_def *a = parse(&w, SF_ENTITY_SOURCE,
                      "{'name':'s','fields':[{'name':'qty','type':'Double'},"
                      "{'name':'old','type':'Long'},{'name':'same','type':'Bool'},"
                      "{'name':'l','type':'Long'}]}",
                      NULL);
    sf_def *b = parse(&w, SF_ENTITY_SOURCE,
                      "{'name':'s','fields':[{'name':'same','type':'Bool'},"
                      "{'name':'qty','type':'String'},{'name':'new','type':'Long'},"
                      "{'name':'l','type':'Long','isArray':true}]}",
                      NULL);
    REQUIRE(a && b);
    CHECK_INT(sf_fields_breaking(&sf_def_source(a)->fields, &sf_def_source(b)->fields, &out), 3);
    CHECK_STR(out.data, "[\"field 'qty' changed type: Double -> String\","
                        "\"field 'old' was removed\",\"field 'l' changed type: Long -> Long[]\"]");
    sf_buf_clear(&out);
    CHECK_INT(sf_fields_breaking(&sf_def_source(a)->fields, &sf_def_source(a)->fields, &out), 0);
    CHECK_STR(out.data, "[]");
    sf_buf_deinit(&out);
    sf_def_unref(a);
    sf_def_unref(b);
    world_close(&w);
}

static void keys_of_ingest_sources(void)
{
    world w = {0};
    REQUIRE(world_open(&w));
    const sf_def *g = create(&w, SF_ENTITY_SOURCE, "{'name':'g'}");
    const sf_def *s = create(&w, SF_ENTITY_SOURCE, "{'name':'s','kind':'ingest'}");
    REQUIRE(g && s);
    sf_key_record key = {"k1", "laptop", 1000, 0, "hhh", "sss"};
    CHECK_INT(sf_catalog_add_key(w.catalog, g->id, &key, &w.err), SF_CONFLICT);
    CHECK_INT(sf_catalog_add_key(w.catalog, "none", &key, &w.err), SF_NOT_FOUND);
    REQUIRE_OK(sf_catalog_add_key(w.catalog, s->id, &key, &w.err), w.err);
    CHECK_INT(sf_catalog_add_key(w.catalog, s->id, &key, &w.err), SF_EXISTS);
    const sf_def *now = find(&w, SF_ENTITY_SOURCE, "s");
    REQUIRE(now && sf_def_source(now)->key_count == 1);
    CHECK_STR(sf_def_source(now)->keys[0].hash, "hhh");
    CHECK(strstr(shown(&w, now), "'keys':[{'id':'k1','label':'laptop','createdAtMs':1000,"
                                 "'lastUsedMs':0,'hash':'***','salt':'***'}]}"));
    CHECK_INT(now->revision, 1);

    /* A use is noted in memory, survives a change of the source, and is written when flushed. */
    atomic_store(&sf_def_source(now)->keys[0].last_used_ms, 5000);
    const sf_def *next = update(&w, now, "{'kind':'ingest','idleMs':7}");
    REQUIRE(next && sf_def_source(next)->key_count == 1);
    CHECK_INT(sf_def_source(next)->keys[0].last_used_ms, 5000);
    REQUIRE_OK(sf_catalog_flush(w.catalog, &w.err), w.err);
    sf_def_unref(g);
    sf_def_unref(s);
    sf_def_unref(now);
    sf_def_unref(next);
    REQUIRE(world_reopen(&w));
    now = find(&w, SF_ENTITY_SOURCE, "s");
    REQUIRE(now && sf_def_source(now)->key_count == 1);
    CHECK_INT(sf_def_source(now)->keys[0].last_used_ms, 5000);
    CHECK_INT(sf_catalog_remove_key(w.catalog, now->id, SF_STR("k2"), &w.err), SF_NOT_FOUND);
    REQUIRE_OK(sf_catalog_remove_key(w.catalog, now->id, SF_STR("k1"), &w.err), w.err);
    REQUIRE_OK(sf_catalog_add_key(w.catalog, now->id, &key, &w.err), w.err);
    REQUIRE_OK(sf_catalog_delete(w.catalog, now, 0, &w.err), w.err); /* with its key */
    sf_def_unref(now);
    REQUIRE(world_reopen(&w));
    CHECK(!find(&w, SF_ENTITY_SOURCE, "s"));
    world_close(&w);
}

static void a_full_disk_changes_nothing(void)
{
    world w = {0};
    REQUIRE(world_open(&w));
    const sf_def *s = create(&w, SF_ENTITY_SOURCE, "{'name':'s','kind':'ingest'}");
    REQUIRE(s);
    sf_key_record key = {"k1", "laptop", 1000, 0, "hhh", "sss"};
    w.fail_writes = true;
    CHECK(!create(&w, SF_ENTITY_SOURCE, "{'name':'t'}"));
    CHECK_INT(w.err.status, SF_LIMIT);
    CHECK(!update(&w, s, "{'kind':'ingest','idleMs':2}"));
    CHECK_INT(w.err.status, SF_LIMIT);
    CHECK_INT(sf_catalog_delete(w.catalog, s, 0, &w.err), SF_LIMIT);
    CHECK_INT(sf_catalog_add_key(w.catalog, s->id, &key, &w.err), SF_LIMIT);
    CHECK_INT(sf_catalog_put_fact(w.catalog, "k", SF_STR("v"), &w.err), SF_LIMIT);
    w.fail_writes = false;
    const sf_def *now = find(&w, SF_ENTITY_SOURCE, "s");
    CHECK(now == s);
    CHECK(!find(&w, SF_ENTITY_SOURCE, "t"));
    const sf_def *t = create(&w, SF_ENTITY_SOURCE, "{'name':'t'}"); /* once there is room again */
    CHECK(t);
    sf_def_unref(s);
    sf_def_unref(now);
    sf_def_unref(t);
    world_close(&w);
}

/* ---- many at once ---- */

typedef struct {
    world *w;
    _Atomic bool done;
    _Atomic int failures;
} shared;

static void *read_along(void *arg)
{
    shared *s = arg;
    sf_buf json = {0};
    sf_error err;
    while (!atomic_load(&s->done)) {
        const sf_def *def = NULL;
        sf_def_list list;
        /* Never half of a change. */
        if (sf_catalog_find(s->w->catalog, SF_ENTITY_SOURCE, "", SF_STR("s"), &def, &err) !=
                SF_OK ||
            (int64_t)def->revision != sf_def_source(def)->idle_ms)
            s->failures++;
        sf_def_unref(def);
        if (sf_catalog_list(s->w->catalog, SF_ENTITY_SOURCE, "", &list, &err) != SF_OK)
            s->failures++;
        sf_buf_clear(&json);
        for (uint32_t i = 0; i < list.count; i++)
            sf_catalog_put_json(s->w->catalog, list.items[i], &json);
        sf_def_list_free(&list);
    }
    sf_buf_deinit(&json);
    return NULL;
}

static void readers_see_whole_changes(void)
{
    world w = {0};
    shared s = {.w = &w};
    pthread_t readers[2];
    REQUIRE(world_open(&w));
    const sf_def *def = create(&w, SF_ENTITY_SOURCE, "{'name':'s','idleMs':1}");
    REQUIRE(def);
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_create(&readers[i], NULL, read_along, &s) == 0);
    for (int i = 2; i < 60; i++) {
        char json[64];
        snprintf(json, sizeof json, "{'name':'s','idleMs':%d}", i);
        const sf_def *next = update(&w, def, json);
        s.failures += next == NULL;
        sf_def_unref(def);
        def = next;
        const sf_def *other = create(&w, SF_ENTITY_SOURCE, "{'name':'other'}");
        s.failures += !other || sf_catalog_delete(w.catalog, other, 0, &w.err) != SF_OK;
        sf_def_unref(other);
    }
    atomic_store(&s.done, true);
    for (int i = 0; i < 2; i++)
        pthread_join(readers[i], NULL);
    CHECK_INT(s.failures, 0);
    sf_def_unref(def);
    world_close(&w);
}

int run_catalog_cases(void)
{
    static const sf_case cases[] = {
        SF_CASE(instances_are_somebody),
        SF_CASE(everything_survives),
        SF_CASE(names_are_shared_by_all_kinds),
        SF_CASE(keys_resolve_by_id_then_name),
        SF_CASE(doubled_names_are_a_conflict),
        SF_CASE(revisions_count_what_changed),
        SF_CASE(stale_edits_are_refused),
        SF_CASE(absent_parts_of_a_query_stay),
        SF_CASE(compilations_are_kept_and_replaced),
        SF_CASE(tables_have_rules),
        SF_CASE(tables_are_renamed_with_care),
        SF_CASE(lists_are_sorted),
        SF_CASE(pins_go_stale),
        SF_CASE(breaking_changes_have_reasons),
        SF_CASE(keys_of_ingest_sources),
        SF_CASE(a_full_disk_changes_nothing),
        SF_CASE(readers_see_whole_changes),
    };
    return sf_run_cases("catalog", cases, SF_COUNT_OF(cases));
}
