"""Django's mail through `django-anymail`, unchanged but for its base address."""

import os

import django
from django.conf import settings

settings.configure(
    EMAIL_BACKEND="anymail.backends.resend.EmailBackend",
    ANYMAIL={"RESEND_API_KEY": "re_anymail", "RESEND_API_URL": os.environ["PEER_BASE_URL"]},
    DEFAULT_FROM_EMAIL="Acme <hi@acme.test>",
)
django.setup()

from anymail.exceptions import AnymailAPIError  # noqa: E402
from anymail.message import AnymailMessage  # noqa: E402
from django.core.mail import EmailMultiAlternatives, send_mail  # noqa: E402

assert send_mail("Plain", "It works", None, ["ada@example.com"]) == 1

message = EmailMultiAlternatives(
    "Grüße", "It works", "Größe GmbH <hi@acme.test>", ["Ada <ada@example.com>"], cc=["bob@example.com"],
    bcc=["eve@example.com"], reply_to=["help@acme.test"], headers={"X-Order": "17"},
)
message.attach_alternative("<p>It works</p>", "text/html")
message.attach("naïve.txt", "bytes", "text/plain")
message.tags = ["welcome"]
message.metadata = {"order": 17}
assert message.send() == 1
[status] = {recipient.status for recipient in message.anymail_status.recipients.values()}
assert status == "queued" and message.anymail_status.message_id, message.anymail_status

batch = AnymailMessage(subject="Batch", body="It works", to=["ada@example.com", "bob@example.com"])
batch.merge_metadata = {"ada@example.com": {"n": 1}, "bob@example.com": {"n": 2}}
assert batch.send() == 1
assert len({one.message_id for one in batch.anymail_status.recipients.values()}) == 2

later = AnymailMessage(subject="Later", body="It works", to=["ada@example.com"])
later.send_at = django.utils.timezone.now() + django.utils.timezone.timedelta(hours=1)
assert later.send() == 1

try:
    EmailMultiAlternatives("Wrong", "x", None, [f"{n}@example.com" for n in range(51)]).send()
except AnymailAPIError as error:
    assert error.status_code == 422, error
else:
    raise AssertionError("not refused")

print("django-anymail: send_mail, send, send with alternatives, batch send, send_at; all ok")
