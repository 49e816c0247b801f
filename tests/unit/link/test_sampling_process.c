#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/channel.h"
#include "sampler/base/clock.h"
#include "sampler/base/pulse.h"
#include "sampler/link/link.h"
#include "sampler/link/remote_session.h"
#include "sampler/link/request.h"
#include "sampler/permission.h"
#include "sampler/processes.h"
#include "sampler/sampling_link.h"
#include "sampler/sampling_process.h"
#include "sampler/session.h"
#include "tests/support/test.h"

enum { WAIT_MS = 20000 };

static int ends[2];
/* The next sampling process waits for a byte, because this process cannot start one once it uses the link. */
static int next_ends[2];
static pid_t reader, next_reader, victim, forbidden;
static struct pulse *pulse;

static enum err_code permits(const void *context, const struct permission_candidate *candidate,
                             struct err *err)
{
    (void)context;
    return candidate->pid == forbidden
               ? err_set(err, ERR_PERM, "process %d is not for you", (int)candidate->pid)
               : ERR_OK;
}

enum { MUCH = 4 << 20 };

static enum err_code read_much(void *context, struct session *session, const void *request,
                               size_t request_bytes, struct buffer *answer, struct err *err)
{
    static const unsigned char nothing[MUCH];
    (void)context;
    (void)session;
    (void)request;
    (void)request_bytes;
    buffer_append(answer, nothing, sizeof nothing);
    return buffer_check(answer, err);
}

/* The next one is for one session. */
static pid_t start_reader(bool waits)
{
    const struct session_options only = { .pids = { victim }, .pid_count = 1 };
    const struct sampling_process settings = { .socket = ends[1],
                                               .pulse = pulse,
                                               .max_rate_hz = 1000,
                                               .max_running = 2,
                                               .memory_bytes = 64 << 20,
                                               .max_stop_percent = 5,
                                               .launcher = waits ? 0 : getpid(),
                                               .only = waits ? &only : NULL,
                                               .read = read_much };
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_IGN);
        close(next_ends[1]);
        if (waits && read(next_ends[0], &(char){ 0 }, 1) != 1)
            _exit(1);
        permission_use(permits, NULL);
        _exit((int)sampling_process_serve(&settings, NULL));
    }
    return pid;
}

static pid_t start_victim(void)
{
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(PYTHON, PYTHON, "-c",
              "import time\n"
              "def work():\n"
              "    return sum(range(1000))\n"
              "end = time.monotonic() + 120\n"
              "while time.monotonic() < end:\n"
              "    work()\n",
              (char *)NULL);
        _exit(127);
    }
    return pid;
}

static void end_process(pid_t *pid)
{
    if (!*pid)
        return;
    kill(*pid, SIGKILL);
    waitpid(*pid, NULL, 0);
    *pid = 0;
}

/* Before this process has threads. */
static int begin(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0 ||
        pipe2(next_ends, O_CLOEXEC) != 0)
        return -1;
    pulse = pulse_create();
    victim = start_victim();
    forbidden = start_victim();
    reader = start_reader(false);
    next_reader = start_reader(true);
    sampling_link_use(ends[0], pulse);
    return 0;
}

static int end(void **state)
{
    (void)state;
    /* Whoever traces a process is the first to learn of its end, also while it is stopped itself. */
    end_process(&reader);
    end_process(&next_reader);
    end_process(&victim);
    end_process(&forbidden);
    return 0;
}

static struct session_options options_of(pid_t pid)
{
    return (struct session_options){ .pids = { pid },
                                     .pid_count = 1,
                                     .rate_hz = 200,
                                     .all_threads = true,
                                     .engine = SESSION_ENGINE_REMOTE };
}

/* The interpreter may be starting. */
static struct session *start(const struct session_options *options)
{
    struct session *session = NULL;
    struct err err = { 0 };
    enum err_code rc = ERR_GONE;
    for (int i = 0; i < 200 && rc; i++) {
        rc = session_start(options, &session, &err);
        if (rc)
            usleep(50000);
    }
    assert_ok(rc, &err);
    return session;
}

