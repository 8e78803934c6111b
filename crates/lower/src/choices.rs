//! Decisions of lowering that may fall either way without changing what a program means.
//!
//! By default each falls the way that makes the better code. With a seed they fall at random: a test that runs several
//! seeds tries more of what lowering may do, and a difference between two seeds is a fault in one of their decisions.

use control::Control;

#[derive(Clone, Debug, Default)]
pub struct Choices(Option<Control>);

impl Choices {
    pub fn seeded(seed: u64) -> Choices {
        Choices(Some(Control::new(seed)))
    }

    /// Whether two values that may share a buffer do.
    pub(crate) fn share(&mut self) -> bool {
        self.0.as_mut().is_none_or(|c| c.choose(3) != 0)
    }

    /// Whether zeros that nobody sees are left out.
    pub(crate) fn leave_out(&mut self) -> bool {
        self.0.as_mut().is_none_or(|c| c.choose(2) != 0)
    }

    /// How much of at most `most` to do at once, a multiple of `unit`.
    pub(crate) fn part(&mut self, most: u64, unit: u64) -> u64 {
        match &mut self.0 {
            Some(c) => unit * (1 + c.choose((most / unit) as usize) as u64),
            None => most,
        }
    }
}
