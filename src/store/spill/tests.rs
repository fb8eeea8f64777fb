use super::*;
use crate::shape::Region;

fn noise(count: usize, seed: u32) -> Block {
    let mut state = seed;
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    let values: Vec<u32> = std::iter::repeat_with(next).take(count).collect();
    Block::from_slice([count], &values).unwrap()
}

fn zeros(count: usize) -> Block {
    Block::from_slice([count], &vec![0u32; count]).unwrap()
}

fn store(limit: Option<u64>) -> (tempfile::TempDir, SpillStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = SpillStore::new(folder.path(), limit).unwrap();
    (folder, store)
}

/// Bytes that the file takes on disk.
#[cfg(unix)]
fn on_disk(store: &SpillStore) -> u64 {
    store.0.file.sync_all().unwrap();
    std::os::unix::fs::MetadataExt::blocks(&store.0.file.metadata().unwrap()) * 512
}

#[test]
fn chunks_come_back_and_their_space_too() {
    let (folder, store) = store(None);
    let blocks: Vec<Block> = (1..9).map(|seed| noise(seed as usize * 9_000, seed)).collect();
    let mut spilled: Vec<Spilled> = blocks.iter().map(|block| store.write(block).unwrap()).collect();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    drop(spilled.remove(3));
    spilled.push(store.write(&blocks[3]).unwrap());
    for (spilled, at) in spilled.iter().zip([0, 1, 2, 4, 5, 6, 7, 3]) {
        let back = zeros(blocks[at].shape()[0]);
        spilled.read(&back).unwrap();
        assert_eq!(back, blocks[at]);
    }
    let figures = store.figures();
    assert_eq!((figures.chunks_written, figures.chunks_read), (9, 8));
    assert_eq!(figures.bytes_read, 36 * 36_000);
    assert!(figures.bytes_stored >= figures.bytes_written && store.held_bytes() >= figures.bytes_read);
    drop(spilled);
    assert_eq!(store.held_bytes(), 0);
    assert!(store.held_bytes_peak() >= figures.bytes_read);
    #[cfg(target_os = "linux")]
    assert_eq!(on_disk(&store), 0);
}

#[test]
fn small_free_parts_are_used_again_and_large_ones_given_back() {
    let (_folder, store) = store(None);
    let parts = || (1..41).map(|seed| store.write(&noise(16_384, seed)).unwrap()).collect::<Vec<_>>();
    let mut spilled = parts();
    let length = store.0.file.metadata().unwrap().len();
    let mut at = 0;
    spilled.retain(|_| {
        at += 1;
        at % 2 == 0
    });
    assert_eq!(store.0.state().worn_bytes, 20 * 65_536, "every second one is free, and none is long");
    let again: Vec<Spilled> = (1..21).map(|seed| store.write(&noise(16_384, seed)).unwrap()).collect();
    // Those that may be compressed ask for somewhat more, and don't fit.
    assert!(store.0.state().worn_bytes <= 4 * 65_536, "{:?}", store.0.state());
    assert!(store.0.file.metadata().unwrap().len() <= length + 4 * 65_536);
    drop(again);
    let kept = spilled.pop();
    drop(spilled);
    assert!(store.0.state().worn_bytes < STRETCH_BYTES + 65_536, "{:?}", store.0.state());
    #[cfg(target_os = "linux")]
    assert!(on_disk(&store) < STRETCH_BYTES + 2 * 65_536);
    drop(kept);
    #[cfg(target_os = "linux")]
    assert_eq!(on_disk(&store), 0);
}

#[test]
fn what_does_not_shrink_is_tried_ever_more_seldom() {
    let (_folder, store) = store(None);
    let tries = |block: &Block| {
        let content = Content::block(block).unwrap();
        let is_tried = store.0.state().is_tried(&content);
        if is_tried {
            store.0.state().learn(&content, false);
        }
        is_tried
    };
    let block = noise(1_000, 1);
    let tried: Vec<usize> = (0..60).filter(|_| tries(&block)).collect();
    assert_eq!(tried, [0, 2, 6, 14, 30, 46]);
    let other = store.write(&zeros(4_096)).unwrap();
    assert!(other.stored_bytes() < 1_000, "chunks of another shape have luck of their own");
    let stored: Vec<u64> = (0..20).map(|_| store.write(&zeros(1_000)).unwrap().stored_bytes()).collect();
    assert!(stored.iter().rev().take(4).all(|&bytes| bytes < 1_000), "{stored:?}");
}

