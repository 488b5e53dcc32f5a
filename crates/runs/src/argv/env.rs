//! The environment that a caller may add to a run. A build's environment is declared by the yard;
//! a caller adds to it, but never a variable that decides which program is run, what is loaded
//! into it, where it finds its configuration, or how a shell or `make` reads its input.

use std::collections::BTreeMap;

use branchyard_config::{is_own_variable, is_reserved_variable};
use branchyard_model::Problem;

const MAX_VARIABLES: usize = 256;
const MAX_VALUE_BYTES: usize = 32 * 1024;

/// Checks what a caller wants in the environment of a run. `allow` holds exact names that the
/// operator lets through.
pub fn caller_env(
    env: BTreeMap<String, String>,
    allow: &[String],
) -> Result<BTreeMap<String, String>, Problem> {
    check(env, |name, value| {
        let reserved = is_reserved_variable(name) && !allow.iter().any(|allowed| allowed == name);
        let rule = reserved.then_some("it changes which programs run or how they start");
        rule.or_else(|| make_rule(value))
    })
}

/// The same for a command that may be anything: it could run whatever a variable would have it run.
pub fn own_env(env: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Problem> {
    check(env, |_, _| None)
}

/// Checks that these are variables and not the yard's own, and what `rule` says of each.
fn check(
    env: BTreeMap<String, String>,
    rule: impl Fn(&str, &str) -> Option<&'static str>,
) -> Result<BTreeMap<String, String>, Problem> {
    if env.len() > MAX_VARIABLES {
        return Err(Problem::bad(
            "env",
            format!("there are more than {MAX_VARIABLES} variables"),
        ));
    }
    for (name, value) in &env {
        let broken = name_rule(name).or_else(|| value_rule(value));
        if let Some(rule) = broken.or_else(|| rule(name, value)) {
            let field = format!("env.{}", super::words::shown(name).trim_matches('"'));
            return Err(Problem::bad(&field, format!("{field} is refused: {rule}")).help(
                "send only variables that the build itself reads; the operator can set others for the repository",
            ));
        }
    }
    Ok(env)
}

fn name_rule(name: &str) -> Option<&'static str> {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if name.is_empty() || !name.bytes().all(word) || name.as_bytes()[0].is_ascii_digit() {
        return Some("a name is letters, digits and '_', and does not start with a digit");
    }
    is_own_variable(name).then_some("the yard alone sets BRANCHYARD_ variables")
}

fn value_rule(value: &str) -> Option<&'static str> {
    if value.contains('\0') {
        return Some("the value holds a NUL");
    }
    (value.len() > MAX_VALUE_BYTES).then_some("the value is longer than 32 KiB")
}

/// make takes every environment variable as one of its own and expands it, functions included.
fn make_rule(value: &str) -> Option<&'static str> {
    let expands = value.contains("$(") || value.contains("${");
    expands.then_some("make would run what '$(' and '${' enclose")
}

#[cfg(test)]
mod tests {
    use super::*;
    use branchyard_model::ErrorKind;
    use proptest::prelude::*;

    fn check(name: &str, value: &str, allow: &[&str]) -> Result<(), Problem> {
        let allow: Vec<_> = allow.iter().map(|name| (*name).to_owned()).collect();
        caller_env([(name.to_owned(), value.to_owned())].into(), &allow).map(drop)
    }

    #[test]
    fn a_command_of_ones_own_takes_every_variable_but_the_yards() {
        let own = |name: &str, value: &str| own_env([(name.to_owned(), value.to_owned())].into());
        for (name, value) in [("PYTHONPATH", "src"), ("PATH", "/x"), ("A", "$(b)")] {
            assert!(own(name, value).is_ok(), "{name}");
        }
        for (name, value) in [
            ("BRANCHYARD_REPO", "x"),
            ("A=B", "x"),
            ("", "x"),
            ("A", "\0"),
        ] {
            assert!(own(name, value).is_err(), "{name}");
        }
    }

