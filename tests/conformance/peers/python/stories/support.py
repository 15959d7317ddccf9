"""Shared helpers."""

import asyncio

import requests
import resend
from resend.exceptions import ResendError

NOTHING = "4ef9a417-02e9-4d39-ad75-9611e0fcc33c"


def email(subject, to="ada@example.com"):
    return {"from": "Acme <hi@acme.test>", "to": to, "subject": subject, "text": "It works"}


async def refused(answer, name):
    try:
        await answer
    except ResendError as error:
        assert error.error_type == name, (error.error_type, name)
    else:
        raise AssertionError(f"not refused as {name}")


async def eventually(ask, settled):
    """Asks until `settled` holds of the answer."""
    for _ in range(200):
        answer = await ask()
        if settled(answer):
            return answer
        await asyncio.sleep(0.05)
    raise AssertionError(f"it did not come about within ten seconds: {answer}")


def receive(mail):
    """Receives a mail; only the sandbox defines how one arrives."""
    headers = {"authorization": f"Bearer {resend.api_key}"}
    answer = requests.post(f"{resend.api_url}/_/received", json=mail, headers=headers, timeout=10)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def ids(page):
    assert page["object"] == "list" and isinstance(page["has_more"], bool), page
    return [item["id"] for item in page["data"]]
