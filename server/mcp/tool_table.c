/* The table of tools. */
#include "server/mcp/recording_tools.h"
#include "server/mcp/source_tool.h"
#include "server/mcp/tool.h"

#define REQUIRED(as, of, text) \
    .name = (as), .type = (of), .is_required = true, .description = (text)
#define OPTIONAL(as, of, text) .name = (as), .type = (of), .description = (text)
#define SESSION                REQUIRED("session", JSON_TEXT, "the id that profile or open_capture gave it")
#define SELECTION                                                                           \
    { OPTIONAL("from", JSON_NUMBER, "seconds since the start: leave out samples before") }, \
        { OPTIONAL("to", JSON_NUMBER,                                                       \
                   "seconds since the start: leave out samples from there on") },           \
        { OPTIONAL("parts", JSON_TEXT,                                                      \
                   "only these parts of time, of running, needs_gil, needs_processor, "     \
                   "blocked and idle") },                                                   \
        { OPTIONAL("state", JSON_TEXT, "only samples in these states, such as in_gc") },    \
        { OPTIONAL("focus", JSON_TEXT,                                                      \
                   "keep samples with a matching frame: function:TEXT, file:TEXT or "       \
                   "module:TEXT") },                                                        \
        { OPTIONAL("ignore", JSON_TEXT, "drop samples with a matching frame") },            \
        { OPTIONAL("hide", JSON_TEXT,                                                       \
                   "remove matching frames; libraries: all of libraries") },                \
    {                                                                                       \
        OPTIONAL("show", JSON_TEXT, "keep only matching frames")                            \
    }

#define ROW   "[name? file? line? library? share? total_share? function?]"
#define CAUSE "[cause title share peers[peer share]]"

static const char *const forms[] = { "markdown", "json", "text", NULL };
static const char *const natives[] = { "off", "leaf", "full", NULL };
static const char *const asyncs[] = { "off", "running", "all", NULL };
static const char *const locals[] = { "names", "values", NULL };

