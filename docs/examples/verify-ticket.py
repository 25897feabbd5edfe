"""Verifies a ticket of Steward and prints its claims. Needs Debian's python3-jwt and python3-cryptography.

    python3 verify-ticket.py https://steward.example.com sales < ticket
"""

import json
import sys

import jwt

CLAIMS = ["iss", "aud", "sub", "exp", "iat", "roles"]


def verify(ticket, keys, issuer, app):
    key = keys.get_signing_key_from_jwt(ticket).key
    options = {"require": CLAIMS}
    claims = jwt.decode(ticket, key, algorithms=["ES256"], issuer=issuer, audience=app, leeway=30, options=options)
    if "data_permissions" not in claims:  # It may be null, which PyJWT takes for missing.
        raise jwt.MissingRequiredClaimError("data_permissions")
    return claims


if __name__ == "__main__":
    issuer, app = sys.argv[1:3]
    # Keep one client for all tickets: it caches the keys.
    keys = jwt.PyJWKClient(f"{issuer}/.well-known/jwks.json", lifespan=300)
    try:
        print(json.dumps(verify(sys.stdin.read().strip(), keys, issuer, app)))
    except jwt.PyJWTError as error:
        sys.exit(f"Refused: {error}")
