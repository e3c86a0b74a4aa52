/* Definitions from JSON and to JSON: defaults, bounds, refusals, secrets. */
#include "tests.h"

static void a_source_has_its_defaults(void)
{
    world w = {0};
    REQUIRE(world_open(&w));
    const sf_def *def = create(&w, SF_ENTITY_SOURCE, "{'name':'s'}");
    REQUIRE(def);
    CHECK_STR(shown(&w, def),
              "{'name':'s','description':'','tags':[],'metadata':{},'fields':[],"
              "'generatorProfile':'generic','eventsPerSecond':5,'enabled':true,"
              "'kind':'generator','connector':null,'ingest':null,'onCoercionFailure':'Null',"
              "'scenario':null,'latenessMs':null,'idleMs':1000,'journal':false,"
              "'journalRetainBytes':0,'journalRetainMs':0,'updatedBy':'ann','environment':'',"
              "'revision':1,'schemaRevision':1}");
    const sf_source_def *source = sf_def_source(def);
    CHECK_INT(source->lateness_ms, 1000);
    CHECK(!source->lateness_declared);
    sf_def_unref(def);
    world_close(&w);
}

static void a_source_says_everything(void)
{
    world w = {0};
    REQUIRE(world_open(&w));
    const sf_def *def = create(
        &w, SF_ENTITY_SOURCE,
        "{'name':'f','description':'d','kind':'file','tags':['a','b'],"
        "'metadata':{'z':'1','desk':'fx'},'enabled':false,'eventsPerSecond':0.5,"
        "'generatorProfile':'trades','connector':{'schedule':{'intervalMs':2000},"
        "'file':{'path':'x.csv','format':'csv'}},'onCoercionFailure':'DropRow','latenessMs':0,"
        "'idleMs':0,'journal':true,'journalRetainBytes':5,'journalRetainMs':6.0,"
        "'fields':[{'name':'sym','type':'String'},{'name':'legs','type':'Json','isArray':true,"
        "'children':[{'name':'qty','type':'Long'}]},{'name':'px','type':'Double','isArray':true}],"
        "'revision':7,'schemaRevision':9,'updatedBy':'x','environment':'prod'}");
    REQUIRE(def);
    CHECK_STR(shown(&w, def),
              "{'name':'f','description':'d','tags':['a','b'],'metadata':{'desk':'fx','z':'1'},"
              "'fields':[{'name':'sym','type':'String','children':null,'isArray':false},"
              "{'name':'legs','type':'Json','children':[{'name':'qty','type':'Long',"
              "'children':null,'isArray':false}],'isArray':true},"
              "{'name':'px','type':'Double','children':null,'isArray':true}],"
              "'generatorProfile':'trades','eventsPerSecond':0.5,'enabled':false,'kind':'file',"
              "'connector':{'file':{'format':'csv','path':'x.csv'},"
              "'schedule':{'intervalMs':2000}},'ingest':null,'onCoercionFailure':'DropRow',"
              "'scenario':null,'latenessMs':0,'idleMs':0,'journal':true,'journalRetainBytes':5,"
              "'journalRetainMs':6,'updatedBy':'ann','environment':'','revision':1,"
              "'schemaRevision':1}");
    const sf_source_def *source = sf_def_source(def);
    CHECK(source->lateness_declared && source->lateness_ms == 0);
    CHECK_INT(source->fields.count, 3);
    CHECK_INT(source->fields.columns[1].type, SF_TYPE_JSON);
    CHECK_INT(source->fields.columns[2].type, SF_TYPE_JSON); /* a list of doubles */
    CHECK_INT(source->fields.items[2].type, SF_TYPE_F64);
    CHECK_INT(source->on_misfit, SF_ON_MISFIT_DROP_ROW);
    sf_def_unref(def);
    world_close(&w);
}

