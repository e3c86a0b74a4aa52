/* Listeners: what the hub hands to its clients, as named events. */
#include "service/internal.h"

#include <stdio.h>

/* The figures of all running pipelines at one moment, written once for all who listen. */
struct sf_metrics_page {
    uint32_t refs; /* under listeners_lock */
    sf_buf json;   /* one object after the other, */
    SF_VEC(size_t) ends;
};

struct sf_listener {
    sf_service *service;
    sf_listen what;
    char name[256]; /* as events name it: a table's or source's name, a pipeline's id */
    sf_sub *sub;    /* NULL: metrics */
    /* metrics */
    void (*wake)(void *arg);
    void *arg;
    sf_metrics_page *page; /* not told yet; under listeners_lock */
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

static void unref_page(sf_metrics_page *page) /* listeners_lock held */
{
    if (!page || --page->refs > 0)
        return;
    sf_buf_deinit(&page->json);
    SF_VEC_DEINIT(&page->ends);
    sf_free(page);
}

/* With one reference; NULL: out of memory, or nothing can be read. */
static sf_metrics_page *write_page(sf_service *service)
{
    sf_def_list list;
    sf_metrics_page *page = sf_calloc(1, sizeof *page);
    if (!page)
        return NULL;
    page->refs = 1;
    if (sf_catalog_list(service->catalog, SF_ENTITY_PIPELINE, "", &list, NULL) != SF_OK)
        return page;
    for (uint32_t i = 0; i < list.count; i++) {
        if (!list.items[i]->running)
            continue;
        sf_put_metrics(service, list.items[i], &page->json);
        if (page->json.failed || !SF_VEC_PUSH(&page->ends, page->json.len))
            break;
    }
    sf_def_list_free(&list);
    return page;
}

static void put_metrics_events(sf_listener *listener, const sf_event_sink *sink)
{
    sf_service *service = listener->service;
    pthread_mutex_lock(&service->listeners_lock);
    sf_metrics_page *page = listener->page;
    listener->page = NULL;
    pthread_mutex_unlock(&service->listeners_lock);
    size_t from = 0;
    for (size_t i = 0; page && i < page->ends.len; i++) {
        sf_buf *out = sink->begin(sink->self, "pipelineMetrics");
        sf_buf_put(out, page->json.data + from, page->ends.data[i] - from);
        sink->end(sink->self);
        from = page->ends.data[i];
    }
    pthread_mutex_lock(&service->listeners_lock);
    unref_page(page);
    pthread_mutex_unlock(&service->listeners_lock);
}

/* Running queries that have failed get their reason into the catalog. */
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

/* A reader that has not taken the last figures gets the newest instead. */
static void tell_metrics(sf_service *service)
{
    pthread_mutex_lock(&service->listeners_lock);
    bool heard = service->metric_listeners.len > 0;
    pthread_mutex_unlock(&service->listeners_lock);
    sf_metrics_page *page = heard ? write_page(service) : NULL;
    if (!page)
        return;
    pthread_mutex_lock(&service->listeners_lock);
    for (size_t i = 0; i < service->metric_listeners.len; i++) {
        sf_listener *listener = service->metric_listeners.data[i];
        bool told = listener->page == NULL;
        unref_page(listener->page);
        listener->page = page;
        page->refs++;
        if (told)
            listener->wake(listener->arg);
    }
    unref_page(page);
    pthread_mutex_unlock(&service->listeners_lock);
}

static void tick_work(void *arg)
{
    sf_service *service = arg;
    if (pthread_mutex_trylock(&service->control) == 0) {
        note_failures(service);
        pthread_mutex_unlock(&service->control);
    }
    tell_metrics(service);
    pthread_mutex_lock(&service->listeners_lock);
    service->ticking = false;
    pthread_cond_broadcast(&service->listeners_quiet);
    pthread_mutex_unlock(&service->listeners_lock);
}

void sf_listeners_tick(sf_service *service)
{
    pthread_mutex_lock(&service->listeners_lock);
    bool begin = !service->ticking;
    service->ticking = true;
    pthread_mutex_unlock(&service->listeners_lock);
    if (!begin || sf_blocking_submit(service->desk, tick_work, NULL, service))
        return;
    pthread_mutex_lock(&service->listeners_lock);
    service->ticking = false;
    pthread_mutex_unlock(&service->listeners_lock);
    sf_log_write(service->options.log, SF_LOG_WARN, "service", "metrics were skipped: busy");
}

void sf_listeners_settle(sf_service *service)
{
    pthread_mutex_lock(&service->listeners_lock);
    while (service->ticking)
        pthread_cond_wait(&service->listeners_quiet, &service->listeners_lock);
    pthread_mutex_unlock(&service->listeners_lock);
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
    unref_page(listener->page);
    pthread_mutex_unlock(&service->listeners_lock);
    sf_sub_close(listener->sub);
    sf_free(listener);
}
