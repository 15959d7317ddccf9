import os

from openapi_client import ApiClient, Configuration, Email, EmailBouncedEvent, EmailsApi, TextEmail
from openapi_client.exceptions import UnprocessableEntityException

configuration = Configuration(host=os.environ["RESEND_BASE_URL"], access_token=os.environ["RESEND_API_KEY"])
emails = EmailsApi(ApiClient(configuration))

email = TextEmail.from_dict({"from": "hi@acme.test", "to": "ada@example.com", "subject": "Hello", "text": "It works"})
print("send", emails.send_email(Email(email)).id)

first = emails.list_emails(limit=1).data[0].id
print("list", first, emails.list_emails(limit=1, after=str(first)).data[0].id)

try:
    emails.list_emails(after="unknown")
except UnprocessableEntityException as rejected:
    print(rejected.data.status_code, rejected.data.name.actual_instance)

with open("event.json", encoding="utf-8") as file:
    event = EmailBouncedEvent.from_json(file.read())
print("webhook", event.data.to[0], event.data.bounce.type.actual_instance)
