/* access: passwords, tokens, decisions, users, keys. */
#include "access/access.h"
#include "store/store.h"
#include "unit/check.h"

#include <pthread.h>

typedef struct {
    char dir[64];
    int64_t now_ms;
    sf_rng rng;
    pthread_mutex_t rng_lock;
    sf_access_options options;
    sf_access *access;
    sf_error err;
} world;

static int64_t world_wall_ms(void *self)
{
    return ((world *)self)->now_ms;
}

static int64_t world_mono_ns(void *self)
{
    return ((world *)self)->now_ms * 1000000;
}

static void world_fill(void *self, void *bytes, size_t len)
{
    world *w = self;
    pthread_mutex_lock(&w->rng_lock);
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)sf_rng_next(&w->rng);
    pthread_mutex_unlock(&w->rng_lock);
}

static bool world_open(world *w)
{
    if (!w->dir[0]) {
        snprintf(w->dir, sizeof w->dir, "/tmp/sf-access-XXXXXX");
        SF_ASSERT(mkdtemp(w->dir));
        w->now_ms = 1000000;
        w->rng = (sf_rng){1};
        pthread_mutex_init(&w->rng_lock, NULL);
    }
    w->options.disk = sf_disk_system();
    w->options.clock = (sf_clock){world_wall_ms, world_mono_ns, w};
    w->options.random = (sf_random){world_fill, w};
    w->options.dir = w->dir;
    if (!w->options.hash_iterations)
        w->options.hash_iterations = 10;
    w->access = NULL;
    bool ok = sf_access_open(&w->options, &w->access, &w->err) == SF_OK;
    if (!ok)
        printf("  cannot open: %s\n", w->err.message);
    return ok;
}

static bool world_reopen(world *w)
{
    sf_access_close(w->access);
    return world_open(w);
}

static void world_close(world *w)
{
    static const char *const names[] = {"access.db",      "access.db-wal", "catalog.db",
                                        "catalog.db-wal", "instance.json", ""};
    sf_disk disk = sf_disk_system();
    sf_access_close(w->access);
    for (size_t i = 0; i < SF_COUNT_OF(names); i++) {
        sf_buf path = {0};
        sf_buf_printf(&path, "%s/%s", w->dir, names[i]);
        disk.remove(disk.self, path.data, &w->err);
        sf_buf_deinit(&path);
    }
}

/* The token is appended to *token, which may be NULL. */
static sf_status login(world *w, const char *username, const char *password, sf_buf *token,
                       sf_principal *who)
{
    sf_buf unused = {0};
    sf_principal nobody;
    sf_status status = sf_access_login(w->access, sf_str_of(username), sf_str_of(password),
                                       token ? token : &unused, who ? who : &nobody, &w->err);
    sf_buf_deinit(&unused);
    return status;
}

static sf_principal signed_in(world *w, const char *username, const char *password)
{
    sf_principal who = {0};
    CHECK_INT(login(w, username, password, NULL, &who), SF_OK);
    return who;
}

static void three_users_are_there(void)
{
    static const struct {
        const char *username, *password, *display_name;
        sf_role role;
    } rows[] = {
        {"admin", "admin123!", "Administrator", SF_ROLE_ADMIN},
        {"editor", "editor123!", "Editor", SF_ROLE_EDITOR},
        {"viewer", "viewer123!", "Viewer", SF_ROLE_VIEWER},
    };
    world w = {0};
    REQUIRE(world_open(&w));
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
            sf_principal who = signed_in(&w, rows[i].username, rows[i].password);
            CHECK_STR(who.username, rows[i].username);
            CHECK_STR(who.display_name, rows[i].display_name);
            CHECK_INT(who.role, rows[i].role);
            CHECK_INT(who.expires_at_ms, 1000000 + 12 * 3600 * 1000);
            CHECK_INT(login(&w, rows[i].username, "wrong", NULL, NULL), SF_UNAUTHENTICATED);
            CHECK_STR(w.err.message, "unknown user or wrong password");
        }
        CHECK_INT(login(&w, "nobody", "admin123!", NULL, NULL), SF_UNAUTHENTICATED);
        CHECK_STR(w.err.message, "unknown user or wrong password");
        CHECK_INT(login(&w, "Admin", "admin123!", NULL, NULL), SF_UNAUTHENTICATED);
        CHECK_INT(login(&w, "", "", NULL, NULL), SF_UNAUTHENTICATED);
        REQUIRE(world_reopen(&w));
    }
    world_close(&w);
}

