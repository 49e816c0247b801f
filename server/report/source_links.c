#include "server/report/source_links.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "server/wire/json.h"

enum { SCHEME_MAX = 32, COMMIT_MAX = 100, MAP_MAX = 4096 };

/* Editors that web/model/page/links.js has a template for. */
static const char *const editors[] = { "vscode", "cursor", "pycharm" };

/* Schemes that open an editor, and those of the web. */
static const char *const schemes[] = { "http",      "https",  "vscode", "vscode-insiders",
                                       "vscodium",  "cursor", "zed",    "windsurf",
                                       "jetbrains", "idea",   "subl",   "pycharm",
                                       "txmt",      "mvim",   "emacs",  "x-mine" };

/* Ends with NULL. */
static const char *const source_placeholders[] = { "{path}", "{line}", "{commit}", NULL };
static const char *const service_placeholders[] = { "{service}", "{host}", "{pid}",
                                                    "{from}",    "{to}",   NULL };

static bool is_visible_ascii(const char *text)
{
    for (; *text; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
}

static bool is_known_scheme(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (strlen(schemes[i]) == length && strncasecmp(schemes[i], text, length) == 0)
            return true;
    return false;
}

/* Every brace belongs to a placeholder. */
static bool has_known_placeholders(const char *text, const char *const *placeholders)
{
    while (*(text += strcspn(text, "{}"))) {
        size_t length = 0;
        for (size_t i = 0; placeholders[i]; i++)
            if (strncmp(text, placeholders[i], strlen(placeholders[i])) == 0)
                length = strlen(placeholders[i]);
        if (length == 0)
            return false;
        text += length;
    }
    return true;
}

/* "https://host/..."; a path must not become part of the host. */
static bool names_host(const char *rest)
{
    if (strncmp(rest, "//", 2) != 0)
        return false;
    const size_t length = strcspn(rest + 2, "/?#{}\\");
    return length > 0 && rest[2 + length] == '/';
}

static bool is_web(const char *text)
{
    return strncasecmp(text, "http:", 5) == 0 || strncasecmp(text, "https:", 6) == 0;
}

static enum err_code check_template(const char *text, struct err *why)
{
    const size_t length = strcspn(text, ":");
    if (strlen(text) > SOURCE_LINKS_MAX_TEMPLATE)
        return err_set(why, ERR_INVALID, "want at most %d bytes", SOURCE_LINKS_MAX_TEMPLATE);
    if (!strstr(text, "{path}"))
        return err_set(why, ERR_INVALID, "want a URL with {path}");
    if (!is_visible_ascii(text) || !has_known_placeholders(text, source_placeholders))
        return err_set(why, ERR_INVALID,
                       "want a URL with {path}, {line} and {commit} and no other braces");
    if (!text[length] || !is_known_scheme(text, length))
        return err_set(why, ERR_INVALID,
                       "want a URL that begins with https:, http:, or the scheme of an editor");
    if (is_web(text) && !names_host(text + length + 1))
        return err_set(why, ERR_INVALID, "want a URL whose host is followed by '/'");
    return ERR_OK;
}

enum err_code source_links_read_editor(const struct setting *setting, void *editor,
                                       const char *text, struct err *why)
{
    bool is_name = false;
    (void)setting;
    for (size_t i = 0; i < sizeof editors / sizeof *editors; i++)
        is_name = is_name || strcmp(text, editors[i]) == 0;
    if (!is_name && !strchr(text, ':'))
        return err_set(why, ERR_INVALID,
                       "want vscode, cursor, pycharm or a URL: vscode://file{path}:{line}");
    const enum err_code rc = is_name ? ERR_OK : check_template(text, why);
    if (!rc)
        *(const char **)editor = text;
    return rc;
}

enum err_code source_links_read_repository(const struct setting *setting, void *repository,
                                           const char *text, struct err *why)
{
    (void)setting;
    const enum err_code rc = check_template(text, why);
    if (!rc && !is_web(text))
        return err_set(why, ERR_INVALID, "want a URL that begins with https: or http:");
    if (!rc)
        *(const char **)repository = text;
    return rc;
}

enum err_code source_links_read_service(const struct setting *setting, void *service,
                                        const char *text, struct err *why)
{
    (void)setting;
    if (strlen(text) > SOURCE_LINKS_MAX_TEMPLATE)
        return err_set(why, ERR_INVALID, "want at most %d bytes", SOURCE_LINKS_MAX_TEMPLATE);
    if (!is_web(text) || !names_host(strchr(text, ':') + 1))
        return err_set(
            why, ERR_INVALID,
            "want a URL that begins with https: or http:, and a host followed by '/'");
    if (!is_visible_ascii(text) || !has_known_placeholders(text, service_placeholders))
        return err_set(why, ERR_INVALID,
                       "want no other braces than {service}, {host}, {pid}, {from} and {to}");
    *(const char **)service = text;
    return ERR_OK;
}

enum err_code source_links_read_commit(const struct setting *setting, void *commit,
                                       const char *text, struct err *why)
{
    (void)setting;
    if (!*text || strlen(text) > COMMIT_MAX || !is_visible_ascii(text))
        return err_set(why, ERR_INVALID, "want a commit, a tag or a branch");
    *(const char **)commit = text;
    return ERR_OK;
}

enum err_code source_links_read_map(const struct setting *setting, void *maps, const char *text,
                                    struct err *why)
{
    struct setting_texts *const list = maps;
    const char *const to = strchr(text, '=');
    (void)setting;
    if (*text != '/' || !to || to[1] != '/' || strlen(text) > MAP_MAX)
        return err_set(why, ERR_INVALID, "want FROM=TO, two folders: /app=/home/me/app");
    if (list->count == SETTING_MAX_TEXTS)
        return err_set(why, ERR_INVALID, "want at most %d of them", SETTING_MAX_TEXTS);
    list->items[list->count++] = text;
    return ERR_OK;
}

void source_links_write(struct json *json, const struct source_links *links)
{
    json_member_object(json, "links");
    json_member_text(json, "editor", links->editor);
    json_member_text(json, "repository", links->repository);
    json_member_text(json, "commit", links->commit);
    json_member_text(json, "service", links->service);
    json_member_array(json, "maps");
    for (size_t i = 0; i < links->maps.count; i++)
        json_text(json, links->maps.items[i]);
    json_end(json);
    json_end(json);
}
