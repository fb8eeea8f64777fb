//! One error for everything that a session does, and what kind of trouble it is.

use crate::device::contract::DeviceError;
use crate::exec::{ExecError, StepError};
use crate::graph::error::GraphError;
use crate::graph::op::TransferError;
use crate::machine::MachineError;
use crate::plan::PlanError;

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
    /// A device couldn't be opened.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A machine's description is wrong.
    #[error(transparent)]
    Machine(#[from] MachineError),
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
            Error::Output(_) => ErrorClass::Resource,
            Error::Exec(error) => match error {
                ExecError::Cancelled => ErrorClass::Cancelled,
                ExecError::Start { .. } | ExecError::Starved | ExecError::Deadline { .. } => {
                    ErrorClass::Resource
                }
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
                    StepError::Transfer(_) => ErrorClass::Resource,
                },
            },
        }
    }
}

fn device_class(error: &DeviceError) -> ErrorClass {
    match error {
        DeviceError::Lost { .. } => ErrorClass::DeviceLost,
        DeviceError::Compile { .. } => ErrorClass::Bug,
        DeviceError::OutOfMemory { .. } | DeviceError::Failed { .. } => ErrorClass::Resource,
    }
}