static void first_users_are_made_once(void)
{
    world w = {0};
    sf_user_list list;
    REQUIRE(world_open(&w));
    sf_principal admin = signed_in(&w, "admin", "admin123!");
    REQUIRE_OK(sf_access_delete_user(w.access, SF_STR("viewer"), &admin, &w.err), w.err);
    REQUIRE(world_reopen(&w));
    REQUIRE_OK(sf_access_users(w.access, &list, &w.err), w.err);
    REQUIRE(list.count == 2);
    CHECK_STR(list.items[0].username, "admin");
    CHECK_STR(list.items[1].username, "editor");
    sf_user_list_free(&list);
    world_close(&w);
}

/* The derivation of RFC 6070's inputs with SHA-256: as every other implementation computes it. */
static void passwords_are_hashed_as_others_do(void)
{
    world w = {.options.hash_iterations = 4096};
    sf_db *db = NULL;
    sf_db_options options = {4096, 0x53464143, NULL, 1};
    sf_buf path = {0};
    REQUIRE(world_open(&w));
    sf_access_close(w.access);
    w.access = NULL;
    sf_buf_printf(&path, "%s/access.db", w.dir);
    REQUIRE_OK(sf_db_open(&w.options.disk, path.data, &options, &db, &w.err), w.err);
    /* PBKDF2-HMAC-SHA-256 of "password" with sixteen bytes 's', 4,096 rounds, by Python's hashlib */
    REQUIRE_OK(sf_db_exec(db,
                          "UPDATE users SET salt = '73737373737373737373737373737373', hash = "
                          "'450a550937f8cf6eff1aa9721a758ccfb1d95edaa1465359b29ac4bb4da1d723'"
                          " WHERE username = 'viewer'",
                          &w.err),
               w.err);
    sf_db_close(db);
    REQUIRE(world_open(&w));
    CHECK_INT(login(&w, "viewer", "password", NULL, NULL), SF_OK);
    CHECK_INT(login(&w, "viewer", "passwore", NULL, NULL), SF_UNAUTHENTICATED);
    sf_buf_deinit(&path);
    world_close(&w);
}

static int64_t iterations_of(world *w, const char *username)
{
    sf_db *db = NULL;
    sf_stmt *stmt = NULL;
    bool row = false;
    int64_t value = -1;
    sf_db_options options = {4096, 0x53464143, NULL, 1};
    sf_buf path = {0};
    sf_access_close(w->access);
    w->access = NULL;
    sf_buf_printf(&path, "%s/access.db", w->dir);
    if (sf_db_open(&w->options.disk, path.data, &options, &db, &w->err) == SF_OK &&
        sf_db_prepare(db, "SELECT iterations FROM users WHERE username = ?1", &stmt, &w->err) ==
            SF_OK) {
        sf_stmt_bind_text(stmt, 1, sf_str_of(username));
        if (sf_stmt_step(stmt, &row, &w->err) == SF_OK && row)
            value = sf_stmt_i64(stmt, 0);
    }
    sf_stmt_free(stmt);
    sf_db_close(db);
    sf_buf_deinit(&path);
    CHECK(world_open(w));
    return value;
}

static void weak_hashes_are_raised_at_login(void)
{
    world w = {.options.hash_iterations = 10};
    sf_buf token = {0};
    sf_principal who;
    REQUIRE(world_open(&w));
    CHECK_INT(login(&w, "viewer", "viewer123!", &token, NULL), SF_OK);
    w.options.hash_iterations = 20;
    REQUIRE(world_reopen(&w));
    CHECK_INT(login(&w, "viewer", "wrong", NULL, NULL), SF_UNAUTHENTICATED);
    CHECK_INT(iterations_of(&w, "viewer"), 10);
    CHECK_INT(login(&w, "viewer", "viewer123!", NULL, NULL), SF_OK);
    CHECK_INT(iterations_of(&w, "viewer"), 20);
    CHECK_INT(iterations_of(&w, "editor"), 10);
    CHECK_INT(login(&w, "viewer", "viewer123!", NULL, NULL), SF_OK);
    /* It is the same password: whoever is signed in stays. */
    CHECK_INT(sf_access_verify(w.access, sf_buf_str(&token), &who, &w.err), SF_OK);
    sf_buf_deinit(&token);
    world_close(&w);
}

