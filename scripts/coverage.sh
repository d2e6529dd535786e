#!/usr/bin/env bash
# Judges the branch coverage that the shelves gathered.
# Cores decide and touch nothing, so every branch of theirs can be reached by a plain test: 100 %.
# The rest holds error paths of the operating system; 90 % is where hunting the last ones costs more than it finds.
set -euo pipefail
CORES='src/gristmill/**/core.py,src/gristmill/**/core/*,src/gristmill/**/*_core.py'
CORES_PERCENT=100
WHOLE_PERCENT=90

IFS=, read -ra patterns <<<"$CORES"
if [[ -n $(git -c safe.directory='*' ls-files "${patterns[@]}") ]]; then
    .venv/bin/coverage report --include="$CORES" --fail-under="$CORES_PERCENT"
fi
.venv/bin/coverage report --fail-under="$WHOLE_PERCENT"
