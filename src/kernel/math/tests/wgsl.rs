//! The functions in WGSL parse and validate.

use wgpu::naga;

const MATH: &str = concat!(
    include_str!("../../../../kernels/wgsl/product.wgsl"),
    include_str!("../../../../kernels/wgsl/math.wgsl"),
);

#[test]
fn the_wgsl_functions_are_valid_and_complete() {
    let module = match naga::front::wgsl::parse_str(MATH) {
        Ok(module) => module,
        Err(error) => panic!("{}", error.emit_to_string(MATH)),
    };
    let flags = naga::valid::ValidationFlags::all();
    naga::valid::Validator::new(flags, naga::valid::Capabilities::empty())
        .validate(&module)
        .expect("math.wgsl validates");
    for name in "exp log sin cos tan tanh atan atan2 pow hypot asin acos".split(' ') {
        let name = format!("oc_{name}");
        let is_there = module.functions.iter().any(|(_, f)| f.name.as_deref() == Some(name.as_str()));
        assert!(is_there, "{name} is missing");
    }
}
