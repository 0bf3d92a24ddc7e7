#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What docs/performance/goals.md compares: matches, windows and fields on a GPU by the programs of several builds, in
# turns. Prints CSV: the build's name, the command without its folder, and the lines that the program prints.
#
#   bench/goals.sh FRAME.pgm NAME=BUILD_FOLDER... > bench/results/GPU-goals.csv
#
# FRAME.pgm is the `photographs` of images.py. TURNS=3 by default, half a minute a build and turn.
set -euo pipefail

frame=$1
shift
matches=('1920x1080/64/1' '1920x1080/16/1' '1920x1080/64/32' '1920x1080/128/1')

# The lines with results of a program.
run() {
  local name=$1 folder=$2
  shift 2
  "$folder/bench/$1" "${@:2}" | grep -E '^cuda,|^(1024|2048) ' | sed "s|.*|$name,\"$*\",\"&\"|; s|$frame|FRAME|g" ||
    echo "$name,\"$*\",failed" | sed "s|$frame|FRAME|g"
}

run_all() {
  local match=(match_bench --seconds=0.1) match_case in_flight
  for in_flight in 1 2 4; do
    for match_case in "${matches[@]}"; do
      run "$@" "${match[@]}" --matchers=$in_flight --frame="$frame" --filter="$match_case"
    done
    run "$@" "${match[@]}" --matchers=$in_flight --filter=192x192/64/1
    run "$@" "${match[@]}" --matchers=$in_flight --frame="$frame" --filter=1920x1080/64/1 --angles=0,360
  done
  run "$@" window_bench --seconds=0.1 --frame="$frame" --poses --max-peaks=1
  for match_case in '1024 gauss' '2048 gauss' '64-32 least squares 1, quintic'; do
    run "$@" field_bench --backend=cuda --speed --filter="$match_case"
  done
}

echo 'build,command,output'
for ((turn = 0; turn < ${TURNS:-3}; ++turn)); do
  for build in "$@"; do run_all "${build%%=*}" "${build#*=}"; done
done
