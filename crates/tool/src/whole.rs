//! Whole numbers however JSON writes them: `5`, `5.0` and `5e0` are the same to JSON Schema.

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// A whole number of this type, for `#[serde(deserialize_with)]`.
///
/// # Errors
/// When it is no number, not whole, or too large or small for the type.
pub fn whole<'de, D: Deserializer<'de>, T: TryFrom<i64>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(WholeVisitor(PhantomData))
}

/// The same, where `null` is nothing.
///
/// # Errors
/// As those of [`whole`].
pub fn whole_or_null<'de, D: Deserializer<'de>, T: TryFrom<i64>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Option::<Number<T>>::deserialize(deserializer).map(|number| number.map(|Number(number)| number))
}

struct Number<T>(T);

impl<'de, T: TryFrom<i64>> Deserialize<'de> for Number<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        whole(deserializer).map(Self)
    }
}

struct WholeVisitor<T>(PhantomData<T>);

impl<T: TryFrom<i64>> Visitor<'_> for WholeVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        T::try_from(number).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        let small = i64::try_from(number).ok().and_then(|number| T::try_from(number).ok());
        small.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        /// Up to here every whole number is exact.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if number.fract() != 0.0 || number.abs() > EXACT {
            return Err(E::invalid_type(Unexpected::Float(number), &self));
        }
        self.visit_i64(number as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_whole_numbers_and_nothing_else() {
        let read = |text: &str| whole_or_null::<_, u32>(&mut serde_json::Deserializer::from_str(text)).ok();
        for (text, number) in [("5", 5), ("5.0", 5), ("5e2", 500), ("-0.0", 0), ("4294967295", u32::MAX)] {
            assert_eq!(read(text), Some(Some(number)), "{text}");
        }
        assert_eq!(read("null"), Some(None));
        for text in ["-1", "5.5", "4294967296", "1e300", "18446744073709551615", "\"5\"", "[]", "true"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
