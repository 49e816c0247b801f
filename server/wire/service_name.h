/*
 * service_name - what the service of a process is called: service.name of OpenTelemetry in its environment, else the
 * script, module or program that it was started as; never a title that it shows instead of its command line.
 *
 * Ownership: borrowed from the target.
 */
#ifndef SERVER_WIRE_SERVICE_NAME_H
#define SERVER_WIRE_SERVICE_NAME_H

struct session_target;

/* Any bytes; never empty. */
const char *service_name_of(const struct session_target *target);

#endif /* SERVER_WIRE_SERVICE_NAME_H */
