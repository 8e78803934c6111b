//! Programs run by the reference, and lowered by the machine: unplaced, placed, and with other choices. All must leave the
//! same bytes in every tensor, wherever the reference says that they are defined.

mod generate;
mod run;

use std::path::Path;

use chip::Arch;

#[test]
fn the_programs_of_the_folder_mean_the_same_at_every_level() {
    for folder in ["programs", "ops"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
        let mut names: Vec<String> = std::fs::read_dir(&path)
            .expect("the folder is there")
            .map(|e| e.expect("an entry").file_name().into_string().expect("a plain name"))
            .filter(|n| n.ends_with(".tw"))
            .collect();
        names.sort();
        assert!(!names.is_empty());
        for name in names {
            let text = std::fs::read_to_string(path.join(&name)).expect("a program");
            for arch in Arch::ALL {
                let mut program = ir::text::parse(&text, &name).unwrap_or_else(|e| panic!("{name}: {e:#?}"));
                if program.arch == Arch::A5 && arch != Arch::A5 {
                    // It says that it needs an A5.
                    continue;
                }
                program.arch = arch;
                run::compare(&program, &name, 4).unwrap_or_else(|e| panic!("{name}: {e:#?}"));
            }
        }
    }
}

#[test]
fn random_scopes_mean_the_same_at_every_level() {
    let count = std::env::var("LOWER_RANDOM").ok().and_then(|n| n.parse().ok()).unwrap_or(100u64);
    let mut refused = std::collections::BTreeMap::<&str, u32>::new();
    let mut ran = 0;
    for seed in 0..count {
        let arch = Arch::ALL[(seed % 2) as usize];
        let program = generate::program(seed, arch);
        let name = format!("random program {seed}");
        if let Err(e) = ir::verify::verify(&program) {
            panic!("{name} is not valid itself: {e:#?}\n{}", ir::text::print(&program));
        }
        match run::compare(&program, &name, 2) {
            Ok(()) => ran += 1,
            // Refusals have names; anything else is a fault.
            Err(e) => {
                assert_eq!(e.kind, diag::Kind::Unsupported, "{name}: {e:#?}\n{}", ir::text::print(&program));
                *refused.entry(e.code).or_default() += 1;
            }
        }
    }
    assert!(ran * 3 > count * 2, "only {ran} of {count} ran; refused: {refused:?}");
}
