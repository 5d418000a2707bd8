//! Derivations as Nix shows them: the inputs of each. Whether one was built is not known here.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::derivation_file::{read_alone, read_closure};
use super::{Nix, NixError};

/// One derivation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Derivation {
    /// Derivations that it needs, in order.
    pub needs: Vec<String>,
    /// Files of the store that it needs.
    pub sources: Vec<String>,
    /// The path that it makes.
    pub output: String,
    /// Whether the path follows from its content: a file that is fetched.
    pub fixed: bool,
    pub builder: String,
    /// The attributes of the `derivation` call.
    pub attributes: Map<String, Value>,
}

/// The JSON of one derivation in `nix show-derivation`. Later releases print the lists in another
/// form, under the same keys.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShownDerivation {
    outputs: BTreeMap<String, ShownOutput>,
    input_srcs: Vec<String>,
    input_drvs: BTreeMap<String, Value>,
    builder: String,
    env: Map<String, Value>,
    /// Releases after 2.28 print the attributes here, not in `env.__json`.
    #[serde(default)]
    structured_attrs: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct ShownOutput {
    path: Option<String>,
    hash: Option<String>,
}

impl Nix {
    /// Some derivations by path, without the derivations that they need.
    ///
    /// # Errors
    /// `NixError` with Nix's own words.
    pub fn derivations_alone(
        &self,
        paths: &BTreeSet<&str>,
    ) -> Result<BTreeMap<String, Derivation>, NixError> {
        let paths: Vec<&str> = paths.iter().copied().collect();
        let folder = self.store_folder();
        let read = folder.and_then(|folder| read_alone(folder.as_std_path(), &paths));
        if let Some(derivations) = read {
            return Ok(derivations);
        }
        let mut all = BTreeMap::new();
        for some in paths.chunks(super::store::PATHS_AT_A_TIME) {
            let mut command = self.nix_command();
            command.arg("show-derivation").args(some);
            all.extend(self.read_derivations(command)?);
        }
        Ok(all)
    }

    /// Some derivations and all that they need, by path.
    ///
    /// # Errors
    /// `NixError` with Nix's own words.
    pub fn derivations(&self, roots: &[String]) -> Result<BTreeMap<String, Derivation>, NixError> {
        let folder = self.store_folder();
        let read = folder.and_then(|folder| read_closure(folder.as_std_path(), roots));
        match read {
            Some(derivations) => Ok(derivations),
            None => self.shown_derivations(roots),
        }
    }

    /// The same as Nix shows them, for stores whose files cannot be read here.
    ///
    /// # Errors
    /// `NixError` with Nix's own words.
    pub fn shown_derivations(
        &self,
        roots: &[String],
    ) -> Result<BTreeMap<String, Derivation>, NixError> {
        if roots.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut command = self.nix_command();
        command.args(["show-derivation", "--recursive"]).args(roots);
        self.read_derivations(command)
    }

    fn read_derivations(&self, command: Command) -> Result<BTreeMap<String, Derivation>, NixError> {
        let output = self.run_store(command, "read derivations")?;
        read(&output.stdout)
            .map_err(|error| self.store_error("read derivations", &error.to_string()))
    }
}

fn read(json: &[u8]) -> serde_json::Result<BTreeMap<String, Derivation>> {
    let shown: BTreeMap<String, ShownDerivation> = serde_json::from_slice(json)?;
    let derivation = |(path, shown): (String, ShownDerivation)| {
        let attributes = match (shown.structured_attrs, shown.env.get("__json")) {
            (Some(attributes), _) => attributes,
            (None, Some(Value::String(json))) => serde_json::from_str(json)?,
            _ => shown.env,
        };
        let output = shown.outputs.into_values().next();
        Ok((
            path,
            Derivation {
                needs: shown.input_drvs.into_keys().collect(),
                sources: shown.input_srcs,
                fixed: output.as_ref().is_some_and(|output| output.hash.is_some()),
                output: output.and_then(|output| output.path).unwrap_or_default(),
                builder: shown.builder,
                attributes,
            },
        ))
    };
    shown.into_iter().map(derivation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_derivations_of_nix_2_8_and_later_ones() {
        let common = r#""inputSrcs":["/nix/store/b-compile.sh"],"builder":"/nix/store/c-seed/bin/bash","args":[],
            "outputs":{"out":{"path":"/nix/store/a-x"}}"#;
        let old = format!(
            r#"{{"/nix/store/a-x.drv":{{{common},"inputDrvs":{{"/nix/store/c-seed.drv":["out"]}},
               "env":{{"__json":"{{\"flags\":[\"-O2\"]}}","out":"/nix/store/a-x"}}}}}}"#
        );
        let new = format!(
            r#"{{"/nix/store/a-x.drv":{{{common},
               "inputDrvs":{{"/nix/store/c-seed.drv":{{"dynamicOutputs":{{}},"outputs":["out"]}}}},
               "env":{{"out":"/nix/store/a-x"}},"structuredAttrs":{{"flags":["-O2"]}}}}}}"#
        );
        for json in [old, new] {
            let all = read(json.as_bytes()).expect("derivations");
            let one = &all["/nix/store/a-x.drv"];
            assert_eq!(one.needs, ["/nix/store/c-seed.drv"]);
            assert_eq!(one.output, "/nix/store/a-x");
            assert_eq!(one.attributes["flags"][0], "-O2");
            assert!(!one.fixed);
        }
    }
}
