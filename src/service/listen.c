/* Listeners: what the hub hands to its clients, as named events. */
#include "service/internal.h"

#include <stdio.h>

struct sf_listener {
    sf_service *service;
    sf_listen what;
    char name[256]; /* as events name it: a table's or source's name, a pipeline's id */
    sf_sub *sub;    /* NULL: metrics */
    /* metrics */
    void (*wake)(void *arg);
    void *arg;
    _Atomic bool due;
};

/* ---- events ---- */

static void put_rows_event(const sf_listener *listener, const sf_frame *frame,
                           const sf_event_sink *sink)
{
    bool table = listener->what == SF_LISTEN_TABLE;
    sf_buf *out = sink->begin(sink->self, table ? "tableDelta" : "pipelineResult");
    sf_put_text(out, listener->name);
    sf_buf_putc(out, ',');
    sf_buf_put(out, frame->json.data, frame->json.len);
    if (table)
        sf_buf_printf(out, ",%llu", (unsigned long long)frame->seq);
    sink->end(sink->self);
}

/* One event a row: elements stand between the brackets, with commas. */
static void put_source_events(const sf_listener *listener, const sf_frame *frame,
                              const sf_event_sink *sink)
{
    uint32_t from = 1;
    for (uint32_t i = 0; i < frame->rows; i++) {
        sf_buf *out = sink->begin(sink->self, "sourceEvent");
        sf_put_text(out, listener->name);
        sf_buf_putc(out, ',');
        sf_buf_put(out, frame->json.data + from, frame->ends[i] - from);
        sink->end(sink->self);
        from = frame->ends[i] + 1;
    }
}

static void put_missed(const sf_listener *listener, const sf_sub_item *item,
                       const sf_event_sink *sink)
{
    static const char *const kinds[] = {"table", "pipeline", "source"};
    sf_buf *out = sink->begin(sink->self, "subscriptionLagged");
    sf_buf_printf(out, "\"%s\",", kinds[listener->what]);
    sf_put_text(out, listener->name);
    sf_buf_printf(out, ",{\"fromSeq\":%llu,\"toSeq\":%llu,\"rows\":%llu}",
                  (unsigned long long)item->seq_from, (unsigned long long)item->seq_to,
                  (unsigned long long)item->rows);
    sink->end(sink->self);
}

static void put_state(const sf_listener *listener, const char *state, const sf_event_sink *sink)
{
    if (listener->what == SF_LISTEN_SOURCE)
        return;
    bool table = listener->what == SF_LISTEN_TABLE;
    sf_buf *out = sink->begin(sink->self, table ? "tableStatus" : "pipelineStatus");
    sf_put_text(out, listener->name);
    sf_buf_printf(out, ",\"%s\"", state);
    sink->end(sink->self);
}

/* ---- metrics ---- */

static void put_metrics_events(sf_listener *listener, const sf_event_sink *sink)
{
    sf_def_list list;
    if (sf_catalog_list(listener->service->catalog, SF_ENTITY_PIPELINE, "", &list, NULL) != SF_OK)
        return;
    for (uint32_t i = 0; i < list.count; i++) {
        if (!list.items[i]->running)
            continue;
        sf_buf *out = sink->begin(sink->self, "pipelineMetrics");
        sf_put_metrics(listener->service, list.items[i], out);
        sink->end(sink->self);
    }
    sf_def_list_free(&list);
}

/* Every two seconds: running queries that have failed get their reason into the catalog, and those
 * who listen to metrics are woken. */
static void note_failures(sf_service *service)
{
    for (int kind = SF_ENTITY_PIPELINE; kind <= SF_ENTITY_TABLE; kind++) {
        sf_def_list list;
        if (sf_catalog_list(service->catalog, (sf_entity_kind)kind, "", &list, NULL) != SF_OK)
            continue;
        for (uint32_t i = 0; i < list.count; i++) {
            const sf_def *def = list.items[i], *now;
            sf_query_stats stats;
            if (!def->running || def->error)
                continue;
            sf_runtime_query_stats(service->runtime, def->name, &stats);
            if (stats.running && stats.state != SF_MEMBER_RUNNING &&
                sf_catalog_set_state(service->catalog, def->id, true, stats.error.message, &now,
                                     NULL) == SF_OK)
                sf_def_unref(now);
        }
        sf_def_list_free(&list);
    }
}

static void tick_work(void *arg)
{
    sf_service *service = arg;
    if (pthread_mutex_trylock(&service->control) == 0) {
        note_failures(service);
        pthread_mutex_unlock(&service->control);
    }
    pthread_mutex_lock(&service->listeners_lock);
    for (size_t i = 0; i < service->metric_listeners.len; i++) {
        sf_listener *listener = service->metric_listeners.data[i];
        if (!atomic_exchange(&listener->due, true))
            listener->wake(listener->arg);
    }
    pthread_mutex_unlock(&service->listeners_lock);
}

