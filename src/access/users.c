/* Users: kept in the database, looked up in memory. */
#include "access/inside.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static const char select_users[] = "SELECT username, display_name, role, salt, hash, iterations, "
                                   "stamp, created_at FROM users ORDER BY username";
static const char put_user[] =
    "INSERT INTO users (username, display_name, role, salt, hash, iterations, stamp, created_at) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (username) DO UPDATE SET "
    "display_name = excluded.display_name, role = excluded.role, salt = excluded.salt, "
    "hash = excluded.hash, iterations = excluded.iterations, stamp = excluded.stamp";

/* ---- in memory ---- */

/* Where the name is, or belongs. A lock is held. */
static size_t position_of(const sf_access *access, sf_str username, bool *found)
{
    size_t low = 0, high = access->accounts.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sf_str_cmp(username, sf_str_of(access->accounts.data[middle].user.username)) > 0)
            low = middle + 1;
        else
            high = middle;
    }
    *found = low < access->accounts.len &&
             sf_str_eq(username, sf_str_of(access->accounts.data[low].user.username));
    return low;
}

bool sf_access_account(sf_access *access, sf_str username, sf_account *out)
{
    bool found;
    pthread_rwlock_rdlock(&access->reading);
    size_t at = position_of(access, username, &found);
    if (found)
        *out = access->accounts.data[at];
    pthread_rwlock_unlock(&access->reading);
    return found;
}

static bool reserve(sf_access *access)
{
    pthread_rwlock_wrlock(&access->reading);
    bool ok = access->accounts.len < access->accounts.cap ||
              sf_vec_grow((void **)&access->accounts.data, &access->accounts.cap,
                          sizeof *access->accounts.data);
    pthread_rwlock_unlock(&access->reading);
    return ok;
}

/* account NULL: removed. */
static void publish(sf_access *access, sf_str username, const sf_account *account)
{
    bool found;
    pthread_rwlock_wrlock(&access->reading);
    size_t at = position_of(access, username, &found);
    sf_account *place = access->accounts.data + at;
    size_t after = access->accounts.len - at;
    if (account && !found) {
        memmove(place + 1, place, after * sizeof *place);
        access->accounts.len++;
    } else if (!account && found) {
        memmove(place, place + 1, (after - 1) * sizeof *place);
        access->accounts.len--;
    }
    if (account)
        *place = *account;
    access->policy_version++;
    pthread_rwlock_unlock(&access->reading);
}

/* ---- in the database; `writing` is held ---- */

static sf_status save_account(sf_access *access, const sf_account *account, sf_error *err)
{
    sf_stmt *stmt = NULL;
    char salt[2 * SF_SALT_BYTES + 1], hash[2 * SF_HASH_BYTES + 1];
    const sf_user *user = &account->user;
    SF_TRY(sf_db_prepare(access->db, put_user, &stmt, err));
    sf_hex(account->password.salt, SF_SALT_BYTES, salt);
    sf_hex(account->password.hash, SF_HASH_BYTES, hash);
    sf_stmt_bind_text(stmt, 1, sf_str_of(user->username));
    sf_stmt_bind_text(stmt, 2, sf_str_of(user->display_name));
    sf_stmt_bind_i64(stmt, 3, user->role);
    sf_stmt_bind_text(stmt, 4, sf_str_of(salt));
    sf_stmt_bind_text(stmt, 5, sf_str_of(hash));
    sf_stmt_bind_i64(stmt, 6, account->password.iterations);
    sf_stmt_bind_text(stmt, 7, sf_str_of(account->stamp));
    sf_stmt_bind_i64(stmt, 8, user->created_at_ms);
    sf_status status = sf_stmt_run(stmt, err);
    sf_stmt_free(stmt);
    return status;
}

