//! What an instruction is declared to do, and whether it does.
//!
//! Declared is [`ir::effects`] for tiles. For global memory it is what the runtime counts on: a box that is loaded is read,
//! one that is stored is written, one that is scattered to or added to is both.

use ir::effects::{self, Effects, Extent, Read, TileBox, Write};
use ir::{Function, Opcode};

use super::instruction::{Case, Contents, Image, Kernel, Operand, Place, Refused};
use super::random::Rng;

/// A change to what is declared, to see that it would be caught.
pub(crate) type Lie<'a> = &'a dyn Fn(&mut Effects);

pub(crate) enum Outcome {
    /// It did as declared, so many times in place too.
    Held {
        in_place: u32,
    },
    Refused(Refused),
    /// The instruction itself refuses its operands.
    Fault,
}

const READ: u8 = 1;
/// Changes in this byte are allowed.
const MAY: u8 = 2;
/// This byte gets a value of the operands' alone.
const MUST: u8 = 4;

/// What is declared about each byte.
fn marks(image: &Image) -> Image {
    let global = image.global.iter().map(|g| vec![0; g.len()]).collect();
    Image { pads: vec![0; image.pads.len()], watched: image.watched.clone(), global }
}

/// Rows and columns of a declared box; `None` if they are not known.
fn extents(func: &Function, elements: Option<TileBox>) -> Option<(usize, usize)> {
    let known = |e: Extent| match e {
        Extent::Static(n) => Some(n as usize),
        Extent::Dynamic(value) => func.const_int(value).map(|n| n as usize),
        Extent::Unknown => None,
    };
    let b = elements?;
    Some((known(b.rows)?, known(b.cols)?))
}

fn mark(marks: &mut [u8], place: &Place, region: Option<(usize, usize)>, bit: u8) {
    let (rows, cols) = region.unwrap_or((usize::MAX, usize::MAX));
    for row in place.at.iter().take(rows) {
        for &at in row.iter().take(cols) {
            marks[at..at + place.size].iter_mut().for_each(|m| *m |= bit);
        }
    }
}

fn declared(case: &Case, kernel: &Kernel, frame: &machine::Frame, e: &Effects, image: &Image) -> Image {
    let mut marks = marks(image);
    let func = kernel.func();
    for read in &e.reads {
        let place = kernel.place(frame, read.value);
        match extents(func, read.elements) {
            None => marks.pads[place.span()].iter_mut().for_each(|m| *m |= READ),
            known => mark(&mut marks.pads, &place, known, READ),
        }
    }
    // Scratch may change in any way; on this machine it does not.
    if let Some(write) = &e.write {
        let place = kernel.place(frame, write.value);
        match extents(func, write.elements) {
            None => mark(&mut marks.pads, &place, None, MAY),
            exact => mark(&mut marks.pads, &place, exact, MAY | MUST),
        }
    }
    let boxed = |o: &Operand| matches!(o, Operand::Part(_));
    let sources = case.groups.iter().flatten().filter(|o| boxed(o)).count();
    for (i, part) in kernel.parts.iter().enumerate() {
        let both = case.opcode == Opcode::MScatter || case.attrs.get("atomic").is_some();
        let bits = match () {
            _ if i < sources => READ,
            _ if both => READ | MAY,
            _ => MAY | MUST,
        };
        let size = part.dtype.size();
        for r in part.at[0]..part.at[0] + part.size[0] {
            let start = (r * part.view[1] + part.at[1]) as usize * size;
            let end = start + part.size[1] as usize * size;
            marks.global[i][start..end].iter_mut().for_each(|m| *m |= bits);
        }
    }
    marks
}

