#include "server/command/exit.h"

#include <stdio.h>

enum exit_status exit_status_of(enum err_code code)
{
    switch (code) {
    case ERR_OK: return EXIT_DONE;
    case ERR_INVALID: return EXIT_USAGE;
    case ERR_PERM: return EXIT_NOT_PERMITTED;
    case ERR_GONE:
    case ERR_NOT_PYTHON: return EXIT_NO_TARGET;
    case ERR_NOMEM:
    case ERR_SYS:
    case ERR_FAULT:
    case ERR_CORRUPT:
    case ERR_UNSUPPORTED:
    case ERR_LIMIT:
    case ERR_NOT_FOUND: return EXIT_FAILED;
    }
    return EXIT_FAILED;
}

static void put(const char *before, const char *format, va_list args, const char *after)
    PRINTF_LIKE(2, 0);

/* Names of files and processes may hold anything, and a terminal obeys much of it. */
static void put(const char *before, const char *format, va_list args, const char *after)
{
    char line[1024];
    vsnprintf(line, sizeof line, format, args);
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    fprintf(stderr, "%s%s%s", before, line, after);
}

void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put("pyrometer: ", format, args, "\n");
    va_end(args);
}

void say_for_now(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put("\r\x1b[K", format, args, "");
    va_end(args);
    fflush(stderr);
}

int exit_with(enum err_code code, const struct err *err)
{
    if (code != ERR_OK)
        say("%s", err->message);
    return (int)exit_status_of(code);
}
