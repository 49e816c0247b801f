/* A program with the structure of a Python interpreter that does not say its version, as one that is starting.
 * Usage: no_version SECONDS [PROGRAM [ARGUMENT...]]: executes the program then. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

extern char _PyRuntime[4096];
char _PyRuntime[4096] = { 1 };

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    const double seconds = atof(argv[1]);
    const time_t whole = (time_t)seconds;
    nanosleep(&(struct timespec){ whole, (long)((seconds - (double)whole) * 1e9) }, NULL);
    if (argc > 2)
        execv(argv[2], argv + 2);
    return argc > 2;
}
