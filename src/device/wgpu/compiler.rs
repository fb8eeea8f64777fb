//! Pipelines of kernels; equal shaders are compiled once for each device.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::health::{Health, lock};
use crate::device::contract::{Compiler, DeviceError, Program};
use crate::dtype::DType;
use crate::kernel::Kernel;
use crate::kernel::capability::wgpu_kernel_lack;
use crate::kernel::render::{Rendered, Shader};

/// The compiler of one device.
pub struct WgpuCompiler {
    device: wgpu::Device,
    health: Arc<Health>,
    dtypes: Vec<DType>,
    /// Whether the adapter is played by the processor.
    is_software: bool,
    pipelines: Mutex<HashMap<String, Pipeline>>,
}

/// A pipeline and the layout of its bindings.
#[derive(Clone)]
pub(super) struct Pipeline {
    pub(super) pipeline: wgpu::ComputePipeline,
    pub(super) layout: wgpu::BindGroupLayout,
}

/// A kernel's pipelines, in the order of its shaders.
pub(super) struct WgpuProgram {
    pub(super) rendered: Rendered,
    pub(super) pipelines: Vec<Pipeline>,
    pub(super) name: String,
}

impl WgpuCompiler {
    pub(super) fn new(
        device: wgpu::Device,
        health: Arc<Health>,
        dtypes: Vec<DType>,
        is_software: bool,
    ) -> Self {
        WgpuCompiler { device, health, dtypes, is_software, pipelines: Mutex::default() }
    }

    pub(super) fn treat_as_hardware(&mut self) {
        self.is_software = false;
    }

    fn refused(&self, kernel: &Kernel, message: String) -> DeviceError {
        let device = self.health.device().to_owned();
        DeviceError::Compile { device, kernel: kernel.name(), message }
    }

    /// The shader's pipeline, from the cache or new. Two threads may compile the same one at a time; the
    /// first stays.
    fn pipeline(&self, kernel: &Kernel, shader: &Shader) -> Result<Pipeline, DeviceError> {
        if let Some(known) = lock(&self.pipelines).get(&shader.source) {
            return Ok(known.clone());
        }
        let name = kernel.name();
        let made = self.health.scoped(&self.device, "compiling", 0, 0, || self.make(&name, shader)).map_err(
            |error| match error {
                DeviceError::Failed { message, .. } => self.refused(kernel, message),
                other => other,
            },
        )?;
        Ok(lock(&self.pipelines).entry(shader.source.clone()).or_insert(made).clone())
    }

    fn make(&self, name: &str, shader: &Shader) -> Pipeline {
        let entries: Vec<_> =
            (0..shader.reads + 2).map(|binding| layout_entry(binding, binding != shader.reads)).collect();
        let layout = self
            .device
            .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
        let pipeline_layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(name),
            source: wgpu::ShaderSource::Wgsl(shader.source.as_str().into()),
        });
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                // Kernels write workgroup memory before they read it.
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache: None,
        });
        Pipeline { pipeline, layout }
    }
}

impl Compiler for WgpuCompiler {
    fn compile(&self, kernel: &Kernel) -> Result<Program, DeviceError> {
        if let Some(lack) = wgpu_kernel_lack(kernel, &self.dtypes) {
            return Err(self.refused(kernel, format!("this device lacks {lack}")));
        }
        let rendered = Rendered::new(kernel, self.is_software);
        let pipelines =
            rendered.shaders.iter().map(|shader| self.pipeline(kernel, shader)).collect::<Result<_, _>>()?;
        Ok(Program::new(WgpuProgram { rendered, pipelines, name: kernel.name() }))
    }
}

fn layout_entry(binding: usize, read_only: bool) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding: binding as u32,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Storage { read_only },
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    }
}
