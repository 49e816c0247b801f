/*
 * identity - who a command that was started as root becomes.
 *
 *     writes nothing by name any more          nobody (65534)
 *     writes into folders of one owner         that owner
 *     writes into folders of several owners    root, and needs CAP_DAC_OVERRIDE
 *     was made setuid                          who started it
 *
 * Written by name later: reports and the quality file (renamed into their folder at the end), a
 * capture and a Unix socket (removed), shares, the data folder.
 *
 * Depends on: options, captures_folder.
 */
#ifndef SERVER_COMMAND_PROCESS_IDENTITY_H
#define SERVER_COMMAND_PROCESS_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

enum { IDENTITY_NOBODY = 65534 };

struct options;

struct identity_choice {
    uid_t uid;
    gid_t gid;
    bool needs_override; /* uid alone may not write into all of the folders */
};

/* Those of `options` that exist are looked at as the caller's rights allow. */
void identity_choose(const struct options *options, struct identity_choice *out);

#endif /* SERVER_COMMAND_PROCESS_IDENTITY_H */
