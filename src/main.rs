//! The `outcrop` command; see [`outcrop::cli`].

fn main() -> std::process::ExitCode {
    // Mesa's device-selection layer, which only orders adapters, complains on stderr where there is no
    // desktop. Outcrop orders devices itself.
    // SAFETY: no other thread runs yet that could read the environment.
    unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    outcrop::cli::main()
}
