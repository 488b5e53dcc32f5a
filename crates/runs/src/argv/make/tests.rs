use super::*;
use branchyard_model::ErrorKind;
use proptest::prelude::*;

const MAX_JOBS: u32 = 8;

fn words(line: &str) -> Vec<String> {
    shlex::split(line).expect("test input")
}

/// Command lines, one between two bars or line ends.
fn cases(lines: &str) -> impl Iterator<Item = &str> {
    lines.split(['\n', '|']).map(str::trim)
}

fn check(args: Vec<String>, allow: &[&str]) -> Result<Checked, Problem> {
    let allow: Vec<_> = allow.iter().map(|entry| (*entry).to_owned()).collect();
    let policy = MakePolicy {
        max_jobs: MAX_JOBS,
        jobs: None,
        allow: &allow,
    };
    make(args, &policy)
}

fn assert_refused(args: &[String]) {
    let problem = check(args.to_vec(), &[]).expect_err(&format!("{args:?} passed"));
    assert_eq!(problem.kind, ErrorKind::BadRequest, "{args:?}");
    assert_eq!(problem.field.as_deref(), Some("args"), "{args:?}");
}

#[test]
fn honest_arguments_pass_unchanged() {
    for line in cases(
        r"V=a,b | x:y | foo+bar | T=a@b | -j4 | -k | 'CFLAGS=-O2 -g' | test | dir/target.o
            -C sub | -Csub | --directory=sub | --directory sub | -f build/other.mk | -fother.mk
            --file=a.mk | --makefile a.mk | -W a.c | -o b.c | --what-if=a.c | --old-file b.c | -ks
            -kj4 | -nBkf a.mk | --keep-going | --trace | --no-print-directory | -Oline | -O all
            --output-sync=recurse | -l | -l2.5 | -l 3 all | --load-average=3 | --max-load 1
            -l all | --debug | --debug=b,v | -S -s -n -B -q -t -i -r -R -w -d -p -v -h -L
            --warn-undefined-variables | V:=1 | V::=1 | V?=1 | V+=1 | V= | obj-m=a.o
            CFLAGS_x.o=-g | DESTDIR=/tmp/x PREFIX=../y | MAKEINFO=true | V=a=b | V='#x' | V='a;b'
            lib(member.o) | all -k V=1 -- V=2 check | -- | a..b | ..a | 'a b' | 日本 | V=é | x%y
            -f sub/../a.mk
            --dry-run --recon --just-print --silent --quiet --stop --touch --question --version --help",
    ) {
        let args = words(line);
        assert_eq!(check(args.clone(), &[]).expect(line).args, args, "{line}");
    }
}

#[test]
fn makefiles_from_elsewhere_and_code_are_refused() {
    for line in cases(
        r"-f /x | -f/x | --file=/x | --file /x | --makefile=/x | -f ../x | -f a/../../x | -f -
            -f '' | -f | -kf/x | -C .. | -C../x | -C / | -C a/../.. | -C a -C ../.. | -C ''
            -C '~root' | -C '~' | --directory=.. | --directory .. | -W /etc/passwd | -o ../x
            --assume-new=/x | -I/x | -I x | --include-dir=/x | --include-dir x
            '--eval=$(info x)' | --eval x | -E x | -Ex | -kEx | -e | -ke | --environment-overrides
            --eva=x | --keep | --direc=.. | --unknown | -x | -k- | -s--eval=x | - | --=x | -é
            --keep-going=1 | --jobserver-auth=3,4 | --sync-mutex=x | -Ox | --output-sync=x
            --debug= | '--debug=$x' | -f '$(x)' | -l 4x | -lx | --load-average= | -b | -m | -k=1",
    ) {
        assert_refused(&words(line));
    }
}

#[test]
fn variables_that_change_how_things_run_are_refused() {
    for line in cases(
        r"SHELL=/bin/x | SHELL:=x | SHELL::=x | SHELL?=x | SHELL+=x | 'SHELL =x' | ' SHELL=x'
            .SHELLFLAGS=-c | MAKEFLAGS=-k | GNUMAKEFLAGS=x | MFLAGS=x | MAKEFILES=/x | MAKE=x
            MAKESHELL=x | MAKEOVERRIDES=x | .RECIPEPREFIX=x | .VARIABLES=x | MAKE_COMMAND=x
            VPATH=/x | CURDIR=/ | .DEFAULT_GOAL=x | PATH=/x | LD_PRELOAD=x | BASH_ENV=x
            GIT_DIR=x | HOME=x | BRANCHYARD_RUN_ID=x | V!=id | 'V=$(shell id)' | 'V=${shell id}'
            V='$x' | V='$$' | '$(info x)=1' | =x | :=x | V:::=x | 'a b=c' | 'export V=1' | x:y=3
            'V =1' | V#=1",
    ) {
        assert_refused(&words(line));
        assert_refused(&[vec!["--".to_owned()], words(line)].concat());
    }
    assert_refused(&["V=a\nb".to_owned()]);
    assert_refused(&["V\n=a".to_owned()]);
    assert_refused(&["V=a\0".to_owned()]);
}

