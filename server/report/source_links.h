/*
 * source_links - where the page leads to: lines of source code open in an editor and a view of the repository, and the
 * service of a session in a system that keeps its profiles.
 *
 * The page makes the URLs (web/model/page/links.js), from templates with {path}, {line} and {commit}, or {service}, {host},
 * {pid}, {from} and {to}.
 *
 * Ownership: texts are borrowed.
 * Limits: SOURCE_LINKS_MAX_TEMPLATE.
 */
#ifndef SERVER_REPORT_SOURCE_LINKS_H
#define SERVER_REPORT_SOURCE_LINKS_H

#include "sampler/base/err.h"
#include "server/settings/setting.h"

struct json;

enum { SOURCE_LINKS_MAX_TEMPLATE = 1000 };

/* Zeroed: none. */
struct source_links {
    const char *editor;     /* a known name or a template; NULL: none */
    const char *repository; /* a template; NULL: none */
    const char *commit;     /* what {commit} stands for; NULL: HEAD */
    const char *service;    /* a template; NULL: none */
    struct setting_texts
        maps; /* "FROM=TO": folders of the target, and of the editor's machine */
};

/* Readers of settings (setting.h).  They refuse templates that could run code or whose host a path
 * could change. */
enum err_code source_links_read_editor(const struct setting *setting, void *editor,
                                       const char *text, struct err *why);
enum err_code source_links_read_repository(const struct setting *setting, void *repository,
                                           const char *text, struct err *why);
enum err_code source_links_read_service(const struct setting *setting, void *service,
                                        const char *text, struct err *why);
enum err_code source_links_read_commit(const struct setting *setting, void *commit,
                                       const char *text, struct err *why);
enum err_code source_links_read_map(const struct setting *setting, void *maps, const char *text,
                                    struct err *why);

/* The member links of an object that is open: SourceLinks of openapi.json. */
void source_links_write(struct json *json, const struct source_links *links);

#endif /* SERVER_REPORT_SOURCE_LINKS_H */
