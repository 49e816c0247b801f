#include "server/sessions/dump.h"

#include <stdio.h>
#include <string.h>

#include "sampler/sampler.h"
#include "server/command/options/commands.h"
#include "server/command/options/options.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"

/* Replaces control characters: names may contain escape sequences. */
static void print_string(const struct profile_snapshot *snapshot, str_id id)
{
    const struct strtab_string string = profile_string(snapshot, id);
    for (uint32_t i = 0; i < string.length; i++) {
        const unsigned char c = (unsigned char)string.text[i];
        putchar(c < 0x20 || c == 0x7f ? '?' : c);
    }
}

static void print_frames(const struct profile_snapshot *snapshot, node_id node)
{
    for (; node != 0; node = profile_node_at(snapshot, node).parent) {
        const struct profile_frame frame =
            profile_frame_at(snapshot, profile_node_at(snapshot, node).frame);
        const struct profile_function function = profile_function_at(snapshot, frame.function);
        fputs("    ", stdout);
        print_string(snapshot, function.name);
        fputs(" (", stdout);
        print_string(snapshot, function.file);
        if (frame.line > 0)
            printf(":%d", (int)frame.line);
        puts(")");
    }
}

static void print_thread(const struct dump *dump, const struct dump_row *row)
{
    const struct profile_thread thread = profile_thread_at(&dump->snapshot, row->thread);
    if (thread.tid)
        printf("  thread %d ", (int)thread.tid);
    else
        fputs("  thread of unknown number ", stdout);
    print_string(&dump->snapshot, thread.name);
#define X(name, bit, text)        \
    if (row->state & (1u << bit)) \
        fputs(" " text, stdout);
    STATE_FLAGS(X)
#undef X
    puts("");
    print_frames(&dump->snapshot, row->node);
}

static void print_name(const struct dump *dump, const struct sampler_task *task)
{
    if (task->name)
        print_string(&dump->snapshot, task->name);
    else if (task->number)
        printf("Task-%llu", (unsigned long long)task->number);
    else
        fputs("without a name", stdout);
}

static void print_task(const struct dump *dump, const struct sampler_task *task)
{
    fputs("  task ", stdout);
    print_name(dump, task);
    printf(" (thread %d) %s", (int)task->tid,
           task->is_running  ? "runs"
           : task->is_moving ? "moves"
                             : "waits");
    for (uint32_t i = 0; i < task->awaiter_count; i++) {
        fputs(i ? ", " : "; awaited by ", stdout);
        print_name(dump, &dump->tasks.items[dump->tasks.awaiters[task->first_awaiter + i]]);
    }
    puts("");
    print_frames(&dump->snapshot, task->node);
}

static void print_tasks(const struct dump *dump)
{
    for (size_t i = 0; i < dump->tasks.count; i++)
        print_task(dump, &dump->tasks.items[i]);
    if (dump->tasks.is_cut)
        puts("  and more tasks");
}

/* A greenlet that is switched out is an object that only its library and the garbage collector know. */
static bool has_greenlets(const struct profile_snapshot *snapshot)
{
    for (function_id id = 1; id < snapshot->sizes.functions; id++) {
        const char *const file =
            profile_string(snapshot, profile_function_at(snapshot, id).file).text;
        if (strstr(file, "/gevent/") || strstr(file, "/eventlet/"))
            return true;
    }
    return false;
}

int command_dump(const struct options *options)
{
    struct err err = { 0 };
    enum err_code rc = privilege_drop(options, &err);
    for (size_t i = 0; i < options->sampling.pid_count && rc == ERR_OK; i++) {
        struct dump dump;
        const pid_t pid = options->sampling.pids[i];
        /* Tasks that wait are listed, not sampled. */
        rc = dump_take(
            &dump, pid, options->sampling.async ? SAMPLER_ASYNC_RUNNING : SAMPLER_ASYNC_OFF,
            options->shows_native ? SAMPLER_NATIVE_FULL : SAMPLER_NATIVE_LEAF, NULL, &err);
        if (rc != ERR_OK)
            break;
        printf("process %d, Python %s\n", (int)pid, sampler_target(dump.sampler)->python);
        for (size_t k = 0; k < dump.count; k++)
            print_thread(&dump, &dump.rows[k]);
        if (options->sampling.async == SAMPLER_ASYNC_ALL || !options->names_async_mode)
            print_tasks(&dump);
        if (has_greenlets(&dump.snapshot))
            puts("  greenlets that are switched out cannot be listed");
        dump_deinit(&dump);
    }
    return exit_with(rc, &err);
}
