//! `upload`: the files that are sent, the error of each fault of the Hub, and what killed uploads
//! leave.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::program::words;
use crate::{REPOSITORY, VARIANTS, World, number_of};

#[test]
fn only_differences_are_uploaded_and_one_commit_switches() {
    let world = World::new();
    let dry = world.upload(&["--dry-run"]).output().expect("run");
    let lines = String::from_utf8_lossy(&dry.stdout).into_owned();
    assert!(
        lines.starts_with(&format!(
            "create the repository {REPOSITORY}\ncreate the branch v1\n"
        )),
        "{lines}"
    );
    assert_eq!(lines.lines().count(), 2 + 8 + 1, "{lines}");
    let writes = |requests: &[Value]| number_of(requests, "POST") + number_of(requests, "PUT");
    assert_eq!(writes(&world.requests()), 0);

    let first = world.succeed();
    assert_eq!(
        (&first["status"], &first["branch"]),
        (&json!("uploaded"), &json!("v1"))
    );
    assert_eq!(first["uploaded"].as_array().map(Vec::len), Some(9));
    let requests = world.requests();
    assert_eq!(number_of(&requests, "/commit/v1"), 1);
    assert_eq!(number_of(&requests, "/commit/main"), 1);
    assert_eq!(number_of(&requests, "PUT /large/"), 2);
    // The storage of large files is another server, which gets no token.
    let is_storage = |request: &&Value| {
        request["request"]
            .as_str()
            .expect("text")
            .starts_with("PUT")
    };
    let mut storage = requests.iter().filter(is_storage);
    assert!(storage.all(|request| request["authorized"] == false));

    let second = world.succeed();
    assert_eq!(
        (&second["status"], &second["kept"]),
        (&json!("no_changes"), &json!(8))
    );
    assert_eq!(
        writes(&world.requests()),
        0,
        "the same build transfers nothing"
    );

    // A variant of another machine stays; a file that the build does not have any more goes.
    world.build(1, "two");
    std::fs::remove_dir_all(world.folder.path().join("kernel/build").join(VARIANTS[1]))
        .expect("removed");
    let variant = world.folder.path().join("kernel/build").join(VARIANTS[0]);
    std::fs::remove_file(variant.join("weights.bin")).expect("removed");
    let metadata = std::fs::read_to_string(variant.join("metadata.json")).expect("read");
    let mut metadata: Value = serde_json::from_str(&metadata).expect("JSON");
    metadata["digest"]["files"]
        .as_object_mut()
        .expect("files")
        .remove("weights.bin");
    std::fs::write(variant.join("metadata.json"), metadata.to_string()).expect("written");
    let third = world.succeed();
    assert_eq!(
        third["deleted"],
        json!([format!("build/{}/weights.bin", VARIANTS[0])])
    );
    assert_eq!(third["kept"], 1, "{third}");
    assert_eq!(
        world.words_at("v1"),
        ["WORD = \"two\"\n", "WORD = \"one\"\n"]
    );
}

#[test]
fn large_files_go_in_pieces_and_lists_in_pages() {
    let world = World::new();
    world.behave(json!({ "piece": 70_000, "page": 3 }));
    world.succeed();
    assert_eq!(number_of(&world.requests(), "PUT /large/"), 2 * 5);
    assert_eq!(world.succeed()["status"], "no_changes");
}

#[test]
fn a_build_that_was_changed_is_refused_before_the_first_byte() {
    let world = World::new();
    let file = world.folder.path().join("kernel/build").join(VARIANTS[0]);
    let changes: [(&dyn Fn(), &str); 4] = [
        (
            &|| std::fs::write(file.join("notes.txt"), "mine").expect("written"),
            "notes.txt cannot be published: metadata.json has no digest of it",
        ),
        (
            &|| std::fs::write(file.join("__init__.py"), "edited").expect("written"),
            "__init__.py cannot be published: it was changed after the build",
        ),
        (
            &|| std::fs::remove_file(file.join("weights.bin")).expect("removed"),
            "weights.bin cannot be published: metadata.json has its digest, and it is not there",
        ),
        (
            &|| std::os::unix::fs::symlink("/etc/passwd", file.join("link.py")).expect("linked"),
            "link.py cannot be published: it is a link to",
        ),
    ];
    for (change, expected) in changes {
        world.build(1, "one");
        change();
        let output = world.upload(&[]).output().expect("run");
        let said = world.fail(&output, 1);
        assert!(said.contains(expected), "{expected}\n{said}");
        std::fs::remove_dir_all(&file).expect("removed");
    }
    assert!(world.requests().is_empty());
}