/* ---- tokens ---- */

static void tokens_are_recognised(void)
{
    world w = {0};
    sf_buf token = {0};
    sf_principal who;
    REQUIRE(world_open(&w));
    sf_buf_puts(&token, "Bearer ");
    CHECK_INT(login(&w, "editor", "editor123!", &token, NULL), SF_OK);
    sf_str text = {token.data + 7, token.len - 7};
    REQUIRE_OK(sf_access_verify(w.access, text, &who, &w.err), w.err);
    CHECK_STR(who.username, "editor");
    CHECK_STR(who.display_name, "Editor");
    CHECK_INT(who.role, SF_ROLE_EDITOR);
    REQUIRE(world_reopen(&w)); /* the key is kept */
    CHECK_INT(sf_access_verify(w.access, text, &who, &w.err), SF_OK);
    w.now_ms += 12 * 3600 * 1000 - 1;
    CHECK_INT(sf_access_verify(w.access, text, &who, &w.err), SF_OK);
    w.now_ms += 1;
    CHECK_INT(sf_access_verify(w.access, text, &who, &w.err), SF_UNAUTHENTICATED);
    CHECK_STR(w.err.message, "the token is not valid: it has expired");
    sf_buf_deinit(&token);
    world_close(&w);
}

/* A token with one character changed, anywhere, is refused; so is one that is cut. */
static void tokens_cannot_be_changed(void)
{
    world w = {0};
    sf_buf token = {0};
    sf_principal who;
    REQUIRE(world_open(&w));
    CHECK_INT(login(&w, "viewer", "viewer123!", &token, NULL), SF_OK);
    for (size_t i = 0; i < token.len; i++) {
        char was = token.data[i];
        static const char others[] = "AQgw.=_0";
        for (const char *c = others; *c; c++) {
            token.data[i] = *c;
            sf_status status = sf_access_verify(w.access, sf_buf_str(&token), &who, &w.err);
            CHECK_INT(status, *c == was ? SF_OK : SF_UNAUTHENTICATED);
        }
        token.data[i] = was;
        CHECK_INT(sf_access_verify(w.access, (sf_str){token.data, i}, &who, &w.err),
                  SF_UNAUTHENTICATED);
    }
    sf_buf_putc(&token, 'A');
    CHECK_INT(sf_access_verify(w.access, sf_buf_str(&token), &who, &w.err), SF_UNAUTHENTICATED);
    sf_buf_deinit(&token);
    world_close(&w);
}

