//! `[repos.NAME.setup]`: what makes a workspace ready to work in. It is done once for all workspaces that have the same
//! inputs. A branch may say the same in `.branchyard/repo.yml`, where the operator allows it.

use std::borrow::Cow;
use std::path::{Component, Path};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Task;
use super::value::{Text, TextKind};
use branchyard_model::{Globs, Stars};

const MAX_COMMANDS: usize = 20;
const MAX_COMMAND_CHARS: usize = 2_000;
const MAX_PATHS: usize = 100;
/// Where a branch may say it, in YAML.
pub const BRANCH_FILE: &str = ".branchyard/repo.yml";
/// What a glob begins with, in a path.
const GLOB: [char; 4] = ['*', '?', '[', '{'];

/// What makes a workspace of this repo ready to work in, such as installed packages. Its commands are run once for all
/// workspaces in which they and the content of the inputs are the same; the others get a copy of the outputs, before their
/// first run and when their inputs have changed. A protected branch takes only what was made at a commit that the remote has
/// on that branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    try_from = "WrittenSetup",
    expecting = "a section [repos.NAME.setup] with run and outputs"
)]
pub struct Setup {
    pub run: Vec<Task>,
    pub inputs: Vec<InputPath>,
    pub outputs: Vec<OutputPath>,
}

/// A path in a workspace, or a glob for some.
pub type InputPath = Text<InputPaths>;
/// A path in a workspace.
pub type OutputPath = Text<OutputPaths>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputPaths {}
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputPaths {}

/// What a branch says of its repo.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BranchFile {
    setup: Option<Setup>,
}

/// As it is written.
#[derive(Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a section [repos.NAME.setup] with run and outputs"
)]
struct WrittenSetup {
    /// Up to 20 commands, one after another, each a program and its arguments. They are run like tasks, without secrets.
    #[schemars(extend("example" = [["npm", "ci"]]))]
    run: Vec<Task>,
    /// Files that decide what the outputs are, as paths in the workspace; a path may be a glob, which finds tracked files.
    #[serde(default)]
    #[schemars(extend("example" = ["package-lock.json"]))]
    inputs: Vec<InputPath>,
    /// What the commands make, as paths of directories or files in the workspace. Nothing tracked lies there.
    #[schemars(extend("example" = ["node_modules"]))]
    outputs: Vec<OutputPath>,
}

impl TryFrom<WrittenSetup> for Setup {
    type Error = String;

    fn try_from(written: WrittenSetup) -> Result<Self, String> {
        let WrittenSetup {
            run,
            inputs,
            outputs,
        } = written;
        if run.is_empty() || run.len() > MAX_COMMANDS {
            let given = run.len();
            return Err(format!(
                "run has {given} commands; it has 1 to {MAX_COMMANDS}"
            ));
        }
        let chars =
            |task: &Task| -> usize { task.argv().iter().map(|word| word.chars().count()).sum() };
        if run.iter().any(|task| chars(task) > MAX_COMMAND_CHARS) {
            return Err(format!(
                "a command of run has more than {MAX_COMMAND_CHARS} characters"
            ));
        }
        if outputs.is_empty() {
            return Err("outputs is empty: name what the commands make".to_owned());
        }
        for (name, len) in [("inputs", inputs.len()), ("outputs", outputs.len())] {
            if len > MAX_PATHS {
                return Err(format!("{name} has more than {MAX_PATHS} paths"));
            }
        }
        let is_in = |a: &OutputPath, b: &OutputPath| Path::new(a.as_str()).starts_with(b.as_str());
        for (n, output) in outputs.iter().enumerate() {
            let others = outputs.iter().enumerate().filter(|(other, _)| *other != n);
            if let Some((_, other)) = others.into_iter().find(|(_, other)| is_in(output, other)) {
                return Err(format!(
                    "outputs has {output}, which lies in {other} of the same list"
                ));
            }
        }
        Ok(Self {
            run,
            inputs,
            outputs,
        })
    }
}

impl Setup {
    /// What a branch says in its [`BRANCH_FILE`], or what is wrong with that.
    pub fn of_branch(text: &str) -> Result<Option<Self>, String> {
        let options = serde_saphyr::options! { with_snippet: false };
        let file: BranchFile = serde_saphyr::from_str_with_options(text, options)
            .map_err(|error| error.to_string())?;
        Ok(file.setup)
    }
}

impl InputPaths {
    /// Whether the path stands for all that it matches.
    pub fn is_glob(path: &InputPath) -> bool {
        path.as_str().contains(GLOB)
    }
}

