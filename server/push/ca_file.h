/*
 * ca_file - where the system keeps the certificates that it trusts.
 *
 * Distributions keep them at different places, and a static program runs on any of them.
 */
#ifndef SERVER_PUSH_CA_FILE_H
#define SERVER_PUSH_CA_FILE_H

/* The first of the usual places that can be read; NULL: none. */
const char *ca_file_of_system(void);

#endif /* SERVER_PUSH_CA_FILE_H */
