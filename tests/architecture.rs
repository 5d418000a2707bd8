//! The house rules that a compiler does not check: modules of src/ import only modules that
//! CONTRIBUTING.md lists before them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

/// The modules of src/ in the order of CONTRIBUTING.md's table of rooms.
fn rooms() -> Vec<String> {
    let text = fs::read_to_string(Path::new(REPOSITORY).join("CONTRIBUTING.md")).expect("the file");
    let paths = text.lines().filter_map(|line| line.strip_prefix("| `src/"));
    paths
        .map(|row| {
            let (path, _) = row.split_once('`').expect("a closing backtick");
            path.trim_end_matches('/')
                .trim_end_matches(".rs")
                .to_owned()
        })
        .collect()
}

/// A file of src/: its path, the module of src/ that it is part of, and its code without comments.
struct Code {
    path: PathBuf,
    room: String,
    text: String,
}

/// Every Rust file of src/ except lib.rs, which only lists the modules.
fn code() -> Vec<Code> {
    let source = Path::new(REPOSITORY).join("src");
    let entries = walkdir::WalkDir::new(&source).sort_by_file_name();
    let paths = entries
        .into_iter()
        .map(|entry| entry.expect("a file").into_path());
    let paths = paths.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    paths
        .filter(|path| !path.ends_with("src/lib.rs"))
        .map(|path| {
            let inside = path.strip_prefix(&source).expect("a path below src");
            let first = inside.iter().next().and_then(|first| first.to_str());
            let text = fs::read_to_string(&path).expect("UTF-8");
            let lines = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            Code {
                room: first.expect("a name").trim_end_matches(".rs").to_owned(),
                text: lines.flat_map(|line| [line, "\n"]).collect(),
                path,
            }
        })
        .collect()
}

/// The identifier that a text begins with.
fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_'));
    &text[..end.unwrap_or(text.len())]
}

/// The names that paths from the root of the crate begin with: `a` of `crate::a::b`, `a` and `b` of
/// `crate::{a::c, b}`, and of as many `super::` as lead there from `depth` modules below it.
fn named_from_root(text: &str, depth: usize) -> BTreeSet<&str> {
    let up = "super::".repeat(depth);
    let roots = ["crate::", "kernel_builder::"].into_iter();
    let roots = roots.chain((depth > 0).then_some(up.as_str()));
    let after = roots.flat_map(|root| {
        let places = text.match_indices(root);
        // Fewer levels up stay inside of the module; more do not exist.
        let places = places.filter(|(at, _)| !text[..*at].ends_with("super::"));
        let ends = places.map(|(at, root)| &text[at + root.len()..]);
        ends.filter(|rest| !rest.starts_with("super::"))
            .collect::<Vec<_>>()
    });
    after
        .flat_map(|rest| match rest.strip_prefix('{') {
            None => vec![identifier(rest)],
            Some(list) => top_level_names(list),
        })
        .collect()
}

/// The first names of the parts of a list in braces, of which the opening one is left out.
fn top_level_names(list: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut depth = 0_usize;
    let mut start = 0;
    for (at, c) in list.char_indices() {
        match c {
            ',' | '}' if depth == 0 => {
                names.push(identifier(list[start..at].trim_start()));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

#[test]
fn modules_import_only_those_before_them() {
    let rooms = rooms();
    let code = code();
    let there: BTreeSet<&str> = code.iter().map(|code| code.room.as_str()).collect();
    let listed: BTreeSet<&str> = rooms.iter().map(String::as_str).collect();
    assert_eq!(listed.len(), rooms.len(), "a room is listed twice");
    assert_eq!(
        listed, there,
        "CONTRIBUTING.md's table of rooms lists the modules of src/"
    );
    let place = |name: &str| rooms.iter().position(|room| room == name);
    let mut backwards = Vec::new();
    let mut imports = 0;
    for Code { path, room, text } in &code {
        let own = place(room);
        let inside = path.strip_prefix(Path::new(REPOSITORY).join("src"));
        let depth = match inside.expect("a path below src") {
            // The file of a module itself is one level above its siblings.
            inside if inside.ends_with("mod.rs") => inside.iter().count() - 1,
            inside => inside.iter().count(),
        };
        // Inline modules (of tests) are one level deeper.
        for depth in [depth, depth + 1] {
            for name in named_from_root(text, depth) {
                // A name that is no room is an item of lib.rs, or stays inside of the module.
                let Some(other) = place(name) else { continue };
                imports += 1;
                if Some(other) > own {
                    backwards.push(format!("{} imports {name}", path.display()));
                }
            }
        }
    }
    assert!(imports > 100, "only {imports} imports were found");
    backwards.dedup();
    assert_eq!(backwards, [""; 0], "modules import what comes after them");
}

#[test]
fn paths_from_the_root_are_found() {
    let text = "use crate::a::x;\nuse crate::{b::{self, y}, c};\nfn f() { crate::d::g(super::super::e::h()) }";
    let names = |depth| named_from_root(text, depth).into_iter().collect::<Vec<_>>();
    assert_eq!(names(0), ["a", "b", "c", "d"]);
    assert_eq!(names(2), ["a", "b", "c", "d", "e"]);
    assert_eq!(names(1), ["a", "b", "c", "d"]);
    assert_eq!(names(3), ["a", "b", "c", "d"]);
}

/// The name of the type that a line of code defines.
fn defined_type(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub").map_or(line, |rest| {
        let rest = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        rest.map_or(&line["pub".len()..], |(_, rest)| rest)
            .trim_start()
    });
    let words = ["struct ", "enum ", "trait ", "type ", "union "];
    let name = words.iter().find_map(|word| line.strip_prefix(word))?;
    Some(identifier(name))
}

/// A type's name alone tells a reader which type it is. Types inside of functions and associated
/// types do not count.
#[test]
fn names_of_types_are_unique() {
    let code = code();
    let mut places: BTreeMap<&str, Vec<&Path>> = BTreeMap::new();
    for Code { path, text, .. } in &code {
        for name in text.lines().filter_map(defined_type) {
            places.entry(name).or_default().push(path);
        }
    }
    assert!(places.len() > 100, "only {} types were found", places.len());
    assert!(places.contains_key("Toolchain") && places.contains_key("TableError"));
    places.retain(|_, places| places.len() > 1);
    assert_eq!(places, BTreeMap::new(), "several types have one name");
}

#[test]
fn no_function_is_called_of() {
    let heads = ["(", "<"].map(|bracket| format!("fn {}{bracket}", "of"));
    for Code { path, text, .. } in code() {
        let found = text
            .lines()
            .find(|line| heads.iter().any(|head| line.contains(head)));
        assert_eq!(found, None, "{}", path.display());
    }
}
