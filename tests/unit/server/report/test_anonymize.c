/* No text of the owner's is in an anonymized report, whatever its format. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "sampler/base/buffer.h"
#include "sampler/profile/packages.h"
#include "server/report/anonymize.h"
#include "server/report/anonymize_names.h"
#include "server/report/known_names.h"
#include "server/report/report.h"
#include "tests/support/made_profile.h"
#include "tests/support/source_folder.h"
#include "tests/support/test.h"

/* In every text that is the owner's. */
#define OWN "Zebra"

enum { LEAST_BASE64 = 64, UNPACKED_BYTES = 8 << 20 };

static const char *const words[] = { "/srv/Zebra/bin/python3", "/srv/Zebra/app.py",
                                     "--password=Zebra" };

struct frame {
    const char *file, *name;
};

static const struct {
    const char *library, *file, *name;
} natives[] = {
    { "/srv/" OWN "/core.so", NULL, OWN "::encrypt(int)" },
    { "/home/" OWN "/bin/python3.13", NULL, "PyObject_Vectorcall" },
    { "/home/" OWN "/site-packages/numpy/core.so", "/build/" OWN "/core.c", "array_dot" },
};

#define INSTALLED "/opt/venv/lib/python3.13/site-packages/" OWN

static const struct frame frames[] = {
    { "/srv/" OWN "/app.py", "<module>" },
    { "/usr/lib/python3.13/json/decoder.py", "JSONDecoder.decode" },
    { "/opt/venv" OWN "/lib/python3.13/site-packages/django/db/models.py", "Model.save" },
    { "/srv/" OWN "/lib/python3.13/" OWN "/billing.py", "Invoice.total" OWN },
    { INSTALLED "/orders.py", OWN ".ship" },
    { "/srv/lib/python3.13/site-packages/../../" OWN ".py", OWN },
    { "<attrs generated " OWN ">", OWN "__init__" },
    { "<string>", OWN ".<locals>.<lambda>" },
    { "~", "<native> time.sleep" },
    { "~", "<native> " OWN "_core.encrypt" },
    { "~", "<" OWN ">" },
    { "~", "<waits: network read " OWN ":5432>" },
};

static thread_id add_thread(struct profile *profile, const char *name, int32_t tid)
{
    struct profile_thread row = { .tid = tid, .name = made_string(profile, name) };
    struct err err = { 0 };
    thread_id id = 0;
    assert_ok(profile_process(profile, 4711, made_string(profile, OWN), &row.process, &err),
              &err);
    assert_ok(profile_thread(profile, &row, &id, &err), &err);
    return id;
}

static node_id add_frame(struct profile *profile, node_id node, const struct frame *row)
{
    const function_id function = made_function(profile, row->name, row->file, 3);
    struct err err = { 0 };
    frame_id frame = 0;
    assert_ok(profile_frame(profile, function, 7, &frame, &err), &err);
    assert_ok(profile_node(profile, node, frame, &node, &err), &err);
    return node;
}

struct world {
    char *folder;
    struct source_reader files;
    struct profile *profile;
    struct profile_snapshot snapshot;
    struct session_target target;
    struct session_options options;
    struct target_record target_list_item;
    struct target_list targets;
    struct session_info info;
    struct view_query everything;
    struct report_source source;
};

static void fill(struct profile *profile)
{
    const thread_id named = add_thread(profile, OWN "-worker", 1);
    const thread_id numbered = add_thread(profile, "Thread-3 (" OWN ")", 2);
    node_id node = 0;
    struct err err = { 0 };
    assert_ok(packages_add(profile_packages(profile), INSTALLED, "", &err), &err);
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        node = add_frame(profile, node, &frames[i]);
        struct profile_spot spot = { .function = made_function(profile, frames[i].name,
                                                               frames[i].file, 3),
                                     .line = 7,
                                     .end_line = 7,
                                     .column = 1,
                                     .end_column = 4,
                                     .opcode = made_string(profile, "CALL_PY"),
                                     .base = made_string(profile, "CALL") };
        spot_id id = 0;
        assert_ok(profile_add(profile, i % 2 ? named : numbered, STATE_ON_CPU, node, 5, &err),
                  &err);
        assert_ok(profile_spot(profile, &spot, &id, &err), &err);
        assert_ok(profile_add_spot(profile, node, id, 5, &err), &err);
    }
    for (size_t i = 0; i < sizeof natives / sizeof *natives; i++) {
        const function_id function = made_native_function(
            profile, natives[i].name, natives[i].library, natives[i].file, 0);
        frame_id frame = 0;
        assert_ok(profile_frame(profile, function, 0, &frame, &err), &err);
        assert_ok(profile_node(profile, node, frame, &node, &err), &err);
        assert_ok(profile_add(profile, named, STATE_ON_CPU, node, 5, &err), &err);
    }
    profile_tick(profile, 0, NS_PER_S, PART_RUNNING, 50);
    profile_quality(profile)->samples = 50;
    profile_quality(profile)->ticks = 50;
    made_seal(profile, 1);
}

