//! Gives the library the name that programs ask for first: once it is loaded from any path, `dlopen("libcuda.so")`
//! finds it, also where a real driver is installed.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so");
    }
}
