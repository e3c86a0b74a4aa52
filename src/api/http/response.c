/* Answers: building them and writing their heads. */
#include "api/http/conn.h"
#include "text/text.h"

#include <stdio.h>
#include <time.h>

static const struct {
    int status;
    const char *text;
} reasons[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

static const char *reason_of(int status)
{
    for (size_t i = 0; i < SF_COUNT_OF(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].text;
    return "Status";
}

void sf_http_response_field(sf_http_response *response, const char *name, sf_str value)
{
    sf_buf_puts(&response->fields, name);
    sf_buf_puts(&response->fields, ": ");
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.data[i];
        if (c >= ' ' && c != 0x7f)
            sf_buf_putc(&response->fields, (char)c);
    }
    sf_buf_puts(&response->fields, "\r\n");
}

void sf_http_response_deinit(sf_http_response *response)
{
    sf_buf_deinit(&response->fields);
    sf_buf_deinit(&response->body);
    if (response->stream.take && response->stream.free)
        response->stream.free(response->stream.self);
    *response = (sf_http_response){0};
}

void sf_http_response_error(sf_http_response *response, int status, const char *message,
                            const char *hint)
{
    sf_http_response_deinit(response);
    response->status = status;
    response->content_type = "application/json; charset=utf-8";
    char sentence[1024];
    bool hinted = hint && hint[0];
    snprintf(sentence, sizeof sentence, "%s%s%s", message, hinted ? "; " : "", hinted ? hint : "");
    sf_buf_puts(&response->body, "{\"error\":");
    sf_json_put_string(&response->body, sf_str_of(sentence));
    sf_buf_putc(&response->body, '}');
}

/* IMF-fixdate, written once a second. */
static const char *date_of(lane *l)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    int64_t now_s = sf_clock_wall_ms(&l->server->config.clock) / 1000;
    if (now_s == l->date_s && l->date[0])
        return l->date;
    time_t when = (time_t)now_s;
    struct tm tm;
    if (!gmtime_r(&when, &tm))
        return "Thu, 01 Jan 1970 00:00:00 GMT";
    snprintf(l->date, sizeof l->date, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[tm.tm_wday % 7],
             tm.tm_mday % 100, months[tm.tm_mon % 12], (tm.tm_year + 1900) % 10000,
             tm.tm_hour % 100, tm.tm_min % 100, tm.tm_sec % 100);
    l->date_s = now_s;
    return l->date;
}

static bool has_no_body(int status)
{
    return status < 200 || status == 204 || status == 304;
}

void sf_conn_write_head(struct sf_http_conn *conn, const sf_http_response *response)
{
    sf_buf *out = &conn->out;
    const sf_http_head *head = conn->call ? &conn->call->pub.head : NULL;
    sf_buf_printf(out, "HTTP/1.1 %d %s\r\nDate: %s\r\n", response->status,
                  reason_of(response->status), date_of(conn->lane));
    if (response->content_type)
        sf_buf_printf(out, "Content-Type: %s\r\n", response->content_type);
    conn->chunk_stream = false;
    if (response->stream.take) {
        if (head && head->http10) {
            conn->keep_alive = false; /* only the end of the connection ends such a body */
        } else {
            conn->chunk_stream = true;
            sf_buf_puts(out, "Transfer-Encoding: chunked\r\n");
        }
    } else if (!has_no_body(response->status)) {
        sf_buf_printf(out, "Content-Length: %zu\r\n", response->body.len);
    }
    if (response->status == 101)
        sf_buf_puts(out, "Connection: Upgrade\r\n");
    else if (!conn->keep_alive)
        sf_buf_puts(out, "Connection: close\r\n");
    else if (head && head->http10)
        sf_buf_puts(out, "Connection: keep-alive\r\n");
    sf_buf_put(out, response->fields.data, response->fields.len);
    sf_buf_puts(out, "\r\n");
}
