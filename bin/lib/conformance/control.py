"""A client for the simulator's control plane, and a server to which the simulator posts."""

import json
import threading
import urllib.error
import urllib.request
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from appstoreserverlibrary.api_client import AppStoreServerAPIClient
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier

BUNDLE_ID = "com.example.birds"
APP_APPLE_ID = 1234567890
ANSWER_SECONDS_MAX = 60


def request(url, body=None, method=None, headers=None):
    """Sends a GET, or a POST if there is a body. Returns the answer's bytes."""
    call = urllib.request.Request(url, method=method, headers=headers or {})
    if body is not None:
        call.data = json.dumps(body).encode()
        call.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(call, timeout=ANSWER_SECONDS_MAX) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        text = error.read().decode(errors="replace")
        raise RuntimeError(f"{url} answered {error.code}: {text}") from None


class Simulator:
    def __init__(self, url):
        self.url = url
        self.root = request(url + "/_sim/root.cer")
        self.key = self.get("/_sim/api-key")

    def get(self, path):
        return json.loads(request(self.url + path))

    def post(self, path, body=None):
        return json.loads(request(self.url + path, body or {}))

    def reset(self, **settings):
        return self.post("/_sim/reset", settings)

    def advance(self, duration):
        return self.post("/_sim/clock", {"advance": duration})

    def now(self):
        """The virtual time, in milliseconds since 1970."""
        text = self.get("/_sim/clock")["now"].replace("Z", "+00:00")
        return round(datetime.fromisoformat(text).timestamp() * 1000)

    def device(self, account, **more):
        return self.post("/_sim/devices", {"account": account, **more})["device_id"]

    def buy(self, device, product, **more):
        return self.post(f"/_sim/devices/{device}/purchases", {"product_id": product, **more})

    def act(self, subscription, verb, **body):
        return self.post(f"/_sim/subscriptions/{subscription}/{verb}", body)

    def notifications(self):
        return self.get("/_sim/notifications")["notifications"]

    def client(self, sandbox=False, kind=AppStoreServerAPIClient, **key):
        """Apple's client, changed only in its address."""
        key = {**self.key, **key}
        client = kind(
            key["private_key"].encode(),
            key["key_id"],
            key["issuer_id"],
            key["bundle_id"],
            Environment.LOCAL_TESTING,
        )
        client._base_url = self.url + ("/sandbox" if sandbox else "")
        return client

    def verifier(self, sandbox=False, online=False, bundle=BUNDLE_ID, root=None, app=APP_APPLE_ID):
        """Apple's verifier, in its strict mode."""
        environment = Environment.SANDBOX if sandbox else Environment.PRODUCTION
        return SignedDataVerifier([root or self.root], online, environment, bundle, app)


class LetterBox:
    """Stores each posted body, and answers 200."""

    def __init__(self):
        self.bodies = []
        box = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                box.bodies.append((self.path, json.loads(body)))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def posted_to(self, path):
        return [body for place, body in self.bodies if place == path]
