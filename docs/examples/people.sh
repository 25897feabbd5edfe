#!/bin/sh
# Lists users and adds one, over REST with curl.
#   sh people.sh new.person@acme.test
# STEWARD_URL, STEWARD_EMAIL and STEWARD_PASSWORD select the service and the login. The default is the demo.
set -eu
api=${STEWARD_URL:-http://localhost:8000}/api/v1
email=${1:-new.person@acme.test}

# Passwords and tokens are passed on standard input, because all users of the machine can read command lines.
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

# A refused request returns a problem document: `type` is the reason, `errors` the messages for each field.
answer=$(steward --json "{\"email\":\"$email\",\"send_email\":false}" "$api/jb/users/")
case $answer in
*urn:steward:problem:user-exists*) echo "$email is there already." ;;
*urn:steward:problem:*) echo "Not added: $answer" >&2 && exit 1 ;;
*) echo "Added $email." ;;
esac
steward --request DELETE "$api/session/"
