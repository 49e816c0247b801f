#include "server/api/report_source.h"

#include "server/api/session_request.h"
#include "server/report/header.h"
#include "server/report/report.h"
#include "server/sessions/sessions.h"
#include "server/wire/reshaped.h"
#include "server/wire/session.h"

typedef enum err_code user(const struct report_source *source, void *context, struct err *err);

static enum err_code use_snapshot(const struct session_request *asked,
                                  const struct profile_snapshot *snapshot,
                                  const struct view_query *query,
                                  const struct report_source *baseline, user *use,
                                  void *context, struct err *err)
{
    const struct report_selection selection = { .snapshot = &asked->snapshot,
                                                .query = &asked->query.view,
                                                .filters = &asked->query.filters };
    struct session_info info;
    struct report_header header;
    session_entry_describe(asked->entry, snapshot, &info);
    struct report_source source = { .snapshot = snapshot,
                                    .query = query,
                                    .selection = &selection,
                                    .session = &info,
                                    .settings.anonymizes = asked->query.anonymizes,
                                    .settings.limit = asked->query.limit,
                                    .settings.links = *asked->links,
                                    .settings.own = &asked->query.own,
                                    .files = session_entry_files(asked->entry),
                                    .baseline = baseline };
    enum err_code rc = report_header_init(&header, &source, err);
    if (rc)
        return rc;
    source.header = &header;
    rc = use(&source, context, err);
    report_header_deinit(&header);
    return rc;
}

enum err_code report_source_use(const struct session_request *asked,
                                const struct report_source *baseline, user *use, void *context,
                                struct err *err)
{
    const struct view_query everything = { 0 };
    struct reshaped reshaped;
    if (!reshape_is_needed(&asked->snapshot, &asked->query.filters))
        return use_snapshot(asked, &asked->snapshot, &asked->query.view, baseline, use, context,
                            err);
    enum err_code rc = reshaped_init(&reshaped, &asked->snapshot, &asked->query.view,
                                     &asked->query.filters, RESHAPED_WINDOWS, err);
    if (!rc)
        rc = use_snapshot(asked, &reshaped.snapshot, &everything, baseline, use, context, err);
    reshaped_deinit(&reshaped);
    return rc;
}
