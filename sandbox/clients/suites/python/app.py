"""The application under test: it uses PyPI `resend` and configures nothing."""

import random

import resend


def sign_up(address: str) -> tuple[str, str]:
    code = str(random.randint(100_000, 999_999))
    url = f"https://acme.test/verify?code={code}"
    resend.Emails.send(
        {
            "from": "Acme <hi@acme.test>",
            "to": address,
            "subject": "Welcome",
            "html": f'<p>Your code is <b>{code}</b>.</p><p><a href="{url}">Verify</a> or <a href="https://acme.test/help">get help</a></p>',
        }
    )
    return code, url
