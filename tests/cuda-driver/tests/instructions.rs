//! Instructions by themselves, in PTX written by hand: those that the compiler makes rarely, and their awkward cases.

mod card;

use card::{Card, args, start};

fn open(ordinal: i32) -> Card {
    start(&[("OUTCROP_CUDA_DEVICES", "3")]);
    Card::open(ordinal)
}

/// A kernel of 32 threads that reads three words of 64 bits each and writes what `body` leaves in `%d`.
fn text(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f(.param .u64 x, .param .u64 y) {{
        .reg .pred %p, %q; .reg .b16 %h, %g; .reg .b32 %a, %b, %c, %r, %t; .reg .f32 %fa, %fb, %fc, %f;
        .reg .b64 %d, %da, %db, %dc, %x, %y, %i; .reg .f64 %ga, %gb, %gc, %gd;
        ld.param.u64 %x, [x]; ld.param.u64 %y, [y];
        mov.u32 %t, %tid.x; mul.wide.u32 %i, %t, 24; add.s64 %x, %x, %i; mul.wide.u32 %i, %t, 8; add.s64 %y, %y, %i;
        ld.global.u64 %da, [%x]; ld.global.u64 %db, [%x+8]; ld.global.u64 %dc, [%x+16];
        ld.global.u32 %a, [%x]; ld.global.u32 %b, [%x+8]; ld.global.u32 %c, [%x+16];
        ld.global.f32 %fa, [%x]; ld.global.f32 %fb, [%x+8]; ld.global.f32 %fc, [%x+16];
        ld.global.f64 %ga, [%x]; ld.global.f64 %gb, [%x+8]; ld.global.f64 %gc, [%x+16];
        mov.u64 %d, 0; mov.u32 %r, 0;
        {body}
        st.global.u64 [%y], %d; ret; }}"
    )
}

fn run(card: &Card, body: &str, sources: &[[u64; 3]]) -> Vec<u64> {
    let module = card.load(&text(body)).unwrap_or_else(|code| panic!("{code}: {body}"));
    let (x, y) = (card.upload(sources), card.fresh::<u64>(sources.len()));
    let threads = sources.len() as u32;
    assert_eq!(card.launch(card.kernel(module, "f"), [1, 1, 1], [threads, 1, 1], 0, args![x, y]), 0);
    card.download(y, sources.len())
}

