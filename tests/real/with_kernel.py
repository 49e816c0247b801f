"""A Jupyter kernel that runs a cell; prints its process id."""

import os
import sys

from jupyter_client import KernelManager

here = os.path.dirname(os.path.abspath(__file__))
manager = KernelManager(kernel_name="python3")
manager.start_kernel(cwd=here)
client = manager.client()
client.start_channels()
client.wait_for_ready(timeout=60)
client.execute("import sys\nsys.path.insert(0, %r)\nimport work\ndef in_cell():\n    while True:\n        work.work()\nin_cell()" % here)
print("PID", manager.provisioner.process.pid, flush=True)
print("READY", flush=True)
sys.stdin.read()
client.stop_channels()
manager.shutdown_kernel(now=True)
