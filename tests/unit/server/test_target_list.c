#include <stdio.h>
#include <string.h>

#include "server/wire/target_list.h"
#include "tests/support/fake_session.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

/* The texts as a capture before 4.3 has them. */
static struct target_list read_old(const char *const *processes, size_t count,
                                   const char *const *services, size_t service_count)
{
    const struct capture_metadata metadata = {
        .processes = { count, (const char **)(uintptr_t)processes },
        .services = { service_count, (const char **)(uintptr_t)services },
    };
    struct target_list targets;
    struct err err = { 0 };
    assert_true(target_list_is_known(&metadata));
    assert_ok(target_list_read(&metadata, &targets, &err), &err);
    return targets;
}

static void what_is_written_is_read(void **state)
{
    const struct session_options options = { .pids = { FAKE_PID_NEWER },
                                             .pid_count = 1,
                                             .rate_hz = 1000 };
    struct session *session = NULL;
    struct target_list_texts texts;
    struct target_list targets;
    struct err err = { 0 };
    (void)state;
    assert_ok(session_start(&options, &session, &err), &err);
    assert_ok(target_list_write(session, &texts, &err), &err);
    assert_int_equal(texts.count, 1);
    const struct capture_metadata metadata = { .targets = { texts.count, texts.items } };
    assert_ok(target_list_read(&metadata, &targets, &err), &err);
    assert_int_equal(targets.count, 1);
    const struct session_target *const read = &targets.items[0].target;
    const struct session_target *const target = session_target(session);
    assert_int_equal(read->pid, target->pid);
    assert_int_equal(read->validated, target->validated);
    assert_string_equal(read->python, target->python);
    assert_string_equal(read->executable, target->executable);
    assert_null(read->reason);
    assert_string_equal(read->service.name, target->service.name);
    assert_string_equal(read->service.version, target->service.version);
    assert_string_equal(read->pod, target->pod);
    assert_null(read->warnings[SESSION_WARNING_INTERPRETERS]);
    assert_string_equal(read->warnings[SESSION_WARNING_ANOTHER], "another in /odd?name");
    assert_string_equal(read->warnings[SESSION_WARNING_VERSION], "newer than the releases");
    assert_int_equal(read->argc, target->argc);
    for (size_t i = 0; i < read->argc; i++)
        assert_string_equal(read->argv[i], target->argv[i]);
    target_list_deinit(&targets);
    target_list_texts_deinit(&texts);
    session_destroy(session);
}

/* A record of a sampling process that has been taken over, or of a damaged file. */
static void a_record_that_was_cut_or_counts_wrongly_is_refused(void **state)
{
    static const char *const argv[] = { "python3", "app.py" };
    const struct session_target target = {
        .pid = 7, .argc = 2, .argv = argv, .executable = "/x", .python = "3.14", .pod = "a/b"
    };
    struct buffer text = { 0 };
    struct target_record record;
    (void)state;
    target_record_encode(&target, SIZE_MAX, &text);
    assert_int_equal(target_record_decode(text.data, NULL, &record, NULL), ERR_OK);
    assert_int_equal(record.target.argc, 2);
    target_record_deinit(&record);
    char *const words = strstr(text.data, "\x1f"
                                          "2\x1fpython3");
    assert_non_null(words);
    for (const char *wrong = "45789"; *wrong; wrong++) {
        words[1] = *wrong;
        assert_int_equal(target_record_decode(text.data, NULL, &record, NULL),
                         *wrong < '7' ? ERR_OK : ERR_CORRUPT);
        target_record_deinit(&record);
    }
    words[0] = '\0';
    assert_int_equal(target_record_decode(text.data, NULL, &record, NULL), ERR_CORRUPT);
    buffer_deinit(&text);
    target_record_encode(&target, sizeof "python3", &text);
    assert_int_equal(target_record_decode(text.data, NULL, &record, NULL), ERR_OK);
    assert_int_equal(record.target.argc, 1);
    assert_string_equal(record.target.pod, "a/b");
    target_record_deinit(&record);
    buffer_deinit(&text);
}

static void warnings_follow_the_service(void **state)
{
    static const struct {
        const char *service, *warnings[SESSION_WARNINGS];
    } rows[] = {
        { "n\x1fs\x1fv\x1f"
          "c\x1f"
          "5",
          { NULL } },
        { "n\x1fs\x1fv\x1f"
          "c\x1f"
          "5\x1f\x1f",
          { NULL } },
        { "n\x1fs\x1fv\x1f"
          "c\x1f"
          "5\x1fsub",
          { "sub" } },
        { "n\x1fs\x1fv\x1f"
          "c\x1f"
          "5\x1fsub\x1fin /x\x1fnew\x1fodd",
          { "sub", "in /x", "new", "odd" } },
        { "n\x1fs\x1fv\x1f"
          "c\x1f"
          "5\x1f\x1f"
          "in /x",
          { NULL, "in /x" } },
    };
    const char *process = "7\x1f\x1f\x1f\x1f\x1f\x1f\x1f";
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *service = rows[i].service;
        struct target_list targets = read_old(&process, 1, &service, 1);
        const struct session_target *const target = &targets.items[0].target;
        assert_int_equal(target->age_ns, 5);
        assert_string_equal(target->service.container, "c");
        const char *const *const wanted = rows[i].warnings;
        for (size_t w = 0; w < SESSION_WARNINGS; w++) {
            if (!wanted[w])
                assert_null(target->warnings[w]);
            else
                assert_string_equal(target->warnings[w], wanted[w]);
        }
        target_list_deinit(&targets);
    }
}

