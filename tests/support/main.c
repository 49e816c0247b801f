/*
 * main - of every program of unit tests:
 *
 *     PROGRAM                           all groups of tests, each in a process of its own
 *     PROGRAM test_strtab.c [PATTERN]   the group of this file, or those of its tests that match ("text_*")
 *
 * A file in a folder below that of the program is named with it: http/test_turns.c. Exit code: 0 passed, 1 failed, 2 no such file, 77 skipped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test.h"

enum { FAILED = 1, NO_FILE = 2, SKIPPED = 77 };

static struct test_group *groups;

void test_group_add(struct test_group *group)
{
    group->next = groups;
    groups = group;
}

static int run_group(const struct test_group *group)
{
    return _cmocka_run_group_tests(group->file, group->tests, group->count, group->begin,
                                   group->end)
               ? FAILED
               : 0;
}

static const struct test_group *find_group(const char *name)
{
    for (const struct test_group *group = groups; group; group = group->next) {
        const size_t length = strlen(group->file), tail = strlen(name);
        if (length > tail && group->file[length - tail - 1] == '/' &&
            strcmp(group->file + length - tail, name) == 0)
            return group;
    }
    return NULL;
}

/* A group that is skipped ends its process, and one may limit or confine itself for good. */
static int run_apart(const struct test_group *group)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0)
        exit(run_group(group));
    int status;
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return FAILED;
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        return 0;
    return status ? FAILED : 0;
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        const struct test_group *const group = find_group(argv[1]);
        if (!group) {
            fprintf(stderr, "%s has no tests of a file %s\n", argv[0], argv[1]);
            return NO_FILE;
        }
        if (argc > 2)
            cmocka_set_test_filter(argv[2]);
        return run_group(group);
    }
    int code = 0;
    for (const struct test_group *group = groups; group; group = group->next)
        if (run_apart(group))
            code = FAILED;
    return code;
}