/* Made with Python: HMAC-SHA-256 under the key, base64url without padding. */
static void only_our_kind_of_token_counts(void)
{
    static const struct {
        const char *token, *why;
    } rows[] = {
        {"", "malformed"},
        {"..", "malformed"},
        {"a.b.c", "malformed"},
        {"eyJhbGciOiJub25lIn0."
         "eyJzdWIiOiJhZG1pbiIsIm5hbWUiOiJBIiwicm9sZSI6IkFkbWluIiwiaXNzIjoic3RyZWFtc2ZvcmdlIiwiYXVkI"
         "joic3RyZWFtc2ZvcmdlIiwic3RhbXAiOiIwMCIsImlhdCI6MSwiZXhwIjo0MDAwMDAwMDAwfQ.",
         "malformed"},
        {"eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9."
         "eyJzdWIiOiJhZG1pbiIsIm5hbWUiOiJBIiwicm9sZSI6IkFkbWluIiwiaXNzIjoic3RyZWFtc2ZvcmdlIiwiYXVkI"
         "joic3RyZWFtc2ZvcmdlIiwic3RhbXAiOiIwMCIsImlhdCI6MSwiZXhwIjo0MDAwMDAwMDAwfQ."
         "CuKwE9zaz9RjYn7LxxlswUvqB7RJ0n5Y1QaQGq7svB4s1WPz357PdJHxNavf-HTdox-GqrtND6MsgqzaTtglMA",
         "malformed"},
        {"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
         "eyJzdWIiOiJhZG1pbiIsIm5hbWUiOiJBIiwicm9sZSI6IkFkbWluIiwiaXNzIjoic3RyZWFtc2ZvcmdlIiwiYXVkI"
         "joic3RyZWFtc2ZvcmdlIiwic3RhbXAiOiIwMCIsImlhdCI6MSwiZXhwIjo5OTl9."
         "qHULFxytJFsxTJquicnJRzuzO4cfZ0hJDH31BHgruyQ",
         "it has expired"},
        {"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
         "eyJzdWIiOiJhZG1pbiIsIm5hbWUiOiJBIiwicm9sZSI6IkFkbWluIiwiaXNzIjoieCIsImF1ZCI6InN0cmVhbXNmb"
         "3JnZSIsInN0YW1wIjoiMDAiLCJpYXQiOjEsImV4cCI6NDAwMDAwMDAwMH0.-qsC-6_eQl4gEd-"
         "1vZOxsK4pZ3cokPn21wxON4BR9e0",
         "another server"},
        {"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
         "eyJuYW1lIjoiQSIsInJvbGUiOiJBZG1pbiIsImlzcyI6InN0cmVhbXNmb3JnZSIsImF1ZCI6InN0cmVhbXNmb3JnZ"
         "SIsInN0YW1wIjoiMDAiLCJpYXQiOjEsImV4cCI6NDAwMDAwMDAwMH0.RaZ3mtXOoCvkymknA2567d23h_67Nrl7-"
         "JqBHJQCXig",
         "a claim is missing"},
        {"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
         "eyJzdWIiOiJldmUiLCJuYW1lIjoiQSIsInJvbGUiOiJBZG1pbiIsImlzcyI6InN0cmVhbXNmb3JnZSIsImF1ZCI6I"
         "nN0cmVhbXNmb3JnZSIsInN0YW1wIjoiMDAiLCJpYXQiOjEsImV4cCI6NDAwMDAwMDAwMH0."
         "OCHJ2yTEiqdjZmNFgkWXQwqyuxCTu55YujIi4AVRYD8",
         "its user does not exist any more"},
        {"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
         "eyJzdWIiOiJhZG1pbiIsIm5hbWUiOiJBIiwicm9sZSI6IkFkbWluIiwiaXNzIjoic3RyZWFtc2ZvcmdlIiwiYXVkI"
         "joic3RyZWFtc2ZvcmdlIiwic3RhbXAiOiIwMCIsImlhdCI6MSwiZXhwIjo0MDAwMDAwMDAwfQ.4G7yWLy-"
         "jNF0F5LMM6S5-8FrAYBismiYwZfB3PXWdsk",
         "the password was changed since"},
        {"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.WzFd.eUqK182P5IfBOE82cBqE-NjwumkR5AT4cckCf1VjXkg",
         "malformed"},
    };
    world w = {.options.jwt_key = "0123456789abcdef0123456789abcdef"};
    sf_principal who;
    REQUIRE(world_open(&w));
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        CHECK_INT(sf_access_verify(w.access, sf_str_of(rows[i].token), &who, &w.err),
                  SF_UNAUTHENTICATED);
        if (!strstr(w.err.message, rows[i].why)) {
            printf("  row %zu: %s\n", i, w.err.message);
            CHECK(strstr(w.err.message, rows[i].why));
        }
    }
    sf_buf huge = {0};
    for (int i = 0; i < 5000; i++)
        sf_buf_putc(&huge, 'a');
    CHECK_INT(sf_access_verify(w.access, sf_buf_str(&huge), &who, &w.err), SF_UNAUTHENTICATED);
    sf_buf_deinit(&huge);
    world_close(&w);
}

