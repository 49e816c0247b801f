#include "server/command/options/commands.h"

#include <string.h>

#include "server/command/options/options.h"

static const struct command commands[] = {
    { "attach", COMMAND_ATTACH, "PID... | --all",
      "profile running processes and serve their flame graph",
      "Prints the URL of the page and serves the page until Ctrl-C, also after the last\n"
      "process has ended.  Filters apply to the page when it opens.\n",
      " 4711                  # prints the URL of the page\n"
      " 4711 -s --browser     # child processes too, in a browser\n"
      " --all -r 100          # every Python process of this host\n",
      " pid all subprocesses sampling-rate duration native context max-cpu listen browser binary hide-args " },
    { "run", COMMAND_RUN, "TARGET [ARGS]... | -- COMMAND [ARGS]...",
      "start a program and profile it from its start",
      "TARGET is a Python file, or with -m a module.  COMMAND is any program that runs\n"
      "Python.  Options of pyrometer precede TARGET.\n\n"
      "Ctrl-C reaches the program too.  A program that is still running two seconds\n"
      "later gets SIGTERM, and after two more seconds SIGKILL.  The exit status is that\n"
      "of the program if it ended by itself (128 plus the signal if a signal ended it);\n"
      "otherwise it is that of pyrometer.\n\n"
      "With -o or a format there is no page: the program is recorded to its end, as\n"
      "record -- COMMAND does.  Standard output is the program's own.\n",
      " script.py             # prints the URL of the page\n"
      " -o out.html -- CMD    # no page: a report when CMD has ended\n"
      " -s -- gunicorn app:app\n",
      " module python subprocesses sampling-rate duration native output format listen browser " },
    { "record", COMMAND_RECORD, "PID... | --all | -- COMMAND [ARGS]...",
      "profile processes, or a program, into a file",
      "Records until the last process ends, --duration is reached, or Ctrl-C, and then\n"
      "writes the output.  Without a format option, the extension of the file selects\n"
      "the format: .html or .folded, for example.  With neither, record writes a\n"
      "capture (.pyro), which is readable at any time, even after a crash; replay\n"
      "converts it to every other format.  A capture has every sample; it keeps the\n"
      "filters for replay and for the page.\n\n"
      "COMMAND is started and recorded to its end; its exit status is that of record.\n"
      "If that is 0 and there is no file, because nothing was sampled or it could not\n"
      "be written, the status says so.  Ctrl-C ends COMMAND first, as with run, and the\n"
      "file is written.\n",
      " 4711 -d 30 -o profile.html\n"
      " -o profile.svg -- python3 script.py\n"
      " 4711 --summary --pprof=cpu.pb.gz\n",
      " pid all subprocesses sampling-rate duration native gil idle output format no-source " },
    { "replay", COMMAND_REPLAY, "FILE", "convert a capture to other formats, or show it",
      "FILE is a capture.  Without a format, replay prints the summary.  With --browser\n"
      "the page shows it, as with serve.  The filters of its recording apply.  A filter\n"
      "option replaces those of its kind; an empty one, such as --hide '', leaves them\n"
      "out.\n",
      " night.pyro                        # the summary\n"
      " night.pyro -o night.html --from 10m\n"
      " night.pyro --pstats --focus function:main\n",
      " output format from to thread process focus ignore hide idle browser " },
    { "serve", COMMAND_SERVE, "[FILE]...",
      "serve a page that profiles all Python processes of this host",
      "Prints the URL of the page and serves the page until Ctrl-C.  The page and the\n"
      "API start and stop sessions.  The page also lists the captures given as FILE; if\n"
      "there is only one, the URL opens it.  --max-cpu limits all sessions together.\n"
      "Sessions are recorded into ~/.local/state/pyrometer, those of root's server into\n"
      "/var/lib/pyrometer.\n",
      "                         # every Python process of this host\n"
      " night.pyro              # or: pyrometer night.pyro\n"
      " --listen 0.0.0.0:7997 --shares shares.json\n",
      " listen browser data keep-days continuous max-cpu allow-user user audit " },
    { "merge", COMMAND_MERGE, "FILE[@FROM..TO]... -o FILE", "join captures, or cut one",
      "The result starts when the earliest part started, and samples keep the time of\n"
      "day at which they were taken.  FILE@10..2m is the part from 10 seconds to\n"
      "2 minutes after the start of FILE; one such part makes a shorter capture.  The\n"
      "filters of the recordings are kept if all have the same.\n",
      " mon.pyro tue.pyro -o both.pyro\n"
      " mon.pyro tue.pyro@10m..1h -o week.pyro\n"
      " night.pyro@10..2m -o part.pyro\n",
      " output memory " },
    { "diff", COMMAND_DIFF, "BASELINE CAPTURE | BASELINE... -- CAPTURE...", "compare captures",
      "Compares shares of samples, or with --by-time seconds per second, and lists the\n"
      "significant changes: functions by self and by total, and paths that are new or\n"
      "gone.  Several captures of a side are repeats: what differs between them is\n"
      "chance.  Without a format option, the extension of the file selects the format:\n"
      ".json, .md or .html.  The filters of the recordings apply if all have the same.\n"
      "Samples that wait for a processor are left out unless --state is given: they\n"
      "depend on the machine.\n\n"
      "With --before WHEN, all captures, such as those of continuous sampling, are\n"
      "compared before and after an instant: a UTC time (2026-11-26T05:00Z), the first\n"
      "start of a version of the service, or \"last\", its last start.\n\n"
      "A CONDITION of --fail-if is self>PERCENT% or total>PERCENT%: some function has\n"
      "significantly more, by over PERCENT points.  self(PATTERN)>PERCENT% is about\n"
      "matching functions only.  The exit status is 5 if a condition holds, and the\n"
      "format is Markdown unless another one is given.\n",
      " monday.pyro tuesday.pyro\n"
      " base.pyro pull.pyro --fail-if 'self>5%'\n"
      " a1.pyro a2.pyro -- b1.pyro b2.pyro -o diff.html\n",
      " output json html markdown fail-if by-time limit process before " },
    { "top", COMMAND_TOP, "PID... | --all", "watch running processes in this terminal",
      "Shows functions by their share of the samples, and what the threads are doing.\n"
      "Press ? for the keys.  It samples all threads; choose one with the keys.  With\n"
      "--binary it also writes a capture.\n",
      " 4711\n"
      " 4711 -s               # child processes too\n"
      " --all -r 100\n",
      " pid all subprocesses sampling-rate native gil idle binary " },
    { "dump", COMMAND_DUMP, "PID... | CORE... | --all | --command PATTERN",
      "print the current stack of every thread",
      "Prints the main thread first, and of each thread what it does (running, needs\n"
      "the GIL, needs a processor, blocked or idle, and why) and its frames, innermost\n"
      "first.  Of a thread that waits for a lock, a queue or another object it names\n"
      "that, and the thread that holds it.  Recursive locks know their owner, others\n"
      "are held by who is in a `with` block; a bare acquire() leaves no trace.\n"
      "Threads that wait for each other for ever are a deadlock, which comes first;\n"
      "with --fail-if deadlock the exit status is 5 then.  Of the greenlets of a thread\n"
      "it prints the one that runs or waits in the hub: those that are switched out\n"
      "cannot be listed.\n\n"
      "Of several processes, equal stacks are printed once, with the processes that\n"
      "have them (by RANK or LOCAL_RANK of their environment, if they have one), those\n"
      "that few have first.  --each prints every stack, process by process.\n\n"
      "With --repeat, a thread is stuck that is blocked or running, has the same frames\n"
      "at the same instructions in each reading, and began no other wait; others move.\n\n"
      "--locals prints the arguments and variables of each frame, with the values of\n"
      "built-in types; other objects are their type and address, as none of their code\n"
      "is run.  A thread that runs is stopped once, for at most 10 ms.  Of equal stacks\n"
      "the variables of the first are printed.\n\n"
      "A CORE is the core file of a process that ended, or that gcore wrote; one that\n"
      "systemd-coredump compressed (.zst) is unpacked to TMPDIR.  The dump begins with\n"
      "the signal.  Code is read from the program and its libraries where they are the\n"
      "same files still; --executable names another place of the program.\n",
      " 4711\n"
      " --command '*gunicorn*' --repeat 3\n"
      " core.4711 --fail-if deadlock\n",
      " pid all command subprocesses locals each idle repeat kernel fail-if executable json native async-aware " },
    { "watch", COMMAND_WATCH, "PID... -o DIR",
      "wait until a program gets stuck, and dump it then",
      "Samples the processes and their children at a low rate for as long as they run.\n"
      "When an event begins, watch writes to DIR what dump prints of all processes, and\n"
      "a capture of the 30 seconds before it.  Both files have time, event and process\n"
      "in their names.  The command of --exec has them in its environment, as\n"
      "PYROMETER_DUMP and PYROMETER_CAPTURE, beside PYROMETER_EVENT and PYROMETER_PID.\n"
      "An event that goes on is not a new one; it is one when it begins again ten\n"
      "seconds after it was over.  Without an option of an event, watch waits for\n"
      "--stalled 60 and --deadlock.  A program that waits for work runs no code of\n"
      "yours either, so choose a longer time for one that does.  Samples and names of\n"
      "code have 64 MiB of memory (--memory); it begins again when names fill it.\n",
      " 4711 -o incidents/\n"
      " 4711 -o incidents/ --stalled 60 --rss 8g\n"
      " 4711 -o incidents/ --exec './tell $PYROMETER_DUMP'\n",
      " pid all output stalled deadlock loop-blocked rss exec max-events memory " },
    { "doctor", COMMAND_DOCTOR, "[PID]...", "check whether a process can be profiled",
      "Prints one line per check: OK, BYPASSED, UNKNOWN or BLOCKED, followed by the\n"
      "fix.  Without a PID it checks this host.  The exit status is the one that attach\n"
      "would return.\n",
      "                       # this host\n"
      " 4711\n"
      " -p 4711 -p 4712\n",
      " pid " },
    { "mcp", COMMAND_MCP, "", "let an assistant profile (Model Context Protocol)",
      "A client starts it and talks to it over standard input and output: it lists\n"
      "processes, profiles one, reads summaries and source lines, and compares\n"
      "recordings.  It opens no port and ends when its client does.\n",
      "\n"
      " --no-source\n"
      " --allow-user $USER\n",
      " context engine max-rate max-sessions max-cpu allow-user allow-command allow-locals no-source audit " },
    { "push", COMMAND_PUSH, "FILE URL...", "send a capture to a server that keeps profiles",
      "URL is pyroscope://HOST[:PORT], otlp://HOST[:PORT] or parca://HOST[:PORT]; with\n"
      "TLS it is pyroscope+https://HOST.  Each profile is of 15 seconds (--push-batch)\n"
      "and has the time at which it was recorded: a server may refuse what is too old.\n"
      "The exit status is 1 unless all of it was accepted.\n",
      " night.pyro pyroscope://pyroscope:4040\n"
      " night.pyro otlp://collector:4318 --label env=prod\n"
      " night.pyro parca+https://parca --push-headers token.txt\n",
      " label sample-labels push-batch push-headers push-ca anonymize " },
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
