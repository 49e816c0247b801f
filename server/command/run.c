#include "server/command/command.h"
#include "server/command/driver.h"
#include "server/command/launch.h"
#include "server/command/options/options.h"

/* Returns the status of the program if it ended before the user stopped pyrometer. */
int command_run(const struct options *options)
{
    struct driver driver = { .options = options, .serves = true, .has_reader = true };
    struct launch launch;
    struct err err = { 0 };
    launch_init(&launch, &driver);
    enum err_code rc = driver_open(&driver, &err);
    if (!rc)
        rc = launch_start(&launch, &err);
    const bool is_sampled = !rc;
    if (is_sampled)
        rc = driver_serve(&driver, &launch.program, &err);
    else if (launch.is_unsampled)
        launch_go_on(&launch, &err);
    const bool has_status = launch.program.has_ended && (!rc || !is_sampled);
    program_end(&launch.program, &driver.signals);
    const int driver_status = driver_end(&driver, rc, &err);
    const int status = has_status ? program_exit_status(&launch.program) : driver_status;
    driver_close(&driver, status);
    return status;
}
