//! Jobs, their files, and changes of their input.

use std::time::{Duration, SystemTime};

use super::*;

fn made(folder: &Folder, file: &Path, message: &Message, options: &PlanOptions) -> Plan {
    plan(Input::csv(file), message, options, &folder.jobs()).unwrap()
}

#[test]
fn the_same_input_and_message_is_the_same_job_until_another_run_is_asked_for() {
    let folder = Folder::new();
    let file = folder.file("people.csv", "to\na@x.test\n");
    let options = PlanOptions { origin: "https://a.test".to_owned(), ..PlanOptions::default() };
    let before = jiff::Timestamp::now();
    let first = made(&folder, &file, &message(), &options);
    assert_eq!((first.id().len(), &first.id()[12..]), (14, "-1"));
    let created: jiff::Timestamp = first.created().parse().unwrap();
    assert!(before <= created && created <= jiff::Timestamp::now(), "{created}");
    assert_eq!(first.dir(), folder.jobs().join(first.id()));
    let profile = PlanOptions { profile: Some("work".to_owned()), ..options.clone() };
    for same in [&options, &profile] {
        let again = made(&folder, &file, &message(), same);
        assert_eq!((again.id(), again.created()), (first.id(), first.created()));
    }
    let again = PlanOptions { again: true, ..options.clone() };
    assert_eq!(&made(&folder, &file, &message(), &again).id()[12..], "-2");
    assert_eq!(&made(&folder, &file, &message(), &options).id()[12..], "-2");
    assert_eq!(&made(&folder, &file, &message(), &again).id()[12..], "-3");
    let mut ids = vec![first.id()[..12].to_owned()];
    let others = [
        (message().subject("other"), options.clone()),
        (message(), PlanOptions { origin: "https://b.test".to_owned(), ..options.clone() }),
        (message(), PlanOptions { limit: Some(1), ..options.clone() }),
        (message(), PlanOptions { test_to: Some("me@x.test".to_owned()), ..options.clone() }),
    ];
    for (message, options) in others {
        ids.push(made(&folder, &file, &message, &options).id()[..12].to_owned());
    }
    fs::write(&file, "to\nb@x.test\n").unwrap();
    ids.push(made(&folder, &file, &message(), &options).id()[..12].to_owned());
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 6, "{ids:?}");
}

#[test]
fn a_moved_or_touched_input_is_the_same_job() {
    let folder = Folder::new();
    let file = folder.file("people.csv", "to\na@x.test\n");
    let first = made(&folder, &file, &message(), &PlanOptions::default());
    let moved = folder.0.path().join("moved.csv");
    fs::rename(&file, &moved).unwrap();
    let opened = Plan::open(first.dir());
    assert!(matches!(opened, Err(BulkError::Io { action: "read", .. })), "{opened:?}");
    let again = made(&folder, &moved, &message(), &PlanOptions::default());
    assert_eq!(again.id(), first.id());
    let touched = fs::File::options().write(true).open(&moved).unwrap();
    touched.set_modified(SystemTime::now() - Duration::from_mins(1)).unwrap();
    assert_eq!(emails(&Plan::open(first.dir()).unwrap()).len(), 1);
    // Planned again, the job has the input's new time: it can be opened without reading the input once more.
    made(&folder, &moved, &message(), &PlanOptions::default());
    let recorded = Job::read(first.dir()).unwrap().input;
    assert_eq!(recorded.path, Some(fs::canonicalize(&moved).unwrap()));
    assert!(recorded.fingerprint.matches(&touched.metadata().unwrap()));
}

#[test]
fn a_job_that_another_process_planned_meanwhile_is_opened_or_followed_by_another_run() {
    let folder = Folder::new();
    let file = folder.file("people.csv", "to\na@x.test\n");
    let first = made(&folder, &file, &message(), &PlanOptions::default());
    let base = &first.id()[..12];
    let published = |dir: &Path, again| {
        let temporary = files::temporary_dir(TEMPORARY, &folder.jobs()).unwrap();
        fs::copy(first.dir().join("plan.idx"), temporary.path().join("plan.idx")).unwrap();
        publish(temporary, Job::read(first.dir()).unwrap(), dir, base, 1, again)
    };
    assert_eq!(published(&folder.jobs(), false).unwrap().dir(), first.dir());
    let second = published(&folder.jobs(), true).unwrap();
    assert_eq!((second.id(), emails(&second)), (format!("{base}-2").as_str(), emails(&first)));
    let gone = published(&folder.jobs().join("gone"), false);
    assert!(matches!(gone, Err(BulkError::Io { action: "write", .. })), "{gone:?}");
    assert_eq!(fs::read_dir(folder.jobs()).unwrap().count(), 2, "no incomplete plan is left");
}

