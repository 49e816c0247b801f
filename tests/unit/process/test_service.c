#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/process/service.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_has_a_variable_of_its_own),
        cmocka_unit_test(other_variables_say_nothing),
        cmocka_unit_test(values_are_printable_and_bounded),
        cmocka_unit_test(a_process_shows_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
