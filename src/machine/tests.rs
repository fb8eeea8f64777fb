use super::*;

const FILES: [(&str, &str); 4] = [
    ("cpu-only", include_str!("../../examples/machines/cpu-only.toml")),
    ("one-gpu", include_str!("../../examples/machines/one-gpu.toml")),
    ("two-unequal-gpus", include_str!("../../examples/machines/two-unequal-gpus.toml")),
    ("gpu-server", include_str!("../../examples/machines/gpu-server.toml")),
];

fn example(name: &str) -> Machine {
    let (_, text) = FILES.iter().find(|(file, _)| *file == name).expect("a listed file");
    Machine::from_toml(text).expect("a valid file")
}

#[test]
fn example_files_are_valid_and_survive_json() {
    for (name, text) in FILES {
        let machine = Machine::from_toml(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(machine.name, name);
        let json = serde_json::to_string(&machine).expect("plain data");
        assert_eq!(Machine::from_json(&json).expect("its own output"), machine, "{name}");
    }
    assert_eq!(example("gpu-server").devices.len(), 9);
}

#[test]
fn prints_stable_tables() {
    insta::assert_snapshot!(example("two-unequal-gpus"), @"
    two-unequal-gpus: AMD EPYC 7543, 32 cores
      DEVICE  KIND  MODEL                  BACKEND  MEMORY  F32           TYPES                                PCI           STATE
      host    host  AMD EPYC 7543          host     host    1.0 TFLOP/s   bool,u8,i16,i32,u32,i64,f16,f32,f64  -             ready
      gpu0    gpu   NVIDIA A100-PCIE-80GB  wgpu     gpu0    19.5 TFLOP/s  i32,u32,f32                          0000:21:00.0  ready
      gpu1    gpu   NVIDIA RTX A4000       wgpu     gpu1    19.2 TFLOP/s  i32,u32,f32                          0000:41:00.0  ready
      MEMORY  KIND       SIZE       FREE
      host    host       256.0 GiB  unknown
      gpu0    dedicated  80.0 GiB   unknown
      gpu1    dedicated  16.0 GiB   unknown
      FROM  TO    BANDWIDTH  LATENCY
      host  gpu0  25.0 GB/s  10.0 µs
      host  gpu1  25.0 GB/s  10.0 µs
      gpu0  host  25.0 GB/s  10.0 µs
      gpu1  host  25.0 GB/s  10.0 µs
    ");
    insta::assert_snapshot!(Machine::host_only(2, Bytes(8 << 30)), @"
    host-only: host, 2 cores
      DEVICE  KIND  MODEL  BACKEND  MEMORY  F32           TYPES                                PCI  STATE
      host    host  -      host     host    64.0 GFLOP/s  bool,u8,i16,i32,u32,i64,f16,f32,f64  -    ready
      MEMORY  KIND  SIZE     FREE
      host    host  8.0 GiB  unknown
    ");
}

#[test]
fn what_is_left_out_has_a_default() {
    let machine = Machine::from_toml(MINIMAL).expect("a valid file");
    assert_eq!(machine.devices[1].rates, defaults::rates(DeviceKind::Gpu, 4));
    assert_eq!(machine.devices[1].memory, "gpu0");
    assert_eq!(machine.memories[1].kind, MemoryKind::Dedicated);
    assert_eq!(machine.memories[1].bytes, Some(Bytes(2 << 30)));
    assert_eq!(machine.devices[0].dtypes, DType::ALL);
}

#[test]
fn unlisted_paths_go_through_the_host() {
    let machine = example("two-unequal-gpus");
    let memory = |name| machine.memory_by_name(name).expect("listed");
    let (a, b) = (memory("gpu0"), memory("gpu1"));
    let up = machine.link(a, MemoryId::HOST);
    let down = machine.link(MemoryId::HOST, b);
    let across = machine.link(a, b);
    assert!(across.via_host && !up.via_host);
    assert_eq!(up, machine.link(MemoryId::HOST, a), "one direction stands for both");
    let parts = up.seconds(1 << 30) + down.seconds(1 << 30);
    assert!((across.seconds(1 << 30) - parts).abs() < 1e-9);
    assert_eq!(machine.link(a, a).seconds(1 << 30), 0.0);
    let server = example("gpu-server");
    let (first, last) = (MemoryId(1), MemoryId(8));
    assert!(!server.link(first, last).via_host, "peers over NVLink");
}

#[test]
fn workers_match_names_models_and_uuids() {
    let mut machine = example("two-unequal-gpus");
    machine.devices[2].uuid = Some("GPU-1234".to_owned());
    let matching =
        |pattern: &str| machine.matching(&[pattern.to_owned()]).iter().map(|id| id.0).collect::<Vec<_>>();
    let table: [(&str, &[u16]); 7] = [
        ("host", &[0]),
        ("gpu*", &[1, 2]),
        ("GPU0", &[1]),
        ("*A4000*", &[2]),
        ("gpu-1234", &[2]),
        ("gpu[", &[]),
        ("gpu7", &[]),
    ];
    for (pattern, want) in table {
        assert_eq!(matching(pattern), want, "{pattern}");
    }
}

const MINIMAL: &str = r#"
name = "minimal"
host = { cores = 4 }
devices = [{ name = "host", kind = "host" }, { name = "gpu0", kind = "gpu", pci = "01:00.0" }]
memories = [{ name = "host" }, { name = "gpu0", bytes = "2 GiB" }]
links = [{ from = "host", to = "gpu0", bytes_per_s = 12e9, latency_s = 1e-5 }]
"#;

#[test]
fn errors_name_the_field_and_the_value() {
    let table = [
        (r#"cores = 4"#, "cores = 0", "host.cores is 0"),
        (
            r#"{ name = "host", kind = "host" }"#,
            r#"{ name = "cpu", kind = "host" }"#,
            "devices[0].name is \"cpu\"",
        ),
        (r#"kind = "gpu""#, r#"kind = "host""#, "devices[1].kind is \"host\""),
        (r#"kind = "host" }"#, r#"kind = "gpu", memory = "host" }"#, "devices[0].kind is \"gpu\""),
        (r#"{ name = "gpu0", kind"#, r#"{ name = "host", kind"#, "devices[1].name is \"host\""),
        (
            r#"memories = [{ name = "host" }"#,
            r#"memories = [{ name = "ram" }"#,
            "memories[0].name is \"ram\"",
        ),
        (
            r#", { name = "gpu0", bytes = "2 GiB" }"#,
            "",
            "devices[1].memory is \"gpu0\", which names no memory",
        ),
        (r#""2 GiB""#, r#""2 gigs""#, "'2 gigs' is no size"),
        (r#""2 GiB""#, "-1", "-1 bytes is below 0"),
        (r#""2 GiB""#, "0", "memories[1].bytes is 0"),
        (
            r#"to = "gpu0""#,
            r#"to = "gpu1""#,
            "links[0].to is \"gpu1\", which names no memory: known are host, gpu0",
        ),
        (r#"to = "gpu0""#, r#"to = "host""#, "links[0] goes from \"host\" to itself"),
        ("12e9", "-12e9", "links[0].bytes_per_s is -12000000000"),
        ("12e9", "inf", "links[0].bytes_per_s is inf"),
        ("1e-5", "nan", "links[0].latency_s is NaN"),
        (r#""01:00.0""#, r#""first""#, "devices[1].pci is \"first\""),
        (r#""01:00.0""#, r#""01:00.0", dtypes = ["f8"]"#, "devices[1].dtypes: unknown element type 'f8'"),
        (r#""01:00.0""#, r#""01:00.0", rates = { flops_f32 = 0.0 }"#, "devices[1].rates.flops_f32 is 0"),
        (r#""01:00.0""#, r#""01:00.0", rates = { flops = 1.0 }"#, "unknown field `flops`"),
        (r#"name = "minimal""#, "", "missing field `name`"),
    ];
    for (from, to, want) in table {
        assert!(MINIMAL.contains(from), "{from}");
        let text = MINIMAL.replacen(from, to, 1);
        let error = Machine::from_toml(&text).expect_err(to).to_string();
        assert!(error.contains(want), "{to}: {error}");
    }
    assert!(Machine::from_json("{").is_err());
}
