//! The plans of the examples on the committed machines, and requirements that no machine meets.

use std::path::Path;

use crate::{Scratch, command, ran};

fn plan(example: &str, machine: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (example, machine) =
        (format!("examples/{example}.toml"), format!("examples/machines/{machine}.toml"));
    let ran = ran(&mut command(root, &["plan", &example, "--machine", &machine]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.stdout
}

#[test]
fn hillshade() {
    for machine in ["cpu-only", "one-gpu", "two-unequal-gpus"] {
        insta::assert_snapshot!(format!("hillshade_{machine}"), plan("hillshade", machine));
    }
}

#[test]
fn brain() {
    for machine in ["cpu-only", "one-gpu", "two-unequal-gpus"] {
        insta::assert_snapshot!(format!("brain_{machine}"), plan("brain", machine));
    }
}

const IMPOSSIBLE: &str = "
[inputs.a]
ones = true
shape = [30, 20]
dtype = \"f32\"

[[layer]]
name = \"x\"
expr = \"a + 1\"
annotate = { device = \"gpu\" }

[[layer]]
name = \"y\"
expr = \"x * 2\"
annotate = { memory = \"900 TiB\" }

[outputs]
y = \"y.npy\"
";

#[test]
fn all_requirements_that_cannot_be_met_are_told_at_once() {
    let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/machines/cpu-only.toml");
    let scratch = Scratch::new().with("p.toml", IMPOSSIBLE);
    let ran = scratch.outcrop(&["plan", "p.toml", "--machine", &machine.to_string_lossy()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
    insta::assert_snapshot!("unsatisfiable", ran.stderr);
    let ran = scratch.outcrop(&["plan", "p.toml", "--json", "--machine", &machine.to_string_lossy()]);
    let object: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(ran.code, 3);
    assert_eq!(object["error"]["class"], "unsatisfiable");
    assert_eq!(object["error"]["unsatisfied"][0]["layer"], "x");
    assert_eq!(object["error"]["unsatisfied"].as_array().unwrap().len(), 2);
    assert_eq!(scratch.names(), ["p.toml"]);
}

#[test]
fn a_plan_writes_nothing() {
    let scratch = Scratch::new().with("p.toml", IMPOSSIBLE.replace("900 TiB", "1 KiB"));
    let ran = scratch.outcrop(&["plan", "p.toml", "--cpu-only", "--out", "elsewhere"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("--cpu-only waives device=gpu"), "{}", ran.stdout);
    assert_eq!(scratch.names(), ["p.toml"]);
}

/// The text without the tokens in layers' names: those of files depend on where and when they were written.
fn without_tokens(text: &str) -> String {
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let is_token = |word: &str| word.len() == 16 && word.chars().all(|c| c.is_ascii_hexdigit());
    let shown = |word: &str| {
        let own = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        if is_token(own) { word.replace(own, "#") } else { word.to_owned() }
    };
    words.map(shown).collect()
}

#[test]
fn hillshade_as_a_picture() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scratch = Scratch::new();
    for name in ["graph.svg", "graph.dot"] {
        let path = scratch.path().join(name);
        let draw = ["--machine", "examples/machines/one-gpu.toml", "--draw", &path.to_string_lossy()];
        let ran = ran(command(root, &["plan", "examples/hillshade.toml"]).args(draw));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stdout.ends_with(&format!("drew {}\n", path.display())), "{}", ran.stdout);
        let text = without_tokens(&std::fs::read_to_string(path).unwrap());
        insta::assert_snapshot!(format!("hillshade_{}", name.replace('.', "_")), text);
    }
    assert_eq!(scratch.names(), ["graph.dot", "graph.svg"]);
}

#[test]
fn a_picture_of_another_kind_or_place_is_refused() {
    let scratch = Scratch::new().with("p.toml", IMPOSSIBLE.replace("900 TiB", "1 KiB"));
    for (name, said) in [
        ("graph.png", "the name must end in .svg or, for Graphviz, in .dot"),
        ("graph", "the name must end in .svg or, for Graphviz, in .dot"),
        ("nowhere/graph.svg", "cannot write nowhere/graph.svg: there is no folder nowhere"),
    ] {
        let ran = scratch.outcrop(&["plan", "p.toml", "--cpu-only", "--draw", name]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{name}");
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    let ran = scratch.outcrop(&["plan", "p.toml", "--cpu-only", "--json", "--draw", "p.SVG"]);
    assert!(serde_json::from_str::<serde_json::Value>(&ran.stdout).is_ok(), "{}", ran.stdout);
    assert_eq!(scratch.names(), ["p.SVG", "p.toml"]);
}

/// The default below what the layer says, and the command line above it; the report shows both.
#[test]
fn defaults_and_overrides_are_shown() {
    let machine = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/machines/one-gpu.toml");
    let pipeline = IMPOSSIBLE
        .replace("device = \"gpu\"", "retries = 1")
        .replace("memory = \"900 TiB\"", "team = \"lab\"")
        + "[settings]\nannotations = { retries = 2, team = \"geo\" }\n";
    let scratch = Scratch::new().with("p.toml", pipeline);
    let flags =
        ["--annotate", "y:device=gpu", "--annotate", "[xy]:note=by hand", "--annotate", "x:retries=0"];
    let arguments = [&["plan", "p.toml", "--machine", machine], &flags[..]].concat();
    let ran = scratch.outcrop(&arguments);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    insta::assert_snapshot!("defaults_and_overrides", ran.stdout);
    let ran = scratch.outcrop(&[&arguments[..], &["--json"]].concat());
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let sources = report["layers"].as_array().unwrap().iter().flat_map(|l| l["sources"].as_array().unwrap());
    let y = sources.into_iter().find(|source| source["name"] == "y").unwrap();
    let (governs, given) = (&y["annotations"], &y["given"]);
    assert_eq!(governs["team"], "lab");
    assert_eq!((&governs["device"], &governs["note"]), (&"gpu".into(), &"by hand".into()));
    assert_eq!((&governs["retries"], given), (&2.into(), &serde_json::json!({ "team": "lab" })));
}

const CENTRED: &str = "
[inputs.a]
ones = true
shape = [400, 100]
chunks = [100, 100]
dtype = \"f32\"

[[layer]]
name = \"x\"
expr = \"sqrt(a + 1)\"

[[layer]]
name = \"y\"
expr = \"x - mean(x)\"

[outputs]
y = \"y.npy\"

[settings]
memory = \"100 KiB\"
spill_limit = \"1 GiB\"
";

#[test]
fn a_plan_above_its_budget_shows_what_goes_to_disk_or_is_refused() {
    let scratch = Scratch::new().with("p.toml", CENTRED);
    let ran = scratch.outcrop(&["plan", "p.toml", "--threads", "1", "--spill-dir", "spilled"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for line in ["host → disk: ", "disk → host: ", "memory disk: peak ", " of 1.0 GiB"] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
    let ran = scratch.outcrop(&["plan", "p.toml", "--no-spill"]);
    assert_eq!(ran.code, 3, "{}", ran.stdout);
    assert!(
        ran.stderr.contains("the budget is 100.0 KiB") && ran.stderr.contains("spilled"),
        "{}",
        ran.stderr
    );
    let ran = scratch.outcrop(&["plan", "p.toml", "--memory", "40KiB"]);
    assert_eq!(ran.code, 3, "{}", ran.stdout);
    assert!(ran.stderr.contains("smaller chunks"), "{}", ran.stderr);
}
