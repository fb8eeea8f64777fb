//! Every message that a bad pipeline file can give before anything is computed.

use outcrop::pipeline::check::check;
use outcrop::pipeline::diagnostic::{SourceText, render};
use outcrop::pipeline::schema::read;

/// What the user sees for a file of this text.
fn complaint(text: &str) -> String {
    let source = SourceText::new("p.toml", text);
    match check(&read(&source)) {
        Ok(_) => "no complaint".to_owned(),
        Err(problems) => render(&source, &problems, false),
    }
}

/// The same with a layer `x` made of `expr`, inputs `dem` and `gx`, and an output.
fn layer_complaint(expr: &str) -> String {
    complaint(&format!(
        "inputs = {{ dem.path = 'dem.npy', gx.path = 'gx.npy' }}\noutputs = {{ x = 'x.npy' }}\n[[layer]]\nname = \
         'x'\nexpr = {expr}\n"
    ))
}

/// Every case in short: what was written, the message, the text at fault, label and help.
fn brief(cases: &[&str], file: fn(&str) -> String) -> String {
    let mut report = String::new();
    for case in cases {
        let text = file(case);
        report += &format!("{}\n", case.replace('\n', "; "));
        for problem in check(&read(&SourceText::new("p.toml", &*text))).err().unwrap_or_default() {
            let at = problem.span.map(|span| format!(" [{}]", &text[span])).unwrap_or_default();
            report += &format!("    {}{at}\n", problem.message);
            for advice in [problem.label, problem.help].into_iter().flatten() {
                report += &format!("        {advice}\n");
            }
        }
    }
    report
}

/// A file with the given lines in the table of input `a`.
fn input_file(lines: &str) -> String {
    format!("[inputs.a]\n{lines}\n[[layer]]\nname = 'x'\nexpr = 'a'\n[outputs]\nx = 'x.npy'\n")
}

/// A file with the given lines under `[outputs]`.
fn output_file(lines: &str) -> String {
    format!(
        "inputs.a.path = 'a.npy'\nlayer = [{{ name = 'x', expr = 'a' }}, {{ name = 'y', expr = 'a' }}]\n\
         [outputs]\n{lines}\n"
    )
}

