/* The table of kinds, their descriptors, and what all sources have in common. */
#include "connect/source.h"
#include "text/text.h"

static const sf_source_kind *const kinds[] = {
#define SF_SOURCE_KIND(name) &source_kind_##name,
#include "connect/registry.def"
#undef SF_SOURCE_KIND
};

uint32_t sf_source_kind_count(void)
{
    return SF_COUNT_OF(kinds);
}

const sf_source_kind *sf_source_kind_at(uint32_t i)
{
    return kinds[i];
}

const sf_source_kind *sf_source_kind_find(sf_str name)
{
    for (size_t i = 0; i < SF_COUNT_OF(kinds); i++) {
        if (sf_str_eq(name, sf_str_of(kinds[i]->name)))
            return kinds[i];
    }
    return NULL;
}

/* ---- descriptors ---- */

static void put_member(sf_buf *out, const char *key, const char *text)
{
    if (!text)
        return;
    sf_buf_printf(out, ",\"%s\":", key);
    sf_json_put_string(out, sf_str_of(text));
}

static void put_flag(sf_buf *out, const char *key, bool value)
{
    sf_buf_printf(out, ",\"%s\":%s", key, value ? "true" : "false");
}

static void put_option(sf_buf *out, const sf_option *option)
{
    static const char *const types[] = {
        [SF_OPTION_STRING] = "string", [SF_OPTION_SECRET] = "secret", [SF_OPTION_TEXT] = "text",
        [SF_OPTION_NUMBER] = "number", [SF_OPTION_BOOL] = "bool",     [SF_OPTION_SELECT] = "select",
        [SF_OPTION_JSON] = "text",
    };
    sf_buf_puts(out, "{\"key\":");
    sf_json_put_string(out, sf_str_of(option->key));
    put_member(out, "label", option->label ? option->label : option->key);
    put_member(out, "type", types[option->type]);
    put_member(out, "group", option->group);
    put_flag(out, "required", option->required);
    put_flag(out, "mono", option->mono);
    put_member(out, "placeholder", option->placeholder);
    put_member(out, "help", option->help);
    if (option->choices) {
        sf_buf_puts(out, ",\"options\":[");
        for (uint32_t i = 0; option->choices[i]; i++) {
            if (i > 0)
                sf_buf_putc(out, ',');
            sf_json_put_string(out, sf_str_of(option->choices[i]));
        }
        sf_buf_putc(out, ']');
    }
    put_member(out, "default", option->fallback);
    sf_buf_putc(out, '}');
}

static void put_group(sf_buf *out, const sf_option_group *group)
{
    sf_buf_puts(out, "{\"key\":");
    sf_json_put_string(out, sf_str_of(group->key));
    put_member(out, "label", group->label);
    put_member(out, "help", group->help);
    put_flag(out, "optional", group->optional);
    put_member(out, "objectKey", group->object_key);
    sf_buf_putc(out, '}');
}

void sf_source_kind_put_json(const sf_source_kind *kind, sf_buf *out)
{
    sf_buf_puts(out, "{\"kind\":");
    sf_json_put_string(out, sf_str_of(kind->name));
    put_member(out, "label", kind->label);
    put_member(out, "help", kind->help);
    put_member(out, "configProperty", kind->config_property);
    sf_buf_puts(out, ",\"fields\":[");
    const char *before = "";
    for (uint32_t i = 0; i < kind->options.count; i++) {
        if (kind->options.options[i].type == SF_OPTION_JSON)
            continue;
        sf_buf_puts(out, before);
        put_option(out, &kind->options.options[i]);
        before = ",";
    }
    sf_buf_puts(out, "],\"groups\":[");
    for (uint32_t i = 0; i < kind->group_count; i++) {
        if (i > 0)
            sf_buf_putc(out, ',');
        put_group(out, &kind->groups[i]);
    }
    sf_buf_putc(out, ']');
    put_flag(out, "polled", kind->polled);
    put_flag(out, "mapping", kind->mapping);
    put_flag(out, "canProbe", kind->can_probe);
    put_flag(out, "duplex", kind->duplex);
    sf_buf_putc(out, '}');
}

/* ---- sources ---- */

