use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::json;

use super::*;
use crate::key::Key;

fn given(pairs: &[(&str, Value)]) -> Annotations {
    Annotations::from_pairs(pairs.iter().cloned()).expect("valid annotations")
}

fn text(pairs: serde_json::Value) -> Result<String, String> {
    let serde_json::Value::Object(pairs) = pairs else { panic!("an object") };
    Annotations::from_pairs(pairs).map(|set| set.to_string()).map_err(|error| error.to_string())
}

#[test]
fn good_values_print_canonically() {
    let table = [
        (json!({"priority": 10}), "priority=10"),
        (json!({"priority": -0.0}), "priority=0"),
        (json!({"retries": 2.0}), "retries=2"),
        (json!({"device": "prefer-gpu"}), "device=prefer-gpu"),
        (json!({"gpu": 0.5}), "gpu=0.5"),
        (json!({"gpu": 1}), "gpu=1"),
        (json!({"gpu": 2}), "gpu=2"),
        (
            json!({"memory": "2 GiB", "device": "gpu", "priority": 1}),
            "device=gpu memory=\"2.0 GiB\" priority=1",
        ),
        (json!({"memory": 1000}), "memory=\"1000 B\""),
        (json!({"resources": {"z": 1, "a": 0.5}}), "resources={\"a\": 0.5, \"z\": 1.0}"),
        (json!({"resources": {"GPU": 0.5, "licence": 1}}), "gpu=0.5 resources={\"licence\": 1.0}"),
        (json!({"workers": "gpu0"}), "workers=[\"gpu0\"]"),
        (json!({"workers": ["gpu*", "host", "gpu*"]}), "workers=[\"gpu*\", \"host\"]"),
        (json!({"allow_other_workers": false}), "allow_other_workers=false"),
        (json!({"timeout": "1.5 min"}), "timeout=\"90 s\""),
        (json!({"checkpoint": true}), "checkpoint=true"),
        (json!({"colour": {"b": [1, null], "a": "x y"}}), "colour={\"a\": \"x y\", \"b\": [1, null]}"),
        (json!({"x-prority": 1, "my.device": 2, "a b": 3}), "\"a b\"=3 my.device=2 x-prority=1"),
        (json!({}), ""),
    ];
    for (pairs, want) in table {
        assert_eq!(text(pairs.clone()), Ok(want.to_owned()), "{pairs}");
        let set = Annotations::from_pairs(pairs.as_object().expect("an object").clone()).expect("valid");
        let again = Annotations::from_pairs(set.to_json().as_object().expect("an object").clone());
        assert_eq!(again, Ok(set), "{pairs} through JSON");
    }
}

