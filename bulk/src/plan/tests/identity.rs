//! Job identity, job files, and changed inputs.

use super::*;

fn make_plan(folder: &Folder, file: &Path, message: &Message, options: &PlanOptions) -> Plan {
    plan(Input::csv(file), message, options, &folder.jobs()).unwrap()
}

#[test]
fn the_same_input_and_message_is_the_same_job_until_another_run_is_asked_for() {
    let folder = Folder::new();
    let file = folder.file("people.csv", "to\na@x.test\n");
    let options = PlanOptions { origin: "https://a.test".to_owned(), ..PlanOptions::default() };
    let before = jiff::Timestamp::now();
    let first = make_plan(&folder, &file, &message(), &options);
    assert_eq!((first.id().len(), &first.id()[12..]), (14, "-1"));
    let created: jiff::Timestamp = first.created_at().parse().unwrap();
    assert!(before <= created && created <= jiff::Timestamp::now(), "{created}");
    assert_eq!(first.dir(), folder.jobs().join(first.id()));
    let profile = PlanOptions { profile: Some("work".to_owned()), ..options.clone() };
    // Whether the service is the job's is checked separately.
    let elsewhere = PlanOptions { origin: "https://b.test".to_owned(), ..options.clone() };
    for same in [&options, &profile, &elsewhere] {
        let again = make_plan(&folder, &file, &message(), same);
        assert_eq!((again.id(), again.created_at()), (first.id(), first.created_at()));
    }
    let again = PlanOptions { again: true, ..options.clone() };
    assert_eq!(&make_plan(&folder, &file, &message(), &again).id()[12..], "-2");
    assert_eq!(&make_plan(&folder, &file, &message(), &options).id()[12..], "-2");
    assert_eq!(&make_plan(&folder, &file, &message(), &again).id()[12..], "-3");
    let mut ids = vec![first.id()[..12].to_owned()];
    let others = [
        (message().subject("other"), options.clone()),
        (message(), self::options(JobOptions { limit: Some(1), ..JobOptions::default() })),
        (
            message(),
            self::options(JobOptions { test_to: Some("me@x.test".to_owned()), ..JobOptions::default() }),
        ),
    ];
    for (message, options) in others {
        ids.push(make_plan(&folder, &file, &message, &options).id()[..12].to_owned());
    }
    fs::write(&file, "to\nb@x.test\n").unwrap();
    ids.push(make_plan(&folder, &file, &message(), &options).id()[..12].to_owned());
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5, "{ids:?}");
}

#[test]
fn a_moved_input_is_the_same_job_and_a_changed_one_changes_no_job() {
    let folder = Folder::new();
    let file = folder.file("people.csv", "to\na@x.test\n");
    let first = make_plan(&folder, &file, &message(), &PlanOptions::default());
    let moved = folder.file("elsewhere/moved.csv", "to\na@x.test\n");
    fs::remove_file(&file).unwrap();
    let again = make_plan(&folder, &moved, &message(), &PlanOptions::default());
    assert_eq!(again.id(), first.id());
    assert_eq!(again.job.input.folder, fs::canonicalize(moved.parent().unwrap()).unwrap());
    fs::write(&moved, "to\nb@x.test\n").unwrap();
    assert_eq!(emails(&Plan::open(first.dir()).unwrap())[0]["to"], json!(["a@x.test"]));
}

#[test]
fn a_job_that_another_process_planned_meanwhile_is_opened_or_followed_by_another_run() {
    let folder = Folder::new();
    let file = folder.file("people.csv", "to\na@x.test\n");
    let first = make_plan(&folder, &file, &message(), &PlanOptions::default());
    let base = &first.id()[..12];
    let drafted =
        |options: &PlanOptions| Draft::new(Input::csv(&file), &message(), options, &folder.jobs()).unwrap();
    let written = |options: &PlanOptions| {
        drafted(options).write(&mut KnownRows::default(), ChangedRows::Reject).unwrap()
    };
    let opened = drafted(&PlanOptions::default()).find_existing().unwrap().unwrap();
    assert_eq!(opened.dir(), first.dir());
    let second = written(&PlanOptions { again: true, ..PlanOptions::default() }).publish(Vec::new()).unwrap();
    assert_eq!((second.id(), emails(&second)), (format!("{base}-2").as_str(), emails(&first)));
    let interrupted = written(&PlanOptions::default());
    fs::remove_dir_all(folder.jobs()).unwrap();
    let gone = interrupted.publish(Vec::new());
    assert!(matches!(gone, Err(BulkError::Io { .. })), "{gone:?}");
}

/// A change to a plan's file.
type Change = fn(&str) -> String;

