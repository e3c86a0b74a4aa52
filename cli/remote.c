/* Requests to a server. */
#include "cli/remote.h"
#include "text/text.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    REPLY_BYTES_MAX = 1 << 30,
    CONNECT_SECONDS = 10,
    REQUEST_SECONDS = 300,
};

#define DEFAULT_URL "http://localhost:5199"

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static sf_status check_url(sf_cli_remote *remote, sf_error *err)
{
    const char *url = remote->url;
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return sf_fail(err, SF_INVALID, "the server's URL begins with http:// or https://: \"%s\"",
                       url);
    size_t length = strlen(url);
    while (length && url[length - 1] == '/')
        length--;
    remote->url = sf_arena_strndup(&remote->arena, url, length);
    return remote->url ? SF_OK : sf_fail_memory(err);
}

sf_status sf_cli_remote_open(sf_cli_remote *remote, const sf_cli_command *command, sf_error *err)
{
    remote->command = command;
    sf_arena_init(&remote->arena, 0);
    if (!remote->url)
        remote->url = variable("SF_URL");
    if (!remote->url)
        remote->url = DEFAULT_URL;
    SF_TRY(check_url(remote, err));
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0 || !(remote->curl = curl_easy_init()))
        return sf_fail_memory(err);
    remote->token = variable("SF_TOKEN");
    if (remote->token)
        return SF_OK;
    sf_error missing;
    sf_status status =
        sf_cli_token_load(remote->url, &remote->arena, &remote->token, &remote->user, &missing);
    if (status != SF_OK && status != SF_NOT_FOUND) {
        *err = missing;
        return status;
    }
    return SF_OK;
}

void sf_cli_remote_close(sf_cli_remote *remote)
{
    if (remote->curl)
        curl_easy_cleanup(remote->curl);
    curl_global_cleanup();
    sf_arena_deinit(&remote->arena);
}

static size_t take_body(char *bytes, size_t size, size_t count, void *arg)
{
    sf_buf *body = arg;
    if (body->len + size * count > REPLY_BYTES_MAX)
        return 0;
    sf_buf_put(body, bytes, size * count);
    return body->failed ? 0 : size * count;
}

static bool add_header(struct curl_slist **list, const char *name, const char *value)
{
    sf_buf line = {0};
    sf_buf_printf(&line, "%s: %s", name, value);
    struct curl_slist *longer = line.failed ? NULL : curl_slist_append(*list, line.data);
    sf_buf_deinit(&line);
    if (longer)
        *list = longer;
    return longer != NULL;
}

static bool add_headers(const sf_cli_remote *remote, bool has_body, struct curl_slist **list)
{
    bool ok = add_header(list, "Accept", "application/json, text/csv, */*");
    if (ok && has_body)
        ok = add_header(list, "Content-Type", "application/json");
    if (ok && remote->environment)
        ok = add_header(list, "X-StreamsForge-Environment", remote->environment);
    if (ok && remote->token) {
        sf_buf bearer = {0};
        sf_buf_printf(&bearer, "Bearer %s", remote->token);
        ok = !bearer.failed && add_header(list, "Authorization", bearer.data);
        sf_buf_deinit(&bearer);
    }
    return ok;
}

static sf_status explain(const sf_cli_remote *remote, CURLcode code, const char *detail,
                         sf_error *err)
{
    const char *why = detail[0] ? detail : curl_easy_strerror(code);
    sf_fail(err, SF_UNAVAILABLE, "%s does not answer: %s", remote->url, why);
    sf_error_hint(err, "is the server running there? --url or SF_URL names another");
    return SF_UNAVAILABLE;
}

sf_status sf_cli_remote_send(sf_cli_remote *remote, const char *method, const char *path,
                             sf_str body, sf_cli_reply *reply, sf_error *err)
{
    CURL *curl = remote->curl;
    struct curl_slist *headers = NULL;
    char detail[CURL_ERROR_SIZE] = "";
    sf_buf url = {0};
    *reply = (sf_cli_reply){0};
    sf_buf_printf(&url, "%s%s", remote->url, path);
    if (url.failed || !add_headers(remote, body.data != NULL, &headers)) {
        sf_buf_deinit(&url);
        curl_slist_free_all(headers);
        return sf_fail_memory(err);
    }
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url.data);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_NOBODY, strcmp(method, "HEAD") == 0 ? 1L : 0L);
    if (body.data) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data);
    }
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &reply->body);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)REQUEST_SECONDS);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    CURLcode code = curl_easy_perform(curl);
    const char *type = NULL;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply->status);
    curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
    snprintf(reply->content_type, sizeof reply->content_type, "%s", type ? type : "");
    sf_buf_deinit(&url);
    curl_slist_free_all(headers);
    return code == CURLE_OK ? SF_OK : explain(remote, code, detail, err);
}

/* ---- answers ---- */

static sf_status status_of(long http)
{
    switch (http) {
    case 400: return SF_INVALID;
    case 401: return SF_UNAUTHENTICATED;
    case 403: return SF_FORBIDDEN;
    case 404: return SF_NOT_FOUND;
    case 409: return SF_CONFLICT;
    case 412: return SF_STALE;
    case 413: return SF_LIMIT;
    case 429: return SF_OVERLOADED;
    case 501: return SF_UNSUPPORTED;
    case 503: return SF_UNAVAILABLE;
    default: return SF_INTERNAL;
    }
}

