//! Expressions and the values that NumPy and SciPy give for them.

use std::path::Path;

use crate::machine::Machine;
use crate::pipeline::Pipeline;
use crate::pipeline::diagnostic::SourceText;
use crate::session::Session;
use crate::settings::Config;
use crate::units::Bytes;

/// `a` is `[[0, 1, 2], [3, 4, 5]]`, `v` is `[0, 1, 2, 3]`, `n` is the integers of `a`, `t` is one `True`.
const INPUTS: &str = "
[inputs.a]
arange = true
shape = [2, 3]
dtype = 'f64'
chunks = [1, 2]
[inputs.v]
arange = true
shape = [4]
dtype = 'f64'
[inputs.n]
arange = true
shape = [2, 3]
dtype = 'i32'
[inputs.t]
full = true
shape = []
";

fn pipeline(expressions: &[&str]) -> Result<Pipeline, String> {
    let mut text = INPUTS.to_owned();
    for (at, expr) in expressions.iter().enumerate() {
        text.push_str(&format!("[[layer]]\nname = \"x{at}\"\nexpr = '{expr}'\n"));
    }
    text.push_str("[outputs]\nx0 = \"x.npy\"\n");
    let source = SourceText::new("test", text);
    Pipeline::build(source, Path::new(""), &[], Path::new("")).map_err(|error| error.to_string())
}

fn values(expressions: &[&str]) -> Vec<Vec<f64>> {
    let pipeline = pipeline(expressions).unwrap();
    let arrays: Vec<_> =
        (0..expressions.len()).map(|at| pipeline.array(&format!("x{at}")).unwrap()).collect();
    let session = Session::on(Machine::host_only(1, Bytes(1 << 30)), Config::default());
    let blocks = session.compute(&arrays).unwrap();
    blocks.iter().map(|block| block.to_f64_vec().unwrap()).collect()
}

#[test]
fn expressions_have_numpys_values() {
    let table: &[(&str, &[f64])] = &[
        ("a[1] - 2 * a[0]", &[3., 2., 1.]),
        ("a[:, ::-1][0]", &[2., 1., 0.]),
        ("a[..., 1]", &[1., 4.]),
        ("a[-1, 1:]", &[4., 5.]),
        ("n // 2", &[0., 0., 1., 1., 2., 2.]),
        ("-n % 3", &[0., 2., 1., 0., 2., 1.]),
        ("v ** 2 + v ** 0.5 * 0", &[0., 1., 4., 9.]),
        ("2 ** v", &[1., 2., 4., 8.]),
        ("(v > 0) & ~(v == 2)", &[0., 1., 0., 1.]),
        ("n[0] ^ 1", &[1., 0., 3.]),
        ("where(v < 2, v, 10)", &[0., 1., 10., 10.]),
        ("where(t, v, 7)", &[0., 1., 2., 3.]),
        ("where(True, v, 7)", &[0., 1., 2., 3.]),
        ("clip(v, 1, 2)", &[1., 1., 2., 2.]),
        ("v.clip(max=1)", &[0., 1., 1., 1.]),
        ("minimum(v, 3 - v) + maximum(v, 1)", &[1., 2., 3., 3.]),
        ("arctan2(v[1:], v[1:]) * 4 / pi", &[1., 1., 1.]),
        ("hypot(3 * v, 4 * v)", &[0., 5., 10., 15.]),
        ("degrees(radians(v))", &[0., 1., 2., 3.]),
        ("round(v / 2)", &[0., 0., 1., 2.]),
        ("round(v * 0.126, 2)", &[0., 0.13, 0.25, 0.38]),
        ("abs(v - 2) + sign(v - 2)", &[1., 0., 0., 2.]),
        ("floor(v / 2) + ceil(v / 2) + trunc(-v / 2)", &[0., 1., 1., 2.]),
        ("isnan(v / 0) | isinf(v / 0)", &[1., 1., 1., 1.]),
        ("isfinite(log(v))", &[0., 1., 1., 1.]),
        ("square(v) + reciprocal(v + 1) * 0", &[0., 1., 4., 9.]),
        ("logical_xor(v, v - 1)", &[1., 1., 0., 0.]),
        ("not v", &[1., 0., 0., 0.]),
        ("sum(a)", &[15.]),
        ("sum(a, axis=0)", &[3., 5., 7.]),
        ("a.mean(axis=(0, 1), keepdims=True)", &[2.5]),
        ("mean(a, where=a > 2)", &[4.]),
        ("std(a, axis=1, ddof=1)", &[1., 1.]),
        ("var(v)", &[1.25]),
        ("min(a, axis=-1) + max(a, axis=-1)", &[2., 8.]),
        ("count_nonzero(a, axis=1)", &[2., 3.]),
        ("histogram(v, bins=2, range=(0, 4))", &[2., 2.]),
        ("histogram(v, 3)", &[1., 1., 2.]),
        ("gradient(v ** 2)", &[1., 2., 4., 5.]),
        ("gradient(a, 0.5, axis=1)", &[2., 2., 2., 2., 2., 2.]),
        ("convolve1d(v, [1, 0, -1])", &[1., 2., 2., 1.]),
        ("convolve1d(v, [0, 0, 1], mode=\"constant\", cval=9)", &[9., 0., 1., 2.]),
        ("convolve1d(v, (1, 1, 1), mode=\"nearest\")", &[1., 3., 6., 8.]),
        ("sum(gaussian_filter(a, 1)) - sum(gaussian_filter1d(gaussian_filter1d(a, 1, axis=0), 1))", &[0.]),
        ("gaussian_filter(a, (0, 0))", &[0., 1., 2., 3., 4., 5.]),
        ("rechunk(a, (2, -1))", &[0., 1., 2., 3., 4., 5.]),
        ("zeros_like(v) + ones_like(n[0, 0], dtype=f64)", &[1., 1., 1., 1.]),
        ("u8(v * 100)", &[0., 100., 200., 255.]),
        ("v.astype(\"bool\")", &[0., 1., 1., 1.]),
        ("45 * pi / 180 - radians(45)", &[0.]),
        ("cos(radians(60)) * 2 * v", &[0., 1., 2., 3.]),
        ("f32(0.1) * 0 + hypot(3, 4)", &[5.]),
        ("a", &[0., 1., 2., 3., 4., 5.]),
    ];
    let expressions: Vec<&str> = table.iter().map(|(expr, _)| *expr).collect();
    for ((expr, want), got) in table.iter().zip(values(&expressions)) {
        let close =
            got.len() == want.len() && got.iter().zip(*want).all(|(got, want)| (got - want).abs() < 1e-12);
        assert!(close, "{expr} gave {got:?}, not {want:?}");
    }
}

