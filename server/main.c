#include <stdio.h>

#include "sampler/base/memory_group.h"
#include "sampler/base/memory_limit.h"
#include "sampler/debug_lines.h"
#include "sampler/session.h"
#include "server/command/execute.h"
#include "server/command/options/completion.h"
#include "server/command/options/help.h"
#include "server/command/options/man_page.h"
#include "server/command/options/options.h"
#include "server/command/options/options_parse.h"
#include "server/command/process/exit.h"
#include "server/command/process/limits.h"
#include "server/command/process/standard.h"
#include "server/push/http_client.h"
#include "server/sessions/leave.h"

int main(int argc, char **argv)
{
    struct options options;
    struct err err = { 0 };
    (void)argc;
    standard_fill();
    const enum err_code rc = options_parse(argv, &options, &err);
    if (rc)
        return exit_with(rc, &err);
    if (options.wants_help) {
        static void (*const print[])(FILE * out, const struct command *command) = {
            help_print, help_print_all, man_page_print
        };
        print[options.help_form](stdout, options.command);
        return exit_with(ERR_OK, NULL);
    }
    if (options.wants_version) {
        puts("pyrometer " PYROMETER_VERSION);
        if (!session_has_kernel_engine())
            puts("built without libbpf: stacks are read from outside");
        if (!debug_lines_are_supported())
            puts("built without libdw: native functions have no source lines");
        if (!http_client_is_built())
            puts("built without libcurl: profiles cannot be pushed");
        return exit_with(ERR_OK, NULL);
    }
    if (options.wants_completion) {
        completion_print(stdout, options.completion);
        return exit_with(ERR_OK, NULL);
    }
    memory_limit_find(MEMORY_GROUP_FOLDER, MEMORY_LIMIT_OWN);
    if (!options.has_memory)
        options.sampling.memory_bytes = memory_limit_scale(options.sampling.memory_bytes);
    limits_raise();
    leave(execute(&options));
}
