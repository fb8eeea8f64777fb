//! Everything that can be wrong with a pipeline is one clear message, exit code 2, and nothing written.

use crate::{Scratch, npy};

/// Inputs that every file below has: two arrays that don't fit together.
const INPUTS: &str = "
[inputs.a]
random = \"normal\"
shape = [30, 20]
[inputs.b]
ones = true
shape = [7]
";

/// A pipeline with one layer `x`, written to `x.npy`.
fn layer(expr: &str) -> String {
    format!("{INPUTS}\n[[layer]]\nname = \"x\"\nexpr = '{expr}'\n\n[outputs]\nx = \"x.npy\"\n")
}

/// Exit code 2 and only the file itself; returns what was said.
fn refused(pipeline: &str) -> String {
    let scratch = Scratch::new().with("p.toml", pipeline);
    let ran = scratch.outcrop(&["run", "p.toml", "--cpu-only"]);
    assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(scratch.names(), ["p.toml"]);
    assert_eq!(ran.stdout, "");
    ran.stderr
}

#[test]
fn expressions() {
    let cases = [
        "a + bb",
        "sqrt(a",
        "a +",
        "a + b",
        "sqtr(a)",
        "mean(a, axs=0)",
        "mean(a, axis=2)",
        "mean(a, 0, axis=1)",
        "mean()",
        "sqrt(a, b)",
        "gradient(a)",
        "gradient(a, 0.0, axis=1)",
        "gaussian_filter(a, sigma=\"wide\")",
        "gaussian_filter1d(a, -1)",
        "convolve1d(a, [1, 2], axis=0)",
        "convolve1d(a, [1, 2, 1], mode=\"wrapp\")",
        "a & 1",
        "where(a, 1, 2)",
        "astype(a, \"f33\")",
        "a[40]",
        "a[1, 2, 3]",
        "a[a > 0]",
        "a @ b",
        "histogram(a, bins=-1)",
        "1 // 0",
        "\"text\"",
        "rechunk(a, (0, 1))",
        "frobnicate(a)",
    ];
    let said: Vec<String> = cases.iter().map(|expr| refused(&layer(expr))).collect();
    insta::assert_snapshot!("expressions", said.join("\n"));
}

#[test]
fn files() {
    let cases = [
        "this is no toml".to_owned(),
        layer("x + 1"),
        format!(
            "{INPUTS}[[layer]]\nname = \"x\"\nexpr = \"y\"\n[[layer]]\nname = \"y\"\nexpr = \"x + a\"\n[outputs]\nx = \"x.npy\"\n"
        ),
        layer("a")
            .replace("[outputs]", "annotate = { prority = 3, retries = -1, device = \"tpu\" }\n[outputs]"),
        layer("3 * pi").replace("[outputs]", "annotate = { device = \"gpu\" }\n[outputs]"),
        layer("a").replace("\"x.npy\"", "[\"x.npy\", \"./x.npy\"]"),
        layer("a").replace("x.npy", "x.jpg"),
        layer("a").replace("x = \"x.npy\"", "y = \"x.npy\""),
        layer("a[0]").replace("x.npy", "x.png"),
        layer("a").replace("x.npy", "no/such/folder/x.npy"),
        layer("a").replace("[30, 20]", "[30, 20]\nchunks = [5]"),
    ];
    let said: Vec<String> = cases.iter().map(|text| refused(text)).collect();
    insta::assert_snapshot!("files", said.join("\n"));
}

#[test]
fn default_annotations() {
    let cases = [
        "annotations = { retries = 2.5, prority = 3, device = \"tpu\", resources = { tape = -1 } }",
        "annotations = { device = \"cpu\", gpu = 0.5 }",
        "annotations = 3",
        "annotatons = { retries = 2 }",
    ];
    let said = cases.map(|setting| refused(&format!("{}[settings]\n{setting}\n", layer("a"))));
    insta::assert_snapshot!("default_annotations", said.join("\n"));
}

#[test]
fn overrides_of_annotations() {
    let cases: [&[&str]; 4] = [
        &["x", "x:retries", "=2", "x:retries=-1", "x:memory=2 gigs", "x:prority=1", "x:gpu=0", ":retries=1"],
        &["x[:retries=1", "x:priority=nan", "x:device=tpu", "x:resources={tape = 1"],
        &["y:retries=1"],
        &["x:retries=1", "slope*:team=geo"],
    ];
    let scratch = Scratch::new().with("p.toml", layer("a"));
    let said = cases.map(|texts| {
        let flags = texts.iter().flat_map(|text| ["--annotate", text]);
        let ran =
            scratch.outcrop(&["run", "p.toml", "--cpu-only"].into_iter().chain(flags).collect::<Vec<_>>());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        assert_eq!(scratch.names(), ["p.toml"]);
        ran.stderr
    });
    insta::assert_snapshot!("overrides_of_annotations", said.join("\n"));
}