#[test]
fn case_a08_bad_values_are_refused_where_given() {
    let table: [(&str, Value); 46] = [
        ("priority", f64::NAN.into()),
        ("priority", f64::INFINITY.into()),
        ("priority", f64::NEG_INFINITY.into()),
        ("priority", true.into()),
        ("priority", "high".into()),
        ("priority", json!(null).into()),
        ("retries", (-1).into()),
        ("retries", 2.5.into()),
        ("retries", f64::NAN.into()),
        ("retries", true.into()),
        ("retries", "2".into()),
        ("retries", (1u64 << 32).into()),
        ("device", "GPU".into()),
        ("device", "tpu".into()),
        ("device", 1.into()),
        ("gpu", 0.into()),
        ("gpu", 1.5.into()),
        ("gpu", (-1).into()),
        ("gpu", f64::NAN.into()),
        ("gpu", f64::INFINITY.into()),
        ("gpu", true.into()),
        ("gpu", "half".into()),
        ("memory", "2 gigs".into()),
        ("memory", "-1 GiB".into()),
        ("memory", (-1).into()),
        ("memory", 1.5.into()),
        ("memory", f64::NAN.into()),
        ("memory", true.into()),
        ("resources", 1.into()),
        ("resources", json!({"licence": -1}).into()),
        ("resources", json!({"licence": "one"}).into()),
        ("resources", json!({"licence": true}).into()),
        ("resources", json!({"": 1}).into()),
        ("resources", json!({"GPU": 0}).into()),
        ("resources", Value::Table(vec![("licence".to_owned(), f64::NAN.into())])),
        ("resources", Value::Table(vec![("licence".to_owned(), f64::INFINITY.into())])),
        ("workers", json!([]).into()),
        ("workers", json!(["gpu0", 1]).into()),
        ("workers", "gpu[".into()),
        ("allow_other_workers", 1.into()),
        ("checkpoint", 1.into()),
        ("checkpoint", "yes".into()),
        ("timeout", "soon".into()),
        ("timeout", "-1 s".into()),
        ("timeout", 30.into()),
        ("colour", f64::NAN.into()),
    ];
    for (key, value) in table {
        let error = Annotations::new().set(key, value.clone()).expect_err(&format!("{key} = {value}"));
        assert_eq!((error.key.as_str(), &error.value), (key, &value.to_string()));
        let message = error.to_string();
        assert!(message.contains(key) && message.contains(&value.to_string()), "{message}");
    }
    for empty in [Value::from(""), Value::from(vec![" "])] {
        assert!(Annotations::new().set("workers", empty).is_err());
    }
    assert!(Annotations::new().with_timeout(Duration::ZERO).is_err());
    assert!(Annotations::new().set("", 1).is_err());
}

