"""A receiver of webhooks for tests. It writes its port to FOLDER/port, and each request to
FOLDER/N.json."""

import http.server
import json
import os
import sys

folder = sys.argv[1]
count = 0


def write(path, text):
    with open(path + ".part", "w") as file:
        file.write(text)
    os.rename(path + ".part", path)


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        global count
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        count += 1
        headers = {name.lower(): value for name, value in self.headers.items()}
        write(os.path.join(folder, f"{count}.json"), json.dumps({"headers": headers, "body": body}))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
write(os.path.join(folder, "port"), str(server.server_port))
server.serve_forever()
