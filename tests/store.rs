//! Chunks on disk: what is read is what was written, or an error, whatever happened to the files.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use outcrop::block::{Block, Layout};
use outcrop::dtype::DType;
use outcrop::shape::{Region, Shape};
use outcrop::store::StoreError;
use outcrop::store::resume::ResumeStore;
use outcrop::store::spill::SpillStore;
use outcrop::token::Token;
use proptest::prelude::*;

/// A block over a buffer of its own, filled with `bytes` again and again; bool elements stay 0 or 1.
fn filled(dtype: DType, shape: Shape, bytes: &[u8]) -> Block {
    let length = shape.elements() * dtype.size();
    let mut all: Vec<u8> = bytes.iter().copied().cycle().take(length.next_multiple_of(8)).collect();
    if dtype == DType::Bool {
        all.iter_mut().for_each(|byte| *byte &= 1);
    }
    let words: Vec<i64> = all.chunks(8).map(|word| i64::from_le_bytes(word.try_into().unwrap())).collect();
    let buffer = Block::from_slice([words.len()], &words).unwrap().buffer;
    Block::contiguous(buffer, dtype, shape)
}

/// A view of a larger block: cut at both ends of each axis, some axes reversed, the first two swapped.
fn view(whole: &Block, cut: usize, reversed: u8, swap: bool) -> Block {
    let shape: Shape = whole.shape().iter().map(|extent| extent - 2 * cut).collect();
    let origin = Shape::new(shape.iter().map(|_| cut));
    let mut view = whole.part(&Region { origin, shape });
    let Layout { shape, offset, strides, .. } = &mut view.layout;
    for axis in 0..shape.len() {
        if reversed >> axis & 1 == 1 && shape[axis] > 0 {
            *offset = (*offset as isize + (shape[axis] as isize - 1) * strides[axis]) as usize;
            strides[axis] = -strides[axis];
        }
    }
    if swap && shape.len() > 1 {
        shape.swap(0, 1);
        strides.swap(0, 1);
    }
    view
}

fn views() -> impl Strategy<Value = Block> {
    let shape = prop_oneof![
        9 => prop::collection::vec(2..9usize, 0..5),
        1 => prop::collection::vec(290..310usize, 2..3),
    ];
    let bytes =
        prop_oneof![prop::collection::vec(any::<u8>(), 1..40), prop::collection::vec(any::<u8>(), 5000)];
    let how = (0..2usize, any::<u8>(), any::<bool>());
    (prop::sample::select(&DType::ALL[..]), shape, bytes, how).prop_map(
        |(dtype, shape, bytes, (cut, reversed, swap))| {
            view(&filled(dtype, shape.into(), &bytes), cut, reversed, swap)
        },
    )
}

/// A strided or a contiguous block to read into.
fn target(block: &Block, strided: bool) -> Block {
    let margin = usize::from(strided);
    let shape = block.shape().iter().map(|extent| extent + 2 * margin).collect();
    view(&filled(block.dtype(), shape, &[0xAA]), margin, 0, false)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn blocks_come_back_bit_by_bit(blocks in prop::collection::vec((views(), any::<bool>()), 1..5)) {
        let folder = tempfile::tempdir().unwrap();
        let spill = SpillStore::new(folder.path(), None).unwrap();
        let spilled: Vec<_> = blocks.iter().map(|(block, _)| spill.write(block).unwrap()).collect();
        let resume = ResumeStore::open(&folder.path().join("resume")).unwrap();
        for (block, _) in &blocks {
            resume.put(block.token().unwrap(), block).unwrap();
        }
        drop(resume);
        let resume = ResumeStore::open(&folder.path().join("resume")).unwrap();
        for ((block, strided), spilled) in blocks.iter().zip(&spilled) {
            let (first, second) = (target(block, *strided), target(block, !*strided));
            spilled.read(&first).unwrap();
            prop_assert_eq!(&first, block);
            resume.read(block.token().unwrap(), &second).unwrap();
            prop_assert_eq!(&second, block);
        }
        prop_assert!(resume.take_notes().is_empty());
    }
}