    #[test]
    fn what_changes_how_programs_run_is_refused() {
        for name in [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "LD_AUDIT",
            "DYLD_INSERT_LIBRARIES",
            "BASH_ENV",
            "ENV",
            "BASH_FUNC_ls",
            "SHELLOPTS",
            "BASHOPTS",
            "IFS",
            "PS4",
            "PROMPT_COMMAND",
            "GIT_DIR",
            "GIT_SSH_COMMAND",
            "GIT_CONFIG_COUNT",
            "SSH_AUTH_SOCK",
            "MAKEFLAGS",
            "GNUMAKEFLAGS",
            "MFLAGS",
            "MAKEFILES",
            "MAKELEVEL",
            "MAKEOVERRIDES",
            "MAKE",
            "MAKE_COMMAND",
            "PATH",
            "HOME",
            "SHELL",
            "TMPDIR",
            "USER",
            "LOGNAME",
            "BRANCHYARD_RUN_ID",
            "PYTHONSTARTUP",
            "PYTHONPATH",
            "PYTHONHOME",
            "PERL5OPT",
            "PERL5LIB",
            "RUBYOPT",
            "RUBYLIB",
            "NODE_OPTIONS",
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "RUSTC_WRAPPER",
            "GCONV_PATH",
            "LOCPATH",
            "NLSPATH",
            "GLIBC_TUNABLES",
            "MALLOC_TRACE",
            "POSIXLY_CORRECT",
            "XDG_CONFIG_HOME",
        ] {
            let problem = check(name, "x", &[]).expect_err(name);
            assert_eq!(problem.kind, ErrorKind::BadRequest, "{name}");
            assert_eq!(problem.field, Some(format!("env.{name}").into()));
        }
    }

    #[test]
    fn names_that_are_none_are_refused() {
        for name in [
            "",
            "1A",
            "A-B",
            "A B",
            "A=B",
            "A\0",
            "BASH_FUNC_x%%",
            "é",
            ".SHELLFLAGS",
            "A\n",
        ] {
            assert!(check(name, "x", &[]).is_err(), "{name:?}");
            assert!(check(name, "x", &[name]).is_err(), "{name:?} allowed");
        }
    }

    #[test]
    fn what_a_build_reads_passes() {
        for (name, value) in [
            ("V", "1"),
            ("CFLAGS", "-O2 -g"),
            ("_x9", ""),
            ("PYTHON", "python3"),
            ("PYTHONUNBUFFERED", "1"),
            ("RUSTFLAGS", "-D warnings"),
            ("CI", "true"),
            ("PASSWORD", "pa$$word\nsecond line"),
            ("MAKEINFO", "true"),
            ("path", "lower case is another variable"),
        ] {
            assert!(check(name, value, &[]).is_ok(), "{name}");
        }
    }

    #[test]
    fn the_operator_allows_by_exact_name_but_never_the_yards_own() {
        assert!(check("PATH", "/opt/bin", &["PATH"]).is_ok());
        assert!(check("LD_PRELOAD", "x", &["LD_", "PRELOAD", "LD_*"]).is_err());
        assert!(check("BRANCHYARD_COMMIT", "x", &["BRANCHYARD_COMMIT"]).is_err());
    }

    #[test]
    fn values_are_bounded_and_inert_for_make() {
        let longest = "x".repeat(MAX_VALUE_BYTES);
        assert!(check("V", &longest, &[]).is_ok());
        assert!(check("V", &format!("{longest}x"), &[]).is_err());
        for value in ["a\0b", "$(shell id)", "${shell id}", "a$$(shell id)"] {
            assert!(check("V", value, &[]).is_err(), "{value:?}");
            assert!(check("V", value, &["V"]).is_err(), "{value:?} allowed");
        }
    }

    #[test]
    fn there_is_a_limit_to_their_number() {
        let many = |n: usize| (0..n).map(|i| (format!("V{i}"), String::new())).collect();
        assert!(caller_env(many(MAX_VARIABLES), &[]).is_ok());
        assert!(caller_env(many(MAX_VARIABLES + 1), &[]).is_err());
    }

    proptest! {
        #[test]
        fn what_passes_is_unchanged(env in prop::collection::btree_map("[A-Z_%=]{0,6}", any::<String>(), 0..4)) {
            if let Ok(passed) = caller_env(env.clone(), &[]) {
                prop_assert_eq!(passed, env);
            }
        }
    }
}
