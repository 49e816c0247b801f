"""A kernel of a notebook that runs the cell of jupyter_cell.py.  It prints the process id of the kernel, then what the cell prints.

Usage: jupyter_kernel.py SECONDS
"""

import os
import sys

from jupyter_client.manager import start_new_kernel

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    manager, client = start_new_kernel(kernel_name="python3", cwd=HERE)
    print("PID", manager.provisioner.process.pid, flush=True)
    client.execute_interactive("SECONDS = " + sys.argv[1])
    with open(os.path.join(HERE, "jupyter_cell.py"), encoding="utf-8") as file:
        client.execute_interactive(file.read(), timeout=120)
    client.stop_channels()
    manager.shutdown_kernel(now=True)


main()
