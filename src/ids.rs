//! Dense ids: what the engine runs on instead of names.

/// Defines a typed index with the `u32` inside public.
macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as a position in an array.
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The id at a position.
            pub const fn at(index: usize) -> Self {
                $name(index as u32)
            }
        }
    };
}

id_type!(
    /// A layer of a graph, in topological order.
    LayerId
);
id_type!(
    /// A group of layers that the planner fused into one kernel.
    GroupId
);
id_type!(
    /// A task of a task graph.
    TaskId
);
id_type!(
    /// A step of a plan, and the value that it makes.
    StepId
);
