//! Downloads that stall, break, lie or are refused: the files that are kept or asked for again, and
//! the messages.

use std::io::{Cursor, Write};
use std::process::Command;

use crate::common::program::words;
use serde_json::json;
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use crate::index::{ALPHA, BETA, DELTA, GAMMA, Index, SIZE, nix_hash};

#[test]
fn every_source_gives_what_is_pinned_once() {
    let index = Index::new();
    let report = index.succeed(&[]);
    let fetched = report["fetched"].as_array().expect("names").len();
    assert_eq!(fetched, 4, "{report}");
    let sent = index.sent();
    for name in [ALPHA, GAMMA, DELTA] {
        assert_eq!(sent[name], SIZE as u64, "{name}");
    }
    // Only the directory of the wheel and its wanted headers come.
    assert!(sent[BETA] < SIZE as u64 / 4, "{sent:?}");
    assert_eq!(report["downloaded"], sent.values().sum::<u64>());

    let again = index.succeed(&[]);
    assert_eq!(again["present"], 4);
    assert_eq!(index.sent(), sent, "what is in the store is not downloaded");
}

/// A server makes its `.tar.gz` anew, so the pin hashes the files below its first folder, as GNU
/// tar unpacks them. Links and executable bits count; another content is refused.
#[test]
fn a_tarball_is_known_by_the_hash_of_its_tree() {
    let index = Index::new();
    let release = index.path("release-1.0");
    index.write("release-1.0/include/deep/a.h", "int a;");
    index.write("release-1.0/configure", "#!/bin/sh");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o775);
    std::fs::set_permissions(release.join("configure"), mode).expect("a mode");
    std::os::unix::fs::symlink("include/deep/a.h", release.join("a.h")).expect("a link");
    let name = "v1.0.tar.gz";
    let packed = index.path("files").join(name);
    let pack = || {
        let mut tar = Command::new("tar");
        tar.arg("-czf").arg(&packed).arg("-C").arg(index.root());
        let status = tar.arg("release-1.0").status().expect("tar on the PATH");
        assert!(status.success());
    };
    pack();
    let unpacked = index.path("unpacked");
    std::fs::create_dir(&unpacked).expect("a folder");
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(&packed).arg("-C").arg(&unpacked);
    let status = tar.arg("--strip-components=1").status();
    assert!(status.expect("tar on the PATH").success());
    let sha256 = nix_hash(&unpacked);
    let tree = json!({
        "name": "release-1.0",
        "sha256": sha256,
        "sources": [{
            "archive": {
                "kind": "tarball", "name": "release", "version": "1.0", "file": name, "sha256": sha256,
                "urls": [index.url("files/v1.0.tar.gz")],
            },
            "take": [{ "glob": "**" }],
        }],
    });
    index.write_pins("library", "seed", &json!([]), &json!([tree]));

    index.write("release-1.0/include/deep/a.h", "int b;");
    pack();
    let output = index.fetch(&[]);
    assert_eq!(output.status.code(), Some(3));
    let said = words(&output);
    assert!(said.contains("something else than was pinned"), "{said}");

    // A link that leads out of the folder, and a file below it, are not written.
    let outside = index.path("outside");
    std::fs::create_dir(&outside).expect("a folder");
    let file = std::fs::File::create(&packed).expect("a file");
    let gzip = flate2::write::GzEncoder::new(file, flate2::Compression::default());
    let mut hostile = tar::Builder::new(gzip);
    let mut link = tar::Header::new_gnu();
    link.set_entry_type(tar::EntryType::Symlink);
    link.set_size(0);
    hostile
        .append_link(&mut link, "release-1.0/out", &outside)
        .expect("a link");
    let mut member = tar::Header::new_gnu();
    member.set_size(4);
    member.set_mode(0o644);
    hostile
        .append_data(&mut member, "release-1.0/out/evil", &b"evil"[..])
        .expect("a member");
    let gzip = hostile.into_inner().expect("a tar file");
    gzip.finish().expect("a tar.gz file");
    let output = index.fetch(&[]);
    assert_eq!(output.status.code(), Some(3));
    let said = words(&output);
    assert!(said.contains("cannot be unpacked"), "{said}");
    assert!(!outside.join("evil").exists());

    index.write("release-1.0/include/deep/a.h", "int a;");
    pack();
    let report = index.succeed(&[]);
    assert_eq!(report["fetched"], json!(["release-1.0"]), "{report}");
}

#[test]
fn an_index_without_ranges_gives_the_same() {
    let index = Index::new();
    index.behave(&json!({ "ranges": false }));
    let words = words(&index.fetch(&[]));
    assert!(
        words.contains(&format!("parts of {BETA} could not be had")),
        "{words}"
    );
    assert_eq!(index.succeed(&[])["present"], 4);
    assert!(index.sent()[BETA] >= SIZE as u64);
}

