#include "server/command/process/process_reader.h"

#include <sys/prctl.h>
#include <unistd.h>

#include "sampler/sampling_process.h"
#include "sampler/session.h"
#include "server/access/admission.h"
#include "server/command/options/options.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"
#include "server/source/helper.h"
#include "server/source/relay.h"

/* Dumps and the profiles of pprof are sessions for a moment, besides those of users. */
enum { MOMENTARY_SESSIONS = 32 };

/* The part of its time for which a session may stop a thread; 0: no bound. */
static double max_stop_percent(const struct options *options)
{
    const struct session_options *const sampling = &options->sampling;
    if (options->command->bit & HOSTING)
        return sampling->max_stop_percent;
    if (sampling->stop == SESSION_STOP_ALWAYS)
        return 0;
    return sampling->max_stop_percent > 0 ? sampling->max_stop_percent
                                          : SESSION_MAX_STOP_PERCENT;
}

static enum err_code serve_requests(const struct process_reader *reader, struct err *err)
{
    const struct options *const options = reader->options;
    struct sampling_process settings = {
        .socket = reader->socket,
        .pulse = reader->pulse,
        .max_rate_hz = options->command->bit == COMMAND_SERVE ? options->serve.max_rate_hz
                                                              : SESSION_MAX_RATE_HZ,
        .max_running = options->serve.max_sessions + MOMENTARY_SESSIONS,
        .memory_bytes = options->sampling.memory_bytes,
        .max_cpu_percent = options->sampling.max_cpu_percent,
        .max_stop_percent = max_stop_percent(options),
        .hides_arguments = options->sampling.hides_arguments,
        .allows_locals = options->access.allows_locals,
        .launcher = reader->launcher,
        .only = options->command->bit & HOSTING ? NULL : &options->sampling,
        .read = options->report.no_source ? NULL : relay_answer,
    };
    admission_use(&options->access.admission);
    enum err_code rc =
        options->report.no_source ? ERR_OK : source_helper_adopt(reader->source_socket, err);
    if (!rc && options->sampling.engine != SESSION_ENGINE_REMOTE)
        rc = session_open_engines(reader->engines, &settings.engines, err);
    if (!rc)
        rc = privilege_drop_reader(options, err);
    return rc ? rc : sampling_process_serve(&settings, err);
}

/* The sessions go on until the process ends, so nothing is freed. */
noreturn void process_reader_run(const struct process_reader *reader)
{
    struct err err = { 0 };
    prctl(PR_SET_NAME, "pyrometer-read", 0, 0, 0);
    const enum err_code rc = serve_requests(reader, &err);
    if (rc)
        say("the sampling process: %s", err.message);
    _exit(!rc ? EXIT_DONE : EXIT_FAILED);
}
