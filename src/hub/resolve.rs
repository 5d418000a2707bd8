//! Which of a kernel's variants the `kernels` client takes on this machine, and why it refuses the
//! others. The rules are the client's own.

use std::cmp::Reverse;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::error::HubError;

/// The facts of this machine's Python that decide.
#[derive(Clone, Debug, Deserialize)]
pub struct LoaderFacts {
    /// `x86_64`
    pub cpu: String,
    /// `linux`
    pub os: String,
    /// `cpu`, `cu130`, `rocm71`, `xpu20253`, `metal`.
    pub backend: String,
    /// Major and minor version of torch; `None` without torch.
    pub torch: Option<(u32, u32)>,
    /// Whether torch has the newer ABI of C++; `None` outside of Linux.
    pub cxx11: Option<bool>,
    /// Major and minor version of tvm-ffi.
    pub tvm_ffi: Option<(u32, u32)>,
}

/// A variant, and the reason why it is refused; `None` if it fits.
#[derive(Debug, Serialize)]
pub struct VariantDecision {
    pub variant: String,
    pub refused: Option<String>,
}

/// Prints the facts as JSON.
const PROBE: &str = "\
import json, platform
pair = lambda text: [int(part) for part in text.split('+')[0].split('.')[:2]]
flat = lambda text: ''.join(text.split('.')[:2])
facts = {'cpu': platform.machine(), 'os': platform.system().lower(), 'backend': 'cpu'}
facts |= {'torch': None, 'cxx11': None, 'tvm_ffi': None}
if facts['os'] == 'darwin':
    facts['cpu'] = {'arm64': 'aarch64'}.get(facts['cpu'], facts['cpu'])
    facts['backend'] = 'metal'
try:
    import torch
    facts['torch'] = pair(torch.__version__)
    facts['cxx11'] = torch.compiled_with_cxx11_abi() if facts['os'] == 'linux' else None
    for word, name in (('cuda', 'cu'), ('hip', 'rocm'), ('xpu', 'xpu')):
        version = getattr(torch.version, word, None)
        if version:
            if word == 'xpu':
                version = f'{version[:4]}.{int(version[4:6])}'
            facts['backend'] = name + flat(version)
            break
except ImportError:
    pass
try:
    import tvm_ffi
    facts['tvm_ffi'] = pair(tvm_ffi.__version__)
except ImportError:
    pass
print(json.dumps(facts))
";

impl LoaderFacts {
    /// The facts of a Python, `python3` on the PATH if none is named.
    ///
    /// # Errors
    /// `HubError::Python`
    pub fn find(python: Option<&str>) -> Result<Self, HubError> {
        let program = python.unwrap_or("python3");
        let failed = |why: String| HubError::Python {
            program: program.to_owned(),
            why,
        };
        let mut command = Command::new(program);
        let output = command.args(["-c", PROBE]).stdin(Stdio::null()).output();
        let output = output.map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            return Err(failed(words.lines().last().unwrap_or_default().to_owned()));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
    }

