#!/bin/sh
# Creates the folder .venv and installs the project into it with everything that tests need.
# Needs a Python of at least 3.11 and nothing else. Safe to call twice.
set -eu
cd "$(dirname "$0")/.."
VENV=.venv

is_fit() { # $1: a Python that is new enough and can create environments
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && "$1" -c 'import ensurepip, venv' 2>/dev/null
}

find_python() {
    for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
        if command -v "$candidate" >/dev/null 2>&1 && is_fit "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    echo "setup: Gristmill needs Python 3.11 or newer, with its venv module. Found:" >&2
    for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
        command -v "$candidate" >/dev/null 2>&1 || continue
        echo "  $candidate: $("$candidate" --version 2>&1)$(is_fit "$candidate" || echo ', too old or without venv')" >&2
    done
    echo "Install one (Debian: apt-get install python3 python3-venv), or name it: make setup PYTHON=/path/to/python3" >&2
    return 1
}

if ! [ -x "$VENV/bin/python" ] || ! is_fit "$VENV/bin/python"; then
    python=$(find_python)
    echo "setup: creating $VENV with $("$python" --version)"
    "$python" -m venv --clear "$VENV"
fi

# uv installs in seconds what takes pip a minute; pip is the way out where uv is not to be had.
[ -x "$VENV/bin/uv" ] || "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check uv ||
    echo "setup: uv is not to be had, going on with pip"
if ! { [ -x "$VENV/bin/uv" ] && "$VENV/bin/uv" pip install --quiet --python "$VENV/bin/python" -e '.[text,media,parquet,kafka,grpc,redis,postgres,proto,avro,dev]'; }; then
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check -e '.[text,media,parquet,kafka,grpc,redis,postgres,proto,avro,dev]'
fi
touch "$VENV/.installed"
echo "setup: done"