void sf_listeners_tick(sf_service *service)
{
    if (!sf_blocking_submit(service->pool, tick_work, NULL, service))
        sf_log_write(service->options.log, SF_LOG_WARN, "service", "metrics were skipped: busy");
}

/* ---- life ---- */

/* The name to listen under. Nothing there: the name as given, which may come into being later. */
static sf_status resolve(sf_service *service, const sf_caller *caller, sf_listen what, sf_str name,
                         sf_listener *listener, char *topic, sf_error *err)
{
    static const sf_noun nouns[] = {SF_NOUN_TABLE, SF_NOUN_PIPELINE, SF_NOUN_SOURCE};
    const sf_def *def;
    sf_status status = sf_find_readable(service, caller, nouns[what], name, &def, err);
    if (status == SF_NOT_FOUND) {
        size_t len = name.len < SF_NAME_BYTES_MAX ? name.len : SF_NAME_BYTES_MAX;
        snprintf(topic, 256, "%.*s", (int)len, name.data);
        memcpy(listener->name, topic, sizeof listener->name);
        return SF_OK;
    }
    SF_TRY(status);
    snprintf(topic, 256, "%s", def->name);
    snprintf(listener->name, sizeof listener->name, "%s",
             what == SF_LISTEN_PIPELINE ? def->id : def->name);
    sf_def_unref(def);
    return SF_OK;
}

static sf_status listen_metrics(sf_service *service, sf_listener *listener, sf_error *err)
{
    pthread_mutex_lock(&service->listeners_lock);
    bool added = SF_VEC_PUSH(&service->metric_listeners, listener);
    pthread_mutex_unlock(&service->listeners_lock);
    return added ? SF_OK : sf_fail_memory(err);
}

sf_status sf_service_listen(sf_service *service, const sf_caller *caller, sf_listen what,
                            sf_str name, void (*wake)(void *arg), void *arg, sf_listener **out,
                            char *name_out, sf_error *err)
{
    static const sf_sub_kind kinds[] = {SF_SUB_TABLE, SF_SUB_PIPELINE, SF_SUB_SOURCE};
    char topic[256] = "";
    SF_TRY(sf_service_at_least(caller, SF_LEVEL_VIEWER, err));
    sf_listener *listener = sf_calloc(1, sizeof *listener);
    if (!listener)
        return sf_fail_memory(err);
    listener->service = service;
    listener->what = what;
    listener->wake = wake;
    listener->arg = arg;
    sf_status status = what == SF_LISTEN_METRICS
                           ? listen_metrics(service, listener, err)
                           : resolve(service, caller, what, name, listener, topic, err);
    if (status == SF_OK && what != SF_LISTEN_METRICS)
        status = sf_runtime_subscribe(service->runtime, kinds[what], topic, 0, wake, arg,
                                      &listener->sub, err);
    if (status != SF_OK) {
        sf_free(listener);
        return status;
    }
    snprintf(name_out, 256, "%s", listener->name);
    *out = listener;
    return SF_OK;
}

bool sf_listener_take(sf_listener *listener, size_t max_bytes, const sf_event_sink *sink)
{
    if (!listener->sub) {
        if (atomic_exchange(&listener->due, false))
            put_metrics_events(listener, sink);
        return false;
    }
    for (size_t written = 0; written < max_bytes;) {
        sf_sub_item item;
        switch (sf_sub_take(listener->sub, &item)) {
        case SF_SUB_EMPTY: return false;
        case SF_SUB_ROWS:
            written += item.frame->json.len + 64;
            if (listener->what == SF_LISTEN_SOURCE)
                put_source_events(listener, item.frame, sink);
            else
                put_rows_event(listener, item.frame, sink);
            sf_frame_unref(item.frame);
            break;
        case SF_SUB_MISSED: put_missed(listener, &item, sink); break;
        case SF_SUB_STATE: put_state(listener, item.state, sink); break;
        }
    }
    return true;
}

void sf_listener_close(sf_listener *listener)
{
    if (!listener)
        return;
    sf_service *service = listener->service;
    pthread_mutex_lock(&service->listeners_lock);
    for (size_t i = 0; i < service->metric_listeners.len; i++) {
        if (service->metric_listeners.data[i] == listener) {
            service->metric_listeners.data[i] =
                service->metric_listeners.data[--service->metric_listeners.len];
            break;
        }
    }
    pthread_mutex_unlock(&service->listeners_lock);
    sf_sub_close(listener->sub);
    sf_free(listener);
}