#[test]
fn messages_say_what_to_write() {
    let message = |key, value: Value| Annotations::new().set(key, value).expect_err("refused").to_string();
    insta::assert_snapshot!(message("retries", 2.5.into()), @"annotation 'retries' can't be 2.5: it must be a whole number from 0 to 4294967295");
    insta::assert_snapshot!(message("memory", "2 gigs".into()), @r#"annotation 'memory' can't be "2 gigs": '2 gigs' is no size: write a number and a unit, such as "512 MiB", "2 GiB" or "1.5 GB""#);
    insta::assert_snapshot!(message("prority", 1.into()), @"annotation 'prority' can't be 1: there is no such key; did you mean 'priority'? (a key of your own: 'x-prority')");
    insta::assert_snapshot!(message("resources", json!({"licence": -1}).into()), @"annotation 'resources' can't be {licence = -1}: 'licence' is -1, but must be a finite number of at least 0");
}

#[test]
fn keys_a_slip_away_are_refused() {
    for key in [
        "prority",
        "Priority",
        "retrys",
        "worker",
        "gpus",
        "cpu",
        "GPU",
        "mem0ry",
        "allow-other-workers",
        "devcie",
    ] {
        assert!(Annotations::new().set(key, 1).is_err(), "{key}");
    }
    for key in ["colour", "owner", "x-gpus", "lab.device", "team:gpu", "tag", "task"] {
        assert!(Annotations::new().set(key, 1).is_ok(), "{key}");
    }
}

#[test]
fn contradictions_in_one_set_are_refused_in_any_order() {
    let cpu = || ("device", Value::from("cpu"));
    for pairs in [
        [cpu(), ("gpu", 0.5.into())],
        [("gpu", 0.5.into()), cpu()],
        [cpu(), ("resources", json!({"GPU": 1}).into())],
        [("gpu", 0.5.into()), ("resources", json!({"GPU": 1}).into())],
    ] {
        let error = Annotations::from_pairs(pairs.clone()).expect_err("a contradiction");
        assert!(matches!(error.problem, Problem::Contradicts { .. }), "{error}");
    }
}

#[test]
fn scopes_merge_by_the_table() {
    type Pairs = &'static [(&'static str, &'static str)];
    let table: [(Pairs, Pairs, &str); 13] = [
        (&[("priority", "1")], &[("priority", "2")], "priority=2"),
        (&[("priority", "1")], &[("retries", "0")], "priority=1 retries=0"),
        (&[("retries", "3")], &[("retries", "0")], "retries=0"),
        (&[("gpu", "0.5")], &[("device", "\"cpu\"")], "device=cpu"),
        (&[("device", "\"cpu\"")], &[("gpu", "0.5")], "device=gpu gpu=0.5"),
        (&[("device", "\"prefer-gpu\"")], &[("gpu", "1")], "device=prefer-gpu gpu=1"),
        (&[("memory", "100")], &[("memory", "10")], "memory=\"10 B\""),
        (
            &[("resources", r#"{"a": 1, "b": 2}"#)],
            &[("resources", r#"{"b": 0, "c": 3}"#)],
            r#"resources={"a": 1.0, "b": 0.0, "c": 3.0}"#,
        ),
        (&[("workers", "\"gpu0\"")], &[("workers", "\"gpu1\"")], "workers=[\"gpu1\"]"),
        (
            &[("allow_other_workers", "true")],
            &[("allow_other_workers", "false")],
            "allow_other_workers=false",
        ),
        (&[("timeout", "\"1 s\"")], &[("timeout", "\"1 min\"")], "timeout=\"60 s\""),
        (&[("checkpoint", "true")], &[("checkpoint", "false")], "checkpoint=false"),
        (&[("a", "1"), ("b", "1")], &[("b", "{}")], "a=1 b={}"),
    ];
    let set = |pairs: Pairs| {
        let pairs = pairs
            .iter()
            .map(|(key, json)| (*key, serde_json::from_str::<serde_json::Value>(json).expect(json)));
        Annotations::from_pairs(pairs).expect("valid")
    };
    for (outer, inner, want) in table {
        assert_eq!(set(outer).inner(&set(inner)).to_string(), want);
    }
    let all = set(&[("priority", "1"), ("a", "1")]);
    assert_eq!(all.inner(&Annotations::fresh()), Annotations::fresh());
    assert_eq!(Annotations::fresh().inner(&all).to_string(), "fresh a=1 priority=1");
}

#[test]
fn fusion_follows_the_table() {
    let table: [(serde_json::Value, serde_json::Value, Result<&str, &str>); 25] = [
        (json!({}), json!({}), Ok("")),
        (json!({"priority": 1}), json!({"priority": 5}), Ok("priority=5")),
        (json!({"priority": -3}), json!({}), Ok("priority=0")),
        (json!({"retries": 2}), json!({"retries": 2}), Ok("retries=2")),
        (json!({"retries": 2}), json!({}), Ok("retries=2")),
        (json!({"retries": 0}), json!({}), Ok("retries=0")),
        (json!({"retries": 0}), json!({"retries": 2}), Err("retries")),
        (json!({"retries": 1}), json!({"retries": 2}), Err("retries")),
        (json!({"device": "gpu"}), json!({"device": "gpu"}), Ok("device=gpu")),
        (json!({"device": "gpu"}), json!({}), Ok("device=gpu")),
        (json!({"device": "gpu"}), json!({"device": "any"}), Ok("")),
        (json!({"gpu": 0.5}), json!({"gpu": 0.5}), Ok("gpu=0.5")),
        (json!({"gpu": 0.5}), json!({"gpu": 1}), Err("gpu")),
        (json!({"gpu": 0.5}), json!({}), Err("gpu")),
        (json!({"memory": 10}), json!({"memory": 20}), Ok("memory=\"20 B\"")),
        (json!({"memory": 10}), json!({}), Ok("memory=\"10 B\"")),
        (
            json!({"resources": {"a": 1}}),
            json!({"resources": {"a": 1, "b": 0}}),
            Ok("resources={\"a\": 1.0}"),
        ),
        (json!({"resources": {"a": 1}}), json!({}), Err("resources")),
        (json!({"workers": "gpu0"}), json!({"workers": "gpu1"}), Ok("")),
        (json!({"allow_other_workers": false}), json!({}), Ok("allow_other_workers=false")),
        (json!({"allow_other_workers": true}), json!({}), Err("allow_other_workers")),
        (json!({"checkpoint": true}), json!({}), Ok("checkpoint=true")),
        (json!({"checkpoint": false}), json!({"checkpoint": true}), Ok("checkpoint=true")),
        (json!({"timeout": "1 s"}), json!({"timeout": "1 s"}), Err("timeout")),
        (json!({"colour": "red"}), json!({"colour": "blue"}), Ok("")),
    ];
    let set = |json: &serde_json::Value| {
        Annotations::from_pairs(json.as_object().expect("an object").clone()).expect("valid")
    };
    for (left, right, want) in table {
        for (left, right) in [(&left, &right), (&right, &left)] {
            let fused = set(left).fused(&set(right)).map(|fused| fused.to_string());
            assert_eq!(fused.as_deref().map_err(|conflict| conflict.key), want, "{left} with {right}");
        }
    }
}

#[test]
fn functions_and_plain_values_take_each_others_place() {
    let table: [(Value, Value, &str); 5] = [
        (1.into(), by("row"), "row(key)"),
        (by("row"), 1.into(), "1"),
        (by("row"), by("column"), "column(key)"),
        (json!({"a": 1}).into(), by("row"), "row(key)"),
        (by("row"), json!({"a": 1}).into(), "row(key)+{\"a\": 1.0}"),
    ];
    for (outer, inner, want) in table {
        let key =
            if want.contains('{') || matches!(outer, Value::Table(_)) { "resources" } else { "priority" };
        let set = |value: &Value| given(&[(key, value.clone())]);
        assert_eq!(set(&outer).inner(&set(&inner)).to_string(), format!("{key}={want}"));
        if key == "priority" {
            let replaced = set(&outer).set(key, inner).expect("valid").to_string();
            assert_eq!(replaced, format!("{key}={want}"), "given twice");
        }
    }
}

#[test]
fn functions_fuse_with_themselves_only() {
    for key in ["priority", "retries", "memory", "resources", "timeout", "note"] {
        let plain: Value = match key {
            "resources" => json!({"a": 1}).into(),
            "timeout" => "1 s".into(),
            _ => 1.into(),
        };
        let sets =
            [given(&[(key, by("row"))]), given(&[(key, by("column"))]), given(&[(key, plain)]), given(&[])];
        for (at, other) in sets.iter().enumerate() {
            let fused = sets[0].fused(other);
            let may = key == "note" || (at == 0 && key != "timeout");
            assert_eq!(fused.is_ok(), may, "{key}: {} with {other}", sets[0]);
            match fused {
                Ok(fused) => assert_eq!(fused.function(key).is_some(), key != "note"),
                Err(conflict) => assert_eq!(conflict.left, "\"row(key)\""),
            }
        }
    }
}

#[test]
fn placement_leaves_the_rest_out() {
    let all =
        given(&[("gpu", 1.into()), ("memory", "2 GiB".into()), ("priority", 1.into()), ("note", 1.into())]);
    assert_eq!(all.placement().to_string(), "gpu=1 memory=\"2.0 GiB\"");
    assert!(given(&[("priority", 1.into())]).placement().is_empty());
}

#[test]
fn conflicts_show_both_values() {
    let message = |left: &[(&str, Value)], right: &[(&str, Value)]| {
        given(left).fused(&given(right)).expect_err("a conflict").to_string()
    };
    assert_eq!(message(&[("gpu", 0.5.into())], &[]), "gpu: one has 0.5, the other has none");
    assert_eq!(
        message(&[("timeout", "1 s".into())], &[("timeout", "2 s".into())]),
        "timeout: one has \"1 s\", the other has \"2 s\""
    );
}

#[test]
fn tokens_tell_annotations_apart() {
    assert_eq!(Annotations::new().token(), None);
    let one = given(&[("priority", 1.into())]);
    assert_eq!(one.token(), given(&[("priority", 1.0.into())]).token());
    let others = [
        given(&[("priority", 2.into())]),
        given(&[("a b", 1.into())]),
        given(&[("a", "1 b=2".into())]),
        given(&[("a", 1.into()), ("b", 2.into())]),
        given(&[("memory", Bytes(1 << 30).into())]),
        given(&[("memory", Bytes((1 << 30) + 1).into())]),
        Annotations::fresh(),
    ];
    let mut tokens: Vec<_> = others.iter().chain([&one]).map(|set| set.token().expect("not empty")).collect();
    tokens.sort();
    tokens.dedup();
    assert_eq!(tokens.len(), others.len() + 1);
}

#[test]
fn case_a07_nested_scopes_restore_even_after_a_panic() {
    let licence = |amount: f64| Annotations::new().with_resource("licence", amount).expect("valid");
    annotate(licence(1.0).with_resource("tape", 1.0).expect("valid"), || {
        annotate(licence(0.0), || {
            assert_eq!(current().to_string(), "resources={\"licence\": 0.0, \"tape\": 1.0}");
            annotate(Annotations::fresh(), || assert!(current().resources().is_empty()));
        });
        let panicked =
            std::panic::catch_unwind(|| annotate(licence(7.0), || std::panic::resume_unwind(Box::new(()))));
        assert!(panicked.is_err());
        assert_eq!(current().resources()["licence"], 1.0);
    });
    assert!(current().is_empty());
}

#[test]
fn case_a09_threads_and_interleaved_futures_do_not_leak() {
    let priority = |value: u32| Annotations::new().with_priority(value.into()).expect("valid");
    annotate(priority(99), || {
        std::thread::scope(|threads| {
            for id in 0..8 {
                threads.spawn(move || {
                    assert!(current().is_empty(), "a new thread starts without a scope");
                    annotate(priority(id), || assert_eq!(current().priority(), Some(id.into())));
                });
            }
        });
    });
    let mut tasks: Vec<_> = (0..8)
        .map(|id| {
            Box::pin(annotate(priority(99), || {
                async move {
                    for _ in 0..3 {
                        assert_eq!((current().priority(), current().retries()), (Some(99.0), Some(id)));
                        annotate(priority(id), || assert_eq!(current().priority(), Some(id.into())));
                        yield_once().await;
                    }
                    id
                }
                .annotated(Annotations::new().with_retries(id).expect("valid"))
            }))
        })
        .collect();
    let mut context = Context::from_waker(Waker::noop());
    let mut done = Vec::new();
    while done.len() < 8 {
        for task in &mut tasks {
            if done.len() < 8
                && let Poll::Ready(id) = task.as_mut().poll(&mut context)
            {
                done.push(id);
            }
            assert!(current().is_empty(), "nothing is in force between polls");
        }
    }
    assert_eq!(done, [0, 1, 2, 3, 4, 5, 6, 7]);
}

/// Pending once, so that sibling tasks run in between.
async fn yield_once() {
    let mut yielded = false;
    std::future::poll_fn(
        move |_| if std::mem::replace(&mut yielded, true) { Poll::Ready(()) } else { Poll::Pending },
    )
    .await
}

/// One of two functions: the same one for the same name.
fn by(name: &str) -> Value {
    static BOTH: LazyLock<[KeyFunction; 2]> =
        LazyLock::new(|| ["row", "column"].map(|name| KeyFunction::new(name, |_| Value::Int(1))));
    BOTH.iter().find(|function| function.name() == name).expect("one of the two").clone().into()
}

fn any_annotations() -> impl Strategy<Value = Annotations> {
    let maybe = |values: Vec<Value>| proptest::option::of(proptest::sample::select(values));
    let pairs = (
        maybe(vec![(-1).into(), 0.into(), 2.5.into(), by("row"), by("column")]),
        maybe(vec![0.into(), 3.into(), by("row")]),
        maybe(vec!["cpu".into(), "gpu".into(), "prefer-gpu".into(), "any".into()]),
        maybe(vec![0.5.into(), 1.into(), 2.into()]),
        maybe(vec![json!({"a": 1}).into(), json!({"a": 0, "b": 2}).into(), by("row"), by("column")]),
        maybe(vec!["gpu0".into(), vec!["host", "gpu*"].into()]),
        maybe(vec!["1 s".into(), by("row")]),
        maybe(vec![json!({"deep": [1]}).into(), json!(null).into(), by("row"), by("column")]),
        maybe(vec![true.into(), false.into()]),
        any::<bool>(),
    );
    pairs.prop_map(
        |(priority, retries, device, gpu, resources, workers, timeout, custom, checkpoint, fresh)| {
            let start = if fresh { Annotations::fresh() } else { Annotations::new() };
            [
                ("priority", priority),
                ("retries", retries),
                ("device", device),
                ("gpu", gpu),
                ("resources", resources),
                ("workers", workers),
                ("timeout", timeout),
                ("note", custom),
                ("checkpoint", checkpoint),
            ]
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)))
            // A contradiction (`cpu` beside a share) is left out: one set never holds it.
            .fold(start, |set, (key, value)| set.clone().set(key, value).unwrap_or(set))
        },
    )
}

/// Fixed, so that every run tests the same sets.
fn fixed() -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(3), failure_persistence: None, ..Default::default() }
}

