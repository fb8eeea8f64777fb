use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::block::Block;
use crate::key::{Key, KeyPart};
use crate::shape::{Region, Shape};

fn all_differ(tokens: &[Token]) {
    for (i, a) in tokens.iter().enumerate() {
        assert!(tokens[..i].iter().all(|b| a != b), "token {i} collides");
    }
}

#[test]
fn types_and_borders_count() {
    all_differ(&[
        Tokenizer::new("x").int(1).finish(),
        Tokenizer::new("x").float(1.0).finish(),
        Tokenizer::new("x").bool(true).finish(),
        Tokenizer::new("x").text("1").finish(),
        Tokenizer::new("x").bytes(b"1").finish(),
        Tokenizer::new("x").float(0.0).finish(),
        Tokenizer::new("x").float(-0.0).finish(),
        Tokenizer::new("x").text("ab").text("c").finish(),
        Tokenizer::new("x").text("a").text("bc").finish(),
    ]);
}

#[test]
fn values_of_different_types_differ() {
    let none: [i64; 0] = [];
    all_differ(&[
        Token::of(&1),
        Token::of(&1.0),
        Token::of(&true),
        Token::of("1"),
        Token::of(&Bytes(b"1")),
        Token::of(&Some(1)),
        Token::of(&[1]),
        Token::of(&(1,)),
        Token::of(&BTreeSet::from([1])),
        Token::of(&BTreeMap::from([(1, 1)])),
        Token::of(&none),
        Token::of(&()),
        Token::of(&BTreeSet::from(none)),
        Token::of(&BTreeMap::<i64, i64>::new()),
        Token::of(&None::<i64>),
        Token::of(""),
        Token::of(&Bytes(b"")),
        Token::of(&0.0),
        Token::of(&-0.0),
        Token::of(&i128::from(u64::MAX)),
        Token::of(&u128::MAX),
        Token::of(&-1i128),
        Token::of(&i128::MIN),
        Token::of(&Token::of(&1)),
        Token::of(&Key::named("x").unwrap()),
        Token::of(&Key::new("x", [1]).unwrap()),
        Token::of("x"),
        Token::of(&("x", 1)),
    ]);
}

#[test]
fn inner_borders_count() {
    all_differ(&[
        Token::of(&vec![vec![1, 2], vec![3]]),
        Token::of(&vec![vec![1], vec![2, 3]]),
        Token::of(&vec![vec![1, 2, 3]]),
        Token::of(&vec![1, 2, 3]),
        Token::of(&vec![vec![1], vec![2], vec![3]]),
        Token::of(&((1, 2), 3)),
        Token::of(&(1, (2, 3))),
        Token::of(&(1, 2, 3)),
        Token::of(&None::<Option<i64>>),
        Token::of(&Some(None::<i64>)),
        Token::of(&vec![Some(1), None]),
        Token::of(&vec![None, Some(1)]),
        Token::of(&BTreeMap::from([("a", "b"), ("c", "d")])),
        Token::of(&BTreeMap::from([("a", "d"), ("c", "b")])),
    ]);
    // A type of its own that writes a varying number of fields.
    struct Words(&'static [&'static str]);
    impl Tokenize for Words {
        fn tokenize(&self, fields: Tokenizer) -> Tokenizer {
            self.0.iter().fold(fields, |fields, word| fields.text(word))
        }
    }
    all_differ(&[
        Token::of(&[Words(&["a"]), Words(&["b", "c"])]),
        Token::of(&[Words(&["a", "b"]), Words(&["c"])]),
    ]);
}