static sf_status put_fact(sf_access *access, const char *key, sf_str value, sf_error *err)
{
    sf_stmt *stmt = NULL;
    SF_TRY(sf_db_prepare(access->db,
                         "INSERT INTO facts (key, value) VALUES (?1, ?2) "
                         "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                         &stmt, err));
    sf_stmt_bind_text(stmt, 1, sf_str_of(key));
    sf_stmt_bind_text(stmt, 2, value);
    sf_status status = sf_stmt_run(stmt, err);
    sf_stmt_free(stmt);
    return status;
}

/* Empty when there is none. */
static sf_status get_fact(sf_access *access, const char *key, sf_buf *out, sf_error *err)
{
    sf_stmt *stmt = NULL;
    bool row;
    SF_TRY(sf_db_prepare(access->db, "SELECT value FROM facts WHERE key = ?1", &stmt, err));
    sf_stmt_bind_text(stmt, 1, sf_str_of(key));
    sf_status status = sf_stmt_step(stmt, &row, err);
    if (status == SF_OK && row) {
        sf_str value = sf_stmt_text(stmt, 0);
        sf_buf_put(out, value.data, value.len);
    }
    sf_stmt_free(stmt);
    return status == SF_OK && out->failed ? sf_fail_memory(err) : status;
}

static sf_status save_policy_version(sf_access *access, sf_error *err)
{
    char text[24];
    int len = snprintf(text, sizeof text, "%llu", (unsigned long long)access->policy_version + 1);
    return put_fact(access, "policyVersion", (sf_str){text, (size_t)len}, err);
}

/* One account written (or removed, when account is NULL), then shown. `writing` is held. */
static sf_status commit_account(sf_access *access, sf_str username, const sf_account *account,
                                sf_error *err)
{
    sf_stmt *stmt = NULL;
    if (!reserve(access))
        return sf_fail_memory(err);
    SF_TRY(sf_db_begin(access->db, err));
    sf_status status = SF_OK;
    if (account) {
        status = save_account(access, account, err);
    } else {
        status = sf_db_prepare(access->db, "DELETE FROM users WHERE username = ?1", &stmt, err);
        if (status == SF_OK) {
            sf_stmt_bind_text(stmt, 1, username);
            status = sf_stmt_run(stmt, err);
        }
        sf_stmt_free(stmt);
    }
    if (status == SF_OK)
        status = save_policy_version(access, err);
    if (status == SF_OK)
        status = sf_db_commit(access->db, err);
    else
        sf_db_rollback(access->db);
    if (status == SF_OK)
        publish(access, username, account);
    return status;
}

/* ---- loading ---- */

static bool copy_bounded(sf_str text, char *out, size_t size)
{
    if (text.len >= size)
        return false;
    memcpy(out, text.data, text.len);
    out[text.len] = '\0';
    return true;
}

static bool read_account(const sf_stmt *stmt, sf_account *out)
{
    int64_t role = sf_stmt_i64(stmt, 2), iterations = sf_stmt_i64(stmt, 5);
    *out = (sf_account){
        .user.role = (sf_role)role,
        .user.created_at_ms = sf_stmt_i64(stmt, 7),
        .password.iterations = (uint32_t)iterations,
    };
    return role >= 0 && role < SF_ROLE_COUNT && iterations > 0 && iterations <= INT32_MAX &&
           copy_bounded(sf_stmt_text(stmt, 0), out->user.username, sizeof out->user.username) &&
           copy_bounded(sf_stmt_text(stmt, 1), out->user.display_name,
                        sizeof out->user.display_name) &&
           sf_unhex(sf_stmt_text(stmt, 3), out->password.salt, SF_SALT_BYTES) &&
           sf_unhex(sf_stmt_text(stmt, 4), out->password.hash, SF_HASH_BYTES) &&
           copy_bounded(sf_stmt_text(stmt, 6), out->stamp, sizeof out->stamp);
}

static sf_status load_users(sf_access *access, sf_error *err)
{
    sf_stmt *stmt = NULL;
    sf_account account;
    sf_status status;
    bool row;
    SF_TRY(sf_db_prepare(access->db, select_users, &stmt, err));
    while ((status = sf_stmt_step(stmt, &row, err)) == SF_OK && row) {
        if (!read_account(stmt, &account))
            status = sf_fail(err, SF_CORRUPT, "the entry of user \"%.*s\" cannot be read",
                             SF_STR_ARG(sf_stmt_text(stmt, 0)));
        else if (!SF_VEC_PUSH(&access->accounts, account))
            status = sf_fail_memory(err);
        if (status != SF_OK)
            break;
    }
    sf_stmt_free(stmt);
    return status;
}

static void new_stamp(sf_access *access, sf_account *account)
{
    uint8_t bytes[SF_STAMP_BYTES];
    access->random.fill(access->random.self, bytes, sizeof bytes);
    sf_hex(bytes, sizeof bytes, account->stamp);
}

static sf_status make_first_users(sf_access *access, sf_error *err)
{
    static const struct {
        const char *username, *password, *display_name;
        sf_role role;
    } first[] = {
        {"admin", "admin123!", "Administrator", SF_ROLE_ADMIN},
        {"editor", "editor123!", "Editor", SF_ROLE_EDITOR},
        {"viewer", "viewer123!", "Viewer", SF_ROLE_VIEWER},
    };
    sf_account accounts[SF_COUNT_OF(first)];
    sf_status status = SF_OK;
    for (size_t i = 0; i < SF_COUNT_OF(first); i++) {
        sf_account *account = &accounts[i];
        *account = (sf_account){.user.role = first[i].role};
        copy_bounded(sf_str_of(first[i].username), account->user.username,
                     sizeof account->user.username);
        copy_bounded(sf_str_of(first[i].display_name), account->user.display_name,
                     sizeof account->user.display_name);
        account->user.created_at_ms = sf_clock_wall_ms(&access->clock);
        new_stamp(access, account);
        SF_TRY(sf_password_make(access, sf_str_of(first[i].password), &account->password, err));
    }
    SF_TRY(sf_db_begin(access->db, err));
    for (size_t i = 0; i < SF_COUNT_OF(first) && status == SF_OK; i++)
        status = save_account(access, &accounts[i], err);
    if (status == SF_OK)
        status = put_fact(access, "seeded", SF_STR("true"), err);
    if (status == SF_OK)
        status = sf_db_commit(access->db, err);
    else
        sf_db_rollback(access->db);
    return status;
}

/* The random key is as long as the hash: more would not make it safer. */
static sf_status load_jwt_key(sf_access *access, const char *given, sf_error *err)
{
    sf_buf key = {0};
    uint8_t bytes[SF_HASH_BYTES];
    sf_status status = SF_OK;
    if (given)
        sf_buf_puts(&key, given);
    else
        status = get_fact(access, "jwtKey", &key, err);
    if (status == SF_OK && key.len == 0) {
        access->random.fill(access->random.self, bytes, sizeof bytes);
        char text[2 * sizeof bytes + 1];
        sf_hex(bytes, sizeof bytes, text);
        sf_buf_puts(&key, text);
        status = put_fact(access, "jwtKey", sf_str_of(text), err);
    }
    if (status == SF_OK && key.failed)
        status = sf_fail_memory(err);
    if (status != SF_OK) {
        sf_buf_deinit(&key);
        return status;
    }
    access->jwt_key = key.data;
    access->jwt_key_bytes = key.len;
    return SF_OK;
}

sf_status sf_access_load(sf_access *access, const char *jwt_key, sf_error *err)
{
    sf_buf text = {0};
    SF_TRY(load_jwt_key(access, jwt_key, err));
    sf_status status = get_fact(access, "seeded", &text, err);
    if (status == SF_OK && text.len == 0)
        status = make_first_users(access, err);
    if (status == SF_OK)
        status = load_users(access, err);
    sf_buf_clear(&text);
    if (status == SF_OK)
        status = get_fact(access, "policyVersion", &text, err);
    if (status == SF_OK)
        access->policy_version = text.len ? strtoull(text.data, NULL, 10) : 1;
    sf_buf_deinit(&text);
    return status;
}

sf_status sf_access_rehash(sf_access *access, const sf_account *account,
                           const sf_password *password, sf_error *err)
{
    SF_ASSERT(account);
    sf_account now;
    sf_str username = {account->user.username, strlen(account->user.username)};
    sf_status status = SF_OK;
    pthread_mutex_lock(&access->writing);
    if (sf_access_account(access, username, &now) && strcmp(now.stamp, account->stamp) == 0) {
        now.password = *password;
        status = commit_account(access, username, &now, err);
    }
    pthread_mutex_unlock(&access->writing);
    return status;
}

uint64_t sf_access_policy_version(const sf_access *access)
{
    sf_access *mine = (sf_access *)access;
    pthread_rwlock_rdlock(&mine->reading);
    uint64_t version = mine->policy_version;
    pthread_rwlock_unlock(&mine->reading);
    return version;
}

/* ---- managing ---- */

sf_status sf_access_users(sf_access *access, sf_user_list *out, sf_error *err)
{
    pthread_rwlock_rdlock(&access->reading);
    uint32_t count = (uint32_t)access->accounts.len;
    sf_user *items = sf_calloc(count ? count : 1, sizeof *items);
    for (uint32_t i = 0; items && i < count; i++)
        items[i] = access->accounts.data[i].user;
    pthread_rwlock_unlock(&access->reading);
    *out = (sf_user_list){items, items ? count : 0};
    return items ? SF_OK : sf_fail_memory(err);
}

void sf_user_list_free(sf_user_list *list)
{
    sf_free(list->items);
    *list = (sf_user_list){0};
}

static sf_status missing(sf_str username, sf_error *err)
{
    return sf_fail(err, SF_NOT_FOUND, "user \"%.*s\" does not exist",
                   (int)(username.len < SF_NAME_BYTES_MAX ? username.len : SF_NAME_BYTES_MAX),
                   username.data);
}

sf_status sf_access_find_user(sf_access *access, sf_str username, sf_user *out, sf_error *err)
{
    sf_account account;
    if (!sf_access_account(access, username, &account))
        return missing(username, err);
    *out = account.user;
    return SF_OK;
}

static sf_status check_text(const char *what, sf_str text, char *out, sf_error *err)
{
    if (text.len == 0)
        return sf_fail(err, SF_INVALID, "the %s is empty", what);
    if (text.len > SF_NAME_BYTES_MAX)
        return sf_fail(err, SF_INVALID, "the %s has %zu bytes, more than the %d allowed", what,
                       text.len, SF_NAME_BYTES_MAX);
    json_t *valid = json_stringn(text.data, text.len); /* none when it is not UTF-8 */
    json_decref(valid);
    if (!valid)
        return sf_fail(err, SF_INVALID, "the %s is not valid UTF-8", what);
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f)
            return sf_fail(err, SF_INVALID, "the %s has a control character", what);
    if (text.data[0] == ' ' || text.data[text.len - 1] == ' ')
        return sf_fail(err, SF_INVALID, "the %s begins or ends with a blank", what);
    copy_bounded(text, out, SF_NAME_BYTES_MAX + 1);
    return SF_OK;
}

static uint32_t count_admins(sf_access *access)
{
    uint32_t count = 0;
    pthread_rwlock_rdlock(&access->reading);
    for (size_t i = 0; i < access->accounts.len; i++)
        count += access->accounts.data[i].user.role == SF_ROLE_ADMIN;
    pthread_rwlock_unlock(&access->reading);
    return count;
}

/* Names that differ only in case would be taken for each other. */
static sf_status check_name_free(sf_access *access, sf_str username, sf_error *err)
{
    bool taken = false;
    pthread_rwlock_rdlock(&access->reading);
    for (size_t i = 0; i < access->accounts.len && !taken; i++)
        taken = sf_str_eq_nocase(username, sf_str_of(access->accounts.data[i].user.username));
    pthread_rwlock_unlock(&access->reading);
    if (!taken)
        return SF_OK;
    return sf_fail(err, SF_EXISTS, "user \"%.*s\" exists already", SF_STR_ARG(username));
}

sf_status sf_access_create_user(sf_access *access, const sf_user_change *user, sf_user *out,
                                sf_error *err)
{
    sf_account account = {.user.role = user->has_role ? user->role : SF_ROLE_VIEWER};
    sf_str shown = user->display_name.data ? user->display_name : user->username;
    SF_TRY(check_text("username", user->username, account.user.username, err));
    SF_TRY(check_text("display name", shown, account.user.display_name, err));
    SF_TRY(check_name_free(access, user->username, err)); /* before the slow part, and after it */
    SF_TRY(sf_password_make(access, user->password, &account.password, err));
    new_stamp(access, &account);
    account.user.created_at_ms = sf_clock_wall_ms(&access->clock);
    pthread_mutex_lock(&access->writing);
    sf_status status = check_name_free(access, user->username, err);
    if (status == SF_OK)
        status = commit_account(access, user->username, &account, err);
    pthread_mutex_unlock(&access->writing);
    if (status == SF_OK)
        *out = account.user;
    return status;
}

sf_status sf_access_update_user(sf_access *access, const sf_user_change *change, sf_user *out,
                                sf_error *err)
{
    sf_account account;
    sf_password password;
    char shown[SF_NAME_BYTES_MAX + 1];
    if (!sf_access_account(access, change->username, &account))
        return missing(change->username, err);
    if (change->display_name.data)
        SF_TRY(check_text("display name", change->display_name, shown, err));
    if (change->password.data)
        SF_TRY(sf_password_make(access, change->password, &password, err));
    pthread_mutex_lock(&access->writing);
    sf_status status = SF_OK;
    if (!sf_access_account(access, change->username, &account))
        status = missing(change->username, err);
    else if (change->has_role && change->role != SF_ROLE_ADMIN &&
             account.user.role == SF_ROLE_ADMIN && count_admins(access) == 1)
        status = sf_fail(err, SF_CONFLICT, "user \"%s\" is the last administrator",
                         account.user.username);
    if (status == SF_OK) {
        if (change->has_role)
            account.user.role = change->role;
        if (change->display_name.data)
            memcpy(account.user.display_name, shown, sizeof shown);
        if (change->password.data) {
            account.password = password;
            new_stamp(access, &account);
        }
        status = commit_account(access, change->username, &account, err);
    }
    pthread_mutex_unlock(&access->writing);
    if (status == SF_OK)
        *out = account.user;
    return status;
}

sf_status sf_access_delete_user(sf_access *access, sf_str username, const sf_principal *actor,
                                sf_error *err)
{
    sf_account account;
    if (sf_str_eq_nocase(username, sf_str_of(actor->username)))
        return sf_fail(err, SF_INVALID, "you cannot delete your own account");
    pthread_mutex_lock(&access->writing);
    sf_status status = SF_OK;
    if (!sf_access_account(access, username, &account))
        status = missing(username, err);
    else if (account.user.role == SF_ROLE_ADMIN && count_admins(access) == 1)
        status = sf_fail(err, SF_CONFLICT, "user \"%s\" is the last administrator",
                         account.user.username);
    if (status == SF_OK)
        status = commit_account(access, username, NULL, err);
    pthread_mutex_unlock(&access->writing);
    return status;
}