#[test]
fn a_changed_input_is_found_when_the_plan_is_opened_and_before_each_request() {
    for changed in ["to\nb@x.test\n", "to\na@x.test\nb@x.test\n", "to\n"] {
        let folder = Folder::new();
        let file = folder.file("people.csv", "to\na@x.test\n");
        let plan = made(&folder, &file, &message(), &PlanOptions::default());
        let mut preparer = plan.preparer().unwrap();
        preparer.prepare(0).unwrap();
        fs::write(&file, changed).unwrap();
        // The clock of a file system may be coarse.
        let later = SystemTime::now() + Duration::from_mins(1);
        fs::File::options().write(true).open(&file).unwrap().set_modified(later).unwrap();
        for error in [preparer.prepare(0).unwrap_err(), Plan::open(plan.dir()).unwrap_err()] {
            assert!(
                error.to_string().contains("people.csv changed since it was planned; nothing was sent"),
                "{error}"
            );
        }
    }
}

#[test]
fn rows_that_do_not_match_the_index_are_an_error() {
    // The same size and time, so that only the rows show the change.
    let cases = [
        (None, "to,cc\nb@x.test,\nnobody!,\n"),
        (None, "to,cc\nnobody!,\nb@x.test,\n"),
        (None, "to,cc\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"),
        // The row after the job's only one doesn't take its place.
        (Some(1), "to,cc\nnobody!,\nb@x.test,\n"),
    ];
    for (limit, changed) in cases {
        let folder = Folder::new();
        let content = "to,cc\na@x.test,\nb@x.test,\n";
        let file = folder.file("people.csv", content);
        let options = PlanOptions { limit, ..PlanOptions::default() };
        let mut preparer = made(&folder, &file, &message(), &options).preparer().unwrap();
        let time = fs::metadata(&file).unwrap().modified().unwrap();
        let changed =
            &format!("{changed}{}", " ".repeat(content.len().saturating_sub(changed.len())))[..content.len()];
        fs::write(&file, changed).unwrap();
        fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
        let error = preparer.prepare(0).unwrap_err();
        assert!(matches!(error, BulkError::PlanChanged(_)), "{error} for {changed:?}");
    }
}

#[test]
fn a_damaged_or_incomplete_plan_is_refused() {
    let folder = Folder::new();
    let file = folder.file("people.csv", "to\na@x.test\n");
    let plan = made(&folder, &file, &message(), &PlanOptions::default());
    let index = plan.dir().join("plan.idx");
    let bytes = fs::read(&index).unwrap();
    assert_eq!(bytes.len(), 16);
    let mut flipped = bytes.clone();
    flipped[8] ^= 1;
    for damaged in [&flipped[..], &bytes[..15], &[&bytes[..], &bytes[..]].concat()] {
        fs::write(&index, damaged).unwrap();
        assert!(error(Plan::open(plan.dir())).contains("plan.idx is damaged"));
    }
    fs::write(&index, &bytes[..15]).unwrap();
    let counted = plan.count_emails(|_| true);
    assert!(matches!(counted, Err(BulkError::Io { action: "read", .. })), "{counted:?}");
    fs::write(&index, &bytes).unwrap();
    assert_eq!(plan.count_emails(|_| true).unwrap(), 1);
    assert!(Plan::open(plan.dir()).is_ok());
    let job = plan.dir().join("job.json");
    let text = fs::read_to_string(&job).unwrap();
    fs::write(&job, &text[..text.len() / 2]).unwrap();
    assert!(error(Plan::open(plan.dir())).contains("is damaged"));
    fs::write(&job, text.replace("\"version\": 1", "\"version\": 2")).unwrap();
    assert!(error(Plan::open(plan.dir())).contains("has version 2, not 1"));
    fs::remove_file(&job).unwrap();
    assert!(matches!(Plan::open(plan.dir()), Err(BulkError::Io { action: "read", .. })));
    assert!(matches!(plan.preparer().unwrap().prepare(1), Err(BulkError::PlanChanged(_))));
}

#[test]
fn the_description_names_input_origin_and_profile() {
    let folder = Folder::new();
    let file = folder.file("people.csv", "to\na@x.test\nnobody\n");
    let options = PlanOptions {
        origin: "https://a.test".to_owned(),
        profile: Some("work".to_owned()),
        ..PlanOptions::default()
    };
    let plan = made(&folder, &file, &message(), &options);
    let job: Value = serde_json::from_slice(&fs::read(plan.dir().join("job.json")).unwrap()).unwrap();
    assert_eq!(job["input"]["blake3"], blake3::hash(&fs::read(&file).unwrap()).to_hex().as_str());
    assert_eq!(
        (&job["origin"], &job["profile"], &job["counts"]["valid"]),
        (&json!("https://a.test"), &json!("work"), &json!(1))
    );
    let opened = Plan::open(plan.dir()).unwrap();
    assert_eq!(
        (opened.origin(), opened.profile(), opened.message()),
        ("https://a.test", Some("work"), &message())
    );
    let mut names: Vec<_> = fs::read_dir(plan.dir())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["invalid.csv", "job.json", "plan.idx"]);
}

#[cfg(unix)]
#[test]
fn all_files_of_a_job_are_private() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new();
    let input = Input::reader("standard input", "to\na@x.test\nnobody\n".as_bytes());
    let plan = plan(input, &message(), &PlanOptions::default(), &folder.jobs()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(plan.dir()), 0o700);
    for name in ["input", "invalid.csv", "job.json", "plan.idx"] {
        assert_eq!(mode(&plan.dir().join(name)), 0o600, "{name}");
    }
}
