//! `+ - * / %` and unary `-` between arrays, references and constants.

use std::ops;

use crate::collections::array::{Array, Operand};
use crate::dtype::Scalar;
use crate::graph::expr_ops::{BinaryOp, UnaryOp};

macro_rules! operator {
    ($trait:ident, $method:ident, $op:ident) => {
        impl<R: Into<Operand>> ops::$trait<R> for &Array {
            type Output = Array;
            #[track_caller]
            fn $method(self, right: R) -> Array {
                Array::binary(BinaryOp::$op, self, right)
            }
        }

        impl<R: Into<Operand>> ops::$trait<R> for Array {
            type Output = Array;
            #[track_caller]
            fn $method(self, right: R) -> Array {
                Array::binary(BinaryOp::$op, self, right)
            }
        }

        operator!(@scalar $trait, $method, $op, f64);
        operator!(@scalar $trait, $method, $op, i64);
        operator!(@scalar $trait, $method, $op, i32);
    };
    (@scalar $trait:ident, $method:ident, $op:ident, $scalar:ty) => {
        impl ops::$trait<&Array> for $scalar {
            type Output = Array;
            #[track_caller]
            fn $method(self, right: &Array) -> Array {
                Array::binary(BinaryOp::$op, Scalar::from(self), right)
            }
        }

        impl ops::$trait<Array> for $scalar {
            type Output = Array;
            #[track_caller]
            fn $method(self, right: Array) -> Array {
                Array::binary(BinaryOp::$op, Scalar::from(self), right)
            }
        }
    };
}

operator!(Add, add, Add);
operator!(Sub, sub, Subtract);
operator!(Mul, mul, Multiply);
operator!(Div, div, Divide);
operator!(Rem, rem, Remainder);
operator!(BitAnd, bitand, And);
operator!(BitOr, bitor, Or);
operator!(BitXor, bitxor, Xor);

impl ops::Neg for &Array {
    type Output = Array;
    #[track_caller]
    fn neg(self) -> Array {
        self.unary(UnaryOp::Negative)
    }
}

impl ops::Neg for Array {
    type Output = Array;
    #[track_caller]
    fn neg(self) -> Array {
        self.unary(UnaryOp::Negative)
    }
}

impl ops::Not for &Array {
    type Output = Array;
    #[track_caller]
    fn not(self) -> Array {
        self.unary(UnaryOp::Not)
    }
}
