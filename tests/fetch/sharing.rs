//! Several runs of `fetch`: killed ones, two at the same time, and one that carries files to
//! another machine.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::archives::sha256;
use crate::common::program::{assert_no_process_has, send, words};
use serde_json::json;

use crate::index::{ALPHA, BETA, DELTA, GAMMA, Index, SIZE, nix_hash};

/// Kills a fetch at growing delays until one ends by itself.
#[test]
fn a_killed_fetch_goes_on_and_downloads_no_finished_file_again() {
    let index = Index::new();
    index.behave(&json!({ "rate": 4_000_000 }));
    let mut kills = 0;
    let status = loop {
        let before = (index.cached(), index.sent());
        let mut fetch = index
            .fetch_command(&[])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("run");
        // A run on a busy machine takes many seconds.
        let growth = 1.06_f64.powf(kills as f64);
        std::thread::sleep(Duration::from_millis(200).mul_f64(growth));
        let ended = fetch.try_wait().expect("a status");
        fetch.kill().expect("killed");
        fetch.wait().expect("a status");
        let sent = index.sent();
        for name in &before.0 {
            assert_eq!(
                before.1.get(name),
                sent.get(name),
                "{name} was in the cache"
            );
        }
        if let Some(status) = ended {
            break status;
        }
        kills += 1;
        assert!(kills < 100, "it does not get on");
    };
    assert!(status.success());
    assert!(kills > 3, "it was killed {kills} times only");
    let report = index.succeed(&[]);
    assert_eq!(report["present"], 4, "{report}");
    // Only bytes that were on their way when a run was killed are sent twice.
    let sent = index.sent();
    let on_the_way = 2_000_000 + kills * 300_000;
    assert!(
        sent[ALPHA] < SIZE as u64 + on_the_way,
        "{sent:?} after {kills} kills"
    );
    let left = walkdir::WalkDir::new(index.path("cache/partial")).min_depth(1);
    assert_eq!(left.into_iter().count(), 0, "nothing is left");
}

/// A fetch that ends by a signal leaves neither processes nor files, and the next one completes it.
#[test]
fn a_fetch_that_any_signal_ends_leaves_nothing() {
    end_fetches(6);
}

#[test]
#[ignore = "ends many fetches: run by `make full-test`"]
fn twenty_fetches_that_any_signal_ends_leave_nothing() {
    end_fetches(20);
}

fn end_fetches(times: u64) {
    let index = Index::new();
    index.succeed(&[]);
    let right = nix_hash(&index.path("store/nix/store"));
    let took = Instant::now();
    index.forget();
    index.behave(&json!({ "rate": 6_000_000 }));
    index.succeed(&[]);
    let whole = took.elapsed();
    for number in 0..times {
        index.forget();
        let mut fetch = index.fetch_command(&[]);
        let mut fetch = fetch
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("run");
        std::thread::sleep(whole.mul_f64((number as f64 + 0.5) / times as f64));
        let signal = ["TERM", "INT", "KILL"][number as usize % 3];
        send(signal, fetch.id());
        fetch.wait().expect("an end");
        assert_no_process_has(&index.path("cache"));
        index.succeed(&[]);
        let words = format!("fetch {number}, ended by {signal}");
        assert_eq!(nix_hash(&index.path("store/nix/store")), right, "{words}");
        for left in ["partial", "locks", "runs"] {
            let left = walkdir::WalkDir::new(index.path("cache").join(left)).min_depth(1);
            let left = left
                .into_iter()
                .flatten()
                .map(|entry| entry.file_name().to_owned());
            let left: Vec<_> = left.filter(|name| name != "begin.lock").collect();
            assert!(left.is_empty(), "{words}: {left:?}");
        }
    }
}

/// A run that was killed just after it had added a tree to the store left the lock.
#[test]
fn a_fetch_with_nothing_to_do_removes_the_lock_of_a_killed_one() {
    let index = Index::new();
    index.succeed(&[]);
    for name in [nix_hash(&index.path("tree")) + "-tree", index.sha256(ALPHA)] {
        let lock = format!("cache/locks/{name}");
        index.write(&lock, "");
        index.succeed(&[]);
        assert!(!index.path(&lock).exists(), "{lock}");
    }
}

/// Runs share the cache, and each file has a lock of its own.
#[test]
fn a_fetch_does_not_wait_for_an_unrelated_one() {
    let index = Index::new();
    index.behave(&json!({ "faults": { ALPHA: ["only:stall:10"] } }));
    index.pin("library", &[index.alpha()]);
    index.pin("other-library", &[index.gamma(), index.delta()]);
    let mut stalls = index
        .fetch_command(&[])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("run");
    // The download has begun.
    let locked = || {
        let locks = index.path("cache/locks").read_dir();
        locks.is_ok_and(|entries| entries.count() > 0)
    };
    while !locked() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut other = index.fetch_command(&["--json"]);
    let other = other
        .env("KERNEL_BUILDER_LIBRARY", index.path("other-library"))
        .output()
        .expect("run");
    assert_eq!(other.status.code(), Some(0), "{}", words(&other));
    assert!(!words(&other).contains("waiting"), "{}", words(&other));
    assert!(
        stalls.try_wait().expect("a status").is_none(),
        "the first has ended before the second"
    );
    assert_eq!(stalls.wait().expect("a status").code(), Some(3));
}