static void put_source(struct world *world)
{
    char path[512];
    snprintf(path, sizeof path, "%s/srv", world->folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/srv/" OWN, world->folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/srv/" OWN "/app.py", world->folder);
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fputs("password = '" OWN "'\n", file);
    fclose(file);
    world->files = source_folder(world->folder);
}

static int setup(void **state)
{
    struct world *const world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->folder = temp_dir();
    world->profile = made_profile();
    put_source(world);
    fill(world->profile);
    world->snapshot = made_snapshot(world->profile);
    world->target = (struct session_target){ .pid = 4711,
                                             .argc = 3,
                                             .argv = words,
                                             .executable = words[0],
                                             .python = "3.13.1",
                                             .reason = OWN };
    world->target_list_item.target = world->target;
    world->targets = (struct target_list){ .count = 1, .items = &world->target_list_item };
    world->info = (struct session_info){
        .id = "1",
        .epoch = "0123456789abcdef",
        .status = { .state = SESSION_ENDED,
                    .reason = "the end of " OWN,
                    .started_at_ns = NS_PER_S,
                    .elapsed_ns = NS_PER_S },
        .target = &world->target,
        .targets = &world->targets,
        .options = &world->options,
        .host = OWN ".example",
        .snapshot = &world->snapshot,
        .words = { .name = OWN, .note = OWN, .capture = OWN, .fault = OWN },
    };
    world->source = (struct report_source){ .snapshot = &world->snapshot,
                                            .query = &world->everything,
                                            .session = &world->info,
                                            .settings.anonymizes = true,
                                            .files = &world->files };
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *const world = *state;
    profile_snapshot_release(&world->snapshot);
    profile_destroy(world->profile);
    temp_dir_remove(world->folder);
    free(world);
    return 0;
}

static int value_of(char letter)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *const found = letter ? strchr(letters, letter) : NULL;
    return found ? (int)(found - letters) : -1;
}

/* Appends what is packed in the bytes, if they are gzip. */
static void unpack(const unsigned char *data, size_t bytes, struct buffer *out)
{
    z_stream z = { .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)bytes };
    if (bytes < 18 || data[0] != 0x1f || data[1] != 0x8b)
        return;
    char *const room = buffer_reserve(out, UNPACKED_BYTES);
    assert_non_null(room);
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    z.next_out = (Bytef *)room;
    z.avail_out = UNPACKED_BYTES;
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    inflateEnd(&z);
    buffer_grow(out, z.total_out);
}

/* All that a file says: its bytes, and what is packed in it, as base64 too. */
static void add_packed(const struct buffer *file, struct buffer *out)
{
    unsigned char *const raw = malloc(file->length + 1);
    assert_non_null(raw);
    unpack((const unsigned char *)file->data, file->length, out);
    for (size_t at = 0; at < file->length; at++) {
        uint32_t bits = 0;
        unsigned held = 0;
        size_t letters = 0, bytes = 0;
        for (; at < file->length && value_of(file->data[at]) >= 0; at++, letters++) {
            bits = bits << 6 | (uint32_t)value_of(file->data[at]);
            held += 6;
            if (held >= 8)
                raw[bytes++] = (unsigned char)(bits >> (held -= 8));
        }
        if (letters >= LEAST_BASE64)
            unpack(raw, bytes, out);
    }
    free(raw);
}

/* The caller deinits. */
static struct buffer all_of(const struct report_format *format,
                            const struct report_source *source)
{
    struct buffer file = { 0 };
    struct err err = { 0 };
    struct report_source own = *source;
    if (format->needs_baseline)
        own.baseline = source;
    assert_ok(report_write(format, &own, &file, &err), &err);
    struct buffer all = { 0 };
    buffer_append(&all, file.data, file.length);
    add_packed(&file, &all);
    assert_non_null(buffer_string(&all));
    buffer_deinit(&file);
    return all;
}

static bool says(const struct buffer *text, const char *what)
{
    return memmem(text->data, text->length, what, strlen(what)) != NULL;
}

