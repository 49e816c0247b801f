#include <string.h>

#include "sampler/session.h"
#include "server/push/labels.h"
#include "server/push/protocol.h"
#include "server/push/setting_readers.h"
#include "tests/support/test.h"

static const char *value_of(const struct push_labels *labels, const char *name)
{
    for (size_t i = 0; i < labels->count; i++)
        if (strcmp(labels->items[i].name, name) == 0)
            return labels->items[i].value;
    return NULL;
}

static const char *service_of(const char *const *argv, size_t argc)
{
    static struct push_labels labels;
    const struct session_target target = {
        .pid = 1, .argc = argc, .argv = argv, .executable = "/usr/bin/python3.11"
    };
    const struct push_settings settings = { .label_count = 0 };
    push_labels_of(&target, NULL, &settings, &labels);
    return value_of(&labels, "service_name");
}

static void a_service_is_named_after_its_command(void **state)
{
    static const struct {
        const char *words[6];
        const char *service;
    } rows[] = {
        { { "python3", "/srv/app.py", "--port", "80" }, "app.py" },
        { { "python3", "-m", "gunicorn", "app:api" }, "gunicorn" },
        { { "python3", "-W", "ignore", "-X", "dev", "worker.py" }, "worker.py" },
        { { "python3", "-c", "import secrets" }, "python3" },
        { { "/usr/bin/gunicorn" }, "gunicorn" },
        { { "python3", "-" }, "python3" },
        { { NULL }, "python3.11" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t argc = 0;
        while (argc < 6 && rows[i].words[argc])
            argc++;
        assert_string_equal(service_of(rows[i].words, argc), rows[i].service);
    }
}

static void what_the_environment_says_comes_first(void **state)
{
    static const char *const argv[] = { "app" };
    const struct session_target target = {
        .pid = 1,
        .argc = 1,
        .argv = argv,
        .service = { .name = "checkout", .version = "1.2", .container = "0123abcd" }
    };
    const struct push_settings settings = { .label_count = 0 };
    struct push_labels labels;
    (void)state;
    push_labels_of(&target, NULL, &settings, &labels);
    assert_string_equal(value_of(&labels, "service_name"), "checkout");
    assert_string_equal(value_of(&labels, "service_version"), "1.2");
    assert_string_equal(value_of(&labels, "container"), "0123abcd");
    assert_null(value_of(&labels, "service_namespace"));
}

static void read_label(struct push_settings *settings, const char *text)
{
    struct err err = { 0 };
    assert_ok(push_read_label(NULL, settings, text, &err), &err);
}

static void own_labels_replace_others_and_remove_them(void **state)
{
    static const char *const argv[] = { "app" };
    struct session_target target = {
        .pid = 4711, .argc = 1, .argv = argv, .pod = "shop/web-1"
    };
    struct push_settings settings = { .label_count = 0 };
    struct push_labels labels;
    (void)state;
    push_labels_of(&target, "host", &settings, &labels);
    assert_string_equal(value_of(&labels, "namespace"), "shop");
    assert_string_equal(value_of(&labels, "pod"), "web-1");
    assert_string_equal(value_of(&labels, "process_id"), "4711");
    assert_string_equal(value_of(&labels, "hostname"), "host");
    read_label(&settings, "service.name=checkout");
    read_label(&settings, "process_id=");
    read_label(&settings, "region=eu=1");
    push_labels_of(&target, "host", &settings, &labels);
    assert_string_equal(value_of(&labels, "service_name"), "checkout");
    assert_string_equal(value_of(&labels, "region"), "eu=1");
    assert_null(value_of(&labels, "process_id"));
    for (size_t i = 1; i < labels.count; i++)
        assert_true(strcmp(labels.items[i - 1].name, labels.items[i].name) < 0);
    for (size_t i = 0; i < labels.count; i++)
        if (strcmp(labels.items[i].name, "service_name") == 0)
            assert_string_equal(push_label_attribute(&labels.items[i]), "service.name");
}

static void values_are_text_of_a_bounded_length(void **state)
{
    char word[400];
    const char *const argv[] = { word };
    (void)state;
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    assert_int_equal(strlen(service_of(argv, 1)), PUSH_MAX_LABEL_VALUE);
    strcpy(word, "a\nb\xff\x1b"
                 "c\xc3\xa4");
    assert_string_equal(service_of(argv, 1), "a b? c\xc3\xa4");
}

static void malformed_options_say_what_is_wanted(void **state)
{
    static const char *const labels[] = { "", "x", "=x", "1a=x", "__name__=x", "a-b=x" };
    static const char *const urls[] = { "",
                                        "http://host",
                                        "pyroscope:/host",
                                        "pyroscope://",
                                        "pyroscope+tls://host",
                                        "otlp://user:word@host",
                                        "otlp://ho st",
                                        "parca://host/?x" };
    struct push_settings settings = { .label_count = 0 };
    struct err err = { 0 };
    (void)state;
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        assert_int_equal(push_read_label(NULL, &settings, labels[i], &err), ERR_INVALID);
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        assert_int_equal(push_read_endpoint(NULL, &settings, urls[i], &err), ERR_INVALID);
    assert_int_equal(push_read_headers_file(NULL, &settings, "file", &err), ERR_INVALID);
    assert_int_equal(push_read_ca_file(NULL, &settings, "file", &err), ERR_INVALID);
    assert_int_equal(push_read_batch(NULL, &settings, "0.5", &err), ERR_INVALID);
    assert_int_equal(push_read_batch(NULL, &settings, "11m", &err), ERR_INVALID);
    assert_int_equal(settings.endpoint_count + settings.label_count, 0);
}

static void an_endpoint_is_a_protocol_and_a_place(void **state)
{
    struct push_settings settings = { .label_count = 0 };
    struct err err = { 0 };
    (void)state;
    assert_ok(push_read_endpoint(NULL, &settings, "pyroscope://host:1", &err), &err);
    assert_ok(push_read_endpoint(NULL, &settings, "otlp+https://[::1]:2/x", &err), &err);
    assert_ok(push_read_headers_file(NULL, &settings, "file", &err), &err);
    assert_int_equal(push_read_headers_file(NULL, &settings, "file", &err), ERR_INVALID);
    assert_ok(push_read_ca_file(NULL, &settings, "certificates", &err), &err);
    assert_string_equal(settings.endpoints[1].ca_file, "certificates");
    assert_string_equal(settings.endpoints[0].protocol->scheme, "pyroscope");
    assert_false(settings.endpoints[0].is_tls);
    assert_null(settings.endpoints[0].headers_file);
    assert_string_equal(settings.endpoints[1].protocol->scheme, "otlp");
    assert_true(settings.endpoints[1].is_tls);
    assert_string_equal(settings.endpoints[1].rest, "[::1]:2/x");
    assert_string_equal(settings.endpoints[1].headers_file, "file");
    while (settings.endpoint_count < PUSH_MAX_ENDPOINTS)
        assert_ok(push_read_endpoint(NULL, &settings, "parca://host", &err), &err);
    assert_int_equal(push_read_endpoint(NULL, &settings, "parca://host", &err), ERR_INVALID);
    assert_int_equal(push_read_ca_file(NULL, &settings, "file", &err), ERR_INVALID);
}

TEST_GROUP(cmocka_unit_test(a_service_is_named_after_its_command),
           cmocka_unit_test(what_the_environment_says_comes_first),
           cmocka_unit_test(own_labels_replace_others_and_remove_them),
           cmocka_unit_test(values_are_text_of_a_bounded_length),
           cmocka_unit_test(malformed_options_say_what_is_wanted),
           cmocka_unit_test(an_endpoint_is_a_protocol_and_a_place))
