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
    # An unknown field is ignored and counted.
    if "x-sandbox-ignored-fields" in response.headers:
        return None
    # An invalid null counts as an absent value.
    if holds_null(case.body):
        return None
    # The response may be the stored one of the same key, if the rest of the request was valid.
    if "Idempotency-Key" in (case.headers or {}) and response.status_code < 300:
        return None
    return negative_data_rejection(ctx, response, case)
