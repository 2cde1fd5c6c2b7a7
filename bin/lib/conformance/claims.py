"""Checks claims, prints the result of each, and counts the results."""

from appstoreserverlibrary.api_client import APIException
from appstoreserverlibrary.signed_data_verifier import VerificationException


class Claims:
    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, claim, test):
        """Runs `test`, which returns None or True where the claim holds."""
        try:
            outcome = test()
        except VerificationException as refusal:
            outcome = f"refused by Apple's verifier: {refusal.status.name}"
        except Exception as error:  # A crash of one claim must not hide the others.
            outcome = f"{type(error).__name__}: {error}"
        if outcome is None or outcome is True:
            self.passed += 1
            print(f"passed  {claim}")
        else:
            self.failed += 1
            print(f"FAILED  {claim}: {outcome}", flush=True)

    def equal(self, claim, found, expected):
        """`found` may be a function: if it throws, the claim fails."""

        def test():
            value = found() if callable(found) else found
            return value == expected or f"expected {expected!r}, found {value!r}"

        self.check(claim, test)

    def refused(self, claim, read, document, status=None):
        """Apple's verifier must refuse the document, for the given reason, if there is one."""

        def test():
            try:
                return f"accepted: {read(document)}"
            except VerificationException as refusal:
                return status is None or refusal.status == status or refusal.status.name

        self.check(claim, test)

    def error(self, claim, call, status, number):
        """Apple's client must see an error with this HTTP status and number."""

        def test():
            try:
                return f"answered: {call()}"
            except APIException as error:
                found = (error.http_status_code, error.raw_api_error)
                return found == (status, number) or f"expected {status, number}, found {found}"

        self.check(claim, test)
