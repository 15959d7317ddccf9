"""What the tester can't read in openapi.yaml."""

import schemathesis
from schemathesis.specs.openapi.checks import negative_data_rejection


def holds_null(value):
    """Whether a null stands anywhere in it."""
    if isinstance(value, dict):
        return any(holds_null(inner) for inner in value.values())
    if isinstance(value, list):
        return any(holds_null(inner) for inner in value)
    return value is None


@schemathesis.check
def what_breaks_the_contract_is_refused_or_tolerated_on_purpose(ctx, response, case):
    # An unknown field is passed over, and said to be.
    if "x-sandbox-ignored-fields" in response.headers:
        return None
    # A null where none belongs is read as an absent value.
    if holds_null(case.body):
        return None
    # The answer may be the one that the same key got before, when the rest of the request was right.
    if "Idempotency-Key" in (case.headers or {}) and response.status_code < 300:
        return None
    return negative_data_rejection(ctx, response, case)
