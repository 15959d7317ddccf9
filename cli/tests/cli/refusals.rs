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
templates update welcome --text x --clear text --clear html => can't be used together | one of alias, from
automations list --status on => the status must be enabled or disabled
automations runs a --status running,bogus => the status must be running, completed
automations run a r --wait=failed => --wait must be `completed`
automations update a => --name, --status, --definition or --steps
automations update a --name '' => `name` must not be empty
events create '' => `name` must not be empty
events create resend:x => reserved for the service
events create x --field plan => a field must be KEY=TYPE
events create x --field plan=list => string, number, boolean or date
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
api POST /emails -H 'Idempotency-Key: a' -H 'idempotency-key: b' => this header is repeated
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
logs tail --status x --interval soon => --status | --interval
received watch --from-now --from-start --interval 0s --limit -1
    => can't be used together | --interval must be a duration | --limit must be a whole number
received reply e1 --from a@x.test => --text or --html
received forward e1 --from hi@acme.test --to a@x.test --wrap => --text or --html
received forward e1 --from hi@acme.test --to a@x.test --text x => --wrap
received forward e1 --cc nobody => --to | --from | nobody
sandbox receive --from ada@example.com => --to | --subject
sandbox receive /nowhere.eml => /nowhere.eml
"#;

#[test]
fn every_problem_of_a_command_line_is_reported_and_nothing_is_sent() {
    // LIST-09, DOM-22, DOM-26, DOM-31, A-31, A-32, A-35, A-36, A-39, A-40, A-41, A-43, A-44
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
