//! The types of registers, variables and instructions.

/// A type as it is written, without the dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    B8,
    B16,
    B32,
    B64,
    F16,
    Bf16,
    F32,
    F64,
    Pred,
}

impl Type {
    /// The type of a name such as `u32`.
    pub fn named(name: &str) -> Option<Type> {
        Some(match name {
            "u8" => Type::U8,
            "u16" => Type::U16,
            "u32" => Type::U32,
            "u64" => Type::U64,
            "s8" => Type::S8,
            "s16" => Type::S16,
            "s32" => Type::S32,
            "s64" => Type::S64,
            "b8" => Type::B8,
            "b16" => Type::B16,
            "b32" => Type::B32,
            "b64" => Type::B64,
            "f16" => Type::F16,
            "bf16" => Type::Bf16,
            "f32" => Type::F32,
            "f64" => Type::F64,
            "pred" => Type::Pred,
            _ => return None,
        })
    }

    /// Its size in memory; a predicate's in a register.
    pub fn bytes(self) -> usize {
        match self {
            Type::U8 | Type::S8 | Type::B8 | Type::Pred => 1,
            Type::U16 | Type::S16 | Type::B16 | Type::F16 | Type::Bf16 => 2,
            Type::U32 | Type::S32 | Type::B32 | Type::F32 => 4,
            Type::U64 | Type::S64 | Type::B64 | Type::F64 => 8,
        }
    }

    pub fn is_signed(self) -> bool {
        matches!(self, Type::S8 | Type::S16 | Type::S32 | Type::S64)
    }

    pub fn is_float(self) -> bool {
        matches!(self, Type::F16 | Type::Bf16 | Type::F32 | Type::F64)
    }

    /// The bits that a value of the type has in a register.
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - 8 * self.bytes())
    }
}
