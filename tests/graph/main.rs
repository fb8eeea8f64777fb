//! Graphs as people and other programs see them: as text, as pictures, as mappings from keys to tasks.

mod display;
mod draw;
mod mapping;
mod sample;
