#!/bin/sh
# Lists people and adds one, over REST with curl.
#   sh people.sh new.person@acme.test
# STEWARD_URL, STEWARD_EMAIL and STEWARD_PASSWORD say where and as whom; without them it is the demo.
set -eu
api=${STEWARD_URL:-http://localhost:8000}/api/v1
newcomer=${1:-new.person@acme.test}

# Passwords and tokens go in by standard input: what stands in the command line, every user of the machine can read.
answer=$(
  printf '%s' "${STEWARD_PASSWORD:-steward-demo-1}" |
    curl --silent --show-error --data-urlencode "username=${STEWARD_EMAIL:-admin@acme.test}" \
      --data-urlencode password@- "$api/api-token-auth/"
)
token=$(printf '%s' "$answer" | sed -n 's/.*"token":"\([0-9a-f]*\)".*/\1/p')
if [ -z "$token" ]; then
  echo "Not logged in: $answer" >&2
  exit 1
fi

steward() {
  printf 'header = "Authorization: Token %s"\n' "$token" | curl --silent --show-error --config - "$@"
}

echo "People:"
steward --header 'Accept: application/json' "$api/jb/users/" | grep -o '"email":"[^"]*"' | cut -d '"' -f 4

# A refusal is a problem document: its `type` says why, and `errors` which field.
answer=$(steward --json "{\"email\":\"$newcomer\",\"send_email\":false}" "$api/jb/users/")
case $answer in
*urn:steward:problem:user-exists*) echo "$newcomer is there already." ;;
*urn:steward:problem:*) echo "Not added: $answer" >&2 && exit 1 ;;
*) echo "Added $newcomer." ;;
esac
steward --request DELETE "$api/session/"
