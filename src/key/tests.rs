use std::hash::{DefaultHasher, Hash, Hasher};

use proptest::prelude::*;

use super::*;
use crate::token::Token;

fn tuple(parts: impl IntoIterator<Item = KeyPart>) -> KeyPart {
    KeyPart::Tuple(parts.into_iter().collect())
}

fn refusal(value: impl Into<KeyPart>) -> String {
    Key::try_from(value.into()).unwrap_err().to_string()
}

#[test]
fn keys_print_as_python_writes_them() {
    let block = |name: &str, index: &[usize]| Key::block(name, index).unwrap().to_string();
    assert_eq!(block("hillshade", &[3, 0]), "('hillshade', 3, 0)");
    assert_eq!(block("2026-11-30 mean", &[]), "'2026-11-30 mean'");
    let table: [(KeyPart, &str); 14] = [
        ((-1i64).into(), "-1"),
        (1.0.into(), "1.0"),
        ((-0.0).into(), "-0.0"),
        (1e16.into(), "1e+16"),
        (1.5e-5.into(), "1.5e-05"),
        (1e-100.into(), "1e-100"),
        (f64::NEG_INFINITY.into(), "-inf"),
        ("it's".into(), r"'it\'s'"),
        ("a\\\n\u{7f}é".into(), r"'a\\\n\x7fé'"),
        (b"a'\0\xff\\".as_slice().into(), r"b'a\'\x00\xff\\'"),
        (tuple([]), "()"),
        (tuple([1.into()]), "(1,)"),
        (tuple([1.into(), "b".into()]), "(1, 'b')"),
        (tuple([tuple([]), 2.into()]), "((), 2)"),
    ];
    for (part, want) in table {
        assert_eq!(part.to_string(), want);
        assert_eq!(Key::new("x", [part]).unwrap().to_string(), format!("('x', {want})"));
    }
}

#[test]
fn what_is_a_key() {
    let key = Key::try_from(tuple(["x".into(), 0.into(), "part".into(), 1.5.into()])).unwrap();
    assert_eq!(key.to_string(), "('x', 0, 'part', 1.5)");
    assert_eq!((key.name(), key.parts().len(), key.index()), ("x", 3, None));
    assert_eq!(Key::try_from(KeyPart::from("x")), Key::named("x"));
    assert!(Key::try_from(tuple(["x".into(), tuple([])])).is_ok());
}

#[test]
fn what_is_no_key() {
    let table: [(KeyPart, &str); 10] = [
        ("".into(), "'' is no key: its name is empty; a key is a non-empty string, or a tuple"),
        (tuple([]), "() is no key: it doesn't begin with a name"),
        (tuple([1.into(), "x".into()]), "(1, 'x') is no key: it doesn't begin with a name"),
        (tuple(["".into()]), "('',) is no key: its name is empty"),
        (tuple(["".into(), 1.into()]), "('', 1) is no key: its name is empty"),
        (tuple(["x".into()]), "('x',) is no key: nothing follows the name; give the plain string 'x', or"),
        (3.into(), "3 is no key"),
        (1.5.into(), "1.5 is no key"),
        (b"x".as_slice().into(), "b'x' is no key"),
        (tuple(["x".into(), tuple([f64::NAN.into()])]), "('x', (nan,)) is no key: NaN equals nothing"),
    ];
    for (value, want) in table {
        let refused = refusal(value);
        assert!(refused.starts_with(want), "{refused}");
    }
    assert_eq!(Key::named(""), Err(KeyError::EmptyName { value: "''".to_owned() }));
    assert!(matches!(Key::new("x", [0i32; 0]), Err(KeyError::NoParts { .. })));
    assert!(matches!(Key::block("x", &[usize::MAX]), Err(KeyError::TooLarge { .. })));
    assert!(matches!(Key::block("x", &[1]).unwrap().renamed(""), Err(KeyError::EmptyName { .. })));
}

#[test]
fn blocks_know_their_index() {
    let key = Key::block("x", &[3, 0]).unwrap();
    assert_eq!(key.index().unwrap()[..], [3, 0]);
    assert_eq!(key, Key::new("x", [3, 0]).unwrap());
    assert_eq!(key.renamed("y"), Key::block("y", &[3, 0]));
    assert_eq!(Key::named("x").unwrap().index().unwrap()[..], [0usize; 0]);
    assert_eq!(Key::new("x", [-1]).unwrap().index(), None);
    assert_eq!(Key::new("x", [1.0]).unwrap().index(), None);
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Few distinct leaves, so that equal parts, and parts that read almost alike, come up often.
fn part() -> impl Strategy<Value = KeyPart> {
    let leaf = prop_oneof![
        (-1i64..2).prop_map(KeyPart::from),
        prop::sample::select(vec![0.0, -0.0, 1.0, 1e-7, f64::INFINITY]).prop_map(KeyPart::from),
        "[1',\\\\\n(]{0,2}".prop_map(KeyPart::from),
        prop::collection::vec(prop::sample::select(b"1'\\\0\xff".to_vec()), 0..2).prop_map(KeyPart::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| prop::collection::vec(inner, 0..3).prop_map(KeyPart::from))
}

fn key() -> impl Strategy<Value = Key> {
    let parts = prop::collection::vec(part(), 0..3);
    ("[x',]{1,2}", parts).prop_map(|(name, parts)| match &parts[..] {
        [] => Key::named(name).unwrap(),
        parts => Key::new(name, parts.iter().cloned()).unwrap(),
    })
}

proptest! {
    #[test]
    fn equality_order_hash_text_and_token_agree(a in key(), b in key(), c in key()) {
        let equal = a == b;
        prop_assert_eq!(equal, a.cmp(&b).is_eq());
        prop_assert_eq!(equal, a.to_string() == b.to_string());
        prop_assert_eq!(equal, Token::of(&a) == Token::of(&b));
        prop_assert!(!equal || hash(&a) == hash(&b));
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        let mut sorted = [a, b, c];
        sorted.sort();
        prop_assert!(sorted[0] <= sorted[1] && sorted[1] <= sorted[2] && sorted[0] <= sorted[2]);
    }
}
