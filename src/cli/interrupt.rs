//! Ctrl-C: the first stops the run, the second ends the process. A file that grows beyond its limit ends neither.

use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use crate::exec::Control;
use crate::pipeline::staged;

/// From now on Ctrl-C (and SIGTERM) cancels the run. Without a way to listen, Ctrl-C keeps its usual meaning.
pub(super) fn listen(control: &Arc<Control>) {
    let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return };
    let Ok(mut signals) = Signals::register(&runtime) else { return };
    let control = control.clone();
    std::thread::spawn(move || {
        runtime.block_on(async {
            signals.next().await;
            eprintln!("stopping; Ctrl-C again ends at once");
            control.cancel();
            signals.next().await;
            staged::remove_all();
            std::process::exit(130);
        });
    });
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn register(runtime: &Runtime) -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let _inside = runtime.enter();
        // Once somebody listens, a write beyond the limit of a file's size is an error like that of a full disk, whose
        // message says which file; by default it ends the process, and leaves its temporary files behind.
        drop(signal(SignalKind::from_raw(FILE_SIZE_SIGNAL))?);
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// `SIGXFSZ`.
#[cfg(unix)]
const FILE_SIZE_SIGNAL: i32 = if cfg!(any(target_arch = "mips", target_arch = "mips64")) { 31 } else { 25 };

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn register(_runtime: &Runtime) -> std::io::Result<Self> {
        Ok(Signals)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
