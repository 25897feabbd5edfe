#!/bin/sh
# /usr/local/bin/steward: runs a command of Steward as the user of the service, with its settings. Run it as root.
# STEWARD_FOLDER is the folder of another version: STEWARD_FOLDER=/opt/steward-0.2.0 steward migrate --dry-run
set -eu

settings=/etc/steward.env
export HOME=/var/lib/steward DATA_DIR=/var/lib/steward

# As systemd reads an EnvironmentFile: a shell would expand what is in the values.
if [ -e "$settings" ]; then
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in [A-Za-z_]*=*) ;; *) continue ;; esac
    value=${line#*=}
    case $value in
      \"*\") value=${value#\"} value=${value%\"} ;;
      \'*\') value=${value#\'} value=${value%\'} ;;
    esac
    export "${line%%=*}=$value"
  done <"$settings"
fi

exec runuser -u steward -- "${STEWARD_FOLDER:-/opt/steward}/node_modules/.bin/steward" "$@"
