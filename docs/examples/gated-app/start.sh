#!/usr/bin/env bash
# Starts the app behind nginx on http://localhost:8080, next to `npm run demo`, and loads packages of the demo's apps that
# are opened there. Ctrl-C ends the app and nginx; the demo keeps the packages.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
export PATH=$PWD/node_modules/.bin:$PATH
steward=${STEWARD_URL:-http://localhost:8000}
site=${SITE_URL:-http://localhost:8080}
nginx=$(PATH=$PATH:/usr/sbin command -v nginx) || { echo 'nginx is missing. On Debian: apt install nginx-light' >&2; exit 1; }
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$work"' EXIT
trap 'exit 0' INT TERM

login() {
  printf '%s' "${DEMO_PASSWORD:-steward-demo-1}" |
    curl --fail --silent --show-error --data-urlencode username=staff@steward.test --data-urlencode password@- \
      "$steward/api/v1/api-token-auth/" | sed -n 's/.*"token":"\([0-9a-f]*\)".*/\1/p'
}
token=$(login) || { echo "No demo on $steward. Run \`npm run demo\` in another terminal first." >&2; exit 1; }
# Where the demo keeps its packages, whichever DATA_DIR it was started with.
APP_STORE=$(curl --fail --silent --show-error "$steward/demo-apps/") || { echo "$steward is not \`npm run demo\`." >&2; exit 1; }
export APP_STORE
call() {
  printf 'header = "Authorization: Token %s"\n' "$token" |
    curl --fail --silent --show-error --config - --header 'Accept: application/json' --json "$2" "$steward/api/v1$1" >/dev/null
}

# load_package SLUG LABEL STACK…
load_package() {
  local slug=$1 label=$2 stack
  mkdir "$work/$slug"
  {
    printf 'slug: %s\nversion: 2.0.0\nlabel: %s\n' "$slug" "$label"
    printf 'description: An app behind the gate.\nlaunch_url: %s/%s/\nstacks:\n' "$site" "$slug"
    for stack in "${@:3}"; do printf '  - { slug: %s, label: %s }\n' "$stack" "${stack^}"; done
  } >"$work/$slug/app.yaml"
  node src/cli.js apps pack "$work/$slug" --out "$work" >/dev/null
  node src/cli.js apps publish "$work/$slug-2.0.0.tgz" >/dev/null
  call "/app/fetch/$slug/" '{"app_version":"2.0.0"}'
  call "/app/load/$slug/" '{}'
}
load_package sales Sales overview trends
load_package churn Churn churn

[ -e packaging/client/dist/src/tickets.js ] || npm run --silent build --workspace @steward/client
STEWARD_URL=$steward PORT=${APP_PORT:-4010} node "$here/app.js" &

# What nginx.conf needs around it, outside of /etc/nginx.
{
  [ "$(id -u)" -ne 0 ] || echo 'user root;'
  printf 'daemon off;\npid %s/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n' "$work"
  for part in client_body proxy fastcgi uwsgi scgi; do printf '%s_temp_path %s/%s;\n' "$part" "$work" "$part"; done
  sed -e "s|http://localhost:8000|$steward|" -e "s|127.0.0.1:8000|127.0.0.1:${steward##*:}|" -e "s|127.0.0.1:8080|127.0.0.1:${site##*:}|" \
    -e "s|127.0.0.1:4010|127.0.0.1:${APP_PORT:-4010}|" "$here/nginx.conf"
  echo '}'
} >"$work/nginx.conf"
"$nginx" -c "$work/nginx.conf" &
echo "Open $site/ and log in as ada@acme.test."
wait -n
