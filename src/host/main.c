/* The server: settings, start, the wait for a signal, a graceful end. */
#include "api/api.h"
#include "host/config.h"
#include "service/service.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { GRACE_MS = 5000, LINE_BYTES = 4096 };

/* ---- log lines on standard error: time, level, component, text; one write each ---- */

static void write_log(void *self, sf_log_level level, const char *component, const char *line)
{
    static const char *const levels[] = {
        [SF_LOG_DEBUG] = "debug",
        [SF_LOG_INFO] = "info",
        [SF_LOG_WARN] = "warn",
        [SF_LOG_ERROR] = "error",
    };
    int64_t now_ms = sf_clock_wall_ms(self);
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm utc;
    char when[32], text[LINE_BYTES];
    gmtime_r(&seconds, &utc);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &utc);
    int len = snprintf(text, sizeof text, "%s.%03dZ %-5s %s: %s", when, (int)(now_ms % 1000),
                       levels[level], component, line);
    if (len < 0)
        return;
    size_t bytes = (size_t)len < sizeof text - 1 ? (size_t)len : sizeof text - 1;
    for (size_t i = 0; i < bytes; i++) /* what came from outside makes no second line */
        if ((unsigned char)text[i] < ' ')
            text[i] = ' ';
    text[bytes++] = '\n';
    for (size_t done = 0; done < bytes;) {
        ssize_t wrote = write(STDERR_FILENO, text + done, bytes - done);
        if (wrote <= 0)
            return;
        done += (size_t)wrote;
    }
}

static int complain(const sf_error *err)
{
    fprintf(stderr, "streamsforge: %s%s%s\n", err->message, err->hint[0] ? "; " : "", err->hint);
    return 1;
}

/* Settings that have no effect are answered, so that nobody waits for one. */
static void tell_settings(const sf_settings *settings, const sf_log *log)
{
    for (size_t i = 0; i < settings->unknown.len; i++)
        sf_log_write(log, SF_LOG_WARN, "settings", "%s is unknown and has no effect",
                     settings->unknown.data[i]);
    if (settings->streams_given)
        sf_log_write(
            log, SF_LOG_INFO, "settings",
            "Streams:* is accepted and changes nothing: delivery is always push, and every "
            "queue is bounded");
    if (settings->grpc_port_given)
        sf_log_write(log, SF_LOG_WARN, "settings",
                     "Grpc:Port %lld is not opened: this version serves REST and the hub only",
                     (long long)settings->grpc_port);
}

/* ---- life ---- */

typedef struct {
    sf_settings settings;
    sf_clock clock;
    sf_log log;
    sf_api *api;
    sf_service *service;
    char rest_url[128];
} server;

static sf_status open_service(server *s, sf_error *err)
{
    const sf_settings *settings = &s->settings;
    sf_service_options options = {
        .dir = settings->data_dir,
        .name = settings->name ? settings->name : "streamsforge",
        .version = SF_VERSION,
        .rest_url = s->rest_url,
        .grpc_url = "",
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
        .clock = s->clock,
        .random = sf_random_system(),
        .log = &s->log,
    };
    return sf_service_open(&options, &s->service, err);
}

/* The port is taken before anything is opened: a second server ends here, not half-way. */
static sf_status start(server *s, sf_error *err)
{
    const sf_settings *settings = &s->settings;
    sf_api_options options = {.address = settings->http_address,
                              .port = (uint16_t)settings->http_port,
                              .clock = s->clock,
                              .random = sf_random_system(),
                              .log = &s->log};
    SF_TRY(sf_api_new(&options, &s->api, err));
    snprintf(s->rest_url, sizeof s->rest_url, "http://%s:%u", settings->http_address,
             sf_api_port(s->api));
    SF_TRY(open_service(s, err));
    return sf_api_start(s->api, s->service, err);
}

static void stop(server *s)
{
    sf_api_stop(s->api, GRACE_MS);
    sf_api_free(s->api);
    sf_service_close(s->service);
    sf_settings_deinit(&s->settings);
}

static int serve(server *s, const sigset_t *signals)
{
    sf_error err = {0};
    int64_t began_ns = sf_clock_mono_ns(&s->clock);
    if (start(s, &err) != SF_OK) {
        stop(s);
        return complain(&err);
    }
    sf_log_write(&s->log, SF_LOG_INFO, "start", "ready after %lld ms",
                 (long long)((sf_clock_mono_ns(&s->clock) - began_ns) / 1000000));
    printf("streamsforge %s serves %s (data in %s)\n"
           "sign in with sf login: the users of a new data directory are in README.md; Ctrl-C ends "
           "the server\n",
           SF_VERSION, s->rest_url, s->settings.data_dir);
    fflush(stdout);
    int number = 0;
    while (sigwait(signals, &number) != 0) {
    }
    sf_log_write(&s->log, SF_LOG_INFO, "stop", "%s: finishing what is under way",
                 strsignal(number));
    stop(s);
    sf_log_write(&s->log, SF_LOG_INFO, "stop", "all state is on disk");
    return 0;
}

static bool asks_for_text(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--version") == 0) {
            puts("streamsforge " SF_VERSION);
            return true;
        }
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            sf_buf help = {0};
            sf_settings_put_help(&help);
            fputs(help.data ? help.data : "", stdout);
            sf_buf_deinit(&help);
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    if (asks_for_text(argc, argv))
        return 0;
    server s = {.clock = sf_clock_system()};
    s.log = (sf_log){.min_level = SF_LOG_INFO, .write = write_log, .self = &s.clock};
    sf_disk disk = sf_disk_system();
    sf_error err = {0};
    if (sf_settings_read(argc - 1, argv + 1, environ, &disk, &s.settings, &err) != SF_OK)
        return complain(&err);
    tell_settings(&s.settings, &s.log);
    /* Blocked before any thread begins, so that sigwait alone gets them. A peer that has gone is an
     * error of its write, not a signal. */
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    return serve(&s, &signals);
}
