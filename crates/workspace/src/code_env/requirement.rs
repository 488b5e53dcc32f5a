//! What installers are given: names of packages with versions, and nothing that they would take for an option, an address
//! or a path.

use std::sync::LazyLock;

use regex::Regex;

use branchyard_model::Problem;

/// So many are installed at once.
const MOST: usize = 100;
const LONGEST: usize = 200;

/// A name, perhaps with extras in brackets, perhaps with versions: `requests[socks]>=2.31,<3`.
static REQUIREMENT: LazyLock<Regex> = LazyLock::new(|| {
    let name = "[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?";
    let version = "(?:===?|!=|~=|<=|>=|<|>)[A-Za-z0-9][A-Za-z0-9.*+!_-]*";
    let whole = format!(r"\A{name}(?:\[{name}(?:,{name})*\])?(?:{version}(?:,{version})*)?\z");
    // It is written here, so it is one.
    Regex::new(&whole).unwrap_or_else(|error| unreachable!("{error}"))
});

pub fn check_packages(packages: &[String]) -> Result<(), Problem> {
    if packages.len() > MOST {
        let detail = format!("at most {MOST} packages are installed at once");
        return Err(Problem::unprocessable("packages", detail));
    }
    for (n, package) in packages.iter().enumerate() {
        if package.len() > LONGEST || !REQUIREMENT.is_match(package) {
            let shown: String = package.chars().take(60).collect();
            let detail = format!("{shown:?} is no name of a package with versions");
            return Err(Problem::unprocessable(&format!("packages[{n}]"), detail)
                .help("write it as requests, requests==2.32.3 or requests[socks]>=2.31,<3; options, addresses and paths are not taken"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_versions_are_taken_and_nothing_else() {
        for package in [
            "requests",
            "a",
            "zope.interface",
            "ruamel_yaml-x",
            "requests==2.32.3",
            "requests[socks,use-chardet]>=2.31,<3",
            "torch==2.4.0+cpu",
            "x~=1.0",
            "x==1.*",
        ] {
            check_packages(&[package.to_owned()]).unwrap();
        }
        for package in [
            "",
            "x; rm -rf ~",
            "--index-url=http://evil.example",
            "-r",
            "git+https://evil.example/x",
            "https://evil.example/x.whl",
            "../x",
            "./x",
            "/x",
            "x/y",
            "x @ file:///etc",
            "x==1 y",
            "x\n--pre",
            "x\n",
            "x==$(id)",
            "x==",
            "x[",
            "x[]",
            ".x",
            "x.",
            "x,y",
            "\0",
            &"x".repeat(300),
        ] {
            let refused = check_packages(&["ok".to_owned(), package.to_owned()]).unwrap_err();
            assert_eq!(refused.field.as_deref(), Some("packages[1]"), "{package:?}");
        }
        assert!(check_packages(&vec!["x".to_owned(); MOST + 1]).is_err());
    }
}
