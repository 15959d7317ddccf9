"""An application with PyPI `resend` that configures nothing: everything comes from the environment."""

import resend

sent = resend.Emails.send(
    {
        "from": "Acme <hi@acme.test>",
        "to": "python@example.com",
        "subject": "From the environment",
        "text": "It works",
    }
)
assert sent["id"], sent
