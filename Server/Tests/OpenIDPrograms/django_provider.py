"""A provider of OpenID Connect for tests, by Django and django-oauth-toolkit.

It signs ID tokens with RS256, and reads the client's secret in the header `Authorization`. See
people.py for its arguments."""

import os

import django
import people
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings

folder, server, address = people.listen()

LOGIN = """<html><body><form method="post">{% csrf_token %}{{ form.as_p }}
<input type="hidden" name="next" value="{{ next }}"><button>Sign in</button></form></body></html>"""

key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
    serialization.Encoding.PEM,
    serialization.PrivateFormat.PKCS8,
    serialization.NoEncryption(),
)
settings.configure(
    SECRET_KEY=os.urandom(16).hex(),
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    USE_TZ=True,
    STATIC_URL="/static/",
    LOGIN_URL="/login",
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": os.path.join(folder, "provider.sqlite"),
            "OPTIONS": {"init_command": "PRAGMA synchronous=OFF"},
        }
    },
    # Tables are made at once, without the history of the packages.
    MIGRATION_MODULES=dict.fromkeys(["auth", "contenttypes", "sessions", "oauth2_provider"]),
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.staticfiles",
        "oauth2_provider",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {
                "context_processors": ["django.template.context_processors.request"],
                "loaders": [
                    ("django.template.loaders.locmem.Loader", {"login.html": LOGIN}),
                    "django.template.loaders.app_directories.Loader",
                ],
            },
        }
    ],
    OAUTH2_PROVIDER={
        "OIDC_ENABLED": True,
        "OIDC_ISS_ENDPOINT": f"{address}/o",
        "OIDC_RSA_PRIVATE_KEY": key.decode(),
        "OAUTH2_VALIDATOR_CLASS": f"{__name__}.validator",
        "SCOPES": {"openid": "Know who you are", "profile": "Know your name"},
    },
)
django.setup()

from django.contrib.auth.models import Group, User  # noqa: E402
from django.contrib.auth.views import LoginView  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import include, path  # noqa: E402
from oauth2_provider.models import get_application_model  # noqa: E402
from oauth2_provider.oauth2_validators import OAuth2Validator  # noqa: E402


class Validator(OAuth2Validator):
    """Adds the person's groups to the ID token, as the package's documentation shows."""

    oidc_claim_scope = None

    def get_additional_claims(self, request):
        groups = people.groups(folder, request.user.username)
        request.user.groups.set([Group.objects.get_or_create(name=name)[0] for name in groups])
        return {
            "preferred_username": request.user.username,
            "name": request.user.get_full_name(),
            "groups": [group.name for group in request.user.groups.all()],
        }


validator = Validator
urlpatterns = [
    path("login", LoginView.as_view(template_name="login.html")),
    path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
]

call_command("migrate", run_syncdb=True, verbosity=0)
for name in people.NAMES:
    User.objects.create_user(name, password=people.PASSWORD, first_name=name.capitalize())
Application = get_application_model()
Application.objects.create(
    name="Perennial",
    client_id=people.CLIENT_ID,
    client_secret=people.CLIENT_SECRET,
    redirect_uris=people.REDIRECT_URI,
    client_type=Application.CLIENT_CONFIDENTIAL,
    authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
    algorithm=Application.RS256_ALGORITHM,
)
people.serve(folder, server, get_wsgi_application(), issuer=f"{address}/o")