static void no_text_of_the_owners_is_in_any_format(void **state)
{
    struct world *const world = *state;
    const struct report_format *format = NULL;
    for (size_t i = 0; (format = report_at(i)); i++) {
        struct buffer text = all_of(format, &world->source);
        if (says(&text, OWN))
            fail_msg("%s names its owner", format->name);
        if (format->needs_baseline && !report_is_page(format)) {
            buffer_deinit(&text); /* a table of changes, of which there are none */
            continue;
        }
        assert_true(says(&text, "decode"));
        assert_true(says(&text, "func-"));
        buffer_deinit(&text);
        world->source.settings.anonymizes = false;
        text = all_of(format, &world->source);
        assert_true(says(&text, OWN));
        buffer_deinit(&text);
        world->source.settings.anonymizes = true;
    }
}

static void a_part_of_a_anonymized_report_is_that_part(void **state)
{
    struct world *const world = *state;
    const thread_id thread = 0;
    world->everything = (struct view_query){ .threads = &thread, .thread_count = 1 };
    struct buffer text = all_of(report_find("collapsed"), &world->source);
    assert_true(says(&text, "thread-"));
    assert_false(says(&text, "Thread-3"));
    buffer_deinit(&text);
}

static void a_report_says_that_it_is_anonymized_and_keeps_its_heat(void **state)
{
    struct world *const world = *state;
    struct buffer text = all_of(report_find("flamegraph"), &world->source);
    assert_true(says(&text, "\"anonymized\":true"));
    assert_true(says(&text, "\"host\":\"[anonymized]\""));
    assert_true(says(&text, "\"heat\":{\"from\":0,\"to\":1"));
    assert_true(says(&text, "\"instructions\":["));
    assert_false(says(&text, "\"sources\""));
    buffer_deinit(&text);
}

static struct strtab_string string_of(const char *text)
{
    return (struct strtab_string){ .text = text, .length = (uint32_t)strlen(text) };
}

/* A pseudonym depends neither on names before it nor on the run. */
static void a_name_has_one_pseudonym(void **state)
{
    struct anonymize_names a = { .rc = ERR_OK }, b = { .rc = ERR_OK };
    (void)state;
    anonymize_names_text(&a, RESHAPE_NAME, string_of("other"), string_of("/srv/x.py"));
    const struct strtab_string one =
        anonymize_names_text(&a, RESHAPE_NAME, string_of("f"), string_of("/srv/a.py"));
    const struct strtab_string two =
        anonymize_names_text(&b, RESHAPE_NAME, string_of("f"), string_of("/srv/a.py"));
    assert_string_equal(one.text, two.text);
    assert_string_equal(two.text, "func-e0eb1397");
    const struct strtab_string elsewhere =
        anonymize_names_text(&a, RESHAPE_NAME, string_of("f"), string_of("/srv/b.py"));
    assert_string_not_equal(elsewhere.text, two.text);
}

