#include "server/command/captured.h"

#include <stdio.h>
#include <string.h>

#include "sampler/capture/facts.h"
#include "sampler/capture/reader.h"
#include "server/command/exit.h"

static enum sampler_mode mode_of(const char *text)
{
    static const char *const modes[] = {
#define X(name, text, help) text,
        SAMPLER_MODES(X)
#undef X
    };
    for (size_t i = 0; text && i < sizeof modes / sizeof *modes; i++)
        if (strcmp(modes[i], text) == 0)
            return (enum sampler_mode)i;
    return SAMPLER_MODE_WALL;
}

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static void describe_target(struct captured *captured, const struct capture_facts *facts)
{
    captured->target = (struct sampler_target){
        .pid = (pid_t)facts->pid,
        .argc = facts->argv.count,
        .argv = facts->argv.items,
        .executable = text_or_empty(facts->executable),
        .python = text_or_empty(facts->python),
        .validated = facts->validated != 0,
    };
    captured->options = (struct sampler_options){
        .pid = (pid_t)facts->pid,
        .rate_hz = (double)facts->rate_uhz / 1e6,
        .duration_ns = facts->duration_ns,
        .all_threads = facts->all_threads != 0,
        .mode = mode_of(facts->mode),
        .native = facts->native != 0,
        .no_gc = facts->no_gc != 0,
        .opcodes = facts->opcodes != 0,
        .blocking = facts->blocking != 0,
        .max_cpu_percent = (double)facts->max_cpu_ppm / 1e4,
        .memory_bytes = (size_t)facts->memory_bytes,
    };
}

static void describe(struct captured *captured, const struct capture_facts *facts)
{
    describe_target(captured, facts);
    captured->facts = (struct session_facts){
        .id = "1",
        .epoch = "capture",
        .status = { .state = facts->has_failed ? SAMPLER_FAILED : SAMPLER_ENDED,
                    .started_at_ns = facts->started_at_ns,
                    .ended_at_ns = facts->ended_at_ns,
                    .elapsed_ns =
                        facts->elapsed_ns ? facts->elapsed_ns : captured->snapshot.end_ns,
                    .rate_hz = captured->options.rate_hz },
        .target = &captured->target,
        .options = &captured->options,
        .snapshot = &captured->snapshot,
    };
    snprintf(captured->facts.status.reason, sizeof captured->facts.status.reason, "%s",
             text_or_empty(facts->reason));
    captured->source = (struct report_source){ .snapshot = &captured->snapshot,
                                               .query = &captured->everything,
                                               .session = &captured->facts };
}

enum err_code captured_open(struct captured *captured, const char *path, size_t memory_bytes,
                            struct err *err)
{
    memset(captured, 0, sizeof *captured);
    enum err_code rc = reader_open(path, &captured->reader, err);
    if (rc == ERR_OK)
        rc = reader_load(captured->reader, memory_bytes, err);
    if (rc == ERR_OK)
        rc = profile_snapshot(reader_profile(captured->reader), &captured->snapshot, err);
    if (rc != ERR_OK) {
        captured_close(captured);
        return rc;
    }
    if (reader_missing(captured->reader))
        say("%s: %s", path, reader_missing(captured->reader));
    describe(captured, reader_facts(captured->reader));
    return ERR_OK;
}

void captured_close(struct captured *captured)
{
    if (captured->snapshot.profile)
        profile_snapshot_release(&captured->snapshot);
    reader_close(captured->reader);
    memset(captured, 0, sizeof *captured);
}
