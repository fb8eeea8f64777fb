//! Gives the library the name that programs ask for: once it is loaded from any path, `dlopen("libnvidia-ml.so.1")` finds
//! it, also where a real driver is installed.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libnvidia-ml.so.1");
    }
}
