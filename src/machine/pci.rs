//! PCI addresses, which NVML, CUDA and Vulkan write each in its own width.

/// The form that all sources are brought to: `0000:01:00.0`, lower case, a domain of at least four digits.
///
/// Reads `01:00.0`, `0000:01:00.0` and `00000000:01:00.0`. `None` when the text is no PCI address.
pub fn normalise_pci(text: &str) -> Option<String> {
    let text = text.trim();
    let (rest, function) = text.rsplit_once('.')?;
    let mut fields = rest.rsplit(':');
    let device = hex(fields.next()?, 0x1f)?;
    let bus = hex(fields.next()?, 0xff)?;
    let domain = fields.next().map_or(Some(0), |domain| hex(domain, u32::MAX))?;
    let function = hex(function, 7)?;
    fields.next().is_none().then(|| format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}"))
}

fn hex(digits: &str, max: u32) -> Option<u32> {
    let digits_only = digits.bytes().all(|b| b.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|value| digits_only && *value <= max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_comes_to_one_form() {
        let table = [
            ("0000:01:00.0", Some("0000:01:00.0")),
            ("00000000:01:00.0", Some("0000:01:00.0")),
            ("0000:C1:1F.7", Some("0000:c1:1f.7")),
            ("01:00.0", Some("0000:01:00.0")),
            ("00010000:01:00.0", Some("10000:01:00.0")),
            ("", None),
            ("gpu0", None),
            ("01.0", None),
            ("+1:00.0", None),
            ("0000:01:20.0", None),
            ("0:0000:01:00.0", None),
        ];
        for (text, want) in table {
            assert_eq!(normalise_pci(text).as_deref(), want, "{text}");
        }
    }
}
