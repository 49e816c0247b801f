/* A part of a file is read whole, or it is known why not. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/read_at.h"
#include "tests/support/test.h"

static void a_part_is_read_whole_or_not(void **state)
{
    char out[8] = "";
    int ends[2];
    (void)state;
    FILE *const file = tmpfile();
    assert_non_null(file);
    const int fd = fileno(file);
    assert_int_equal(write(fd, "0123456789", 10), 10);
    assert_true(read_at(fd, out, 4, 3));
    assert_memory_equal(out, "3456", 4);
    assert_true(read_at(fd, out, 0, 10));
    assert_false(read_at(fd, out, 4, 7));
    assert_int_equal(errno, 0);
    assert_int_equal(pipe(ends), 0);
    assert_false(read_at(ends[0], out, 1, 0));
    assert_int_equal(errno, ESPIPE);
    close(ends[0]);
    close(ends[1]);
    fclose(file);
}

TEST_GROUP(cmocka_unit_test(a_part_is_read_whole_or_not))
