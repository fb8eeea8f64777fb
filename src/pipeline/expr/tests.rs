use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;
use crate::dtype::{DType, Scalar};

/// The text printed again, every operation in parentheses by hand where the test writes them.
fn printed(text: &str) -> String {
    parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).to_string()
}

/// Checks that the first text means the second.
fn same(text: &str, explicit: &str) {
    let (mut left, mut right) = (parse(text).unwrap(), parse(explicit).unwrap());
    strip(&mut left);
    strip(&mut right);
    assert_eq!(left, right, "{text} as {explicit}");
}

#[test]
fn precedence_is_pythons() {
    for (text, explicit) in [
        ("-x**2", "-(x**2)"),
        ("2**-x**2", "2**(-(x**2))"),
        ("a**b**c", "a**(b**c)"),
        ("2**-x*3", "(2**(-x))*3"),
        ("a - b - c", "(a - b) - c"),
        ("a / b * c // d % e1 @ f", "((((a / b) * c) // d) % e1) @ f"),
        ("a + b * c", "a + (b * c)"),
        ("~a & b | c ^ d", "((~a) & b) | (c ^ d)"),
        ("a & b == c", "(a & b) == c"),
        ("not a < b", "not (a < b)"),
        ("-x[0]", "-(x[0])"),
        ("-x.mean()", "-(mean(x))"),
        ("a < b + 1", "a < (b + 1)"),
        ("- - +x", "-(-(+x))"),
        ("(a, b)", "(a, b,)"),
    ] {
        same(text, explicit);
    }
}

#[test]
fn numpys_spellings_are_folded() {
    for (text, explicit) in [
        ("np.sqrt(x)", "sqrt(x)"),
        ("numpy.linalg.norm(x)", "np.linalg.norm(x)"),
        ("x.mean(axis=0)", "mean(x, axis=0)"),
        ("x.T", "transpose(x)"),
        ("x.astype(np.float32).sum()", "sum(astype(x, f32))"),
        ("np.pi * x", "pi * x"),
        ("x[np.newaxis, :]", "x[None, :]"),
        ("where(a, true, False)", "where(a, True, false)"),
        ("x.astype(float)", "x.astype(f64)"),
        ("f('a\\'b')", "f(\"a'b\")"),
        ("f(x, # why\n  y)", "f(x, y)"),
    ] {
        same(text, explicit);
    }
    assert_eq!(printed("np.linalg.norm( x )"), "np.linalg.norm(x)");
}

#[test]
fn numbers_are_read_as_python_reads_them() {
    let table = [
        ("1", Scalar::Int(1)),
        ("1_000", Scalar::Int(1000)),
        ("1.5e-3", Scalar::Float(1.5e-3)),
        (".5", Scalar::Float(0.5)),
        ("2.", Scalar::Float(2.0)),
        ("1e6", Scalar::Float(1e6)),
        ("pi", Scalar::Float(std::f64::consts::PI)),
        ("inf", Scalar::Float(f64::INFINITY)),
        ("9223372036854775807", Scalar::Int(i64::MAX)),
    ];
    for (text, want) in table {
        assert_eq!(parse(text).unwrap().kind, Kind::Literal(want), "{text}");
    }
    assert!(matches!(parse("nan").unwrap().kind, Kind::Literal(Scalar::Float(x)) if x.is_nan()));
}

#[test]
fn spans_are_the_texts_own() {
    let text = "sqrt(gx**2) + where(m, äb[1:, ...], 0)";
    let tree = parse(text).unwrap();
    let mut parts = Vec::new();
    tree.visit(&mut |node| parts.push(&text[node.span.clone()]));
    assert_eq!(
        parts,
        [
            text,
            "sqrt(gx**2)",
            "gx**2",
            "gx",
            "2",
            "where(m, äb[1:, ...], 0)",
            "m",
            "äb[1:, ...]",
            "äb",
            "1",
            "0"
        ]
    );
    let names: Vec<&str> = tree.names().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["gx", "m", "äb"]);
}