static void tokens_follow_their_user(void)
{
    world w = {0};
    sf_buf token = {0};
    sf_principal who;
    sf_user user;
    REQUIRE(world_open(&w));
    sf_principal admin = signed_in(&w, "admin", "admin123!");
    CHECK_INT(login(&w, "viewer", "viewer123!", &token, NULL), SF_OK);
    sf_user_change change = {.username = SF_STR("viewer"),
                             .has_role = true,
                             .role = SF_ROLE_EDITOR,
                             .display_name = SF_STR("V.")};
    uint64_t version = sf_access_policy_version(w.access);
    REQUIRE_OK(sf_access_update_user(w.access, &change, &user, &w.err), w.err);
    CHECK(sf_access_policy_version(w.access) > version);
    CHECK_INT(sf_access_verify(w.access, sf_buf_str(&token), &who, &w.err), SF_OK);
    CHECK_INT(who.role, SF_ROLE_EDITOR);
    CHECK_STR(who.display_name, "V.");
    change = (sf_user_change){.username = SF_STR("viewer"), .password = SF_STR("new one")};
    REQUIRE_OK(sf_access_update_user(w.access, &change, &user, &w.err), w.err);
    CHECK_INT(sf_access_verify(w.access, sf_buf_str(&token), &who, &w.err), SF_UNAUTHENTICATED);
    CHECK_INT(login(&w, "viewer", "viewer123!", NULL, NULL), SF_UNAUTHENTICATED);
    sf_buf_clear(&token);
    CHECK_INT(login(&w, "viewer", "new one", &token, NULL), SF_OK);
    version = sf_access_policy_version(w.access);
    REQUIRE(world_reopen(&w));
    CHECK_INT(sf_access_policy_version(w.access), version);
    CHECK_INT(sf_access_verify(w.access, sf_buf_str(&token), &who, &w.err), SF_OK);
    REQUIRE_OK(sf_access_delete_user(w.access, SF_STR("viewer"), &admin, &w.err), w.err);
    CHECK_INT(sf_access_verify(w.access, sf_buf_str(&token), &who, &w.err), SF_UNAUTHENTICATED);
    sf_buf_deinit(&token);
    world_close(&w);
}

static void options_are_checked(void)
{
    static const sf_access_options wrong[] = {
        {.jwt_key = "too short"},
        {.hash_iterations = 200000000},
        {.token_life_ms = -1},
    };
    for (size_t i = 0; i < SF_COUNT_OF(wrong); i++) {
        sf_access *access = NULL;
        sf_error err;
        CHECK_INT(sf_access_open(&wrong[i], &access, &err), SF_INVALID);
    }
}

/* ---- throttle ---- */

static void guessing_gets_slower(void)
{
    world w = {0};
    REQUIRE(world_open(&w));
    for (int i = 0; i < 5; i++)
        CHECK_INT(login(&w, "editor", "guess", NULL, NULL), SF_UNAUTHENTICATED);
    CHECK_INT(login(&w, "editor", "editor123!", NULL, NULL), SF_OVERLOADED);
    CHECK_STR(w.err.hint, "try again in 1 s");
    CHECK_INT(login(&w, "viewer", "viewer123!", NULL, NULL), SF_OK); /* others do not wait */
    w.now_ms += 999;
    CHECK_INT(login(&w, "editor", "editor123!", NULL, NULL), SF_OVERLOADED);
    w.now_ms += 1;
    CHECK_INT(login(&w, "editor", "guess", NULL, NULL), SF_UNAUTHENTICATED);
    CHECK_INT(login(&w, "editor", "editor123!", NULL, NULL), SF_OVERLOADED);
    CHECK_STR(w.err.hint, "try again in 2 s");
    w.now_ms += 2000;
    CHECK_INT(login(&w, "editor", "editor123!", NULL, NULL), SF_OK); /* and all is forgiven */
    for (int i = 0; i < 5; i++)
        CHECK_INT(login(&w, "editor", "guess", NULL, NULL), SF_UNAUTHENTICATED);
    for (int i = 0; i < 20; i++) { /* never more than a minute */
        w.now_ms += 60000;
        CHECK_INT(login(&w, "editor", "guess", NULL, NULL), SF_UNAUTHENTICATED);
    }
    for (int i = 0; i < 6; i++) /* names that nobody has are slowed down too */
        CHECK_INT(login(&w, "nobody", "guess", NULL, NULL),
                  i < 5 ? SF_UNAUTHENTICATED : SF_OVERLOADED);
    world_close(&w);
}

static void the_table_of_failures_is_bounded(void)
{
    world w = {.options.hash_iterations = 1};
    char name[32];
    REQUIRE(world_open(&w));
    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "user%d", i);
        CHECK_INT(login(&w, name, "guess", NULL, NULL), SF_UNAUTHENTICATED);
    }
    world_close(&w);
}

/* ---- decisions ---- */

