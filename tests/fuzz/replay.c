/*
 * Gives every file of the named folders to the fuzz target, in the order of their names.
 * Exit code: 0 the target survived all files, 1 there was no file.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

static int replay_file(const char *path)
{
    FILE *const file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) || ftell(file) < 0) {
        perror(path);
        return -1;
    }
    const size_t bytes = (size_t)ftell(file);
    rewind(file);
    uint8_t *const data = malloc(bytes + 1);
    const int rc = data && fread(data, 1, bytes, file) == bytes ? 0 : -1;
    fclose(file);
    if (rc)
        perror(path);
    else
        (void)LLVMFuzzerTestOneInput(data, bytes);
    free(data);
    return rc;
}

static int is_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Returns the number of files; -1: a file cannot be read. */
static int replay_folder(const char *folder)
{
    struct dirent **entries;
    const int count = scandir(folder, &entries, is_file, alphasort);
    int done = count;
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        /* Printed first, so the last name is that of the file that crashes. */
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        printf("%s\n", path);
        fflush(stdout);
        if (done > 0 && replay_file(path))
            done = -1;
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return done;
}

int main(int argc, char **argv)
{
    int total = 0;
    for (int i = 1; i < argc; i++) {
        const int done = replay_folder(argv[i]);
        if (done < 0)
            return 1;
        total += done;
    }
    printf("%d inputs\n", total);
    return total ? 0 : 1;
}
