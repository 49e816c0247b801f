/*
 * api - the handlers of /api/v1, one file per resource (contract: server/openapi.json).
 *
 * Each parses its query, takes a snapshot and writes one document.
 *
 * Threads: any.
 */
#ifndef SERVER_API_API_H
#define SERVER_API_API_H

#include "sampler/base/err.h"

struct handler_context;
struct response;
struct session_entry;

enum err_code api_list_sessions(const struct handler_context *handler,
                                struct response *response, struct err *err);
enum err_code api_list_processes(const struct handler_context *handler,
                                 struct response *response, struct err *err);
enum err_code api_get_activity(const struct handler_context *handler, struct response *response,
                               struct err *err);
enum err_code api_dump_process(const struct handler_context *handler, struct response *response,
                               struct err *err);
enum err_code api_list_captures(const struct handler_context *handler,
                                struct response *response, struct err *err);
enum err_code api_get_capture(const struct handler_context *handler, struct response *response,
                              struct err *err);
enum err_code api_get_capture_file(const struct handler_context *handler,
                                   struct response *response, struct err *err);
enum err_code api_open_capture(const struct handler_context *handler, struct response *response,
                               struct err *err);
enum err_code api_put_capture(const struct handler_context *handler, struct response *response,
                              struct err *err);
enum err_code api_change_capture(const struct handler_context *handler,
                                 struct response *response, struct err *err);
enum err_code api_delete_capture(const struct handler_context *handler,
                                 struct response *response, struct err *err);
/* Answers with the session that the handler context holds, and its Location. */
enum err_code api_send_held(const struct handler_context *handler, int status,
                            struct response *response, struct err *err);
enum err_code api_start_session(const struct handler_context *handler,
                                struct response *response, struct err *err);
enum err_code api_delete_session(const struct handler_context *handler,
                                 struct response *response, struct err *err);
enum err_code api_get_session(const struct handler_context *handler, struct response *response,
                              struct err *err);
enum err_code api_change_session(const struct handler_context *handler,
                                 struct response *response, struct err *err);
enum err_code api_get_tree(const struct handler_context *handler, struct response *response,
                           struct err *err);
enum err_code api_get_view(const struct handler_context *handler, struct response *response,
                           struct err *err);
enum err_code api_get_tasks(const struct handler_context *handler, struct response *response,
                            struct err *err);
enum err_code api_get_threads(const struct handler_context *handler, struct response *response,
                              struct err *err);
enum err_code api_get_timeline(const struct handler_context *handler, struct response *response,
                               struct err *err);
enum err_code api_get_runs(const struct handler_context *handler, struct response *response,
                           struct err *err);
enum err_code api_dump_session(const struct handler_context *handler, struct response *response,
                               struct err *err);
enum err_code api_get_memory(const struct handler_context *handler, struct response *response,
                             struct err *err);
enum err_code api_get_locks(const struct handler_context *handler, struct response *response,
                            struct err *err);
enum err_code api_get_gil(const struct handler_context *handler, struct response *response,
                          struct err *err);
enum err_code api_get_own_lines(const struct handler_context *handler,
                                struct response *response, struct err *err);
enum err_code api_get_summary(const struct handler_context *handler, struct response *response,
                              struct err *err);
enum err_code api_get_contexts(const struct handler_context *handler, struct response *response,
                               struct err *err);
enum err_code api_get_requests(const struct handler_context *handler, struct response *response,
                               struct err *err);
enum err_code api_get_waits(const struct handler_context *handler, struct response *response,
                            struct err *err);
enum err_code api_get_heatmap(const struct handler_context *handler, struct response *response,
                              struct err *err);
enum err_code api_get_lines(const struct handler_context *handler, struct response *response,
                            struct err *err);
enum err_code api_add_note(const struct handler_context *handler, struct response *response,
                           struct err *err);
enum err_code api_remove_note(const struct handler_context *handler, struct response *response,
                              struct err *err);
enum err_code api_find_matches(const struct handler_context *handler, struct response *response,
                               struct err *err);
enum err_code api_get_source(const struct handler_context *handler, struct response *response,
                             struct err *err);
enum err_code api_get_quality(const struct handler_context *handler, struct response *response,
                              struct err *err);
enum err_code api_get_export(const struct handler_context *handler, struct response *response,
                             struct err *err);
enum err_code api_get_report(const struct handler_context *handler, struct response *response,
                             struct err *err);
enum err_code api_end_access(const struct handler_context *handler, struct response *response,
                             struct err *err);
enum err_code api_get_access(const struct handler_context *handler, struct response *response,
                             struct err *err);
enum err_code api_list_shares(const struct handler_context *handler, struct response *response,
                              struct err *err);
enum err_code api_add_share(const struct handler_context *handler, struct response *response,
                            struct err *err);
enum err_code api_revoke_share(const struct handler_context *handler, struct response *response,
                               struct err *err);
enum err_code api_get_metrics(const struct handler_context *handler, struct response *response,
                              struct err *err);
enum err_code api_pull_pprof(const struct handler_context *handler, struct response *response,
                             struct err *err);

#endif /* SERVER_API_API_H */
