#include "server/report/encoding/pprof.h"

#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/plain_text.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/views/view.h"
#include "server/report/encoding/embedded_profile.h"
#include "server/report/formats/writers.h"
#include "server/report/header.h"
#include "server/report/report_source.h"
#include "server/wire/session.h"

enum { GZIP_LEVEL = 6 };

/* The cells of the measures beside the snapshot. */
struct beside {
    struct view_cells cells[MEASURE_COUNT];
    struct pprof_beside items[MEASURE_COUNT];
    size_t count;
};

static enum err_code find_beside(const struct report_source *source, struct beside *beside,
                                 struct err *err)
{
    enum err_code rc = ERR_OK;
    for (enum measure i = MEASURE_TIME; i < MEASURE_COUNT && !rc; i++) {
        struct profile_snapshot other;
        if (!(source->snapshot->beside & MEASURE_SET(i)))
            continue;
        rc = profile_snapshot_beside(source->snapshot, i, &other, err);
        if (rc)
            return rc;
        struct view_cells *const cells = &beside->cells[beside->count];
        rc = view_cells_init(cells, &other, source->query, err);
        profile_snapshot_release(&other);
        if (!rc)
            beside->items[beside->count++] =
                (struct pprof_beside){ i, cells->cells, cells->count };
    }
    return rc;
}

static enum err_code write_cells(const struct report_source *source,
                                 struct pprof_settings *settings, struct buffer *out,
                                 struct err *err)
{
    struct view_cells cells;
    struct beside beside = { .count = 0 };
    struct pprof *pprof = NULL;
    size_t used;
    enum err_code rc = view_cells_init(&cells, source->snapshot, source->query, err);
    if (rc)
        return rc;
    rc = find_beside(source, &beside, err);
    settings->beside = beside.items;
    settings->beside_count = beside.count;
    if (!rc)
        rc = pprof_create(source->snapshot, &pprof, err);
    if (!rc)
        rc = pprof_write(pprof, settings, cells.cells, cells.count, out, &used, err);
    pprof_destroy(pprof);
    for (size_t i = 0; i < beside.count; i++)
        view_cells_deinit(&beside.cells[i]);
    view_cells_deinit(&cells);
    return rc;
}

static bool has_marks(const struct report_source *source)
{
    const struct frame_filters *const filters =
        source->selection ? source->selection->filters : NULL;
    return !filters || filters->waits == WAIT_MARKS_SHOWN;
}

static enum err_code write_texts(const struct report_source *source, struct buffer *out,
                                 struct err *err)
{
    const struct report_header *const header = source->header;
    const char *const path = source->session->target->executable;
    struct buffer executable = { 0 }, command = { 0 }, selection = { 0 };
    plain_text_put(&executable, path, path ? strlen(path) : 0);

    const struct session_target *const target = source->session->target;
    for (size_t i = 0; i < target->argc; i++) {
        buffer_text(&command, i > 0 ? " " : "");
        plain_text_put(&command, target->argv[i], strlen(target->argv[i]));
    }

    report_header_put_text(header, &selection);
    const bool is_time = source->snapshot->measure == MEASURE_TIME;
    struct pprof_settings settings = {
        .values = is_time ? PPROF_ALL : PPROF_MEASURED,
        .measure = source->snapshot->measure,
        .labels =
            has_marks(source) && is_time ? PPROF_EVERY_LABEL : PPROF_EVERY_LABEL & ~PPROF_PART,
        .began_at_ns = header->began_at_ns,
        .duration_ns = report_header_duration_ns(header),
        .period_ns = source->header->period_ns,
        .executable = buffer_string(&executable),
        .comments = { buffer_string(&command), buffer_string(&selection) }
    };
    const bool has_texts = settings.executable && settings.comments[0] && settings.comments[1];
    const enum err_code rc =
        has_texts ? write_cells(source, &settings, out, err) : err_nomem(err);
    buffer_deinit(&executable);
    buffer_deinit(&command);
    buffer_deinit(&selection);
    return rc;
}

enum err_code report_write_pprof(const struct report_source *source, struct buffer *out,
                                 struct err *err)
{
    struct embedded_profile profile_text;
    enum err_code rc =
        embedded_profile_init(&profile_text, GZIP_LEVEL, EMBEDDED_PROFILE_BYTES, out, err);
    if (!rc)
        rc = write_texts(source, &profile_text.in, err);
    if (!rc)
        rc = embedded_profile_finish(&profile_text, err);
    embedded_profile_deinit(&profile_text);
    return rc;
}