#[test]
fn targets_stay_beneath() {
    for line in cases(
        r"../../x | .. | a/../b | a/.. | /etc/passwd | '~root/x' | '$(x)' | a'$'x | '' | -- -k
            -- --eval=x | 'lib(../../x)' | 'a ../../x'",
    ) {
        assert_refused(&words(line));
    }
    assert_refused(&["a\nb".to_owned()]);
    assert_refused(&["a\0b".to_owned()]);
    assert_refused(&["a\u{1b}b".to_owned()]);
}

#[test]
fn jobs_are_clamped() {
    for (line, clamped) in [
        ("-j", "-j8"),
        ("-j99999", "-j8"),
        ("-j 99999", "-j8"),
        ("-j99999999999999999999", "-j8"),
        ("-j3", "-j3"),
        ("-j 3 all", "-j3 all"),
        ("-j04", "-j4"),
        ("-j all", "-j8 all"),
        ("-j 4x", "-j8 4x"),
        ("-j -k", "-j8 -k"),
        ("-j --", "-j8 --"),
        ("--jobs", "-j8"),
        ("--jobs=3", "-j3"),
        ("--jobs 3", "-j3"),
        ("--jobs=99", "-j8"),
        ("-kj", "-kj8"),
        ("-kj99 all", "-kj8 all"),
        ("-kj 99 all", "-kj8 all"),
        ("-skj2", "-skj2"),
        ("-j2 -j", "-j2 -j8"),
        ("-k", "-k"),
    ] {
        assert_eq!(
            check(words(line), &[]).expect(line).args,
            words(clamped),
            "{line}"
        );
    }
    for line in
        cases(r"-j0 | -j 0 | -j00 | -jx | -j4x | -j-1 | -j+4 | --jobs= | --jobs=x | -kjs | '-j 4'")
    {
        assert_refused(&words(line));
    }
}

#[test]
fn a_limit_of_none_is_one_job() {
    let policy = MakePolicy {
        max_jobs: 0,
        jobs: Some(0),
        allow: &[],
    };
    assert_eq!(make(words("-j5"), &policy).expect("passes").args, ["-j1"]);
    assert_eq!(make(words(""), &policy).expect("passes").args, ["-j1"]);
}

#[test]
fn a_default_goes_first_where_nothing_is_said_of_jobs() {
    let policy = MakePolicy {
        max_jobs: MAX_JOBS,
        jobs: Some(4),
        allow: &[],
    };
    for line in cases(r"all | -k | -- x | -C sub j4 | -f j V=-j4 | -l 3") {
        let checked = make(words(line), &policy).expect(line);
        assert_eq!(checked.args[0], "-j4", "{line}");
        assert_eq!(checked.args[1..], words(line), "{line}");
        assert_eq!(checked.asked, Some(words(line)), "{line}");
        assert!(checked.open_jobs.is_empty(), "{line}");
    }
    for line in cases(r"-j2 | -j 2 | --jobs=2 | -kj2 | all -j2") {
        let checked = make(words(line), &policy).expect(line);
        assert!(
            !checked.args.iter().any(|word| word.contains("j4")),
            "{line}"
        );
        assert_eq!(checked.asked, None, "{line}");
    }
    let large = MakePolicy {
        jobs: Some(99),
        ..policy
    };
    assert_eq!(make(words("x"), &large).expect("passes").args, ["-j8", "x"]);
}

#[test]
fn a_number_that_was_left_open_can_be_lowered_and_not_raised() {
    for (line, asked, lowered) in [
        ("-j", "-j", "-j2"),
        ("--jobs all", "-j all", "-j2 all"),
        ("-kj all", "-kj all", "-kj2 all"),
        ("-j4 -sj -- 7", "-j4 -sj -- 7", "-j4 -sj2 -- 7"),
        ("-j --jobs", "-j -j", "-j2 -j2"),
    ] {
        let mut checked = check(words(line), &[]).expect(line);
        assert_eq!(checked.asked, Some(words(asked)), "{line}");
        for at in &checked.open_jobs {
            let word = &checked.args[*at];
            assert_eq!(&with_jobs(word, 99), word);
            checked.args[*at] = with_jobs(word, 2);
        }
        assert_eq!(checked.args, words(lowered), "{line}");
        assert_eq!(
            check(checked.args.clone(), &[]).expect(line).args,
            checked.args
        );
    }
}

