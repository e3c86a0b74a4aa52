/* Who may do what: the built-in roles, and the one function that decides. */
#include "access/inside.h"

#define ALLOW(action)                                                                              \
    {                                                                                              \
        action, "*", SF_EFFECT_ALLOW                                                               \
    }

#define VIEWER_GRANTS                                                                              \
    ALLOW("source.read"), ALLOW("pipeline.read"), ALLOW("table.read"), ALLOW("config.export"),     \
        ALLOW("catalog.read"), ALLOW("approval.request")

static const sf_grant viewer_grants[] = {VIEWER_GRANTS};
static const sf_grant editor_grants[] = {
    VIEWER_GRANTS,
    ALLOW("source.write"),
    ALLOW("source.delete"),
    ALLOW("source.ingest"),
    ALLOW("source.run"),
    ALLOW("pipeline.write"),
    ALLOW("pipeline.delete"),
    ALLOW("pipeline.control"),
    ALLOW("table.write"),
    ALLOW("table.delete"),
    ALLOW("table.control"),
    ALLOW("config.replace"),
    ALLOW("catalog.write"),
    ALLOW("chat.use"),
};
static const sf_grant admin_grants[] = {ALLOW("*")};

static const struct {
    const char *name;
    const sf_grant *grants;
    uint32_t count;
} roles[SF_ROLE_COUNT] = {
    [SF_ROLE_VIEWER] = {"Viewer", viewer_grants, SF_COUNT_OF(viewer_grants)},
    [SF_ROLE_EDITOR] = {"Editor", editor_grants, SF_COUNT_OF(editor_grants)},
    [SF_ROLE_ADMIN] = {"Admin", admin_grants, SF_COUNT_OF(admin_grants)},
};

const char *sf_role_name(sf_role role)
{
    return (size_t)role < SF_ROLE_COUNT ? roles[role].name : "";
}

bool sf_role_from_name(sf_str name, sf_role *out)
{
    for (int i = 0; i < SF_ROLE_COUNT; i++) {
        if (!sf_str_eq(name, sf_str_of(roles[i].name)))
            continue;
        *out = (sf_role)i;
        return true;
    }
    return false;
}

const sf_grant *sf_access_grants(const sf_access *access, const sf_principal *principal,
                                 uint32_t *count)
{
    SF_UNUSED(access);
    SF_ASSERT((size_t)principal->role < SF_ROLE_COUNT);
    *count = roles[principal->role].count;
    return roles[principal->role].grants;
}

/* ---- matching ---- */

/* '*' stands for any run of characters. */
static bool glob(const char *pattern, const char *text)
{
    const char *star = NULL, *retry = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            retry = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) { /* let the last star take one more */
            pattern = star + 1;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

/* Acting on everything is covered by a grant for everything only. */
static bool covers(const char *pattern, const sf_scope *scope)
{
    if (strcmp(pattern, "*") == 0)
        return true;
    if (!scope || !scope->name)
        return false;
    if (strncmp(pattern, "tag:", 4) != 0)
        return glob(pattern, scope->name);
    for (uint32_t i = 0; i < scope->tags.count; i++)
        if (glob(pattern + 4, scope->tags.items[i]))
            return true;
    return false;
}

sf_status sf_access_allows(sf_access *access, const sf_principal *principal, const char *action,
                           const sf_scope *scope, sf_error *err)
{
    uint32_t count;
    const sf_grant *grants = sf_access_grants(access, principal, &count);
    bool allowed = false, denied = false;
    for (uint32_t i = 0; i < count; i++) {
        if (!glob(grants[i].action, action) || !covers(grants[i].scope, scope))
            continue;
        if (grants[i].effect == SF_EFFECT_DENY)
            denied = true;
        else
            allowed = true;
    }
    if (allowed && !denied)
        return SF_OK;
    sf_fail(err, SF_FORBIDDEN, "user \"%s\" may not %s on \"%s\"", principal->username, action,
            scope && scope->name ? scope->name : "*");
    sf_error_hint(err, "ask an administrator for the grant");
    return SF_FORBIDDEN;
}

sf_status sf_access_floor(const sf_principal *principal, sf_role floor, sf_error *err)
{
    if (principal->role >= floor)
        return SF_OK;
    sf_fail(err, SF_FORBIDDEN, "user \"%s\" is a %s, and this needs the role %s",
            principal->username, sf_role_name(principal->role), sf_role_name(floor));
    sf_error_hint(err, "ask an administrator for the role");
    return SF_FORBIDDEN;
}