static void ingest_is_journaled_unless_it_says_so(void)
{
    static const struct {
        const char *json;
        bool journal, refused;
    } rows[] = {
        {"{'name':'i','kind':'ingest'}", true, false},
        {"{'name':'i','kind':'ingest','journal':false}", false, false},
        {"{'name':'i','kind':'ingest','ingest':{'durable':false}}", false, false},
        {"{'name':'i','kind':'ingest','ingest':{'durable':false},'journal':false}", false, false},
        {"{'name':'i','kind':'ingest','ingest':{'durable':false},'journal':true}", false, true},
        {"{'name':'i','kind':'generator','journal':true}", true, false},
    };
    world w = {0};
    REQUIRE(world_open(&w));
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_def *def = parse(&w, SF_ENTITY_SOURCE, rows[i].json, NULL);
        CHECK_INT(def == NULL, rows[i].refused);
        if (def)
            CHECK_INT(sf_def_source(def)->journal, rows[i].journal);
        sf_def_unref(def);
    }
    const sf_def *def = create(&w, SF_ENTITY_SOURCE,
                               "{'name':'i','kind':'ingest','ingest':{'policy':'Block',"
                               "'keys':[{'id':'1','hash':'h'}]}}");
    REQUIRE(def);
    CHECK(strstr(shown(&w, def),
                 "'ingest':{'capacityRows':10000,'dedupKeyField':null,'dedupWindow':0,"
                 "'durable':true,'maxBatchRows':1000,'maxWaitMs':5000,'policy':'Block',"
                 "'rejectUnknownFields':false,'keys':[]}"));
    sf_def_unref(def);
    world_close(&w);
}

static void a_pipeline_and_a_table(void)
{
    world w = {0};
    REQUIRE(world_open(&w));
    const sf_def *p =
        create(&w, SF_ENTITY_PIPELINE,
               "{'name':'p','sql':'SELECT 1','dependsOn':[{'kind':'source','name':'s',"
               "'schemaRevision':3}],'from':{'position':7},"
               "'replayFrom':{'s':{'seq':5},'u':{'timestampMs':6}},'status':'Running','id':'x'}");
    REQUIRE(p);
    char want[1024];
    snprintf(want, sizeof want,
             "{'id':'%s','name':'p','description':'','tags':[],'metadata':{},'sql':'SELECT 1',"
             "'sinks':[],'dependsOn':[{'kind':'source','name':'s','schemaRevision':3}],"
             "'from':{'position':7},'replayFrom':{'s':{'seq':5},'u':{'timestampMs':6}},"
             "'status':'Stopped','error':null,'sourceNames':[],'outputFields':[],"
             "'staleReason':'source 's' no longer exists; schemaRevision 3 was expected',"
             "'createdBy':'ann','createdAtMs':1000,'updatedAtMs':1000,'updatedBy':'ann',"
             "'environment':'','revision':1}",
             p->id);
    CHECK_INT(strlen(p->id), 32);
    CHECK_STR(shown(&w, p), want);
    const sf_query_part *query = sf_def_query(p);
    REQUIRE(query->start_count == 3);
    CHECK_STR(query->starts[0].input, "*");
    CHECK(query->starts[2].kind == SF_START_TIMESTAMP && query->starts[2].value == 6);
    sf_def_unref(p);

    const sf_def *t = create(&w, SF_ENTITY_TABLE,
                             "{'name':'t','sql':'SELECT 2','from':'earliest',"
                             "'historyLimit':null,'persistence':'Journaled'}");
    REQUIRE(t);
    snprintf(want, sizeof want,
             "{'id':'%s','name':'t','description':'','tags':[],'metadata':{},'sql':'SELECT 2',"
             "'sinks':[],'dependsOn':[],'from':'earliest','replayFrom':{},'searchEnabled':false,"
             "'searchMode':'Exact','historyEnabled':false,'historyMode':'All','historyLimit':10,"
             "'historyByField':null,'historyWindowMs':0,'parallelism':1,"
             "'persistence':'Journaled','flushMs':0,'journalMaxEntries':0,'retentionMaxRows':0,"
             "'retentionTtlMs':0,'shardBy':[],'status':'Stopped','error':null,'streamInputs':[],"
             "'tableInputs':[],'pipelineInputs':[],'keyFields':null,'outputFields':[],"
             "'staleReason':null,'createdBy':'ann','createdAtMs':1000,'updatedAtMs':1000,"
             "'updatedBy':'ann','environment':'','revision':1,'schemaRevision':1}",
             t->id);
    CHECK_STR(shown(&w, t), want);
    sf_def_unref(t);
    world_close(&w);
}

