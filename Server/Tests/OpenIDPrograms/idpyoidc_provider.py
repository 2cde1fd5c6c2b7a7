"""A provider of OpenID Connect for tests, by idpyoidc. It signs ID tokens with ES256, and reads the
client's secret in the body of the request only. See people.py for its arguments."""

import http.cookies
import json
import os
import secrets
import urllib.parse
import warnings

import people
from idpyoidc.message.oauth2 import ResponseMessage
from idpyoidc.message.oidc import AccessTokenRequest, AuthorizationRequest
from idpyoidc.server import Server
from idpyoidc.server.configure import OPConfiguration
from idpyoidc.server.exception import FailedAuthentication, UnAuthorizedClient
from idpyoidc.server.user_info import UserInfo

folder, web, issuer = people.listen()
# The package's page for names and passwords warns that it is for tests only.
warnings.simplefilter("ignore")

FORM = """<html><body><form action="{{ action }}" method="post">
<input type="hidden" name="token" value="{{ token }}"> <input name="username">
<input type="password" name="password"> <input type="submit" value="Sign in">
</form></body></html>"""
OIDC = "idpyoidc.server.oidc"


class People(UserInfo):
    """The claims of a person, with the present groups."""

    def __call__(self, user_id, client_id, user_info_claims=None, **arguments):
        claims = {
            "preferred_username": user_id,
            "name": user_id.capitalize(),
            "groups": people.groups(folder, user_id),
        }
        return self.filter(claims, user_info_claims)


def endpoint(path, place, **arguments):
    return {"path": path, "class": f"{OIDC}.{place}", "kwargs": arguments}


with open(os.path.join(folder, "login.jinja2"), "w") as file:
    file.write(FORM)
claims = {"preferred_username": None, "name": None, "groups": None}
configuration = {
    "issuer": issuer,
    "template_dir": folder,
    "key_conf": {
        # The package signs the token in its login page with the RSA key.
        "key_defs": [
            {"type": "EC", "crv": "P-256", "use": ["sig"]},
            {"type": "RSA", "use": ["sig"]},
        ],
        "uri_path": "jwks",
    },
    "preference": {
        "subject_types_supported": ["public"],
        "response_types_supported": ["code"],
        "id_token_signing_alg_values_supported": ["ES256"],
        "token_endpoint_auth_methods_supported": ["client_secret_post"],
    },
    "endpoint": {
        "provider_info": endpoint(
            ".well-known/openid-configuration", "provider_config.ProviderConfiguration"
        ),
        "authorization": endpoint("authorization", "authorization.Authorization"),
        "token": endpoint("token", "token.Token", client_authn_method=["client_secret_post"]),
    },
    "add_on": {
        "pkce": {
            "function": "idpyoidc.server.oauth2.add_on.pkce.add_support",
            "kwargs": {"essential": True, "code_challenge_methods": {"S256": None}},
        }
    },
    "authentication": {
        "user": {
            "acr": "urn:oasis:names:tc:SAML:2.0:ac:classes:InternetProtocolPassword",
            "class": "idpyoidc.server.user_authn.user.UserPassJinja2",
            "kwargs": {
                "verify_endpoint": "verify",
                "template": "login.jinja2",
                "db": {"class": dict, "kwargs": dict.fromkeys(people.NAMES, people.PASSWORD)},
            },
        }
    },
    "userinfo": {"class": People, "kwargs": {}},
    # Without a fixed salt, each start of the provider would give everybody another `sub`.
    "session_params": {
        "sub_func": {
            "public": {
                "class": "idpyoidc.server.session.manager.PublicID",
                "kwargs": {"salt": "birds"},
            }
        }
    },
    "cookie_handler": {
        "class": "idpyoidc.server.cookie_handler.CookieHandler",
        "kwargs": {"sign_key": secrets.token_urlsafe(32)},
    },
    "token_handler_args": {
        "code": {"kwargs": {"lifetime": 600}},
        "token": {"class": "idpyoidc.server.token.jwt_token.JWTToken", "kwargs": {"lifetime": 600}},
        "id_token": {
            "class": "idpyoidc.server.token.id_token.IDToken",
            "kwargs": {"base_claims": claims},
        },
    },
}
server = Server(OPConfiguration(conf=configuration, base_path=folder), cwd=folder)
server.context.cdb[people.CLIENT_ID] = {
    "client_secret": people.CLIENT_SECRET,
    "client_salt": secrets.token_urlsafe(16),
    "redirect_uris": [(people.REDIRECT_URI, {})],
    "response_types_supported": ["code"],
    "token_endpoint_auth_method": "client_secret_post",
    "allowed_scopes": ["openid", "profile"],
}


