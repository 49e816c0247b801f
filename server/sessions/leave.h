/*
 * leave - the process ends soon, whatever still hangs.
 *
 * A process that is read may keep one of our threads in the kernel for as long as it likes: a
 * file system that does not answer, memory that never comes.  Such a thread cannot be joined, and what it
 * uses cannot be freed.  So who has nothing more to say sets a time, and cleans up as if nothing
 * could hang; if that takes longer, the process ends there.
 *
 * Threads: any.
 * Depends on: libc.
 */
#ifndef SERVER_SESSIONS_LEAVE_H
#define SERVER_SESSIONS_LEAVE_H

/* For a command that has written all there is to write. */
enum { LEAVE_MS = 300 };

/* After so long the process ends with that status, unless it has ended by itself. */
void leave_within(int milliseconds, int status);

/* The last thing of all: as from main; but where a thread was left behind, nothing runs that is run at an
 * exit, as that thread may come back in the middle of it. */
_Noreturn void leave(int status);

/* Between these a file is being finished, which is waited for. */
void leave_hold(void);
void leave_release(void);

#endif /* SERVER_SESSIONS_LEAVE_H */