#[test]
fn depth_is_limited_in_every_direction() {
    let deep = 5_000;
    for text in [
        "(".repeat(deep) + "x" + &")".repeat(deep),
        "-".repeat(deep) + "x",
        "x".to_owned() + &" + x".repeat(deep),
        "x".to_owned() + &"**x".repeat(deep),
        "x".to_owned() + &"[0]".repeat(deep),
        "x".to_owned() + &".abs()".repeat(deep),
        "f(".repeat(deep) + "x" + &")".repeat(deep),
        "(".repeat(deep),
    ] {
        let error = parse(&text).unwrap_err();
        assert_eq!(error.fault, SyntaxFault::Depth(DEPTH_MAX), "{}", &text[..10]);
    }
    assert!(parse(&("x".to_owned() + &" + x".repeat(150))).is_ok());
}

/// Every fault as `text ⟶ message [text at fault]`, the hint below.
fn faults(texts: &[&str]) -> String {
    let mut report = String::new();
    for text in texts {
        let error = parse(text).unwrap_err();
        let hint = error.hint().map(|hint| format!("\n    {hint}")).unwrap_or_default();
        report += &format!("{text} ⟶ {error} [{}]{hint}\n", &text[error.span.clone()]);
    }
    report
}

#[test]
fn wrong_words_are_named() {
    let texts = [
        "",
        "a and b",
        "or b",
        "a + not b",
        "a if c else b",
        "lambda x: x",
        "1.2.3",
        "12ab",
        "0x10",
        "2j",
        "1__0",
        "99999999999999999999",
        "\"abc",
        "\"\\q\"",
        "a && b",
        "a || b",
        "!a",
        "a ? b : c",
        "a × b",
        "“a”",
        "a; b",
        "{a}",
        "a is None",
    ];
    insta::assert_snapshot!(faults(&texts), @r#"
     ⟶ the expression is empty []
    a and b ⟶ 'and' can't combine arrays [and]
        write '&', with each comparison in parentheses: (a > 0) & (b > 0)
    or b ⟶ 'or' can't combine arrays [or]
        write '|', with each comparison in parentheses: (a > 0) | (b > 0)
    a + not b ⟶ 'not' binds loosely and needs parentheses here [not]
        write (not x), or ~x for booleans
    a if c else b ⟶ 'if' isn't part of the expression language [if]
        write where(condition, a, b)
    lambda x: x ⟶ 'lambda' isn't part of the expression language [lambda]
        operations apply to whole arrays; no loop is needed
    1.2.3 ⟶ '1.2.3' is no number [1.2.3]
    12ab ⟶ '12ab' is no number [12ab]
    0x10 ⟶ '0x10' is no number [0x10]
        write integers in decimal
    2j ⟶ '2j' is a complex number; Outcrop computes with real numbers [2j]
    1__0 ⟶ '1__0' is no number [1__0]
    99999999999999999999 ⟶ the integer 99999999999999999999 doesn't fit 64 bits [99999999999999999999]
        write it as a float: add '.0'
    "abc ⟶ this string isn't closed ["abc]
    "\q" ⟶ unknown escape '\q' in a string [\q]
        the escapes are \\ \" \' \n \t
    a && b ⟶ expected an operand, found '&' [&]
        write one '&' for and
    a || b ⟶ expected an operand, found '|' [|]
        write one '|' for or
    !a ⟶ unexpected character '!' in an expression [!]
        write '~' for not and '!=' for unequal
    a ? b : c ⟶ unexpected character '?' in an expression [?]
        write where(condition, a, b) to choose
    a × b ⟶ unexpected character '×' in an expression [×]
        write '*' to multiply
    “a” ⟶ unexpected character '“' in an expression [“]
        strings stand in straight quotes: "reflect"
    a; b ⟶ unexpected character ';' in an expression [;]
        one layer holds one expression; add a [[layer]] for the next
    {a} ⟶ unexpected character '{' in an expression [{]
        dicts and sets aren't part of the expression language
    a is None ⟶ 'is' isn't part of the expression language [is]
        compare with == or !=
    "#);
}

#[test]
fn wrong_grammar_is_named() {
    let texts = [
        "a +",
        "a b",
        "sqrt(x",
        "x)",
        "(a]",
        "f(a,, b)",
        "x[]",
        "x[1",
        "a < b < c",
        "x > 0 & y > 0",
        "a = b",
        "f(x=1, 2)",
        "f(x=1, x=2)",
        "(a + b)(c)",
        "x.shape",
        "x[1 2]",
        "a << 2",
        "f(*a)",
        "x.",
        "np.",
        "[1, 2",
    ];
    insta::assert_snapshot!(faults(&texts), @r#"
    a + ⟶ the expression ends where an operand should follow []
    a b ⟶ expected an operator or the end, found 'b' [b]
    sqrt(x ⟶ this '(' is never closed [(]
    x) ⟶ this ')' closes nothing [)]
    (a] ⟶ expected ',' or ')', found ']' []]
    f(a,, b) ⟶ expected an operand, found ',' [,]
    x[] ⟶ an index needs at least one item [[]]
    x[1 ⟶ this '[' is never closed [[]
    a < b < c ⟶ comparisons can't be chained [a < b <]
        compare two at a time: (a < b) & (b < c). '&' and '|' bind tighter than comparisons, so each comparison needs parentheses
    x > 0 & y > 0 ⟶ comparisons can't be chained [x > 0 & y >]
        compare two at a time: (a < b) & (b < c). '&' and '|' bind tighter than comparisons, so each comparison needs parentheses
    a = b ⟶ an expression can't assign [=]
        a layer's value is the expression itself: its name stands in 'name'. Write '==' to compare
    f(x=1, 2) ⟶ a positional argument follows a keyword argument [2]
        put the positional arguments first
    f(x=1, x=2) ⟶ the keyword argument 'x' is given twice [x]
    (a + b)(c) ⟶ only a function's name can be called [(a + b)]
    x.shape ⟶ attribute 'shape' isn't known; methods need their parentheses [shape]
        write a method as x.mean(axis=0), or a function as mean(x, axis=0)
    x[1 2] ⟶ expected ',' or ']', found the number 2 [2]
    a << 2 ⟶ expected an operand, found '<' [<]
    f(*a) ⟶ expected an operand, found '*' [*]
    x. ⟶ unexpected character '.' in an expression [.]
    np. ⟶ unexpected character '.' in an expression [.]
    [1, 2 ⟶ this '[' is never closed [[]
    "#);
}

/// Sets all spans to zero.
fn strip(node: &mut Node) {
    node.span = 0..0;
    match &mut node.kind {
        Kind::List(items) | Kind::Tuple(items) => items.iter_mut().for_each(strip),
        Kind::Unary(_, operand) => strip(operand),
        Kind::Binary(_, left, right) => [left, right].into_iter().for_each(|side| strip(side)),
        Kind::Call { function_span, arguments, keywords, .. } => {
            *function_span = 0..0;
            arguments.iter_mut().for_each(strip);
            for keyword in keywords {
                keyword.name_span = 0..0;
                strip(&mut keyword.value);
            }
        }
        Kind::Index { array, items } => {
            strip(array);
            for item in items {
                item.span = 0..0;
                match &mut item.kind {
                    Index::At(node) => strip(node),
                    Index::Slice { start, stop, step } => {
                        [start, stop, step].into_iter().flatten().for_each(|part| strip(part));
                    }
                    Index::Ellipsis | Index::NewAxis => {}
                }
            }
        }
        Kind::Literal(_) | Kind::Text(_) | Kind::DType(_) | Kind::None | Kind::Name(_) => {}
    }
}

fn node(kind: Kind) -> Node {
    Node { kind, span: 0..0 }
}

fn leaf() -> impl Strategy<Value = Node> {
    prop_oneof![
        "[a-d_][a-z0-9_]{0,3}x".prop_map(Kind::Name),
        (0..=i64::MAX).prop_map(|value| Kind::Literal(Scalar::Int(value))),
        prop_oneof![0.0..1e300, Just(f64::INFINITY), Just(1e-7), Just(f64::MIN_POSITIVE)]
            .prop_map(|value| Kind::Literal(Scalar::Float(value))),
        any::<bool>().prop_map(|value| Kind::Literal(Scalar::Bool(value))),
        "[ -~ä\n\t]{0,6}".prop_map(Kind::Text),
        proptest::sample::select(DType::ALL.to_vec()).prop_map(Kind::DType),
        Just(Kind::None),
    ]
    .prop_map(node)
}

fn index_item(inner: impl Strategy<Value = Node> + Clone) -> impl Strategy<Value = IndexItem> {
    let part = || proptest::option::of(inner.clone().prop_map(Box::new));
    let at = inner.clone().prop_filter("None is a new axis", |node| node.kind != Kind::None);
    prop_oneof![
        at.prop_map(Index::At),
        (part(), part(), part()).prop_map(|(start, stop, step)| Index::Slice { start, stop, step }),
        Just(Index::Ellipsis),
        Just(Index::NewAxis),
    ]
    .prop_map(|kind| IndexItem { kind, span: 0..0 })
}

fn call(inner: impl Strategy<Value = Node> + Clone) -> impl Strategy<Value = Kind> {
    let keywords = proptest::collection::btree_map("[a-z]{1,4}_k", inner.clone(), 0..3);
    let function = prop_oneof!["[a-z]{1,4}_f", "linalg\\.[a-z]{1,3}_f"];
    (function, proptest::collection::vec(inner, 0..3), keywords).prop_map(
        |(function, arguments, keywords)| {
            let keywords = keywords.into_iter();
            let keywords = keywords.map(|(name, value)| Keyword { name, name_span: 0..0, value }).collect();
            Kind::Call { function, function_span: 0..0, arguments, keywords }
        },
    )
}

fn tree() -> impl Strategy<Value = Node> {
    use UnaryOp::*;
    leaf().prop_recursive(6, 40, 4, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        let list = || proptest::collection::vec(inner.clone(), 0..3);
        let binary = proptest::sample::select(BinaryOp::ALL.to_vec());
        let unary = proptest::sample::select(vec![Negate, Plus, Invert, Not]);
        prop_oneof![
            4 => (binary, boxed(), boxed()).prop_map(|(op, left, right)| Kind::Binary(op, left, right)),
            2 => (unary, boxed()).prop_map(|(op, operand)| Kind::Unary(op, operand)),
            1 => call(inner.clone()),
            1 => list().prop_map(Kind::List),
            1 => list().prop_map(Kind::Tuple),
            1 => (boxed(), proptest::collection::vec(index_item(inner.clone()), 1..3))
                .prop_map(|(array, items)| Kind::Index { array, items }),
        ]
        .prop_map(node)
    })
}

/// Fixed, so that every run tests the same trees.
fn fixed() -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(2),
        failure_persistence: None,
        cases: 1000,
        ..Default::default()
    }
}

proptest! {
    #![proptest_config(fixed())]

    #[test]
    fn what_is_printed_reads_back_the_same(tree in tree()) {
        let text = tree.to_string();
        let mut again = parse(&text).map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        strip(&mut again);
        prop_assert_eq!(again, tree, "{}", text);
    }

    #[test]
    fn no_text_panics(text in "[a-c0-9.()\\[\\],:=<>*/&|~+\\- \"'ä\n#]{0,40}") {
        if let Err(error) = parse(&text) {
            prop_assert!(text.get(error.span.clone()).is_some(), "{:?}", error.span);
        }
    }
}