def fields(environment):
    """The parameters of the address, or of the form."""
    text = environment["QUERY_STRING"]
    if environment["REQUEST_METHOD"] == "POST":
        text = environment["wsgi.input"].read(int(environment["CONTENT_LENGTH"])).decode()
    return dict(urllib.parse.parse_qsl(text))


def facts(environment):
    """What the package wants to know about a request."""
    cookies = http.cookies.SimpleCookie(environment.get("HTTP_COOKIE", ""))
    return {
        "headers": {"authorization": environment.get("HTTP_AUTHORIZATION", "")},
        "method": environment["REQUEST_METHOD"],
        "url": issuer + environment["PATH_INFO"],
        "cookie": [{"name": name, "value": one.value} for name, one in cookies.items()],
    }


def respond(place, arguments, request):
    """Returns status, headers and body of the package's answer."""
    if isinstance(arguments, ResponseMessage) and "error" in arguments:
        return "400 Bad Request", [("Content-Type", "application/json")], arguments.to_json()
    if "http_response" in arguments:
        return "200 OK", [("Content-Type", "text/html")], arguments["http_response"]
    answer = place.do_response(request=request, **arguments)
    headers = list(answer["http_headers"])
    for cookie in answer.get("cookie", []):
        headers.append(("Set-Cookie", f"{cookie['name']}={cookie['value']}; Path=/; HttpOnly"))
    if answer.get("response_placement", place.response_placement) == "url":
        return "303 See Other", headers + [("Location", answer["response"])], ""
    status = "400 Bad Request" if "error" in arguments else "200 OK"
    return status, headers, answer["response"]


def at_endpoint(name, environment):
    place = server.get_endpoint(name)
    try:
        request = place.parse_request(fields(environment), http_info=facts(environment))
    except UnAuthorizedClient:
        problem = json.dumps({"error": "invalid_client"})
        return "401 Unauthorized", [("Content-Type", "application/json")], problem
    if isinstance(request, ResponseMessage) and "error" in request:
        return respond(place, request, request)
    if name == "token":
        request = AccessTokenRequest(**request)
    arguments = place.process_request(request, http_info=facts(environment))
    return respond(place, arguments, request)


def verify(environment):
    """Reads the form with name and password."""
    form = fields(environment)
    method = server.context.authn_broker.get_method_by_id("user")
    name = method.verify(**form)
    begun = method.unpack_token(form["token"])
    request = AuthorizationRequest().from_urlencoded(begun["query"])
    place = server.get_endpoint("authorization")
    session = place.create_session(request, name, begun["authn_class_ref"], begun["iat"], method)
    return respond(place, place.authz_part2(request=request, session_id=session), request)


def application(environment, start):
    path = environment["PATH_INFO"].lstrip("/")
    places = {
        ".well-known/openid-configuration": "provider_config",
        "authorization": "authorization",
        "token": "token",
    }
    if path == "jwks":
        keys = server.keyjar.export_jwks_as_json()
        answer = "200 OK", [("Content-Type", "application/json")], keys
    elif path == "verify":
        try:
            answer = verify(environment)
        except FailedAuthentication:
            answer = "403 Forbidden", [("Content-Type", "text/plain")], "Wrong name or password"
    elif path in places:
        answer = at_endpoint(places[path], environment)
    else:
        answer = "404 Not Found", [("Content-Type", "text/plain")], "Not found"
    status, headers, body = answer
    start(status, headers)
    return [body.encode()]


people.serve(folder, web, application, issuer)