#[test]
fn what_is_the_same_value_has_the_same_token() {
    assert_eq!(Token::of(&1u8), Token::of(&1i128));
    assert_eq!(Token::of(&u64::MAX), Token::of(&u128::from(u64::MAX)));
    assert_eq!(Token::of(&0.5f32), Token::of(&0.5f64));
    assert_eq!(Token::of(&f64::NAN), Token::of(&-f64::NAN));
    assert_eq!(Token::of(&'é'), Token::of("é"));
    assert_eq!(Token::of(&vec![1, 2]), Token::of(&[1u8, 2]));
    assert_eq!(Token::of(&Arc::new(String::from("x"))), Token::of("x"));
    let words = ["north", "east", "south", "west"];
    let reversed = || words.into_iter().rev();
    assert_eq!(Token::of(&HashSet::from(words)), Token::of(&reversed().collect::<BTreeSet<_>>()));
    let map = HashMap::from(words.map(|word| (word, word.len())));
    assert_eq!(
        Token::of(&map),
        Token::of(&reversed().map(|word| (word, word.len())).collect::<BTreeMap<_, _>>())
    );
}

#[test]
fn tokens_are_the_same_on_every_platform() {
    let token = Tokenizer::new("golden").text("outcrop").int(-1).float(0.5).finish();
    assert_eq!(token.to_string(), "2aec702619b16a0a33178229d1ad6126");
    assert_eq!(token.short(), "2aec702619b16a0a");
    let block = Block::from_slice([2, 2], &[1i16, -2, 3, 4]).unwrap();
    let table = [
        (Token::of(&true), "ec5e12933b8a20fbc6024fc0735915a0"),
        (Token::of(&1), "44f3278a9f2e170903fb7a510552df2e"),
        (Token::of(&u64::MAX), "79aa7ab22d37e498593feef22ff03ce2"),
        (Token::of(&u128::MAX), "5683e4f3e983cd8a49b8dbd87fd7bc7c"),
        (Token::of(&1.0), "5389671b2818361b886fd79abda01378"),
        (Token::of("outcrop"), "9477e05ab85a0b35fa2fd72c12da6560"),
        (Token::of(&Bytes(b"outcrop")), "731cc81bce9656131bd8bab949bb3b84"),
        (Token::of(&[1, 2]), "3e7f2720914efbbbb7e0427d7252b5e2"),
        (Token::of(&(1, 2.0, "x")), "c191ab5b32f9bfff0df18cd9cd22c0aa"),
        (Token::of(&Some(1)), "f7f336415055452234b268b67645c5d0"),
        (Token::of(&None::<i64>), "cc87a1f33b8ea09297650072fe834104"),
        (Token::of(&HashSet::from(["a", "b", "c"])), "dd029abed1c6746c99f0982fd0c4ad42"),
        (Token::of(&HashMap::from([("a", 1), ("b", 2)])), "94a1f5494686d42684f035dd8fbdf322"),
        (
            Token::of(&Key::new("x", [KeyPart::from(0), "part".into(), 1.5.into()]).unwrap()),
            "345b8243080206ad1158c610813d5f80",
        ),
        (Token::of(&token), "fc9fce3fe5f20bb34948ca93c1c2f8ec"),
        (block.token().unwrap(), "129c41fbece305d5399badcbbb3f16f0"),
        (
            Block::from_slice([2], &[1.0f32, -0.0]).unwrap().token().unwrap(),
            "248f7bc8a4a6fa15945a0fa32a9aec34",
        ),
    ];
    for (i, (token, want)) in table.iter().enumerate() {
        assert_eq!(token.to_string(), *want, "row {i}");
    }
}