static uint64_t samples_of(struct session *session)
{
    struct profile_snapshot snapshot;
    assert_int_equal(profile_snapshot(session_profile(session), &snapshot, NULL), ERR_OK);
    const uint64_t samples = snapshot.quality.samples;
    profile_snapshot_release(&snapshot);
    return samples;
}

static void wait_for_samples(struct session *session, uint64_t samples)
{
    for (int ms = 0; samples_of(session) < samples && ms < WAIT_MS; ms += 10)
        usleep(10000);
    assert_true(samples_of(session) >= samples);
}

static enum session_state wait_for_end(struct session *session, struct session_status *status)
{
    struct pollfd ended = { .fd = session_end_fd(session), .events = POLLIN };
    assert_int_equal(poll(&ended, 1, WAIT_MS), 1);
    session_status(session, status);
    return status->state;
}

/* Skips the test where no other process can be read. */
static bool can_read(void)
{
    const struct session_options options = options_of(victim);
    struct session *session = NULL;
    struct err err = { 0 };
    const bool is_denied = session_start(&options, &session, &err) == ERR_PERM;
    session_destroy(session);
    return !is_denied;
}

static void a_session_of_another_process_is_a_session(void **state)
{
    const struct session_options options = options_of(victim);
    struct session_processes processes;
    struct session_status status;
    struct session_target target;
    (void)state;
    if (!can_read())
        skip();
    struct session *const session = start(&options);
    assert_int_equal(session_target(session)->pid, victim);
    assert_true(session_target_at(session, 0, &target));
    assert_true(target.argc > 0);
    assert_false(session_target_at(session, 1, &target));
    wait_for_samples(session, 50);
    session_status(session, &status);
    assert_int_equal(status.state, SESSION_RUNNING);
    session_pause(session, true);
    session_status(session, &status);
    assert_int_equal(status.state, SESSION_PAUSED);
    session_pause(session, false);
    assert_int_equal(session_set_rate(session, 100, NULL), ERR_OK);
    session_status(session, &status);
    assert_true(status.requested_hz == 100);
    assert_false(status.records_native);
    assert_int_equal(session_record_native(session, NULL), ERR_OK);
    session_status(session, &status);
    assert_true(status.records_native);
    session_stop(session);
    assert_int_equal(wait_for_end(session, &status), SESSION_ENDED);
    assert_string_equal(status.reason, "stopped");
    session_processes(session, &processes);
    assert_int_equal(processes.joined, 1);
    session_destroy(session);
}

/* Sessions before it may be about to end. */
static enum err_code refusal_of(const struct session_options *options, struct err *err)
{
    struct session *session = NULL;
    enum err_code rc = ERR_LIMIT;
    for (int ms = 0; rc == ERR_LIMIT && ms < WAIT_MS; ms += 50) {
        rc = session_start(options, &session, err);
        if (rc == ERR_LIMIT)
            usleep(50000);
    }
    return rc;
}

