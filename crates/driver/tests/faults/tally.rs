//! What became of the mutants.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use check::mutate::passes::Fault;

/// Of one kind.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) made: usize,
    /// By the verifier or the decoder.
    pub(crate) rejected: usize,
    /// It does the same, and nobody says anything.
    pub(crate) dead: usize,
    /// It does the same on these inputs, and a checker says something all the same.
    pub(crate) dead_found: usize,
    pub(crate) live: usize,
    pub(crate) caught: usize,
    /// Of the live ones: a checker says that it cannot decide.
    pub(crate) undecided: usize,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.made += other.made;
        self.rejected += other.rejected;
        self.dead += other.dead;
        self.dead_found += other.dead_found;
        self.live += other.live;
        self.caught += other.caught;
        self.undecided += other.undecided;
    }

    fn line(&self, name: &str) -> String {
        let survived = self.live - self.caught - self.undecided;
        let (made, rejected, dead, dead_found) = (self.made, self.rejected, self.dead, self.dead_found);
        let (live, caught, undecided) = (self.live, self.caught, self.undecided);
        format!(
            "{name:<20}{made:>7}{rejected:>9}{dead:>7}{dead_found:>11}{live:>7}{caught:>8}{undecided:>10}{survived:>10}\n"
        )
    }
}

/// Of all.
#[derive(Default)]
pub(crate) struct Totals {
    by_fault: BTreeMap<Fault, Tally>,
    pub(crate) kernels: usize,
    /// Files with addresses that do the same without.
    pub(crate) stripped: usize,
    pub(crate) survivors: Vec<String>,
    /// By reason: how many, and one of them.
    pub(crate) undecided: BTreeMap<String, (usize, String)>,
    /// Versions without a fault that are not what they should be.
    pub(crate) other: Vec<String>,
    /// Kernels that were left out, by reason.
    pub(crate) skipped: BTreeMap<&'static str, usize>,
}

impl Totals {
    pub(crate) fn count(&mut self, fault: Fault, tally: Tally) {
        self.by_fault.entry(fault).or_default().add(tally);
    }

    pub(crate) fn skip(&mut self, why: &'static str) {
        *self.skipped.entry(why).or_default() += 1;
    }

    pub(crate) fn say_undecided(&mut self, why: &str, what: String) {
        self.undecided.entry(why.to_owned()).or_insert((0, what)).0 += 1;
    }

    pub(crate) fn add(&mut self, other: Totals) {
        other.by_fault.into_iter().for_each(|(fault, tally)| self.count(fault, tally));
        self.kernels += other.kernels;
        self.stripped += other.stripped;
        self.survivors.extend(other.survivors);
        self.other.extend(other.other);
        for (why, (n, example)) in other.undecided {
            self.undecided.entry(why).or_insert((0, example)).0 += n;
        }
        for (why, n) in other.skipped {
            *self.skipped.entry(why).or_default() += n;
        }
    }

    fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.by_fault.values().for_each(|t| total.add(*t));
        total
    }

    pub(crate) fn made(&self) -> usize {
        self.total().made
    }

    pub(crate) fn live(&self) -> usize {
        self.total().live
    }

    pub(crate) fn caught(&self) -> usize {
        self.total().caught
    }

    pub(crate) fn table(&self) -> String {
        let mut out = format!("{} kernels; {} came with addresses and need none\n", self.kernels, self.stripped);
        let heads = ["made", "rejected", "dead", "dead,found", "live", "caught", "undecided", "survived"];
        let [made, rejected, dead, dead_found, live, caught, undecided, survived] = heads;
        let _ = writeln!(
            out,
            "{:<20}{made:>7}{rejected:>9}{dead:>7}{dead_found:>11}{live:>7}{caught:>8}{undecided:>10}{survived:>10}",
            "fault"
        );
        for (fault, tally) in &self.by_fault {
            out += &tally.line(fault.name());
        }
        out + &self.total().line("total")
    }
}