#[test]
fn blocks_go_by_what_they_hold() {
    let values: Vec<i32> = (0..24).collect();
    let block = Block::from_slice([2, 3, 4], &values).unwrap();
    // A part, the columns of every other row backwards, and a broadcast row.
    let part = block.part(&Region { origin: [1, 0, 1].into(), shape: [1, 2, 2].into() });
    let mut views = vec![block.clone(), part.clone(), part.clone(), part];
    views[2].layout.strides = [12, 1, 4].into_iter().collect();
    views[3].layout.strides = [0, 0, -1].into_iter().collect();
    for view in &views {
        let copy = Block::from_slice(view.shape().clone(), &view.to_vec::<i32>().unwrap()).unwrap();
        assert_eq!(view.token(), copy.token(), "{:?}", view.layout);
    }
    let many: Vec<u8> = (0..3 * 5000u32).map(|i| i as u8).collect();
    let mut apart = Block::from_slice([15_000], &many).unwrap();
    (apart.layout.shape, apart.layout.strides) = ([5000].into(), [3].into_iter().collect());
    let copy = Block::from_slice([5000], &apart.to_vec::<u8>().unwrap()).unwrap();
    assert_eq!(apart.token(), copy.token());

    let token = |shape: &[usize], values: &[f32]| Block::from_slice(shape, values).unwrap().token().unwrap();
    all_differ(&[
        token(&[2], &[1.0, 0.0]),
        token(&[2], &[1.0, -0.0]),
        token(&[1, 2], &[1.0, 0.0]),
        token(&[0], &[]),
        token(&[0, 2], &[]),
        Block::from_slice::<f64>([0], &[]).unwrap().token().unwrap(),
        Block::from_slice([2], &[1.0f32.to_bits() as i32, 0]).unwrap().token().unwrap(),
        Block::from_slice(Shape::default(), &[1.0f32]).unwrap().token().unwrap(),
    ]);
}

/// A value as Python would hold it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Bool(bool),
    Int(i64),
    Text(String),
    Nothing,
    List(Vec<Value>),
    Pair(Box<(Value, Value)>),
    Set(BTreeSet<Value>),
    Map(BTreeMap<Value, Value>),
}

impl Tokenize for Value {
    fn tokenize(&self, fields: Tokenizer) -> Tokenizer {
        match self {
            Value::Bool(value) => value.tokenize(fields),
            Value::Int(value) => value.tokenize(fields),
            Value::Text(value) => value.tokenize(fields),
            Value::Nothing => None::<i64>.tokenize(fields),
            Value::List(values) => values.tokenize(fields),
            Value::Pair(pair) => pair.tokenize(fields),
            Value::Set(values) => values.tokenize(fields),
            Value::Map(entries) => entries.tokenize(fields),
        }
    }
}

/// Small values with few distinct leaves, so that equal ones come up often.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        (0i64..2).prop_map(Value::Int),
        "[01]{0,2}".prop_map(Value::Text),
        Just(Value::Nothing),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        let values = prop::collection::vec(inner.clone(), 0..3);
        prop_oneof![
            values.clone().prop_map(Value::List),
            (inner.clone(), inner.clone()).prop_map(|pair| Value::Pair(Box::new(pair))),
            values.prop_map(|values| Value::Set(values.into_iter().collect())),
            prop::collection::btree_map(inner.clone(), inner, 0..2).prop_map(Value::Map),
        ]
    })
}

proptest! {
    #[test]
    fn tokens_are_equal_when_values_are(a in value(), b in value()) {
        prop_assert_eq!(a == b, Token::of(&a) == Token::of(&b));
        prop_assert_eq!(Token::of(&a), Token::of(&a.clone()));
    }
}

#[test]
fn what_one_process_alone_knows_says_so_through_every_layer() {
    let (known, unknown) = (Token::of("x"), Token::unique());
    let of = |token: Token| {
        let fields = |kind: &str| Tokenizer::new(kind);
        [
            fields("plain").token(token).finish(),
            fields("list").list([token].into_iter()).finish(),
            fields("set").set([token]).finish(),
            fields("map").map([(1, token)]).finish(),
            fields("map").map([(token, 1)]).finish(),
            fields("nested").nested(&(1, Some(token))).finish(),
            fields("long").bytes(&[0; 9000]).token(token).bytes(&[0; 9000]).finish(),
            Token::of(&Token::of(&token)),
        ]
    };
    assert!(known.is_lasting() && of(known).iter().all(Token::is_lasting));
    assert!(!unknown.is_lasting() && !of(unknown).iter().any(Token::is_lasting));
    assert!(!Tokenizer::new("handle").int(1).of_process().finish().is_lasting());
}