#[test]
fn integers_and_bits() {
    let card = open(0);
    let table: [(&str, [u64; 3], u32); 38] = [
        ("lop3.b32 %r, %a, %b, %c, 0x96;", [0xf0f0, 0xff00, 0xaaaa], 0xf0f0 ^ 0xff00 ^ 0xaaaa),
        ("lop3.b32 %r, %a, %b, %c, 0xe8;", [0xf0, 0xcc, 0xaa], 0xe8),
        ("shf.l.wrap.b32 %r, %a, %b, %c;", [0x8000_0001, 1, 33], 3),
        ("shf.l.clamp.b32 %r, %a, %b, %c;", [0x8000_0001, 1, 33], 0x8000_0001),
        ("shf.r.wrap.b32 %r, %a, %b, %c;", [2, 1, 1], 0x8000_0001),
        ("shf.r.clamp.b32 %r, %a, %b, %c;", [2, 7, 99], 7),
        ("bfe.u32 %r, %a, %b, %c;", [0xabcd, 4, 8], 0xbc),
        ("bfe.s32 %r, %a, %b, %c;", [0xabcd, 4, 8], 0xffff_ffbc),
        ("bfe.s32 %r, %a, %b, %c;", [0x8000_0000, 28, 8], 0xffff_fff8),
        ("bfe.u32 %r, %a, %b, %c;", [0xffff_ffff, 40, 8], 0),
        ("bfe.s32 %r, %a, %b, %c;", [0x8000_0000, 40, 8], 0xffff_ffff),
        ("bfe.s32 %r, %a, %b, 0;", [0xffff_ffff, 3, 0], 0),
        ("bfi.b32 %r, %a, %b, %c, 8;", [0x1ff, 0xffff_0000, 4], 0xffff_0ff0),
        ("bfi.b32 %r, %a, %b, %c, 8;", [0x1ff, 5, 32], 5),
        ("bfi.b32 %r, %a, %b, %c, 64;", [0x1234, 5, 0], 0x1234),
        ("prmt.b32 %r, %a, %b, %c;", [0x0302_0180, 0x0706_0504, 0x7c80], 0x07_00_ff_80),
        ("shl.b32 %r, %a, %b;", [3, 32, 0], 0),
        ("shr.s32 %r, %a, %b;", [0x8000_0000, 99, 0], 0xffff_ffff),
        ("shr.u32 %r, %a, %b;", [0x8000_0000, 99, 0], 0),
        ("div.s32 %r, %a, %b;", [0x8000_0000, 0xffff_ffff, 0], 0x8000_0000),
        ("rem.u32 %r, %a, %b;", [17, 5, 0], 2),
        ("mad.hi.u32 %r, %a, %b, %c;", [0xffff_ffff, 0xffff_ffff, 1], 0xffff_ffff),
        ("mad.hi.s32 %r, %a, %b, %c;", [0xffff_ffff, 2, 1], 0),
        ("mul.lo.s16 %h, 300, 300; mov.b32 %r, {%h, %h};", [0; 3], 0x5f90_5f90),
        ("sad.s32 %r, %a, %b, %c;", [0xffff_fffb, 5, 100], 110),
        ("slct.u32.s32 %r, %a, %b, %c;", [1, 2, 0xffff_ffff], 2),
        ("slct.u32.s32 %r, %a, %b, %c;", [1, 2, 0], 1),
        ("bfind.s32 %r, %a;", [0xffff_ff00, 0, 0], 7),
        ("bfind.u32 %r, %a;", [0, 0, 0], 0xffff_ffff),
        ("bfind.shiftamt.u32 %r, %a;", [1, 0, 0], 31),
        ("cnot.b32 %r, %a;", [0, 0, 0], 1),
        ("add.cc.u32 %r, %a, %b; addc.u32 %r, %r, 0;", [0xffff_ffff, 2, 0], 2),
        ("sub.cc.u32 %r, %a, %b; subc.u32 %r, 5, 0;", [1, 2, 0], 4),
        ("setp.lt.and.s32 %p|%q, %a, %b, 1; selp.b32 %r, 1, 2, %q;", [0xffff_ffff, 1, 0], 2),
        ("setp.lo.u32 %p, %a, %b; @!%p mov.u32 %r, 7;", [0xffff_ffff, 1, 0], 7),
        ("cvt.sat.u8.s32 %h, %a; cvt.u32.u16 %r, %h;", [300, 0, 0], 255),
        ("cvt.s32.s8 %r, %a;", [0x80, 0, 0], 0xffff_ff80),
        ("mov.b64 {%a, %b}, %da; mov.b64 %da, {%b, %a}; cvt.u32.u64 %r, %da;", [7 << 32 | 5, 0, 0], 7),
    ];
    for (body, sources, want) in table {
        let got = run(&card, &format!("{body} cvt.u64.u32 %d, %r;"), &[sources]);
        assert_eq!(got, [u64::from(want)], "{body} {sources:x?}");
    }
    let wide = [
        ("mul.hi.u64 %d, %da, %db;", [u64::MAX, u64::MAX, 0], u64::MAX - 1),
        ("mul.hi.s64 %d, %da, %db;", [u64::MAX, 3, 0], u64::MAX),
        ("bfe.s64 %d, %da, 60, 4;", [9 << 60, 0, 0], (9u64 << 60) as i64 as u64 >> 60 | !0 << 4),
        ("bfi.b64 %d, %da, %db, 60, 9;", [0x1f, 1, 0], 0xf000_0000_0000_0001),
        ("mad.wide.s32 %d, %a, %b, %dc;", [0xffff_ffff, 3, 10], 7),
        ("shr.s64 %d, %da, %b;", [1 << 63, 200, 0], u64::MAX),
        ("add.cc.u64 %d, %da, %db; addc.u64 %d, 0, 0;", [u64::MAX, 1, 0], 1),
    ];
    for (body, sources, want) in wide {
        assert_eq!(run(&card, body, &[sources]), [want], "{body} {sources:x?}");
    }
}

