#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/process/service.h"
#include "sampler/process/service_context.h"
#include "tests/support/fake_memory.h"
#include "tests/support/test.h"

#define PARSE(text, out) service_parse(text, sizeof(text) - 1, out)

static void the_name_has_a_variable_of_its_own(void **state)
{
    struct service service;
    (void)state;
    PARSE("A=1\0OTEL_SERVICE_NAME=shop\0OTEL_RESOURCE_ATTRIBUTES=service.name=other,"
          " service.version = 1.2 ,service.namespace=eu\0B=2\0",
          &service);
    assert_string_equal(service.name, "shop");
    assert_string_equal(service.version, "1.2");
    assert_string_equal(service.namespace, "eu");
    PARSE("OTEL_RESOURCE_ATTRIBUTES=service.name=a%20b%2Cc%zz%,x=y", &service);
    assert_string_equal(service.name, "a b,c%zz%");
    assert_string_equal(service.version, "");
}

static void other_variables_say_nothing(void **state)
{
    struct service service;
    (void)state;
    PARSE(
        "XOTEL_SERVICE_NAME=a\0OTEL_SERVICE_NAMES=b\0OTEL_SERVICE_NAME\0SECRET=OTEL_SERVICE_NAME=c\0",
        &service);
    assert_string_equal(service.name, "");
    PARSE("", &service);
    assert_string_equal(service.name, "");
    PARSE("OTEL_RESOURCE_ATTRIBUTES=,,=,service.name,xservice.name=a,service.names=b",
          &service);
    assert_string_equal(service.name, "");
}

static void values_are_printable_and_bounded(void **state)
{
    struct service service;
    char text[4096] = "OTEL_SERVICE_NAME=";
    (void)state;
    memset(text + strlen(text), 'x', sizeof text - strlen(text));
    service_parse(text, sizeof text, &service);
    assert_int_equal(strlen(service.name), SERVICE_BYTES - 1);
    PARSE("OTEL_SERVICE_NAME=a\n\x1b[31m\xff"
          "b\xc3\xa4\x7f",
          &service);
    assert_string_equal(service.name, "a[31mb\xc3\xa4");
    PARSE("OTEL_RESOURCE_ATTRIBUTES=service.name=a%00b%0A%ffc", &service);
    assert_string_equal(service.name, "abc");
}

static void a_process_shows_its_own(void **state)
{
    struct service service;
    int pipes[2];
    char byte = 0;
    (void)state;
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
        static char program[] = "sleep", seconds[] = "30";
        static char variable[] = "OTEL_SERVICE_NAME=checkout";
        char *const argv[] = { program, seconds, NULL };
        char *const environment[] = { variable, NULL };
        close(pipes[0]);
        execve("/bin/sleep", argv, environment);
        _exit(1);
    }
    close(pipes[1]);
    /* Closed by the exec. */
    assert_int_equal(read(pipes[0], &byte, 1), 0);
    /* The kernel lays the environment out a moment later. */
    service_of(child, &service);
    for (size_t i = 0; i < 1000 && !*service.name; i++) {
        usleep(1000);
        service_of(child, &service);
    }
    assert_string_equal(service.name, "checkout");
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    service_of(child, &service);
    assert_string_equal(service.name, "");
    close(pipes[0]);
}

/* A field with a length. */
static size_t put(unsigned char *out, unsigned field, const void *data, size_t bytes)
{
    assert_true(bytes < 0x80);
    out[0] = (unsigned char)(field << 3 | 2);
    out[1] = (unsigned char)bytes;
    memcpy(out + 2, data, bytes);
    return bytes + 2;
}

static size_t put_attribute(unsigned char *out, const char *key, const char *value)
{
    unsigned char any[128], pair[256];
    const size_t any_bytes = put(any, 1, value, strlen(value));
    size_t bytes = put(pair, 1, key, strlen(key));
    bytes += put(pair + bytes, 2, any, any_bytes);
    return put(out, 1, pair, bytes);
}

/* A context with a name, a version and an attribute more.  Returns its length. */
static size_t make_context(unsigned char *out)
{
    unsigned char resource[128];
    size_t bytes = put_attribute(resource, "service.name", "shop\n");
    bytes += put_attribute(resource + bytes, "host.name", "x");
    bytes += put_attribute(resource + bytes, "service.version", "1.2");
    return put(out, 1, resource, bytes);
}

static void a_context_takes_the_place_of_the_environment(void **state)
{
    unsigned char message[256];
    struct service service;
    const size_t bytes = make_context(message);
    (void)state;
    PARSE("OTEL_SERVICE_NAME=other\0OTEL_RESOURCE_ATTRIBUTES=service.namespace=eu\0", &service);
    service_parse_context(message, bytes, &service);
    assert_string_equal(service.name, "shop");
    assert_string_equal(service.version, "1.2");
    assert_string_equal(service.namespace, "eu");
}

static void a_damaged_context_is_read_within_its_bounds(void **state)
{
    unsigned char message[256];
    struct service service = { .name = "" };
    const size_t bytes = make_context(message);
    (void)state;
    for (size_t length = 1; length < bytes; length++) {
        unsigned char *const cut = guard_copy(message, length);
        service_parse_context(cut, length, &service);
        assert_string_equal(service.name, "");
        guard_free(cut, length);
    }
    for (size_t at = 0; at < bytes; at++) {
        unsigned char *const bad = guard_copy(message, bytes);
        bad[at] = 0xff;
        service_parse_context(bad, bytes, &service);
        assert_true(strlen(service.name) < SERVICE_BYTES);
        guard_free(bad, bytes);
    }
}

struct header {
    char signature[8];
    uint32_t version, bytes;
    uint64_t published_ns, message;
};

static void only_a_header_that_stands_still_is_believed(void **state)
{
    enum { CASES = 6 };
    const remote_addr at = 0x1000, message_at = 0x8000;
    unsigned char message[256];
    struct header headers[CASES];
    struct fake_memory memory;
    struct service service = { .name = "" };
    const size_t bytes = make_context(message);
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        headers[i] = (struct header){ "", 2, (uint32_t)bytes, 7, message_at };
        memcpy(headers[i].signature, "OTEL_CTX", sizeof headers[i].signature);
    }
    headers[1].published_ns = 0;
    headers[2].version = 1;
    headers[3].bytes = SERVICE_MAX_CONTEXT_BYTES + 1;
    headers[4].message = 8;
    headers[5].signature[0] = 'X';
    fake_memory_init(&memory);
    fake_memory_map(&memory, at, sizeof *headers);
    fake_memory_map(&memory, message_at, bytes);
    fake_memory_put(&memory, message_at, message, bytes);
    for (size_t i = CASES; i-- > 0;) {
        fake_memory_put(&memory, at, &headers[i], sizeof headers[i]);
        service_read_header(&memory.memory, at, &service);
        assert_string_equal(service.name, i == 0 ? "shop" : "");
    }
    fake_memory_deinit(&memory);
}

TEST_GROUP(cmocka_unit_test(the_name_has_a_variable_of_its_own),
           cmocka_unit_test(other_variables_say_nothing),
           cmocka_unit_test(values_are_printable_and_bounded),
           cmocka_unit_test(a_process_shows_its_own),
           cmocka_unit_test(a_context_takes_the_place_of_the_environment),
           cmocka_unit_test(a_damaged_context_is_read_within_its_bounds),
           cmocka_unit_test(only_a_header_that_stands_still_is_believed))