static void refusals_name_the_place(void)
{
    static const struct {
        sf_entity_kind kind;
        const char *json;
        sf_status status;
        const char *message;
    } rows[] = {
        {SF_ENTITY_SOURCE, "{", SF_SYNTAX, "is not valid JSON: line 1"},
        {SF_ENTITY_SOURCE, "[]", SF_INVALID, "the definition of a source must be a JSON object"},
        {SF_ENTITY_SOURCE, "{}", SF_INVALID, "a source needs a name"},
        {SF_ENTITY_SOURCE, "{'name':5}", SF_INVALID, "source: \"name\" must be text"},
        {SF_ENTITY_SOURCE, "{'name':'a.b'}", SF_INVALID, "has a dot: \"a.b\""},
        {SF_ENTITY_SOURCE, "{'name':'a\\tb'}", SF_INVALID, "has a control character"},
        {SF_ENTITY_SOURCE, "{'name':'s','colour':1}", SF_INVALID,
         "source \"s\": unknown field \"colour\""},
        {SF_ENTITY_SOURCE, "{'name':'s','status':'x'}", SF_INVALID, "unknown field \"status\""},
        {SF_ENTITY_SOURCE, "{'name':'s','kind':'nats'}", SF_UNSUPPORTED,
         "source kind \"nats\" is not available"},
        {SF_ENTITY_SOURCE, "{'name':'s','enabled':'yes'}", SF_INVALID,
         "\"enabled\" must be true or false"},
        {SF_ENTITY_SOURCE, "{'name':'s','eventsPerSecond':1e9}", SF_INVALID,
         "\"eventsPerSecond\" must be a number up to 10000000"},
        {SF_ENTITY_SOURCE, "{'name':'s','idleMs':-1}", SF_INVALID,
         "\"idleMs\" must be a whole number from 0 to"},
        {SF_ENTITY_SOURCE, "{'name':'s','idleMs':1.5}", SF_INVALID, "must be a whole number"},
        {SF_ENTITY_SOURCE, "{'name':'s','onCoercionFailure':'null'}", SF_INVALID,
         "\"onCoercionFailure\" must be one of Null, DropRow, RejectBatch"},
        {SF_ENTITY_SOURCE, "{'name':'s','tags':'a'}", SF_INVALID, "\"tags\" must be a list"},
        {SF_ENTITY_SOURCE, "{'name':'s','tags':['']}", SF_INVALID, "\"tags\"[0] must be text"},
        {SF_ENTITY_SOURCE, "{'name':'s','metadata':{'a':1}}", SF_INVALID, "\"metadata\" maps text"},
        {SF_ENTITY_SOURCE, "{'name':'s','connector':{}}", SF_INVALID,
         "a source of kind \"generator\" takes no \"connector\""},
        {SF_ENTITY_SOURCE, "{'name':'s','ingest':{}}", SF_INVALID,
         "\"ingest\" belongs to sources of kind \"ingest\" only"},
        {SF_ENTITY_SOURCE, "{'name':'s','scenario':{}}", SF_INVALID, "\"scenario\" belongs to"},
        {SF_ENTITY_SOURCE, "{'name':'s','fields':[{'name':'a','type':'Int'}]}", SF_INVALID,
         "source \"s\", field 1: \"type\" of \"a\" must be one of String"},
        {SF_ENTITY_SOURCE, "{'name':'s','fields':[{'type':'Long'}]}", SF_INVALID,
         "\"name\" is missing"},
        {SF_ENTITY_SOURCE, "{'name':'s','fields':[{'name':'_TS','type':'Long'}]}", SF_INVALID,
         "the name \"_TS\" is reserved"},
        {SF_ENTITY_SOURCE,
         "{'name':'s','fields':[{'name':'a','type':'Long'},{'name':'A','type':'Long'}]}",
         SF_INVALID, "field \"A\" is declared twice"},
        {SF_ENTITY_SOURCE,
         "{'name':'s','fields':[{'name':'a','type':'Long','children':[{'name':'b','type':'Long'}]}"
         "]}",
         SF_INVALID, "\"a\" has children, which only Json fields can have"},
        {SF_ENTITY_SOURCE, "{'name':'s','fields':[{'name':'a','type':'Long','nullable':true}]}",
         SF_INVALID, "field 1: unknown field \"nullable\""},
        {SF_ENTITY_PIPELINE, "{'name':'p'}", SF_INVALID, "\"sql\" is missing or empty"},
        {SF_ENTITY_PIPELINE, "{'name':'p','sql':'  '}", SF_INVALID, "\"sql\" is missing or empty"},
        {SF_ENTITY_PIPELINE, "{'name':'p','sql':'x','keyFields':[]}", SF_INVALID,
         "unknown field \"keyFields\""},
        {SF_ENTITY_PIPELINE, "{'name':'p','sql':'x','sinks':[{'kind':'nats'}]}", SF_UNSUPPORTED,
         "sink kind \"nats\" is not available"},
        {SF_ENTITY_PIPELINE, "{'name':'p','sql':'x','sinks':[1]}", SF_INVALID,
         "\"sinks\"[0] must be an object"},
        {SF_ENTITY_PIPELINE, "{'name':'p','sql':'x','dependsOn':[{'kind':'pipeline','name':'q'}]}",
         SF_INVALID, "dependsOn[0]: \"kind\" must be one of source, table"},
        {SF_ENTITY_PIPELINE, "{'name':'p','sql':'x','dependsOn':[{'name':'q'}]}", SF_INVALID,
         "dependsOn[0]: \"kind\" must be one of source, table"},
        {SF_ENTITY_PIPELINE, "{'name':'p','sql':'x','from':'now'}", SF_INVALID,
         "\"from\" must be \"earliest\""},
        {SF_ENTITY_PIPELINE, "{'name':'p','sql':'x','replayFrom':{'s':{'seq':1,'timestampMs':1}}}",
         SF_INVALID, "start of \"s\": it needs either \"seq\" or \"timestampMs\""},
        {SF_ENTITY_TABLE, "{'name':'t','sql':'x','historyLimit':0}", SF_INVALID,
         "\"historyLimit\" must be a whole number from 1"},
        {SF_ENTITY_TABLE, "{'name':'t','sql':'x','persistence':'Never'}", SF_INVALID,
         "\"persistence\" must be one of Batched"},
    };
    world w = {0};
    REQUIRE(world_open(&w));
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_def *def = parse(&w, rows[i].kind, rows[i].json, NULL);
        CHECK(!def);
        CHECK_INT(w.err.status, rows[i].status);
        if (!strstr(w.err.message, rows[i].message)) {
            printf("  %s\n  gives: %s\n", rows[i].json, w.err.message);
            CHECK(strstr(w.err.message, rows[i].message));
        }
        sf_def_unref(def);
    }
    world_close(&w);
}

