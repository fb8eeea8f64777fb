//! Gives the library the name under which programs ask for the driver: once it is loaded from any path,
//! `dlopen("libcuda.so.1")` finds it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    }
}