impl TextKind for InputPaths {
    const EXPECTED: &'static str =
        r#"a path in the workspace, such as "package-lock.json" or "apps/*/go.sum""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        let path = plain_path(text)?;
        Globs::one(path, Stars::WithinSegment)?;
        Ok(path.into())
    }
}

impl TextKind for OutputPaths {
    const EXPECTED: &'static str = r#"a path in the workspace, such as "node_modules""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        let path = plain_path(text)?;
        if path.contains(GLOB) {
            return Err("outputs are named one by one, without * ? [ and {".to_owned());
        }
        Ok(path.into())
    }
}

/// A path that stays in the workspace and out of `.git`.
fn plain_path(text: &str) -> Result<&str, String> {
    let path = text.strip_suffix('/').unwrap_or(text);
    let is_plain = |part: &str| !matches!(part, "" | "." | "..");
    let is_relative = Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if path.len() > 1_000 || path.contains(['\0', '\n']) {
        return Err("a path has at most 1,000 bytes, in one line".to_owned());
    }
    if !is_relative || !path.split('/').all(is_plain) {
        return Err("it leads from the workspace to something in it, without . and ..".to_owned());
    }
    if path
        .split('/')
        .any(|part| part.eq_ignore_ascii_case(".git"))
    {
        return Err("what is in .git is git's own".to_owned());
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(run: &str, inputs: &str, outputs: &str) -> Result<Setup, String> {
        let text = format!(r#"{{"run": {run}, "inputs": {inputs}, "outputs": {outputs}}}"#);
        serde_json::from_str(&text).map_err(|error| error.to_string())
    }

    #[test]
    fn commands_and_paths_are_read() {
        let read = setup(
            r#"[["npm", "ci"]]"#,
            r#"["package-lock.json", "apps/*/package.json"]"#,
            r#"["node_modules/", "web/.cache"]"#,
        )
        .unwrap();
        assert_eq!(read.run[0].argv(), ["npm", "ci"]);
        let outputs: Vec<_> = read.outputs.iter().map(OutputPath::as_str).collect();
        assert_eq!(outputs, ["node_modules", "web/.cache"]);
        assert!(InputPaths::is_glob(&read.inputs[1]) && !InputPaths::is_glob(&read.inputs[0]));
    }

    #[test]
    fn a_branch_says_it_in_yaml() {
        let text = "setup:\n  run: [[npm, ci]]\n  inputs: [package-lock.json]\n  outputs: [node_modules]\n";
        let read = Setup::of_branch(text).unwrap().unwrap();
        assert_eq!(read.run[0].argv(), ["npm", "ci"]);
        assert_eq!(Setup::of_branch("{}").unwrap(), None);
        let wrong =
            Setup::of_branch("setup:\n  run: [[npm, ci]]\n  outputs: [../x]\n").unwrap_err();
        assert!(
            wrong.contains("line 3") && wrong.contains("../x"),
            "{wrong}"
        );
        assert!(Setup::of_branch("setup: {}\nother: 1\n").is_err());
        let bomb = (1..20).fold("a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, n| {
            let before = vec![format!("*a{}", n - 1); 9].join(",");
            format!("{text}a{n}: &a{n} [{before}]\n")
        });
        assert!(Setup::of_branch(&bomb).is_err());
    }

    #[test]
    fn what_leads_elsewhere_or_says_nothing_is_refused() {
        let npm = r#"[["npm", "ci"]]"#;
        for path in [
            "", "/", "..", "../x", "/etc", "a/../b", "a//b", "./a", ".", ".git", "a/.GIT/x", "a\\n",
        ] {
            let list = format!(r#"["{path}"]"#);
            assert!(setup(npm, "[]", &list).is_err(), "output {path:?}");
            assert!(setup(npm, &list, r#"["x"]"#).is_err(), "input {path:?}");
        }
        assert!(setup(npm, "[]", r#"["a/*"]"#).is_err());
        assert!(setup(npm, r#"["[a"]"#, r#"["x"]"#).is_err());
        assert!(setup(npm, "[]", "[]").is_err());
        assert!(setup("[]", "[]", r#"["x"]"#).is_err());
        assert!(setup("[[]]", "[]", r#"["x"]"#).is_err());
        assert!(setup(npm, "[]", r#"["a", "a/b"]"#).is_err());
        assert!(setup(npm, "[]", r#"["a", "a"]"#).is_err());
        let many = format!("[{}]", vec![r#"["x"]"#; 21].join(","));
        assert!(setup(&many, "[]", r#"["x"]"#).is_err());
        let long = format!(r#"[["x", "{}"]]"#, "y".repeat(2_000));
        assert!(setup(&long, "[]", r#"["x"]"#).is_err());
    }
}
