/* Names for the compiler: sources, running queries, and what the caller adds. */
#include "runtime/internal.h"

typedef struct {
    sf_runtime *runtime;
    const sf_resolver *also;
    SF_VEC(sf_schema *) held; /* what relations point to, until the compilation ends */
} names;

static sf_status hold(names *self, const sf_schema *schema, sf_error *err)
{
    sf_schema *ref = sf_schema_ref(schema);
    if (SF_VEC_PUSH(&self->held, ref))
        return SF_OK;
    sf_schema_unref(ref);
    return sf_fail_memory(err);
}

/* The schema is the feed's only while its lock is held. */
static sf_relation relation_of_feed(const sf_feed *feed)
{
    return (sf_relation){
        .name = feed->name, .kind = SF_INPUT_SOURCE, .schema = feed->schema, .append_only = true};
}

static sf_relation relation_of_query(const sf_query *query)
{
    const sf_plan *plan = query->plan;
    return (sf_relation){.name = query->name,
                         .kind = plan->kind == SF_PLAN_TABLE ? SF_INPUT_TABLE : SF_INPUT_PIPELINE,
                         .schema = sf_plan_schema(plan),
                         .append_only = sf_plan_at(plan, plan->output)->append_only};
}

static sf_status find_name(void *arg, sf_str name, sf_relation *out, sf_error *err)
{
    names *self = arg;
    char text[256];
    if (name.len >= sizeof text)
        return sf_fail(err, SF_NOT_FOUND, "there is no relation of so long a name");
    memcpy(text, name.data, name.len);
    text[name.len] = '\0';
    sf_status status = SF_NOT_FOUND;
    pthread_mutex_lock(&self->runtime->lock);
    sf_feed *feed = sf_runtime_feed(self->runtime, text);
    const sf_query *query = sf_runtime_query(self->runtime, text);
    if (feed) {
        pthread_mutex_lock(&feed->lock);
        *out = relation_of_feed(feed);
        status = hold(self, out->schema, err);
        pthread_mutex_unlock(&feed->lock);
    } else if (query) {
        *out = relation_of_query(query);
        status = hold(self, out->schema, err);
    }
    pthread_mutex_unlock(&self->runtime->lock);
    if (status == SF_NOT_FOUND && self->also)
        return self->also->find(self->also->self, name, out, err);
    if (status == SF_NOT_FOUND)
        sf_fail(err, SF_NOT_FOUND, "there is no \"%s\"", text);
    return status;
}

static void list_names(void *arg, bool (*visit)(void *arg, const sf_relation *relation),
                       void *visit_arg)
{
    names *self = arg;
    bool more = true;
    pthread_mutex_lock(&self->runtime->lock);
    for (size_t i = 0; more && i < self->runtime->feeds.len; i++) {
        sf_feed *feed = self->runtime->feeds.data[i];
        pthread_mutex_lock(&feed->lock);
        sf_relation relation = relation_of_feed(feed);
        more = visit(visit_arg, &relation);
        pthread_mutex_unlock(&feed->lock);
    }
    for (size_t i = 0; more && i < self->runtime->queries.len; i++) {
        sf_relation relation = relation_of_query(self->runtime->queries.data[i]);
        more = visit(visit_arg, &relation);
    }
    pthread_mutex_unlock(&self->runtime->lock);
    if (more && self->also && self->also->list)
        self->also->list(self->also->self, visit, visit_arg);
}

sf_status sf_runtime_compile(sf_runtime *runtime, sf_plan_kind kind, sf_str sql,
                             const sf_resolver *also, sf_plan **out, sf_diagnostics *diagnostics,
                             sf_error *err)
{
    names self = {.runtime = runtime, .also = also};
    sf_resolver resolver = {.find = find_name, .list = list_names, .self = &self};
    sf_diagnostics own = {0};
    sf_status status =
        sf_sql_compile(sql, kind, &resolver, out, diagnostics ? diagnostics : &own, err);
    sf_diagnostics_deinit(&own);
    for (size_t i = 0; i < self.held.len; i++)
        sf_schema_unref(self.held.data[i]);
    SF_VEC_DEINIT(&self.held);
    return status;
}