/// The content of chunk `number`; some compress, others don't.
fn block(number: u32) -> Block {
    let count = 1 + number as usize * 37 % 3000;
    let noise = |i: u32| (i ^ number).wrapping_mul(0x9E37_79B9).rotate_left(i % 32);
    let values: Vec<u32> =
        (0..count as u32).map(|i| if number.is_multiple_of(2) { noise(i) } else { number }).collect();
    Block::from_slice([count], &values).unwrap()
}

fn token(number: u32) -> Token {
    Token::of(&i64::from(number))
}

fn put(store: &ResumeStore, number: u32) -> Result<(), StoreError> {
    store.put(token(number), &block(number))
}

/// Whether the store has the chunk. That it has another value fails the test.
fn holds(store: &ResumeStore, number: u32) -> bool {
    let want = block(number);
    let into = target(&want, false);
    let result = store.read(token(number), &into);
    assert!(result.is_err() || into == want, "chunk {number} has a wrong value");
    assert_eq!(result.is_ok(), store.contains(token(number)), "chunk {number}");
    result.is_ok()
}

fn copied(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, to.path().join(path.file_name().unwrap())).unwrap();
    }
    to
}

fn file_names(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = std::fs::read_dir(folder).unwrap().map(name).collect();
    names.sort();
    names
}

/// The only file of chunks.
fn segment(folder: &Path) -> std::path::PathBuf {
    let names = file_names(folder);
    let chunks: Vec<&String> = names.iter().filter(|name| name.starts_with("chunks-")).collect();
    assert_eq!(chunks.len(), 1, "{names:?}");
    folder.join(chunks[0])
}

#[test]
fn no_flipped_byte_and_no_cut_gives_a_wrong_value() {
    let folder = tempfile::tempdir().unwrap();
    let store = ResumeStore::open(folder.path()).unwrap();
    (0..3).for_each(|number| put(&store, number).unwrap());
    store.put_bytes(token(9), "text", b"an object").unwrap();
    drop(store);
    let check = |wrong: &Path, what: &str| match ResumeStore::open(wrong) {
        Err(error) => {
            assert!(matches!(error, StoreError::Foreign { .. } | StoreError::Version { .. }), "{what}")
        }
        Ok(store) => {
            let kept = (0..3).filter(|number| holds(&store, *number)).count();
            let object = store.read_bytes(token(9), "text").ok();
            assert!(object.is_none_or(|bytes| bytes == b"an object"), "{what}");
            assert!(kept == 3 || !store.take_notes().is_empty() || what.contains("cut"), "{what}");
        }
    };
    for path in [folder.path().join("manifest"), segment(folder.path())] {
        let bytes = std::fs::read(&path).unwrap();
        let name = path.file_name().unwrap();
        for at in 0..bytes.len() {
            let wrong = copied(folder.path());
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            std::fs::write(wrong.path().join(name), &flipped).unwrap();
            check(wrong.path(), &format!("{name:?}, byte {at}"));
            std::fs::write(wrong.path().join(name), &bytes[..at]).unwrap();
            check(wrong.path(), &format!("{name:?} cut at {at}"));
        }
    }
}

#[test]
fn power_loss_takes_only_what_was_not_flushed() {
    let folder = tempfile::tempdir().unwrap();
    let store = ResumeStore::open(folder.path()).unwrap();
    (0..4).for_each(|number| put(&store, number).unwrap());
    store.flush().unwrap();
    let synced = std::fs::read(segment(folder.path())).unwrap();
    (4..8).for_each(|number| put(&store, number).unwrap());
    let all = std::fs::read(segment(folder.path())).unwrap();
    assert!(all.len() > synced.len());
    for length in (synced.len()..all.len()).step_by(41) {
        // What isn't synced may be missing, or be zeros.
        for zeros in [0, all.len() - length] {
            let after = copied(folder.path());
            let bytes = [&all[..length], &vec![0; zeros]].concat();
            std::fs::write(segment(after.path()), bytes).unwrap();
            let store = ResumeStore::open(after.path()).unwrap();
            assert!((0..4).all(|number| holds(&store, number)), "cut at {length}, {zeros} zeros");
            assert!((4..8).all(|number| !holds(&store, number)));
            put(&store, 5).unwrap();
            drop(store);
            assert!(holds(&ResumeStore::open(after.path()).unwrap(), 5));
        }
    }
}

