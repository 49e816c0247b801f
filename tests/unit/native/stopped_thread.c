#define _GNU_SOURCE
#include "tests/unit/native/stopped_thread.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/native/machine/machine.h"
#include "sampler/process/maps.h"
#include "tests/support/test.h"

bool stopped_thread_start(struct stopped_thread *thread, char *const argv[])
{
    int output[2];
    char text[32] = "";
    memset(thread, 0, sizeof *thread);
    thread->bytes = malloc((size_t)2 * STOPPED_MAX_BYTES);
    assert_non_null(thread->bytes);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    thread->pid = fork();
    assert_true(thread->pid >= 0);
    if (thread->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(output[1], STDOUT_FILENO);
        execv(argv[0], argv);
        _exit(127);
    }
    close(output[1]);
    thread->output_fd = output[0];
    for (size_t i = 0; i + 1 < sizeof text && !strchr(text, '\n'); i++)
        assert_int_equal(read(thread->output_fd, text + i, 1), 1);
    thread->tid = atoi(text);
    assert_true(thread->tid > 0);
    process_memory_init(&thread->memory, thread->pid);
    return ptrace(PTRACE_SEIZE, thread->tid, NULL, NULL) == 0;
}

void stopped_thread_end(struct stopped_thread *thread)
{
    kill(thread->pid, SIGKILL);
    if (thread->tid != thread->pid)
        waitpid(thread->tid, NULL, __WALL);
    assert_int_equal(waitpid(thread->pid, NULL, 0), thread->pid);
    close(thread->output_fd);
    free(thread->bytes);
}

static struct native_span copy(struct stopped_thread *thread, unsigned char *to,
                               remote_addr start, remote_addr end)
{
    const size_t bytes = end - start < STOPPED_MAX_BYTES ? end - start : STOPPED_MAX_BYTES;
    assert_int_equal(memory_read(&thread->memory.memory, start, to, bytes), ERR_OK);
    return (struct native_span){ start, to, bytes };
}

/* Copies the memory that sp lies in, and the end of the thread's stack if that is elsewhere: then
 * a signal handler runs on a stack of its own. */
static void copy_stack(struct stopped_thread *thread, remote_addr thread_pointer)
{
    const remote_addr sp = thread->registers.sp;
    struct maps maps;
    struct err err = { 0 };
    assert_ok(maps_read(&maps, thread->pid, &err), &err);
    const struct mapping *const here = maps_find(&maps, sp), *usual = NULL;
    assert_non_null(here);
    for (size_t i = 0; i < maps.count; i++)
        if (strcmp(maps.items[i].path, "[stack]") == 0)
            usual = &maps.items[i];
    if (thread->tid != thread->pid)
        usual = maps_find(&maps, thread_pointer);
    assert_non_null(usual);
    thread->stack = (struct native_stack){
        .spans = { copy(thread, thread->bytes, sp - MACHINE_RED_ZONE_BYTES, here->end) },
        .span_count = 1,
        .base = thread->tid == thread->pid ? usual->end : thread_pointer,
    };
    if (here != usual) {
        const remote_addr start = usual->end - usual->start < STOPPED_MAX_BYTES
                                      ? usual->start
                                      : usual->end - STOPPED_MAX_BYTES;
        const size_t at = usual > here;
        thread->stack.spans[!at] = thread->stack.spans[0];
        thread->stack.spans[at] =
            copy(thread, thread->bytes + STOPPED_MAX_BYTES, start, usual->end);
        thread->stack.span_count = 2;
    }
    maps_deinit(&maps);
}

void stopped_thread_stop(struct stopped_thread *thread, unsigned after_us)
{
    remote_addr thread_pointer;
    int status = 0;
    usleep(after_us);
    assert_int_equal(ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL), 0);
    for (;;) {
        assert_int_equal(waitpid(thread->tid, &status, __WALL), thread->tid);
        assert_true(WIFSTOPPED(status));
        if (status >> 16 == PTRACE_EVENT_STOP)
            break;
        /* A signal of the program itself came first. */
        assert_int_equal(
            ptrace(PTRACE_CONT, thread->tid, NULL, (void *)(uintptr_t)WSTOPSIG(status)), 0);
    }
    assert_int_equal(machine_read_registers(thread->tid, &thread->registers, &thread_pointer),
                     ERR_OK);
    copy_stack(thread, thread_pointer);
}

void stopped_thread_resume(const struct stopped_thread *thread)
{
    assert_int_equal(ptrace(PTRACE_CONT, thread->tid, NULL, NULL), 0);
}
