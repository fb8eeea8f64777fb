//! Runs that work.

use crate::{Scratch, npy};

const PIPELINE: &str = "
[inputs.a]
arange = true
shape = [2, 3]
dtype = \"f64\"

[[layer]]
name = \"x\"
expr = \"2 * a + 1\"

[outputs]
x = [\"x.npy\", { path = \"x.png\", scale = \"auto\" }]
";

#[test]
fn a_run_says_where_things_ran_and_writes() {
    let scratch = Scratch::new().with("p.toml", PIPELINE);
    let ran = scratch.outcrop(&["run", "p.toml", "--cpu-only", "--out", "new/folder"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for text in
        ["plan: ", "transfers: none", "memory host: peak", "time: planned in", "wrote new/folder/x.npy"]
    {
        assert!(ran.stdout.contains(text), "{text} in {}", ran.stdout);
    }
    assert_eq!(scratch.values("new/folder/x.npy"), (vec![2, 3], vec![1., 3., 5., 7., 9., 11.]));
    assert!(scratch.path().join("new/folder/x.png").exists());
    let quiet = scratch.outcrop(&["run", "p.toml", "--cpu-only", "--quiet"]);
    assert_eq!((quiet.code, quiet.stdout.as_str()), (0, ""));
    assert_eq!(scratch.names(), ["new", "p.toml", "x.npy", "x.png"]);
}

#[test]
fn json_has_the_documented_shape() {
    let scratch = Scratch::new().with("p.toml", PIPELINE);
    let ran = scratch.outcrop(&["run", "p.toml", "--cpu-only", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    for key in
        ["name", "op", "device", "backend", "class", "reason", "fallback", "tasks", "attempts", "annotations"]
    {
        assert!(report["layers"][0].get(key).is_some(), "layers[].{key}");
    }
    assert_eq!(report["transfers"]["count"], 0);
    assert!(report["transfers"]["bytes"].is_u64() && report["transfers"]["edges"].is_array());
    assert!(report["peak_bytes"]["host"].is_u64());
    assert!(report["plan_s"].is_f64() && report["run_s"].is_f64());
    assert_eq!(report["outputs"], serde_json::json!(["x.npy", "x.png"]));
}

#[test]
fn json_of_a_bad_pipeline_names_every_problem() {
    let scratch = Scratch::new().with("p.toml", PIPELINE.replace("2 * a", "2 * aa"));
    let ran = scratch.outcrop(&["run", "p.toml", "--json"]);
    assert_eq!(ran.code, 2);
    let object: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let problem = &object["error"]["problems"][0];
    assert_eq!(object["error"]["class"], "user");
    assert_eq!((&problem["file"], &problem["line"]), (&"p.toml".into(), &9.into()));
    assert_eq!((&problem["column"], &problem["help"]), (&13.into(), &"did you mean 'a'?".into()));
    assert!(ran.stderr.contains("p.toml:9:13"), "{}", ran.stderr);
}

#[test]
fn inputs_change_on_the_command_line() {
    let scratch = Scratch::new().with("p.toml", PIPELINE);
    let arguments = ["run", "p.toml", "--cpu-only", "--quiet", "--set", "a.full=3", "--set", "a.shape=[2,2]"];
    assert_eq!(scratch.outcrop(&arguments).code, 0);
    assert_eq!(scratch.values("x.npy"), (vec![2, 2], vec![7.; 4]));
}

#[test]
fn every_order_of_bytes_and_axes_loads() {
    let pipeline = "[inputs.a]\npath = \"a.npy\"\nchunks = [1, 2]\n[[layer]]\nname = \"x\"\nexpr = \"f64(a) * 10\"\n[outputs]\nx = \"x.npy\"\n";
    let little = |values: [i32; 6]| values.map(i32::to_le_bytes).concat();
    let big = |values: [i32; 6]| values.map(i32::to_be_bytes).concat();
    let (c, fortran) = ([0, 1, 2, 3, 4, 5], [0, 3, 1, 4, 2, 5]);
    let cases = [
        npy("'<i4'", false, "(2, 3)", &little(c)),
        npy("'<i4'", true, "(2, 3)", &little(fortran)),
        npy("'>i4'", false, "(2, 3)", &big(c)),
        npy("'>i4'", true, "(2, 3)", &big(fortran)),
    ];
    for bytes in cases {
        let scratch = Scratch::new().with("p.toml", pipeline).with("a.npy", bytes);
        let ran = scratch.outcrop(&["run", "p.toml", "--cpu-only", "--quiet"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(scratch.values("x.npy"), (vec![2, 3], vec![0., 10., 20., 30., 40., 50.]));
    }
}

#[test]
fn the_reference_is_the_table_of_functions() {
    let printed = Scratch::new().outcrop(&["functions"]).stdout;
    let kept = include_str!("../../docs/functions.md");
    assert!(printed == kept, "docs/functions.md is out of date: outcrop functions > docs/functions.md");
}

#[test]
fn the_help_names_every_option() {
    let help = |command: &str| {
        let ran = Scratch::new().outcrop(&[command, "--help"]);
        assert_eq!(ran.code, 0);
        ran.stdout
    };
    insta::assert_snapshot!("help", ["run", "plan"].map(help).join("\n"));
}