#[test]
fn floats_flush_saturate_and_order() {
    let card = open(1);
    let (tiny, nan, one) = (1u64, 0x7fc0_0001u64, 0x3f80_0000u64);
    let minus = |bits: u64| bits | 1 << 31;
    let table = [
        ("add.rn.f32 %f, %fa, %fb;", [tiny, tiny, 0], 2),
        ("add.rn.ftz.f32 %f, %fa, %fb;", [tiny, tiny, 0], 0),
        ("mul.rn.ftz.f32 %f, %fa, %fb;", [minus(0x0080_0000), 0x3f00_0000, 0], minus(0)),
        ("mul.rn.f32 %f, %fa, %fb;", [minus(0x0080_0000), 0x3f00_0000, 0], minus(0x0040_0000)),
        ("add.rn.f32 %f, %fa, %fb;", [nan, one, 0], 0x7fff_ffff),
        ("mov.f32 %f, %fa;", [nan, 0, 0], nan),
        ("neg.f32 %f, %fa;", [nan, 0, 0], minus(nan)),
        ("min.f32 %f, %fa, %fb;", [nan, one, 0], one),
        ("max.f32 %f, %fa, %fb;", [one, nan, 0], one),
        ("max.NaN.f32 %f, %fa, %fb;", [one, nan, 0], 0x7fff_ffff),
        ("min.f32 %f, %fa, %fb;", [0, minus(0), 0], minus(0)),
        ("max.f32 %f, %fa, %fb;", [minus(0), 0, 0], 0),
        ("add.sat.f32 %f, %fa, %fb;", [one, one, 0], one),
        ("add.sat.f32 %f, %fa, %fb;", [nan, one, 0], 0),
        ("cvt.sat.f32.f32 %f, %fa;", [minus(one), 0, 0], 0),
        ("cvt.ftz.f64.f32 %ga, %fa; cvt.rn.f32.f64 %f, %ga;", [tiny, 0, 0], 0),
        ("setp.ltu.f32 %p, %fa, %fb; selp.f32 %f, %fb, %fa, %p;", [nan, one, 0], one),
        ("setp.lt.f32 %p, %fa, %fb; selp.f32 %f, 0f00000001, %fa, %p;", [minus(one), one, 0], 1),
        ("setp.eq.ftz.f32 %p, %fa, %fb; selp.f32 %f, %fc, %fa, %p;", [tiny, 0, one], one),
        ("setp.equ.f32 %p, %fa, %fb; selp.f32 %f, %fc, 0f00000000, %p;", [nan, 0, one], one),
        ("setp.ne.f32 %p, %fa, %fb; selp.f32 %f, %fc, 0f00000000, %p;", [nan, 0, one], 0),
        ("setp.num.f32 %p, %fa, %fb; selp.f32 %f, %fc, 0f00000000, %p;", [0, 0, one], one),
        ("ex2.approx.ftz.f32 %f, %fa;", [0x4040_0000, 0, 0], 0x4100_0000),
        ("lg2.approx.f32 %f, %fa;", [0x4100_0000, 0, 0], 0x4040_0000),
        ("rsqrt.approx.ftz.f32 %f, %fa;", [0x4080_0000, 0, 0], 0x3f00_0000),
        ("sqrt.approx.ftz.f32 %f, %fa;", [0x4080_0000, 0, 0], 0x4000_0000),
        ("div.full.f32 %f, %fa, %fb;", [0x40c0_0000, 0x4000_0000, 0], 0x4040_0000),
        ("copysign.f32 %f, %fa, %fb;", [minus(0), one, 0], minus(one)),
        ("fma.rn.sat.f32 %f, %fa, %fb, %fc;", [one, one, one], one),
    ];
    for (body, sources, want) in table {
        let got = run(&card, &format!("{body} mov.b32 %r, %f; cvt.u64.u32 %d, %r;"), &[sources]);
        assert_eq!(got, [want], "{body} {sources:x?}");
    }
    let wide = [
        ("rcp.approx.ftz.f64 %gd, %ga;", [3f64.to_bits(), 0, 0], (1f64 / 3.0).to_bits() & !0 << 32),
        (
            "fma.rn.f64 %gd, %ga, %gb, %gc;",
            [0.1, 10.0, -1.0].map(f64::to_bits),
            0.1f64.mul_add(10.0, -1.0).to_bits(),
        ),
        ("min.f64 %gd, %ga, %gb;", [f64::NAN, 2.0, 0.0].map(f64::to_bits), 2f64.to_bits()),
        ("abs.f64 %gd, %ga;", [(-2.5f64).to_bits(), 0, 0], 2.5f64.to_bits()),
    ];
    for (body, sources, want) in wide {
        let got = run(&card, &format!("{body} mov.b64 %d, %gd;"), &[sources]);
        assert_eq!(got, [want], "{body}");
    }
}