proptest! {
    #![proptest_config(fixed())]

    #[test]
    fn merging_is_associative(a in any_annotations(), b in any_annotations(), c in any_annotations()) {
        prop_assert_eq!(a.inner(&b).inner(&c), a.inner(&b.inner(&c)));
        prop_assert_eq!(a.inner(&Annotations::new()), a.clone());
        prop_assert_eq!(Annotations::new().inner(&a), a.clone());
        prop_assert_eq!(a.inner(&Annotations::fresh()), Annotations::fresh());
    }

    #[test]
    fn equal_text_means_equal_annotations(a in any_annotations(), b in any_annotations()) {
        prop_assert_eq!(a == b, a.to_string() == b.to_string());
        prop_assert_eq!(a == b, a.token() == b.token());
    }

    #[test]
    fn fusion_is_symmetric(a in any_annotations(), b in any_annotations()) {
        prop_assert!(a.fused(&a).is_ok() || a.timeout().is_some() || a.function("timeout").is_some());
        let (ab, ba) = (a.fused(&b), b.fused(&a));
        match (&ab, &ba) {
            (Ok(ab), Ok(ba)) => prop_assert_eq!(ab, ba),
            (Err(ab), Err(ba)) => prop_assert_eq!(ab.key, ba.key),
            _ => prop_assert!(false, "{:?} but {:?}", ab, ba),
        }
    }
}

#[test]
fn what_asks_for_a_device() {
    let asks = |key: &str, value: Value| Annotations::new().set(key, value).unwrap().asks_for();
    assert_eq!(Annotations::new().asks_for(), None);
    assert_eq!(asks("priority", 1.into()), None);
    assert_eq!(asks("device", "cpu".into()), Some(DeviceWish::Cpu));
    assert_eq!(asks("gpu", 0.5.into()), Some(DeviceWish::Gpu));
    assert_eq!(asks("memory", "1 GiB".into()), Some(DeviceWish::Any));
    assert_eq!(asks("memory", KeyFunction::new("m", |_: &Key| Value::Int(1)).into()), Some(DeviceWish::Any));
    assert_eq!(asks("workers", Value::List(vec!["gpu0".into()])), Some(DeviceWish::Any));
    let shared = Annotations::new().set("memory", "1 GiB").unwrap().set("device", "prefer-gpu").unwrap();
    assert_eq!(shared.asks_for(), Some(DeviceWish::PreferGpu));
}
