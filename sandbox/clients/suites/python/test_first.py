from app import sign_up


def test_a_new_account_gets_a_code_and_a_link(idempost_inbox):
    code, url = sign_up("ada@example.com")
    mail = idempost_inbox.wait_for(to="ada@example.com", subject="Welcome")
    assert mail.code == code
    assert mail.link("Verify") == url
