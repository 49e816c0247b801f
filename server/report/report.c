#include "server/report/report.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sampler/base/clock.h"
#include "server/wire/session.h"

static const struct report_format formats[] = {
    { "collapsed", "text/plain; charset=utf-8", "folded",
      "folded stacks, one line each: for flamegraph.pl, speedscope, grep",
      report_write_collapsed },
    { "flamegraph", "text/html; charset=utf-8", "html",
      "one HTML file with the flame graph inside", report_write_html },
};

const struct report_format *report_at(size_t index)
{
    return index < sizeof formats / sizeof *formats ? &formats[index] : NULL;
}

const struct report_format *report_find(const char *name)
{
    const struct report_format *format = NULL;
    for (size_t i = 0; (format = report_at(i)); i++)
        if (strcmp(format->name, name) == 0)
            return format;
    return NULL;
}

void report_file_name(const struct report_source *source, const struct report_format *format,
                      char out[REPORT_NAME_BYTES])
{
    const time_t start = (time_t)(source->session->status.started_at_ns / NS_PER_S);
    char when[32] = "";
    struct tm parts;
    if (gmtime_r(&start, &parts))
        strftime(when, sizeof when, "-%Y%m%d-%H%M%S", &parts);
    snprintf(out, REPORT_NAME_BYTES, "pyrometer-%d%s.%s", (int)source->session->target->pid,
             when, format->extension);
}