#[test]
fn a_layer_that_passes_on_another_has_annotations_of_its_own() {
    let text = format!(
        "{INPUTS}[[layer]]\nname = \"x\"\nexpr = \"a\"\nannotate = {{ priority = 2 }}\n[outputs]\nx = \"x.npy\"\n"
    );
    let built = Pipeline::build(SourceText::new("test", text), Path::new(""), &[], Path::new("")).unwrap();
    let array = built.array("x").unwrap();
    let layer = array.layer().unwrap();
    assert_eq!((layer.name(), layer.annotations().priority()), ("x", Some(2.0)));
    assert_eq!((layer.inputs()[0].name(), layer.inputs()[0].annotations().priority()), ("a", None));
}

#[test]
fn everything_an_expression_makes_carries_its_label_and_annotations() {
    let text = format!(
        "{INPUTS}[[layer]]\nname = \"x\"\nexpr = \"histogram(gaussian_filter(n, 1))\"\n\
         annotate = {{ retries = 3 }}\n[outputs]\nx = \"x.npy\"\n"
    );
    let built = Pipeline::build(SourceText::new("test", text), Path::new(""), &[], Path::new("")).unwrap();
    let array = built.array("x").unwrap();
    let mut layers = vec![array.layer().unwrap().clone()];
    let mut made = 0;
    while let Some(layer) = layers.pop() {
        if layer.name() != "n" {
            assert_eq!((layer.label(), layer.annotations().retries()), (Some("x"), Some(3)), "{layer:?}");
            made += 1;
            layers.extend(layer.inputs().iter().cloned());
        }
    }
    assert!(made >= 4, "{made}");
}

#[test]
fn a_numbers_limits_are_told() {
    for (expr, said) in [
        ("u8(300) + v", "300 doesn't fit u8"),
        ("9223372036854775807 + 1", "doesn't fit a 64-bit integer"),
        ("round(v, 999)", "'decimals'"),
        ("v[1.5]", "must be a whole number"),
        ("matmul(a, a)", "isn't available yet"),
        ("mean(3)", "must be an array, found the number 3"),
        ("sum(a, axis=\"x\")", "must be a whole number, or a tuple"),
        ("mean(a, keepdims=2)", "must be True or False"),
    ] {
        let error = pipeline(&[expr]).unwrap_err();
        assert!(error.contains(said), "{expr}: {error}");
    }
}