#[test]
fn expressions() {
    insta::assert_snapshot!(layer_complaint("'sqrt(gxx**2 + gy**2)'"), @r#"
    error: layer 'x' uses 'gxx', which is no input and no layer
     --> p.toml:5:14
      |
    5 | expr = 'sqrt(gxx**2 + gy**2)'
      |              ^^^ did you mean 'gx'?

    error: layer 'x' uses 'gy', which is no input and no layer
     --> p.toml:5:23
      |
    5 | expr = 'sqrt(gxx**2 + gy**2)'
      |                       ^^ did you mean 'gx'?
    "#);
    insta::assert_snapshot!(layer_complaint("'dem + elevation'"), @r#"
    error: layer 'x' uses 'elevation', which is no input and no layer
     --> p.toml:5:15
      |
    5 | expr = 'dem + elevation'
      |               ^^^^^^^^^
      |
      = help: known here: dem, gx
    "#);
    insta::assert_snapshot!(layer_complaint("'sqrt(dem'"), @r#"
    error: layer 'x': this '(' is never closed
     --> p.toml:5:13
      |
    5 | expr = 'sqrt(dem'
      |             ^
    "#);
    insta::assert_snapshot!(layer_complaint("'0 < dem < 5'"), @r#"
    error: layer 'x': comparisons can't be chained
     --> p.toml:5:9
      |
    5 | expr = '0 < dem < 5'
      |         ^^^^^^^^^
      |
      = help: compare two at a time: (a < b) & (b < c). '&' and '|' bind tighter than comparisons, so each comparison needs parentheses
    "#);
    insta::assert_snapshot!(layer_complaint("'dem > 0 and gx > 0'"), @r#"
    error: layer 'x': 'and' can't combine arrays
     --> p.toml:5:17
      |
    5 | expr = 'dem > 0 and gx > 0'
      |                 ^^^
      |
      = help: write '&', with each comparison in parentheses: (a > 0) & (b > 0)
    "#);
    insta::assert_snapshot!(layer_complaint("''"), @r#"
    error: layer 'x': the expression is empty
     --> p.toml:5:9
      |
    5 | expr = ''
      |         ^
    "#);
    insta::assert_snapshot!(layer_complaint("42"), @r#"
    error: 'expr' must be a string, found an integer
     --> p.toml:5:8
      |
    5 | expr = 42
      |        ^^
    "#);
}

#[test]
fn expressions_of_several_lines_or_with_escapes() {
    insta::assert_snapshot!(layer_complaint("'''\nsqrt(\n  dem +\n  gxx)'''"), @r#"
    error: layer 'x' uses 'gxx', which is no input and no layer
     --> p.toml:8:3
      |
    8 |   gxx)'''
      |   ^^^ did you mean 'gx'?
    "#);
    insta::assert_snapshot!(layer_complaint("\"where(dem > 0, \\\"a\\\", gxx)\""), @r#"
    error: layer 'x' uses 'gxx', which is no input and no layer
     --> p.toml:5:31
      |
    5 | expr = "where(dem > 0, \"a\", gxx)"
      |                               ^^^ did you mean 'gx'?
    "#);
}

#[test]
fn cycles() {
    insta::assert_snapshot!(layer_complaint("'x + 1'"), @r#"
    error: layer 'x' needs itself: x → x
     --> p.toml:5:9
      |
    5 | expr = 'x + 1'
      |         ^
      |
      = help: give the new value a name of its own
    "#);
    let cycle = "layer = [\n{ name = 'd', expr = 'b' },\n{ name = 'a', expr = '1 + b' },\n{ name = 'b', expr = 'c' \
                 },\n{ name = 'c', expr = 'sin(a)' },\n]\noutputs.d = 'd.npy'\n";
    insta::assert_snapshot!(complaint(cycle), @r#"
    error: these layers need each other: a → b → c → a
     --> p.toml:3:27
      |
    3 | { name = 'a', expr = '1 + b' },
      |                           ^
    "#);
}

#[test]
fn layers_and_names() {
    insta::assert_snapshot!(complaint("[[layer]]\nnmae = 'x'\nexpr = '1'\n"), @r#"
    error: this layer has no 'name'
     --> p.toml:1:1
      |
    1 | [[layer]]
      | ^^^^^^^^^
      |
      = help: expressions and [outputs] need a name to refer to

    error: unknown key 'nmae' of a layer
     --> p.toml:2:1
      |
    2 | nmae = 'x'
      | ^^^^ did you mean 'name'?
    "#);
    insta::assert_snapshot!(complaint("[[layer]]\nname = 'x'\n[outputs]\nx = 'x.npy'\n"), @r#"
    error: this layer has no 'expr'
     --> p.toml:1:1
      |
    1 | [[layer]]
      | ^^^^^^^^^
      |
      = help: write expr = "…", as in expr = "sqrt(gx**2 + gy**2)"
    "#);
    insta::assert_snapshot!(complaint("[layer]\nname = 'x'\nexpr = '1'\n"), @r#"
    error: 'layer' must be a list of tables, found a table
     --> p.toml:1:1
      |
    1 | [layer]
      | ^^^^^^^
      |
      = help: write [[layer]], once for every layer
    "#);
    insta::assert_snapshot!(complaint("[[layers]]\nname = 'x'\nexpr = '1'\n"), @r#"
    error: unknown table 'layers'
     --> p.toml:1:3
      |
    1 | [[layers]]
      |   ^^^^^^ did you mean 'layer'?
    "#);
}

#[test]
fn names() {
    let names = "inputs.a.path = 'a.npy'\nlayer = [\n{ name = 'a', expr = '1' },\n{ name = 'x-1', expr = '2' },\n\
                 { name = 'pi', expr = '3' },\n{ name = 'y', expr = '4' },\n{ name = 'y', expr = '5' },\n]\n\
                 outputs.y = 'y.npy'\n";
    insta::assert_snapshot!(complaint(names), @r#"
    error: the name 'a' is used twice
     --> p.toml:3:10
      |
    3 | { name = 'a', expr = '1' },
      |          ^^^ already the name of an input

    error: 'x-1' can't be the name of a layer
     --> p.toml:4:10
      |
    4 | { name = 'x-1', expr = '2' },
      |          ^^^^^
      |
      = help: names are letters, digits and '_', and don't start with a digit: 'x_1'

    error: 'pi' can't be the name of a layer
     --> p.toml:5:10
      |
    5 | { name = 'pi', expr = '3' },
      |          ^^^^ this word has a meaning in every expression

    error: the name 'y' is used twice
     --> p.toml:7:10
      |
    7 | { name = 'y', expr = '5' },
      |          ^^^ already the name of a layer
    "#);
}

#[test]
fn input_sources() {
    let cases = [
        "pth = 'a.npy'",
        "",
        "path = 'a.npy'\nzeros = true",
        "path = 'a.tif'",
        "path = 'a.npy'\nshape = [3]",
        "random = 'gaussian'\nshape = [3]",
        "random = 'normal'",
        "random = 'normal'\nshape = [3]\ndtype = 'i32'",
        "full = 300\nshape = [3]\ndtype = 'u8'",
    ];
    insta::assert_snapshot!(brief(&cases, input_file), @r#"
    pth = 'a.npy'
        unknown key 'pth' of input 'a' [pth]
            did you mean 'path'?

        input 'a' has no source [a]
            give it a path = "….npy", or random, zeros, ones, full or arange with a shape
    path = 'a.npy'; zeros = true
        input 'a' has two sources: path and zeros [true]
            keep one of them
    path = 'a.tif'
        input format of 'a.tif' isn't known ['a.tif']
            inputs are .npy files; write one with numpy.save
    path = 'a.npy'; shape = [3]
        'shape' doesn't go with 'path': the file says what it holds [[3]]
    random = 'gaussian'; shape = [3]
        unknown value 'gaussian' of 'random' ['gaussian']
            known here: normal, uniform
    random = 'normal'
        input 'a' has no 'shape' [a]
            write shape = [1000, 1000]
    random = 'normal'; shape = [3]; dtype = 'i32'
        input 'a': random numbers are f32 or f64, not i32 ['i32']
    full = 300; shape = [3]; dtype = 'u8'
        input 'a': the value 300 doesn't fit u8 ['u8']
    "#);
}

#[test]
fn input_values() {
    let cases = [
        "full = 1.5\nshape = [3]\ndtype = 'u8'",
        "zeros = false\nshape = [3]",
        "ones = true\nshape = [3, -1]",
        "ones = true\nshape = [4000000000, 4000000000]",
        "ones = true\nshape = [3]\nseed = 1",
        "path = 'a.npy'\ndtype = 'float128'",
        "path = 'a.npy'\nchunks = [512, 0]",
        "path = 'a.npy'\nchunks = 'big'",
        "ones = true\nshape = [3]\nchunks = [1, 1]",
    ];
    insta::assert_snapshot!(brief(&cases, input_file), @r#"
    full = 1.5; shape = [3]; dtype = 'u8'
        input 'a': the value 1.5 is a float, u8 is not: 1.5 would be cut ['u8']
    zeros = false; shape = [3]
        'zeros = false' makes no values [false]
            write zeros = true, or another source
    ones = true; shape = [3, -1]
        'shape' must be an integer of at least 0, found -1 [-1]
    ones = true; shape = [4000000000, 4000000000]
        an array of shape (4000000000, 4000000000) and type f64 is too large for any machine [[4000000000, 4000000000]]
    ones = true; shape = [3]; seed = 1
        'seed' doesn't go with 'ones' [1]
    path = 'a.npy'; dtype = 'float128'
        unknown element type 'float128'; known are bool, u8, i16, i32, u32, i64, f16, f32, f64 (or NumPy's names) ['float128']
    path = 'a.npy'; chunks = [512, 0]
        'chunks' must be an integer of at least 1, found 0 [0]
    path = 'a.npy'; chunks = 'big'
        'chunks' must be "auto", an extent, or a list of these, found a string ['big']
            -1 keeps an axis whole: chunks = [512, -1]
    ones = true; shape = [3]; chunks = [1, 1]
        2 chunk extents for 1 axes, shape (3,) [[1, 1]]
    "#);
}

#[test]
fn outputs() {
    let cases = [
        "z = 'z.npy'",
        "a = 'z.npy'",
        "x = 'o.npy'\ny = './o.npy'",
        "x = 'o.pgn'",
        "x = 'o/'",
        "x = { path = 'o.npy', scale = 'auto' }",
        "x = { path = 'o.png', scale = [1, 0], colormap = 'virdis' }",
        "x = { pth = 'o.png' }",
        "x = 3",
        "",
    ];
    insta::assert_snapshot!(brief(&cases, output_file), @r#"
    z = 'z.npy'
        output 'z' names no layer [z]
            known here: x, y
    a = 'z.npy'
        'a' is an input, outputs are layers [a]
            add a layer with expr = "a"
    x = 'o.npy'; y = './o.npy'
        two outputs are written to 'o.npy' ['./o.npy']
            already the file of 'x'
    x = 'o.pgn'
        the format of output 'o.pgn' isn't known ['o.pgn']
            did you mean '.png'?
            outputs are .npy or .png files
    x = 'o/'
        the output path 'o/' names no file ['o/']
    x = { path = 'o.npy', scale = 'auto' }
        'scale' is of pictures, not of .npy files ['auto']
            scale the values in a layer, or write a .png
    x = { path = 'o.png', scale = [1, 0], colormap = 'virdis' }
        'scale' needs two finite numbers, the lower one first [[1, 0]]
        unknown value 'virdis' of 'colormap' ['virdis']
            did you mean 'viridis'?
    x = { pth = 'o.png' }
        unknown key 'pth' of an output [pth]
            did you mean 'path'?
        this output has no 'path' [{ pth = 'o.png' }]
    x = 3
        'x' must be a path, a table with a path, or a list of these, found an integer [3]

        the pipeline has no outputs
            add a table [outputs] with an entry such as slope = "slope.npy"
    "#);
}

#[test]
fn settings() {
    insta::assert_snapshot!(complaint(&output_file("x = 'x.npy'\n[settings]\nthread = 2\nmemory = '2 gigs'")), @r#"
    error: unknown setting 'thread'
     --> p.toml:6:1
      |
    6 | thread = 2
      | ^^^^^^ did you mean 'threads'?

    error: '2 gigs' is no size: write a number and a unit, such as "512 MiB", "2 GiB" or "1.5 GB"
     --> p.toml:7:10
      |
    7 | memory = '2 gigs'
      |          ^^^^^^^^
    "#);
    insta::assert_snapshot!(complaint(&output_file("x = 'x.npy'\n[settings]\nthreads = 0\ncpu_only = 'yes'")), @r#"
    error: 'threads' must be an integer of at least 1, found 0
     --> p.toml:6:11
      |
    6 | threads = 0
      |           ^

    error: 'cpu_only' must be true or false, found a string
     --> p.toml:7:12
      |
    7 | cpu_only = 'yes'
      |            ^^^^^
    "#);
}

#[test]
fn text_that_is_not_toml() {
    insta::assert_snapshot!(complaint("[inputs.a\npath = 'a.npy'\n"), @r#"
    error: unclosed table, expected `]`
     --> p.toml:1:10
      |
    1 | [inputs.a
      |          ^
    "#);
    insta::assert_snapshot!(complaint("[inputs.a]\npath = 'a.npy'\npath = 'b.npy'\n"), @r#"
    error: duplicate key
     --> p.toml:3:1
      |
    3 | path = 'b.npy'
      | ^^^^
    "#);
    insta::assert_snapshot!(complaint("[[layer]]\nname = 'x'\nexpr = sqrt(a)\n"), @r#"
    error: string values must be quoted, expected literal string
     --> p.toml:3:8
      |
    3 | expr = sqrt(a)
      |        ^^^^^^^
    "#);
}

/// Independent faults are all reported in one go.
#[test]
fn many_problems_at_once() {
    let text = "[inputs.dem]\npath = 'dem.npy'\nchunk = 5\n\n[[layer]]\nname = 'slope'\nexpr = 'sqrt(deem'\n\n\
                [[layer]]\nname = 'shade'\nexpr = 'slope * demm'\n\n[outputs]\nshade = 'shade.gif'\nslop = \
                'slope.npy'\n";
    insta::assert_snapshot!(complaint(text), @r#"
    error: unknown key 'chunk' of input 'dem'
     --> p.toml:3:1
      |
    3 | chunk = 5
      | ^^^^^ did you mean 'chunks'?

    error: layer 'slope': this '(' is never closed
     --> p.toml:7:13
      |
    7 | expr = 'sqrt(deem'
      |             ^

    error: layer 'shade' uses 'demm', which is no input and no layer
      --> p.toml:11:17
       |
    11 | expr = 'slope * demm'
       |                 ^^^^ did you mean 'dem'?

    error: the format of output 'shade.gif' isn't known
      --> p.toml:14:9
       |
    14 | shade = 'shade.gif'
       |         ^^^^^^^^^^^
       |
       = help: outputs are .npy or .png files

    error: output 'slop' names no layer
      --> p.toml:15:1
       |
    15 | slop = 'slope.npy'
       | ^^^^ did you mean 'slope'?
    "#);
}
