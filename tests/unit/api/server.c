/* A server in this process whose memory runs short at every allocation in turn: it may refuse, it
 * may hang up, but it goes on, and nothing leaks. */
#include "api/http/front.h"
#include "api/hub/hub.h"
#include "tests.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static sf_status say_ok(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    SF_UNUSED(app);
    SF_UNUSED(err);
    out->status = 200;
    out->content_type = "text/plain";
    sf_buf_put(&out->body, call->params[0].data, call->params[0].len);
    sf_http_response_field(out, "X-Thing", SF_STR("1"));
    return SF_OK;
}

static sf_status subscribe(void *self, const sf_hub_client *client, const sf_hub_topic *topic,
                           sf_hub_wake wake, sf_hub_subscription *out, sf_error *err)
{
    SF_UNUSED(self);
    SF_UNUSED(client);
    SF_UNUSED(topic);
    SF_UNUSED(wake);
    SF_UNUSED(out);
    SF_UNUSED(err);
    return SF_OK;
}

static sf_status upgrade(void *app, sf_http_call *call, sf_http_response *out, sf_error *err)
{
    SF_UNUSED(out);
    SF_UNUSED(err);
    sf_hub_connect(app, call, SF_STR("me"), SF_STR(""), SF_STR(""), NULL);
    return SF_OK;
}

static const sf_route routes[] = {
    {SF_HTTP_POST, "/say/{what}", SF_FLOOR_ANYONE, "", say_ok, SF_BODY_ANY, 1000, SF_ON_LOOP, 0,
     ""},
    {SF_HTTP_GET, "/hub", SF_FLOOR_ANYONE, "", upgrade, SF_BODY_NONE, 0, SF_ON_LOOP, 0, ""},
};

static int connect_to(uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct timeval patience = {.tv_sec = 20};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Sends and reads until the peer ends or want was seen. 0: neither came in time. */
static int talk(uint16_t port, const char *request, size_t len, const char *want)
{
    int fd = connect_to(port);
    if (fd < 0)
        return 0;
    char seen[4096];
    size_t have = 0;
    int result = -1;
    if (send(fd, request, len, MSG_NOSIGNAL) == (ssize_t)len) {
        for (;;) {
            ssize_t got = recv(fd, seen + have, sizeof seen - 1 - have, 0);
            if (got <= 0) {
                result = got == 0 || have > 0 ? -1 : result;
                break;
            }
            have += (size_t)got;
            if (memmem(seen, have, want, strlen(want))) {
                result = 1;
                break;
            }
        }
    }
    close(fd);
    return result;
}

static const char post[] =
    "POST /say/h%20i HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n";
/* With the handshake and two calls, masked with zeros. */
static const char hub_open[] =
    "GET /hub HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    "\x81\xa0\0\0\0\0{\"protocol\":\"json\",\"version\":1}\x1e"
    "\x81\xcc\0\0\0\0{\"type\":1,\"invocationId\":\"1\",\"target\":\"SubscribeTable\","
    "\"arguments\":[\"t\\n\"]}\x1e";

void memory_may_run_short(void)
{
    sf_error err = {0};
    sf_hub_config hub_config = {.clock = sf_clock_system(),
                                .random = sf_random_system(),
                                .source = {.subscribe = subscribe}};
    sf_hub *hub = NULL;
    sf_front *front = NULL;
    REQUIRE_OK(sf_hub_new(&hub_config, &hub, &err), err);
    sf_front_config config = {
        .http = {.address = "127.0.0.1", .clock = sf_clock_system()},
        .router = {routes, SF_COUNT_OF(routes)},
        .app = hub,
    };
    REQUIRE_OK(sf_front_new(&config, &front, &err), err);
    sf_http_server *server = sf_front_server(front);
    REQUIRE_OK(sf_http_server_start(server, &err), err);
    uint16_t port = sf_http_server_port(server);
    bool whole = false;
    for (uint64_t n = 1; n < 200 && !whole; n++) {
        sf_alloc_fail_after(n);
        int first = talk(port, post, sizeof post - 1, "h i");
        sf_alloc_fail_after(n);
        int second = talk(port, hub_open, sizeof hub_open - 1, "\"result\":null");
        sf_alloc_fail_after(0);
        CHECK(first != 0 && second != 0);
        whole = first == 1 && second == 1;
        CHECK_INT(talk(port, post, sizeof post - 1, "h i"), 1);
        CHECK_INT(talk(port, hub_open, sizeof hub_open - 1, "\"result\":null"), 1);
    }
    CHECK(whole); /* in the end nothing failed any more */
    sf_http_server_stop(server, 1000);
    sf_front_free(front);
    sf_hub_free(hub);
}
