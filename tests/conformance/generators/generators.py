"""The table of `run`: PROGRAM WORK [GENERATOR...]."""

import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import urllib.request

PROGRAM, WORK = sys.argv[1], pathlib.Path(sys.argv[2])
ROOT = pathlib.Path(__file__).resolve().parents[3]
GUIDE = (ROOT / "docs/generators.md").read_text(encoding="utf-8")
COLUMNS = ["errors", "warnings", "compiles", "names", "send", "list", "422", "webhook"]
# Warnings that a generator prints for every OpenAPI 3.1 document, or for any that uses the keyword; neither affects its output.
HARMLESS = re.compile(
    r"OpenAPI 3.1 support is still in beta"
    r"|Failed to get the schema name: null"  # `type: 'null'` in a union
    r"|reserved word"  # a parameter called `type`
    r"|Codegen property is null"  # a value of any type
    r"|Could not compute datatypeWithEnum from"  # a list in a multipart form
    r"|Circular reference detected in allOf"  # of two uses of one schema in its examples, which aren't generated
    r"|'oneOf' is intended to include only"
)
SUSPICIOUS = re.compile(r"Inline(?!ContentId)|.+\d$|.+_\d+$|.Model$|.(AnyOf|OneOf|AllOf|Inner)\d*$|.Type\d+$|.Item$", re.ASCII)
TSC = "tsc --strict --target es2022 --module nodenext --types node --outDir compiled client.ts"


def block(language):
    """The one program of the guide's page in a language."""
    [program] = re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.M | re.S)
    return program


def command(start):
    """The command of the guide's page that starts so."""
    [line] = re.findall(rf"^(?:npx )?({re.escape(start)}.*)$", GUIDE, re.M)
    return line


def source(name):
    return (WORK / name).read_text(encoding="utf-8")


# Each generator: its name, its command, the program, the commands that compile and run it, and the location of the type names.
TYPES = r"^export (?:type|interface|enum|class) (\w+)"
CLASSES = r"^class (\w+)"
GENERATORS = {
    "openapi-typescript, openapi-fetch": (command("openapi-typescript"), ("client.ts", block("typescript")), TSC, "node compiled/client.js", "schema.d.ts", r"^        (\w+): "),
    "@hey-api/openapi-ts": ("openapi-ts -i openapi.json -o generated --no-log-file", ("client.ts", source("hey-api.ts")), TSC, "node compiled/client.js", "generated/types.gen.ts", TYPES),
    "orval": ("orval --config orval.config.mjs", ("client.ts", source("orval.ts")), TSC, "node compiled/client.js", "generated/model/*.ts", TYPES),
    "swagger-typescript-api": (
        "swagger-typescript-api generate -p openapi.json -o generated -n client.ts",
        ("client.ts", source("swagger-typescript-api.ts")), TSC, "node compiled/client.js", "generated/client.ts", TYPES,
    ),
    "openapi-python-client": (command("openapi-python-client"), ("client.py", block("python")), "python3 -m compileall -q resend_client", "python3 client.py", "resend_client/models/*.py", CLASSES),
    "datamodel-code-generator": (
        "datamodel-codegen --input openapi.json --input-file-type openapi --output generated.py --output-model-type pydantic_v2.BaseModel"
        " --target-python-version 3.11 --formatters builtin --enum-field-as-literal all",
        ("client.py", source("datamodel_codegen.py")), "python3 -c 'import generated'", "python3 client.py", "generated.py", CLASSES,
    ),
    "openapi-generator, Python": (
        "openapi-generator-cli generate -i openapi.json -g python -o .",
        ("client.py", source("openapi_generator.py")), "python3 -W error -c 'import openapi_client.models'", "python3 client.py", "openapi_client/models/*.py", CLASSES,
    ),
    "openapi-generator, Go": (command("openapi-generator-cli"), ("client.go", block("go")), "go build -o compiled client.go", "./compiled", "src/resend/model_*.go", r"^type (\w+) struct"),
}


