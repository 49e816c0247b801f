#include <stdio.h>
#include <string.h>

#include "sampler/access_checks.h"
#include "sampler/sampler.h"
#include "server/command/options/commands.h"
#include "server/command/options/options.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"

enum { STATE_COLUMNS = 8, NAME_COLUMNS = 12 };

/* Names of processes and files may hold anything, and a terminal obeys much of it. */
static void print_text(const char *text)
{
    for (const char *c = text; *c; c++)
        putchar((unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c);
    putchar('\n');
}

static void print_gates(const struct gates *gates)
{
    for (size_t i = 0; i < gates->count; i++) {
        const struct gate *const gate = &gates->items[i];
        printf("%-*s%-*s", STATE_COLUMNS, gate_state_text(gate->state), NAME_COLUMNS,
               gate->name);
        print_text(gate->found);
        if (!*gate->remedy)
            continue;
        printf("%-*s", STATE_COLUMNS + NAME_COLUMNS, "");
        print_text(gate->remedy);
    }
}

int command_doctor(const struct options *options)
{
    struct err err = { 0 }, first = { 0 };
    enum err_code rc = privilege_drop(options, &first);
    const size_t count = rc == ERR_OK ? options->sampling.pid_count : 0;
    if (rc == ERR_OK && count == 0) {
        struct gates gates = { .count = 0 };
        rc = gates_of_host(&gates, &first);
        print_gates(&gates);
    }
    for (size_t i = 0; i < count; i++) {
        struct gates gates = { .count = 0 };
        const enum err_code failure = gates_of_process(options->sampling.pids[i], &gates, &err);
        if (count > 1)
            printf("%sprocess %d\n", i ? "\n" : "", options->sampling.pids[i]);
        print_gates(&gates);
        if (failure && !rc) {
            rc = failure;
            first = err;
        }
    }
    return exit_with(rc, &first);
}