/// Random bytes everywhere, and in what the operands are declared to hold what the case says.
fn operands(kernel: &Kernel, frame: &machine::Frame, e: &Effects, rng: &mut Rng) -> Image {
    let mut image = kernel.zeros();
    for range in image.watched.clone() {
        rng.fill(&mut image.pads[range]);
    }
    let func = kernel.func();
    for &(value, contents) in &kernel.tiles {
        let Some(read) = e.reads.iter().find(|r| r.value == value) else { continue };
        let place = kernel.place(frame, value);
        let dtype = func.ty(value).as_tile().expect("a tile").dtype;
        let (rows, cols) = extents(func, read.elements).unwrap_or((usize::MAX, usize::MAX));
        for row in place.at.iter().take(rows) {
            for &at in row.iter().take(cols) {
                let bits = match contents {
                    Contents::Indices { below, step } => rng.next() % below.max(1) * step,
                    Contents::Numbers => match rng.number(dtype) {
                        Some(bits) => bits,
                        None => continue,
                    },
                };
                image.pads[at..at + place.size].copy_from_slice(&bits.to_le_bytes()[..place.size]);
            }
        }
    }
    for (bytes, part) in image.global.iter_mut().zip(&kernel.parts) {
        for element in bytes.chunks_exact_mut(part.dtype.size()) {
            let bits = rng.number(part.dtype).unwrap_or_else(|| rng.next());
            element.copy_from_slice(&bits.to_le_bytes()[..element.len()]);
        }
    }
    image
}

/// Every byte that is not declared to be read, made another.
fn perturbed(image: &Image, marks: &Image, rng: &mut Rng) -> Image {
    let mut out = image.clone();
    let mut change = |bytes: &mut [u8], marks: &[u8]| {
        let mut noise = vec![0; bytes.len()];
        rng.fill(&mut noise);
        for ((byte, mark), noise) in bytes.iter_mut().zip(marks).zip(noise) {
            // Never zero.
            *byte ^= if mark & READ == 0 { noise | 1 } else { 0 };
        }
    };
    for range in image.watched.clone() {
        change(&mut out.pads[range.clone()], &marks.pads[range]);
    }
    for (bytes, marks) in out.global.iter_mut().zip(&marks.global) {
        change(bytes, marks);
    }
    out
}

/// The bytes that count, of several images side by side: of what they are, from which on.
fn each<const N: usize>(images: [&Image; N]) -> impl Iterator<Item = (String, usize, [&[u8]; N])> {
    let watched = images[0].watched.iter();
    let pads = watched.map(move |r| ("scratchpads".to_owned(), r.start, images.map(|i| &i.pads[r.clone()])));
    let global = 0..images[0].global.len();
    pads.chain(global.map(move |n| (format!("argument {n}"), 0, images.map(|i| i.global[n].as_slice()))))
}

/// No byte that is not declared to be written changed.
fn canaries(marks: &Image, before: &Image, after: &Image) -> Result<(), String> {
    for (what, start, [marks, before, after]) in each([marks, before, after]) {
        // The usual case, fast.
        if before == after {
            continue;
        }
        if let Some(at) = (0..marks.len()).find(|&i| marks[i] & MAY == 0 && before[i] != after[i]) {
            let at = start + at;
            return Err(format!("byte {at} of the {what} changed, which is not declared to be written"));
        }
    }
    Ok(())
}

/// Two runs that differ in what is not read only: what is written is the same, and what is declared to be written is.
fn same(marks: &Image, one: (&Image, &Image), other: (&Image, &Image)) -> Result<(), String> {
    for (what, start, [marks, a, x, b, y]) in each([marks, one.0, one.1, other.0, other.1]) {
        for i in 0..marks.len() {
            let kept = marks[i] & MUST == 0 && x[i] == a[i] && y[i] == b[i];
            if marks[i] & MAY != 0 && x[i] != y[i] && !kept {
                let at = start + i;
                return Err(format!("byte {at} of the {what} depends on what is not declared to be read"));
            }
        }
    }
    Ok(())
}

/// Writing element (i, j) over that of an operand as soon as it is known is right in any order if nothing else of the
/// result depends on it. Instructions of this machine take whole operands before they write, devices do not.
fn local(
    kernel: &Kernel,
    frame: &machine::Frame,
    (before, after): (&Image, &Image),
    (read, write): (&Read, &Write),
    rng: &mut Rng,
) -> Result<(), String> {
    let (from, to) = (kernel.place(frame, read.value), kernel.place(frame, write.value));
    let (rows, cols) = extents(kernel.func(), read.elements).unwrap_or((usize::MAX, usize::MAX));
    let mut other = before.clone();
    let changed: Vec<Vec<bool>> = from.at.iter().map(|row| row.iter().map(|_| rng.next() & 1 == 1).collect()).collect();
    for (row, changed) in from.at.iter().zip(&changed).take(rows) {
        for (&at, _) in row.iter().zip(changed).take(cols).filter(|(_, c)| **c) {
            // Bits of the integers and mantissas of all types.
            other.pads[at] ^= 0x15;
        }
    }
    let mut other_after = other.clone();
    kernel.run(&mut other_after).map_err(|why| format!("in place of {}: {why}", read.operand))?;
    for (r, (row, changed)) in to.at.iter().zip(&changed).enumerate() {
        for (c, (&at, _)) in row.iter().zip(changed).enumerate().filter(|(_, (_, c))| !**c) {
            if other_after.pads[at..at + to.size] != after.pads[at..at + to.size] {
                return Err(format!("in place of {}: element ({r}, {c}) depends on others of it", read.operand));
            }
        }
    }
    Ok(())
}

