/*
 * victim - a program with stacks of many kinds, which a test stops and unwinds.
 *
 *     victim [thread]
 *
 * Prints the id of its busy thread, then runs for a minute at most.  It is optimized, and has no frame
 * pointers: see CMakeLists.txt.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS = 60, NUMBERS = 200, SPINS = 2000 };

static volatile uint64_t sink;

static void __attribute__((noinline)) spin(unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        sink += i * sink + 1;
}

static uint64_t __attribute__((noinline)) recurse(unsigned depth)
{
    if (depth == 0) {
        spin(SPINS);
        return sink;
    }
    return recurse(depth - 1) * 3 + depth;
}

static uint64_t __attribute__((noinline)) with_alloca(unsigned bytes)
{
    volatile unsigned char *const room = alloca(bytes);
    room[0] = 1;
    room[bytes - 1] = 2;
    const uint64_t result = recurse(3);
    return result + room[0];
}

/* The compiler aligns the stack, and finds the frame by another register. */
static uint64_t __attribute__((noinline)) with_alignment(unsigned bytes)
{
    _Alignas(64) volatile unsigned char room[256];
    room[bytes % sizeof room] = 1;
    const uint64_t result = with_alloca(bytes);
    return result + room[0];
}

static int compare(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    spin(3);
    return (x > y) - (x < y);
}

static void __attribute__((noinline)) sort(void)
{
    int numbers[NUMBERS];
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = (int)((unsigned)i * 7919u % NUMBERS);
    qsort(numbers, NUMBERS, sizeof *numbers, compare);
    sink += (uint64_t)numbers[0];
}

static void handle(int number)
{
    sink += (uint64_t)number;
    recurse(2);
}

static void __attribute__((noinline)) interrupt(void)
{
    raise(SIGUSR1);
    raise(SIGUSR2);
}

/* Short calls through the table of linked functions and into the vdso. */
static void __attribute__((noinline)) call_short(void)
{
    static char text[] = "a/b/c";
    struct timespec now;
    for (int i = 0; i < NUMBERS; i++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        sink += (uint64_t)now.tv_nsec + strlen(text) + (uint64_t)abs(rand());
    }
}

static void *work(void *context)
{
    static unsigned char other_stack[65536];
    const stack_t place = { .ss_sp = other_stack, .ss_size = sizeof other_stack };
    struct timespec now;
    (void)context;
    sigaltstack(&place, NULL);
    printf("%d\n", (int)gettid());
    fflush(stdout);
    clock_gettime(CLOCK_MONOTONIC, &now);
    const time_t end = now.tv_sec + SECONDS;
    while (now.tv_sec < end) {
        sink += with_alignment(100 + sink % 3000);
        sort();
        interrupt();
        call_short();
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct sigaction plain = { .sa_handler = handle };
    struct sigaction elsewhere = { .sa_handler = handle, .sa_flags = SA_ONSTACK };
    pthread_t thread;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigaction(SIGUSR1, &plain, NULL);
    sigaction(SIGUSR2, &elsewhere, NULL);
    if (argc < 2 || strcmp(argv[1], "thread") != 0) {
        work(NULL);
    } else if (pthread_create(&thread, NULL, work, NULL) == 0) {
        pthread_join(thread, NULL);
    }
    return 0;
}
