//! Over many commits of a project in C, objects built after a warm start are those of a build from nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::project::{assert_clean, build, warm};
use crate::support::{Options, Yard, git};

/// No debug information, which names the directory; a library of what the programs share.
const MAKEFILE: &str = r"PROGS := $(patsubst prog/%.c,bin/%,$(wildcard prog/*.c))
LIB := $(sort $(patsubst %.c,obj/%.o,$(wildcard lib/*.c)))
all: $(PROGS)
bin/%: obj/prog/%.o obj/lib.a
	@mkdir -p $(@D) && cc -o $@ $^
obj/lib.a: $(LIB)
	@rm -f $@ && ar crD $@ $^
obj/%.o: %.c
	@mkdir -p $(@D) && cc -O0 -Iinclude -MMD -MP -c -o $@ $<
-include $(LIB:.o=.d) $(patsubst bin/%,obj/prog/%.d,$(PROGS))
.SECONDARY:
";

/// Numbers that look random and come again with the seed.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// The project at one commit: which headers each file of the library includes, and the numbers in them.
#[derive(Clone)]
struct Project {
    headers: BTreeMap<u64, u64>,
    units: BTreeMap<u64, (u64, Vec<u64>)>,
    programs: BTreeMap<u64, u64>,
}

impl Project {
    fn new(dice: &mut Dice) -> Self {
        let headers: BTreeMap<_, _> = (0..6).map(|n| (n, dice.roll(1000))).collect();
        let mut project = Self {
            headers,
            units: BTreeMap::new(),
            programs: (0..2).map(|n| (n, dice.roll(1000))).collect(),
        };
        for n in 0..5 {
            let included = project.some_headers(dice);
            project.units.insert(n, (dice.roll(1000), included));
        }
        project
    }

    fn some_headers(&self, dice: &mut Dice) -> Vec<u64> {
        let all = self.headers.keys().copied();
        all.filter(|_| dice.roll(2) == 0).collect()
    }

    /// One of the things that happen between two commits.
    fn change(&mut self, dice: &mut Dice) {
        let units: Vec<_> = self.units.keys().copied().collect();
        let headers: Vec<_> = self.headers.keys().copied().collect();
        let pick =
            |dice: &mut Dice, of: &[u64]| of[usize::try_from(dice.roll(of.len() as u64)).unwrap()];
        let (unit, header) = (pick(dice, &units), pick(dice, &headers));
        match dice.roll(7) {
            // Numbers have three digits: the size stays the same.
            0 | 1 => self.units.get_mut(&unit).unwrap().0 = dice.roll(1000),
            2 => drop(self.headers.insert(header, dice.roll(1000))),
            3 if headers.len() > 2 => {
                self.headers.remove(&header);
                for (_, included) in self.units.values_mut() {
                    included.retain(|other| *other != header);
                }
            }
            4 if units.len() > 2 => {
                let moved = self.units.remove(&unit).unwrap();
                self.units.insert(10 + dice.roll(20), moved);
            }
            5 => {
                let included = self.some_headers(dice);
                self.units
                    .insert(10 + dice.roll(20), (dice.roll(1000), included));
            }
            _ => drop(self.programs.insert(dice.roll(3), dice.roll(1000))),
        }
    }

    fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::from([
            ("Makefile".to_owned(), MAKEFILE.to_owned()),
            (".gitignore".to_owned(), "/obj/\n/bin/\n".to_owned()),
        ]);
        for (n, value) in &self.headers {
            // Every second includes the one before, if that is still there.
            let before = n
                .checked_sub(1)
                .filter(|b| n % 2 == 1 && self.headers.contains_key(b));
            let include = before
                .map(|b| format!("#include \"h{b}.h\"\n"))
                .unwrap_or_default();
            let text = format!("#ifndef H{n}\n#define H{n} 1{value:03}\n{include}#endif\n");
            files.insert(format!("include/h{n}.h"), text);
        }
        for (n, (value, included)) in &self.units {
            let mut text = String::new();
            for header in included {
                let _ = writeln!(text, "#include \"h{header}.h\"");
            }
            let _ = write!(text, "int unit_{n}(void) {{ return 1{value:03}");
            for header in included {
                let _ = write!(text, " + H{header}");
            }
            text.push_str("; }\n");
            files.insert(format!("lib/u{n}.c"), text);
        }
        for (n, value) in &self.programs {
            let text = format!("int main(void) {{ return 1{value:03} % 7; }}\n");
            files.insert(format!("prog/p{n}.c"), text);
        }
        files
    }

    fn push(&self, yard: &Yard, branch: &str) {
        let origin = &yard.origin;
        origin.git(&["rm", "-q", "-r", "--ignore-unmatch", "."]);
        for (path, text) in self.files() {
            origin.write(&path, text);
        }
        origin.commit(branch);
        origin.push(branch);
    }
}

fn objects(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for source in ["lib", "prog"] {
        for entry in fs::read_dir(dir.join(source)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let object = format!("obj/{source}/{}", name.replace(".c", ".o"));
            let content = fs::read(dir.join(&object)).unwrap();
            found.insert(object, content);
        }
    }
    found
}

async fn warm_equals_cold(seed: u64, rounds: u64) {
    let mut yard = Yard::with(Options {
        repo: "warm = \"nearest\"".into(),
        ..Options::default()
    })
    .await;
    let mut dice = Dice(seed);
    let mut history = vec![Project::new(&mut dice)];
    history[0].push(&yard, "main");
    build(&yard, "main").await;
    let mut was_warm = 0;
    for round in 0..rounds {
        // From any commit there was, so that content comes back that was built before.
        let at = usize::try_from(dice.roll(history.len() as u64)).unwrap();
        let mut project = history[at].clone();
        for _ in 0..1 + dice.roll(4) {
            project.change(&mut dice);
        }
        // An existing workspace moves on as well, so that siblings have been somewhere else before.
        let branch = match dice.roll(3) {
            0 => "main".to_owned(),
            _ => format!("round-{round}"),
        };
        project.push(&yard, &branch);
        let events = build(&yard, &branch).await;
        was_warm += u64::from(warm(&events).is_object());
        let workspace = yard.workspace(&branch);
        assert_clean(&workspace);
        let cold = yard.dir.path().join(format!("cold-{round}"));
        let url = yard.origin.url();
        let args = ["clone", "-q", "-b", &branch, &url, cold.to_str().unwrap()];
        git(yard.dir.path(), &args);
        let done = Command::new("make").current_dir(&cold).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        assert_eq!(
            objects(&workspace),
            objects(&cold),
            "seed {seed}, round {round}"
        );
        fs::remove_dir_all(cold).unwrap();
        history.push(project);
    }
    assert!(was_warm * 3 >= rounds, "{was_warm} of {rounds} were warm");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_after_a_warm_start_are_those_of_a_build_from_nothing() {
    warm_equals_cold(8, 6).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make soak"]
async fn soak_warm_builds_equal_cold_ones() {
    let seed = std::env::var("BRANCHYARD_SEED").ok();
    let seed = seed.and_then(|seed| seed.parse().ok()).unwrap_or(1);
    for seed in seed..seed + 5 {
        warm_equals_cold(seed, 40).await;
    }
}
