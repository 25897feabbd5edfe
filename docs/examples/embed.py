"""Prints an address that opens an app once, within a minute, as a user whose data permissions limit what they see.

    python3 embed.py sales guest@acme.test '{"region": ["North"]}'

A page shows it in a frame. STEWARD_URL, STEWARD_EMAIL and STEWARD_PASSWORD select the service and the login of a
client admin. The default is the demo.
"""

import json
import os
import sys

import requests

API = os.environ.get("STEWARD_URL", "http://localhost:8000") + "/api/v1/jb"


def call(session, method, path, **body):
    response = session.request(method, API + path, json=body or None, timeout=30)
    if not response.ok:
        sys.exit(response.json()["detail"])
    return response.json()


def main(slug, email, data_permissions):
    username = os.environ.get("STEWARD_EMAIL", "admin@acme.test")
    password = os.environ.get("STEWARD_PASSWORD", "steward-demo-1")
    with requests.Session() as session:
        token = call(session, "POST", "/api-token-auth/", email=username, password=password)["token"]
        session.headers["Authorization"] = f"JWT {token}"
        app = next(app["id"] for app in call(session, "GET", "/apps/") if app["slug"] == slug)
        known = session.get(f"{API}/users/{email}/", timeout=30).ok
        if known:
            call(session, "PATCH", f"/users/{email}/", extra=data_permissions)
        else:
            call(session, "POST", "/users/", email=email, extra=data_permissions, apps=[app], send_email=False)
        print(call(session, "GET", f"/apps/{app}/embed/{email}/")["url"])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
