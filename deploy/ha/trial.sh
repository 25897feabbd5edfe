#!/bin/bash
# Runs a highly available Steward on one machine, to try it: three etcd members, two PostgreSQL nodes with Patroni, HAProxy and
# two instances. Parts that end are started again after a second, as a service manager would.
#
#   deploy/ha/trial.sh FOLDER         starts everything, until Ctrl-C; FOLDER keeps the data
#   deploy/ha/trial.sh FOLDER PART    runs one part: etcd1-3, node1-2, haproxy, steward1-2
#
# It needs Debian's packages postgresql, patroni, etcd-server and haproxy. BASE_PORT (default 18000) is the first of its ports.
set -euo pipefail

[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mkdir -p "$1"
folder=$(realpath "$1")
part=${2:-all}
here=$(realpath "$(dirname "$0")")
base=${BASE_PORT:-18000}
programs=$(dirname "$(ls /usr/lib/postgresql/*/bin/postgres | sort -V | tail -n 1)")

# PostgreSQL refuses to run as root.
as_postgres=()
if [ "$(id -u)" = 0 ]; then
  as_postgres=(setpriv --reuid=postgres --regid=postgres --init-groups)
  chown postgres: "$folder"
fi

# A password for each role, created by the first part that needs it. The link makes it visible as a whole, and only once.
password_of() {
  local file=$folder/$1.password draft
  if [ ! -e "$file" ]; then
    draft=$(mktemp "$file.XXXXXX")
    head -c 24 /dev/urandom | od -An -v -tx1 | tr -d ' \n' >"$draft"
    ln "$draft" "$file" 2>/dev/null || true
    rm "$draft"
  fi
  cat "$file"
}

run_etcd() {
  local n=$1 member members=
  for member in 1 2 3; do members+=etcd$member=http://127.0.0.1:$((base + 10 + member)),; done
  exec "${as_postgres[@]}" etcd --name "etcd$n" --data-dir "$folder/etcd$n" --log-level warn \
    --listen-client-urls "http://127.0.0.1:$((base + n))" --advertise-client-urls "http://127.0.0.1:$((base + n))" \
    --listen-peer-urls "http://127.0.0.1:$((base + 10 + n))" \
    --initial-advertise-peer-urls "http://127.0.0.1:$((base + 10 + n))" --initial-cluster "${members%,}"
}

run_node() {
  local n=$1
  local api=127.0.0.1:$((base + 20 + n)) address=127.0.0.1:$((base + 30 + n))
  export PATRONI_NAME=node$n PATRONI_ETCD3_HOSTS="127.0.0.1:$((base + 1)),127.0.0.1:$((base + 2)),127.0.0.1:$((base + 3))"
  export PATRONI_RESTAPI_LISTEN=$api PATRONI_RESTAPI_CONNECT_ADDRESS=$api
  export PATRONI_POSTGRESQL_LISTEN=$address PATRONI_POSTGRESQL_CONNECT_ADDRESS=$address
  export PATRONI_POSTGRESQL_DATA_DIR=$folder/node$n PATRONI_POSTGRESQL_PGPASS=$folder/node$n.pgpass
  export PATRONI_POSTGRESQL_BIN_DIR=$programs
  export PATRONI_SUPERUSER_USERNAME=postgres PATRONI_REPLICATION_USERNAME=replicator PATRONI_REWIND_USERNAME=rewinder
  PATRONI_SUPERUSER_PASSWORD=$(password_of postgres)
  PATRONI_REPLICATION_PASSWORD=$(password_of replicator)
  PATRONI_REWIND_PASSWORD=$(password_of rewinder)
  STEWARD_DATABASE_PASSWORD=$(password_of steward)
  export PATRONI_SUPERUSER_PASSWORD PATRONI_REPLICATION_PASSWORD PATRONI_REWIND_PASSWORD STEWARD_DATABASE_PASSWORD
  cd "$here/../.."
  exec "${as_postgres[@]}" patroni "$here/patroni.yml"
}

run_haproxy() {
  export DATABASE_ADDRESS=127.0.0.1:$((base + 40)) PUBLIC_ADDRESS=127.0.0.1:$((base + 80))
  export NODE1_ADDRESS=127.0.0.1:$((base + 31)) NODE1_API_PORT=$((base + 21))
  export NODE2_ADDRESS=127.0.0.1:$((base + 32)) NODE2_API_PORT=$((base + 22))
  export INSTANCE1_ADDRESS=127.0.0.1:$((base + 51)) INSTANCE2_ADDRESS=127.0.0.1:$((base + 52))
  exec haproxy -db -q -f "$here/haproxy.cfg"
}

# With the demo workspace, unless STEWARD_COMMAND says serve.
run_steward() {
  export DATABASE_URL SECRET_KEY DATA_DIR=$folder/steward HOST=127.0.0.1 PORT=$((base + 50 + $1))
  export BASE_URL=http://localhost:$((base + 80)) TRUST_PROXY=1
  DATABASE_URL=postgres://steward:$(password_of steward)@127.0.0.1:$((base + 40))/steward
  SECRET_KEY=$(password_of secret-key)
  mkdir -p "$DATA_DIR"
  local cli=$here/../../src/cli.js
  [ -e "$cli" ] || cli=$here/../dist/src/cli.js
  exec node "$cli" "${STEWARD_COMMAND:-demo}"
}

# In the opposite order: Patroni needs etcd to end in order.
stop_all() {
  local i
  rm -f "$folder/is-ready"
  for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
    kill "${pids[i]}" 2>/dev/null || true
    wait "${pids[i]}" || true
  done
  exit
}

pids=()
run_all() {
  rm -f "$folder/is-ready"
  local parts=(etcd1 etcd2 etcd3 node1 node2 haproxy steward1 steward2) name
  for name in "${parts[@]}"; do
    (
      child=
      trap 'kill "$child" 2>/dev/null; wait; exit' TERM
      while :; do
        "$0" "$folder" "$name" >>"$folder/$name.log" 2>&1 &
        child=$!
        wait "$child" || true
        [ ! -e "$folder/is-ready" ] || echo "$(date +%T) $name has ended and is started again: see $folder/$name.log"
        sleep 1
      done
    ) &
    pids+=($!)
  done
  trap stop_all INT TERM
  until curl -sf "http://127.0.0.1:$((base + 80))/readyz" >/dev/null; do sleep 1; done
  touch "$folder/is-ready"
  echo "Steward: http://localhost:$((base + 80))    PostgreSQL: 127.0.0.1:$((base + 40))    Ctrl-C stops all parts."
  wait
}

case $part in
  all) run_all ;;
  etcd[1-3]) run_etcd "${part#etcd}" ;;
  node[12]) run_node "${part#node}" ;;
  haproxy) run_haproxy ;;
  steward[12]) run_steward "${part#steward}" ;;
  *) echo "Unknown part: $part" >&2; exit 2 ;;
esac
