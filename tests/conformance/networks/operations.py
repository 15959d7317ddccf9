"""What the program does in a cell, what it states about each email, and whether that is true.

An operation runs its commands while the fault lasts, compares what they state with what the sandbox captured, and after the fault is over does what
docs/command-line.md advises: after exit code 9 the same command with the printed key, after the others the same command, which must not act twice; for
a job `bulk resume`, and `bulk retry --rejected` if rows were rejected."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

# The number of emails of a batch and of rows of a job; more commands and rows where something happens while they run.
BATCH = 20
ROWS, MANY_ROWS = 250, 3000
MANY = 12
# The maximum duration of a command, in seconds.
LONGEST = 90
# A stopped job reports the number of rows left to send.
LEFT = "left to send"
UNSENT = ("not_sent", "rejected")


@dataclass
class Result:
    """What an operation led to: exit codes, and numbers of emails."""

    codes: list = field(default_factory=list)
    total: int = 0
    once: int = 0
    twice: int = 0
    # Not captured: reported as such, or not reported.
    stated: int = 0
    missing: int = 0
    false: int = 0
    problems: list = field(default_factory=list)

    def statement(self, claim, recipient, captured, command):
        """Compares what the program states about an email with what was captured."""
        count = captured.get(recipient, 0)
        if (claim in UNSENT and count > 0) or (claim in ("sent", "accepted") and count == 0):
            self.false += 1
            self.problems.append(f"{command} stated {claim!r} about {recipient}, which was captured {count} times")

    def end(self, claims, captured, permanent):
        """Counts the emails at the end, with the last statement about each. Only a cause that is never over may leave an outcome unknown."""
        for recipient, claim in claims.items():
            self.total += 1
            count = captured.get(recipient, 0)
            if count == 1:
                self.once += 1
            elif count > 1:
                self.twice += 1
                self.problems.append(f"{recipient} was captured {count} times")
            elif claim in (*UNSENT, LEFT) or (claim == "unknown" and permanent):
                self.stated += 1
            else:
                self.missing += 1
                self.problems.append(f"{recipient} is missing, and the program's last statement is {claim!r}")


@dataclass
class Ran:
    arguments: list
    code: int
    stdout: str
    error: dict

    def __str__(self):
        return f"`{' '.join(self.arguments[:2])}` ({self.code}: {self.error.get('message', '')})"

    @property
    def claim(self):
        """What the command states about its emails."""
        return "sent" if self.code == 0 else self.error.get("outcome")


def run(network, *arguments):
    more = ["--json", "--timeout", network.cell.timeout]
    done = subprocess.run(
        [network.program, *arguments, *more],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST, env=network.environment,
    )  # fmt: skip
    last = (done.stderr.strip().splitlines() or ["{}"])[-1]
    try:
        error = json.loads(last).get("error") or {}
    except ValueError:
        error = {"message": last}
    return Ran(list(arguments), done.returncode, done.stdout, error)


class Sends:
    """Commands that send some emails each and end: `emails send`, and `emails batch`."""

    def __init__(self, network, name, *, batch=False, keyed=False):
        self.network, self.name = network, name
        self.commands = {}
        for number in range(MANY if network.cell.many else 1):
            recipients = [f"{name}-{number}-{email}@example.com" for email in range(BATCH if batch else 1)]
            arguments = self.batch(number, recipients) if batch else self.send(recipients[0])
            if keyed:
                arguments += ["--idempotency-key", f"{name}-{number}"]
            self.commands[number] = (recipients, arguments)

    def send(self, recipient):
        arguments = ["emails", "send", "--from", "hi@acme.test", "--to", recipient, "--subject", self.name]
        text = self.network.folder / "text"
        text.write_text("Hello. " * (self.network.cell.bytes // 7 + 1))
        arguments += ["--text-file", str(text)]
        if self.network.cell.attachment:
            attachment = self.network.folder / "attachment.bin"
            attachment.write_bytes(bytes(self.network.cell.attachment))
            arguments += ["--attach", str(attachment)]
        return arguments

    def batch(self, number, recipients):
        text = "Hello. " * (self.network.cell.bytes // 7 + 1)
        emails = [{"from": "hi@acme.test", "to": to, "subject": self.name, "text": text} for to in recipients]
        file = self.network.folder / f"{self.name}-{number}.json"
        file.write_text(json.dumps(emails))
        return ["emails", "batch", str(file)]

    def all(self, commands):
        with ThreadPoolExecutor(4) as threads:
            ran = threads.map(lambda command: run(self.network, *command[1]), commands.values())
            return dict(zip(commands, ran, strict=True))

    def __call__(self, result):
        with self.network.cell.fault.on(self.network):
            first = self.all(self.commands)
        captured = self.network.settled()
        result.codes = [ran.code for ran in first.values()]
        claims, again = {}, {}
        for number, ran in first.items():
            recipients, arguments = self.commands[number]
            claims |= dict.fromkeys(recipients, ran.claim)
            keyed = "--idempotency-key" in arguments
            for recipient in recipients:
                result.statement(ran.claim, recipient, captured, ran)
            in_doubt = ran.claim in ("unknown", "accepted")
            if (in_doubt and ran.code not in ((7, 9) if keyed else (9,))) or (ran.code == 9 and not in_doubt):
                result.problems.append(f"{ran} states {ran.claim!r}, which contradicts its exit code")
            if ran.code == 9 and not keyed:
                again[number] = (recipients, [*arguments, "--idempotency-key", ran.error.get("idempotency_key") or ""])
            elif ran.code != 0:
                again[number] = (recipients, arguments)
        for number, ran in self.all(again).items():
            if ran.code != 0 and not self.network.cell.permanent:
                result.problems.append(f"after {first[number]}, {ran} didn't help")
            claims |= dict.fromkeys(again[number][0], ran.claim)
        result.end(claims, self.network.settled(), self.network.cell.permanent)


class Job:
    """A bulk job, which is resumed until it ends."""

    def __init__(self, network, name):
        self.network = network
        count = MANY_ROWS if network.cell.many else ROWS
        self.recipients = [f"{name}-{row}@example.com" for row in range(count)]
        # The rows of the latest job.
        self.rows = count
        file = network.folder / f"{name}.csv"
        file.write_text("to\n" + "\n".join(self.recipients) + "\n")
        text = "Hello. " * (network.cell.bytes // 7 + 1)
        self.send = ["bulk", "send", str(file), "--from", "hi@acme.test", "--subject", name, "--text", text]
        self.options = ["--yes", "--max-outage", "2s", "--concurrency", "4", "--max-rps", "15"]

    def outcomes(self, result):
        """What the report states about each row."""
        report = run(self.network, "bulk", "report", "--rows", "-o", "ndjson")
        if report.code != 0:
            result.problems.append(f"{report} failed")
        rows = [json.loads(line) for line in report.stdout.splitlines()]
        return {row["recipient"]: row["outcome"] for row in rows}

    def __call__(self, result):
        with self.network.cell.fault.on(self.network):
            ran = run(self.network, *self.send, *self.options)
        result.codes = [ran.code]
        claims = dict.fromkeys(self.recipients, LEFT)
        for left in range(1 if self.network.cell.permanent else 4, -1, -1):
            captured = self.check(ran, claims, result)
            if left == 0 or ran.code not in (4, 6, 7, 10):
                break
            again = ["resume"]
            if ran.code == 10:
                again = ["retry", "--rejected"]
                self.rows = sum(claim == "rejected" for claim in claims.values())
            ran = run(self.network, "bulk", *again, *self.options)
        if ran.code != 0 and not self.network.cell.permanent:
            result.problems.append(f"the job ended with {ran}")
        result.end(claims, captured, self.network.cell.permanent)

    def check(self, ran, claims, result):
        """Compares the rows of the latest job, which may have some of the first one's, with the exit code and with what was captured."""
        captured, outcomes = self.network.settled(), self.outcomes(result)
        for recipient, claim in outcomes.items():
            result.statement(claim, recipient, captured, ran)
        claims |= outcomes
        left = self.rows - len(outcomes)
        stated = set(outcomes.values())
        agrees = {0: stated == {"sent"} and left == 0, 9: "unknown" in stated, 10: "rejected" in stated and left == 0}
        if not agrees.get(ran.code, left > 0):
            result.problems.append(f"{ran} contradicts the rows: {sorted(stated)}, {left} left")
        return captured


def doctor(network, result):
    """`bulk doctor`, which notices whether idempotency keys reach the service."""
    result.codes = [run(network, "bulk", "doctor", "--from", "hi@acme.test", "--to", "doctor@example.com").code]


OPERATIONS = {
    "send": lambda network, result: Sends(network, "send")(result),
    "keyed": lambda network, result: Sends(network, "keyed", keyed=True)(result),
    "batch": lambda network, result: Sends(network, "batch", batch=True)(result),
    "bulk": lambda network, result: Job(network, "bulk")(result),
    "doctor": doctor,
}
