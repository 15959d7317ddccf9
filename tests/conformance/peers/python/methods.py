"""Every public method of the PyPI client `resend`, in both its forms, `send` and `send_async`: a file per resource, each with its own API
key and therefore its own sandbox account. A method that isn't called has a reason here."""

import asyncio
import importlib
import inspect
import os
import sys

import resend

STORIES = (
    "emails", "attachments", "domains", "claims", "contacts", "imports", "broadcasts", "metrics", "automations", "receiving", "suppressions",
    "account", "webhooks", "grants", "inboxes",
)
# Why a method isn't called.
REASONS = {}

resend.api_url = os.environ["PEER_BASE_URL"]


def methods():
    """All public class methods, by the class that defines them."""
    seen, found = [value for value in vars(resend).values() if inspect.isclass(value)], set()
    while seen:
        owner = seen.pop()
        if owner.__module__.startswith("resend."):
            parts = [value for value in (*vars(owner).values(), *owner.__bases__) if inspect.isclass(value)]
            seen += [part for part in parts if part is not owner]
            found |= {(owner, name) for name, value in vars(owner).items() if isinstance(value, classmethod) and name[0] != "_"}
    return found


def name(method):
    owner, called = method
    return f"{owner.__module__.removeprefix('resend.').rsplit('.', 1)[0]}.{owner.__qualname__}.{called}"


def caller(form, called):
    async def call(owner, method, *args, **kwargs):
        if form == "async" and hasattr(owner, f"{method}_async"):
            method = f"{method}_async"
        answer = getattr(owner, method)(*args, **kwargs)
        answer = await answer if inspect.isawaitable(answer) else answer
        called.add((next(part for part in owner.__mro__ if method in vars(part)), method))
        return answer

    return call


called = set()
for form in ("sync", "async"):
    for story in STORIES:
        resend.api_key = f"re_{form}_{story}"
        asyncio.run(importlib.import_module(f"stories.{story}").story(caller(form, called)))
known = methods()
for form in ("sync", "async"):
    members = {method for method in known if method[1].endswith("_async") == (form == "async")}
    print(f"PyPI resend ({form}): {len(members & called)} of {len(members)} methods called, all ok")
for method, reason in REASONS.items():
    print(f"  not called: {method}: {reason}")
uncalled = {name(method) for method in known - called}
wrong = [f"{method} isn't called and has no reason" for method in sorted(uncalled - REASONS.keys())]
wrong += [f"{method} is called or unknown, but has a reason" for method in REASONS.keys() - uncalled]
if wrong:
    sys.exit("\n".join(wrong))
