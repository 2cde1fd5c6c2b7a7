"""What the providers of OpenID Connect for tests share: the people, the client, and a web server.

Each provider is a program with the argument FOLDER. It writes its issuer to FOLDER/issuer when it
listens, and reads the groups of each person from FOLDER/groups.json at each sign-in."""

import json
import os
import socketserver
import sys
import wsgiref.simple_server

NAMES = ["anna", "ben"]
PASSWORD = "correct horse battery"
CLIENT_ID = "perennial"
CLIENT_SECRET = "a secret: of birds & bees"
REDIRECT_URI = "https://localhost/login/openid/answer"


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


class Handler(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *arguments):
        pass


def groups(folder, name):
    with open(os.path.join(folder, "groups.json")) as file:
        return json.load(file).get(name, [])


def listen():
    """Returns the folder of the arguments, a web server at a free port, and its address."""
    server = Server(("127.0.0.1", 0), Handler)
    return sys.argv[1], server, f"http://127.0.0.1:{server.server_port}"


def serve(folder, server, application, issuer):
    server.set_app(application)
    path = os.path.join(folder, "issuer")
    with open(path + ".part", "w") as file:
        file.write(issuer)
    os.rename(path + ".part", path)
    server.serve_forever()
