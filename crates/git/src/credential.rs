//! The credential helper: git is told of it, and asks it when a remote wants to know who we are. It is
//! this very program, started by git, and what it answers it has from a descriptor that only git and its
//! children were given. It speaks for one place alone, so a remote that redirects to another host gets
//! nothing there.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Error;
use branchyard_config::{Credential, Scheme, Token, WebHost};
use branchyard_process::{Captured, Handover, Redactor};

/// The hidden word on the command line that makes this program git's credential helper.
pub const CREDENTIAL_COMMAND: &str = "git-credential";

/// A question of git's is a few lines.
const MAX_QUESTION: u64 = 64 * 1024;

/// The credential for one remote, and where that is.
#[derive(Debug)]
pub(super) struct RemoteCredential {
    place: WebHost,
    credential: Arc<Credential>,
}

/// A credential on its way to one git process.
pub struct CredentialLease {
    pub handover: Handover,
    /// What must not be seen in anything that comes back.
    pub token: Token,
}

/// What the helper is told.
#[derive(Serialize, Deserialize)]
struct HelperInput {
    protocol: String,
    host: String,
    username: String,
    token: String,
    scheme: Scheme,
}

impl RemoteCredential {
    pub(super) fn new(place: WebHost, credential: Arc<Credential>) -> Self {
        Self { place, credential }
    }

    pub(super) fn setting(&self) -> Arc<str> {
        self.credential.setting().clone()
    }

    /// The credential as it is now, for a git that reads the helper's command line from `variable`.
    pub(super) fn lease(&self, variable: String) -> Result<CredentialLease, Error> {
        let token = self.credential.token().map_err(|why| Error::Credential {
            setting: self.setting(),
            why,
        })?;
        let told = HelperInput {
            protocol: self.place.protocol().to_owned(),
            host: self.place.address(),
            username: self.credential.username().as_str().to_owned(),
            token: token.expose().to_owned(),
            scheme: self.credential.scheme(),
        };
        let secret = serde_json::to_string(&told)
            .map_err(|error| Error::io("hand over a credential")(io::Error::other(error)))?;
        let handover = Handover {
            secret,
            variable,
            helper: CREDENTIAL_COMMAND.to_owned(),
        };
        Ok(CredentialLease { handover, token })
    }
}

impl CredentialLease {
    /// What a command said, without the token: a remote may say anything, also what it was shown.
    pub(super) fn kept_out_of(&self, captured: Captured) -> Captured {
        let Some(redactor) = Redactor::new(&[self.token.expose().to_owned()]) else {
            return captured;
        };
        let clean = |bytes: &[u8]| {
            let (mut redactor, mut clean) = (redactor.clone(), Vec::new());
            redactor.feed(bytes, &mut clean);
            redactor.finish(&mut clean);
            clean
        };
        Captured {
            stdout: clean(&captured.stdout),
            stderr: clean(&captured.stderr),
            ..captured
        }
    }
}

/// Answers git on standard output; `operation` is what git wants done.
pub fn credential_helper_main(operation: Option<&str>) -> ExitCode {
    // git also tells of credentials that worked or failed; there is nothing to store and nothing to forget.
    if operation != Some("get") {
        return ExitCode::SUCCESS;
    }
    match attend() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // git passes it on to whoever asked.
            eprintln!("branchyard: no credential: {error}");
            ExitCode::FAILURE
        }
    }
}

fn attend() -> io::Result<()> {
    let told: HelperInput = serde_json::from_str(&Handover::take()?)
        // Its message could quote what it read.
        .map_err(|_| io::Error::other("what was handed over makes no sense"))?;
    let mut question = String::new();
    io::stdin()
        .take(MAX_QUESTION)
        .read_to_string(&mut question)?;
    let answer = told.answer(&question).map_err(io::Error::other)?;
    io::stdout().write_all(answer.as_bytes())
}

impl HelperInput {
    /// The answer in git's own form; empty where the question is about another place.
    fn answer(&self, question: &str) -> Result<String, &'static str> {
        let asked = |name: &str| {
            let mut lines = question.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
        };
        let place = WebHost::read(
            asked("protocol").unwrap_or_default(),
            asked("host").unwrap_or_default(),
        );
        if place.is_none() || place != WebHost::read(&self.protocol, &self.host) {
            return Ok(String::new());
        }
        match self.scheme {
            Scheme::Basic => Ok(format!(
                "username={}\npassword={}\n",
                self.username, self.token
            )),
            Scheme::Bearer if question.lines().any(|line| line == "capability[]=authtype") => {
                Ok(format!(
                    "capability[]=authtype\nauthtype=Bearer\ncredential={}\nephemeral=1\n",
                    self.token
                ))
            }
            Scheme::Bearer => Err("scheme = \"bearer\" needs git 2.46 or later"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(scheme: Scheme) -> HelperInput {
        HelperInput {
            protocol: "https".to_owned(),
            host: "git.example.org:443".to_owned(),
            username: "me".to_owned(),
            token: "t0ken".to_owned(),
            scheme,
        }
    }

    #[test]
    fn it_answers_for_its_own_place_and_no_other() {
        let basic = told(Scheme::Basic);
        let question = "capability[]=authtype\nprotocol=https\nhost=git.example.org\n\n";
        assert_eq!(
            basic.answer(question).unwrap(),
            "username=me\npassword=t0ken\n"
        );
        for question in [
            "",
            "protocol=https\nhost=evil.example\n",
            "protocol=http\nhost=git.example.org\n",
            "protocol=https\nhost=git.example.org:8443\n",
            "protocol=https\nhost=git.example.org@evil.example\n",
            "protocol=https\nxhost=git.example.org\n",
            "host=git.example.org\n",
        ] {
            assert_eq!(basic.answer(question).unwrap(), "", "{question:?}");
        }
    }

    #[test]
    fn bearer_is_for_a_git_that_knows_of_it() {
        let bearer = told(Scheme::Bearer);
        let question = "protocol=https\nhost=git.example.org\n";
        assert!(bearer.answer(question).is_err());
        let answer = bearer.answer(&format!("capability[]=authtype\n{question}"));
        let answer = answer.unwrap();
        assert!(answer.contains("authtype=Bearer\ncredential=t0ken\n"));
        assert!(!answer.contains("password"));
    }
}