#[test]
fn a_missing_file_of_chunks_is_noted_and_its_chunks_computed_again() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..2 {
        put(&ResumeStore::open(folder.path()).unwrap(), number).unwrap();
    }
    std::fs::remove_file(folder.path().join("chunks-00000001")).unwrap();
    let store = ResumeStore::open(folder.path()).unwrap();
    assert!(!holds(&store, 0) && holds(&store, 1));
    let notes: Vec<String> = store.take_notes().iter().map(ToString::to_string).collect();
    assert!(notes.len() == 1 && notes[0].contains("chunks-00000001 is gone"), "{notes:?}");
    // While a store is open, too.
    std::fs::remove_file(folder.path().join("chunks-00000002")).unwrap();
    assert!(!holds(&store, 1));
    put(&store, 0).unwrap();
    put(&store, 1).unwrap();
    drop(store);
    let store = ResumeStore::open(folder.path()).unwrap();
    assert!(holds(&store, 0) && holds(&store, 1));
}

#[test]
fn one_folder_has_one_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = ResumeStore::open(folder.path()).unwrap();
    let error = ResumeStore::open(folder.path()).map(|_| ()).unwrap_err();
    assert!(matches!(error, StoreError::InUse { .. }), "{error}");
    assert!(error.to_string().contains(&folder.path().display().to_string()));
    drop(store);
    ResumeStore::open(folder.path()).unwrap();
}

#[test]
fn folders_of_others_are_not_touched() {
    let texts: [(&str, &[u8], &str); 4] = [
        ("thesis.txt", b"years of work", "holds 'thesis.txt'"),
        ("lock", b"1234", "holds 'lock'"),
        ("manifest", b"CACHE MANIFEST", "of something else"),
        ("manifest", b"OCRES", "of something else"),
    ];
    for (name, content, problem) in texts {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), content).unwrap();
        let error = ResumeStore::open(folder.path()).map(|_| ()).unwrap_err();
        assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
        assert!(error.to_string().contains(problem), "{error}");
        assert_eq!(file_names(folder.path()), [name]);
        assert_eq!(std::fs::read(folder.path().join(name)).unwrap(), content);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, b"text").unwrap();
    for path in [file.clone(), file.join("below")] {
        let error = ResumeStore::open(&path).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(&path.display().to_string()) && error.contains("name a"), "{error}");
    }
}

#[test]
fn a_store_that_was_never_finished_is_begun_again() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("lock"), b"").unwrap();
    std::fs::write(folder.path().join("manifest.new"), b"OCRES").unwrap();
    let store = ResumeStore::open(folder.path()).unwrap();
    put(&store, 1).unwrap();
    // A file of the user's beside ours stays.
    std::fs::write(folder.path().join("chunks-readme"), b"mine").unwrap();
    drop(store);
    assert!(holds(&ResumeStore::open(folder.path()).unwrap(), 1));
    assert_eq!(file_names(folder.path()), ["chunks-00000001", "chunks-readme", "lock", "manifest"]);
}

#[test]
fn objects_are_read_as_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let store = ResumeStore::open(folder.path()).unwrap();
    store.put_bytes(token(1), "text", b"words").unwrap();
    put(&store, 2).unwrap();
    assert_eq!(store.read_bytes(token(1), "text").unwrap(), b"words");
    let error = store.read_bytes(token(1), "number").unwrap_err();
    assert!(error.is_lost_chunk() && error.to_string().contains("an object of type text where"), "{error}");
    assert!(matches!(store.read_bytes(token(1), "text"), Err(StoreError::Unknown { .. })));
    assert!(matches!(store.read_bytes(token(2), "text"), Err(StoreError::Mismatch { .. })));
    assert_eq!(store.take_notes().len(), 2);
}

