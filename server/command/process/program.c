#include "server/command/process/program.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "server/command/process/process_launcher.h"
#include "server/command/process/signals.h"

static bool ask_launcher(const struct program *program, enum launch_kind kind, int value)
{
    const struct launch_message message = { kind, value };
    return send(program->socket, &message, sizeof message, MSG_NOSIGNAL) ==
           (ssize_t)sizeof message;
}

/* flags: of recv.  A launcher that has ended says nothing more. */
static bool take_message(struct program *program, int flags, struct launch_message *out)
{
    ssize_t bytes = 0;
    do
        bytes = recv(program->socket, out, sizeof *out, flags);
    while (bytes < 0 && errno == EINTR);
    if (bytes == 0) {
        close(program->socket);
        program->socket = -1;
    }
    return bytes == (ssize_t)sizeof *out;
}

enum err_code program_start(struct program *program, const char *name, struct err *err)
{
    struct launch_message message;
    if (!ask_launcher(program, LAUNCH_START, 0) || !take_message(program, 0, &message))
        return err_set(err, ERR_SYS, "the process that starts '%s' has ended", name);
    if (message.kind != LAUNCH_STARTED)
        return err_sys(err, message.value, "cannot run '%s'", name);
    program->pid = message.value;
    return ERR_OK;
}

bool program_check(struct program *program)
{
    struct launch_message message;
    if (program->pid && !program->has_ended && take_message(program, MSG_DONTWAIT, &message) &&
        message.kind == LAUNCH_ENDED) {
        program->has_ended = true;
        program->wait_status = message.value;
    }
    return program->has_ended;
}

/* false: the program still runs after PROGRAM_GRACE_MS, or the user has sent another signal. */
static bool wait_for_end(struct program *program, struct signals *signals)
{
    const uint64_t end_ns = clock_now_ns() + PROGRAM_GRACE_MS * NS_PER_MS;
    while (!program_check(program)) {
        const uint64_t now_ns = clock_now_ns();
        if (now_ns >= end_ns)
            return false;
        const int left_ms = (int)((end_ns - now_ns) / NS_PER_MS) + 1;
        if (signals_wait(signals, program->socket, left_ms) == SIGNALS_STOP)
            return false;
    }
    return true;
}

static void end_program(struct program *program, struct signals *signals)
{
    struct launch_message message;
    if (program->pid == 0 || program_check(program))
        return;
    if (signals->by_terminal && wait_for_end(program, signals))
        return;
    if (!ask_launcher(program, LAUNCH_SIGNAL, SIGTERM) || wait_for_end(program, signals))
        return;
    if (ask_launcher(program, LAUNCH_SIGNAL, SIGKILL) && take_message(program, 0, &message) &&
        message.kind == LAUNCH_ENDED)
        program->wait_status = message.value;
    program->has_ended = true;
}

void program_end(struct program *program, struct signals *signals)
{
    end_program(program, signals);
    if (program->socket >= 0)
        close(program->socket);
    program->socket = -1;
}

int program_exit_status(const struct program *program)
{
    if (WIFSIGNALED(program->wait_status))
        return 128 + WTERMSIG(program->wait_status);
    return WEXITSTATUS(program->wait_status);
}
