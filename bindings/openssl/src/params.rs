//! Answers the parameters that OpenSSL asks for.
//!
//! Source: OSSL_PARAM(3), OSSL_PARAM_int(3).

use core::ffi::{CStr, c_char};

use crate::abi::{Param, data_type};

/// An answer to a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A number, for a signed or unsigned parameter.
    Number(u64),
    /// A string that lives as long as the library.
    Text(&'static CStr),
}

/// Answers those `params` whose names `answer` knows, and leaves the others unchanged, as other
/// providers do.
///
/// Returns false if an answer does not fit.
///
/// # Safety
/// `params` is null or an array that ends with a parameter without a key. The key of each other
/// is a string, its data is null or may be written, as many bytes as it says, and nobody else
/// uses them.
pub unsafe fn answer(mut params: *mut Param, answer: impl Fn(&[u8]) -> Option<Answer>) -> bool {
    if params.is_null() {
        return true;
    }
    loop {
        // SAFETY: the parameter is in the array, whose end the loop does not pass.
        let param = unsafe { &mut *params };
        if param.key.is_null() {
            return true;
        }
        // SAFETY: a string, by the caller's promise.
        let key = unsafe { CStr::from_ptr(param.key) };
        if let Some(answer) = answer(key.to_bytes()) {
            // SAFETY: the caller's promise.
            if !unsafe { write(param, answer) } {
                return false;
            }
        }
        // SAFETY: this was not the last one.
        params = unsafe { params.add(1) };
    }
}

/// Writes an answer; false if it does not fit.
///
/// # Safety
/// As for [`answer`], for one parameter.
#[inline]
unsafe fn write(param: &mut Param, answer: Answer) -> bool {
    match (answer, param.data_type) {
        (Answer::Number(number), data_type::INTEGER | data_type::UNSIGNED_INTEGER) => {
            // SAFETY: the caller's promise.
            unsafe { write_number(param, number) }
        }
        (Answer::Text(text), data_type::UTF8_PTR) => {
            param.return_size = text.count_bytes();
            if !param.data.is_null() {
                let place = param.data.cast::<*const c_char>();
                // SAFETY: a parameter of this kind has room for a pointer.
                unsafe { place.write_unaligned(text.as_ptr()) };
            }
            true
        }
        _ => false,
    }
}

/// Writes a number in the size of the parameter; false if it does not fit.
///
/// # Safety
/// As for [`answer`], for one parameter.
#[inline]
unsafe fn write_number(param: &mut Param, number: u64) -> bool {
    if param.data.is_null() {
        param.return_size = size_of::<u64>();
        return true;
    }
    let sign = u32::from(param.data_type == data_type::INTEGER);
    let bits = u64::BITS - number.leading_zeros() + sign;
    if (bits as usize).div_ceil(8) > param.data_size {
        return false;
    }
    param.return_size = param.data_size;
    match param.data_size {
        // SAFETY: the data has this length.
        8 => unsafe { param.data.cast::<u64>().write_unaligned(number) },
        // SAFETY: the data has this length.
        4 => unsafe { param.data.cast::<u32>().write_unaligned(number as u32) },
        size => {
            // SAFETY: the data has this length.
            let bytes = unsafe { core::slice::from_raw_parts_mut(param.data.cast::<u8>(), size) };
            write_bytes(bytes, number);
        }
    }
    true
}

/// Writes a number, which must fit, in any number of bytes.
#[cold]
fn write_bytes(bytes: &mut [u8], number: u64) {
    bytes.fill(0);
    let digits = number.to_le_bytes();
    let used = digits.len().min(bytes.len());
    bytes[..used].copy_from_slice(&digits[..used]);
    if cfg!(target_endian = "big") {
        bytes.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of an answer to a parameter of `N` bytes; `None` if it was refused.
    fn ask<const N: usize>(kind: u32, known: Answer) -> Option<[u8; N]> {
        let mut data = [0xaa; N];
        let mut params = [
            Param {
                data: data.as_mut_ptr().cast(),
                ..Param::offered(c"known", kind, N)
            },
            Param::END,
        ];
        let known = |key: &[u8]| (key == b"known").then_some(known);
        // SAFETY: an array with an end, and data of its own.
        let answered = unsafe { answer(params.as_mut_ptr(), known) };
        assert!(!answered || params[0].return_size == N);
        answered.then_some(data)
    }

    #[test]
    fn numbers_have_the_length_that_is_asked_for() {
        const UNSIGNED: u32 = data_type::UNSIGNED_INTEGER;
        let number = Answer::Number(0x1234);
        assert_eq!(ask(UNSIGNED, number), Some(0x1234u16.to_ne_bytes()));
        assert_eq!(ask(UNSIGNED, number), Some(0x1234u32.to_ne_bytes()));
        assert_eq!(ask(UNSIGNED, number), Some(0x1234u64.to_ne_bytes()));
        assert_eq!(ask(UNSIGNED, number), Some(0x1234u128.to_ne_bytes()));
    }

    #[test]
    fn an_answer_that_does_not_fit_is_refused() {
        const UNSIGNED: u32 = data_type::UNSIGNED_INTEGER;
        assert_eq!(ask::<1>(UNSIGNED, Answer::Number(256)), None);
        assert_eq!(ask::<1>(UNSIGNED, Answer::Number(255)), Some([255]));
        assert_eq!(ask::<1>(data_type::INTEGER, Answer::Number(128)), None);
        assert_eq!(
            ask::<1>(data_type::INTEGER, Answer::Number(127)),
            Some([127])
        );
        assert_eq!(ask::<8>(data_type::INTEGER, Answer::Number(u64::MAX)), None);
        assert_eq!(ask::<8>(data_type::UTF8_PTR, Answer::Number(1)), None);
        assert_eq!(ask::<8>(UNSIGNED, Answer::Text(c"text")), None);
    }

    #[test]
    fn without_a_buffer_only_the_size_is_returned() {
        let mut params = [Param::offered(c"known", data_type::UTF8_PTR, 0), Param::END];
        // SAFETY: an array with an end, and no data.
        let answered = unsafe { answer(params.as_mut_ptr(), |_| Some(Answer::Text(c"text"))) };
        assert!(answered && params[0].return_size == 4);
    }
}
