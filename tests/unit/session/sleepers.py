"""Waits in four threads, each for bytes of a pipe of its own.

Usage: sleepers.py LIBRARY DESCRIPTOR...

Prints the number of each thread. The first two are the main thread and one more. The C stacks of the others have arrays that nothing
was ever written to: in the last one, one of two megabytes.
"""

import ctypes
import os
import sys
import threading

library = ctypes.CDLL(sys.argv[1])
callback = ctypes.CFUNCTYPE(None)
descriptors = [int(text) for text in sys.argv[2:]]


def wait(index):
    os.write(1, b"%d %d\n" % (index, threading.get_native_id()))
    while os.read(descriptors[index], 1):
        pass


def wait_below(function, index):
    function(callback(lambda: wait(index)))


threading.Thread(target=wait, args=[1], daemon=True).start()
threading.Thread(target=wait_below, args=[library.with_array, 2], daemon=True).start()
threading.Thread(target=wait_below, args=[library.with_large_array, 3], daemon=True).start()
wait(0)
