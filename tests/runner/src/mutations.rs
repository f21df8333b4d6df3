// SPDX-License-Identifier: GPL-2.0
//! tests/mutations/*.toml: one-line changes that break a rule, each with the test that must notice.

use std::fs;
use std::path::Path;

use anyhow::{bail, Context, Result};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    mutation: Vec<Mutation>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutation {
    pub name: String,
    /// The source file, relative to the tree.
    pub file: String,
    /// Text that stands exactly once in it.
    pub from: String,
    /// What stands there instead.
    pub to: String,
    /// `SUITE.CASE` of the KUnit case that must fail, or the name of a test of `protocol.`.
    pub fails: String,
}

impl Mutation {
    /// The content of the file with the change made.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or the change does not apply.
    pub fn changed(&self, tree: &Path) -> Result<String> {
        let path = tree.join(&self.file);
        let source = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        self.apply(&source).with_context(|| self.name.clone())
    }

    /// The source with the change made.
    ///
    /// # Errors
    ///
    /// The text to change is not there, or more than once.
    fn apply(&self, source: &str) -> Result<String> {
        match source.matches(&self.from).count() {
            1 => Ok(source.replacen(&self.from, &self.to, 1)),
            count => bail!(
                "{}: the text to change stands there {count} times",
                self.file
            ),
        }
    }
}

/// All mutations, with the name of the file they stand in: `FILE.NAME`.
pub fn read(tree: &Path) -> Result<Vec<(String, Mutation)>> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(tree.join("tests/mutations")) else {
        return Ok(found);
    };
    for entry in entries {
        let path = entry?.path();
        let text = fs::read_to_string(&path)?;
        let file: File = toml::from_str(&text).with_context(|| path.display().to_string())?;
        let stem = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        found.extend(
            file.mutation
                .into_iter()
                .map(|m| (format!("{stem}.{}", m.name), m)),
        );
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_applies_only_where_its_text_stands_once() {
        let mutation = Mutation {
            name: "m".into(),
            file: "src/x.rs".into(),
            from: "a();".into(),
            to: String::new(),
            fails: "s.c".into(),
        };
        assert_eq!(mutation.apply("a(); b();").unwrap(), " b();");
        assert!(mutation.apply("b();").is_err());
        assert!(mutation.apply("a(); a();").is_err());
    }
}
