/* About the server: health, identity, environments, kinds, functions. */
#include "service/internal.h"

sf_status sf_service_health(sf_service *service, sf_answer *out, sf_error *err)
{
    SF_UNUSED(service);
    sf_buf_puts(&out->body, "{\"status\":\"ok\"}");
    return sf_answered(out, err);
}

static uint32_t count_of(sf_service *service, sf_entity_kind kind)
{
    sf_def_list list;
    if (sf_catalog_list(service->catalog, kind, "", &list, NULL) != SF_OK)
        return 0;
    uint32_t count = list.count;
    sf_def_list_free(&list);
    return count;
}

/* Counts only: names are not for those who have not signed in. */
static void put_warnings(sf_service *service, sf_buf *out)
{
    sf_buf_putc(out, '[');
    uint32_t stale = 0;
    for (int kind = SF_ENTITY_PIPELINE; kind <= SF_ENTITY_TABLE; kind++) {
        sf_def_list list;
        if (sf_catalog_list(service->catalog, (sf_entity_kind)kind, "", &list, NULL) != SF_OK)
            continue;
        sf_buf reason = {0};
        for (uint32_t i = 0; i < list.count; i++)
            stale += sf_catalog_stale_reason(service->catalog, list.items[i], &reason);
        sf_buf_deinit(&reason);
        sf_def_list_free(&list);
    }
    if (stale)
        sf_buf_printf(out, "\"%u entit%s a stale pin\"", stale, stale == 1 ? "y has" : "ies have");
    sf_buf_putc(out, ']');
}

sf_status sf_service_instance(sf_service *service, sf_answer *out, sf_error *err)
{
    sf_buf *body = &out->body;
    sf_buf_printf(body,
                  "{\"instanceId\":\"%s\",\"name\":", sf_catalog_instance_id(service->catalog));
    sf_put_text(body, service->name);
    sf_buf_puts(body, ",\"flavor\":\"c\",\"version\":");
    sf_put_text(body, service->version);
    sf_buf_puts(body, ",\"endpoints\":{\"rest\":");
    sf_put_text(body, service->rest_url);
    sf_buf_puts(body, ",\"grpc\":");
    sf_put_text(body, service->grpc_url);
    sf_buf_puts(body, "},\"capabilities\":[],\"plugins\":[");
    for (uint32_t i = 0; i < sf_source_kind_count(); i++)
        sf_buf_printf(body, "%s\"%s\"", i ? "," : "", sf_source_kind_at(i)->name);
    sf_buf_printf(body,
                  "],\"catalogCounts\":{\"sources\":%u,\"pipelines\":%u,\"tables\":%u},"
                  "\"catalogWarnings\":",
                  count_of(service, SF_ENTITY_SOURCE), count_of(service, SF_ENTITY_PIPELINE),
                  count_of(service, SF_ENTITY_TABLE));
    put_warnings(service, body);
    sf_buf_printf(body, ",\"startedAtMs\":%lld}", (long long)service->started_at_ms);
    return sf_answered(out, err);
}

sf_status sf_service_environments(sf_service *service, const sf_caller *caller, sf_answer *out,
                                  sf_error *err)
{
    SF_TRY(sf_service_at_least(caller, SF_LEVEL_VIEWER, err));
    uint32_t entities = count_of(service, SF_ENTITY_SOURCE) +
                        count_of(service, SF_ENTITY_PIPELINE) + count_of(service, SF_ENTITY_TABLE);
    sf_buf_printf(&out->body,
                  "[{\"name\":\"default\",\"description\":\"the environment every deployment "
                  "has\",\"createdAtMs\":0,\"createdBy\":\"\",\"entityCount\":%u}]",
                  entities);
    return sf_answered(out, err);
}

sf_status sf_service_transports(sf_service *service, sf_answer *out, sf_error *err)
{
    SF_UNUSED(service);
    sf_buf_puts(&out->body, "{\"inbound\":[");
    for (uint32_t i = 0; i < sf_source_kind_count(); i++) {
        if (i)
            sf_buf_putc(&out->body, ',');
        sf_source_kind_put_json(sf_source_kind_at(i), &out->body);
    }
    sf_buf_puts(&out->body, "],\"outbound\":[]}");
    return sf_answered(out, err);
}

sf_status sf_service_functions(sf_service *service, sf_answer *out, sf_error *err)
{
    SF_UNUSED(service);
    sf_buf_putc(&out->body, '[');
    for (uint32_t i = 0; i < sf_function_count(); i++) {
        const sf_function_info *info = sf_function_at(i);
        sf_buf_puts(&out->body, i ? ",{\"name\":" : "{\"name\":");
        sf_put_text(&out->body, info->name);
        sf_buf_puts(&out->body, ",\"signature\":");
        sf_put_text(&out->body, info->signature);
        sf_buf_puts(&out->body, ",\"family\":");
        sf_put_text(&out->body, info->family);
        sf_buf_puts(&out->body, ",\"doc\":");
        sf_put_text(&out->body, info->doc);
        sf_buf_printf(&out->body, ",\"kind\":\"%s\",\"example\":",
                      strcmp(info->family, "aggregate") == 0 ? "aggregate" : "scalar");
        sf_put_text(&out->body, info->example);
        sf_buf_puts(&out->body, ",\"result\":");
        sf_put_text(&out->body, info->result);
        sf_buf_putc(&out->body, '}');
    }
    sf_buf_putc(&out->body, ']');
    return sf_answered(out, err);
}
