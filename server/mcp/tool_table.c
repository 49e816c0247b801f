/* The table of tools: their names, descriptions and arguments. */
#include "server/mcp/tool.h"

#define SELECTION                                                                               \
    { "from", JSON_NUMBER, false, "seconds since the start: leave out samples before", NULL },  \
        { "to", JSON_NUMBER, false,                                                             \
          "seconds since the start: leave out samples from there on", NULL },                   \
        { "parts", JSON_TEXT, false,                                                            \
          "only these parts of time, of running, needs_gil, needs_processor, blocked and idle", \
          NULL },                                                                               \
        { "state", JSON_TEXT, false, "only samples in these states, such as in_gc", NULL },     \
        { "focus", JSON_TEXT, false,                                                            \
          "keep samples with a matching frame: function:TEXT, file:TEXT or module:TEXT",        \
          NULL },                                                                               \
        { "ignore", JSON_TEXT, false, "drop samples with a matching frame", NULL },             \
        { "hide", JSON_TEXT, false, "remove matching frames; libraries: all of libraries",      \
          NULL },                                                                               \
    {                                                                                           \
        "show", JSON_TEXT, false, "keep only matching frames", NULL                             \
    }

#define SESSION                                                                         \
    {                                                                                   \
        "session", JSON_TEXT, true, "the id that profile or open_capture gave it", NULL \
    }

static const char *const forms[] = { "markdown", "json", "text", NULL };
static const char *const natives[] = { "off", "leaf", "full", NULL };
static const char *const asyncs[] = { "off", "running", "all", NULL };

static const struct mcp_tool tools[] = {
    { "list_processes",
      "List Python processes",
      "List the Python processes of this host, and whether each can be profiled.",
      false,
      tool_list_processes,
      { { "search", JSON_TEXT, false, "only command lines that contain this", NULL },
        { "limit", JSON_NUMBER, false, "maximum number of processes; default 50", NULL } } },
    { "profile",
      "Profile a process",
      "Sample a running Python process for some seconds, then answer with a summary: hottest lines "
      "and functions, where it waits, GIL, garbage collection, data quality. The process is not "
      "changed.",
      true,
      tool_profile,
      { { "pid", JSON_NUMBER, true, "process ID", NULL },
        { "duration_s", JSON_NUMBER, false, "seconds to record, up to 600; default 10", NULL },
        { "rate_hz", JSON_NUMBER, false, "samples per second; default 1000", NULL },
        { "all_threads", JSON_FLAG, false, "default true; false: the main thread only", NULL },
        { "subprocesses", JSON_FLAG, false, "profile child processes too", NULL },
        { "native", JSON_TEXT, false, "stacks of native code", natives },
        { "async", JSON_TEXT, false, "asyncio tasks that are recorded", asyncs } } },
    { "list_sessions",
      "List recordings",
      "List the recordings made or opened so far.",
      false,
      tool_list_sessions,
      { { 0 } } },
    { "summary",
      "Summarize a recording",
      "Answer with the summary of a recording, or of a part of it.",
      false,
      tool_summary,
      { SESSION, { "format", JSON_TEXT, false, "default markdown", forms }, SELECTION } },
    { "top_functions",
      "List the hottest functions and lines",
      "List the functions with the most samples of their own, and the hottest lines of your code, "
      "with the ids that source_lines takes.",
      false,
      tool_top_functions,
      { SESSION,
        { "limit", JSON_NUMBER, false, "maximum number of rows; default 20", NULL },
        SELECTION } },
    { "waits",
      "List what threads wait for",
      "List why threads wait and for which peer, and the functions and lines of your code that wait, "
      "as shares of the time that is not idle.",
      false,
      tool_waits,
      { SESSION,
        { "limit", JSON_NUMBER, false, "maximum number of functions and lines; default 20",
          NULL },
        SELECTION } },
    { "source_lines",
      "Show source lines",
      "Show the source around a line, with the share of samples of each line. Only files that "
      "functions of the recording name can be read, with the rights of the process.",
      false,
      tool_source_lines,
      { SESSION,
        { "function", JSON_NUMBER, true, "its id in top_functions", NULL },
        { "line", JSON_NUMBER, true, "the line in the middle", NULL },
        { "context", JSON_NUMBER, false, "lines before and after; default 12, up to 100",
          NULL } } },
    { "diff",
      "Compare two recordings",
      "List what changed significantly from one recording to another.",
      false,
      tool_diff,
      { { "baseline", JSON_TEXT, true, "the id of the session to compare with", NULL },
        SESSION,
        SELECTION } },
    { "open_capture",
      "Open a capture file",
      "Open a .pyro file that pyrometer record wrote, and answer with its summary.",
      true,
      tool_open_capture,
      { { "path", JSON_TEXT, true, "the path of the file", NULL } } },
    { "end_session",
      "End a recording",
      "End a recording before its duration is over.",
      true,
      tool_end_session,
      { SESSION } },
};

const struct mcp_tool *mcp_tool_at(size_t index)
{
    return index < sizeof tools / sizeof *tools ? &tools[index] : NULL;
}
