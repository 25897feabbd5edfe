"""Lists users and adds one, over REST with requests.

    python3 people.py new.person@acme.test

STEWARD_URL, STEWARD_EMAIL and STEWARD_PASSWORD select the service and the login. The default is the demo.
"""

import os
import sys

import requests

API = os.environ.get("STEWARD_URL", "http://localhost:8000") + "/api/v1"
TIMEOUT_SECONDS = 30


class Problem(Exception):
    """A refused request: `code` is the reason, `errors` the messages for each field."""

    def __init__(self, response):
        document = response.json()
        super().__init__(document["detail"])
        self.code = document["type"].rpartition(":")[2]
        self.errors = document.get("errors", {})


def call(session, method, path, **body):
    response = session.request(method, API + path, json=body or None, timeout=TIMEOUT_SECONDS)
    if response.headers.get("Content-Type", "").startswith("application/problem+json"):
        raise Problem(response)
    response.raise_for_status()
    return response.json() if response.content else None


def main():
    email = sys.argv[1] if len(sys.argv) > 1 else "new.person@acme.test"
    username = os.environ.get("STEWARD_EMAIL", "admin@acme.test")
    password = os.environ.get("STEWARD_PASSWORD", "steward-demo-1")

    with requests.Session() as session:
        token = call(session, "POST", "/api-token-auth/", username=username, password=password)["token"]
        session.headers["Authorization"] = f"Token {token}"

        print("People:")
        for user in call(session, "GET", "/jb/users/"):
            print(user["email"])
        try:
            user = call(session, "POST", "/jb/users/", email=email, send_email=False)
            print(f"Added {user['email']}.")
        except Problem as problem:
            if problem.code != "user-exists":
                raise
            print(f"{email} is there already.")
        call(session, "DELETE", "/session/")


if __name__ == "__main__":
    try:
        main()
    except Problem as problem:
        sys.exit(f"{problem} {problem.errors or ''}".strip())
