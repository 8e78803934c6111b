//! Output files that are whole or not there.
//!
//! A file is written beside its place under a name of this process, and renamed when it is complete: who reads it meanwhile
//! sees the old one, and processes that write the same file leave that of one of them. What is no ordinary file (a device, a
//! pipe) is written as it is.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Writes `text` to `path`, or to `stdout` if that is `-`.
///
/// # Errors
/// What the system says; the file is then as it was.
pub fn write(path: &str, text: &str, stdout: &mut dyn Write) -> io::Result<()> {
    if path == "-" {
        stdout.write_all(text.as_bytes())?;
        return stdout.flush();
    }
    let place = Path::new(path);
    match std::fs::metadata(place) {
        Ok(found) if !found.is_file() => return std::fs::write(place, text),
        _ => {}
    }
    // What a link names is replaced, not the link.
    let place = std::fs::canonicalize(place).unwrap_or_else(|_| place.to_path_buf());
    let beside = Beside::new(&place)?;
    std::fs::write(&beside.path, text)?;
    if let Ok(found) = std::fs::metadata(&place) {
        std::fs::set_permissions(&beside.path, found.permissions())?;
    }
    std::fs::rename(&beside.path, &place)
}

/// A file that goes when it is not needed any more; after a rename it is gone.
struct Beside {
    path: PathBuf,
}

/// Threads of one process write different files.
static NEXT: AtomicU32 = AtomicU32::new(0);

impl Beside {
    fn new(place: &Path) -> io::Result<Beside> {
        let Some(name) = place.file_name() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it names no file"));
        };
        let mut own = std::ffi::OsString::from(".");
        own.push(name);
        own.push(format!(".{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        Ok(Beside { path: place.with_file_name(own) })
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("cli-output-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_stays_beside_it() {
        let folder = folder("whole");
        let file = folder.join("out.pto");
        for text in ["first, which is longer", "second"] {
            write(file.to_str().expect("text"), text, &mut Vec::new()).expect("written");
            assert_eq!(std::fs::read_to_string(&file).expect("there"), text);
        }
        assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 1);
        std::fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_failure_leaves_nothing() {
        let folder = folder("failure");
        for place in ["away/out.pto", ".."] {
            let file = folder.join(place);
            assert!(write(file.to_str().expect("text"), "x", &mut Vec::new()).is_err(), "{place}");
        }
        assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 0);
        std::fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_dash_is_the_stream() {
        let mut stream = Vec::new();
        write("-", "text", &mut stream).expect("written");
        assert_eq!(stream, b"text");
    }
}
