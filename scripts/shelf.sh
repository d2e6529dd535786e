#!/usr/bin/env bash
# Runs one shelf of checks and writes its seconds into the ledger; or prints the ledger.
#   shelf.sh run NAME COMMAND...     shelf.sh pytest NAME ARGUMENTS...     shelf.sh show BUDGET_S
# `pytest` differs from `run` in one point: a selection that holds no test yet is said and passes.
set -euo pipefail
LEDGER=build/ledger.tsv
PYTEST_NOTHING_COLLECTED=5

run_shelf() { # $1: kind, $2: name, rest: command
    local kind=$1 name=$2 status=0 verdict=ok started=$SECONDS
    shift 2
    printf '\n== %s\n' "$name"
    "$@" || status=$?
    if [[ $kind == pytest && $status == "$PYTEST_NOTHING_COLLECTED" ]]; then
        echo "shelf $name: no test is marked for it yet, so there was nothing to run"
        status=0 verdict="nothing to run"
    fi
    [[ $status == 0 ]] || verdict="failed ($status)"
    mkdir -p "$(dirname "$LEDGER")"
    printf '%s\t%d\t%s\n' "$name" $((SECONDS - started)) "$verdict" >>"$LEDGER"
    return "$status"
}

show_ledger() { # $1: budget in seconds
    [[ -s $LEDGER ]] || { echo "ledger: no shelf has run"; return; }
    printf '\nLedger (seconds per shelf)\n'
    awk -F '\t' -v budget="$1" '
        { printf "  %-14s %6d  %s\n", $1, $2, $3; total += $2 }
        END { printf "  %-14s %6d  of %d%s\n", "total", total, budget, (total > budget ? "  OVER BUDGET" : "") }' "$LEDGER"
}

case ${1:-} in
run) shift; run_shelf run "$@" ;;
pytest) shift; name=$1; shift; run_shelf pytest "$name" .venv/bin/python -m pytest "$@" ;;
show) show_ledger "$2" ;;
*) sed -n '2,4s/^# //p' "$0"; exit 2 ;;
esac