def capture():
    """Starts a sandbox, and returns it with its address and a webhook's delivery of a bounce."""
    server = subprocess.Popen([PROGRAM, "sandbox", "serve", "--beta", "--port", "0"], stdout=subprocess.PIPE, text=True)
    address = next(found.group() for line in server.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
    threading.Thread(target=server.stdout.read, daemon=True).start()
    delivered, arrived = [], threading.Event()

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            delivered.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()
            arrived.set()

        def log_message(self, *_):
            pass

    receiver = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()

    def call(path, body):
        request = urllib.request.Request(address + path, json.dumps(body).encode(), {"authorization": "Bearer re_test", "content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as response:
            return json.load(response)

    call("/webhooks", {"endpoint": f"http://127.0.0.1:{receiver.server_port}", "events": ["email.bounced"]})
    call("/emails", {"from": "hi@acme.test", "to": "bounced@example.com", "subject": "Hello", "text": "It bounces"})
    if not arrived.wait(30):
        raise SystemExit("no delivery arrived")
    receiver.shutdown()
    return server, address, delivered[0]


def execute(line, folder, environment):
    done = subprocess.run(["sh", "-ec", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False)
    return done.returncode, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)


def row(name, environment, document, event):
    """What is bad in each column, or an empty string."""
    generate, (file, program), compile_, start, names, pattern = GENERATORS[name]
    folder = WORK / re.sub(r"\W+", "-", name)
    folder.mkdir()
    shutil.copy(WORK / "orval.config.mjs", folder)
    (folder / "node_modules").symlink_to(WORK / "node_modules")
    (folder / "openapi.json").write_bytes(document)
    (folder / "event.json").write_bytes(event)
    (folder / file).write_text(program, encoding="utf-8")
    environment = environment | {"GO111MODULE": "off", "GOPATH": f"{folder}:/usr/share/gocode", "GOFLAGS": "-buildvcs=false"}
    bad = dict.fromkeys(COLUMNS, "")
    code, output = execute(generate.replace("http://127.0.0.1:4010", environment["RESEND_BASE_URL"]), folder, environment)
    lines = output.splitlines()
    errors = [line for line in lines if re.search(r"\bERROR\b|[Ee]xception|^Error", line) and " INFO " not in line]
    if code or errors:
        bad["errors"] = "\n".join(errors or lines[-20:])
    bad["warnings"] = "\n".join(line for line in lines if re.search(r"\bWARN|[Ww]arning", line) and not HARMLESS.search(line))
    if code:
        return {column: what or "nothing was generated" for column, what in bad.items()}
    code, output = execute(compile_, folder, environment)
    bad["compiles"] = output[-3000:] if code else ""
    declared = set(json.loads(document)["components"]["schemas"])
    found = {match for path in folder.glob(names) for match in re.findall(pattern, path.read_text(encoding="utf-8"), re.M)}
    if len(found) < 300:
        bad["names"] = f"only {len(found)} names: the search is broken"
    else:
        bad["names"] = " ".join(sorted(each for each in found - declared if SUSPICIOUS.search(each)))
    code, output = execute(start, folder, environment)
    uuid = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    for column, expected in {"send": f"send ({uuid})", "list": rf"list ({uuid}) (?!\1){uuid}", "422": "422 validation_error", "webhook": "webhook bounced@example.com Permanent"}.items():
        if not re.search(rf"^{expected}$", output, re.M):
            bad[column] = output[-3000:] or f"exit code {code} without output"
    return bad


def loads(document):
    """Each parser that reads the document in YAML: what is bad, or an empty string."""
    (WORK / "openapi.yaml").write_bytes(document)
    parsers = {
        "npm yaml": """node -e 'require("yaml").parse(require("fs").readFileSync("openapi.yaml", "utf8")).openapi.length'""",
        "Ruby": "ruby -ryaml -e 'YAML.load_file(%q(openapi.yaml)).fetch(%q(openapi))'",
        "SnakeYAML": "openapi-generator-cli validate -i openapi.yaml",
    }
    results = {}
    for name, line in parsers.items():
        code, output = execute(line, WORK, os.environ)
        results[name] = output[-3000:] if code or "xception" in output else ""
    return results


def main():
    chosen = [name for name in GENERATORS if not sys.argv[3:] or any(part in name for part in sys.argv[3:])]
    server, address, event = capture()
    try:
        with urllib.request.urlopen(f"{address}/openapi.json", timeout=20) as response:
            document = response.read()
        with urllib.request.urlopen(f"{address}/openapi.yaml", timeout=20) as response:
            yaml = response.read()
        environment = os.environ | {"RESEND_BASE_URL": address, "RESEND_API_KEY": "re_test"}
        failed = False
        rows = {name: row(name, environment, document, event) for name in chosen}
        parsers = loads(yaml)
    finally:
        server.terminate()
        server.wait()
    for name, bad in [*rows.items(), ("YAML", parsers)]:
        for column, what in bad.items():
            if what:
                failed = True
                print(f"{name}: {column}:\n{what}\n", file=sys.stderr)
    print(f"| {'generator':34} | {' | '.join(COLUMNS)} |\n|---|{'---|' * len(COLUMNS)}")
    for name, bad in rows.items():
        print(f"| {name:34} | {' | '.join(('bad' if bad[column] else 'ok').ljust(len(column)) for column in COLUMNS)} |")
    print("YAML: " + ", ".join(f"{name} {'bad' if what else 'ok'}" for name, what in parsers.items()))
    sys.exit(failed)


main()
