# The page commands.md of the guide, from `idempost help --jq "$(cat docs/commands.jq)"`.
# Text in a table cell: `<` would begin an element, except in code.
def text: (. // "") | split("`") as $parts
  | [range($parts | length) as $i | $parts[$i] | gsub("[|]"; "\\|") | if $i % 2 == 0 then gsub("<"; "\\<") end] | join("`");
def flag: (if .short then .short + ", " else "" end) + .name + (if .value then " " + .value else "" end);
def row: "| `\(if .positional then .value // .name else flag end)` | \(.about | text)\(if .default and .type != "switch" then " [\(.default | text)]" else "" end) |";
def rows: if length == 0 then [] else ["| argument | meaning |", "|---|---|"] + map(row) + [""] end;
def leaves: if .commands == [] then . else .commands[] | leaves end;
[
  "# Commands", "",
  "All commands, generated from the program. `idempost COMMAND --help` has more, with examples.", "",
  "## Exit codes", "", "| code | name | meaning | action |", "|---|---|---|---|",
  (.exit_codes[] | "| \(.code) | `\(.name)` | \(.meaning | text) | \(.advice | text) |"), "",
  "## Settings", "", "| name | environment | flag | default | meaning |", "|---|---|---|---|---|",
  (.settings[] | "| `\(.name)` | \(.env // "") | \(.flag // "") | \(.default // "" | text) | \(.about | text) |"), "",
  "## Flags of every command", "", (.arguments | map(select(.global)) | rows[]),
  (.commands[] | "## \(.command | ltrimstr("idempost "))", "", (.about | text), "",
    (leaves | "### \(.command)", "", (.about | text), "", (.arguments | rows[])))
] | join("\n")