#[test]
fn faults_that_pass_are_tried_again() {
    for (on, fault) in [
        ("GET .*/refs", "retry:429"),
        ("POST .*/preupload", "retry:500"),
        ("PUT /large", "retry:503"),
        ("PUT /large", "cut"),
        ("POST .*/commit/v1", "retry:429"),
        // The Hub has made the commit, and the answer is lost.
        ("POST .*/commit/v1", "lost"),
        ("POST .*/branch", "lost"),
        ("POST .*/create", "lost"),
    ] {
        let world = World::new();
        world.fault(on, fault, 1);
        world.succeed();
        world.behave(json!({}));
        assert_eq!(
            world.words_at("v1"),
            ["WORD = \"one\"\n"; 2],
            "{on} {fault}"
        );
        assert_eq!(world.succeed()["status"], "no_changes", "{on} {fault}");
    }
}

#[test]
fn faults_that_stay_are_clear_errors_and_change_nothing() {
    for (on, fault, expected) in [
        ("POST .*/commit/v1", "retry:429", "hub::busy"),
        ("GET .*/refs", "retry:500", "status 500"),
        ("PUT /large", "slow:30", "does not answer in time"),
        ("PUT /large", "lie", "hub::refused"),
        ("GET .*/refs", "garbage", "hub::answer"),
        ("POST .*/preupload", "garbage", "hub::answer"),
        ("POST .*/commit/v1", "status:403", "hub::forbidden"),
        ("POST .*/commit/v1", "status:401", "hub::token"),
    ] {
        let world = World::new();
        world.succeed();
        world.build(1, "two");
        world.fault(on, fault, 100);
        let mut upload = world.upload(&[]);
        upload.env("KERNEL_BUILDER_STALL_SECONDS", "1");
        let said = world.fail(&upload.output().expect("run"), 3);
        assert!(said.contains(expected), "{on} {fault}: {said}");
        world.behave(json!({}));
        assert_eq!(
            world.words_at("v1"),
            ["WORD = \"one\"\n"; 2],
            "{on} {fault}"
        );
        world.succeed();
        assert_eq!(
            world.words_at("v1"),
            ["WORD = \"two\"\n"; 2],
            "{on} {fault}"
        );
    }
}

#[test]
fn a_wrong_token_is_named_and_not_shown() {
    let world = World::new();
    let wrong = "hf_anotherSecret";
    let output = world
        .upload(&[])
        .env("HF_TOKEN", wrong)
        .output()
        .expect("run");
    let said = world.fail(&output, 3);
    assert!(
        said.contains("hub::token") && said.contains("Invalid credentials"),
        "{said}"
    );
    // The Hub repeats it in its answer.
    assert!(
        said.contains("Bearer ***") && !said.contains(wrong),
        "{said}"
    );
}

/// A commit that has other files than were sent.
#[test]
fn a_hub_that_stores_other_files_is_noticed() {
    let world = World::new();
    world.behave(json!({ "faults": [{ "on": "GET .*/tree/", "fault": "lie", "times": 9 }] }));
    let said = world.fail(&world.upload(&[]).output().expect("run"), 3);
    assert!(
        said.contains("hub::answer") && said.contains("has another file there"),
        "{said}"
    );
}

#[test]
fn a_pull_request_leaves_the_branch() {
    let world = World::new();
    world.succeed();
    world.build(1, "two");
    let output = world.upload(&["--create-pr"]).output().expect("run");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        said.starts_with("Pull request created: http://127.0.0.1:"),
        "{said}{}",
        words(&output)
    );
    assert_eq!(world.words_at("v1"), ["WORD = \"one\"\n"; 2]);
}

/// Kills uploads at moments spread over a whole one.
#[test]
fn a_killed_upload_leaves_the_old_build_and_is_completed() {
    kill_uploads(5);
}

#[test]
#[ignore = "kills many uploads: run by `make full-test`"]
fn twenty_killed_uploads_leave_the_old_build_and_are_completed() {
    kill_uploads(20);
}

fn kill_uploads(times: u32) {
    let world = World::new();
    world.succeed();
    let slow = || {
        world.behave(json!({ "faults": [{ "on": ".", "fault": "slow:0.1", "times": 100_000 }] }))
    };
    slow();
    world.build(1, "two");
    let began = Instant::now();
    world.succeed();
    let whole = began.elapsed();
    let mut before = "two".to_owned();
    let mut unfinished = 0;
    for number in 0..times {
        let word = format!("word{number}");
        world.build(1, &word);
        let mut upload = world.upload(&[]);
        let mut upload = upload
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("run");
        std::thread::sleep(whole.mul_f64((f64::from(number) + 0.5) / f64::from(times)));
        unfinished += u32::from(upload.try_wait().expect("a status").is_none());
        let _ = upload.kill();
        upload.wait().expect("an end");
        // A request that the Hub has is done.
        std::thread::sleep(Duration::from_millis(300));
        let there = world.words_at("v1");
        let [old, new] = [&before, &word].map(|word| vec![format!("WORD = {word:?}\n"); 2]);
        assert!(there == old || there == new, "{there:?}");
        world.requests();
        world.succeed();
        assert_eq!(world.words_at("v1"), new);
        before = word;
    }
    assert!(
        unfinished > times / 2,
        "{unfinished} of {times} were killed"
    );
}
