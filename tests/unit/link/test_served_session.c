#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/link/link.h"
#include "sampler/link/request.h"
#include "sampler/link/served_session.h"
#include "sampler/session.h"
#include "tests/support/fake_session.h"
#include "tests/support/test.h"

enum { WAIT_MS = 20000 };

static const struct sampling_process settings = { .max_rate_hz = 1000,
                                                  .max_running = 8,
                                                  .max_cpu_percent = 3 };

struct one {
    int pipe_fd;
    struct served_session *served;
};

static struct one start(double max_cpu_percent)
{
    const struct link_request request = { .kind = LINK_START,
                                          .options = { .pids = { FAKE_PID_LIVE },
                                                       .pid_count = 1,
                                                       .rate_hz = 100,
                                                       .max_cpu_percent = max_cpu_percent } };
    const struct link_patience patience = { .cancel_fd = -1 };
    struct buffer answer = { 0 };
    struct link_started started;
    struct err err = { 0 };
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    served_session_start(&settings, &request, ends[1]);
    assert_ok(link_receive_answer(ends[0], &patience, &answer, &err), &err);
    assert_ok(link_take(&answer, &started, sizeof started, &err), &err);
    buffer_deinit(&answer);
    const struct one one = { ends[0], served_session_find(started.session) };
    assert_non_null(one.served);
    return one;
}

static void end(struct one *one)
{
    close(one->pipe_fd);
    served_session_release(one->served);
}

static double percent_of(const struct one *one)
{
    return fake_session_max_cpu(served_session_sampler(one->served));
}

static void assert_percent(const struct one *one, double percent)
{
    for (int ms = 0; ms < WAIT_MS; ms += 10) {
        if (percent_of(one) > percent - 1e-9 && percent_of(one) < percent + 1e-9)
            return;
        usleep(10000);
    }
    fail_msg("the session has %g %%, not %g %%", percent_of(one), percent);
}

/* However many there are, and whatever each asks for. */
static void sessions_share_what_is_permitted_of_a_processor(void **state)
{
    struct one sessions[4];
    (void)state;
    sessions[0] = start(0);
    assert_percent(&sessions[0], 3);
    sessions[1] = start(50);
    assert_percent(&sessions[1], 3);
    sessions[2] = start(1);
    assert_percent(&sessions[2], 6.0 / 7);
    sessions[3] = start(0);
    for (size_t i = 0; i < 4; i++)
        assert_percent(&sessions[i], i == 2 ? 0.6 : 1.8);
    served_session_set_cpu(sessions[3].served, 1e300);
    assert_percent(&sessions[3], 1.8);
    served_session_set_cpu(sessions[3].served, 2);
    for (size_t i = 0; i < 4; i++)
        assert_percent(&sessions[i], (i == 2 ? 1.0 : i == 3 ? 2.0 : 3.0) * 6 / 9);
    end(&sessions[3]);
    end(&sessions[2]);
    for (size_t i = 0; i < 2; i++)
        assert_percent(&sessions[i], 3);
    end(&sessions[1]);
    end(&sessions[0]);
}

static int begin(void **state)
{
    (void)state;
    return served_session_open(NULL) == ERR_OK ? 0 : -1;
}

TEST_GROUP_WITHIN(begin, NULL,
                  cmocka_unit_test(sessions_share_what_is_permitted_of_a_processor))