static void nonsense_is_left_out(void **state)
{
    const char *rows[SESSION_MAX_LISTED + 2] = {
        "",
        "\x1f",
        "7",
        "x\x1f\x1f\x1f\x1f\x1f\x1f\x1f",
        "-7\x1f\x1f\x1f\x1f\x1f\x1f\x1f",
        "99999999999\x1f\x1f\x1f\x1f\x1f\x1f\x1f",
        "7\x1f"
        "1\x1f"
        "2\x1f"
        "3\x1f"
        "1\x1f"
        "3.14\x1f/x\x1f"
        "it exited",
    };
    (void)state;
    struct target_list targets = read_old(rows, 7, NULL, 0);
    assert_int_equal(targets.count, 1);
    assert_int_equal(targets.items[0].target.pid, 7);
    assert_int_equal(targets.items[0].target.parent, 1);
    assert_int_equal(targets.items[0].target.from_ns, 2);
    assert_int_equal(targets.items[0].target.to_ns, 3);
    assert_string_equal(targets.items[0].target.reason, "it exited");
    assert_int_equal(targets.items[0].target.argc, 0);
    target_list_deinit(&targets);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        rows[i] = "7\x1f\x1f\x1f\x1f\x1f\x1f\x1f";
    targets = read_old(rows, sizeof rows / sizeof *rows, NULL, 0);
    assert_int_equal(targets.count, SESSION_MAX_LISTED);
    target_list_deinit(&targets);
}

static void services_are_read_part_by_part(void **state)
{
    static char text[200 + 8];
    const char *items[] = { "7\x1f\x1f\x1f\x1f\x1f\x1f\x1f", "x",
                            "8\x1f\x1f\x1f\x1f\x1f\x1f\x1f", "9\x1f\x1f\x1f\x1f\x1f\x1f\x1f" };
    const char *services[] = { "shop\x1f\x1f"
                               "4.2\x1f"
                               "beef\x1fmore",
                               "no process", text };
    (void)state;
    memset(text, 'x', 200);
    memcpy(text + 200, "\x1fns", 4);
    struct target_list targets = read_old(items, 4, services, 3);
    assert_int_equal(targets.count, 3);
    assert_string_equal(targets.items[0].target.service.name, "shop");
    assert_string_equal(targets.items[0].target.service.namespace, "");
    assert_string_equal(targets.items[0].target.service.version, "4.2");
    assert_string_equal(targets.items[0].target.service.container, "beef");
    assert_string_equal(targets.items[1].target.service.name, "");
    assert_string_equal(targets.items[1].target.service.namespace, "ns");
    assert_string_equal(targets.items[2].target.service.name, "");
    target_list_deinit(&targets);
}

static void of_command_lines_the_first_word_can_be_kept(void **state)
{
    static const char fixed[] = "7\x1f"
                                "1\x1f"
                                "2\x1f"
                                "3\x1f"
                                "1\x1f"
                                "3.14\x1f/x\x1f";
    static const char *const rows[][2] = { { "\x1fpython3\x1f--password=x", "python3" },
                                           { "\x1fserver: worker --password=x", "server:" },
                                           { "\x1f --password=x", "" },
                                           { "\x1f", "" },
                                           { "", NULL } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[128];
        const char *items[] = { text, NULL };
        snprintf(text, sizeof text, "%s%s", fixed, rows[i][0]);
        const char *services[] = { "shop\x1f\x1f"
                                   "4.2" };
        struct target_list targets = read_old(items, 1, services, 1);
        assert_string_equal(targets.items[0].target.service.name, "shop");
        target_list_hide_arguments(&targets);
        const struct session_target *const target = &targets.items[0].target;
        assert_string_equal(target->service.name, "");
        assert_int_equal(target->argc, rows[i][1] ? 1 : 0);
        if (rows[i][1])
            assert_string_equal(target->argv[0], rows[i][1]);
        target_list_deinit(&targets);
    }
}

static void rows_tell_what_they_know(void **state)
{
    struct profile *const profile = made_profile();
    struct target_list targets;
    struct err err = { 0 };
    (void)state;
    made_thread(profile, 10, 10);
    made_thread(profile, 20, 20);
    assert_ok(profile_seal(profile, 1, &err), &err);
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_ok(target_list_read_rows(&snapshot, &targets, &err), &err);
    assert_int_equal(targets.count, 2);
    assert_int_equal(targets.items[1].target.pid, 20);
    assert_int_equal(targets.items[1].target.argc, 1);
    target_list_deinit(&targets);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

TEST_GROUP(cmocka_unit_test(what_is_written_is_read),
           cmocka_unit_test(a_record_that_was_cut_or_counts_wrongly_is_refused),
           cmocka_unit_test(warnings_follow_the_service),
           cmocka_unit_test(nonsense_is_left_out),
           cmocka_unit_test(services_are_read_part_by_part),
           cmocka_unit_test(of_command_lines_the_first_word_can_be_kept),
           cmocka_unit_test(rows_tell_what_they_know))
