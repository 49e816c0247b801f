#include "server/command/options/commands.h"

#include <string.h>

#include "server/command/options/options.h"

static const struct command commands[] = {
    { "attach", COMMAND_ATTACH, "PID... | --all",
      "sample running processes and serve their flame graph",
      "Prints one line, the URL of the page, and serves it until Ctrl-C.  When the\n"
      "last process ends, the page stays.\n",
      command_attach },
    { "run", COMMAND_RUN, "TARGET [ARGS]... | -- COMMAND [ARGS]...",
      "start a program and sample it from its first moment",
      "TARGET is a Python file, or with -m a module; COMMAND is any program that runs\n"
      "Python.  Options of pyrometer stand before TARGET.\n\n"
      "Ctrl-C reaches the program too.  If it is still there two seconds later, or if\n"
      "pyrometer is ended in another way, it is sent SIGTERM, and SIGKILL after two\n"
      "more seconds.  The exit status is that of the program if it ended by itself,\n"
      "also where no Python was seen in it (128 and the signal if one ended it); else\n"
      "0, or that of pyrometer where it failed itself.\n",
      command_run },
    { "record", COMMAND_RECORD, "PID... | --all",
      "sample running processes into a file, without a server",
      "Ends with the last process, with --duration, or with Ctrl-C, and then writes\n"
      "what it has.  The end of the file's name may stand for the format: .folded,\n"
      ".html.  Without a format it writes a capture (--binary, .pyro), which grows\n"
      "while sampling goes on and is readable whatever happens; replay makes any\n"
      "format of it.\n",
      command_record },
    { "replay", COMMAND_REPLAY, "FILE", "write a capture in other formats, or show it",
      "FILE is a capture, as record writes it.  With --browser it is shown in the page\n"
      "instead, as serve does.\n",
      command_replay },
    { "serve", COMMAND_SERVE, "[FILE]...",
      "show and profile all Python processes of this host; show captures",
      "Prints one line, the URL of the page, and serves it until Ctrl-C.  Sessions are\n"
      "started and ended in the page, or by its API.  Captures that are named are shown\n"
      "from the start; the URL of a single one opens it.  --max-cpu is for all sessions\n"
      "together.\n",
      command_serve },
    { "merge", COMMAND_MERGE, "FILE[@FROM..TO]... -o FILE", "make one capture of several",
      "Samples keep their time: the first capture's start is that of all.\n"
      "FILE@10..2m is what was from 10 s to before 2 minutes after its start.\n",
      command_merge },
    { "diff", COMMAND_DIFF, "BEFORE NOW", "tell what changed between two captures",
      "Compares shares of samples, or seconds with --by-time, and lists what changed by\n"
      "more than chance: functions in themselves and with what they call, and paths\n"
      "that are new or gone.  The end of the file's name may stand for the form: .json,\n"
      ".html.\n",
      command_diff },
    { "top", COMMAND_TOP, "PID... | --all", "watch running processes in this terminal",
      "Functions by their share of the samples, live, and what the threads are doing;\n"
      "? lists the keys.  All threads are sampled: choose one while looking.  With\n"
      "--binary a capture is written besides.\n",
      command_top },
    { "dump", COMMAND_DUMP, "PID...", "print where all threads of processes are now",
      "Innermost frame first, and what each thread is doing: on_cpu, has_gil, ...\n",
      command_dump },
    { "doctor", COMMAND_DOCTOR, "[PID]...", "check whether a process can be profiled",
      "One line per check: OK, BYPASSED, UNKNOWN or BLOCKED, followed by the fix.\n"
      "Without a PID it checks this host.  The exit status is the one that attach\n"
      "would end with.\n",
      command_doctor },
};

const struct command *command_at(size_t index)
{
    return index < sizeof commands / sizeof *commands ? &commands[index] : NULL;
}

const struct command *command_find(const char *name)
{
    const struct command *command = NULL;
    for (size_t i = 0; (command = command_at(i)); i++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}
