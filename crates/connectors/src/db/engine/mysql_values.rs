//! What MySQL and MariaDB send for prepared statements, as JSON.

use super::times;
use crate::db::rows::Cells;
use chrono::NaiveDate;
use sqlx::mysql::{MySqlTypeInfo, MySqlValueRef};
use sqlx::{Decode, MySql, Type, TypeInfo, ValueRef};
use std::error::Error as StdError;

type Misread = Box<dyn StdError + Send + Sync>;

/// How the values of one column are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    Boolean,
    Integer,
    Unsigned,
    Float,
    Double,
    /// Also decimals, which are sent as texts.
    Text,
    Bits,
    Bytes,
    Json,
    Date,
    Time,
    Moment,
}

impl Reader {
    pub(super) fn of(known: &MySqlTypeInfo) -> Self {
        match known.name() {
            "BOOLEAN" => Self::Boolean,
            "YEAR" => Self::Unsigned,
            name if name.ends_with(" UNSIGNED") => Self::Unsigned,
            name if name.ends_with("INT") => Self::Integer,
            "FLOAT" => Self::Float,
            "DOUBLE" => Self::Double,
            "DECIMAL" | "ENUM" | "SET" => Self::Text,
            "BIT" => Self::Bits,
            "JSON" => Self::Json,
            "DATE" => Self::Date,
            "TIME" => Self::Time,
            "DATETIME" | "TIMESTAMP" => Self::Moment,
            // The driver knows by the collation.
            _ if <str as Type<MySql>>::compatible(known) => Self::Text,
            _ => Self::Bytes,
        }
    }

    pub(super) fn write(self, value: MySqlValueRef<'_>, cells: &mut Cells<'_>) -> Result<(), Misread> {
        // To the driver, days of zeros are null, too; those have bytes.
        let is_day = matches!(self, Self::Date | Self::Moment);
        let is_null = value.is_null();
        let bytes = match <&[u8] as Decode<MySql>>::decode(value) {
            Ok(bytes) if is_day || !is_null => bytes,
            Err(error) if !is_null => return Err(error),
            _ => {
                if let Some(mut cell) = cells.next(4) {
                    cell.null();
                }
                return Ok(());
            }
        };
        let Some(mut cell) = cells.next(bytes.len()) else { return Ok(()) };
        match self {
            // `tinyint(1)` is only meant as one.
            Self::Boolean => match signed(bytes) {
                number @ (0 | 1) => cell.boolean(number == 1),
                number => cell.integer(number),
            },
            Self::Integer => cell.integer(signed(bytes)),
            Self::Unsigned => cell.unsigned(unsigned(bytes)),
            Self::Float => cell.float(small_float(bytes)?),
            Self::Double => cell.float(f64::from_le_bytes(bytes.try_into()?)),
            Self::Text => cell.text(&String::from_utf8_lossy(bytes)),
            // The most significant byte comes first.
            Self::Bits => cell.unsigned(bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte))),
            Self::Bytes => cell.bytes(bytes),
            Self::Json => cell.json(&String::from_utf8_lossy(bytes)),
            Self::Date => cell.text(&day(bytes)),
            Self::Time => cell.text(&duration(bytes)),
            Self::Moment => cell.text(&moment(bytes)),
        }
        Ok(())
    }
}

fn unsigned(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |all, byte| all << 8 | u64::from(*byte))
}

fn signed(bytes: &[u8]) -> i64 {
    let unused = 64 - 8 * bytes.len().clamp(1, 8) as u32;
    (unsigned(bytes) << unused) as i64 >> unused
}

/// The shortest text of the small one is what people wrote; its exact value has noise behind it.
fn small_float(bytes: &[u8]) -> Result<f64, Misread> {
    let small = f32::from_le_bytes(bytes.try_into()?);
    Ok(small.to_string().parse().unwrap_or(f64::from(small)))
}

/// The length of what follows, then year, month and day. MySQL knows days that no calendar has, such as 2024-00-10.
fn day(bytes: &[u8]) -> String {
    let part = |at: usize| bytes.get(at).copied().unwrap_or_default();
    format!("{:04}-{:02}-{:02}", u16::from_le_bytes([part(1), part(2)]), part(3), part(4))
}

fn date(bytes: &[u8]) -> Option<NaiveDate> {
    NaiveDate::parse_from_str(&day(bytes), "%Y-%m-%d").ok()
}

/// A date, and behind it hours, minutes, seconds and microseconds, as far as they are not zero. One that is not in any
/// calendar comes as MySQL writes it.
fn moment(bytes: &[u8]) -> String {
    let part = |at: usize| u32::from(bytes.get(at).copied().unwrap_or_default());
    let micros = bytes.get(8..12).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes);
    let known = date(bytes).and_then(|date| date.and_hms_micro_opt(part(5), part(6), part(7), micros));
    known.map_or_else(
        || format!("{} {:02}:{:02}:{:02}.{micros:06}", day(bytes), part(5), part(6), part(7)),
        times::rfc3339,
    )
}

/// The length of what follows, a sign, days, hours, minutes, seconds and microseconds.
fn duration(bytes: &[u8]) -> String {
    let part = |at: usize| u32::from(bytes.get(at).copied().unwrap_or_default());
    let whole = |at: usize| {
        bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
    };
    let sign = if part(1) == 1 { "-" } else { "" };
    let hours = whole(2) * 24 + part(6);
    let micros = match whole(9) {
        0 => String::new(),
        micros => format!(".{micros:06}"),
    };
    format!("{sign}{hours:02}:{:02}:{:02}{micros}", part(7), part(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_numbers_of_every_width() {
        assert_eq!(signed(&[0xff]), -1);
        assert_eq!(signed(&[0xfe, 0xff, 0xff, 0xff]), -2);
        assert_eq!(signed(&i64::MIN.to_le_bytes()), i64::MIN);
        assert_eq!(unsigned(&u64::MAX.to_le_bytes()), u64::MAX);
        assert_eq!(small_float(&0.1_f32.to_le_bytes()).unwrap(), 0.1);
    }

    #[test]
    fn reads_dates_and_times() {
        assert_eq!(moment(&[4, 0xe8, 0x07, 5, 6]), "2024-05-06T00:00:00Z");
        assert_eq!(moment(&[11, 0xe8, 0x07, 5, 6, 7, 8, 9, 0x20, 0xa1, 7, 0]), "2024-05-06T07:08:09.500Z");
        assert_eq!(day(&[4, 0xe8, 0x07, 0, 10]), "2024-00-10");
        assert_eq!(moment(&[0]), "0000-00-00 00:00:00.000000");
        assert_eq!(duration(&[8, 1, 1, 0, 0, 0, 2, 3, 4]), "-26:03:04");
        assert_eq!(duration(&[0]), "00:00:00");
    }
}
