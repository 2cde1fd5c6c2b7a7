"""Tests the simulator, and a server beside it, with Apple's own Python client and verifier.

Usage: python conformance SIMULATOR_URL SERVER_URL ALONE_URL. The simulator at ALONE_URL has no
server, and its certificates name its OCSP responder. The last line is `N passed, N failed`.
"""

import sys

import calls
import documents
import life
import year
from claims import Claims
from control import Simulator


def main():
    simulator_url, server_url, alone_url = sys.argv[1:4]
    claims = Claims()
    life.run(claims, simulator_url, server_url)
    alone = Simulator(alone_url)
    for part in (calls, documents, year):
        claims.check(f"all {part.__name__} could be tried", lambda p=part: p.run(claims, alone))
    print(f"{claims.passed} passed, {claims.failed} failed")
    return 1 if claims.failed or not claims.passed else 0


if __name__ == "__main__":
    sys.exit(main())