static void roles_allow_what_the_contract_says(void)
{
    static const struct {
        const char *action;
        sf_role least;
    } rows[] = {
        {"source.read", SF_ROLE_VIEWER},
        {"pipeline.read", SF_ROLE_VIEWER},
        {"table.read", SF_ROLE_VIEWER},
        {"config.export", SF_ROLE_VIEWER},
        {"catalog.read", SF_ROLE_VIEWER},
        {"approval.request", SF_ROLE_VIEWER},
        {"source.write", SF_ROLE_EDITOR},
        {"source.delete", SF_ROLE_EDITOR},
        {"source.ingest", SF_ROLE_EDITOR},
        {"source.run", SF_ROLE_EDITOR},
        {"pipeline.write", SF_ROLE_EDITOR},
        {"pipeline.delete", SF_ROLE_EDITOR},
        {"pipeline.control", SF_ROLE_EDITOR},
        {"table.write", SF_ROLE_EDITOR},
        {"table.delete", SF_ROLE_EDITOR},
        {"table.control", SF_ROLE_EDITOR},
        {"config.replace", SF_ROLE_EDITOR},
        {"catalog.write", SF_ROLE_EDITOR},
        {"chat.use", SF_ROLE_EDITOR},
        {"user.read", SF_ROLE_ADMIN},
        {"user.write", SF_ROLE_ADMIN},
        {"access.read", SF_ROLE_ADMIN},
        {"access.write", SF_ROLE_ADMIN},
        {"audit.read", SF_ROLE_ADMIN},
        {"approval.decide", SF_ROLE_ADMIN},
        {"approval.bypass", SF_ROLE_ADMIN},
        {"", SF_ROLE_ADMIN},
        {"source.readx", SF_ROLE_ADMIN},
    };
    world w = {0};
    REQUIRE(world_open(&w));
    sf_scope one = {.name = "trades"};
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        for (int role = 0; role < SF_ROLE_COUNT; role++) {
            sf_principal who = {.username = "u", .role = (sf_role)role};
            sf_status want = role >= (int)rows[i].least ? SF_OK : SF_FORBIDDEN;
            CHECK_INT(sf_access_allows(w.access, &who, rows[i].action, &one, &w.err), want);
            CHECK_INT(sf_access_allows(w.access, &who, rows[i].action, NULL, &w.err), want);
        }
    }
    sf_principal viewer = {.username = "ann", .role = SF_ROLE_VIEWER};
    CHECK_INT(sf_access_allows(w.access, &viewer, "table.write", &one, &w.err), SF_FORBIDDEN);
    CHECK_STR(w.err.message, "user \"ann\" may not table.write on \"trades\"");
    CHECK_INT(sf_access_floor(&viewer, SF_ROLE_VIEWER, &w.err), SF_OK);
    CHECK_INT(sf_access_floor(&viewer, SF_ROLE_EDITOR, &w.err), SF_FORBIDDEN);
    CHECK_STR(w.err.message, "user \"ann\" is a Viewer, and this needs the role Editor");
    uint32_t count;
    const sf_grant *grants = sf_access_grants(w.access, &viewer, &count);
    CHECK_INT(count, 6);
    CHECK_STR(grants[0].action, "source.read");
    sf_role role;
    CHECK(sf_role_from_name(SF_STR("Editor"), &role) && role == SF_ROLE_EDITOR);
    CHECK(!sf_role_from_name(SF_STR("editor"), &role));
    world_close(&w);
}

/* ---- users ---- */

static void users_are_checked(void)
{
    static const struct {
        const char *username, *display_name, *password;
        sf_status status;
        const char *message;
    } rows[] = {
        {"ann", "Ann", "secret", SF_OK, NULL},
        {"Admin", "A", "secret", SF_EXISTS, "user \"Admin\" exists already"},
        {"", "A", "secret", SF_INVALID, "the username is empty"},
        {"a\tb", "A", "secret", SF_INVALID, "the username has a control character"},
        {" a", "A", "secret", SF_INVALID, "the username begins or ends with a blank"},
        {"a\xff", "A", "secret", SF_INVALID, "the username is not valid UTF-8"},
        {"bob", "", "secret", SF_INVALID, "the display name is empty"},
        {"bob", "Bob", "", SF_INVALID, "a user needs a password"},
        {"b\xc3\xb6"
         "b",
         "B\xc3\xb6"
         "b",
         "s", SF_OK, NULL},
    };
    world w = {0};
    sf_user user;
    REQUIRE(world_open(&w));
    for (size_t i = 0; i < SF_COUNT_OF(rows); i++) {
        sf_user_change new = {
            .username = sf_str_of(rows[i].username),
            .display_name = sf_str_of(rows[i].display_name),
            .password = sf_str_of(rows[i].password),
        };
        CHECK_INT(sf_access_create_user(w.access, &new, &user, &w.err), rows[i].status);
        if (rows[i].message)
            CHECK_STR(w.err.message, rows[i].message);
        else
            CHECK_INT(login(&w, rows[i].username, rows[i].password, NULL, NULL), SF_OK);
    }
    REQUIRE(world_reopen(&w));
    REQUIRE_OK(sf_access_find_user(w.access, SF_STR("ann"), &user, &w.err), w.err);
    CHECK_INT(user.role, SF_ROLE_VIEWER);
    CHECK_STR(user.display_name, "Ann");
    CHECK_INT(user.created_at_ms, 1000000);
    CHECK_INT(sf_access_find_user(w.access, SF_STR("Ann"), &user, &w.err), SF_NOT_FOUND);
    sf_user_change none = {.username = SF_STR("carl"), .password = SF_STR("x")};
    CHECK_INT(sf_access_update_user(w.access, &none, &user, &w.err), SF_NOT_FOUND);
    REQUIRE_OK(sf_access_create_user(w.access, &none, &user, &w.err), w.err);
    CHECK_STR(user.display_name, "carl");
    world_close(&w);
}

