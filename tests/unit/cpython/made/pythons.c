#include "tests/unit/cpython/made/pythons.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

enum { PATH_BYTES = 512, OLDEST_MINOR = 11 };

/* One file in STEP of the library is read; code that is not optimised takes five times as long,
 * below a sanitizer twenty. */
#ifdef __OPTIMIZE__
enum { STEP = 4 };
#else
enum { STEP = 16 };
#endif

static void run(const char *path, const char *version, const char *script,
                void (*hear)(FILE *in, const char *version))
{
    char command[3 * PATH_BYTES];
    snprintf(command, sizeof command, "'%s' -I '%s/%s' %d", path, TEST_SOURCE_DIR, script,
             STEP);
    FILE *const in = popen(command, "r");
    assert_non_null(in);
    hear(in, version);
    assert_int_equal(pclose(in), 0);
}

size_t pythons_run(const char *script, void (*hear)(FILE *in, const char *version))
{
    FILE *const list = popen(TEST_SOURCE_DIR "/../scripts/get-pythons --list", "r");
    char version[32], path[PATH_BYTES];
    size_t count = 0;
    assert_non_null(list);
    while (fscanf(list, "%31s %511s", version, path) == 2) {
        if (strncmp(version, "3.", 2) != 0 || atoi(version + 2) < OLDEST_MINOR)
            continue;
        run(path, version, script, hear);
        count++;
    }
    pclose(list);
    return count;
}
