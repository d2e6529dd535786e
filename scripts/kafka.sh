#!/bin/sh
# Fetches Apache Kafka for the tests with a real broker, and starts one.
#   kafka.sh fetch                        fetch once (54 MB from Maven Central) and print the folder of its jars
#   kafka.sh run FOLDER PORT CONTROLLER   run one broker on loopback with its data in FOLDER, until it is ended
# Needs Java 17 or newer; to fetch also Maven. GRISTMILL_KAFKA_JARS names a folder that has the jars already.
set -eu
HERE=$(cd "$(dirname "$0")" && pwd)
JARS=${GRISTMILL_KAFKA_JARS:-${XDG_CACHE_HOME:-$HOME/.cache}/gristmill/kafka-4.1.0}

need() { # $1: command, $2: Debian package
    command -v "$1" >/dev/null 2>&1 && return
    echo "kafka: $1 is missing, so no broker can be started (Debian: apt-get install -y $2)" >&2
    exit 3
}

fetch() {
    if [ ! -e "$JARS/.complete" ] && [ -z "${GRISTMILL_KAFKA_JARS:-}" ]; then
        need mvn maven
        mkdir -p "$JARS"
        mvn -q -B -f "$HERE/kafka-pom.xml" dependency:copy-dependencies -DoutputDirectory="$JARS" >&2
        touch "$JARS/.complete"
    fi
    echo "$JARS"
}

run() { # $1: folder, $2: port of the broker, $3: port of the controller
    need java openjdk-17-jre-headless
    jars=$(fetch)
    mkdir -p "$1"
    cat >"$1/server.properties" <<CONF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$3
listeners=PLAINTEXT://127.0.0.1:$2,CONTROLLER://127.0.0.1:$3
advertised.listeners=PLAINTEXT://127.0.0.1:${KAFKA_ADVERTISED_PORT:-$2}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=$1/data
message.max.bytes=10485760
replica.fetch.max.bytes=10485760
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
auto.create.topics.enable=false
log.cleaner.dedupe.buffer.size=2097152
num.network.threads=2
num.io.threads=2
CONF
    if [ ! -e "$1/data/meta.properties" ]; then
        java -Xmx128m -cp "$jars/*" kafka.tools.StorageTool format \
            -t "Z3Jpc3RtaWxsLXRlc3RzMQ" -c "$1/server.properties" >"$1/format.log" 2>&1 || { cat "$1/format.log" >&2; exit 1; }
    fi
    exec java -Xmx384m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$jars/*" kafka.Kafka "$1/server.properties"
}

case ${1:-} in
fetch) fetch ;;
run) [ $# = 4 ] || { sed -n '2,5s/^# //p' "$0"; exit 2; }; run "$2" "$3" "$4" ;;
*) sed -n '2,5s/^# //p' "$0"; exit 2 ;;
esac
