//! `schema`: the JSON Schema of build.toml, for editors.

use super::{CommandError, print};
use crate::manifest::schema::schema;

pub fn run() -> Result<(), CommandError> {
    print(&format!("{:#}\n", schema()))
}