/// Whether the instruction does what is declared about it (or would be, with this lie).
pub(crate) fn examine(case: &Case, lie: Option<Lie<'_>>, rng: &mut Rng) -> Result<Outcome, String> {
    // An accumulator has to be the destination; apart from it is a form for this test only.
    let accumulates = case.opcode == Opcode::TMatmulAcc;
    if accumulates && let Err(why) = Kernel::new(case, Some(0), true) {
        return Ok(Outcome::Refused(why));
    }
    let kernel = match Kernel::new(case, None, !accumulates) {
        Ok(kernel) => kernel,
        Err(why) => return Ok(Outcome::Refused(why)),
    };
    let all = effects::of_function(kernel.func());
    let (_, mut e) = all.into_iter().find(|(op, _)| *op == kernel.op).expect("the operation");
    if let Some(lie) = lie {
        lie(&mut e);
    }
    let frame = match kernel.run(&mut kernel.zeros()) {
        Ok(frame) => frame,
        Err(_) => return Ok(Outcome::Fault),
    };
    let before = operands(&kernel, &frame, &e, rng);
    let marks = declared(case, &kernel, &frame, &e, &before);
    let run = |kernel: &Kernel, before: &Image| {
        let mut after = before.clone();
        kernel.run(&mut after).map(|_| after).map_err(|why| format!("fails with these operands: {why}"))
    };
    let after = run(&kernel, &before)?;
    canaries(&marks, &before, &after)?;
    let other = perturbed(&before, &marks, rng);
    let other_after = run(&kernel, &other).map_err(|why| format!("outside of what is read: {why}"))?;
    canaries(&marks, &other, &other_after)?;
    same(&marks, (&before, &after), (&other, &other_after))?;

    let mut runs = 0;
    for (n, &(value, _)) in kernel.tiles.iter().enumerate() {
        let (Some(read), Some(write)) = (e.reads.iter().find(|r| r.value == value), &e.write) else { continue };
        let [a, b] = [value, write.value].map(|v| kernel.func().ty(v).as_tile().expect("a tile"));
        let alike = (a.dtype, a.space, &a.shape, a.layout) == (b.dtype, b.space, &b.shape, b.layout);
        if !read.in_place || !alike || case.windows {
            continue;
        }
        let placed = Kernel::new(case, Some(n), true).map_err(|e| format!("in place of {}: {e:?}", read.operand))?;
        let after_here = run(&placed, &before)?;
        let (from, to) = (kernel.place(&frame, write.value), kernel.place(&frame, value));
        let Some((rows, cols)) = extents(kernel.func(), write.elements) else {
            return Err(format!("in place of {}, but what is written is not known", read.operand));
        };
        let mut here = vec![0u8; before.pads.len()];
        mark(&mut here, &to, Some((rows, cols)), MAY);
        let here = Image { pads: here, watched: marks.watched.clone(), global: marks.global.clone() };
        canaries(&here, &before, &after_here).map_err(|why| format!("in place of {}: {why}", read.operand))?;
        local(&kernel, &frame, (&before, &after), (read, write), rng)?;
        for (r, (from, to)) in from.at.iter().zip(&to.at).enumerate().take(rows) {
            for (c, (&from, &to)) in from.iter().zip(to).enumerate().take(cols) {
                let size = a.dtype.size();
                if after.pads[from..from + size] != after_here.pads[to..to + size] {
                    return Err(format!("in place of {}, element ({r}, {c}) differs", read.operand));
                }
            }
        }
        runs += 1;
    }
    Ok(Outcome::Held { in_place: runs })
}