#[test]
fn a_download_that_stalls_or_breaks_goes_on_where_it_was() {
    let index = Index::new();
    index.behave(&json!({ "faults": {
        ALPHA: ["stall:1000000", "cut:500000", "status:503", "cut:0", "ok"],
        BETA: ["stall:1000", "cut:10", "status:503"],
        GAMMA: ["cut:1", "stall:0", "ok"],
        DELTA: ["cut:1000000", "stall:1000000"],
    }}));
    let output = index.fetch(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let sent = index.sent();
    assert_eq!(sent[ALPHA], SIZE as u64);
    assert_eq!(sent[GAMMA], SIZE as u64);
    assert!(sent[BETA] < SIZE as u64 / 4, "{sent:?}");
}

/// The queue of files was locked while a file was downloaded, so that they came one by one.
#[test]
fn downloads_do_not_wait_for_each_other() {
    let index = Index::new();
    // The queue begins with one of these.
    index.behave(&json!({ "faults": {
        ALPHA: [format!("wait:{GAMMA}")], GAMMA: [format!("wait:{ALPHA}")],
    }}));
    index.pin("library", &[index.alpha(), index.gamma()]);
    let report = index.succeed(&[]);
    assert_eq!(report["fetched"], json!([ALPHA, GAMMA]));
}

#[test]
fn a_source_that_gives_up_is_named_with_what_it_said() {
    let index = Index::new();
    index.behave(&json!({ "faults": { GAMMA: ["only:stall:10"] } }));
    index.fail(
        &[],
        &[
            "old/gamma-1.0.tar: it answers with status 404",
            "files/gamma-1.0.tar: nothing came for 2 s",
        ],
    );
    // The other downloads do not wait for it, and none is lost.
    index.behave(&json!({}));
    let sent = index.sent();
    let report = index.succeed(&[]);
    assert_eq!(report["fetched"], json!([GAMMA]));
    assert!(index.sent()[GAMMA] <= SIZE as u64 + sent[GAMMA]);
}

#[test]
fn wrong_bytes_are_never_kept() {
    let index = Index::new();
    index.behave(&json!({ "faults": { ALPHA: ["only:wrong"], BETA: ["only:wrong"] } }));
    let says = format!("serves another {ALPHA} than the pinned one");
    index.fail(&[], &[&says]);
    assert_eq!(index.cached(), [DELTA, GAMMA]);
    assert_eq!(
        index.sent()[ALPHA],
        SIZE as u64,
        "pip would fetch the same again"
    );

    // The same with another source.
    index.behave(&json!({ "faults": { ALPHA: ["only:wrong"], BETA: ["ok"] } }));
    std::fs::copy(
        index.path("files").join(ALPHA),
        index.path("files/mirror.whl"),
    )
    .expect("copied");
    let alpha = index.archive("wheel", "alpha", ALPHA, &[index.url("files/mirror.whl")]);
    index.pin_with_headers(&[alpha, index.gamma(), index.delta()]);
    let report = index.succeed(&[]);
    assert_eq!(report["present"], 2, "{report}");
}

#[test]
fn parts_with_wrong_bytes_are_replaced_by_the_whole_file() {
    let index = Index::new();
    // Its directory, then its headers.
    index.behave(&json!({ "faults": { BETA: ["ok", "wrong"] } }));
    let output = index.fetch(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert!(index.sent()[BETA] > SIZE as u64);
    assert!(index.cached().contains(&BETA.to_owned()));
}

#[test]
fn a_disk_that_is_too_small_is_noticed_before_anything_is_downloaded() {
    let index = Index::new();
    let mut alpha = index.alpha();
    alpha["size"] = json!(1_000_000_000_000_000_u64);
    index.pin_with_headers(&[alpha]);
    index.fail(
        &[],
        &["there is too little room in", "1000000000 MB to download"],
    );
    assert!(index.sent().is_empty());
}

/// A page without an end filled the memory of pip, which was asked after this program's own client
/// had refused it.
#[test]
fn pip_is_not_asked_after_a_limit_or_a_broken_server() {
    for (page, words) in [
        ("endless", "is larger than"),
        ("headers", "nothing came for"),
        ("file", "redirect"),
    ] {
        let index = Index::new();
        index.pin("library", &[index.alpha()]);
        index.behave(&json!({ "page": page }));
        index.fail(&[], &[words]);
        let agents = index.read("agents");
        assert!(!agents.contains("pip"), "{page}: {agents}");
        assert!(agents.contains("kernel-builder"), "{page}: {agents}");
        assert!(index.cached().is_empty());
    }
}

/// Each byte counted as a sign of life.
#[test]
fn a_server_that_sends_byte_by_byte_is_given_up() {
    let index = Index::new();
    index.pin("library", &[index.gamma()]);
    index.behave(&json!({ "faults": { GAMMA: ["only:drip"] } }));
    index.fail(&[], &["bytes came in 4 s (4 tries)"]);
}

/// A wheel of 3 MB unpacked to 2.7 GB before its hash was compared.
#[test]
fn members_of_an_archive_may_not_be_larger_than_their_pin() {
    let index = Index::new();
    let bomb = index.path("files").join(BETA);
    let right = std::fs::read(&bomb).expect("a file");
    // The pinned size, so that parts are read.
    let padding = right.len() - wheel_of_one_header(0).len();
    let wheel = wheel_of_one_header(padding);
    assert_eq!(wheel.len(), right.len());
    std::fs::write(&bomb, wheel).expect("written");
    let output = index.fetch(&[]);
    let said = words(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let plain: String = said.split_whitespace().collect();
    assert!(plain.contains("morethanthepinned13000bytes"), "{said}");
    let files = walkdir::WalkDir::new(index.path("cache")).into_iter();
    let files = files.flatten().filter(|entry| entry.file_type().is_file());
    let sizes = files.map(|file| file.metadata().expect("a file").len());
    assert!(sizes.max().unwrap_or_default() <= SIZE as u64 + 1000);

    std::fs::write(&bomb, right).expect("written");
    index.succeed(&[]);
}

/// A wheel of a large header that compresses well, and of some bytes that are not compressed.
fn wheel_of_one_header(padding: usize) -> Vec<u8> {
    let mut wheel = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, method, content) in [
        (
            "beta/include/a.h",
            CompressionMethod::Deflated,
            vec![b'a'; 20 * SIZE],
        ),
        ("beta/lib/a.so", CompressionMethod::Stored, vec![0; padding]),
    ] {
        let options = SimpleFileOptions::default().compression_method(method);
        wheel.start_file(name, options).expect("a member");
        wheel.write_all(&content).expect("written");
    }
    wheel.finish().expect("a wheel").into_inner()
}