static void limits_hold_whatever_is_requested(void **state)
{
    struct session_options options = options_of(forbidden);
    struct session *session = NULL, *others[2];
    struct err err = { 0 };
    (void)state;
    if (!can_read())
        skip();
    assert_int_equal(refusal_of(&options, &err), ERR_PERM);
    assert_non_null(strstr(err.message, "not for you"));
    assert_int_equal(sampling_link_admits(forbidden, NULL), ERR_PERM);
    assert_int_equal(sampling_link_admits(getppid(), &err), ERR_PERM);
    assert_non_null(strstr(err.message, "no descendant"));
    assert_int_equal(sampling_link_admits(victim, NULL), ERR_OK);
    options = options_of(victim);
    options.all = true;
    options.pid_count = 0;
    assert_int_equal(refusal_of(&options, NULL), ERR_PERM);
    options = options_of(victim);
    options.rate_hz = 1001;
    assert_int_equal(refusal_of(&options, NULL), ERR_INVALID);
    options = options_of(victim);
    options.max_stop_percent = 5.5;
    assert_int_equal(refusal_of(&options, &err), ERR_INVALID);
    assert_non_null(strstr(err.message, "at most 5 %"));
    options.max_stop_percent = 5;
    options.stop = SESSION_STOP_ALWAYS;
    assert_int_equal(refusal_of(&options, NULL), ERR_INVALID);
    options = options_of(victim);
    options.pids[options.pid_count++] = victim;
    assert_int_equal(refusal_of(&options, NULL), ERR_INVALID);
    options = options_of(victim);
    options.max_stop_percent = 5;
    for (size_t i = 0; i < 2; i++)
        others[i] = start(&options);
    assert_int_equal(session_start(&options, &session, NULL), ERR_LIMIT);
    assert_int_equal(session_join(others[0], forbidden, NULL), ERR_PERM);
    assert_int_equal(session_set_rate(others[0], 5000, NULL), ERR_INVALID);
    for (size_t i = 0; i < 2; i++)
        session_destroy(others[i]);
}

static void what_is_not_an_answer_pipe_is_not_written_to(void **state)
{
    static const struct link_request message = { .kind = LINK_ADMIT };
    FILE *const file = tmpfile();
    const int fd = fileno(file);
    (void)state;
    assert_true(channel_send(ends[0], &message, sizeof message, &fd, 1, 0));
    /* It is answered after that one. */
    assert_int_equal(sampling_link_admits(victim, NULL), ERR_OK);
    assert_int_equal(lseek(fd, 0, SEEK_END), 0);
    fclose(file);
}

static void invalid_requests_end_nothing(void **state)
{
    unsigned char noise[sizeof(struct link_request) + 8];
    (void)state;
    for (unsigned i = 0; i < 500; i++) {
        const enum link_kind kind = (enum link_kind)(i % (LINK_KINDS + 1));
        for (size_t k = 0; k < sizeof noise; k++)
            noise[k] = (unsigned char)(rand() >> 3);
        memcpy(noise, &kind, sizeof kind);
        assert_true(send(ends[0], noise, sizeof noise - i % 16, 0) > 0 || errno == EAGAIN);
    }
    assert_int_equal(sampling_link_admits(victim, NULL), ERR_OK);
}

static void note(void *context, const struct process_info *info)
{
    *(bool *)context |= info->pid == victim;
}

static void the_list_is_that_of_the_sampling_process(void **state)
{
    struct processes *processes = NULL;
    struct processes_summary summary;
    bool found = false;
    (void)state;
    if (!can_read())
        skip();
    assert_int_equal(processes_create(&processes, NULL), ERR_OK);
    for (int i = 0; !found && i < 1200; i++) {
        assert_int_equal(processes_visit(processes, note, &found, &summary, NULL), ERR_OK);
        usleep(50000);
    }
    assert_true(found);
    processes_destroy(processes);
}

/* Descriptors of the sampling process; limit_out: below this number one is free. */
static size_t count_descriptors(rlim_t *limit_out)
{
    char path[64];
    bool is_open[1024] = { false };
    size_t count = 0, holes = 0;
    rlim_t limit = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)reader);
    DIR *const folder = opendir(path);
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        const int number = atoi(entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        assert_true(number < 1024);
        is_open[number] = true;
        count++;
    }
    closedir(folder);
    while (holes + !is_open[limit] < 2)
        holes += !is_open[limit++];
    if (limit_out)
        *limit_out = limit;
    return count;
}