#[test]
fn what_is_unused_is_dropped_with_its_space() {
    let folder = tempfile::tempdir().unwrap();
    let noise = |seed: u32| {
        let value = |i: u32| (i ^ seed << 20).wrapping_mul(0x9E37_79B9).rotate_left(i % 31);
        Block::from_slice([100_000], &(0..100_000).map(value).collect::<Vec<u32>>()).unwrap()
    };
    for seeds in [0..4, 4..6] {
        let store = ResumeStore::open(folder.path()).unwrap();
        seeds.for_each(|seed| store.put(token(seed), &noise(seed)).unwrap());
    }
    let store = ResumeStore::open(folder.path()).unwrap();
    store.put(token(6), &noise(6)).unwrap();
    let used: HashSet<Token> = [1, 6, 77].map(token).into();
    assert_eq!(store.remove_unused(&used).unwrap(), 5);
    assert_eq!(file_names(folder.path()), ["chunks-00000001", "chunks-00000003", "lock", "manifest"]);
    #[cfg(target_os = "linux")]
    {
        let metadata = std::fs::metadata(folder.path().join("chunks-00000001")).unwrap();
        let bytes = std::os::unix::fs::MetadataExt::blocks(&metadata) * 512;
        assert!((400_000..500_000).contains(&bytes), "{bytes} bytes of one chunk of 400,000");
    }
    drop(store);
    let store = ResumeStore::open(folder.path()).unwrap();
    let into = target(&noise(0), false);
    for seed in 0..7 {
        let is_used = used.contains(&token(seed));
        assert_eq!(store.read(token(seed), &into).is_ok(), is_used, "{seed}");
        assert!(!is_used || into == noise(seed));
    }
}

const CHILD: &str = "OUTCROP_TEST_STORE";

/// This test program again, running one test in a process of its own on a folder.
fn child(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(CHILD, folder).stdout(Stdio::piped());
    command
}

/// Puts chunks for ever and says which are safe, until it is killed.
#[test]
fn child_that_puts_chunks() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let store = ResumeStore::open(Path::new(&folder)).unwrap();
    for number in 0.. {
        put(&store, number).unwrap();
        if number % 3 == 2 {
            store.flush().unwrap();
            println!("\nsafe {number}");
        }
    }
}

#[test]
fn a_killed_process_loses_nothing_that_it_said_was_safe() {
    let folder = tempfile::tempdir().unwrap();
    let mut safe = 0;
    for round in 0..10 {
        let mut child = child("child_that_puts_chunks", folder.path()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let numbers = lines.filter_map(|line| line.strip_prefix("safe ")?.parse::<u32>().ok());
        let last = numbers.take(1 + round * 7).last().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        safe = safe.max(last);
        let store = ResumeStore::open(folder.path()).unwrap();
        assert!((0..=safe).all(|number| holds(&store, number)), "round {round}");
        assert!((safe..safe + 50).filter(|number| holds(&store, *number)).count() < 50);
        assert_eq!(store.take_notes().len(), 0);
    }
}

/// Fills what its process may write to one file, in place of a disk.
#[test]
#[cfg(unix)]
fn child_with_a_full_disk() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let limit = |bytes| {
        // SAFETY: both calls change this process alone, which runs this test alone.
        unsafe {
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
            assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
        }
    };
    let folder = Path::new(&folder);
    let store = ResumeStore::open(folder).unwrap();
    let spill = SpillStore::new(folder.parent().unwrap(), None).unwrap();
    limit(100_000);
    let failed = (0..1000).find_map(|number| put(&store, number).err().map(|error| (number, error)));
    let (number, error) = failed.unwrap();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(number > 5 && (0..number).all(|number| holds(&store, number)));
    let mut spilled = Vec::new();
    let error =
        (0..1000).find_map(|number| spill.write(&block(number)).map(|s| spilled.push(s)).err()).unwrap();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    let held = spill.held_bytes();
    spilled.truncate(spilled.len() / 2);
    assert!(spill.held_bytes() < held);
    spilled.push(spill.write(&block(0)).unwrap());
    limit(libc::RLIM_INFINITY);
    put(&store, number).unwrap();
    drop(store);
    let store = ResumeStore::open(folder).unwrap();
    assert!((0..=number).all(|number| holds(&store, number)));
    println!("\nall went well");
}

#[test]
#[cfg(unix)]
fn a_full_disk_is_an_error_after_which_all_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let output = child("child_with_a_full_disk", &folder.path().join("resume")).output().unwrap();
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("all went well"));
}
