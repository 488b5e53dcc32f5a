use std::fs;
use std::process::Command;

use super::*;

const HOME: &str = "/somewhere/yard/demo";

fn look(content: &[u8], buffer: usize) -> Naming {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, content).unwrap();
    look_at(&path, buffer)
}

fn look_at(path: &Path, buffer: usize) -> Naming {
    let file = File::open(path).unwrap();
    let size = file.metadata().unwrap().len();
    let home = Home::new(Path::new(HOME));
    home.look_in(&file, size, &mut vec![0; buffer]).unwrap()
}

fn named(targets: &[&str]) -> Naming {
    Naming::Yes {
        targets: targets.iter().map(|t| t.as_bytes().to_vec()).collect(),
    }
}

#[test]
fn text_that_names_the_place_is_found_also_across_two_reads() {
    let wrapper = format!("#!/bin/sh\nexec {HOME}/main/prog \"$@\"\n");
    assert_eq!(look(wrapper.as_bytes(), 4096), named(&[]));
    let rule = format!("a.o: {HOME}/main/a.c\n");
    assert_eq!(look(rule.as_bytes(), 4096), named(&["a.o"]));
    let other = "exec /somewhere/yard/demo-2/main/prog\n";
    assert_eq!(look(other.as_bytes(), 4096), Naming::No);
    let place = format!("{HOME}/main");
    for before in 0..200 {
        let long = [
            vec![b'x'; before],
            place.clone().into_bytes(),
            vec![b'y'; 100],
        ]
        .concat();
        assert_eq!(look(&long, 64), named(&[]), "{before}");
    }
    assert_eq!(look(b"", 64), Naming::No);
}

#[test]
fn a_binary_that_is_not_understood_is_bound_to_the_place_that_it_names() {
    let content = [b"\0\x01", HOME.as_bytes(), b"/main\0"].concat();
    assert_eq!(look(&content, 4096), named(&[]));
    let broken = [&b"\x7fELF\x02\x01"[..], &[0xff; 70], HOME.as_bytes(), b"/x"].concat();
    assert_eq!(look(&broken, 4096), named(&[]));
    let archive = [ARCHIVE, &[b'9'; 60], HOME.as_bytes(), b"/x"].concat();
    assert_eq!(look(&archive, 4096), named(&[]));
}

#[test]
fn debug_information_binds_no_object_to_its_place_but_data_does() {
    let dir = tempfile::tempdir().unwrap();
    let run = |program: &str, args: &[&str]| {
        let done = Command::new(program).current_dir(&dir).args(args).output();
        let done = done.unwrap();
        assert!(done.status.success(), "{program} {args:?}: {done:?}");
    };
    fs::write(dir.path().join("a.c"), "int main(void) { return 0; }\n").unwrap();
    fs::write(dir.path().join("b.c"), "const char *where = PLACE;\n").unwrap();
    let here = format!("-fdebug-prefix-map={}={HOME}/main", dir.path().display());
    let place = format!("-DPLACE=\"{HOME}/main/data\"");
    run("cc", &["-g", &here, "-c", "a.c"]);
    run("cc", &["-c", &place, "b.c"]);
    run("cc", &["-g", "-o", "prog", "a.o"]);
    let rpath = format!("-Wl,-rpath,{HOME}/main/lib");
    run("cc", &["-g", &rpath, "-o", "bound", "a.o"]);
    run("ar", &["cr", "a.a", "a.o"]);
    run("ar", &["cr", "b.a", "a.o", "b.o"]);
    let content = fs::read(dir.path().join("a.o")).unwrap();
    let home = Home::new(Path::new(HOME));
    assert!(home.is_in(&content), "the debug information names it");
    for (name, expected) in [
        ("a.o", Naming::No),
        ("prog", Naming::No),
        ("a.a", Naming::No),
        ("b.o", named(&[])),
        ("bound", named(&[])),
        ("b.a", named(&[])),
    ] {
        for buffer in [100, 1 << 20] {
            assert_eq!(look_at(&dir.path().join(name), buffer), expected, "{name}");
        }
    }
}
