/* Loaded by sleepers.py: calls back with an array on the stack whose pages were never touched. */

enum { PAGE = 4096 };

void with_array(void (*call)(void));
void with_large_array(void (*call)(void));

void with_array(void (*call)(void))
{
    volatile char array[10 * PAGE];
    array[0] = 1;
    call();
    array[0] = 2;
}

void with_large_array(void (*call)(void))
{
    volatile char array[512 * PAGE];
    array[0] = 1;
    call();
    array[0] = 2;
}
