"""A mail server for tests, by aiosmtpd. It writes its port to FOLDER/port, and each mail that it
accepts to FOLDER/N.json, as Python's own reader of mails understands it."""

import argparse
import asyncio
import email
import email.policy
import json
import os
import ssl

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword


class Post:
    """Accepts mails, except for addresses that begin with `refused`."""

    def __init__(self, folder):
        self.folder = folder
        self.count = 0

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("refused"):
            return "550 No such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        facts = {
            "sender": envelope.mail_from,
            "recipients": envelope.rcpt_tos,
            "isEncrypted": session.ssl is not None,
            "isSignedIn": bool(session.authenticated),
            "headers": {name: str(value) for name, value in mail.items()},
            "body": mail.get_content().replace("\r\n", "\n"),
            "isASCII": all(byte < 128 for byte in envelope.content),
            "longestLine": max(len(line) for line in envelope.content.split(b"\r\n")),
        }
        self.count += 1
        write(os.path.join(self.folder, f"{self.count}.json"), json.dumps(facts))
        return "250 Accepted"


def write(path, text):
    with open(path + ".part", "w") as file:
        file.write(text)
    os.rename(path + ".part", path)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--certificate", help="the file PREFIX.pem; its key is PREFIX.key")
    parser.add_argument("--immediate", action="store_true", help="TLS begins with the connection")
    parser.add_argument("--password", help="sign in with the user perennial and this password")
    parser.add_argument("--mechanism", default="PLAIN", choices=["PLAIN", "LOGIN"])
    given = parser.parse_args()
    context = None
    if given.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(given.certificate + ".pem", given.certificate + ".key")

    def authenticate(server, session, envelope, mechanism, data):
        expected = LoginPassword(b"perennial", (given.password or "").encode())
        return AuthResult(success=data == expected, handled=False)

    post = Post(given.folder)

    def session():
        return SMTP(
            post, hostname="mail.example", tls_context=None if given.immediate else context,
            require_starttls=context is not None and not given.immediate,
            authenticator=authenticate, auth_required=given.password is not None,
            auth_require_tls=context is not None and not given.immediate,
            auth_exclude_mechanism=[{"PLAIN": "LOGIN", "LOGIN": "PLAIN"}[given.mechanism]])

    server = await asyncio.get_running_loop().create_server(
        session, given.host, 0, ssl=context if given.immediate else None)
    write(os.path.join(given.folder, "port"), str(server.sockets[0].getsockname()[1]))
    await server.serve_forever()


asyncio.run(main())
