//! `domains records`: the DNS records of a domain, as a table or a zone file.

use idempost::domains::DnsRecord;
use serde_json::json;

use crate::actions::mutation::document;
use crate::actions::trace;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::table::{Column, Kind};
use crate::rows::given::Given;
use crate::settings::Form;

/// Columns of the records.
pub(super) const COLUMNS: [Column; 7] = [
    Column::new("record", "RECORD", Kind::Text),
    Column::new("name", "NAME", Kind::Text),
    Column::new("type", "TYPE", Kind::Text),
    Column::new("value", "VALUE", Kind::Text),
    Column::new("priority", "PRIORITY", Kind::Text),
    Column::new("ttl", "TTL", Kind::Text),
    Column::new("status", "STATUS", Kind::State),
];

pub(super) async fn run(given: Given<'_>, context: &Context) -> Result<(), Fail> {
    given.flags(context).await.finish()?;
    let zone = given.text("format") == Some("zone");
    let columns = context.out.columns(&COLUMNS)?;
    let client = context.client()?;
    let domain = trace::execute(context, || client.domains().get(given.ids[0])).await?;
    let records = document(&domain).get("records").cloned().unwrap_or_else(|| json!([]));
    let envelope = json!({ "object": "list", "data": records, "has_more": false });
    if zone && !context.out.is_json() {
        let name = &domain.value.name;
        let lines: Vec<_> = domain.value.records.iter().map(|record| zone_line(record, name)).collect();
        return context.out.result(&lines, &envelope);
    }
    if context.out.form == Form::Human && context.out.terminal.stdout {
        return context.out.result(&columns.lines(&envelope["data"]), &envelope);
    }
    context.out.list(&envelope, &columns)
}

/// Renders a record as a zone file line; without a TTL, which defaults to the zone's.
fn zone_line(record: &DnsRecord, domain: &str) -> String {
    let (name, kind) = (full_name(&record.name, domain), record.kind.as_str());
    let value = match kind {
        "TXT" => quote_txt_value(&record.value),
        "MX" => format!("{} {}", record.priority.unwrap_or_default(), host(&record.value)),
        "CNAME" => host(&record.value),
        _ => record.value.clone(),
    };
    format!("{}\tIN\t{kind}\t{value}", host(&name))
}

/// The name of a record in full. The service's may be relative to the domain, or to the one that it is registered under: `send.mail` for
/// `mail.acme.test`. So the labels in which the end of the name is the start of the domain occur once.
fn full_name(name: &str, domain: &str) -> String {
    let name = name.trim_end_matches('.');
    if matches!(name, "" | "@") {
        return domain.to_owned();
    }
    let ends = domain.match_indices('.').map(|(end, _)| end).chain([domain.len()]);
    let shared = ends.rev().find(|&end| {
        let rest = name.strip_suffix(&domain[..end]);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    shared.map_or_else(|| format!("{name}.{domain}"), |end| format!("{name}{}", &domain[end..]))
}

/// A fully qualified name ends in a dot; otherwise the zone's name would be appended.
fn host(name: &str) -> String {
    format!("{}.", name.trim_end_matches('.'))
}

/// Quoted strings of at most 255 bytes each, which resolvers concatenate.
fn quote_txt_value(value: &str) -> String {
    let bare = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
    let mut pieces = vec![String::new()];
    let mut length = 0;
    for char in bare.chars() {
        if length + char.len_utf8() > 255 {
            pieces.push(String::new());
            length = 0;
        }
        length += char.len_utf8();
        let piece = pieces.last_mut();
        if let Some(piece) = piece {
            if matches!(char, '"' | '\\') {
                piece.push('\\');
            }
            piece.push(char);
        }
    }
    pieces.iter().map(|piece| format!("\"{piece}\"")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: &str, value: &str, priority: Option<u16>) -> String {
        let record = json!({"record": "SPF", "name": "send.acme.test", "type": kind, "value": value, "priority": priority});
        zone_line(&serde_json::from_value(record).unwrap(), "acme.test")
    }

    #[test]
    fn a_zone_file_has_fully_qualified_names_and_quoted_texts() {
        assert_eq!(line("MX", "mx.mail.example", Some(10)), "send.acme.test.\tIN\tMX\t10 mx.mail.example.");
        assert_eq!(line("CNAME", "k.mail.example.", None), "send.acme.test.\tIN\tCNAME\tk.mail.example.");
        assert_eq!(line("TXT", "v=spf1 ~all", None), "send.acme.test.\tIN\tTXT\t\"v=spf1 ~all\"");
        assert_eq!(line("TXT", "\"v=spf1 ~all\"", None), line("TXT", "v=spf1 ~all", None));
        assert_eq!(line("TXT", "a\"b\\c", None), "send.acme.test.\tIN\tTXT\t\"a\\\"b\\\\c\"");
        let long = line("TXT", &"é".repeat(200), None);
        assert_eq!(long, format!("send.acme.test.\tIN\tTXT\t\"{}\" \"{}\"", "é".repeat(127), "é".repeat(73)));
        assert_eq!(
            line("CAA", "0 issue \"ca.example\"", None),
            "send.acme.test.\tIN\tCAA\t0 issue \"ca.example\""
        );
    }
}
