use super::*;
use crate::csr::Csr;

/// Items of one engine and memory: value, scratch, reads.
fn scene(items: &[(u64, u64, &[u32])], workers: u32, budget: u64) -> Scene {
    let item =
        |&(value, scratch, _): &(u64, u64, &[u32])| Item { value, scratch, nanos: 10, ..Item::default() };
    let reads =
        items.iter().zip(0..).flat_map(|((_, _, reads), at)| reads.iter().map(move |&value| (at, value)));
    Scene {
        items: items.iter().map(item).collect(),
        operands: Csr::new(items.len(), reads),
        orderings: Vec::new(),
        lanes: vec![workers],
        budgets: vec![budget],
        held: vec![0],
    }
}

#[test]
fn workers_share_what_is_independent() {
    let items: Vec<(u64, u64, &[u32])> = vec![(1, 0, &[]); 6];
    assert_eq!(play(&scene(&items, 1, 100)).nanos, 60);
    assert_eq!(play(&scene(&items, 3, 100)).nanos, 20);
}

#[test]
fn an_overtaker_leaves_room_for_those_before_it() {
    // Sequential peak 7: the second holds 3 + 4. The third may overtake it only where the budget leaves 3 more.
    let items: [(u64, u64, &[u32]); 4] = [(3, 0, &[]), (1, 3, &[0]), (3, 0, &[]), (0, 0, &[1, 2])];
    let tight = play(&scene(&items, 2, 7));
    let roomy = play(&scene(&items, 2, 10));
    assert_eq!((tight.nanos, roomy.nanos), (40, 30));
    assert_eq!(tight.starts, [0, 1, 2, 3]);
    assert!(tight.peaks[0] <= 7 && roomy.peaks[0] <= 10);
}

#[test]
fn every_play_at_the_sequential_peak_ends() {
    let mut random = 1u64;
    let mut below = |n: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % n
    };
    for round in 0..3000 {
        let count = 4 + below(20) as u32;
        let mut reads = Vec::new();
        let items: Vec<Item> = (0..count)
            .map(|at| {
                (0..below(3))
                    .filter(|_| at > 0)
                    .for_each(|_| reads.push((at, below(at.max(1).into()) as u32)));
                Item {
                    engine: below(3) as u16,
                    memory: below(2) as u16,
                    value: below(5),
                    scratch: below(3),
                    nanos: 1 + below(9),
                }
            })
            .collect();
        let mut scene = Scene {
            items,
            operands: Csr::new(count as usize, reads.iter().copied()),
            orderings: vec![(0, count - 1)],
            lanes: vec![1 + below(3) as u32, 1, 2],
            budgets: vec![0; 2],
            held: vec![below(4), 0],
        };
        scene.budgets = sequential_peaks(&scene).iter().map(|peak| peak + below(4)).collect();
        let played = play(&scene);
        assert_eq!(played.starts.len(), count as usize, "round {round}: {scene:?}");
        assert!(played.peaks.iter().zip(&scene.budgets).all(|(peak, budget)| peak <= budget), "{scene:?}");
    }
}
