//! The command line: what commands print and with which exit code they end (tests/cmd). None of
//! them builds.

#[test]
fn commands() {
    // An empty store: no command here may meet the machine's.
    let dir = tempfile::tempdir().expect("a temporary folder");
    let dir = dir.path().to_str().expect("a UTF-8 path");
    trycmd::TestCases::new()
        .env("NIX_REMOTE", dir)
        .env("XDG_CACHE_HOME", dir)
        .case("tests/cmd/*.md")
        .case("tests/cmd/*.toml")
        .run();
}
