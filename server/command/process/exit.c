#include "server/command/process/exit.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "sampler/base/plain_text.h"

enum { MAX_LINE = 2048 };

/* The last line of say_for_now stands on the terminal. */
static atomic_bool has_line_for_now;
static const char line_start[] = "\r\x1b[K";

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

static bool print_line(const char *before, const char *format, va_list args, const char *after)
    PRINTF_LIKE(2, 0);

/* false: the text is empty. */
static bool print_line(const char *before, const char *format, va_list args, const char *after)
{
    char line[MAX_LINE], plain[4 * MAX_LINE];
    vsnprintf(line, sizeof line, format, args);
    plain_text_copy(plain, sizeof plain, line);
    fprintf(stderr, "%s%s%s", before, plain, after);
    return *plain;
}

void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (atomic_exchange(&has_line_for_now, false))
        fputs(line_start, stderr);
    (void)print_line("pyrometer: ", format, args, "\n");
    va_end(args);
}

void say_for_now(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    atomic_store(&has_line_for_now, print_line(line_start, format, args, ""));
    va_end(args);
    fflush(stderr);
}

/* True if the reader has closed the pipe, as `head` does. */
static bool has_no_reader(int sys)
{
    struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
    return sys == EPIPE || (poll(&out, 1, 0) == 1 && (out.revents & POLLERR));
}

enum err_code exit_flush(struct err *err)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return ERR_OK;
    int sys = errno;
    if (has_no_reader(sys))
        return ERR_OK;
    if (sys == 0) {
        /* Why an earlier write failed: another one shows it.  The output is not whole, so a line
         * more does no harm. */
        errno = 0;
        sys = write(STDOUT_FILENO, "\n", 1) < 0 ? errno : 0;
    }
    if (sys == 0)
        return err_set(err, ERR_SYS, "cannot write to standard output");
    err_sys(err, sys, "cannot write to standard output");
    return ERR_SYS;
}

void exit_add(enum err_code failure, const struct err *err, enum err_code *code,
              struct err *first)
{
    if (failure && *code) {
        say("%s", err->message);
    } else if (failure) {
        *code = failure;
        *first = *err;
    }
}

int exit_with(enum err_code code, const struct err *err)
{
    struct err output = { 0 };
    const enum err_code flushed = exit_flush(&output);
    if (code)
        say("%s", err->message);
    else if (flushed)
        say("%s", output.message);
    return (int)exit_status_of(code ? code : flushed);
}
