/*
 * thread_context_program - runs Python in a program that itself exports the variable of thread_context.c.
 *
 * Usage: thread_context_program LIBPYTHON [arguments of Python]
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int (*run)(int, char **) = NULL;
    void *const library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    void *const found = library ? dlsym(library, "Py_BytesMain") : NULL;
    memcpy(&run, &found, sizeof run);
    if (run)
        return run(argc - 1, argv + 1);
    fprintf(stderr, "thread_context_program: %s\n", argc > 1 ? dlerror() : "want LIBPYTHON");
    return 1;
}
