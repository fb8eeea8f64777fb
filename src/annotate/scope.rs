//! The scope: which annotations hold for the operation that is being built.
//!
//! There is no guard to hold: one that lives across an await would leak to whatever the thread runs meanwhile.

use std::cell::RefCell;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Annotations;

thread_local! {
    /// Each entry is already merged with those below it.
    static SCOPES: RefCell<Vec<Annotations>> = const { RefCell::new(Vec::new()) };
}

/// Runs `body`, in which every operation carries `annotations` too. The scope ends with the call, also by a
/// panic, and holds on this thread only.
pub fn annotate<T>(annotations: Annotations, body: impl FnOnce() -> T) -> T {
    let _scope = Entered::new(current().inner(&annotations));
    body()
}

/// The annotations of the innermost scope of this thread, merged with those around it.
///
/// Only an operation that makes a layer asks; a rewrite of the graph never does.
pub fn current() -> Annotations {
    SCOPES.with_borrow(|scopes| scopes.last().cloned()).unwrap_or_default()
}

/// Annotates everything that a future builds.
pub trait Annotated: Future + Sized {
    /// The future under the annotations of the scope it stands in *here*, with `annotations` inside. It doesn't
    /// matter in which scope or on which thread it is polled, and between polls nothing is in force.
    fn annotated(self, annotations: Annotations) -> AnnotatedFuture<Self>;
}

impl<F: Future> Annotated for F {
    fn annotated(self, annotations: Annotations) -> AnnotatedFuture<F> {
        AnnotatedFuture { future: Box::pin(self), annotations: current().inner(&annotations) }
    }
}

/// A future with its scope; made by [`Annotated::annotated`].
#[derive(Debug)]
pub struct AnnotatedFuture<F> {
    future: Pin<Box<F>>,
    annotations: Annotations,
}

impl<F: Future> Future for AnnotatedFuture<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _scope = Entered::new(self.annotations.clone());
        self.future.as_mut().poll(context)
    }
}

/// Never leaves this module, so it can't outlive its stack frame.
struct Entered;

impl Entered {
    fn new(merged: Annotations) -> Entered {
        SCOPES.with_borrow_mut(|scopes| scopes.push(merged));
        Entered
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        SCOPES.with_borrow_mut(|scopes| scopes.pop());
    }
}
