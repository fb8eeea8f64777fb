//! What a right pipeline file means, and what `--set` changes of it.

use outcrop::pipeline::check::{Checked, Fill, Format, Source, check};
use outcrop::pipeline::diagnostic::{Problem, SourceText, render};
use outcrop::pipeline::picture::Colormap;
use outcrop::pipeline::schema::{AxisChunk, Chunks, File, RawValue, Scale, apply_override, read};
use outcrop::units::Bytes;

const WHOLE: &str = r#"
[inputs.dem]
path = "data/dem.npy"
chunks = [512, -1]
dtype = "f32"

[inputs.noise]
random = "uniform"
shape = [100, 200]
seed = 7

[inputs.ones]
ones = true
shape = []

# Listed before what it uses.
[[layer]]
name = "shade"
expr = "sqrt(gx**2 + noise) * ones"
annotate = { device = "prefer-gpu", memory = "2 GiB", resources = { licence = 1 } }

[[layer]]
name = "gx"
expr = "np.gradient(dem, 92.7, axis=0)"

[outputs]
shade = ["./out/../shade.npy", { path = "shade.png", scale = [0, 1.5], colormap = "viridis" }]
gx = "gx.png"

[settings]
threads = 2
pin_threads = true
memory = "512 MiB"
spill = true
spill_dir = "/scratch"
spill_limit = "20 GiB"
cpu_only = true
"#;

#[test]
fn a_whole_file_is_understood() {
    let checked = checked(WHOLE);
    let [dem, noise, ones] = &checked.inputs[..] else { panic!("{:?}", checked.inputs) };
    assert_eq!(dem.chunks.value, Chunks::PerAxis(vec![AxisChunk::Size(512), AxisChunk::Whole]));
    assert!(matches!(&dem.source, Source::Npy { path, cast: Some(_) } if path.value == "data/dem.npy"));
    assert!(matches!(&noise.source, Source::Generated { fill: Fill::Random { seed: 7, .. }, .. }));
    assert!(matches!(&ones.source, Source::Generated { shape, .. } if shape.is_empty()));
    let layers: Vec<_> =
        checked.layers.iter().map(|layer| (&layer.name.value[..], &layer.uses[..])).collect();
    assert_eq!(layers[0], ("gx", &["dem".to_owned()][..]));
    assert_eq!(layers[1], ("shade", &["gx".to_owned(), "noise".to_owned(), "ones".to_owned()][..]));
    let annotate = &checked.layers[1].annotate;
    assert_eq!(annotate[2].key.get_ref(), "resources");
    assert_eq!(annotate[2].value.get_ref().to_json(), serde_json::json!({"licence": 1}));
    assert_eq!(annotate[1].value.get_ref(), &RawValue::Text("2 GiB".to_owned()));
    assert_eq!(&WHOLE[annotate[1].value.span()], "\"2 GiB\"");
    let outputs: Vec<_> =
        checked.outputs.iter().map(|output| (output.path.to_str().unwrap(), output.format)).collect();
    let viridis = Format::Png { scale: Scale::Range(0.0, 1.5), colormap: Colormap::Viridis };
    let gray = Format::Png { scale: Scale::Auto, colormap: Colormap::Gray };
    assert_eq!(outputs, [("shade.npy", Format::Npy), ("shade.png", viridis), ("gx.png", gray)]);
    let settings = &checked.settings;
    assert_eq!(settings.memory.as_ref().unwrap().value, Bytes(512 << 20));
    assert_eq!(
        (settings.spill, &settings.spill_dir.as_ref().unwrap().value),
        (Some(true), &"/scratch".to_owned())
    );
    assert_eq!(settings.spill_limit.as_ref().unwrap().value, Bytes(20 << 30));
}

#[test]
fn a_node_of_a_layer_maps_to_the_file() {
    let checked = checked(WHOLE);
    let shade = &checked.layers[1];
    let mut parts = Vec::new();
    shade.tree.visit(&mut |node| parts.push(&WHOLE[shade.file_span(&node.span)]));
    assert_eq!(parts[1], "sqrt(gx**2 + noise)");
    assert_eq!(parts.last(), Some(&"ones"));
}

#[test]
fn unseeded_random_inputs_differ_and_stay() {
    let text = "inputs = { a = { random = 'normal', shape = [2] }, b = { random = 'normal', shape = [2] } }\n\
                layer = [{ name = 'x', expr = 'a + b' }]\noutputs.x = 'x.npy'\n";
    let checked = checked(text);
    let seeds: Vec<u64> = checked
        .inputs
        .iter()
        .map(|input| match input.source {
            Source::Generated { fill: Fill::Random { seed, .. }, .. } => seed,
            _ => panic!("{input:?}"),
        })
        .collect();
    assert_eq!(seeds, [0xaf63dc4c8601ec8c, 0xaf63df4c8601f1a5]);
}

fn overridden(assignment: &str) -> (File, Result<(), Problem>) {
    let mut file = read(&SourceText::new("p.toml", WHOLE));
    let result = apply_override(&mut file, assignment);
    (file, result)
}

#[test]
fn overrides_change_inputs() {
    let (file, result) = overridden("dem.path=/data/other.npy");
    result.unwrap();
    let path = file.inputs[0].path.as_ref().unwrap();
    assert_eq!((path.value.as_str(), &path.span), ("/data/other.npy", &None));
    check(&file).unwrap();

    let (file, result) = overridden("inputs.noise.path = \"x y.npy\"");
    result.unwrap();
    assert!(matches!(&check(&file).unwrap().inputs[1].source, Source::Npy { .. }), "shape and seed give way");

    let (file, result) = overridden("noise.shape=[5, 6]");
    result.unwrap();
    assert_eq!(file.inputs[1].shape.as_ref().unwrap().value, [5, 6]);

    let (file, result) = overridden("dem.chunks=auto");
    result.unwrap();
    assert_eq!(file.inputs[0].chunks.as_ref().unwrap().value, Chunks::Every(AxisChunk::Auto));
}

#[test]
fn bad_overrides() {
    let complaint = |assignment| {
        let problem = overridden(assignment).1.unwrap_err();
        render(&SourceText::new("p.toml", WHOLE), &[problem], false)
    };
    insta::assert_snapshot!(complaint("dem.path"), @r#"
    error: --set dem.path: this isn't of the form input.key=value
     |
     = help: write --set dem.path=/data/dem.npy
    "#);
    insta::assert_snapshot!(complaint("path=x.npy"), @r#"
    error: --set path=x.npy: this isn't of the form input.key=value
     |
     = help: write --set dem.path=/data/dem.npy
    "#);
    insta::assert_snapshot!(complaint("dme.path=x.npy"), @r#"
    error: --set dme.path=x.npy: the pipeline has no input 'dme'
     |
     = note: did you mean 'dem'?
    "#);
    insta::assert_snapshot!(complaint("dem.pat=x.npy"), @r#"
    error: --set dem.pat=x.npy: inputs have no key 'pat'
     |
     = note: did you mean 'path'?
    "#);
    insta::assert_snapshot!(complaint("noise.shape=5"), @"error: --set noise.shape=5: 'shape' must be a list of extents, such as [1000, 1000], found an integer");
    insta::assert_snapshot!(complaint("noise.random=gauss"), @r#"
    error: --set noise.random=gauss: unknown value 'gauss' of 'random'
     |
     = help: known here: normal, uniform
    "#);
}

fn checked(text: &str) -> Checked {
    let source = SourceText::new("p.toml", text);
    check(&read(&source)).unwrap_or_else(|problems| panic!("{}", render(&source, &problems, false)))
}
