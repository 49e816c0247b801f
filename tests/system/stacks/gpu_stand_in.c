/*
 * gpu_stand_in - functions of CUDA's and HIP's names that wait as those do, without a GPU: in a loop that reads a clock, or asleep in the
 * kernel.  And one that computes.
 *
 * Loaded with ctypes.CDLL.
 * Units: milliseconds.
 */
#define _GNU_SOURCE
#include <time.h>

int cudaStreamSynchronize(long wait_ms);
int cuCtxSynchronize_v2(long wait_ms);
int hipStreamSynchronize(long wait_ms);
int cudaStreamSynchronizeNot(long wait_ms);

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

__attribute__((noinline)) static int spin_until(long end_ms)
{
    int rounds = 0;
    while (now_ms() < end_ms)
        rounds++;
    return rounds;
}

int cudaStreamSynchronize(long wait_ms)
{
    return spin_until(now_ms() + wait_ms) < 0;
}

int cuCtxSynchronize_v2(long wait_ms)
{
    return spin_until(now_ms() + wait_ms) < 0;
}

int hipStreamSynchronize(long wait_ms)
{
    const struct timespec wait = { wait_ms / 1000, wait_ms % 1000 * 1000000 };
    return nanosleep(&wait, NULL);
}

int cudaStreamSynchronizeNot(long wait_ms)
{
    return spin_until(now_ms() + wait_ms) < 0;
}