#[test]
fn paths_are_reported_as_make_will_walk_them() {
    for (line, beneath) in [
        ("all V=1 dir/x.o", ""),
        ("-C sub", "sub"),
        ("-C a -Cb --directory=c", "a a/b a/b/c"),
        ("-C a -C ..", "a a/.."),
        ("-f x.mk", "x.mk"),
        ("-f x.mk -C a -C b", "a a/b a/b/x.mk"),
        ("-C a -f ../x.mk", "a a/../x.mk"),
        ("-kf x.mk -W a.c -ob.c", "x.mk a.c b.c"),
        ("-C ./a/ -f ./x", "./a/ ./a//./x"),
    ] {
        assert_eq!(
            check(words(line), &[]).expect(line).beneath,
            words(beneath),
            "{line}"
        );
    }
}

#[test]
fn the_operator_can_allow_more() {
    for (line, allow) in [
        ("-I inc", "-I"),
        ("-Iinc", "-I"),
        ("--include-dir=inc", "-I"),
        ("-I inc", "--include-dir"),
        ("'--eval=$(info x)'", "--eval"),
        ("-E x", "--eval"),
        ("-e", "-e"),
        ("-ke", "-e"),
        ("SHELL=/bin/bash", "SHELL="),
        (".SHELLFLAGS=-ec", ".SHELLFLAGS="),
        ("PATH=/x", "PATH="),
        ("--shuffle=reverse", "--shuffle"),
        ("--shuffle", "--shuffle"),
        ("-kb", "-b"),
    ] {
        let args = words(line);
        assert_eq!(
            check(args.clone(), &[allow]).expect(line).args,
            args,
            "{line}"
        );
        assert_refused(&args);
    }
    for (line, allow) in [
        ("-I /usr/include", "-I"),
        ("-I ../x", "-I"),
        ("'SHELL=$(x)'", "SHELL="),
        ("SHELL=x", "SHELL"),
        ("BRANCHYARD_COMMIT=x", "BRANCHYARD_COMMIT="),
        ("-f /x", "-f"),
        ("--shuffl", "--shuffle"),
    ] {
        assert!(check(words(line), &[allow]).is_err(), "{line} with {allow}");
    }
}

#[test]
fn a_refusal_says_what_to_write() {
    let problem = check(words("--keep"), &[]).expect_err("abbreviated");
    assert!(
        problem
            .help
            .is_some_and(|help| help.contains("--keep-going"))
    );
}

fn hostile_word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[-a-zA-Z./=:$~!+? 0-9]{0,8}",
        "-[kjsCfIEWoOle]{0,4}[0-9./]{0,3}",
        "--(eval|file|directory|jobs|include-dir|debug)(=[./a-z0-9]{0,6})?",
        "(SHELL|V|PATH|.SHELLFLAGS)[:?+! ]{0,2}=[$(a-z) ]{0,5}",
        "(\\.\\./|/|a/|~|\\./){0,4}x?",
        "--",
        any::<String>(),
    ]
}

proptest! {
    #[test]
    fn what_passes_is_safe_and_passes_again(args in prop::collection::vec(hostile_word(), 0..6)) {
        let Ok(checked) = check(args, &[]) else { return Ok(()) };
        let mut after_option = false;
        for word in &checked.args {
            for start in ["--eval", "--include", "-I", "-E", "-e", "/", "~", "-f/", "-C/", "-C..", "--file=/", "--directory=/"] {
                prop_assert!(!word.starts_with(start), "{word:?}");
            }
            for variable in ["SHELL", "PATH", ".SHELLFLAGS"] {
                let set = word.contains('=') && word.starts_with(variable) && !after_option;
                prop_assert!(!set, "{word:?}");
            }
            after_option = word.starts_with('-') && word != "--";
            prop_assert!(!word.contains('$') && !word.contains('\0'), "{word:?}");
            if let Some(jobs) = word.strip_prefix("-j") {
                prop_assert!(jobs.parse::<u32>().is_ok_and(|jobs| (1..=MAX_JOBS).contains(&jobs)), "{word:?}");
            }
        }
        for path in &checked.beneath {
            prop_assert!(!path.starts_with('/') && !operands::escapes(path), "{path:?}");
        }
        // A number that was left open is one that is named, the second time.
        let again = check(checked.args.clone(), &[]).map(|again| (again.args, again.beneath));
        prop_assert_eq!(again, Ok((checked.args, checked.beneath)));
    }
}
