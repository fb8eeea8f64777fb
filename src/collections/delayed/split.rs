//! Several values out of one: Dask's `nout`.

use std::any::Any;

use crate::collections::delayed::Delayed;

impl<T: Any + Send + Sync + Clone> Delayed<Vec<T>> {
    /// The elements of a vector that will have `nout` of them, each a value of its own. A vector of another length is
    /// an error when it is there.
    #[track_caller]
    pub fn split(&self, nout: usize) -> Vec<Delayed<T>> {
        let element = |at: usize| {
            Delayed::try_call("element", (self,), move |all: &Vec<T>| match all.get(at) {
                Some(element) if all.len() == nout => Ok(element.clone()),
                _ => Err(format!("there are {} values, and split was told nout = {nout}", all.len())),
            })
        };
        let mut elements = Vec::with_capacity(nout);
        for at in 0..nout {
            elements.push(element(at));
        }
        elements
    }
}

/// Values whose parts can be had one by one: tuples.
pub trait Unzip {
    /// The tuple.
    type Whole;

    /// One delayed value for each part.
    type Parts;

    /// The parts, each a value of its own.
    fn unzip(&self) -> Self::Parts;
}

macro_rules! unzip {
    ($(($($name:ident $at:tt),*))*) => {$(
        impl<$($name: Any + Send + Sync + Clone),*> Unzip for Delayed<($($name,)*)> {
            type Whole = ($($name,)*);
            type Parts = ($(Delayed<$name>,)*);

            fn unzip(&self) -> Self::Parts {
                ($(Delayed::call("element", (self,), |all: &Self::Whole| all.$at.clone()),)*)
            }
        }
    )*};
}
unzip!((A 0, B 1)(A 0, B 1, C 2)(A 0, B 1, C 2, D 3));
