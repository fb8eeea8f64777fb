//! What the real NVRTC makes of the kernels beside the committed PTX: for every architecture it must be known here.

#![cfg(unix)]

mod card;
mod compiler;

use std::path::Path;

use card::{Card, start};

const KERNELS: [&str; 7] = ["arrays", "elementwise", "faulty", "functions", "half", "random", "reduce"];

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptx").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A text without the comments, which name the compiler's build.
fn code(text: &str) -> Vec<&str> {
    text.lines()
        .map(|line| line.split("//").next().unwrap_or("").trim())
        .filter(|line| !line.is_empty())
        .collect()
}

#[test]
fn every_kernel_for_every_architecture_is_known() {
    if !compiler::is_there() {
        return;
    }
    start(&[("OUTCROP_CUDA_DEVICES", "memory=16MiB,capability=12.1")]);
    let card = Card::open(0);
    let plain: &[&str] = &["--fmad=false"];
    let forms = [
        ("75", plain),
        ("80", plain),
        ("90", plain),
        ("120", plain),
        ("80", &[]),
        ("80", &["--use_fast_math"]),
        ("90", &["-lineinfo"]),
        ("75", &["--ftz=true", "--prec-div=false"]),
    ];
    for name in KERNELS {
        let source = text(&format!("{name}.cu"));
        for (arch, options) in forms {
            let arch = format!("--gpu-architecture=compute_{arch}");
            let ptx = compiler::ptx(&source, &[&[arch.as_str()], options].concat()).expect("PTX");
            assert!(card.load(&ptx).is_ok(), "{name} {arch} {options:?}");
        }
    }
}

#[test]
fn the_committed_texts_are_the_compilers() {
    if !compiler::is_there() {
        return;
    }
    for name in KERNELS {
        let source = text(&format!("{name}.cu"));
        let made = compiler::ptx(&source, &["--gpu-architecture=compute_75", "--fmad=false"]).expect("PTX");
        let committed = text(&format!("{name}.ptx"));
        assert!(code(&made) == code(&committed), "{name}.ptx isn't what NVRTC makes of {name}.cu");
    }
}

#[test]
fn what_does_not_compile_says_where() {
    if !compiler::is_there() {
        return;
    }
    let log =
        compiler::ptx("extern \"C\" __global__ void f(int *x) {\n    x[0] = y;\n}", &[]).expect_err("a log");
    assert!(log.contains("(2)") && log.contains("\"y\""), "{log}");
}
