/* config.h: settings of the server, from three places: a JSON file, then the environment, then the
 * command line; the later wins. Keys are written A:B (command line --A:B value), A__B (environment)
 * or as nested objects (file), in any case.
 *
 * Memory   Texts live as long as the settings. */
#ifndef SF_HOST_CONFIG_H
#define SF_HOST_CONFIG_H

#include "base/seam.h"

typedef struct {
    sf_arena arena;
    int64_t http_port, grpc_port;
    bool grpc_port_given;
    const char *http_address, *data_dir, *name;
    bool no_demo;
    const char *jwt_key, *jwt_issuer, *jwt_audience;               /* NULL: the default */
    int64_t memory_bytes, journal_bytes, checkpoint_ms, log_bytes; /* 0: the default */
    int64_t workers;
    bool streams_given;           /* some Streams:* key: accepted, and answered with a log line */
    SF_VEC(const char *) unknown; /* keys nobody knows */
} sf_settings;

/* args: argv without the program. SF_INVALID names the key and what it takes. */
SF_MUST_USE sf_status sf_settings_read(int arg_count, char **args, char **environment,
                                       const sf_disk *disk, sf_settings *out, sf_error *err);
void sf_settings_deinit(sf_settings *settings);
void sf_settings_put_help(sf_buf *out);

#endif
