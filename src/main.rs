//! The `outcrop` command; see [`outcrop::cli`].

fn main() -> std::process::ExitCode {
    outcrop::cli::main()
}
