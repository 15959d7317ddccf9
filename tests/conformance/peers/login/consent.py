"""A person at the consent page."""

import re
from urllib.parse import urljoin

import requests


def allow(address):
    """A person with a browser: opens the consent page, allows, and says where the browser is sent back to."""
    browser = requests.Session()
    page = browser.get(address)
    form = dict(re.findall(r'<input[^>]*?name=(\w+) value="([^"]*)"', page.text))
    answer = browser.post(page.url, data={**form, "decision": "allow"}, allow_redirects=False)
    return urljoin(page.url, answer.headers["location"])
