# What .ci/run and .ci/nightly share: packages, a PostgreSQL of Debian in a temporary folder, and the totals of several runs.

# Databases in memory take less CPU time. In containers this file system is often too small.
memory=/dev/shm
if [ "$(df --block-size=1G --output=avail "$memory" 2>/dev/null | tail -n 1)" -ge 4 ] 2>/dev/null; then
  work=$(mktemp -d -p "$memory")
else
  work=$(mktemp -d)
fi
chmod 755 "$work"
clusters=()

# PostgreSQL refuses to run as root; an ordinary user runs it as himself.
as_postgres() {
  if [ "$(id -u)" -eq 0 ]; then (cd / && runuser -u postgres -- "$@"); else "$@"; fi
}

stop_clusters() {
  local cluster
  for cluster in "${clusters[@]}"; do
    [ ! -f "$cluster/postmaster.pid" ] || as_postgres "$programs/pg_ctl" -D "$cluster" -m fast -w stop >/dev/null || true
  done
}

clean_up() {
  wait
  stop_clusters
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Installs those of the Debian packages that are missing.
install_packages() {
  local package missing=()
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ "${#missing[@]}" -gt 0 ] || return 0

  echo "Installing ${missing[*]}"
  apt-get update -qq
  # Without this the package of PostgreSQL makes and starts a cluster of its own.
  mkdir -p /etc/postgresql-common
  [ -e /etc/postgresql-common/createcluster.conf ] ||
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  # With this run level, packages do not start their services.
  RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}"
}

# start_postgres NAME [VARIABLE=VALUE…]: starts a cluster with these environment variables, and sets `url` to its address over TCP.
start_postgres() {
  local cluster=$work/$1 installed=(/usr/lib/postgresql/*/bin) port
  shift
  programs=${installed[-1]}
  port=$(node --eval "const s = require('node:net').createServer().listen(0, '127.0.0.1', () => { console.log(s.address().port); s.close(); })")
  mkdir -m 700 "$cluster"
  [ "$(id -u)" -ne 0 ] || chown postgres "$cluster"
  as_postgres "$programs/initdb" -D "$cluster" -U steward -A trust -E UTF8 --locale=C.UTF-8 --no-sync >"$work/initdb.log"
  clusters+=("$cluster")
  as_postgres env "$@" "$programs/pg_ctl" -D "$cluster" -w -l "$cluster/log" -o "-p $port -c listen_addresses=127.0.0.1 \
    -c unix_socket_directories= -c fsync=off -c shared_buffers=32MB -c max_connections=300" start >/dev/null
  as_postgres "$programs/postgres" --version
  url=postgres://steward@127.0.0.1:$port/postgres
}

# record NAME COMMAND…: shows a run as it goes, and keeps its last line, to be counted at the end.
totals=$work/totals
record() {
  local name=$1 output started=$SECONDS
  output=$work/$name.log
  shift
  echo "== $name: $*"
  if ! "$@" 2>&1 | tee "$output"; then failures=$((failures + 1)); fi
  if ! tail -n 1 "$output" | grep -E '^[0-9]+ passed, [0-9]+ failed$' >>"$totals"; then
    echo "The run $name ended without its totals."
    echo '0 passed, 1 failed' >>"$totals"
    failures=$((failures + 1))
  fi
  echo "== $name took $((SECONDS - started)) s"
}
failures=0

# Adds up one column of the totals: 1 for passed, 3 for failed.
total() {
  awk -v column="$1" '{ sum += $column } END { print sum + 0 }' "$totals"
}

# Prints the last line, and ends.
conclude() {
  echo "$(total 1) passed, $(total 3) failed"
  [ "$failures" -eq 0 ]
}
