//! Plans of random inputs.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

/// A row of a random input.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Valid,
    Single,
    Invalid,
    InvalidSingle,
    Ragged,
    Blank,
    EmptyLine,
}

fn kinds() -> impl Strategy<Value = Vec<Kind>> {
    use Kind::{Blank, EmptyLine, Invalid, InvalidSingle, Ragged, Single, Valid};
    let kind = prop_oneof![
        8 => Just(Valid), 1 => Just(Single), 1 => Just(Invalid), 1 => Just(InvalidSingle), 1 => Just(Ragged),
        1 => Just(Blank), 1 => Just(EmptyLine),
    ];
    prop::collection::vec(kind, 0..400)
}

/// Returns the lines of a CSV file, and each request's rows as computed by an independent model.
fn model(kinds: &[Kind]) -> (String, Vec<(BatchKind, Vec<u64>)>) {
    let mut csv = "to,scheduled_at,text\r\n".to_owned();
    let (mut row, mut requests, mut batch) = (0, Vec::new(), Vec::new());
    for kind in kinds {
        row += u64::from(*kind != Kind::EmptyLine);
        match kind {
            Kind::Valid => {
                write!(csv, "r{row}@x.test,,\"é\n{row}\"\r\n").unwrap();
                batch.push(row);
                if batch.len() == 100 {
                    requests.push((BatchKind::Batch, std::mem::take(&mut batch)));
                }
            }
            Kind::Single => {
                writeln!(csv, "r{row}@x.test,in 1 hour,").unwrap();
                requests.push((BatchKind::Single, vec![row]));
            }
            Kind::Invalid => csv.push_str("nobody,,\n"),
            Kind::InvalidSingle => csv.push_str("nobody,in 1 hour,\n"),
            Kind::Ragged => csv.push_str("a@x.test\n"),
            Kind::Blank => csv.push_str(", ,\n"),
            Kind::EmptyLine => csv.push_str("\r\n"),
        }
    }
    if !batch.is_empty() {
        requests.push((BatchKind::Batch, batch));
    }
    (csv, requests)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn requests_have_the_planned_rows_in_any_order_of_preparing(kinds in kinds(), seed: u64) {
        let folder = Folder::new();
        let (csv, requests) = model(&kinds);
        let plan = folder.csv(csv, &message()).unwrap();
        let all = prepare_all(&plan);
        let found: Vec<_> = all.iter().map(|p| (p.kind, p.rows.iter().map(|row| row.row).collect::<Vec<_>>())).collect();
        prop_assert_eq!(&found, &requests);
        for request in &all {
            for row in &request.rows {
                prop_assert_eq!(&row.recipient, &format!("r{}@x.test", row.row));
            }
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            let bodies = if let Value::Array(emails) = body { emails } else { vec![body] };
            let to: Vec<_> = bodies.iter().map(|email| email["to"][0].as_str().unwrap()).collect();
            prop_assert_eq!(to, request.rows.iter().map(|row| row.recipient.as_str()).collect::<Vec<_>>());
        }
        let counts = plan.counts();
        prop_assert_eq!(counts.rows, counts.valid + counts.invalid + counts.blank);
        prop_assert_eq!(counts.valid, requests.iter().map(|(_, rows)| rows.len() as u64).sum::<u64>());
        prop_assert_eq!(counts.bytes, all.iter().map(|p| p.body.len() as u64).sum::<u64>());
        prop_assert_eq!(counts.batches + counts.singles, u64::from(plan.batches()));

        let mut preparer = Plan::open(plan.dir()).unwrap().preparer().unwrap();
        let mut order: Vec<u32> = (0..plan.batches()).chain(0..plan.batches()).collect();
        order.sort_by_key(|batch| blake3::hash(&(u64::from(*batch) ^ seed).to_le_bytes()).as_bytes()[0]);
        for batch in order {
            prop_assert_eq!(&preparer.prepare(batch).unwrap(), &all[batch as usize]);
        }
    }

    #[test]
    fn any_bytes_are_planned_or_refused(
        header in prop::sample::select(vec!["to,subject\n", "to;var:A\r\n", "{\"to\":\"a@x.test\"}\n", "\u{feff}to\n", ""]),
        rest in prop::collection::vec(prop_oneof![
            any::<[u8; 2]>().prop_map(|bytes| bytes.to_vec()),
            Just(b"a@x.test".to_vec()), Just(b",".to_vec()), Just(b";".to_vec()), Just(b"\n".to_vec()),
            Just(b"\"".to_vec()), Just(b"{}".to_vec()), Just(b"\0".to_vec()),
        ], 0..60),
    ) {
        let folder = Folder::new();
        let file = folder.file("people", [header.as_bytes(), &rest.concat()].concat());
        match folder.plan(Input::file(file), &message()) {
            Ok(plan) => prop_assert_eq!(emails(&plan).len() as u64, plan.counts().valid),
            Err(BulkError::Input(problems)) => prop_assert!(!problems.is_empty()),
            Err(BulkError::Io { action: "read", .. }) => {}
            Err(other) => prop_assert!(false, "{other:?}"),
        }
    }
}
