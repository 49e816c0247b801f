#include <stdio.h>
#include <string.h>

#include "sampler/access_checks.h"
#include "sampler/base/plain_text.h"
#include "sampler/profile/measure.h"
#include "sampler/session.h"
#include "server/command/command.h"
#include "server/command/options/options.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"

enum { STATE_COLUMNS = 10, NAME_COLUMNS = 12 };

/* At this rate a kernel that refuses would refuse at any other. */
static const double TRIED_HZ = 100;

static void print_text(const char *text)
{
    char plain[4 * ACCESS_CHECK_TEXT_BYTES];
    plain_text_copy(plain, sizeof plain, text);
    puts(plain);
}

static void print_checks(const struct access_checks *checks)
{
    for (size_t i = 0; i < checks->count; i++) {
        const struct access_check *const check = &checks->items[i];
        printf("%-*s%-*s", STATE_COLUMNS, access_check_state_text(check->state), NAME_COLUMNS,
               check->name);
        print_text(check->found);
        if (!*check->remedy)
            continue;
        printf("%-*s", STATE_COLUMNS + NAME_COLUMNS, "");
        print_text(check->remedy);
    }
}

/* Says what --event can count: without the kernel engine, time alone. */
static void list_events(struct access_checks *checks, bool has_engine)
{
    char names[ACCESS_CHECK_TEXT_BYTES] = "";
    size_t length = 0;
    for (enum measure i = MEASURE_TIME; i < MEASURE_KNOWN && length < sizeof names; i++)
        if (has_engine || i == MEASURE_TIME)
            length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                       i > MEASURE_TIME ? ", " : "", measure_texts[i]);
    if (has_engine) {
        access_checks_add(checks, "events", ACCESS_CHECK_OK, "%s", names);
        return;
    }
    struct access_check *const check =
        access_checks_add(checks, "events", ACCESS_CHECK_UNKNOWN, "%s alone", names);
    access_check_remedy(check, "the others of --event need the kernel engine");
}

/* Tries it: only the kernel knows all of its conditions. */
static void check_engine(struct access_checks *checks)
{
    struct session_options tried = { .rate_hz = TRIED_HZ };
    struct err err = { 0 };
    enum err_code rc = session_open_engines(1, &tried.engines, &err);
    if (!rc)
        rc = session_check_engine(&tried, &err);
    session_close_engines(tried.engines);
    if (!rc) {
        access_checks_add(checks, "engine", ACCESS_CHECK_OK, "the kernel engine can run");
        list_events(checks, true);
        return;
    }
    struct access_check *const check =
        access_checks_add(checks, "engine", ACCESS_CHECK_UNKNOWN, "%s", err.message);
    if (rc == ERR_PERM)
        access_check_remedy(
            check, "--engine remote needs no more; for the kernel engine use sudo, or: "
                   "sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace=ep "
                   "\"$(command -v pyrometer)\"");
    else
        access_check_remedy(check, "none needed: --engine auto reads stacks from outside");
    list_events(checks, false);
}

int command_doctor(const struct options *options)
{
    struct err err = { 0 }, first = { 0 };
    struct access_checks engine = { .count = 0 };
    if (options->sampling.pid_count == 0)
        check_engine(&engine);
    enum err_code rc = privilege_drop(options, &first);
    const size_t count = !rc ? options->sampling.pid_count : 0;
    if (!rc && count == 0) {
        struct access_checks checks = { .count = 0 };
        rc = access_checks_of_host(&checks, &first);
        print_checks(&checks);
        print_checks(&engine);
    }
    for (size_t i = 0; i < count; i++) {
        struct access_checks checks = { .count = 0 };
        const enum err_code failure =
            access_checks_of_process(options->sampling.pids[i], &checks, &err);
        if (count > 1)
            printf("%sprocess %d\n", i ? "\n" : "", options->sampling.pids[i]);
        print_checks(&checks);
        exit_add(failure, &err, &rc, &first);
    }
    return exit_with(rc, &first);
}
