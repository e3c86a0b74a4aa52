/* source.h: what every kind starts with; shared by the files of this module. */
#ifndef SF_CONNECT_SOURCE_H
#define SF_CONNECT_SOURCE_H

#include "connect/connect.h"

struct sf_source {
    const sf_source_kind *kind;
    sf_clock clock;
    sf_schedule schedule; /* polled kinds */
    int64_t due_mono_ns;  /* polled kinds: nothing to do before */
};

/* The parts of a ConnectorConfig, as JSON texts in the arena. */
typedef struct {
    sf_str schedule, block, mapping;
} source_connector;

#define SF_SOURCE_KIND(name) extern const sf_source_kind source_kind_##name;
#include "connect/registry.def"
#undef SF_SOURCE_KIND

/* Fills the base; of polled kinds the schedule, due at once, or on cron at its next slot. */
sf_status source_init(sf_source *source, const sf_source_kind *kind, const sf_source_port *port,
                      const source_connector *connector, sf_error *err);
/* Refuses what the kind has no use for. */
sf_status source_connector_read(const sf_source_kind *kind, sf_str connector, sf_arena *arena,
                                source_connector *out, sf_error *err);
/* Everything is delivered: the next poll is the schedule's. */
void source_wait(sf_source *source, sf_poll *out);

#endif
