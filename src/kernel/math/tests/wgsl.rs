//! The functions in WGSL parse and validate.
