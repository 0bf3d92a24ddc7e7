# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command `python -m xcorr.fleet`."""
import argparse
import sys


def arguments(given, program):
    parser = argparse.ArgumentParser(prog=program, description="Follows cameras until they end.")
    parser.add_argument("file", help="the cameras, in YAML")
    parser.add_argument("--address", help="of a Ray cluster; by default one of this machine")
    parser.add_argument("--workers", type=int, help="of a cluster of this machine; by default one a core")
    return parser.parse_args(given)


def main(given=None, program="python -m xcorr.fleet"):
    options = arguments(given, program)
    failed = []

    def tell(camera, reason):
        print(f"{camera.name}: {reason or 'the stream has ended'}", file=sys.stderr, flush=True)
        if reason:
            failed.append(camera)
    try:
        from . import camera, cluster, config
        fleet = config.read(options.file)
        for one in fleet:
            camera.launch_line(one)  # refuses what is not a property
            camera.client(one.redis).close()
        cluster.run(fleet, options.address, options.workers, tell)
    except KeyboardInterrupt:
        pass
    except (ImportError, OSError, ValueError, RuntimeError) as error:
        return f"xcorr.fleet: {error}"
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
