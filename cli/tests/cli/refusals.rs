//! Command lines that are refused before anything is sent, with all of their problems.

use crate::service::Service;
use crate::support::concurrently;

/// Command lines, each with parts of its message; an indented line continues the one before. `{N}` is a text of N characters.
const REFUSED: &str = r#"
topics create => missing: NAME | --default-subscription
topics create --name {51} --default-subscription opt-in --description {201} --visibility all
    => 4 problems | 50 characters | 200 characters | opt_in or opt_out | public or private
topics update t => a field to change
topics update t --description x --clear description --clear name => can't be used together | --clear must be
topics update t --name '' --dry-run=xml => --name | json or curl
properties create => missing: KEY, --type
properties create --key EMAIL --type boolean => reserved | string or number
properties create --key a-b --type string --fallback-number 1 => ASCII letters | --fallback
properties create --key a --fallback-number many => error:  | a number such as
properties create --key a --fallback 1 --fallback-number 1 => can't be used together
properties update p => a field to change
properties update p --fallback x --clear fallback => can't be used with
contacts update-topics ada@example.com => --opt-in, --opt-out or --topics
contacts update-topics ada@example.com --opt-in t --opt-out t --opt-out ''
    => 2 problems | this topic is also passed | must not be empty
contacts create 'Ada <a@b.c>' --property city --property-json orders=x --unsubscribed=maybe --topic t1=perhaps
    => 5 problems
contacts update ada@example.com --clear email => --clear must be
contacts update ada@example.com => a field to change
bulk send p.csv --concurrency +5 --limit +5 => --concurrency must be a whole number | --limit must be a whole number
contacts imports list --status done => in_progress
segments create ' ' => `name` is required
segments metrics --metrics all --dimensions period => --metrics must be one of all_contacts | --dimensions must be
domains create --name https://acme.test --region mars-1 --custom-return-path a.b --tls maybe --open-tracking=on --sending disabled --receiving off
    => 7 problems | --name | without scheme | --region | us-east-1 | --custom-return-path | `tls` must be | --open-tracking must be true or false | --sending | at least one | --receiving must be enabled or disabled
domains create => missing: NAME
domains create a.test --name b.test => can't be used with
domains update d => a field to change
domains update d --tracking-subdomain t --clear tracking-subdomain --clear name
    => can't be used together | --clear must be
domains verify d --wait=failed --dry-run=xml => --wait must be `verified` | json or curl
domains claim create => missing: NAME
domains claim create acme --region mars --open-tracking=maybe => --region | --open-tracking must be true or false
domains claim create acme.test --tracking-subdomain send => --tracking-subdomain
domains claim get x --wait=done => --wait must be `completed`
templates create --from nobody --variable A:boolean --variable EMAIL --variable B:number=x --html-file nowhere.html
    => --from | A:boolean | reserved | a number variable must be a number | nowhere.html | missing: NAME