#[test]
fn two_fetches_of_the_same_files_download_them_once() {
    let index = Index::new();
    index.behave(&json!({ "rate": 3_000_000 }));
    let start = || {
        let mut command = index.fetch_command(&["--json"]);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("run")
    };
    let outputs = [start(), start()].map(|run| run.wait_with_output().expect("an end"));
    for output in &outputs {
        assert_eq!(output.status.code(), Some(0), "{}", words(output));
    }
    let sent = index.sent();
    for name in [ALPHA, GAMMA, DELTA] {
        assert_eq!(sent[name], SIZE as u64, "{name}");
    }
    assert!(sent[BETA] < SIZE as u64 / 4, "{sent:?}");
    let said = outputs.iter().map(words).collect::<String>();
    assert!(said.contains("waiting for another fetch of"), "{said}");
    for left in ["partial", "locks", "runs"] {
        let left = walkdir::WalkDir::new(index.path("cache").join(left)).min_depth(1);
        let names: Vec<_> = left
            .into_iter()
            .flatten()
            .map(|entry| entry.file_name().to_owned())
            .collect();
        assert!(names.iter().all(|name| name == "begin.lock"), "{names:?}");
    }
}

/// Each removed the unfinished lists of the other, and often one of them failed.
#[test]
fn fetches_that_read_the_lists_of_apt_at_the_same_time_succeed() {
    let index = Index::new();
    index.behave(&json!({ "listing": 0.2 }));
    let libraries = ["one", "two"].map(|name| {
        let file = format!("{name}_1.0_all.deb");
        index.write(&format!("files/{file}"), name.repeat(1000));
        index.pin(name, &[index.archive("deb", name, &file, &[])]);
        index.path(name)
    });
    for _ in 0..6 {
        index.forget();
        let runs = libraries.each_ref().map(|library| {
            let mut command = index.fetch_command(&[]);
            let command = command.env("KERNEL_BUILDER_LIBRARY", library);
            let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().expect("run")
        });
        for output in runs.map(|run| run.wait_with_output().expect("an end")) {
            assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        }
    }
}

/// Two Nixes that create a store at the same time may fail.
#[test]
fn fetches_that_begin_without_a_store_create_it_once() {
    let index = Index::new();
    index.pin("library", &[]);
    for _ in 0..4 {
        index.forget();
        let runs = [(); 4].map(|()| {
            let mut command = index.fetch_command(&[]);
            let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().expect("run")
        });
        for output in runs.map(|run| run.wait_with_output().expect("an end")) {
            assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        }
    }
}

#[test]
fn a_folder_carries_everything_to_a_machine_without_a_network() {
    let index = Index::new();
    let folder = index.path("carried");
    let folder = folder.to_str().expect("UTF-8");
    let report = index.succeed(&["--to", folder]);
    assert_eq!(report["written"]["new"], 4);
    let again = index.succeed(&["--to", folder]);
    assert_eq!(
        again["written"],
        json!({ "folder": folder, "files": 4, "new": 0 })
    );
    // Any tool can check the carried folder.
    for (name, content) in contents(folder) {
        if name != "index.json" {
            assert!(name.starts_with(&sha256(&content)), "{name}");
        }
    }

    index.forget();
    index.behave(&json!({ "faults": { ALPHA: ["only:status:404"], GAMMA: ["only:status:404"] } }));
    let sent = index.sent();
    index.fail(
        &["--offline"],
        &[
            "alpha-1.0-py3-none-any.whl (3.0 MB)",
            "kernel-builder fetch --from DIR",
        ],
    );
    let before = contents(folder);
    let report = index.succeed(&["--offline", "--from", folder]);
    assert_eq!(report["fetched"].as_array().map(Vec::len), Some(4));
    assert_eq!(index.succeed(&["--offline"])["present"], 4);
    assert_eq!(contents(folder), before, "it is only read");
    assert_eq!(index.sent(), sent, "nothing was asked of the index");
}

#[test]
fn a_damaged_or_foreign_folder_is_refused() {
    let index = Index::new();
    let folder = index.path("carried");
    let folder = folder.to_str().expect("UTF-8");
    index.succeed(&["--to", folder]);
    index.forget();
    let names: Vec<String> = contents(folder).into_keys().collect();
    for suffix in ["-alpha-1.0-py3-none-any.whl", "-beta-headers.nar"] {
        let name = names
            .iter()
            .find(|name| name.ends_with(suffix))
            .expect("a file");
        let path = Path::new(folder).join(name);
        let mut content = std::fs::read(&path).expect("a file");
        let middle = content.len() / 2;
        content[middle] ^= 1;
        std::fs::write(&path, content).expect("written");
    }
    index.fail(
        &["--offline", "--from", folder],
        &[
            "-alpha-1.0-py3-none-any.whl is damaged",
            "-beta-headers.nar is damaged",
        ],
    );
    // A folder that was damaged is repaired, one of somebody else is left alone.
    index.succeed(&["--to", folder]);
    index.forget();
    index.succeed(&["--offline", "--from", folder]);
    let foreign = index.path("files");
    let foreign = foreign.to_str().expect("UTF-8");
    let before = contents(foreign);
    index.fail(&["--to", foreign], &["it holds other files"]);
    index.fail(&["--from", foreign], &["there is no index.json in it"]);
    assert_eq!(contents(foreign), before);
}

/// Every file below a folder, by its path there.
fn contents(folder: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = walkdir::WalkDir::new(folder).into_iter().flatten();
    let files = entries.filter(|entry| entry.file_type().is_file());
    files
        .map(|entry| {
            let name = entry.path().strip_prefix(folder).expect("below");
            let content = std::fs::read(entry.path()).expect("a file");
            (name.to_string_lossy().into_owned(), content)
        })
        .collect()
}
