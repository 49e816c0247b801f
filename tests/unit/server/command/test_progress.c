#include <pty.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/command/output/progress.h"
#include "server/command/process/exit.h"
#include "tests/support/test.h"

/* Standard error for the length of a test: a terminal, or something else. */
struct screen {
    int own, stderr_fd, seen;
};

static void screen_begin(struct screen *screen, bool is_terminal)
{
    int ends[2];
    if (is_terminal)
        assert_int_equal(openpty(&ends[0], &ends[1], NULL, NULL, NULL), 0);
    else
        assert_int_equal(pipe(ends), 0);
    screen->seen = ends[0];
    screen->own = ends[1];
    fflush(stderr);
    screen->stderr_fd = dup(STDERR_FILENO);
    assert_int_equal(dup2(screen->own, STDERR_FILENO), STDERR_FILENO);
}

/* All that was written, and a mark of ours so that nothing needs no waiting. */
static void screen_end(struct screen *screen, char *text, size_t room)
{
    size_t length = 0;
    fflush(stderr);
    assert_int_equal(write(screen->own, "#", 1), 1);
    do {
        const ssize_t n = read(screen->seen, text + length, room - 1 - length);
        assert_true(n > 0);
        length += (size_t)n;
        text[length] = '\0';
    } while (!strchr(text, '#'));
    *strchr(text, '#') = '\0';
    assert_int_equal(dup2(screen->stderr_fd, STDERR_FILENO), STDERR_FILENO);
    close(screen->stderr_fd);
    close(screen->own);
    close(screen->seen);
}

/* As if time had passed. */
static void show_now(struct progress *progress, uint64_t done, uint64_t bytes)
{
    progress->next_ns = 0;
    progress_show(progress, done, bytes);
}

static void expect(bool is_terminal, void (*what)(struct progress *progress),
                   const char *expected)
{
    struct screen screen;
    struct progress progress;
    char text[512];
    screen_begin(&screen, is_terminal);
    progress_begin(&progress, "reading", "/some/where/a\nb.pyro");
    what(&progress);
    progress_end(&progress);
    progress_end(&progress);
    screen_end(&screen, text, sizeof text);
    assert_string_equal(text, expected);
}

static void a_message_replaces_the_line_that_stands_for_now(void **state)
{
    struct screen screen;
    char text[512];
    (void)state;
    screen_begin(&screen, true);
    say_for_now("recording: %d s", 5);
    say("a process hangs");
    say("not waiting");
    screen_end(&screen, text, sizeof text);
    assert_string_equal(text, "\r\x1b[Krecording: 5 s\r\x1b[Kpyrometer: a process hangs\r\n"
                              "pyrometer: not waiting\r\n");
}

static void show_shares(struct progress *progress)
{
    show_now(progress, 0, 1000);
    show_now(progress, 457, 1000);
    show_now(progress, UINT64_MAX / 2, UINT64_MAX / 2);
}

static void show_bytes(struct progress *progress)
{
    progress->next_ns = 0;
    progress_watch(progress, 7 << 20, 0);
    progress_show(progress, 8 << 20, 0); /* too soon */
}

static void show_at_once(struct progress *progress)
{
    progress_show(progress, 1, 2);
}

static void one_line_is_written_over_and_taken_away(void **state)
{
    (void)state;
    expect(true, show_shares,
           "\r\x1b[Kreading a\\x0ab.pyro: 0 %\r\x1b[Kreading a\\x0ab.pyro: 45 %"
           "\r\x1b[Kreading a\\x0ab.pyro: 100 %\r\x1b[K");
    expect(true, show_bytes, "\r\x1b[Kreading a\\x0ab.pyro: 7 MiB\r\x1b[K");
}

static void short_work_writes_nothing(void **state)
{
    (void)state;
    expect(true, show_at_once, "");
}

static void without_a_terminal_nothing_is_written(void **state)
{
    (void)state;
    expect(false, show_shares, "");
}

TEST_GROUP(cmocka_unit_test(a_message_replaces_the_line_that_stands_for_now),
           cmocka_unit_test(one_line_is_written_over_and_taken_away),
           cmocka_unit_test(short_work_writes_nothing),
           cmocka_unit_test(without_a_terminal_nothing_is_written))