#[test]
fn all_problems_are_told_at_once() {
    let said = refused(&format!(
        "{INPUTS}[[layer]]\nname = \"x\"\nexpr = \"a + b\"\n[[layer]]\nname = \"y\"\nexpr = \"sqtr(a)\"\n\
         [[layer]]\nname = \"z\"\nexpr = \"x + y\"\n[outputs]\nz = \"z.npy\"\n"
    ));
    assert_eq!(said.matches("error").count(), 2, "what follows from another problem is left out: {said}");
}

#[test]
fn npy_files() {
    let pipeline =
        "[inputs.a]\npath = \"a.npy\"\n[[layer]]\nname = \"x\"\nexpr = \"a + 1\"\n[outputs]\nx = \"x.npy\"\n";
    let cases = [
        npy("'<f4'", false, "(3, 4)", &[0; 40]),
        npy("'|O'", false, "(3,)", &[0; 40]),
        npy("'<f4'", false, "(4000000000, 4000000000, 4000000000)", &[0; 40]),
        npy("'<f4'", false, "(1000000000000,)", &[0; 40]),
        npy("'<c8'", false, "(5,)", &[0; 40]),
        npy("[('a', '<f4')]", false, "(5,)", &[0; 40]),
        npy("'<f4'", false, "(1, 1, 1, 1, 1, 1, 1, 1, 1)", &[0; 4]),
        b"PK\x03\x04".to_vec(),
        Vec::new(),
        b"\x93NUMPY\x01\x00\x76\x00{'descr'".to_vec(),
    ];
    let mut said = Vec::new();
    for bytes in cases {
        let scratch = Scratch::new().with("p.toml", pipeline).with("a.npy", bytes);
        let ran = scratch.outcrop(&["run", "p.toml", "--cpu-only"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        assert_eq!(scratch.names(), ["a.npy", "p.toml"]);
        said.push(ran.stderr);
    }
    said.push(refused(pipeline));
    insta::assert_snapshot!("npy_files", said.join("\n"));
}

#[test]
fn outputs_that_cannot_be_written() {
    let scratch = Scratch::new().with("p.toml", layer("a")).with("file", "");
    std::fs::create_dir(scratch.path().join("x.npy")).unwrap();
    let folder = scratch.outcrop(&["run", "p.toml", "--cpu-only"]);
    assert_eq!(folder.code, 2);
    assert!(folder.stderr.contains("cannot write x.npy: it is a folder"), "{}", folder.stderr);
    assert!(folder.stderr.contains("p.toml:14:5"), "{}", folder.stderr);
    let file = scratch.outcrop(&["run", "p.toml", "--cpu-only", "--out", "file/below"]);
    assert_eq!(file.code, 2, "{}", file.stderr);
    assert!(file.stderr.contains("file/below"), "{}", file.stderr);
    assert_eq!(scratch.names(), ["file", "p.toml", "x.npy"]);
}

#[test]
fn the_command_line() {
    let scratch = Scratch::new().with("p.toml", layer("a")).with("m.toml", "name = 3");
    let code = |arguments: &[&str]| scratch.outcrop(arguments).code;
    assert_eq!(code(&["run"]), 2);
    assert_eq!(code(&["run", "p.toml", "--threads", "0"]), 2);
    assert_eq!(code(&["run", "p.toml", "--memory", "lots"]), 2);
    assert_eq!(code(&["frobnicate"]), 2);
    assert_eq!(code(&["run", "missing.toml"]), 2);
    assert_eq!(code(&["plan", "p.toml", "--machine", "missing.toml"]), 2);
    assert_eq!(code(&["plan", "p.toml", "--machine", "m.toml"]), 2);
    assert_eq!(code(&["run", "p.toml", "--set", "c.shape=[3]"]), 2);
    assert_eq!(code(&["run", "p.toml", "--set", "a.shape"]), 2);
    assert_eq!(code(&["--version"]), 0);
    assert_eq!(code(&["functions"]), 0);
    assert_eq!(scratch.names(), ["m.toml", "p.toml"]);
}

#[test]
fn an_output_never_replaces_an_input() {
    let raster = include_bytes!("../../examples/expected/hillshade.npy");
    let pipeline = "[inputs.a]\npath = \"a.npy\"\n\n[[layer]]\nname = \"x\"\nexpr = 'a + 1'\n\n[outputs]\nx = \"a.npy\"\n";
    let scratch = Scratch::new().with("a.npy", raster).with("p.toml", pipeline);
    let ran = scratch.outcrop(&["run", "p.toml", "--cpu-only"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("'a.npy' is the file that the input 'a' reads"), "{}", ran.stderr);
    assert!(ran.stderr.contains("p.toml:9:5"), "{}", ran.stderr);
    assert_eq!(std::fs::read(scratch.path().join("a.npy")).unwrap(), raster);
}
