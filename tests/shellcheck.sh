#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# ShellCheck finds nothing in any shell script of the checkout: shellcheck.sh SOURCE
set -euo pipefail

cd "$1"
command -v shellcheck >/dev/null || { echo "SKIPPED: there is no shellcheck here"; exit 77; }
mapfile -t scripts < <(grep -rlE '^#!.*\b(ba)?sh$' --exclude-dir='build*' --exclude-dir=.git .)
printf '%s\n' "${scripts[@]}"
shellcheck --check-sourced "${scripts[@]}"
