/*
 * hosting - what commands that start sessions on request share: a dashboard with the limits of the options.
 */
#ifndef SERVER_COMMAND_HOSTING_H
#define SERVER_COMMAND_HOSTING_H

#include "sampler/base/err.h"

struct dashboard;
struct live;
struct options;

/* Opens the dashboard of the sessions of `live`, with the engines, and gives it to the API.  Faults of sessions
 * are printed and logged.  dashboard_close it also after a failure. */
MUST_CHECK enum err_code hosting_open(struct dashboard *dashboard, struct live *live,
                                      const struct options *options, struct err *err);

#endif /* SERVER_COMMAND_HOSTING_H */