static void a_lack_of_descriptors_is_what_is_said(void **state)
{
    const struct session_options options = options_of(victim);
    struct err err = { 0 };
    struct rlimit before, now;
    (void)state;
    if (!can_read())
        skip();
    struct session *const session = start(&options);
    wait_for_samples(session, 10);
    assert_int_equal(prlimit(reader, RLIMIT_NOFILE, NULL, &before), 0);
    now = before;
    (void)count_descriptors(&now.rlim_cur);
    assert_int_equal(prlimit(reader, RLIMIT_NOFILE, &now, NULL), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(refusal_of(&options, &err), ERR_SYS);
        assert_int_equal(err.sys, EMFILE);
        assert_non_null(
            strstr(err.message, "the sampling process has no file descriptors left"));
    }
    /* Work that needs no descriptor goes on. */
    assert_int_equal(session_set_rate(session, 100, NULL), ERR_OK);
    wait_for_samples(session, samples_of(session) + 10);
    assert_int_equal(prlimit(reader, RLIMIT_NOFILE, &before, NULL), 0);
    session_destroy(start(&options));
    session_destroy(session);
}

/* Nobody can hold more of them than there is room for. */
static void sessions_that_have_ended_make_room_for_later_ones(void **state)
{
    enum { FIRST = READER_MAX_ENDED + 2, ALL = FIRST + 20 };
    struct session_options options = options_of(victim);
    struct session *sessions[ALL];
    struct session_status status;
    size_t held = 0, now = SIZE_MAX;
    (void)state;
    if (!can_read())
        skip();
    options.duration_ns = 1;
    for (size_t i = 0; i < ALL; i++) {
        sessions[i] = start(&options);
        assert_int_equal(wait_for_end(sessions[i], &status), SESSION_ENDED);
        assert_string_equal(status.reason, "duration reached");
        if (i == FIRST)
            held = count_descriptors(NULL);
    }
    /* One or two may be about to be let go. */
    for (int ms = 0; now > held + 2 && ms < WAIT_MS; ms += 10) {
        now = count_descriptors(NULL);
        usleep(10000);
    }
    assert_true(now <= held + 2);
    /* Nor do they take more. */
    assert_int_equal(session_join(sessions[ALL - 1], victim, NULL), ERR_GONE);
    for (size_t i = 0; i < ALL; i++)
        session_destroy(sessions[i]);
    for (int ms = 0; now > held / 2 && ms < WAIT_MS; ms += 10) {
        now = count_descriptors(NULL);
        usleep(10000);
    }
    assert_true(now <= held / 2);
}

/* Requests that wait to be read, whoever asks for them. */
static void answers_take_bounded_memory(void **state)
{
    enum { ALL = 30, MOST = LINK_MAX_ANSWER_BYTES / MUCH };
    const struct session_options options = options_of(victim);
    const struct link_patience patience = { .end_ns = clock_now_ns() + WAIT_MS * NS_PER_MS,
                                            .cancel_fd = -1 };
    struct buffer answer = { 0 };
    struct err err = { 0 };
    size_t whole = 0;
    int fds[ALL];
    (void)state;
    if (!can_read())
        skip();
    struct session *const session = start(&options);
    const struct link_request request = { .kind = LINK_READ,
                                          .session = remote_session_number(session) };
    for (size_t i = 0; i < ALL; i++)
        assert_ok(link_send(&request, &fds[i], &err), &err);
    /* Each has begun, or was refused. */
    for (size_t i = 0; i < ALL; i++) {
        struct pollfd begun = { .fd = fds[i], .events = POLLIN };
        assert_int_equal(poll(&begun, 1, WAIT_MS), 1);
    }
    for (size_t i = 0; i < ALL; i++) {
        const enum err_code rc = link_receive_answer(fds[i], &patience, &answer, &err);
        assert_true(rc == ERR_OK || rc == ERR_LIMIT);
        whole += rc == ERR_OK;
        close(fds[i]);
    }
    assert_in_range(whole, 1, MOST);
    assert_non_null(strstr(err.message, "too many answers"));
    buffer_deinit(&answer);
    session_destroy(session);
}

