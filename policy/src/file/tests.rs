use std::fs;

use super::*;
use crate::spec;

/// A policy in a directory of its own.
struct Written(PathBuf);

impl Written {
    fn new(name: &str, text: &str) -> Written {
        let folder =
            std::env::temp_dir().join(format!("divvy-file-{}-{name}", std::process::id())).join("in");
        let _ = fs::remove_dir_all(&folder);
        let written = Written(folder);
        written.add(name, text);
        written
    }

    fn add(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        fs::write(path, text).expect("writable");
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// The error, with the directory left out.
    fn refusal(&self, name: &str) -> String {
        let error = load(&self.path(name)).expect_err("must be refused");
        error.to_string().replace(&format!("{}/", self.0.display()), "./")
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.0.parent().expect("it is in another one"));
    }
}

fn rr() -> &'static str {
    POLICY_SOURCES.iter().find(|source| source.0 == "policy/select/rr.h").expect("rr is built in").1
}

/// rr under another name.
fn named(name: &str) -> String {
    rr().replace("rr_", &format!("{name}_")).replace("struct rr", &format!("struct {name}"))
}

#[test]
fn a_file_is_a_policy_by_its_path() {
    let parameters =
        "#define POLICY_PARAMS(P) P(beta, INTEGER, \"levels\", 3, 1, 9, \"a number\")\nstruct turns {";
    let folder = Written::new("turns.h", &named("turns").replace("struct turns {", parameters));
    let path = folder.path("turns.h");
    let lists = [format!("rr,{path}:beta=4+groups"), path.clone()];
    let before = spec::parse_list(&lists, crate::all()).expect_err("it was not loaded").to_string();
    assert!(before.contains("is a policy file: sim, replay, sweep and policies compile"), "{before}");
    load_named(&lists).unwrap_or_else(|error| panic!("{error}"));
    let specs = spec::parse_list(&lists, crate::all()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(specs[1].to_string(), format!("{path}:beta=4+groups"));
    assert_eq!(specs[2].to_string(), path);
    let info = crate::find(&path).expect("it was loaded");
    assert_eq!((info.name, info.params[0].default), (path.as_str(), 3));
    assert!(crate::Machine::from_spec(&specs[1], 2, 1_000_000).is_ok());
    let wrong = spec::parse(&format!("{path}:beta=10"), crate::all()).expect_err("out of range").to_string();
    assert!(wrong.ends_with("`beta=10` is out of range: 1 to 9 levels"), "{wrong}");
    let second = spec::parse(&format!("rr+{path}"), crate::all()).expect_err("a modifier belongs there");
    assert!(second.to_string().contains("comes after a +"), "{second}");
}

#[test]
fn its_own_headers_come_with_it() {
    let text = named("parted").replace("struct parted {", "#include \"parted/more.h\"\nstruct parted {");
    let folder = Written::new("parted.h", &text);
    folder.add("parted/more.h", "#include \"../../lib/heap.h\"\n#include \"most.h\"\n");
    folder.add("parted/most.h", "static inline u32 most(void) { return 1; }\n");
    // Nothing replaces the headers of divvy.
    folder.add("../policy.h", "#error\n");
    let file = load(&folder.path("parted.h")).unwrap_or_else(|error| panic!("{error}"));
    fs::remove_file(folder.0.join("../policy.h")).expect("it was written");
    let paths: Vec<&str> = file.own_sources().map(|(path, _)| path).collect();
    assert_eq!(
        paths,
        ["policy/select/parted.h", "policy/select/parted/more.h", "policy/select/parted/most.h"]
    );
}

#[test]
fn breaches_of_the_contract_are_named() {
    let contract = |text: &str| {
        let said = Written::new("broken.h", text).refusal("broken.h");
        let head = "policy file ./broken.h: it does not keep the contract of a policy:\n";
        let rest = said.strip_prefix(head).unwrap_or_else(|| panic!("{said}"));
        rest.strip_suffix("\n`divvy help contract` prints the contract").expect("what to do").to_owned()
    };
    let good = named("broken");
    assert_eq!(
        contract(
            &good.replace("broken_pick", "broken_choose").replace("enum why why", "u32 reason, enum why why")
        ),
        "  broken_join has other arguments, or another result, than the contract's\n    \
         static inline void broken_join(struct broken *s, u32 id, u64 now, enum why why)\n  \
         broken_leave has other arguments, or another result, than the contract's\n    \
         static inline void broken_leave(struct broken *s, u32 id, u64 now, enum why why)\n  \
         there is no function broken_pick: the task that runs next, 0 if none waits\n    \
         static inline u32 broken_pick(struct broken *s, u32 cpu, u64 now)\n  \
         broken_stop has other arguments, or another result, than the contract's\n    \
         static inline void broken_stop(struct broken *s, u32 id, u64 now, enum why why)"
    );
    // It would compile, and cut the slice of 2^64 - 1 ns.
    let short = format!(
        "{good}#define POLICY_HAS SLICE\nstatic inline u32 broken_slice(const struct broken *s, u32 id)\n{{\n\treturn ~0u;\n}}\n"
    );
    assert!(contract(&short).starts_with("  broken_slice has other arguments, or another result"));
    assert_eq!(
        contract(
            &short.replace("#define POLICY_HAS SLICE\n", "").replace("u32 broken_slice", "u64 broken_slice")
        ),
        "  broken_slice is not in POLICY_HAS: add SLICE there, as in `#define POLICY_HAS SLICE`"
    );
    assert!(
        contract(&format!("{good}#define POLICY_HAS CHARGE\n"))
            .starts_with("  CHARGE is in POLICY_HAS, and there is no function broken_charge: ")
    );
    assert!(contract(rr()).starts_with("  there is no `struct broken`: "));
    assert!(
        contract(&good.replace("#define POLICY_TITLE", "#define TITLE"))
            .starts_with("  there is no POLICY_TITLE")
    );
}

/// A compiled policy is kept by the content of the headers that are known.
#[test]
fn headers_from_elsewhere_are_refused() {
    for include in ["#include </tmp/x.h>", "# include <stdio.h>", "#include \"/tmp/x.h\""] {
        let text = named("far").replace("struct far {", &format!("{include}\nstruct far {{"));
        let line = 1 + text.lines().position(|line| line == include).expect("a line");
        let said = Written::new("far.h", &text).refusal("far.h");
        assert!(said.contains(&format!("./far.h:{line}: it includes a header that is neither")), "{said}");
    }
}

#[test]
fn the_compilers_words_name_the_users_file_and_line() {
    let text = named("typo").replace("return ring_pop_front(", "return ring_pop_frnt(");
    let line = 1 + text.lines().position(|line| line.contains("ring_pop_frnt")).expect("a line");
    let said = Written::new("typo.h", &text).refusal("typo.h");
    assert!(said.starts_with("policy file ./typo.h: it does not compile; the compiler says:\n"), "{said}");
    assert!(said.contains(&format!("./typo.h:{line}:")) && said.contains("ring_pop_frnt"), "{said}");
    assert!(!said.contains("policy/select/"), "{said}");
}

#[test]
fn what_is_no_policy_is_refused_before_anything_is_compiled() {
    let folder = Written::new("9lives.h", "");
    for (name, expected) in [
        ("9lives.h", "policy file ./9lives.h: `9lives` cannot be a policy's name: "),
        ("linux.h", "policy file ./linux.h: `linux` cannot be a policy's name: "),
        ("short.h", "policy file ./short.h: `short` cannot be a policy's name: "),
        ("groups.h", "policy file ./groups.h: `groups` cannot be a policy's name: "),
        ("mine.c", "policy file ./mine.c: a policy is a header in C: give a file whose name ends in .h"),
        ("none.h", "policy file ./none.h: cannot read ./none.h: No such file or directory"),
        ("folder.h", "policy file ./folder.h: cannot read ./folder.h: it is not a plain file"),
        ("binary.h", "policy file ./binary.h: cannot read ./binary.h: it is not text"),
        ("huge.h", "policy file ./huge.h: cannot read ./huge.h: it has more than 1 MiB"),
    ] {
        folder.add("folder.h/in.h", "");
        folder.add("binary.h", "\0\0");
        folder.add("huge.h", &"/".repeat(3 << 20));
        let said = folder.refusal(name);
        assert!(said.starts_with(expected), "{said}");
    }
    let broad = "#define POLICY_PARAMS(P) P(beta, INTEGER, \"\", 30, 1, 9, \"a number\")\nstruct broad {";
    let said = Written::new("broad.h", &named("broad").replace("struct broad {", broad)).refusal("broad.h");
    assert_eq!(said, "policy file ./broad.h: the default of parameter beta, 30, is not within 1 to 9");
}