#[test]
fn chunks_outlive_their_store_and_its_folder() {
    let (folder, store) = store(None);
    let block = noise(5_000, 1);
    let spilled = store.write(&block).unwrap();
    folder.close().unwrap();
    let second = store.write(&block).unwrap();
    drop(store);
    for spilled in [spilled, second] {
        let back = zeros(5_000);
        spilled.read(&back).unwrap();
        assert_eq!(back, block);
    }
}

#[test]
fn objects_and_strided_blocks() {
    let (_folder, store) = store(None);
    let text = store.write_bytes("text", b"some bytes").unwrap();
    assert_eq!(text.read_bytes().unwrap(), b"some bytes");
    let part = noise(1_000, 3).part(&Region { origin: [10].into(), shape: [100].into() });
    let spilled = store.write(&part).unwrap();
    let error = spilled.read(&zeros(99)).unwrap_err();
    assert!(error.to_string().contains("a block of u32 (100,) where a block of u32 (99,)"), "{error}");
    assert!(matches!(spilled.read_bytes(), Err(StoreError::Mismatch { .. })));
    let back = zeros(100);
    spilled.read(&back).unwrap();
    assert_eq!(back, part);
}

#[test]
fn the_limit_counts_what_is_on_disk() {
    let (_folder, store) = store(Some(1 << 20));
    let half = store.write(&noise(100_000, 1)).unwrap();
    // Compressed, it is small.
    let small = store.write(&zeros(1 << 20)).unwrap();
    let held = store.held_bytes();
    let error = store.write(&noise(200_000, 2)).unwrap_err();
    assert!(matches!(error, StoreError::Limit { .. }), "{error}");
    assert_eq!(store.held_bytes(), held);
    assert!(store.held_bytes_peak() <= 1 << 20);
    drop(half);
    let two = store.write(&noise(200_000, 2)).unwrap();
    let back = zeros(200_000);
    two.read(&back).unwrap();
    assert_eq!(back, noise(200_000, 2));
    drop((two, small));
    assert_eq!(store.held_bytes(), 0);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_leaves_nothing_behind() {
    let full = File::options().read(true).write(true).open("/dev/full").unwrap();
    let store = SpillStore::on(full, Path::new("/spill"), None);
    let error = store.write(&noise(300_000, 1)).unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(error.to_string().contains("/spill") && error.to_string().contains("another disk"), "{error}");
    let state = store.0.state();
    assert_eq!((state.held, &format!("{:?}", state.space)), (0, &format!("{:?}", Space::default())));
    assert_eq!(state.figures.chunks_written, 0);
}

#[test]
fn every_flipped_byte_and_a_short_file_are_found() {
    let (_folder, store) = store(None);
    let block = noise(20, 1);
    let first = store.write(&block).unwrap();
    let spilled = store.write(&block).unwrap();
    let back = zeros(20);
    let mut byte = [0];
    for at in spilled.part.extent.start..spilled.part.extent.start + 80 {
        read_exact_at(&store.0.file, &mut byte, at).unwrap();
        write_all_at(&store.0.file, &[byte[0] ^ 0x10], at).unwrap();
        let error = spilled.read(&back).unwrap_err();
        assert!(error.is_lost_chunk() && error.to_string().contains("checksum"), "{error}");
        write_all_at(&store.0.file, &byte, at).unwrap();
    }
    spilled.read(&back).unwrap();
    for length in [spilled.part.extent.start, spilled.part.extent.start + 79] {
        store.0.file.set_len(length).unwrap();
        let error = spilled.read(&back).unwrap_err();
        assert!(error.is_lost_chunk() && error.to_string().contains("ends too early"), "{error}");
    }
    first.read(&back).unwrap();
    assert_eq!(back, block);
}

#[test]
fn folders_that_are_none_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, b"").unwrap();
    for (path, advice) in [(folder.path().join("missing"), "make the folder"), (file, "name a folder")] {
        let error = SpillStore::new(&path, None).unwrap_err().to_string();
        assert!(error.contains(&path.display().to_string()) && error.contains(advice), "{error}");
    }
}

#[test]
fn threads_share_a_store() {
    let (_folder, store) = store(None);
    std::thread::scope(|scope| {
        for thread in 1..5u32 {
            let store = &store;
            scope.spawn(move || {
                let mut kept = std::collections::VecDeque::new();
                for round in 0..40 {
                    let block =
                        noise(1 + (thread as usize * 7_919 * round) % 30_000, thread + round as u32 * 4);
                    kept.push_back((store.write(&block).unwrap(), block));
                    if kept.len() > 5 {
                        let (spilled, block) = kept.pop_front().unwrap();
                        let back = zeros(block.shape()[0]);
                        spilled.read(&back).unwrap();
                        assert_eq!(back, block);
                    }
                }
            });
        }
    });
    assert_eq!((store.held_bytes(), store.figures().chunks_written), (0, 160));
}
