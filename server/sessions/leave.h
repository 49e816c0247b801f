/*
 * leave - ends the process in time, even if a thread hangs.
 *
 * A target can keep one of our threads in the kernel for ever, with a file system that does not answer
 * or memory that never arrives.  Such a thread cannot be joined, and what it uses cannot be freed.  So a
 * command that has finished its work sets a time limit and then cleans up; if that takes longer, the
 * process ends without it.
 *
 * Threads: any.
 */
#ifndef SERVER_SESSIONS_LEAVE_H
#define SERVER_SESSIONS_LEAVE_H

/* For a command that has written all its output. */
enum { LEAVE_MS = 300 };

/* The process ends with that status after this time, unless it has ended before. */
void leave_within(int milliseconds, int status);

/* Ends the process as a return from main does.  If a thread was left behind, exit handlers do not run,
 * because the thread may continue in the middle of them. */
_Noreturn void leave(int status);

/* Between these two calls a file is completed; the process does not end before. */
void leave_hold(void);
void leave_release(void);

#endif /* SERVER_SESSIONS_LEAVE_H */