static void kinds_that_work_are_named(void)
{
    static const char *const sinks[] = {"file", "http", NULL};
    world w = {.rules = {.sink_kinds = sinks}};
    REQUIRE(world_open(&w));
    CHECK(!parse(&w, SF_ENTITY_SOURCE, "{'name':'s','kind':'fix'}", NULL));
    CHECK_STR(w.err.hint, "use one of the kinds that are: generator, file, ingest");
    CHECK(!parse(&w, SF_ENTITY_TABLE, "{'name':'t','sql':'x','sinks':[{'kind':'fix'}]}", NULL));
    CHECK_STR(w.err.hint, "use one of the kinds that are: file, http");
    world_close(&w);
}

static sf_status refuse_blue(void *self, const sf_source_def *source, sf_error *err)
{
    ++*(int *)self;
    return source->connector && strstr(source->connector, "blue")
               ? sf_fail(err, SF_INVALID, "nothing blue")
               : SF_OK;
}

static void kinds_check_their_own_blocks(void)
{
    int calls = 0;
    world w = {.rules = {.check_source = refuse_blue, .self = &calls}};
    REQUIRE(world_open(&w));
    CHECK(!create(&w, SF_ENTITY_SOURCE, "{'name':'s','kind':'file','connector':{'c':'blue'}}"));
    CHECK_STR(w.err.message, "nothing blue");
    const sf_def *def =
        create(&w, SF_ENTITY_SOURCE, "{'name':'s','kind':'file','connector':{'c':'red'}}");
    REQUIRE(def);
    CHECK_INT(calls, 2);
    REQUIRE(world_reopen(&w));
    CHECK_INT(calls, 2); /* what is stored was accepted once */
    sf_def_unref(def);
    world_close(&w);
}

