//! `skills add`: writes guides for coding assistants, or lists them.

use camino::{Utf8Path, Utf8PathBuf};

use super::{CommandError, print};
use crate::cli::{SkillsAddArgs, SkillsArgs, SkillsCommand};
use crate::init::write_new;
use crate::skills::{SKILLS, Skill};
use crate::terminal::count;

/// The folders in which assistants look for guides, below the folder of their settings.
const USUAL: [&str; 3] = [".claude", ".codex", ".opencode"];

pub fn run(arguments: &SkillsArgs) -> Result<(), CommandError> {
    match &arguments.command {
        SkillsCommand::Add(arguments) => add(arguments),
    }
}

fn add(arguments: &SkillsAddArgs) -> Result<(), CommandError> {
    if arguments.names.is_empty() {
        let lines = SKILLS.map(|skill| format!("{:15} {}\n", skill.name, skill.description));
        return print(&lines.concat());
    }
    let skills: Vec<Skill> = arguments
        .names
        .iter()
        .map(|name| find(name))
        .collect::<Result<_, _>>()?;
    let folders = match &arguments.dest {
        Some(folder) => vec![folder.clone()],
        None => usual_folders()?,
    };
    for folder in folders {
        for skill in &skills {
            let place = folder.join(skill.name);
            let files = skill.files();
            write_new(&place, &files)?;
            print(&format!("{place}: {}\n", count(files.len(), "file")))?;
        }
    }
    Ok(())
}

fn find(name: &str) -> Result<Skill, CommandError> {
    let found = SKILLS.into_iter().find(|skill| skill.name == name);
    found.ok_or_else(|| CommandError::UnknownSkill {
        name: name.to_owned(),
        known: SKILLS.map(|skill| skill.name).join(", "),
    })
}

/// The folders of the assistants that have settings in the current folder.
fn usual_folders() -> Result<Vec<Utf8PathBuf>, CommandError> {
    let settings = USUAL
        .into_iter()
        .filter(|name| Utf8Path::new(name).is_dir());
    let folders: Vec<Utf8PathBuf> = settings
        .map(|name| Utf8Path::new(name).join("skills"))
        .collect();
    match folders.is_empty() {
        true => Err(CommandError::NoAssistant),
        false => Ok(folders),
    }
}
