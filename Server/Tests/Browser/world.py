"""A private `perennial dev`: server, simulator and dashboard, on free ports, with an empty
database. And what people do in it: they buy, and the app posts what StoreKit returned."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import textwrap
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("PERENNIAL_PROGRAM", str(ROOT / "Server/.build/debug/perennial"))
APP_KEY, SECRET_KEY = "pk_dev_birds", "sk_dev_birds"

START_SECONDS_MAX = 60
ANSWER_SECONDS_MAX = 120


class World:
    """The constructor starts it. `stop()` ends it and removes its folder."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="perennial-browser-"))
        self.log = self.folder / "log"
        self.tokens = {}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [PROGRAM, "dev", "--port", "0", "--simulator-port", "0"]
                + ["--data", str(self.folder / "data"), "--fresh"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.server = self._address("server")
        self.simulator = self._address("simulator")

    def _address(self, name):
        """The address in the program's first lines, which are printed when everything is ready."""
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            text = self.log.read_text(errors="replace")
            found = re.search(rf"^{name} +(http://\S+)$", text, re.MULTILINE)
            if found and re.search(r"^keys ", text, re.MULTILINE):
                return found[1].replace("localhost", "127.0.0.1")
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError(f"perennial dev did not start. Its log:\n{self.log.read_text()}")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    # The server's API, and the simulator's routes.

    def api(self, path, body=None, key=SECRET_KEY, method=None):
        return send(self.server + path, body, {"Authorization": f"Bearer {key}"}, method)

    def sim(self, path, body=None):
        return send(f"{self.simulator}/_sim/{path}", body)

    # What customers do.

    def device(self, account, **more):
        return self.sim("devices", {"account": account, **more})["device_id"]

    def token(self, account):
        """The token that the app sets at each purchase, so that Apple's notifications name the
        customer."""
        if account not in self.tokens:
            answer = self.api(f"/v1/customers/{quoted(account)}/account_token", {}, APP_KEY)
            self.tokens[account] = answer["account_token"]
        return self.tokens[account]

    def buy(self, device, product, customer, **more):
        """Buys, and posts what StoreKit returned, as an app does. Returns the simulator's response."""
        more = {"app_account_token": self.token(customer), **more}
        bought = self.sim(f"devices/{device}/purchases", {"product_id": product, **more})
        if bought["result"] == "purchased":
            self.post_signed(customer, [bought["signed_transaction"]])
            self.sim(f"devices/{device}/transactions/{bought['transaction_id']}/finish", {})
        return bought

    def post_signed(self, customer, signed, intent="purchase"):
        body = {"customer_id": customer, "signed_transactions": signed, "intent": intent}
        return self.api("/v1/purchases", body, APP_KEY)

    def act(self, subscription, verb, **body):
        return self.sim(f"subscriptions/{subscription}/{verb}", body)

    def advance(self, duration):
        """Advances the clock. Everything that falls due has happened when it returns."""
        return self.sim("clock", {"advance": duration})

    def grant(self, customer, entitlement="pro", reason="a present"):
        body = {"entitlement": entitlement, "reason": reason}
        return self.api(f"/v1/customers/{quoted(customer)}/grants", body)

    def order_id(self, transaction):
        """The number in Apple's mail to the customer."""
        return self.sim(f"transactions/{transaction}")["order_id"]


class Served:
    """A `perennial serve` whose dashboard asks people to sign in. `first_link` makes the first
    account. Browsers make passkeys only at the host `localhost`."""

    CONFIGURATION = """
        apps:
          birds:
            bundle_id: com.example.birds
            app_apple_id: 1
            products: {{pro.monthly: [pro]}}
        dashboard:
          url: {server}
        settings: {{database: p.sqlite}}
        """

    def __init__(self, host="127.0.0.1"):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="perennial-browser-"))
        port = free_port()
        self.server = f"http://{host}:{port}"
        text = textwrap.dedent(self.CONFIGURATION).format(server=self.server)
        (self.folder / "perennial.yaml").write_text(text)
        self.log = self.folder / "log"
        create = [PROGRAM, "keys", "create", "--app", "birds", "--kind", "secret"]
        subprocess.run(create, cwd=self.folder, check=True, capture_output=True)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [PROGRAM, "serve", "--port", str(port)],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.first_link = self._first_link()

    def _first_link(self):
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline and self.process.poll() is None:
            found = re.search(r"http\S+/links/[0-9a-f]+", self.log.read_text(errors="replace"))
            if found and answers(self.server + "/ready"):
                return found[0]
            time.sleep(0.05)
        raise RuntimeError(f"perennial serve did not start. Its log:\n{self.log.read_text()}")

    stop = World.stop


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


def quoted(text):
    return urllib.parse.quote(text, safe="")


def send(url, body=None, headers=None, method=None):
    """GET, or POST if there is a body. Returns the JSON of the response."""
    call = urllib.request.Request(url, method=method, headers=headers or {})
    if body is not None:
        call.data = json.dumps(body).encode()
        call.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(call, timeout=ANSWER_SECONDS_MAX) as answer:
            return json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        text = error.read().decode(errors="replace")
        raise RuntimeError(f"{url} answered {error.code}: {text}") from None


class Receiver:
    """A receiver of webhooks. Responds with `status`, and records what was posted."""

    def __init__(self, status=200):
        self.status = status
        self.bodies = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                receiver.bodies.append(json.loads(body))
                self.send_response(receiver.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/events"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