static void what_everybody_has_keeps_its_name(void **state)
{
    static const struct {
        enum reshape_text what;
        const char *text, *file, *wanted; /* wanted NULL: a pseudonym */
    } rows[] = {
        { RESHAPE_FILE, "/usr/lib/python3.13/json/decoder.py", "",
          "lib/python3.13/json/decoder.py" },
        { RESHAPE_FILE, "/usr/lib64/python3.9/os.py", "", "lib64/python3.9/os.py" },
        { RESHAPE_FILE, "/opt/lib/python3.13t/ssl.py", "", "lib/python3.13t/ssl.py" },
        { RESHAPE_FILE, "/v/lib/python3.13/site-packages/a/b.py", "", "site-packages/a/b.py" },
        { RESHAPE_FILE, "/usr/lib/python3/dist-packages/six.py", "", "dist-packages/six.py" },
        { RESHAPE_FILE, "<frozen importlib._bootstrap>", "", "<frozen importlib._bootstrap>" },
        { RESHAPE_FILE, "<frozen mine>", "", NULL },
        { RESHAPE_FILE, "/srv/lib/python3.13/mine.py", "", NULL },
        { RESHAPE_FILE, "/srv/lib/python3.", "", NULL },
        { RESHAPE_FILE, "/srv/lib/python3.x", "", NULL },
        { RESHAPE_FILE, "/srv/lib/python3.1/", "", NULL },
        { RESHAPE_FILE, "/srv/site-packages/", "", NULL },
        { RESHAPE_FILE, "<string>", "", "<string>" },
        { RESHAPE_NAME, "<module>", "/srv/a.py", "<module>" },
        { RESHAPE_NAME, "exec", "<string>", NULL },
        { RESHAPE_NAME, "<native> sorted", "~", "<native> sorted" },
        { RESHAPE_NAME, "<native> _io.open", "~", "<native> _io.open" },
        { RESHAPE_NAME, "<native> mine.f", "~", NULL },
        { RESHAPE_NAME, "<native> ", "~", NULL },
        { RESHAPE_NAME, "<GC>", "~", "<GC>" },
        { RESHAPE_NAME, "mine", "~", NULL },
        { RESHAPE_THREAD, "MainThread", "", "MainThread" },
        { RESHAPE_THREAD, PROFILE_WAITING_TASKS, "", PROFILE_WAITING_TASKS },
        { RESHAPE_THREAD, "ThreadPoolExecutor-0_12", "", "ThreadPoolExecutor-0_12" },
        { RESHAPE_THREAD, "Thread-1 (mine)", "", "Thread-1" },
        { RESHAPE_THREAD, "Thread-", "", NULL },
        { RESHAPE_THREAD, "Thread-1x", "", NULL },
        { RESHAPE_PROCESS, "mine.py", "", "" },
        { RESHAPE_LIBRARY, "", "/usr/lib/x86_64-linux-gnu/libc.so.6",
          "/usr/lib/x86_64-linux-gnu/libc.so.6" },
        { RESHAPE_LIBRARY, "", "/lib64/ld-linux-x86-64.so.2", "/lib64/ld-linux-x86-64.so.2" },
        { RESHAPE_LIBRARY, "", "/usr/lib/mine/libmine.so", NULL },
        { RESHAPE_LIBRARY, "", "/usr/lib/libcrypt_mine.so", NULL },
        { RESHAPE_LIBRARY, "", "/srv/libc.so.6", NULL },
        { RESHAPE_LIBRARY, "", "/usr/lib/../../srv/mine/libc.so.6", NULL },
        { RESHAPE_LIBRARY, "", "/home/mine/bin/python3.12", "python3.12" },
        { RESHAPE_LIBRARY, "", "/home/mine/libpython3.12t.so.1.0", "libpython3.12t.so.1.0" },
        { RESHAPE_LIBRARY, "", "/home/mine/python-mine", NULL },
        { RESHAPE_LIBRARY, "", "/v/lib/python3.13/site-packages/a/b.so",
          "site-packages/a/b.so" },
        { RESHAPE_LIBRARY, "", "/opt/lib/python3.13/lib-dynload/_json.cpython-313.so",
          "lib-dynload/_json.cpython-313.so" },
        { RESHAPE_LIBRARY, "", "/opt/lib/python3.13/lib-dynload/_mine.cpython-313.so", NULL },
        { RESHAPE_LIBRARY, "", "[vdso]", "[vdso]" },
        { RESHAPE_NATIVE_NAME, "qsort", "/usr/lib/libc.so.6", "qsort" },
        { RESHAPE_NATIVE_NAME, "mine::f()", "/srv/mine.so", NULL },
        { RESHAPE_NATIVE_FILE, "/build/mine/qsort.c", "/usr/lib/libc.so.6",
          "/usr/lib/libc.so.6" },
        { RESHAPE_NATIVE_FILE, "/srv/mine.c", "/srv/mine.so", NULL },
        { RESHAPE_BUILD_ID, "00ff", "/usr/lib/libc.so.6", "00ff" },
        { RESHAPE_BUILD_ID, "00ff", "/srv/mine.so", "" },
    };
    struct anonymize_names names = { .rc = ERR_OK };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct strtab_string given = anonymize_names_text(
            &names, rows[i].what, string_of(rows[i].text), string_of(rows[i].file));
        const char *const wanted = rows[i].wanted ? rows[i].wanted : given.text;
        if (given.length != strlen(wanted) || memcmp(given.text, wanted, given.length) != 0)
            fail_msg("'%s' became '%.*s'", rows[i].text, (int)given.length, given.text);
        assert_true(rows[i].wanted || !memmem(given.text, given.length, "mine", 4));
        assert_true(rows[i].wanted || memchr(given.text, '-', given.length));
    }
    assert_int_equal(names.rc, ERR_OK);
}

static void known_names_are_found_whole(void **state)
{
    (void)state;
    assert_true(known_names_has("json", 4));
    assert_true(known_names_has("json.decoder", 4));
    assert_true(known_names_has("BaseException", 13) && known_names_has("zoneinfo", 8));
    assert_false(known_names_has("jso", 3));
    assert_false(known_names_has("jsonx", 5));
    assert_false(known_names_has("", 0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

TEST_GROUP(TEST(no_text_of_the_owners_is_in_any_format),
           TEST(a_part_of_a_anonymized_report_is_that_part),
           TEST(a_report_says_that_it_is_anonymized_and_keeps_its_heat),
           cmocka_unit_test(a_name_has_one_pseudonym),
           cmocka_unit_test(what_everybody_has_keeps_its_name),
           cmocka_unit_test(known_names_are_found_whole))
