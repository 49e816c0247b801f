#include "server/command/command.h"
#include "server/command/driver.h"
#include "server/command/options/options.h"

int command_attach(const struct options *options)
{
    struct driver driver = { .options = options, .serves = true, .has_reader = true };
    struct err err = { 0 };
    enum err_code rc = driver_open(&driver, &err);
    if (rc == ERR_OK)
        rc = driver_start(&driver, &options->sampling, &err);
    if (rc == ERR_OK)
        rc = driver_serve(&driver, NULL, &err);
    const int status = driver_end(&driver, rc, &err);
    driver_close(&driver, status);
    return status;
}
