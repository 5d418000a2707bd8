//! Many clients at a time: every byte is right, and the memory stays flat.

use std::time::{Duration, Instant};

use crate::mirror::{Mirror, REPOSITORY, VARIANTS};

/// The most memory that a server grows by under load.
const GROWTH: u64 = 16 << 20;

/// Reads files of a server from many connections until a moment; every byte must be right.
fn read_in_parallel(mirror: &Mirror, until: Instant) -> u64 {
    let files = [
        "__init__.py",
        "weights.bin",
        "metadata.json",
        "layers/__init__.py",
    ];
    let expected: Vec<(String, Vec<u8>)> = VARIANTS
        .iter()
        .flat_map(|variant| files.map(|file| format!("build/{variant}/{file}")))
        .map(|path| {
            let file = mirror
                .folder
                .path()
                .join("kernels")
                .join(REPOSITORY)
                .join(&path);
            (path, std::fs::read(file).expect("a file"))
        })
        .collect();
    let agent = |number: u64| {
        let agent = ureq::Agent::new_with_defaults();
        let mut seed = number;
        let mut requests = 0;
        while Instant::now() < until || requests < 5 {
            // Numbers that look random, from the constants of Knuth's MMIX.
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let (path, content) = &expected[(seed >> 33) as usize % expected.len()];
            let url = format!(
                "http://{}/kernels/{REPOSITORY}/resolve/v1/{path}",
                mirror.address
            );
            let first = (seed >> 20) as usize % content.len().max(1);
            let is_range = seed & (1 << 40) != 0 && !content.is_empty();
            let mut request = agent.get(&url);
            if is_range {
                request = request.header("Range", format!("bytes={first}-"));
            }
            let mut answer = request.call().expect("an answer");
            if seed & (7 << 50) == 0 {
                // A client that goes away: the rest is not read.
                continue;
            }
            let read = answer.body_mut().read_to_vec().expect("a content");
            let expected = if is_range { &content[first..] } else { content };
            assert!(read == expected, "{path} from {first}");
            requests += 1;
        }
        requests
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..64)
            .map(|number| scope.spawn(move || agent(number)))
            .collect();
        clients
            .into_iter()
            .map(|client| client.join().expect("no wrong byte"))
            .sum()
    })
}

#[test]
fn parallel_clients_get_every_byte() {
    let mirror = Mirror::start();
    read_in_parallel(&mirror, Instant::now());
    let before = mirror.memory();
    read_in_parallel(&mirror, Instant::now() + Duration::from_secs(2));
    let after = mirror.memory();
    assert!(after < before + GROWTH, "{before} {after}");
}

#[test]
#[ignore = "takes a minute: run by `make full-test`"]
fn parallel_clients_for_a_minute_leave_the_memory_flat() {
    let mirror = Mirror::start();
    read_in_parallel(&mirror, Instant::now() + Duration::from_secs(10));
    let before = mirror.memory();
    let requests = read_in_parallel(&mirror, Instant::now() + Duration::from_secs(60));
    let after = mirror.memory();
    eprintln!("{requests} requests; memory {before} before, {after} after");
    assert!(after < before + GROWTH, "{before} {after}");
}
