/* Tokens that sf login keeps: one file, by server, readable by its owner alone. */
#include "base/seam.h"
#include "cli/remote.h"
#include "text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 1 << 20 };

static sf_status directory(sf_buf *out, sf_error *err)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && config[0] == '/')
        sf_buf_printf(out, "%s/streamsforge", config);
    else if (home && *home)
        sf_buf_printf(out, "%s/.config/streamsforge", home);
    else
        return sf_fail(err, SF_NOT_FOUND,
                       "there is no place for a token: neither HOME nor XDG_CONFIG_HOME is set");
    return out->failed ? sf_fail_memory(err) : SF_OK;
}

static sf_status file_path(sf_buf *out, sf_error *err)
{
    SF_TRY(directory(out, err));
    sf_buf_puts(out, "/tokens.json");
    return out->failed ? sf_fail_memory(err) : SF_OK;
}

/* An object by URL, valid; "{}" when there is no file. */
static sf_status read_tokens(const char *path, sf_buf *out, sf_error *err)
{
    sf_disk disk = sf_disk_system();
    sf_status status = sf_disk_read_all(&disk, path, FILE_BYTES_MAX, out, err);
    if (status == SF_NOT_FOUND) {
        sf_buf_clear(out);
        sf_buf_puts(out, "{}");
        return out->failed ? sf_fail_memory(err) : SF_OK;
    }
    SF_TRY(status);
    if (sf_json_validate(sf_buf_str(out), NULL) == SF_OK &&
        sf_json_kind_of(sf_buf_str(out)) == SF_JSON_OBJECT)
        return SF_OK;
    sf_fail(err, SF_CORRUPT, "%s is not a JSON object", path);
    sf_error_hint(err, "remove it and sign in again");
    return SF_CORRUPT;
}

sf_status sf_cli_token_load(const char *url, sf_arena *arena, const char **token, const char **user,
                            sf_error *err)
{
    sf_buf path = {0}, tokens = {0};
    sf_str entry;
    sf_status status = file_path(&path, err);
    if (status == SF_OK)
        status = read_tokens(path.data, &tokens, err);
    if (status == SF_OK && sf_json_get_key(sf_buf_str(&tokens), sf_str_of(url), &entry)) {
        *token = sf_cli_member(arena, entry, "token");
        *user = sf_cli_member(arena, entry, "username");
        if (!**token)
            *token = NULL;
    }
    sf_buf_deinit(&path);
    sf_buf_deinit(&tokens);
    SF_TRY(status);
    return *token ? SF_OK : SF_NOT_FOUND;
}

/* The same object with this server's entry put, replaced or (token NULL) left out. */
static void change_entry(sf_str tokens, const char *url, const char *token, const char *user,
                         sf_buf *out)
{
    size_t cursor = 0;
    sf_json_string key;
    sf_str value;
    sf_buf name = {0};
    sf_buf_putc(out, '{');
    while (sf_json_each_member(tokens, &cursor, &key, &value)) {
        sf_buf_clear(&name);
        if (!sf_json_unescape(key.raw, &name) || sf_str_eq(sf_buf_str(&name), sf_str_of(url)))
            continue;
        sf_buf_printf(out, "%s\n\"%.*s\":%.*s", out->len > 1 ? "," : "", SF_STR_ARG(key.raw),
                      SF_STR_ARG(value));
    }
    sf_buf_deinit(&name);
    if (token) {
        sf_buf_puts(out, out->len > 1 ? ",\n" : "\n");
        sf_json_put_string(out, sf_str_of(url));
        sf_buf_puts(out, ":{");
        sf_cli_put_member(out, "token", token);
        sf_cli_put_member(out, "username", user);
        sf_buf_putc(out, '}');
    }
    sf_buf_puts(out, "\n}\n");
}

/* Written beside and moved over, so that there is never half a file. */
static sf_status write_file(const char *path, const char *text, sf_error *err)
{
    sf_buf fresh = {0};
    sf_buf_printf(&fresh, "%s.%ld", path, (long)getpid());
    if (fresh.failed)
        return sf_fail_memory(err);
    int fd = open(fresh.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t length = strlen(text);
    bool ok = fd >= 0 && write(fd, text, length) == (ssize_t)length && fsync(fd) == 0;
    int problem = errno;
    if (fd >= 0)
        close(fd);
    if (ok && rename(fresh.data, path) != 0) {
        ok = false;
        problem = errno;
    }
    if (!ok && fd >= 0)
        unlink(fresh.data);
    sf_buf_deinit(&fresh);
    return ok ? SF_OK : sf_fail(err, SF_IO, "%s cannot be written: %s", path, strerror(problem));
}

static sf_status make_directory(sf_error *err)
{
    sf_buf path = {0};
    sf_disk disk = sf_disk_system();
    sf_status status = directory(&path, err);
    if (status == SF_OK && mkdir(path.data, 0700) != 0 && errno != EEXIST) {
        status = disk.make_dir(disk.self, path.data, err); /* with its parents */
        if (status == SF_OK)
            chmod(path.data, 0700);
    }
    sf_buf_deinit(&path);
    return status;
}

sf_status sf_cli_token_save(const char *url, const char *token, const char *user, sf_error *err)
{
    sf_buf path = {0}, tokens = {0}, changed = {0};
    sf_status status = file_path(&path, err);
    if (status == SF_OK)
        status = make_directory(err);
    if (status == SF_OK)
        status = read_tokens(path.data, &tokens, err);
    if (status == SF_OK) {
        change_entry(sf_buf_str(&tokens), url, token, user, &changed);
        status = changed.failed ? sf_fail_memory(err) : write_file(path.data, changed.data, err);
    }
    sf_buf_deinit(&path);
    sf_buf_deinit(&tokens);
    sf_buf_deinit(&changed);
    return status;
}
