use std::sync::Arc;

use super::*;

fn block(seed: i32) -> Block {
    let values: Vec<i32> = (0..100).map(|i| i * seed).collect();
    Block::from_slice([100], &values).unwrap()
}

fn token(seed: i32) -> Token {
    Token::of(&i64::from(seed))
}

fn opened() -> (tempfile::TempDir, ResumeStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = ResumeStore::open(folder.path()).unwrap();
    (folder, store)
}

fn holds(store: &ResumeStore, seed: i32) -> bool {
    let back = Block::from_slice([100], &[-1i32; 100]).unwrap();
    let result = store.read(token(seed), &back);
    assert!(result.is_err() || back == block(seed));
    result.is_ok()
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_loses_the_chunk_alone() {
    let (folder, store) = opened();
    store.put(token(1), &block(1)).unwrap();
    let full = File::options().read(true).write(true).open("/dev/full").unwrap();
    let good = store.state().idle[0].replace_file(full);
    let error = store.put(token(2), &block(2)).unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(!store.contains(token(2)));
    store.state().idle[0].replace_file(good);
    store.put(token(2), &block(2)).unwrap();
    drop(store);
    let store = ResumeStore::open(folder.path()).unwrap();
    assert!(holds(&store, 1) && holds(&store, 2));
    assert_eq!(store.take_notes().len(), 0);
}

#[test]
#[cfg(target_os = "linux")]
fn chunks_that_cannot_be_synced_are_forgotten_and_others_stay() {
    let (folder, store) = opened();
    store.put(token(1), &block(1)).unwrap();
    store.flush().unwrap();
    store.put(token(2), &block(2)).unwrap();
    // A device that can't be synced.
    let wrong = Arc::new(File::open("/dev/full").unwrap());
    store.state().pending.files.values_mut().for_each(|file| *file = wrong.clone());
    let error = store.flush().unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
    assert!(!store.contains(token(2)) && holds(&store, 1));
    assert!(store.take_notes()[0].to_string().contains("is forgotten"));
    store.put(token(2), &block(2)).unwrap();
    assert_eq!(folder::segments(folder.path()).unwrap().len(), 2);
    drop(store);
    let store = ResumeStore::open(folder.path()).unwrap();
    assert!(holds(&store, 1) && holds(&store, 2));
}

#[test]
fn a_manifest_that_cannot_be_replaced_is_tried_again() {
    let (folder, store) = opened();
    store.put(token(1), &block(1)).unwrap();
    store.flush().unwrap();
    let obstacle = folder.path().join(manifest::UNFINISHED);
    std::fs::create_dir(&obstacle).unwrap();
    assert!(store.remove_unused(&HashSet::new()).is_err());
    assert!(holds(&store, 1));
    std::fs::remove_dir(&obstacle).unwrap();
    assert_eq!(store.remove_unused(&HashSet::new()).unwrap(), 1);
    assert!(!store.contains(token(1)));
}

#[test]
fn many_small_chunks_are_few_files_and_few_syncs() {
    let (folder, store) = opened();
    for seed in 0..5_000 {
        store.put(token(seed), &block(seed)).unwrap();
        assert!(store.state().pending.records.len() < 1024);
    }
    store.flush().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    drop(store);
    let store = ResumeStore::open(folder.path()).unwrap();
    assert_eq!(store.chunks(), 5_000);
    assert!((0..5_000).step_by(97).all(|seed| holds(&store, seed)));
}