static void somebody_stays_in_charge(void)
{
    world w = {0};
    sf_user user;
    REQUIRE(world_open(&w));
    sf_principal admin = signed_in(&w, "admin", "admin123!");
    sf_principal editor = signed_in(&w, "editor", "editor123!");
    CHECK_INT(sf_access_delete_user(w.access, SF_STR("admin"), &admin, &w.err), SF_INVALID);
    CHECK_STR(w.err.message, "you cannot delete your own account");
    CHECK_INT(sf_access_delete_user(w.access, SF_STR("admin"), &editor, &w.err), SF_CONFLICT);
    CHECK_STR(w.err.message, "user \"admin\" is the last administrator");
    sf_user_change demote = {.username = SF_STR("admin"), .has_role = true, .role = SF_ROLE_VIEWER};
    CHECK_INT(sf_access_update_user(w.access, &demote, &user, &w.err), SF_CONFLICT);
    sf_user_change promote = {
        .username = SF_STR("editor"), .has_role = true, .role = SF_ROLE_ADMIN};
    REQUIRE_OK(sf_access_update_user(w.access, &promote, &user, &w.err), w.err);
    CHECK_INT(sf_access_update_user(w.access, &demote, &user, &w.err), SF_OK);
    CHECK_INT(sf_access_delete_user(w.access, SF_STR("none"), &admin, &w.err), SF_NOT_FOUND);
    world_close(&w);
}

/* ---- keys ---- */

static const sf_def *new_source(world *w, sf_catalog *catalog, const char *json)
{
    sf_def *def = NULL;
    const sf_def *out = NULL;
    if (sf_def_parse(catalog, SF_ENTITY_SOURCE, "", sf_str_of(json), NULL, &def, &w->err) !=
            SF_OK ||
        sf_catalog_create(catalog, def, "ann", &out, &w->err) != SF_OK)
        return NULL;
    return out;
}