/// What lanes do together, of a warp with 20 threads.
#[test]
fn lanes() {
    let card = open(2);
    let sources: Vec<[u64; 3]> = (0..20).map(|lane| [lane * lane % 7, lane, 0]).collect();
    let each = |body: &str| run(&card, &format!("{body} cvt.u64.u32 %d, %r;"), &sources);
    let lanes = 0..20u64;
    assert_eq!(each("redux.sync.add.s32 %r, %a, 0xfffff;"), [sources.iter().map(|s| s[0]).sum::<u64>(); 20]);
    assert_eq!(each("redux.sync.max.u32 %r, %b, 0xfffff;"), [19; 20]);
    let same = |own: u64| lanes.clone().filter(|o| o * o % 7 == own).fold(0, |all, lane| all | 1 << lane);
    let want: Vec<u64> = lanes.clone().map(|lane| same(lane * lane % 7)).collect();
    assert_eq!(each("match.any.sync.b32 %r, %a, 0xffffffff;"), want);
    assert_eq!(
        each("mov.u32 %r, %lanemask_lt;"),
        lanes.clone().map(|lane| (1 << lane) - 1).collect::<Vec<_>>()
    );
    assert_eq!(each("activemask.b32 %r;"), lanes.clone().map(|lane| 1 << lane).collect::<Vec<_>>());
    // Half of the lanes meet at one instruction, half at another; segments of 8 lanes.
    let halves = "setp.lt.u32 %p, %b, 10; @%p bra low;
        shfl.sync.idx.b32 %r, %b, 19, 0x1f, 0xffc00; bra.uni end;
        low: shfl.sync.down.b32 %r|%q, %b, 3, 0x181f, 0x3ff; end:";
    let low = |lane: u64| if lane % 8 + 3 < 8 { lane + 3 } else { lane };
    let want = lanes.clone().map(|lane| if lane < 10 { low(lane) } else { 19 });
    // Lanes 8 and 9 read from 11 and 12, which aren't there: what they get is nobody's.
    let got = each(halves);
    assert_eq!(got[..8], want.clone().collect::<Vec<_>>()[..8]);
    assert_eq!(got[10..], want.collect::<Vec<_>>()[10..]);
    assert_eq!(each("vote.sync.all.pred %p, 1, 0xfffff; selp.u32 %r, 5, 6, %p;"), [5; 20]);
    // One who calls for lanes without itself, and one who is called for and never comes.
    let module = card.load(&text("vote.sync.any.pred %p, 1, 0x2;")).expect("a module");
    let (x, y) = (card.upload(&sources), card.fresh::<u64>(20));
    assert_eq!(card.launch(card.kernel(module, "f"), [1, 1, 1], [20, 1, 1], 0, args![x, y]), 0);
    assert_eq!(card.synchronize(), cuda_driver::result::LAUNCH_FAILED);
}
