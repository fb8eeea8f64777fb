//! One error for everything that a session does, and what kind of trouble it is.

use crate::device::contract::DeviceError;
use crate::exec::{ExecError, StepError};
use crate::graph::error::GraphError;
use crate::graph::op::TransferError;
use crate::machine::MachineError;
use crate::plan::PlanError;
use crate::store::StoreError;

/// What a session's methods return.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A collection was built wrongly.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// There is no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The run failed.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// A device was lost, or too small, and what was planned for it can go nowhere else.
    #[error("{source}\nand the run can't go on without it: {plan}")]
    Stranded {
        /// The failure that showed it.
        source: Box<ExecError>,
        /// Why there is no other plan.
        plan: Box<PlanError>,
    },
    /// A device couldn't be opened.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A machine's description is wrong.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The resume directory can't be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An output couldn't be put in place.
    #[error(transparent)]
    Output(#[from] TransferError),
}

/// Kinds of trouble, as exit codes and callers tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The user asked for something wrong.
    User,
    /// The machine can't meet what was asked.
    Unsatisfiable,
    /// Memory, disk or a file gave out.
    Resource,
    /// A device is gone.
    DeviceLost,
    /// The user stopped it.
    Cancelled,
    /// Outcrop is at fault.
    Bug,
}

impl Error {
    /// Whether a kept value couldn't be read, so that computing it again helps.
    pub fn is_lost_chunk(&self) -> bool {
        let Error::Exec(ExecError::Step { source, .. }) = self else { return false };
        matches!(&**source, StepError::Store(error) if error.is_lost_chunk())
    }

    /// What kind of trouble it is.
    pub fn class(&self) -> ErrorClass {
        match self {
            Error::Graph(_) | Error::Machine(_) => ErrorClass::User,
            Error::Plan(
                PlanError::Unsatisfiable(_)
                | PlanError::Memory { .. }
                | PlanError::SpillLimit { .. }
                | PlanError::OverBudget { .. },
            ) => ErrorClass::Unsatisfiable,
            Error::Plan(
                PlanError::TooManyTasks { .. }
                | PlanError::Graph(_)
                | PlanError::Override { .. }
                | PlanError::Annotation { .. },
            ) => ErrorClass::User,
            Error::Plan(PlanError::Bug { .. }) => ErrorClass::Bug,
            Error::Device(error) => device_class(error),
            Error::Output(_) | Error::Store(_) => ErrorClass::Resource,
            Error::Exec(error) => exec_class(error),
            Error::Stranded { source, .. } => exec_class(source),
        }
    }
}

fn exec_class(error: &ExecError) -> ErrorClass {
    match error {
        ExecError::Unable { source, .. } => exec_class(source),
        ExecError::Cancelled => ErrorClass::Cancelled,
        ExecError::Start { .. }
        | ExecError::Spill { .. }
        | ExecError::Starved
        | ExecError::Deadline { .. } => ErrorClass::Resource,
        ExecError::Stuck { .. } | ExecError::Broken { .. } => ErrorClass::Bug,
        ExecError::Compile { source, .. } | ExecError::Result { source, .. } => device_class(source),
        ExecError::NoDevice { .. } | ExecError::NoRoom { .. } => ErrorClass::Unsatisfiable,
        ExecError::Value { .. } => ErrorClass::User,
        ExecError::Step { source, .. } => match &**source {
            StepError::Device(source) => device_class(source),
            StepError::Bug { .. } => ErrorClass::Bug,
            StepError::Panic { .. }
            | StepError::Timeout { .. }
            | StepError::Abandoned { .. }
            | StepError::Task(_) => ErrorClass::User,
            StepError::Transfer(_) | StepError::Store(_) => ErrorClass::Resource,
        },
    }
}

fn device_class(error: &DeviceError) -> ErrorClass {
    match error {
        DeviceError::Lost { .. } => ErrorClass::DeviceLost,
        DeviceError::Compile { .. } => ErrorClass::Bug,
        DeviceError::Stopped(_) => ErrorClass::User,
        DeviceError::OutOfMemory { .. } | DeviceError::Failed { .. } => ErrorClass::Resource,
    }
}
