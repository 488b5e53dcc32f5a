//! A C project with the structure that real ones have: modules with headers of their own and of others,
//! dependency files, an archive, programs.

use std::fmt::Write;
use std::path::Path;

use super::dice::Dice;
use crate::support::Origin;

/// What is compiled, and from how many files.
pub struct CProject {
    pub sources: usize,
    headers: usize,
}

impl CProject {
    pub fn new(sources: usize) -> Self {
        Self {
            sources,
            headers: sources / 5 + 1,
        }
    }

    /// Puts it on `main`.
    pub fn put_on(&self, origin: &Origin) {
        let mut dice = Dice::new(7);
        origin.write("Makefile", self.makefile());
        origin.write(".gitignore", "*.o\n*.d\n*.a\n/program\n");
        for n in 0..self.headers {
            let mut header = format!("#ifndef H{n}\n#define H{n}\n");
            if n > 0 {
                let _ = writeln!(header, "#include \"h{}.h\"", dice.below(n));
            }
            let _ = writeln!(header, "#define K{n} {n}\n#endif");
            origin.write(&format!("include/h{n}.h"), header);
        }
        for n in 0..self.sources {
            origin.write(&source(n), self.code(n, 0, &mut dice));
        }
        origin.write(
            "src/main.c",
            "int f0(int); int main(void) { return f0(0) == -1; }\n",
        );
        origin.commit("project");
        origin.push("main");
    }

    /// A branch on which one file of a hundred is another.
    pub fn branch(&self, origin: &Origin, name: &str, seed: usize) {
        let mut dice = Dice::new(1000 + seed as u64);
        origin.at("main");
        for _ in 0..self.sources.div_ceil(100) {
            let n = dice.below(self.sources);
            let code = self.code(n, seed + 1, &mut dice);
            origin.write(&source(n), code);
        }
        origin.commit(name);
        origin.push(name);
    }

    fn code(&self, n: usize, version: usize, dice: &mut Dice) -> String {
        let mut code = String::new();
        for _ in 0..3 {
            let _ = writeln!(code, "#include \"h{}.h\"", dice.below(self.headers));
        }
        let _ = writeln!(code, "int f{n}(int x);");
        for part in 0..20 {
            let _ = writeln!(
                code,
                "static int part{part}(int x) {{ for (int i = 0; i < {part}; i++) x = x * 31 + i; return x; }}"
            );
        }
        let calls = (0..20).fold("x".to_owned(), |calls, part| format!("part{part}({calls})"));
        let _ = writeln!(code, "int f{n}(int x) {{ return {calls} + {version}; }}");
        code
    }

    fn makefile(&self) -> String {
        let objects: Vec<_> = (0..self.sources)
            .map(|n| source(n).replace(".c", ".o"))
            .collect();
        format!(
            "OBJECTS := {}\n\
             CFLAGS := -O0 -Iinclude -MMD\n\
             program: src/main.o liball.a\n\t@$(CC) -o $@ src/main.o liball.a\n\
             liball.a: $(OBJECTS)\n\t@rm -f $@ && ar rcsD $@ $(OBJECTS)\n\
             %.o: %.c\n\t@$(CC) $(CFLAGS) -c -o $@ $<\n\
             -include $(OBJECTS:.o=.d) src/main.d\n",
            objects.join(" ")
        )
    }

    /// Every object and the program are the same here and there.
    pub fn same_output(&self, one: &Path, other: &Path) {
        let mut names: Vec<_> = (0..self.sources)
            .map(|n| source(n).replace(".c", ".o"))
            .collect();
        names.extend([
            "src/main.o".to_owned(),
            "liball.a".to_owned(),
            "program".to_owned(),
        ]);
        for name in names {
            let [one, other] = [one, other].map(|dir| std::fs::read(dir.join(&name)).unwrap());
            assert!(one == other, "{name} differs");
        }
    }
}

fn source(n: usize) -> String {
    format!("src/module{}/f{n}.c", n / 12)
}
