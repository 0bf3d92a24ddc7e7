# SPDX-License-Identifier: LGPL-2.1-or-later
"""No memory: MemoryError, and the process goes on."""
import subprocess
import sys

PROGRAM = """
import resource
import numpy
import xcorr

image = numpy.zeros((9000, 9000), "u1")
image[::3, ::7] = 9
template = image[:400, :400]
small = xcorr.match_template(image[:50, :50], template[:5, :5])
out = numpy.empty((8601, 8601), "f4")
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), -1))
try:
    xcorr.match_template(image, template, out=out)
except MemoryError as error:
    assert str(error), "no text"
else:
    raise AssertionError("it worked")
assert (xcorr.match_template(image[:50, :50], template[:5, :5]) == small).all()
"""


def test_no_memory():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
