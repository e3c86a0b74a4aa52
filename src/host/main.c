/* The server: settings, service, API, signals. */
#include "api/api.h"
#include "host/config.h"
#include "service/service.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define VERSION "0.1.0"

extern char **environ;

/* One line a message: time, level, component, text. */
static void write_log(void *self, sf_log_level level, const char *component, const char *line)
{
    static const char *const levels[] = {"debug", "info", "warn", "error"};
    SF_UNUSED(self);
    sf_clock clock = sf_clock_system();
    int64_t now_ms = sf_clock_wall_ms(&clock);
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm utc;
    char text[32];
    gmtime_r(&seconds, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    fprintf(stderr, "%s.%03dZ %-5s %s: %s\n", text, (int)(now_ms % 1000), levels[level], component,
            line);
}

static void complain(const sf_error *err)
{
    fprintf(stderr, "streamsforge: %s%s%s\n", err->message, err->hint[0] ? "; " : "", err->hint);
}

static void log_settings(const sf_log *log, const sf_settings *settings)
{
    if (settings->streams_given)
        sf_log_write(log, SF_LOG_INFO, "config",
                     "Streams:* is accepted and changes nothing: delivery is always push and "
                     "bounded");
    for (size_t i = 0; i < settings->unknown.len; i++)
        sf_log_write(log, SF_LOG_WARN, "config", "unknown setting %s is ignored",
                     settings->unknown.data[i]);
    if (settings->grpc_port_given)
        sf_log_write(log, SF_LOG_INFO, "config", "gRPC is not served yet: no port %lld is opened",
                     (long long)settings->grpc_port);
}

static sf_status open_service(const sf_settings *settings, const sf_log *log, sf_service **out,
                              sf_error *err)
{
    char rest[64], grpc[64];
    snprintf(rest, sizeof rest, "http://127.0.0.1:%lld", (long long)settings->http_port);
    snprintf(grpc, sizeof grpc, "http://127.0.0.1:%lld", (long long)settings->grpc_port);
    sf_service_options options = {.dir = settings->data_dir,
                                  .name = settings->name ? settings->name : "streamsforge",
                                  .version = VERSION,
                                  .rest_url = rest,
                                  .grpc_url = grpc,
                                  .seed_demo = !settings->no_demo,
                                  .memory_bytes = settings->memory_bytes,
                                  .journal_bytes = settings->journal_bytes,
                                  .checkpoint_ms = settings->checkpoint_ms,
                                  .log_bytes = settings->log_bytes,
                                  .workers = settings->workers,
                                  .jwt_key = settings->jwt_key,
                                  .jwt_issuer = settings->jwt_issuer,
                                  .jwt_audience = settings->jwt_audience,
                                  .disk = sf_disk_system(),
                                  .clock = sf_clock_system(),
                                  .random = sf_random_system(),
                                  .log = log};
    return sf_service_open(&options, out, err);
}

static sf_status serve(const sf_settings *settings, const sf_log *log, const sigset_t *signals,
                       sf_error *err)
{
    sf_service *service;
    sf_api *api;
    SF_TRY(open_service(settings, log, &service, err));
    sf_api_options options = {.service = service,
                              .port = (uint16_t)settings->http_port,
                              .clock = sf_clock_system(),
                              .random = sf_random_system(),
                              .log = log};
    sf_status status = sf_api_open(&options, &api, err);
    if (status == SF_OK) {
        printf("StreamsForge %s serves http://127.0.0.1:%u (data in %s)\n", VERSION,
               sf_api_port(api), settings->data_dir);
        printf("sign in as admin, editor or viewer; the first passwords are in README.md: change "
               "them\n");
        fflush(stdout);
        int got = 0;
        sigwait(signals, &got);
        sf_log_write(log, SF_LOG_INFO, "host", "stopping: %s", strsignal(got));
        sf_api_close(api);
    }
    sf_service_close(service);
    return status;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            sf_buf help = {0};
            sf_settings_put_help(&help);
            fputs(help.data ? help.data : "", stdout);
            sf_buf_deinit(&help);
            return 0;
        }
        if (strcmp(argv[i], "--version") == 0) {
            puts("streamsforge " VERSION);
            return 0;
        }
    }
    /* All threads inherit the mask: signals arrive at sigwait only. A vanished client is an error of
     * its write, not a signal. */
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    sf_log log = {.min_level = SF_LOG_INFO, .write = write_log};
    sf_disk disk = sf_disk_system();
    sf_settings settings;
    sf_error err = {0};
    sf_status status = sf_settings_read(argc - 1, argv + 1, environ, &disk, &settings, &err);
    if (status == SF_OK) {
        log_settings(&log, &settings);
        status = serve(&settings, &log, &signals, &err);
        sf_settings_deinit(&settings);
    }
    if (status == SF_OK)
        return 0;
    complain(&err);
    return 1;
}