static void bounds_hold(void)
{
    world w = {0};
    sf_buf json = {0};
    REQUIRE(world_open(&w));
    sf_buf_puts(&json, "{'name':'s','fields':[");
    for (int i = 0; i < SF_FIELDS_MAX + 1; i++)
        sf_buf_printf(&json, "%s{'name':'f%d','type':'Long'}", i ? "," : "", i);
    sf_buf_puts(&json, "]}");
    CHECK(!parse(&w, SF_ENTITY_SOURCE, json.data, NULL));
    CHECK(strstr(w.err.message, "\"fields\" has 1001 members, more than the 1000 allowed"));

    sf_buf_clear(&json);
    sf_buf_puts(&json, "{'name':'s','fields':[");
    for (int i = 0; i < SF_FIELD_DEPTH_MAX + 1; i++)
        sf_buf_puts(&json, "{'name':'f','type':'Json','children':[");
    for (int i = 0; i < SF_FIELD_DEPTH_MAX + 1; i++)
        sf_buf_puts(&json, "]}");
    sf_buf_puts(&json, "]}");
    CHECK(!parse(&w, SF_ENTITY_SOURCE, json.data, NULL));
    CHECK(strstr(w.err.message, "children are nested deeper than 16"));

    sf_buf_clear(&json);
    sf_buf_puts(&json, "{'name':'");
    for (int i = 0; i < SF_NAME_BYTES_MAX + 1; i++)
        sf_buf_putc(&json, 'n');
    sf_buf_puts(&json, "'}");
    CHECK(!parse(&w, SF_ENTITY_SOURCE, json.data, NULL));
    CHECK(strstr(w.err.message, "has 129 bytes, more than the 128 allowed"));

    sf_buf_clear(&json);
    sf_buf_puts(&json, "{'name':'p','sql':'");
    for (int i = 0; i < SF_SQL_BYTES_MAX + 1; i++)
        sf_buf_putc(&json, 'x');
    sf_buf_puts(&json, "'}");
    CHECK(!parse(&w, SF_ENTITY_PIPELINE, json.data, NULL));
    CHECK(strstr(w.err.message, "\"sql\" has 262145 bytes"));

    sf_buf_clear(&json);
    for (int i = 0; i < SF_DEFINITION_BYTES_MAX + 1; i++)
        sf_buf_putc(&json, ' ');
    CHECK(!parse(&w, SF_ENTITY_PIPELINE, json.data, NULL));
    CHECK_INT(w.err.status, SF_LIMIT);

    sf_buf_clear(&json);
    for (int i = 0; i < 100000; i++)
        sf_buf_putc(&json, '[');
    CHECK(!parse(&w, SF_ENTITY_PIPELINE, json.data, NULL));
    CHECK_INT(w.err.status, SF_SYNTAX);
    sf_buf_deinit(&json);
    world_close(&w);
}

