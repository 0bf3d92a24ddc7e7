#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Whether a planted fault is told: by these words, or, if they are empty, by none.
#
#   planted.sh WORDS COMMAND...
set -uo pipefail

words=$1
said=$("${@:2}" 2>&1)
status=$?
echo "$said"
if [ -z "$words" ]; then
  [ "$status" = 0 ] && [ -z "$said" ]
else
  [ "$status" != 0 ] && [[ $said == *"$words"* ]]
fi
