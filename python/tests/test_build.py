# SPDX-License-Identifier: LGPL-2.1-or-later
"""For which Pythons and GPUs a build from source is, where no option says it."""
import os
import pathlib
import subprocess
import sys
import sysconfig

import pytest

import xcorr._xcorr

SCRIPTS = pathlib.Path(__file__).parents[2] / "scripts"


def archs_to_build(folder, gpus):
    """(status, what is printed) on a machine with these GPUs and an nvcc that knows 9.0 at most."""
    tools = {"nvidia-smi": f"printf '{gpus}'" if gpus else "exit 9",
             "nvcc": "printf 'compute_%s\\n' 50 75 80 86 90"}
    for name, line in tools.items():
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", '. "$0/common.sh"; archs_to_build', SCRIPTS], check=False,
                          text=True, stdout=subprocess.PIPE,
                          env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
    return done.returncode, done.stdout.strip()


@pytest.mark.parametrize("gpus, archs", [("9.0\\n", "90"), ("9.0\\n8.6\\n9.0\\n", "86,90"), ("8.9\\n", "86"),
                                         ("12.0\\n", "90"), ("6.1\\n7.5\\n", "75")])
def test_the_newest_that_each_gpu_runs(tmp_path, gpus, archs):
    assert archs_to_build(tmp_path, gpus) == (0, archs)


@pytest.mark.parametrize("gpus, why", [("", "no NVIDIA GPU"), ("[N/A]\\n", "no NVIDIA GPU"), ("6.1\\n", "older than")])
def test_why_there_are_none(tmp_path, gpus, why):
    status, printed = archs_to_build(tmp_path, gpus)
    assert status and why in printed


def test_one_module_for_all_pythons_from_3_12_on():
    """But for those without the GIL."""
    stable = sys.version_info >= (3, 12) and not sysconfig.get_config_var("Py_GIL_DISABLED")
    assert xcorr._xcorr.__file__.endswith(".abi3.so") == stable
