/* Compares line tables with the positions that every interpreter of this machine reports for its code. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/objects/location.h"
#include "tests/support/test.h"

/* One file in STEP of the library is read; code that is not optimised takes several times as
 * long. */
#ifdef __OPTIMIZE__
enum { STEP = 4 };
#else
enum { STEP = 16 };
#endif
enum { MAX_PYTHONS = 64, PATH_BYTES = 512, SKIPPED = 77, OLDEST_MINOR = 8 };

static struct {
    char path[PATH_BYTES];
    char version[32];
} pythons[MAX_PYTHONS];
static size_t python_count;

static void find_pythons(void)
{
    FILE *const list = popen(TEST_SOURCE_DIR "/../scripts/get-pythons --list", "r");
    char version[32], path[PATH_BYTES];
    if (!list)
        return;
    while (python_count < MAX_PYTHONS && fscanf(list, "%31s %511s", version, path) == 2) {
        if (strncmp(version, "3.", 2) != 0 || atoi(version + 2) < OLDEST_MINOR)
            continue;
        strcpy(pythons[python_count].version, version);
        strcpy(pythons[python_count++].path, path);
    }
    pclose(list);
}

struct record {
    uint32_t table_bytes;
    int32_t first_line;
    uint32_t units;
};

static void read_exactly(FILE *in, void *out, size_t bytes)
{
    assert_int_equal(fread(out, 1, bytes, in), bytes);
}

static void compare_lines(int minor, const struct record *record, const unsigned char *table,
                          const struct location *expected)
{
    for (uint32_t unit = 0; unit < record->units; unit++)
        assert_int_equal((minor == 10 ? location_find_lnotab_range : location_find_lnotab)(
                             table, record->table_bytes, record->first_line, unit),
                         expected[unit].line);
    if (minor == 10)
        assert_int_equal(location_find_lnotab_range(table, record->table_bytes,
                                                    record->first_line, record->units),
                         0);
}

static void compare(const struct record *record, const unsigned char *table,
                    const struct location *expected)
{
    struct location found;
    for (uint32_t unit = 0; unit < record->units; unit++) {
        assert_true(
            location_find(table, record->table_bytes, record->first_line, unit, &found));
        assert_memory_equal(&found, &expected[unit], sizeof found);
    }
    assert_false(
        location_find(table, record->table_bytes, record->first_line, record->units, &found));
}

/* Returns the number of code units compared. */
static size_t compare_all(FILE *in, int minor)
{
    struct record record;
    size_t units = 0;
    while (fread(&record, sizeof record, 1, in) == 1) {
        unsigned char *const table = guard_alloc(record.table_bytes);
        struct location *const expected = calloc(record.units + 1, sizeof *expected);
        assert_non_null(expected);
        read_exactly(in, table, record.table_bytes);
        read_exactly(in, expected, record.units * sizeof *expected);
        if (minor >= 11)
            compare(&record, table, expected);
        else
            compare_lines(minor, &record, table, expected);
        guard_free(table, record.table_bytes);
        free(expected);
        units += record.units;
    }
    return units;
}

static void every_instruction_is_placed_where_python_places_it(void **state)
{
    char command[2 * PATH_BYTES];
    (void)state;
    for (size_t i = 0; i < python_count; i++) {
        snprintf(command, sizeof command, "'%s' -I '%s/unit/cpython/made/positions.py' %d",
                 pythons[i].path, TEST_SOURCE_DIR, STEP);
        FILE *const in = popen(command, "r");
        assert_non_null(in);
        const size_t units = compare_all(in, atoi(pythons[i].version + 2));
        assert_int_equal(pclose(in), 0);
        print_message("%s: %zu code units\n", pythons[i].version, units);
        assert_true(units > 10000);
    }
}

static int begin(void **state)
{
    (void)state;
    find_pythons();
    if (python_count == 0) {
        puts("skipped: no Python 3.8 or later (scripts/get-pythons brings some)");
        exit(SKIPPED);
    }
    return 0;
}

TEST_GROUP_WITHIN(begin, NULL,
                  cmocka_unit_test(every_instruction_is_placed_where_python_places_it))