static void keys_open_their_source_only(void)
{
    world w = {0};
    char secret[SF_KEY_SECRET_BYTES + 1], other_secret[SF_KEY_SECRET_BYTES + 1];
    char id[SF_ID_BYTES + 1], other_id[SF_ID_BYTES + 1];
    int64_t created_at_ms;
    const sf_key_record *key = NULL;
    sf_catalog *catalog = NULL;
    REQUIRE(world_open(&w));
    sf_catalog_options options = {w.options.disk, w.options.clock, w.options.random,
                                  NULL,           w.dir,           {0}};
    REQUIRE_OK(sf_catalog_open(&options, &catalog, &w.err), w.err);
    const sf_def *a = new_source(&w, catalog, "{\"name\":\"a\",\"kind\":\"ingest\"}");
    const sf_def *b = new_source(&w, catalog, "{\"name\":\"b\",\"kind\":\"ingest\"}");
    const sf_def *c = new_source(&w, catalog, "{\"name\":\"c\"}");
    REQUIRE(a && b && c);
    CHECK_INT(
        sf_access_make_key(w.access, catalog, c, SF_STR("l"), secret, id, &created_at_ms, &w.err),
        SF_CONFLICT);
    REQUIRE_OK(sf_access_make_key(w.access, catalog, a, SF_STR("laptop"), secret, id,
                                  &created_at_ms, &w.err),
               w.err);
    REQUIRE_OK(sf_access_make_key(w.access, catalog, b, SF_STR(""), other_secret, other_id,
                                  &created_at_ms, &w.err),
               w.err);
    CHECK_INT(strlen(secret), 68);
    CHECK(strncmp(secret, "sfk_", 4) == 0 && strcmp(secret, other_secret) != 0);
    sf_def_unref(a);
    REQUIRE_OK(sf_catalog_find(catalog, SF_ENTITY_SOURCE, "", SF_STR("a"), &a, &w.err), w.err);
    const sf_source_def *source = sf_def_source(a);
    w.now_ms = 2000000;
    REQUIRE_OK(sf_access_check_key(w.access, source, sf_str_of(secret), &key, &w.err), w.err);
    CHECK_STR(key->label, "laptop");
    CHECK_STR(key->id, id);
    CHECK_INT(source->keys[0].last_used_ms, 2000000);
    CHECK(!strstr(key->hash, secret + 4));
    CHECK_INT(sf_access_check_key(w.access, source, sf_str_of(other_secret), &key, &w.err),
              SF_UNAUTHENTICATED);
    secret[67] = secret[67] == 'a' ? 'b' : 'a';
    CHECK_INT(sf_access_check_key(w.access, source, sf_str_of(secret), &key, &w.err),
              SF_UNAUTHENTICATED);
    CHECK_INT(sf_access_check_key(w.access, source, SF_STR(""), &key, &w.err), SF_UNAUTHENTICATED);
    sf_def_unref(a);
    sf_def_unref(b);
    sf_def_unref(c);
    sf_catalog_close(catalog);
    world_close(&w);
}

/* ---- many at once ---- */

typedef struct {
    world *w;
    int number;
    _Atomic int *failures;
} worker;

static void *sign_in_and_change(void *arg)
{
    worker *me = arg;
    sf_principal who;
    sf_user user;
    sf_error err;
    char name[16];
    sf_buf token = {0};
    snprintf(name, sizeof name, "user%d", me->number);
    sf_user_change change = {.username = sf_str_of(name), .password = SF_STR("first")};
    if (sf_access_create_user(me->w->access, &change, &user, &err) != SF_OK)
        ++*me->failures;
    for (int i = 0; i < 10; i++) {
        sf_buf_clear(&token);
        if (sf_access_login(me->w->access, sf_str_of(name), change.password, &token, &who, &err) !=
                SF_OK ||
            sf_access_verify(me->w->access, sf_buf_str(&token), &who, &err) != SF_OK)
            ++*me->failures;
        change.password = i % 2 ? SF_STR("first") : SF_STR("second");
        if (sf_access_update_user(me->w->access, &change, &user, &err) != SF_OK)
            ++*me->failures;
    }
    sf_buf_deinit(&token);
    return NULL;
}

static void threads_do_not_meet(void)
{
    world w = {0};
    pthread_t threads[4];
    worker workers[4];
    _Atomic int failures = 0;
    sf_user_list list;
    REQUIRE(world_open(&w));
    for (int i = 0; i < 4; i++) {
        workers[i] = (worker){&w, i, &failures};
        REQUIRE(pthread_create(&threads[i], NULL, sign_in_and_change, &workers[i]) == 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(failures, 0);
    REQUIRE_OK(sf_access_users(w.access, &list, &w.err), w.err);
    CHECK_INT(list.count, 7);
    sf_user_list_free(&list);
    world_close(&w);
}

static const sf_case cases[] = {
    SF_CASE(three_users_are_there),
    SF_CASE(first_users_are_made_once),
    SF_CASE(passwords_are_hashed_as_others_do),
    SF_CASE(weak_hashes_are_raised_at_login),
    SF_CASE(tokens_are_recognised),
    SF_CASE(tokens_cannot_be_changed),
    SF_CASE(only_our_kind_of_token_counts),
    SF_CASE(tokens_follow_their_user),
    SF_CASE(options_are_checked),
    SF_CASE(guessing_gets_slower),
    SF_CASE(the_table_of_failures_is_bounded),
    SF_CASE(roles_allow_what_the_contract_says),
    SF_CASE(users_are_checked),
    SF_CASE(somebody_stays_in_charge),
    SF_CASE(keys_open_their_source_only),
    SF_CASE(threads_do_not_meet),
};
SF_RUN("access", cases)