static const struct tool tools[] = {
    { .name = "list_processes",
      .title = "List Python processes",
      .description =
          "List the Python processes of this host, and whether each can be profiled.",
      .arguments = { { OPTIONAL("search", JSON_TEXT, "only command lines that contain this") },
                     { OPTIONAL("limit", JSON_NUMBER,
                                "maximum number of processes; default 50") } },
      .path = "/api/v1/processes?limit=4096",
      .members = "host total not_known_yet=examining processes[pid command+ python user "
                 "cpu_percent threads can_profile=can_attach reason]",
      .picks = true },
    { .name = "profile",
      .title = "Profile a process",
      .description =
          "Sample a running Python process for some seconds, then answer with a summary: hottest lines "
          "and functions, where it waits, GIL, garbage collection, data quality. The process is not "
          "changed.",
      .changes = true,
      .arguments = { { REQUIRED("pid", JSON_NUMBER, "process ID") },
                     { OPTIONAL("duration_s", JSON_NUMBER,
                                "seconds to record, up to 600; default 10") },
                     { OPTIONAL("rate_hz", JSON_NUMBER, "samples per second; default 1000") },
                     { OPTIONAL("all_threads", JSON_FLAG,
                                "default true; false: the main thread only") },
                     { OPTIONAL("subprocesses", JSON_FLAG, "profile child processes too") },
                     { OPTIONAL("memory", JSON_FLAG,
                                "also count the bytes that become resident, for memory_growth; "
                                "needs the kernel engine") },
                     { OPTIONAL("native", JSON_TEXT, "stacks of native code"),
                       .choices = natives },
                     { OPTIONAL("async", JSON_TEXT, "asyncio tasks that are recorded"),
                       .choices = asyncs } },
      .run = recording_profile },
    { .name = "dump",
      .title = "Say what each thread does now",
      .description =
          "Answer with the stack of each thread of a process at this moment, the lock that it waits for, "
          "who holds that and where, and deadlocks. For a process that hangs. It takes a moment; the "
          "process is not changed.",
      .arguments = { { REQUIRED("pid", JSON_NUMBER, "process ID") },
                     { OPTIONAL("tasks", JSON_FLAG, "asyncio tasks too") },
                     { OPTIONAL("locals", JSON_TEXT,
                                "variables of each frame, if the server was started with "
                                "--allow-locals"),
                       .choices = locals } },
      .path = "/api/v1/processes/{pid}/dump" },
    { .name = "list_sessions",
      .title = "List recordings",
      .description = "List the recordings made or opened so far.",
      .path = "/api/v1/sessions",
      .members =
          "=sessions[session=id state seconds=elapsed_s pid=target.pid command=target.command+]" },
    { .name = "summary",
      .title = "Summarize a recording",
      .description = "Answer with the summary of a recording, or of a part of it.",
      .arguments = { { SESSION },
                     { OPTIONAL("format", JSON_TEXT, "default markdown"), .usual = "markdown",
                       .choices = forms },
                     SELECTION },
      .path = "/api/v1/sessions/{session}/summary" },
    { .name = "top_functions",
      .title = "List the hottest functions and lines",
      .description =
          "List the functions with the most samples of their own, and the hottest lines of your code, "
          "with the ids that source_lines takes.",
      .arguments = { { SESSION },
                     { OPTIONAL("limit", JSON_NUMBER, "maximum number of rows; default 20"),
                       .usual = "20" },
                     SELECTION },
      .path = "/api/v1/sessions/{session}/summary?format=json",
      .members = "samples=hot.samples seconds=hot.seconds functions=hot.functions" ROW
                 " lines_of_your_code=hot.lines" ROW },
    { .name = "memory_growth",
      .title = "List what made a program larger",
      .description =
          "List the functions and the lines of your code where memory became resident, of a recording "
          "made with memory: samples of equal bytes, and the bytes of all.",
      .arguments = { { SESSION },
                     { OPTIONAL("limit", JSON_NUMBER, "maximum number of rows; default 20"),
                       .usual = "20" },
                     { OPTIONAL("from", JSON_NUMBER,
                                "seconds since the start: leave out samples before") },
                     { OPTIONAL("to", JSON_NUMBER,
                                "seconds since the start: leave out samples from there on") } },
      .path = "/api/v1/sessions/{session}/own-lines?measure=page-faults",
      .members = "bytes=measure.value samples functions[name file line function samples "
                 "total_samples] lines_of_your_code=lines[name file line function samples]" },
    { .name = "waits",
      .title = "List what threads wait for",
      .description =
          "List why threads wait and for which peer, and the functions and lines of your code that wait, "
          "as shares of the time that is not idle.",
      .arguments = { { SESSION },
                     { OPTIONAL("limit", JSON_NUMBER,
                                "maximum number of functions and lines; default 20"),
                       .usual = "20" },
                     SELECTION },
      .path = "/api/v1/sessions/{session}/summary?format=json",
      .members = "waiting_share=waiting.share idle_share=idle.share causes=waiting.causes" CAUSE
                 " idle_causes=idle.causes" CAUSE " functions=waiting.functions" ROW
                 " lines_of_your_code=waiting.lines" ROW },
    { .name = "locks",
      .title = "List locks that threads wait for",
      .description =
          "List the locks that threads of a recording waited for while it ran, where they waited and "
          "where the lock was held meanwhile, and deadlocks of now.",
      .arguments = { { SESSION },
                     { OPTIONAL("limit", JSON_NUMBER, "maximum number of locks; default 20"),
                       .usual = "20" } },
      .path = "/api/v1/sessions/{session}/locks" },
    { .name = "source_lines",
      .title = "Show source lines",
      .description =
          "Show the source around a line, with the share of samples of each line. Only files that "
          "functions of the recording name can be read, with the rights of the process.",
      .arguments = { { SESSION },
                     { REQUIRED("function", JSON_NUMBER, "its id in top_functions") },
                     { REQUIRED("line", JSON_NUMBER, "the line in the middle") },
                     { OPTIONAL("context", JSON_NUMBER,
                                "lines before and after; default 12, up to 100") } },
      .run = source_tool_run },
    { .name = "diff",
      .title = "Compare two recordings",
      .description = "List what changed significantly from one recording to another.",
      .arguments = { { REQUIRED("baseline", JSON_TEXT,
                                "the id of the session to compare with") },
                     { SESSION },
                     SELECTION },
      .path = "/api/v1/sessions/{session}/export?format=diff-markdown&baseline={baseline}" },
    { .name = "open_capture",
      .title = "Open a capture file",
      .description =
          "Open a .pyro file that pyrometer record wrote, and answer with its summary.",
      .changes = true,
      .arguments = { { REQUIRED("path", JSON_TEXT, "the path of the file") } },
      .run = recording_open },
    { .name = "end_session",
      .title = "End a recording",
      .description = "End a recording before its duration is over.",
      .changes = true,
      .arguments = { { SESSION } },
      .method = METHOD_PATCH,
      .path = "/api/v1/sessions/{session}",
      .body = "{\"state\":\"ended\"}",
      .says = "It ends now. A call that waits for it is answered with its summary." },
};

const struct tool *tool_at(size_t index)
{
    return index < sizeof tools / sizeof *tools ? &tools[index] : NULL;
}
