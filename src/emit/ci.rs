//! Files of services for continuous integration, from the templates in templates/ci. The commands
//! of their steps are the same for every service.

use std::collections::BTreeMap;

use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

use super::EmitError;

/// A service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CiService {
    Github,
    Gitlab,
}

/// A job as the files have it. Every text is one of this program, or was checked to be a plain
/// word.
#[derive(Debug, Serialize)]
pub struct CiFileJob<'a> {
    pub name: &'a str,
    /// GitHub's word for the machine.
    pub runner: &'static str,
    /// GitLab's word for the machine; `None` for the usual one.
    pub tag: Option<&'static str>,
    pub variants: &'a [String],
    pub minutes: u64,
    pub measured: bool,
}

/// The facts of a kernel in the files.
#[derive(Debug, Serialize)]
pub struct CiFile<'a> {
    pub jobs: Vec<CiFileJob<'a>>,
    /// The URL that kernel-builder is cloned from.
    pub source: &'a str,
    /// The repository on the Hub. Without one, no job uploads.
    pub repo_id: Option<&'a str>,
}

impl CiService {
    /// The path of the file in a repository.
    pub fn path(self) -> &'static str {
        match self {
            Self::Github => ".github/workflows/kernel.yml",
            Self::Gitlab => ".gitlab-ci.yml",
        }
    }

    fn template(self) -> &'static str {
        match self {
            Self::Github => include_str!("../../templates/ci/github.yml.j2"),
            Self::Gitlab => include_str!("../../templates/ci/gitlab.yml.j2"),
        }
    }
}

/// The commands of the steps, by the names that the files have for them.
const STEPS: [(&str, &str); 5] = [
    ("install", include_str!("../../templates/ci/install.sh.j2")),
    ("build", include_str!("../../templates/ci/build.sh.j2")),
    ("test", include_str!("../../templates/ci/test.sh.j2")),
    ("sign", include_str!("../../templates/ci/sign.sh.j2")),
    ("upload", include_str!("../../templates/ci/upload.sh.j2")),
];

/// The text of a service's file.
///
/// # Errors
/// `EmitError::Render` for a defect of this program.
pub fn ci_file(service: CiService, file: &CiFile<'_>) -> Result<String, EmitError> {
    let failed = |source| EmitError::Render {
        target: service.path(),
        source,
    };
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    let mut context = BTreeMap::from([
        ("jobs", Value::from(Serde(&file.jobs))),
        ("source", Value::from(file.source)),
        ("repo_id", Value::from(Serde(&file.repo_id))),
    ]);
    for (name, template) in STEPS {
        let text = environment.render_str(template, &context).map_err(failed)?;
        context.insert(name, Value::from(text));
    }
    let text = environment
        .render_str(service.template(), &context)
        .map_err(failed)?;
    Ok(text.trim_end().to_owned() + "\n")
}
