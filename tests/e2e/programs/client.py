"""Asks a server of this machine for its page all the time.

Usage: client.py PORT SECONDS
"""

import sys
import time
import urllib.request

end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    try:
        urllib.request.urlopen("http://127.0.0.1:" + sys.argv[1] + "/", timeout=60).read()
    except OSError:
        break