static void secrets_are_masked_and_kept(void)
{
    static const char *const sinks[] = {"http", NULL};
    world w = {.rules = {.sink_kinds = sinks}};
    REQUIRE(world_open(&w));
    const sf_def *s = create(&w, SF_ENTITY_SOURCE,
                             "{'name':'s','kind':'file','connector':{'url':{'headers':"
                             "{'Authorization':'Bearer 1','X':''},'url':'u'},'db':{'password':'pw',"
                             "'username':'me'}}}");
    REQUIRE(s);
    CHECK(strstr(shown(&w, s), "'connector':{'db':{'password':'***','username':'me'},'url':"
                               "{'headers':{'Authorization':'***','X':''},'url':'u'}}"));
    const sf_def *s2 = update(&w, s,
                              "{'name':'s','kind':'file','connector':{'url':{'headers':"
                              "{'Authorization':'***'},'url':'v'},'db':{'password':'new'}}}");
    REQUIRE(s2);
    CHECK_STR(sf_def_source(s2)->connector,
              "{\"db\":{\"password\":\"new\"},"
              "\"url\":{\"headers\":{\"Authorization\":\"Bearer 1\"},\"url\":\"v\"}}");
    CHECK(!update(&w, s2, "{'name':'s','kind':'file','connector':{'x':{'token':'***'}}}"));
    CHECK(strstr(w.err.message, "\"token\" is masked, but none is stored"));

    const sf_def *p = create(&w, SF_ENTITY_PIPELINE,
                             "{'name':'p','sql':'x','sinks':["
                             "{'kind':'http','name':'a','headerValue':'A'},"
                             "{'kind':'http','name':'b','headerValue':'B'}]}");
    REQUIRE(p);
    CHECK(!strstr(shown(&w, p), "'A'"));
    const sf_def *p2 = update(&w, p,
                              "{'name':'p','sql':'x','sinks':["
                              "{'kind':'http','name':'b','headerValue':'***'}]}");
    REQUIRE(p2);
    CHECK_STR(sf_def_query(p2)->sinks,
              "[{\"headerValue\":\"B\",\"kind\":\"http\",\"name\":\"b\"}]");
    sf_def_unref(s);
    sf_def_unref(s2);
    sf_def_unref(p);
    sf_def_unref(p2);
    world_close(&w);
}

static void short_memory_is_a_clean_error(void)
{
    static const char *const sinks[] = {"http", NULL};
    world w = {.rules = {.sink_kinds = sinks}};
    REQUIRE(world_open(&w));
    const char *json = "{\"name\":\"t\",\"sql\":\"x\",\"tags\":[\"a\"],\"metadata\":{\"k\":\"v\"},"
                       "\"sinks\":[{\"kind\":\"http\"}],\"from\":\"latest\",\"dependsOn\":[{"
                       "\"kind\":\"table\",\"name\":\"u\"}],\"shardBy\":[\"a\"]}";
    sf_status status = SF_LIMIT;
    for (uint64_t n = 1; status == SF_LIMIT; n++) {
        sf_def *def = NULL;
        sf_alloc_fail_after(n);
        status = sf_def_parse(w.catalog, SF_ENTITY_TABLE, "", sf_str_of(json), NULL, &def, &w.err);
        sf_alloc_fail_after(0);
        CHECK(status == SF_OK || status == SF_LIMIT);
        if (status == SF_OK)
            sf_def_unref(def);
    }
    CHECK_INT(status, SF_OK);
    world_close(&w);
}

int run_definition_cases(void)
{
    static const sf_case cases[] = {
        SF_CASE(a_source_has_its_defaults),
        SF_CASE(a_source_says_everything),
        SF_CASE(ingest_is_journaled_unless_it_says_so),
        SF_CASE(a_pipeline_and_a_table),
        SF_CASE(refusals_name_the_place),
        SF_CASE(kinds_that_work_are_named),
        SF_CASE(kinds_check_their_own_blocks),
        SF_CASE(bounds_hold),
        SF_CASE(secrets_are_masked_and_kept),
        SF_CASE(short_memory_is_a_clean_error),
    };
    return sf_run_cases("definitions", cases, SF_COUNT_OF(cases));
}