    /// Variants with their decisions: those that fit first, the best of them first.
    pub fn decide<'v>(&self, variants: impl Iterator<Item = &'v str>) -> Vec<VariantDecision> {
        let decide = |variant: &str| (self.judge(variant), variant.to_owned());
        let mut decisions: Vec<_> = variants.map(decide).collect();
        decisions.sort_by(|(one, a), (other, b)| match (one, other) {
            (Ok(one), Ok(other)) => (one, a).cmp(&(other, b)),
            (one, other) => (one.is_err(), a).cmp(&(other.is_err(), b)),
        });
        let decision =
            |(judged, variant): (Result<VariantPreference, String>, String)| VariantDecision {
                variant,
                refused: judged.err(),
            };
        decisions.into_iter().map(decision).collect()
    }

    /// The place of a variant among those that fit, or the reason why it does not.
    fn judge(&self, variant: &str) -> Result<VariantPreference, String> {
        let own_kind = self.backend.trim_end_matches(|c: char| c.is_ascii_digit());
        let own_kind = if own_kind == "cu" { "cuda" } else { own_kind };
        if let Some(kind) = variant
            .strip_prefix("torch-")
            .filter(|kind| !kind.contains('-'))
        {
            return match kind == own_kind || kind == "universal" {
                true => Ok((2, Reverse((0, 0)), kind == "universal", Reverse(0))),
                false => Err(format!("it is for {kind}, torch here is for {own_kind}")),
            };
        }
        let unknown = || "its name is of no known form".to_owned();
        let (rest, os) = variant.rsplit_once('-').ok_or_else(unknown)?;
        let (rest, cpu) = rest.rsplit_once('-').ok_or_else(unknown)?;
        let (framework, backend) = rest.rsplit_once('-').ok_or_else(unknown)?;
        if (cpu, os) != (&self.cpu, &self.os) {
            return Err(format!(
                "it is for {cpu}-{os}, this is {}-{}",
                self.cpu, self.os
            ));
        }
        let here = |version: Option<(u32, u32)>| {
            version.map_or("none".to_owned(), |(major, minor)| {
                format!("{major}.{minor}")
            })
        };
        let (order, version, tagged) =
            if let Some(digits) = framework.strip_prefix("torch-stable-abi") {
                let version = flat_version(digits).ok_or_else(unknown)?;
                if self.torch.is_none_or(|own| version > own) {
                    return Err(format!(
                        "it needs torch {} or later, here is {}",
                        here(Some(version)),
                        here(self.torch)
                    ));
                }
                (0, version, false)
            } else if let Some(digits) = framework.strip_prefix("tvm-ffi") {
                let version = flat_version(digits).ok_or_else(unknown)?;
                if self.tvm_ffi != Some(version) {
                    return Err(format!(
                        "it is for tvm-ffi {}, here is {}",
                        here(Some(version)),
                        here(self.tvm_ffi)
                    ));
                }
                (2, (0, 0), false)
            } else {
                let rest = framework.strip_prefix("torch").ok_or_else(unknown)?;
                let (digits, tag) = rest
                    .split_once('-')
                    .map_or((rest, None), |(digits, tag)| (digits, Some(tag)));
                let version = flat_version(digits).ok_or_else(unknown)?;
                if self.torch != Some(version) {
                    return Err(format!(
                        "it is for torch {}, here is {}",
                        here(Some(version)),
                        here(self.torch)
                    ));
                }
                if tag.is_some_and(|tag| Some(tag == "cxx11") != self.cxx11) {
                    return Err("torch here has the other ABI of C++".to_owned());
                }
                (1, (0, 0), tag.is_some())
            };
        let cuda = |name: &str| {
            let digits = name.strip_prefix("cu")?;
            let (major, minor) = digits.split_at_checked(digits.len().checked_sub(1)?)?;
            Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
        };
        let fits = match (cuda(backend), cuda(&self.backend)) {
            (Some(its), Some(own)) => its.0 == own.0 && its.1 <= own.1,
            _ => backend == self.backend,
        };
        match fits {
            true => {
                let minor = backend.chars().last().and_then(|last| last.to_digit(10));
                let minor = minor.unwrap_or_default();
                Ok((order, Reverse(version), tagged, Reverse(minor)))
            }
            false => Err(format!(
                "it is for {backend}, torch here is for {}",
                self.backend
            )),
        }
    }
}

/// The order of variants that fit: kind, version of the stable ABI, less preferred name, minor
/// version of the toolkit.
type VariantPreference = (u8, Reverse<(u32, u32)>, bool, Reverse<u32>);

/// The version in a name: `211` is 2.11.
fn flat_version(digits: &str) -> Option<(u32, u32)> {
    let (major, minor) = digits.split_at_checked(1)?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
