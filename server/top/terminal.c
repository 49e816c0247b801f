#include "server/top/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* ENTER: the alternate screen, no cursor, long lines are cut instead of wrapped.  LEAVE undoes that
 * in reverse order. */
#define ENTER "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J"
#define LEAVE "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"

enum { MESSAGE_BYTES = 4096 };

/* Signals of a crash. */
static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGQUIT };

enum { CRASHES = sizeof crashes / sizeof *crashes };

/* State that the crash handler needs. */
static struct {
    volatile sig_atomic_t is_entered;
    int error_fd;
    struct termios as_it_was;
    struct sigaction before[CRASHES];
} shared = { .error_fd = -1 };

/* The signal then goes to the handler that was there before, or to the kernel. */
static void on_crash(int signal)
{
    if (shared.is_entered) {
        (void)!write(STDOUT_FILENO, LEAVE, sizeof LEAVE - 1);
        tcsetattr(STDIN_FILENO, TCSANOW, &shared.as_it_was);
        if (shared.error_fd >= 0)
            dup2(shared.error_fd, STDERR_FILENO);
        shared.is_entered = 0;
    }
    for (size_t i = 0; i < CRASHES; i++)
        if (crashes[i] == signal)
            sigaction(signal, &shared.before[i], NULL);
    raise(signal);
}

/* The program that started us may ignore a signal on purpose. */
static bool is_ignored(int signal)
{
    struct sigaction action;
    return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

enum err_code terminal_init(struct terminal *terminal, struct err *err)
{
    const char *const no_colour = getenv("NO_COLOR");
    sigset_t set;
    *terminal = (struct terminal){ .signal_fd = -1, .error_fd = -1, .messages_fd = -1 };

    const char *const term = getenv("TERM");
    if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1)
        return err_set(err, ERR_INVALID,
                       "top needs a terminal for input and output: use record --pstats for a "
                       "table, or attach for a page");
    if (!term || strcmp(term, "dumb") == 0)
        return err_set(err, ERR_INVALID,
                       "top needs a terminal with a cursor (TERM is '%.32s'): use record "
                       "--pstats for a table, or attach for a page",
                       term ? term : "");

    terminal->has_colours = !no_colour || !*no_colour;
    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    if (!is_ignored(SIGTSTP))
        sigaddset(&set, SIGTSTP);
    pthread_sigmask(SIG_BLOCK, &set, &terminal->before);
    terminal->is_open = true;
    terminal->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (terminal->signal_fd < 0)
        return err_sys(err, errno, "cannot watch for signals");

    struct sigaction action = { .sa_handler = on_crash };
    for (size_t i = 0; i < CRASHES; i++) {
        sigaction(crashes[i], NULL, &shared.before[i]);
        if (!is_ignored(crashes[i]))
            sigaction(crashes[i], &action, NULL);
    }
    return ERR_OK;
}

void terminal_deinit(struct terminal *terminal)
{
    if (!terminal->is_open)
        return;
    terminal_leave(terminal);
    if (terminal->signal_fd >= 0) {
        close(terminal->signal_fd);
        for (size_t i = 0; i < CRASHES; i++)
            sigaction(crashes[i], &shared.before[i], NULL);
    }
    pthread_sigmask(SIG_SETMASK, &terminal->before, NULL);
    terminal->is_open = false;
}

enum err_code terminal_enter(struct terminal *terminal, struct err *err)
{
    if (terminal->is_entered)
        return ERR_OK;

    if (tcgetattr(STDIN_FILENO, &shared.as_it_was) != 0)
        return err_sys(err, errno, "cannot use the terminal");
    struct termios raw = shared.as_it_was;
    /* Ctrl-C and Ctrl-Z stay signals. */
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
    raw.c_iflag &= ~(tcflag_t)(IXON | ICRNL);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) != 0)
        return err_sys(err, errno, "cannot use the terminal");

    terminal->is_entered = true;
    shared.is_entered = 1;
    if (isatty(STDERR_FILENO) == 1) {
        terminal->messages_fd = memfd_create("messages", MFD_CLOEXEC);
        if (terminal->messages_fd >= 0) {
            terminal->error_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
            dup2(terminal->messages_fd, STDERR_FILENO);
            shared.error_fd = terminal->error_fd;
        }
    }
    terminal_show(terminal, ENTER, sizeof ENTER - 1);
    return ERR_OK;
}

void terminal_leave(struct terminal *terminal)
{
    if (!terminal->is_entered)
        return;
    terminal_show(terminal, LEAVE, sizeof LEAVE - 1);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &shared.as_it_was);
    terminal->is_entered = false;
    shared.is_entered = 0;

    char bytes[MESSAGE_BYTES];
    off_t at = 0;
    ssize_t n = 0;
    if (terminal->error_fd < 0)
        return;
    shared.error_fd = -1;
    dup2(terminal->error_fd, STDERR_FILENO);
    close(terminal->error_fd);
    terminal->error_fd = -1;
    while ((n = pread(terminal->messages_fd, bytes, sizeof bytes, at)) > 0) {
        (void)!write(STDERR_FILENO, bytes, (size_t)n);
        at += n;
    }
    close(terminal->messages_fd);
    terminal->messages_fd = -1;
}

void terminal_take_signals(struct terminal *terminal)
{
    struct signalfd_siginfo info;
    bool stops = false;
    while (read(terminal->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        stops |= info.ssi_signo == SIGTSTP;
    if (!stops)
        return;
    terminal_leave(terminal);
    /* Stops sampling too, which counts this time as a gap. */
    kill(getpid(), SIGSTOP);
    (void)!terminal_enter(terminal, NULL);
}

static unsigned limit_size(unsigned value, unsigned usual, unsigned most)
{
    if (value == 0)
        return usual;
    return value < most ? value : most;
}

void terminal_size(const struct terminal *terminal, unsigned *columns_out, unsigned *rows_out)
{
    struct winsize size = { 0 };
    (void)terminal;
    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    *columns_out = limit_size(size.ws_col, 80, TERMINAL_MAX_COLUMNS);
    *rows_out = limit_size(size.ws_row, 24, TERMINAL_MAX_ROWS);
}

bool terminal_show(const struct terminal *terminal, const char *data, size_t bytes)
{
    (void)terminal;
    while (bytes > 0) {
        const ssize_t n = write(STDOUT_FILENO, data, bytes);
        if (n > 0) {
            data += n;
            bytes -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            struct pollfd room = { .fd = STDOUT_FILENO, .events = POLLOUT };
            if (poll(&room, 1, -1) < 0 && errno != EINTR)
                return false;
        } else if (n == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

void terminal_last_message(const struct terminal *terminal, char *out, size_t bytes)
{
    char tail[MESSAGE_BYTES];
    *out = '\0';
    const off_t end =
        terminal->messages_fd >= 0 ? lseek(terminal->messages_fd, 0, SEEK_END) : 0;
    if (end <= 0)
        return;
    const off_t from = end > (off_t)sizeof tail ? end - (off_t)sizeof tail : 0;
    ssize_t n = pread(terminal->messages_fd, tail, sizeof tail, from);
    while (n > 0 && tail[n - 1] == '\n')
        n--;
    if (n <= 0)
        return;
    const char *const last = memrchr(tail, '\n', (size_t)n);
    const char *const start = last ? last + 1 : tail;
    const size_t length = (size_t)(tail + n - start);
    const size_t copied = length < bytes - 1 ? length : bytes - 1;
    memcpy(out, start, copied);
    out[copied] = '\0';
}