templates update welcome => a field to change
templates update welcome --text x --clear text --clear html => --text and --clear text can't be used together | one of alias, from
inboxes agent i --action archive --clear actions => --action and --clear actions
automations list --status on => the status must be enabled or disabled
automations runs a --status running,bogus => the status must be running, completed
automations run a r --wait=failed => --wait must be `completed`
automations update a => --name, --status, --definition or --steps
automations update a --name '' => `name` must not be empty
events create '' => `name` must not be empty
events create resend:x => reserved for the service
events create x --field plan => --field must be KEY=TYPE
events create x --field plan=list => string, number, boolean, date
events create x --field a=string --field a=date => is repeated
events create e --schema '{"a":1,"a":2}' => is repeated
events create e --schema {} --field a=string => can't be used together
events update x => --field, --schema or --clear schema
events update x --clear name => --clear must be schema
events update x --clear schema --field a=date => can't be used together
events update e --schema {} --field a=string => can't be used together
events send x => --email or --contact-id
events send x --email a@b.test --contact-id c => can't be used together
events send x --email nobody => an address must have exactly one `@`
events send x --email a@b.test --payload plan => must be KEY=TEXT
events send x --email a@b.test --payload { => --payload
events send x --email a@b.test --payload-json n=x => must be KEY=JSON
events send x --email a@b.test --payload a=1 --payload a=2 => is repeated
contacts create a@x.test --properties [1] => --properties must be a JSON object
contacts create a@x.test --properties '{"a":[1]}' => JSON string, number or boolean
contacts create a@x.test --properties '{"a":1}' --property a=1 => is repeated
contacts update-topics a@x.test --topics {} => --topics must be a JSON array
contacts update-topics a@x.test --topics '[{"id":"t","subscription":"opt_out"}]' --opt-in t => is repeated
automations create W --steps {} --connections [] => --steps must be a JSON array
automations create W --steps [ --connections '[{"a":1,"a":2}]' => --steps | a key is repeated
automations create W --steps '[{"key":"start","type":"sleep","config":{}}]' --connections [] => --steps | sleep
automations create W --steps [] => --connections
automations create W => --definition
automations create --definition /nonexistent.json => /nonexistent.json
api POST /emails -H 'Idempotency-Key: a' -H 'idempotency-key: b' => `idempotency-key` is repeated
api-keys create --permission root --domain-id '' => full_access or sending_access | domain_id | missing: NAME
api-keys create --name x --domain-id d => requires the permission `sending_access`
webhooks create --endpoint acme.test => /endpoint | missing: --event
webhooks update x --status off => enabled or disabled
webhooks update x => a field to change
webhooks events w --before msg_1 => --before
suppressions add nobody => nobody
suppressions add a@x.test nobody => nobody
suppressions remove a@x.test 78261eea-8f8b-4381-83c6-79fa7120f1cf => either addresses or IDs
suppressions check 78261eea-8f8b-4381-83c6-79fa7120f1cf => 78261eea
suppressions list --origin bounced => bounce, complaint or manual
suppressions export --format xml => csv or ndjson
inboxes create nobody => nobody
inboxes update i => a field to change
inboxes threads i --folder attic => attic
inboxes move i t1 sent => sent
inboxes reply i t1 e1 => --text or --html
inboxes reply i t1 e1 --text x --cc nobody => --cc
inboxes create-draft i => --to, --cc, --bcc
inboxes update-draft i d --attach none.pdf --clear attachments => --attach | --clear
inboxes forward i t1 e1 --to a@x.test --attach none.pdf => none.pdf
inboxes create-draft i --attach-url ftp://x.test/a.pdf;name=a/b => --attach-url
inboxes reply i t1 e1 --text-file - --attach -;name=a.csv => only once
inboxes create-label i Urgent --label-color red => --label-color
inboxes label i t1 l1 l1 l1 l1 l1 l1 l1 l1 l1 l1 l1 => 1 to 10 labels
broadcasts recipients b => --type
broadcasts recipients b --type open --bounce-type hard
    => --type must be | --bounce-type must be | --bounce-type requires --type bounced
emails metrics --start-date yesterday --granularity yearly --metrics sent,opend --dimensions email,broadcast
    => --start-date | --granularity | opend | `email` and `broadcast`
emails get '' => ID must not be empty
emails get .. => an identifier in a path must not be `.` or `..`
emails attachments '' => ID must not be empty
automations run a '' => RUN_ID must not be empty
received reply '' => ID must not be empty
received forward '' => ID must not be empty
received attachments '' => ID must not be empty
emails list --limit -1 => --limit must be a whole number above 0
emails list --limit 5abc => --limit must be a whole number above 0
emails list --limit 1e2 => --limit must be a whole number above 0
emails list --limit +5 => --limit must be a whole number above 0
emails list --limit ' 5' => --limit must be a whole number above 0
emails list --limit 1.5 => --limit must be a whole number above 0
emails list --limit 99999999999999999999999 => --limit must be a whole number above 0
emails list --limit 0 --all --after a --before b
    => --limit must be | --limit and --all can't be used together | --after and --before can't be used together
emails list --columns sbject => did you mean `subject`?
emails list --status lost --since soon => --status must be one of | --since must be
emails tail --interval soon => --interval
emails update e => --scheduled-at
emails update e --scheduled-at ' ' => --scheduled-at
emails share x --for=49h => --for
emails share x --for=0s => --for
emails share x --for=soon => --for
emails share x --for=-1h => --for
logs list --status 4x => --status
logs list --status '' --method '' => 2 problems
logs tail --status x --interval soon => --status | --interval
received watch --from-now --from-start --interval 0s --limit -1
    => can't be used together | --interval must be a duration | --limit must be a whole number
received reply e1 --from a@x.test => --text or --html
received forward e1 --from hi@acme.test --to a@x.test --wrap => --text or --html
received forward e1 --from hi@acme.test --to a@x.test --text x => --wrap
received forward e1 --cc nobody => --to | --from | nobody
sandbox receive --from ada@example.com => --to | --subject
sandbox receive /nowhere.eml => /nowhere.eml
auth login --store cloud --scope 'a"b' --client-id ''
    => must be keyring or file | a scope must be a single word | a client ID must not be empty
auth login --with-token --scope x --port 1 --no-browser
    => --scope can't be used | --port can't be used | --no-browser can't be used
auth login --device --port 1 --with-token
    => --port can't be used with --device | --device can't be used with --with-token
--sandbox auth login => it starts a sandbox for one command only
--sandbox auth token => it starts a sandbox for one command only
--sandbox auth refresh --scope full_access => it starts a sandbox for one command only
emails send --to ada@example.com --to bob@@example.com --tag 'week 47=x'
    => 5 problems | --> --to (2nd):1:5 | /to/1: an address must have exactly one `@` | ::: --tag:1:5
    | missing: --from (or `from` in the profile), --subject (or a --template that has one), --text, --html or --template
    | help: idempost emails send --from 'You <you@yours.test>' --to ada@example.com --subject '…' --text '…'
emails send --input - --text-file - => standard input can be read only once, and --input already reads it
bulk send - --html-file - --from a@x.test --subject x => standard input can be read only once
webhooks verify --secret-file - --payload - --header x:y => standard input can be read only once
emails list --json id,to => did you mean `--json=id,to`?
contacts update ada@example.com --unsubscribed false => did you mean `--unsubscribed=false`?
--profile a --profile b emails list => `--profile <NAME>` can't be used multiple times
--json --json emails list => `--json[=<FIELDS>]` can't be used multiple times
config list --columns name --json => the output is JSON
config list --columns name -o ndjson => the output is JSON
config list --columns name --jq . => the output is JSON
config list -o tsv --json => tsv and --json can't be used together
api FETCH https://evil.test/emails -f x -H 'Authorization: x' -F n= -n=wget => 7 problems
api POST /emails --all => --all requires GET
api GET /emails/../domains => must not contain the segments
api GET //evil.test => PATH must be relative
contacts create => missing: EMAIL
events create => missing: NAME
segments create => missing: NAME
webhooks create --event email.sent => missing: ENDPOINT
webhooks listen --public-url tunnel --forward-to localhost:3000 --event a,,b --path /x
    => --public-url | --forward-to | --event | --path
broadcasts create --segment-id s --from x --subject Hi --html-file /nonexistent --scheduled-at 'in 1 hour' --wait
    => 4 problems | --html-file:1:1 | --wait:1:1 | --from:1:1 | --scheduled-at:1:1
broadcasts update b --clear from --html x --clear html => 2 problems | --clear must be | can't be used together
broadcasts update b => a field to change
bulk send p.csv --daily 10,x --window 8-20 --time-zone Europe/Atlantis
    => --daily:1:1 | --window:1:1 | --time-zone:1:1
bulk send p.csv --from a@x.test --subject x --text y --tag a=1 --tag a=2 --header 'X-A: 1' --header 'x-a: 2' --var N=1 --var n=2
    => 2 problems | --tag (2nd):1:1 | --header (2nd):1:1 | `a` is repeated
bulk send p.csv --time-zone UTC => --time-zone requires --daily or --window
bulk send p.csv --daily 10 --queue nats://127.0.0.1:1 => --daily can't be used with --queue
bulk send p.csv --domain-rate a.test=1/s --domain-rate gmail.com => gmail.com=100/min | --domain-rate (2nd):1:1
bulk send p.csv --domain-rate a.test=1/s --queue nats://127.0.0.1:1 => --domain-rate can't be used with --queue
bulk send p.csv --stop-on 'rejected>1%' --stop-on bounced => --stop-on (2nd):1:1 | such as 'bounced>2%'
bulk send p.csv --stop-on 'rejected>1%' --queue nats://127.0.0.1:1 => --stop-on can't be used with --queue
bulk send p.csv --priority urgent => --priority must be low, normal or high | --priority requires --queue
sandbox check missing.eml --fail-on fatal --ignore placeholder,image_without_alts,css-gap
    => 3 problems | the severity must be note, warning, error or never | No such file
    | no finding has this code; did you mean `image_without_alt`?
sandbox inbox delete --to '' => --to must not be empty
sandbox inbox delete 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794 --to ada => IDs and filters can't be used together
sandbox inbox mark => an ID, a filter such as --to, or --all
sandbox inbox mark x --all --to '' => an ID must be a UUID | --all can't be used with IDs or filters
sandbox fail 'BREW emails' --status 99 --drop --slow soon --times 0 --percent 101 --after x
    => a path must start with / | the method must be GET, POST, PATCH or DELETE | --slow must be a duration
    | --status must be a whole number from 200 to 599 | --drop and --status can't be used together
    | --percent must be a whole number from 1 to 100 | --percent and --times can't be used together
    | --times must be a whole number | --after must be a whole number
sandbox fail POST '/a/b c' => a method, a path, or both
sandbox fail SMTP => SMTP must be followed by a stage: CONNECT, EHLO, AUTH, MAIL, RCPT, DATA, END-OF-DATA
sandbox fail 'SMTP HELO' => SMTP must be followed by a stage
sandbox fail 'SMTP RCPT' --code 250 => --code must be a whole number from 400 to 599
sandbox fail 'SMTP RCPT' --code 451 --drop => --drop and --code can't be used together
sandbox fail 'SMTP RCPT' --status 503 => for an SMTP stage, use --code
sandbox fail 'POST /emails' --code 451 => --code requires an SMTP stage
sandbox fail 'POST /emails' --rotate-then-lose => can't be used with a rule
sandbox fail --list --drop => --list can't be used with a rule or other flags
sandbox fail --clear=x => the ID must be a number
sandbox fail --clear --status 500 => --clear can't be used with a rule or other flags
sandbox fail --slow 2h => at most 1h
sandbox export x --format pst => eml, mbox or json
sandbox serve --port 0 --smtp-allow '*@acme.test' => --smtp-allow requires --smtp or --smtp-release
sandbox serve --port 0 --smtp smtp://127.0.0.1:9 --smtp-release smtp://127.0.0.1:9 => can't be used together
sandbox serve --port 0 --smtp-port 2525 --smtp smtp://127.0.0.1:2525 => --smtp must not be the sandbox's own SMTP port
sandbox serve --port 0 --smtp smtp://127.0.0.1:9 --smtp-allow acme.test
    => --smtp-allow must be an address, or a pattern such as *@example.com
sandbox serve --port 0 --smtp-release smtp://127.0.0.1:9 --smtp-allow '*@acme.*'
    => must have a domain name after the @
--sandbox mcp => it starts a sandbox for one command only
mcp --api-key-file - => tools have no standard input
mcp --only emails,contcats => contcats | contacts, doctor
mcp --token-file token => --http
"#;

#[test]
fn every_problem_of_a_command_line_is_reported_and_nothing_is_sent() {
    // LIST-09, DOM-22, DOM-26, DOM-31, A-31, A-32, A-35, A-36, A-39, A-40, A-41, A-43, A-44, A-50
    let service = Service::start();
    let text = REFUSED.replace("{51}", &"é".repeat(51)).replace("{201}", &"é".repeat(201));
    let text = text.trim_matches('\n').replace("\n    ", " ");
    concurrently(text.lines(), |case| {
        let (line, parts) = case.split_once(" => ").unwrap();
        let stderr = service.run(line).fails(2);
        for part in parts.split(" | ") {
            assert!(stderr.contains(part), "{line}: {part:?} is not in\n{stderr}");
        }
    });
    assert_eq!(service.asked(), 0);
}
