/*
 * runs - how many samples of a capture follow each other at one place.
 *
 *     runs FILE
 *
 * Prints the number of samples, and the mean length of the run that a sample is in.  A reading that
 * stands for several samples makes a run of as many.
 */
#include <stdio.h>

#include "sampler/capture/reader.h"

int main(int argc, char **argv)
{
    struct reader *reader = NULL;
    struct capture_window window;
    struct err err = { 0 };
    double samples = 0, squares = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: runs FILE\n");
        return 2;
    }
    enum err_code rc = reader_open(argv[1], &reader, &err);
    while (!rc && !(rc = reader_next_window(reader, &window, &err))) {
        for (size_t i = 0; i < window.run_count; i++) {
            samples += window.runs[i].count;
            squares += (double)window.runs[i].count * window.runs[i].count;
        }
    }
    reader_close(reader);
    if (rc != ERR_NOT_FOUND) {
        fprintf(stderr, "runs: %s\n", err.message);
        return 1;
    }
    printf("%.0f samples, %.4f in a run\n", samples, samples > 0 ? squares / samples : 0);
    return 0;
}