static void a_session_survives_its_reader_as_failed(void **state)
{
    const struct session_options options = options_of(victim);
    struct process_usage before = { 0 }, after = { 0 };
    struct session_status status;
    (void)state;
    if (!can_read())
        skip();
    struct session *const session = start(&options);
    wait_for_samples(session, 50);
    for (int ms = 0; before.rss_bytes == 0 && ms < WAIT_MS; ms += 200)
        sampling_link_usage(&before);
    end_process(&reader);
    pulse_lose(pulse);
    assert_int_equal(wait_for_end(session, &status), SESSION_FAILED);
    assert_non_null(strstr(status.reason, "ended"));
    assert_true(samples_of(session) >= 50);
    assert_int_equal(write(next_ends[1], "1", 1), 1);
    struct session *const next = start(&options);
    wait_for_samples(next, 10);
    /* The usage of the first one stays in the sums. */
    for (int ms = 0; after.rss_bytes == 0 && ms < WAIT_MS; ms += 200)
        sampling_link_usage(&after);
    assert_true(before.cpu_user_s + before.cpu_sys_s > 0);
    assert_true(after.cpu_user_s + after.cpu_sys_s >= before.cpu_user_s + before.cpu_sys_s);
    session_destroy(next);
    session_destroy(session);
}

static void only_the_session_that_is_wanted_can_be_had(void **state)
{
    struct session_options options = options_of(getpid());
    struct processes *processes = NULL;
    struct processes_summary summary;
    struct err err = { 0 };
    (void)state;
    assert_int_equal(refusal_of(&options, &err), ERR_PERM);
    assert_non_null(strstr(err.message, "not one of those that this program samples"));
    assert_int_equal(sampling_link_admits(getpid(), NULL), ERR_PERM);
    assert_int_equal(sampling_link_admits(victim, NULL), ERR_OK);
    options.all = true;
    options.pid_count = 0;
    assert_int_equal(refusal_of(&options, NULL), ERR_PERM);
    assert_int_equal(processes_create(&processes, NULL), ERR_OK);
    assert_int_equal(processes_visit(processes, NULL, NULL, &summary, NULL), ERR_PERM);
    processes_destroy(processes);
}

/* A process that the kernel holds cannot be ended, and keeps its end of each pipe. */
static void a_session_of_one_that_hangs_fails_and_says_so(void **state)
{
    const struct session_options options = options_of(victim);
    struct session_status status;
    struct err err = { 0 };
    (void)state;
    if (!can_read())
        skip();
    struct session *const session = start(&options);
    wait_for_samples(session, 10);
    kill(next_reader, SIGSTOP);
    const uint64_t began_ns = clock_now_ns();
    assert_int_equal(sampling_link_admits(victim, &err), ERR_LIMIT);
    assert_non_null(strstr(err.message, "does not answer"));
    /* Without asking whether it is there, that took LINK_WAIT_MS. */
    assert_true(clock_now_ns() - began_ns < 4 * (uint64_t)LINK_TAKE_MS * NS_PER_MS);
    session_status(session, &status);
    assert_int_equal(status.state, SESSION_RUNNING);
    pulse_lose(pulse);
    assert_int_equal(wait_for_end(session, &status), SESSION_FAILED);
    assert_non_null(strstr(status.reason, "samples after that are lost"));
    session_destroy(session);
}

TEST_GROUP_WITHIN(begin, end, cmocka_unit_test(a_session_of_another_process_is_a_session),
                  cmocka_unit_test(limits_hold_whatever_is_requested),
                  cmocka_unit_test(what_is_not_an_answer_pipe_is_not_written_to),
                  cmocka_unit_test(invalid_requests_end_nothing),
                  cmocka_unit_test(the_list_is_that_of_the_sampling_process),
                  cmocka_unit_test(a_lack_of_descriptors_is_what_is_said),
                  cmocka_unit_test(sessions_that_have_ended_make_room_for_later_ones),
                  cmocka_unit_test(answers_take_bounded_memory),
                  cmocka_unit_test(a_session_survives_its_reader_as_failed),
                  cmocka_unit_test(only_the_session_that_is_wanted_can_be_had),
                  cmocka_unit_test(a_session_of_one_that_hangs_fails_and_says_so))