#[test]
fn what_differs_from_the_planned_bytes_is_an_error() {
    // F-10
    let content = "to,attachment\na@x.test,\nb@x.test,\nc@x.test,file\n";
    let cases: [Change; 3] = [
        |text| text.replace("a@x.test", "d@x.test"),
        |text| text.replace("b@x.test", "nobody!!"),
        |text| text.replace("b@x.test,\nc@x.test,file\n", ""),
    ];
    for change in cases {
        let folder = Folder::new();
        folder.file("file", "x");
        let plan = folder.csv(content, &message()).unwrap();
        let path = plan.dir().join("input");
        let text = fs::read_to_string(&path).unwrap();
        assert_ne!(text, change(&text));
        fs::write(&path, change(&text)).unwrap();
        let mut preparer = Plan::read(plan.dir()).unwrap().preparer().unwrap();
        let error = preparer.prepare(1).unwrap_err();
        assert!(error.to_string().contains("batch 1 can't be prepared again from row 1"), "{error}");
        assert!(Plan::open(plan.dir()).is_err());
    }
}

#[test]
fn an_attachment_that_was_edited_after_planning_is_not_sent() {
    let folder = Folder::new();
    let file = folder.file("offer.txt", "version 1");
    let plan = folder.csv("to,attachment\na@x.test,offer.txt\n", &message()).unwrap();
    assert_eq!(emails(&plan).len(), 1);
    for content in ["version 2", "version 10"] {
        fs::write(&file, content).unwrap();
        let error = plan.preparer().unwrap().prepare(0).unwrap_err();
        assert!(
            error.to_string().contains("attachment `offer.txt`, job.json or this program's version"),
            "{error}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_device_or_a_pipe_in_place_of_a_file_is_refused() {
    use std::os::unix::fs::symlink;

    let folder = Folder::new();
    folder.file("x", "");
    symlink("/dev/zero", folder.0.path().join("zero")).unwrap();
    let plan = folder.csv("to,attachment\na@x.test,zero\n", &message()).unwrap();
    assert_eq!(plan.counts().invalid, 1);
    let plan = folder.csv("to\na@x.test\n", &message()).unwrap();
    for name in ["plan.idx", "plan.rows", "input", "job.json"] {
        let path = plan.dir().join(name);
        let content = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        symlink("/dev/zero", &path).unwrap();
        let error = Plan::open(plan.dir()).and_then(|plan| plan.preparer()).map(drop).unwrap_err();
        assert!(matches!(&error, BulkError::Io { action: "read", .. }), "{name}: {error}");
        fs::remove_file(&path).unwrap();
        fs::write(&path, content).unwrap();
    }
    let options = PlanOptions { max_size: 1 << 20, ..PlanOptions::default() };
    let endless = plan_input(&folder, Input::csv("/dev/zero"), &options);
    assert!(error(endless).contains("/dev/zero has more than 1048576 bytes"));
}

#[cfg(unix)]
fn plan_input(folder: &Folder, input: Input, options: &PlanOptions) -> Result<Plan> {
    plan(input, &message(), options, &folder.jobs())
}

#[test]
fn a_damaged_or_incomplete_plan_is_refused() {
    let folder = Folder::new();
    let file = folder.file("people.csv", "to\na@x.test\n");
    let plan = make_plan(&folder, &file, &message(), &PlanOptions::default());
    let index = plan.dir().join("plan.idx");
    let bytes = fs::read(&index).unwrap();
    assert_eq!(bytes.len(), 32);
    let mut flipped = bytes.clone();
    flipped[8] ^= 1;
    for damaged in [&flipped[..], &bytes[..31], &[&bytes[..], &bytes[..]].concat()] {
        fs::write(&index, damaged).unwrap();
        assert!(error(Plan::open(plan.dir())).contains("plan.idx is damaged"));
    }
    fs::write(&index, &bytes[..31]).unwrap();
    let counted = plan.count_emails(|_| true);
    assert!(matches!(counted, Err(BulkError::Io { action: "read", .. })), "{counted:?}");
    fs::write(&index, &bytes).unwrap();
    assert_eq!(plan.count_emails(|_| true).unwrap(), 1);
    assert!(Plan::open(plan.dir()).is_ok());
    let job = plan.dir().join("job.json");
    let text = fs::read_to_string(&job).unwrap();
    fs::write(&job, &text[..text.len() / 2]).unwrap();
    assert!(error(Plan::open(plan.dir())).contains("is damaged"));
    fs::write(&job, text.replace("\"version\": 2", "\"version\": 3")).unwrap();
    assert!(error(Plan::open(plan.dir())).contains("has version 3, not 2"));
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
    let plan = make_plan(&folder, &file, &message(), &options);
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
    assert_eq!(names, ["input", "invalid.csv", "job.json", "plan.idx", "plan.rows"]);
}

#[cfg(unix)]
#[test]
fn all_files_of_a_job_are_private() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new();
    let input = Input::reader("standard input", "to\na@x.test\nnobody\n".as_bytes());
    let plan = folder.plan(input, &message()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(plan.dir()), 0o700);
    for name in ["input", "invalid.csv", "job.json", "plan.idx", "plan.rows"] {
        assert_eq!(mode(&plan.dir().join(name)), 0o600, "{name}");
    }
}
