use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::{Config, Sources};
use branchyard_model::BranchName;

const FILE: &str = "\
[secrets.npm]
env = \"NPM\"
branches = [\"main\", \"release/*\"]
[secrets.deploy-key]
file = \"key\"
branches = [\"**\"]
[repos.a]
url = \"https://git.example.org/a\"
tasks = { publish = [\"npm\", \"publish\"], lint = [\"true\"] }
env = { TAKEN = \"word\" }
[repos.b]
url = \"https://git.example.org/b\"
";

const PEM: &str = "-----BEGIN KEY-----\nS3CRETS3CRETS3CRETS3CRET\n-----END KEY-----\n";

struct Yard(tempfile::TempDir);

impl Yard {
    fn new() -> Self {
        let yard = Self(tempfile::tempdir().unwrap());
        yard.file("key", PEM, 0o600);
        yard
    }

    fn file(&self, name: &str, text: &str, mode: u32) {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    }

    fn load(&self, text: &str) -> Result<Config, String> {
        let file = self.0.path().join("yard.toml");
        fs::write(&file, text).unwrap();
        let env = [
            ("HOME", "/home/me"),
            ("NPM", "S3CRET-of-npm"),
            ("SHORT", "S3CRET"),
            ("BRANCHYARD_SESSION_KEY", "S3CRET-of-the-daemon"),
        ];
        let sources = Sources {
            file: Some(file),
            env: env.into_iter().collect(),
            ..Sources::default()
        };
        Config::load(sources).map_err(|error| error.to_string())
    }

    /// What is said about `text`: from line and column on, and never with a secret in it.
    #[track_caller]
    fn refusal(&self, text: &str) -> String {
        let message = match self.load(text) {
            Ok(_) => panic!("accepted: {text}"),
            Err(message) => message,
        };
        assert!(!message.contains("S3CRET"), "{message}");
        let (_, place) = message.split_once("yard.toml:").expect("a place");
        place.to_owned()
    }
}

fn name(text: &str) -> RepoName {
    RepoName::parse(text).unwrap()
}

#[test]
fn runs_are_given_what_their_repo_grants_them() {
    let yard = Yard::new();
    let text = format!(
        "{FILE}[repos.a.secrets.publish]\nNPM_TOKEN = \"npm\"\nKEY = \"deploy-key\"\n\
         [repos.a.secrets.make]\nNPM_TOKEN = \"npm\"\n"
    );
    let config = yard.load(&text).unwrap();
    let of_repo = |repo| {
        let given = config.secrets.of_repo(&name(repo));
        given
            .map(|(run, variable, secret)| format!("{run} {variable} {}", secret.name()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        of_repo("a"),
        [
            "make NPM_TOKEN npm",
            "publish KEY deploy-key",
            "publish NPM_TOKEN npm"
        ]
    );
    assert_eq!(of_repo("b"), Vec::<String>::new());
    assert_eq!(of_repo("nowhere"), Vec::<String>::new());
    let [key, npm] = config.secrets.all().collect::<Vec<_>>()[..] else {
        panic!("there are two");
    };
    assert_eq!(npm.read().unwrap().expose(), "S3CRET-of-npm");
    assert_eq!(key.read().unwrap().expose(), PEM.trim_end());
    for (branch, allowed) in [("main", true), ("release/1", true), ("feature", false)] {
        let branch = BranchName::parse(branch).unwrap();
        assert_eq!(npm.is_for(&branch), allowed, "{branch}");
        assert!(key.is_for(&branch));
    }
    assert_eq!(config.secrets.in_environment().count(), 1);
    let files: Vec<_> = config.secrets.files().collect();
    assert_eq!(files, [yard.0.path().join("key")]);
    assert!(!format!("{config:?}").contains("S3CRET"));
}

#[test]
fn a_file_is_read_and_judged_each_time() {
    let yard = Yard::new();
    let config = yard.load(FILE).unwrap();
    let key = config.secrets.all().next().unwrap();
    yard.file("key", "renewed-and-longer", 0o600);
    assert_eq!(key.read().unwrap().expose(), "renewed-and-longer");
    yard.file("key", "short", 0o600);
    assert!(key.read().unwrap_err().contains("shorter than 8"));
    yard.file("key", "renewed-and-longer", 0o640);
    assert!(key.read().unwrap_err().contains("chmod 600"));
}

#[test]
fn what_cannot_be_a_secret_is_refused_by_its_place() {
    let yard = Yard::new();
    yard.file("open", "S3CRET-in-the-open", 0o644);
    let branches = "branches = [\"main\"]";
    for (section, start) in [
        (format!("{branches}\n"), "1:1: a secret needs env or file"),
        (
            format!("env = \"NPM\"\nfile = \"key\"\n{branches}\n"),
            "3:8: a secret comes from env or from file: choose one",
        ),
        (
            "env = \"NPM\"\n".to_owned(),
            "1:1: missing field `branches`",
        ),
        (
            "env = \"NPM\"\nbranches = []\n".to_owned(),
            "3:12: no branch could have it: name some",
        ),
        (
            "env = \"NPM\"\nbranches = [\"!main\"]\n".to_owned(),
            "3:13: invalid value \"!main\": a glob",
        ),
        (
            format!("env = \"S3CRET-itself\"\n{branches}\n"),
            "2:7: the environment variable that env names is not set",
        ),
        (
            format!("env = \"SHORT\"\n{branches}\n"),
            "2:7: the secret is shorter than 8 bytes",
        ),
        (
            format!("env = \"BRANCHYARD_SESSION_KEY\"\n{branches}\n"),
            "2:7: BRANCHYARD_* are the daemon's own",
        ),
        (
            format!("{branches}\nenv = 5\n"),
            "3:7: invalid type, expected",
        ),
        (
            format!("{branches}\nvalue = \"S3CRET-itself\"\n"),
            "3:1: unknown field `value`, expected one of `env`, `file`, `branches`",
        ),
    ] {
        let place = yard.refusal(&format!("[secrets.npm]\n{section}"));
        assert!(place.starts_with(start), "{section}: {place}");
    }
    let file = |name: &str| yard.refusal(&format!("[secrets.npm]\nfile = {name:?}\n{branches}\n"));
    assert!(file("none").contains("failed to read"), "{}", file("none"));
    assert!(file("open").contains(": chmod 600 "), "{}", file("open"));
    assert!(file("open").starts_with("2:8: "), "{}", file("open"));
    let place = yard.refusal(&format!("[secrets.\"Npm Token\"]\n{branches}\n"));
    assert!(
        place.starts_with("1:10: this is not the name of a secret"),
        "{place}"
    );
}

#[test]
fn what_cannot_be_granted_is_refused_by_its_place() {
    let yard = Yard::new();
    for (section, start) in [
        (
            "[repos.a.secrets.deploy]\nX = \"npm\"\n",
            "13:1: there is no task deploy in this repo; expected make, for make runs, a job as FILE/JOB, or one of its \
             tasks, which are: lint, publish",
        ),
        (
            "[repos.a.secrets.publish]\nX = \"nmp\"\n",
            "14:5: no secret has this name; expected the NAME of a section [secrets.NAME], which are: \
             deploy-key, npm",
        ),
        (
            "[repos.a.secrets.publish]\nX = \"S3CRET-itself\"\n",
            "14:5: this is not the name of a secret",
        ),
        (
            "[repos.a.secrets.publish]\nTAKEN = \"npm\"\n",
            "14:9: TAKEN is set in the env of this repo, too",
        ),
        (
            "[repos.a.secrets.publish]\nLD_PRELOAD = \"npm\"\n",
            "14:14: LD_PRELOAD changes which programs run",
        ),
        (
            "[repos.a.secrets.make]\nGIT_TOKEN = \"npm\"\n",
            "14:13: GIT_TOKEN changes which programs run",
        ),
        (
            "[repos.a.secrets.make]\nPATH = \"npm\"\n",
            "14:8: PATH changes which programs run",
        ),
        (
            "[repos.a.secrets.make]\nBRANCHYARD_X = \"npm\"\n",
            "14:1: invalid value \"BRANCHYARD_X\"",
        ),
        (
            "[repos.a.secrets]\nNPM_TOKEN = \"npm\"\n",
            "14:1: invalid value \"NPM_TOKEN\"",
        ),
        (
            "[repos.b.secrets.lint]\nX = \"npm\"\n",
            "13:1: there is no task lint in this repo; expected make, for make runs, a job as FILE/JOB, or one of its \
             tasks, which are: none yet",
        ),
        (
            "[repos.b.tasks]\nmake = [\"make\"]\n[repos.b.secrets.make]\nX = \"npm\"\n",
            "15:1: make means make runs here, and there is a task of this name: rename the task",
        ),
    ] {
        let place = yard.refusal(&format!("{FILE}{section}"));
        assert!(place.starts_with(start), "{section}: {place}");
    }
}