sf_status sf_cli_remote_refusal(sf_cli_remote *remote, const sf_cli_reply *reply, sf_error *err)
{
    sf_status status = status_of(reply->status);
    sf_str body = sf_buf_str(&reply->body);
    bool json = body.len && sf_json_validate(body, NULL) == SF_OK;
    const char *message = json ? sf_cli_member(&remote->arena, body, "error") : "";
    if (*message)
        sf_fail(err, status, "%s", message);
    else
        sf_fail(err, status, "the server answered with status %ld", reply->status);
    if (reply->status == 401)
        sf_error_hint(err, remote->token ? "the token is no longer good: sign in with sf login"
                                         : "sign in with sf login, or set SF_TOKEN");
    if (reply->status == 403 && remote->user)
        sf_error_hint(err, "signed in as %s", remote->user);
    return status;
}

sf_status sf_cli_remote_call(sf_cli_remote *remote, const char *method, const char *path,
                             sf_str body, sf_buf *out, sf_error *err)
{
    sf_cli_reply reply;
    sf_status status = sf_cli_remote_send(remote, method, path, body, &reply, err);
    if (status == SF_OK && reply.status >= 400)
        status = sf_cli_remote_refusal(remote, &reply, err);
    if (status == SF_OK && out && reply.body.len &&
        sf_json_validate(sf_buf_str(&reply.body), NULL) != SF_OK) {
        status = sf_fail(err, SF_CORRUPT, "%s did not answer with JSON", remote->url);
        sf_error_hint(err, "is this a StreamsForge server?");
    }
    if (status == SF_OK && out) {
        *out = reply.body;
        return SF_OK;
    }
    sf_buf_deinit(&reply.body);
    return status;
}

const char *sf_cli_remote_escape(sf_cli_remote *remote, const char *text)
{
    char *escaped = curl_easy_escape(remote->curl, text, 0);
    const char *kept = escaped ? sf_arena_strndup(&remote->arena, escaped, strlen(escaped)) : NULL;
    curl_free(escaped);
    return kept ? kept : "";
}

int sf_cli_remote_fail(const sf_cli_remote *remote, const sf_error *err)
{
    sf_cli_fail(remote->command, err);
    switch (err->status) {
    case SF_UNAVAILABLE: return SF_CLI_UNREACHABLE;
    case SF_UNAUTHENTICATED:
    case SF_FORBIDDEN: return SF_CLI_REFUSED;
    case SF_NOT_FOUND: return SF_CLI_NOT_FOUND;
    default: return SF_CLI_FAILED;
    }
}

/* ---- JSON ---- */

const char *sf_cli_member(sf_arena *arena, sf_str object, const char *name)
{
    sf_str value, plain;
    sf_buf scratch = {0};
    char *kept = NULL;
    if (sf_json_get_key(object, sf_str_of(name), &value) &&
        sf_json_kind_of(value) == SF_JSON_STRING && sf_json_text_of(value, &scratch, &plain))
        kept = sf_arena_strndup(arena, plain.data, plain.len);
    sf_buf_deinit(&scratch);
    return kept ? kept : "";
}

void sf_cli_value_text(sf_buf *out, sf_str value)
{
    sf_buf scratch = {0};
    sf_str plain;
    sf_buf_clear(out);
    if (sf_json_kind_of(value) == SF_JSON_NULL)
        sf_buf_puts(out, "NULL");
    else if (sf_json_text_of(value, &scratch, &plain))
        sf_buf_put(out, plain.data, plain.len);
    else
        out->failed = true;
    sf_buf_deinit(&scratch);
}

void sf_cli_put_member(sf_buf *body, const char *name, const char *text)
{
    if (body->len && body->data[body->len - 1] != '{')
        sf_buf_putc(body, ',');
    sf_json_put_string(body, sf_str_of(name));
    sf_buf_putc(body, ':');
    sf_json_put_string(body, sf_str_of(text));
}

static void new_line(int depth)
{
    putchar('\n');
    for (int i = 0; i < depth; i++)
        fputs("  ", stdout);
}

void sf_cli_print_json(sf_str json)
{
    bool in_string = false, fresh = false; /* fresh: nothing yet in this container */
    int depth = 0;
    for (size_t i = 0; i < json.len; i++) {
        char c = json.data[i];
        if (!in_string && strchr(" \t\r\n", c))
            continue;
        bool closes = !in_string && (c == '}' || c == ']');
        depth -= closes;
        if ((fresh && !closes) || (closes && !fresh))
            new_line(depth);
        fresh = false;
        putchar(c);
        if (in_string && c == '\\' && i + 1 < json.len)
            putchar(json.data[++i]);
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '{' || c == '['))
            depth++, fresh = true;
        else if (!in_string && c == ',')
            new_line(depth);
        else if (!in_string && c == ':')
            putchar(' ');
    }
    putchar('\n');
}