sf_status source_connector_read(const sf_source_kind *kind, sf_str connector, sf_arena *arena,
                                source_connector *out, sf_error *err)
{
    connector = sf_text_trim(connector);
    *out = (source_connector){0};
    if (!kind->config_property) {
        if (connector.len == 0 || sf_str_eq(connector, SF_STR("null")))
            return SF_OK;
        sf_fail(err, SF_INVALID, "a source of kind \"%s\" has no connector", kind->name);
        sf_error_hint(err, "leave connector out, or choose another kind");
        return SF_INVALID;
    }
    const sf_option options[] = {
        {.key = kind->config_property,
         .type = SF_OPTION_JSON,
         .required = true,
         .offset = offsetof(source_connector, block)},
        {.key = "schedule", .type = SF_OPTION_JSON, .offset = offsetof(source_connector, schedule)},
        {.key = "mapping", .type = SF_OPTION_JSON, .offset = offsetof(source_connector, mapping)},
    };
    sf_option_list list = {options, SF_COUNT_OF(options)};
    SF_TRY(sf_options_read(list, connector, "connector", arena, out, err));
    if (out->mapping.len > 0 && !kind->mapping) {
        sf_fail(err, SF_UNSUPPORTED, "a source of kind \"%s\" takes no connector.mapping",
                kind->name);
        sf_error_hint(err, "declare the fields under the names the input has");
        return SF_UNSUPPORTED;
    }
    if (out->schedule.len > 0 && !kind->polled)
        return sf_fail(err, SF_INVALID, "a source of kind \"%s\" has no connector.schedule",
                       kind->name);
    return SF_OK;
}

/* From the clock on the wall, where schedules live, to the one that timers count on. */
static int64_t slot_ns(const sf_source *source, int64_t after_wall_ms)
{
    int64_t wall_ms = sf_clock_wall_ms(&source->clock);
    int64_t wait_ms = sf_schedule_next_ms(&source->schedule, after_wall_ms) - wall_ms;
    wait_ms = wait_ms < 0 ? 0 : wait_ms;
    int64_t wait_ns;
    if (__builtin_mul_overflow(wait_ms, 1000000, &wait_ns))
        return INT64_MAX;
    return sf_sat_add(sf_clock_mono_ns(&source->clock), wait_ns);
}

sf_status source_init(sf_source *source, const sf_source_kind *kind, const sf_source_port *port,
                      const source_connector *connector, sf_error *err)
{
    source->kind = kind;
    source->clock = port->clock;
    source->due_mono_ns = INT64_MIN;
    if (!kind->polled)
        return SF_OK;
    SF_TRY(sf_schedule_parse(connector->schedule, &source->schedule, err));
    if (source->schedule.interval_ms == 0)
        source->due_mono_ns = slot_ns(source, sf_clock_wall_ms(&source->clock));
    return SF_OK;
}

void source_wait(sf_source *source, sf_poll *out)
{
    source->due_mono_ns = slot_ns(source, sf_clock_wall_ms(&source->clock));
    out->next_mono_ns = source->due_mono_ns;
    out->caught_up = true;
}

int64_t sf_source_retry_ns(const sf_source *source, uint32_t failures)
{
    int64_t wait_ms = sf_backoff_ms(failures);
    if (source->kind->polled &&
        source->schedule.interval_ms == 0) /* a slot at the very end counts */
        return slot_ns(source, sf_sat_add(sf_clock_wall_ms(&source->clock), wait_ms - 1));
    return sf_sat_add(sf_clock_mono_ns(&source->clock), wait_ms * 1000000);
}

sf_status sf_source_check(const sf_source_kind *kind, const sf_source_config *config, sf_error *err)
{
    return kind->check(config, err);
}

sf_status sf_source_open(const sf_source_kind *kind, const sf_source_config *config,
                         sf_str position, const sf_source_port *port, sf_source **out,
                         sf_error *err)
{
    if (!kind->open)
        return sf_fail(err, SF_CONFLICT, "a source of kind \"%s\" is pushed to, not opened",
                       kind->name);
    return kind->open(config, position, port, out, err);
}

sf_status sf_source_poll(sf_source *source, uint32_t budget_rows, sf_poll *out, sf_error *err)
{
    sf_poll_reset(out);
    sf_status status = source->kind->poll(source, budget_rows ? budget_rows : 1, out, err);
    if (status != SF_OK)
        sf_poll_reset(out);
    return status;
}

void sf_source_close(sf_source *source)
{
    if (source)
        source->kind->close(source);
}

void sf_poll_reset(sf_poll *poll)
{
    for (size_t i = 0; i < poll->batches.len; i++)
        sf_batch_unref(poll->batches.data[i]);
    sf_poll kept = {.position = poll->position};
    kept.batches.data = poll->batches.data;
    kept.batches.cap = poll->batches.cap;
    *poll = kept;
    sf_buf_clear(&poll->position);
}

void sf_poll_deinit(sf_poll *poll)
{
    sf_poll_reset(poll);
    SF_VEC_DEINIT(&poll->batches);
    sf_buf_deinit(&poll->position);
}
