//! What may be checked of a run, by name.

use std::str::FromStr;

/// The checks that a run does besides running.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Checks {
    /// Every level on the same inputs, compared bit by bit ([`crate::LevelReport`]).
    pub levels: bool,
    /// Conflicting accesses that nothing the program says orders ([`check::races`]).
    pub races: bool,
}

impl Checks {
    /// Their names, as in `--check levels,races`; `all` is every one.
    pub const NAMES: [&str; 2] = ["levels", "races"];

    pub const NONE: Checks = Checks { levels: false, races: false };
    pub const LEVELS: Checks = Checks { levels: true, ..Checks::NONE };
    pub const RACES: Checks = Checks { races: true, ..Checks::NONE };

    /// Whether the run must be recorded.
    pub(crate) fn recorded(self) -> bool {
        self.races
    }
}

impl FromStr for Checks {
    type Err = String;

    /// Names with commas between.
    fn from_str(text: &str) -> Result<Checks, String> {
        let mut checks = Checks::NONE;
        for name in text.split(',') {
            match name.trim() {
                "levels" => checks.levels = true,
                "races" => checks.races = true,
                "all" => checks = Checks { levels: true, races: true },
                other => {
                    let names = Checks::NAMES.map(|n| format!("`{n}`")).join(", ");
                    return Err(format!("check `{other}` is not known; {names} and `all` are"));
                }
            }
        }
        Ok(checks)
    }
}
