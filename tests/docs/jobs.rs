//! The files for services on the pages, which cannot run here: their YAML parses, and their
//! commands are those that blocks.rs runs.

use serde_json::Value;

use crate::common::program::{printed, python};
use crate::page::Page;

/// Parses a YAML text.
fn yaml(text: &str) -> Value {
    let read = "import json, sys, yaml; json.dump(yaml.safe_load(sys.argv[1]), sys.stdout)";
    let json = printed(python().args(["-c", read, text]));
    serde_json::from_str(&json).expect("JSON")
}

/// The commands of a list of texts, one a line.
fn lines<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    texts.flat_map(str::lines).map(str::to_owned).collect()
}

#[test]
#[ignore = "needs the virtual environment of `make test`"]
fn jobs_of_services_run_the_commands_of_the_page() {
    let page = Page::read("docs/continuous-integration.md");
    let commands = lines(page.blocks_of("sh").map(|block| block.text.as_str()));
    assert!(commands.len() > 5);
    let jobs: Vec<Value> = (page.blocks_of("yaml").map(|block| yaml(&block.text))).collect();
    let [github, gitlab] = jobs.as_slice() else {
        panic!("{jobs:?}");
    };

    let job = &github["jobs"]["kernel"];
    let steps = job["steps"].as_array().expect("steps");
    let commands_of = |wanted: &[&str]| {
        let named = steps.iter().filter(|step| {
            let name = step["name"].as_str().unwrap_or_default();
            wanted.contains(&name)
        });
        lines(named.filter_map(|step| step["run"].as_str()))
    };
    assert_eq!(commands_of(&["Build", "Check"]), commands);
    let list = |key: &str| {
        let texts = gitlab["kernel"][key].as_array().expect(key);
        lines(texts.iter().filter_map(Value::as_str))
    };
    assert_eq!(list("script"), commands);
    assert_eq!(list("before_script"), commands_of(&["Install"]));
    assert_eq!(gitlab["kernel"]["image"], job["container"]["image"]);

    // The folders that both services keep are those that the commands write.
    let cached = steps.iter().find(|step| step["with"]["key"].is_string());
    let cached = &cached.expect("a cache")["with"]["path"];
    assert_eq!(gitlab["kernel"]["cache"]["paths"][0], *cached);
    let option = format!("--to {}", cached.as_str().expect("a folder"));
    assert!(commands.iter().any(|line| line.contains(&option)));
}
