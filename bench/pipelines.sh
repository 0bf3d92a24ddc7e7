#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Runs all modes of pipeline_bench, each in a process of its own, and prints one table. Ends with 1
# when one of them failed.
#
#   bench/pipelines.sh PROGRAM [--file=CLIP] [OPTION...]    build/bench/pipeline_bench is the program
set -uo pipefail

program=$1
shift
modes=('throughput' 'throughput --track' 'throughput --ordinary-memory' 'latency' 'streams' 'live' 'endurance')
case " $*" in *' --file='*) modes+=('decode' 'decode --track') ;; esac

run_all() {
  local mode failed=0
  for mode in "${modes[@]}"; do
    # shellcheck disable=SC2086 # a mode and its options
    "$program" $mode "$@" || { failed=1 && echo "# failed: $mode"; }
  done
  return "$failed"
}

run_all "$@" | awk '!/^mode,/ || !columns++'
exit "${PIPESTATUS[0]}"
