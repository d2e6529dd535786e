#!/bin/sh
# Sees to it that there is a Redis server for the tests marked `cluster`; installs Debian's where it may. Safe to call
# twice. It only installs the program: tests start servers of their own, on free ports of the loopback.
set -eu
if ! command -v redis-server >/dev/null 2>&1; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        echo "redis: the tests marked cluster need redis-server 7.0 or newer. As root: apt-get install -y redis-server" >&2
        exit 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends redis-server >/dev/null
fi
redis-server --version
