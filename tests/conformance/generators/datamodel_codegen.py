import os

import httpx
from generated import Accepted, EmailBouncedEvent, SentEmailList, TextEmail, UnprocessableError

client = httpx.Client(base_url=os.environ["RESEND_BASE_URL"], headers={"authorization": f"Bearer {os.environ['RESEND_API_KEY']}"})


def listed(**parameters):
    return client.get("/emails", params=parameters)


email = TextEmail.model_validate({"from": "hi@acme.test", "to": "ada@example.com", "subject": "Hello", "text": "It works"})
sent = client.post("/emails", json=email.model_dump(mode="json", by_alias=True, exclude_none=True))
print("send", Accepted.model_validate(sent.raise_for_status().json()).model_dump(mode="json")["id"])

first = SentEmailList.model_validate(listed(limit=1).json()).model_dump(mode="json")["data"][0]["id"]
after = SentEmailList.model_validate(listed(limit=1, after=first).json()).model_dump(mode="json")["data"][0]["id"]
print("list", first, after)

rejected = UnprocessableError.model_validate(listed(after="unknown").json()).model_dump(mode="json")
print(rejected["statusCode"], rejected["name"])

with open("event.json", encoding="utf-8") as file:
    event = EmailBouncedEvent.model_validate_json(file.read()).model_dump(mode="json")
print("webhook", event["data"]["to"][0], event["data"]["bounce"]["type"])
