//! Copies and fills, in a stream's order or waited for.

use super::functions;
use crate::driver::stream::{Stream, stream};
use crate::driver::{self, Answer, host};
use crate::result;

functions! {
    fn cuMemcpyHtoD_v2(to: u64, from: usize, bytes: usize) {
        waited(|stream| upload(stream, to, from, bytes))
    }

    fn cuMemcpyHtoDAsync_v2(to: u64, from: usize, bytes: usize, handle: usize) {
        upload(&ordered(handle)?, to, from, bytes)
    }

    fn cuMemcpyDtoH_v2(to: usize, from: u64, bytes: usize) {
        waited(|stream| download(stream, to, from, bytes))
    }

    fn cuMemcpyDtoHAsync_v2(to: usize, from: u64, bytes: usize, handle: usize) {
        download(&ordered(handle)?, to, from, bytes)
    }

    fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) { waited(|stream| copy(stream, to, from, bytes)) }

    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, handle: usize) {
        copy(&ordered(handle)?, to, from, bytes)
    }

    fn cuMemcpyPeer(to: u64, to_context: usize, from: u64, from_context: usize, bytes: usize) {
        peers(to, to_context, from, from_context)?;
        waited(|stream| copy(stream, to, from, bytes))
    }

    fn cuMemcpyPeerAsync(to: u64, to_context: usize, from: u64, from_context: usize, bytes: usize,
                         handle: usize) {
        peers(to, to_context, from, from_context)?;
        copy(&ordered(handle)?, to, from, bytes)
    }

    fn cuMemsetD8_v2(to: u64, value: u8, count: usize) { waited(|stream| fill(stream, to, &[value], count)) }

    fn cuMemsetD16_v2(to: u64, value: u16, count: usize) {
        waited(|stream| fill(stream, to, &value.to_le_bytes(), count))
    }

    fn cuMemsetD32_v2(to: u64, value: u32, count: usize) {
        waited(|stream| fill(stream, to, &value.to_le_bytes(), count))
    }

    fn cuMemsetD8Async(to: u64, value: u8, count: usize, handle: usize) {
        fill(&ordered(handle)?, to, &[value], count)
    }

    fn cuMemsetD16Async(to: u64, value: u16, count: usize, handle: usize) {
        fill(&ordered(handle)?, to, &value.to_le_bytes(), count)
    }

    fn cuMemsetD32Async(to: u64, value: u32, count: usize, handle: usize) {
        fill(&ordered(handle)?, to, &value.to_le_bytes(), count)
    }
}

/// The stream of a call that returns at once; it must be of the current device.
fn ordered(handle: usize) -> Answer<Stream> {
    let device = driver::current()?;
    let stream = stream(handle)?;
    if stream.device.ordinal == device.ordinal { Ok(stream) } else { Err(result::INVALID_HANDLE) }
}

/// Does it on the null stream and waits.
fn waited(submit: impl FnOnce(&Stream) -> Answer<()>) -> Answer<()> {
    let stream = ordered(0)?;
    submit(&stream)?;
    stream.synchronize();
    stream.device.check()
}

fn upload(stream: &Stream, to: u64, from: usize, bytes: usize) -> Answer<()> {
    match (from, bytes) {
        (_, 0) => Ok(()),
        (0, _) => Err(result::INVALID_VALUE),
        _ => host::upload(stream, to, from, bytes),
    }
}

fn download(stream: &Stream, to: usize, from: u64, bytes: usize) -> Answer<()> {
    match (to, bytes) {
        (_, 0) => Ok(()),
        (0, _) => Err(result::INVALID_VALUE),
        _ => host::download(stream, to, from, bytes),
    }
}

fn copy(stream: &Stream, to: u64, from: u64, bytes: usize) -> Answer<()> {
    if bytes == 0 { Ok(()) } else { host::copy(stream, to, from, bytes) }
}

fn fill(stream: &Stream, to: u64, pattern: &[u8], count: usize) -> Answer<()> {
    if count == 0 { Ok(()) } else { host::fill(stream, to, pattern.to_vec(), count) }
}

/// Each address must be of the device that is named with it.
fn peers(to: u64, to_context: usize, from: u64, from_context: usize) -> Answer<()> {
    for (address, context) in [(to, to_context), (from, from_context)] {
        let owner = driver::stream::device_of(address).ok_or(result::INVALID_VALUE)?;
        if driver::context_device(context)?.ordinal != owner.ordinal {
            return Err(result::INVALID_VALUE);
        }
    }
    Ok(())
}
