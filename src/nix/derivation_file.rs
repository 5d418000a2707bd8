//! Derivations as their files hold them: the terms that Nix has written since its first releases. A
//! store on this machine is read faster by its files than through `nix show-derivation`.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::derivation::Derivation;

/// Reads some derivations of a store's folder, and all that they need, by path. `None` if a file is
/// missing or has another form.
pub fn read_closure(folder: &Path, roots: &[String]) -> Option<BTreeMap<String, Derivation>> {
    let mut all: BTreeMap<String, Derivation> = BTreeMap::new();
    let mut missing: Vec<String> = roots.to_vec();
    while let Some(path) = missing.pop() {
        if all.contains_key(&path) {
            continue;
        }
        let derivation = read_file(folder, &path)?;
        let unread = |need: &&String| !all.contains_key(*need);
        missing.extend(derivation.needs.iter().filter(unread).cloned());
        all.insert(path, derivation);
    }
    Some(all)
}

/// Reads some derivations of a store's folder, without those that they need. `None` if a file is
/// missing or has another form.
pub fn read_alone(folder: &Path, paths: &[&str]) -> Option<BTreeMap<String, Derivation>> {
    let derivation = |path: &&str| Some(((*path).to_owned(), read_file(folder, path)?));
    paths.iter().map(derivation).collect()
}

fn read_file(folder: &Path, path: &str) -> Option<Derivation> {
    let name = Path::new(path).file_name()?;
    let text = std::fs::read_to_string(folder.join(name)).ok()?;
    read(&text)
}

/// Reads the text of a derivation's file: `Derive(` outputs, inputs that are derivations, inputs
/// that are files, system, builder, arguments and environment `)`.
fn read(text: &str) -> Option<Derivation> {
    let mut terms = Terms { text };
    terms.skip("Derive(")?;
    let mut outputs = terms.list(|terms| {
        terms.skip("(")?;
        let [_name, path, _method, hash] = terms.strings()?;
        terms.skip(")")?;
        Some((path, hash))
    })?;
    terms.skip(",")?;
    let needs = terms.list(|terms| {
        terms.skip("(")?;
        let path = terms.string()?;
        terms.skip(",")?;
        terms.list(Terms::string)?;
        terms.skip(")")?;
        Some(path)
    })?;
    terms.skip(",")?;
    let sources = terms.list(Terms::string)?;
    terms.skip(",")?;
    let [_system, builder] = terms.strings()?;
    terms.skip(",")?;
    terms.list(Terms::string)?;
    terms.skip(",")?;
    let environment: Map<String, Value> = terms
        .list(|terms| {
            terms.skip("(")?;
            let [name, value] = terms.strings()?;
            terms.skip(")")?;
            Some((name, Value::String(value)))
        })?
        .into_iter()
        .collect();
    terms.skip(")")?;
    if !terms.text.is_empty() || outputs.is_empty() {
        return None;
    }
    let (output, hash) = outputs.swap_remove(0);
    Some(Derivation {
        needs,
        sources,
        output,
        fixed: !hash.is_empty(),
        builder,
        attributes: match environment.get("__json") {
            Some(Value::String(json)) => serde_json::from_str(json).ok()?,
            _ => environment,
        },
    })
}

/// The part of a file that is not read yet.
struct Terms<'a> {
    text: &'a str,
}

impl Terms<'_> {
    fn skip(&mut self, expected: &str) -> Option<()> {
        self.text = self.text.strip_prefix(expected)?;
        Some(())
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.skip("[")?;
        let mut items = Vec::new();
        while self.skip("]").is_none() {
            if !items.is_empty() {
                self.skip(",")?;
            }
            items.push(item(self)?);
        }
        Some(items)
    }

    /// Strings with commas between them.
    fn strings<const N: usize>(&mut self) -> Option<[String; N]> {
        let mut strings = Vec::with_capacity(N);
        for at in 0..N {
            if at > 0 {
                self.skip(",")?;
            }
            strings.push(self.string()?);
        }
        strings.try_into().ok()
    }

    fn string(&mut self) -> Option<String> {
        self.skip("\"")?;
        let mut string = String::new();
        loop {
            let special = self.text.find(['"', '\\'])?;
            string.push_str(&self.text[..special]);
            let is_end = self.text[special..].starts_with('"');
            self.text = &self.text[special + 1..];
            if is_end {
                return Some(string);
            }
            let escaped = self.text.chars().next()?;
            string.push(match escaped {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                other => other,
            });
            self.text = &self.text[escaped.len_utf8()..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"Derive([("out","/nix/store/a-x","","")],[("/nix/store/c-seed.drv",["out"]),("/nix/store/d.drv",["dev","out"])],["/nix/store/b-compile.sh"],"x86_64-linux","/nix/store/c-seed/bin/bash",["-eu","a\\b"],[("__json","{\"flags\":[\"-O2\",\"\\\"\\n\"]}"),("out","/nix/store/a-x")])"#;

    #[test]
    fn a_file_is_read() {
        let derivation = read(FILE).expect("a derivation");
        assert_eq!(
            derivation.needs,
            ["/nix/store/c-seed.drv", "/nix/store/d.drv"]
        );
        assert_eq!(derivation.sources, ["/nix/store/b-compile.sh"]);
        assert_eq!(derivation.output, "/nix/store/a-x");
        assert_eq!(derivation.builder, "/nix/store/c-seed/bin/bash");
        assert_eq!(derivation.attributes["flags"][1], "\"\n");
        assert!(!derivation.fixed);
        let fixed = FILE.replace("a-x\",\"\",\"\")]", "a-x\",\"sha256\",\"00\")]");
        assert!(read(&fixed).expect("a derivation").fixed);
    }

    #[test]
    fn another_form_is_nothing_to_guess_about() {
        for end in 0..FILE.len() {
            assert!(read(&FILE[..end]).is_none(), "{end}");
        }
        assert!(read(&format!("{FILE} ")).is_none());
        assert!(read(&FILE.replace("Derive(", "DrvWithVersion(\"xp-dyn-drv\",")).is_none());
    }
}
