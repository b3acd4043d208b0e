//! What PostgreSQL sends in its binary format, as JSON.

use super::times;
use crate::db::rows::{Cell, Cells};
use sqlx::postgres::{PgTypeInfo, PgTypeKind, PgValueRef};
use sqlx::{TypeInfo, ValueRef};
use std::error::Error as StdError;
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

type Misread = Box<dyn StdError + Send + Sync>;

/// How the values of one column are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reader {
    Boolean,
    Integer,
    /// The number of something in a catalog, which has no sign.
    Oid,
    Float,
    Numeric,
    Text,
    Bytes,
    Json,
    JsonBinary,
    Uuid,
    Date,
    Time,
    TimeWithZone,
    Moment,
    Interval,
    Network,
    Money,
    Nothing,
    List(Box<Self>),
    /// A type whose binary format we do not know; statements ask for its text instead.
    Unknown,
}

impl Reader {
    /// The one for a type, known by its number where it is built in.
    pub(super) fn of(known: &PgTypeInfo) -> Self {
        match known.oid().map_or(0, |oid| oid.0) {
            16 => Self::Boolean,
            20 | 21 | 23 => Self::Integer,
            26 => Self::Oid,
            700 | 701 => Self::Float,
            1700 => Self::Numeric,
            18 | 19 | 25 | 142 | 705 | 1042 | 1043 => Self::Text,
            17 => Self::Bytes,
            114 => Self::Json,
            3802 => Self::JsonBinary,
            2950 => Self::Uuid,
            1082 => Self::Date,
            1083 => Self::Time,
            1266 => Self::TimeWithZone,
            1114 | 1184 => Self::Moment,
            1186 => Self::Interval,
            650 | 869 => Self::Network,
            790 => Self::Money,
            2278 => Self::Nothing,
            _ => match known.kind() {
                PgTypeKind::Array(element) => Self::List(Box::new(Self::of(element))),
                PgTypeKind::Enum(_) => Self::Text,
                PgTypeKind::Domain(base) => Self::of(base),
                _ if known.name().eq_ignore_ascii_case("citext") => Self::Text,
                _ => Self::Unknown,
            },
        }
    }

    /// Whether it reads what there is, so that nobody need ask for a text instead.
    pub(super) fn is_known(&self) -> bool {
        match self {
            Self::List(element) => element.is_known(),
            reader => *reader != Self::Unknown,
        }
    }

    pub(super) fn write(&self, value: &PgValueRef<'_>, cells: &mut Cells<'_>) -> Result<(), Misread> {
        if value.is_null() {
            if let Some(mut cell) = cells.next(4) {
                cell.null();
            }
            return Ok(());
        }
        let bytes = value.as_bytes()?;
        match cells.next(bytes.len()) {
            Some(mut cell) => self.write_bytes(bytes, &mut cell),
            None => Ok(()),
        }
    }

    fn write_bytes(&self, bytes: &[u8], cell: &mut Cell<'_>) -> Result<(), Misread> {
        match self {
            Self::Boolean => cell.boolean(bytes.first().is_some_and(|byte| *byte != 0)),
            Self::Integer => cell.integer(integer(bytes)?),
            Self::Oid => cell.integer(u32::from_be_bytes(array(bytes)?).into()),
            Self::Float => cell.float(float(bytes)?),
            Self::Numeric => cell.text(&numeric(bytes)?),
            Self::Text => cell.text(&String::from_utf8_lossy(bytes)),
            Self::Bytes | Self::Unknown => cell.bytes(bytes),
            Self::Json => cell.json(&String::from_utf8_lossy(bytes)),
            // A version stands in front.
            Self::JsonBinary => cell.json(&String::from_utf8_lossy(bytes.get(1..).unwrap_or_default())),
            Self::Uuid => cell.text(&uuid(bytes)),
            Self::Date => cell.text(&times::date_2000(i32::from_be_bytes(array(bytes)?))),
            Self::Time => cell.text(&times::time_of_day(i64::from_be_bytes(array(bytes)?))),
            Self::TimeWithZone => cell.text(&time_with_zone(bytes)?),
            Self::Moment => cell.text(&times::instant_2000(i64::from_be_bytes(array(bytes)?))),
            Self::Interval => cell.text(&interval(bytes)?),
            Self::Network => cell.text(&network(bytes)?),
            Self::Money => cell.text(&money(i64::from_be_bytes(array(bytes)?))),
            Self::Nothing => cell.null(),
            Self::List(element) => list(element, bytes, cell)?,
        }
        Ok(())
    }
}

fn array<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Misread> {
    bytes.get(..N).and_then(|head| head.try_into().ok()).ok_or_else(|| Misread::from("a value is too short"))
}

fn integer(bytes: &[u8]) -> Result<i64, Misread> {
    Ok(match bytes.len() {
        2 => i16::from_be_bytes(array(bytes)?).into(),
        4 => i32::from_be_bytes(array(bytes)?).into(),
        _ => i64::from_be_bytes(array(bytes)?),
    })
}

fn float(bytes: &[u8]) -> Result<f64, Misread> {
    if bytes.len() != 4 {
        return Ok(f64::from_be_bytes(array(bytes)?));
    }
    // The shortest text of the small one is what people wrote; its exact value has noise behind it.
    let small = f32::from_be_bytes(array(bytes)?);
    Ok(small.to_string().parse().unwrap_or(f64::from(small)))
}

/// A decimal number: groups of four digits, the first of which has the weight 10000^weight.
fn numeric(bytes: &[u8]) -> Result<String, Misread> {
    let word = |index: usize| -> Result<u16, Misread> {
        Ok(u16::from_be_bytes(array(bytes.get(index * 2..).unwrap_or_default())?))
    };
    let (count, weight, sign, scale) =
        (usize::from(word(0)?), word(1)? as i16, word(2)?, usize::from(word(3)?));
    match sign {
        0xc000 => return Ok("NaN".to_owned()),
        0xd000 => return Ok("Infinity".to_owned()),
        0xf000 => return Ok("-Infinity".to_owned()),
        _ => {}
    }
    let weight = i32::from(weight);
    let group = |at: i32| -> Result<u16, Misread> {
        let index = usize::try_from(weight - at).ok().filter(|index| *index < count);
        index.map_or(Ok(0), |index| word(4 + index))
    };
    let mut text = String::from(if sign == 0x4000 { "-" } else { "" });
    match weight {
        ..0 => text.push('0'),
        _ => write!(text, "{}", group(weight)?)?,
    }
    for at in (0..weight).rev() {
        write!(text, "{:04}", group(at)?)?;
    }
    if scale > 0 {
        text.push('.');
        let end = text.len() + scale;
        let mut at = -1;
        while text.len() < end {
            write!(text, "{:04}", group(at)?)?;
            at -= 1;
        }
        text.truncate(end);
    }
    Ok(text)
}

fn uuid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn time_with_zone(bytes: &[u8]) -> Result<String, Misread> {
    let micros = i64::from_be_bytes(array(bytes)?);
    // In seconds west of Greenwich.
    let west = i32::from_be_bytes(array(bytes.get(8..).unwrap_or_default())?);
    let sign = if west > 0 { '-' } else { '+' };
    let minutes = west.abs() / 60;
    Ok(format!("{}{sign}{:02}:{:02}", times::time_of_day(micros), minutes / 60, minutes % 60))
}

fn interval(bytes: &[u8]) -> Result<String, Misread> {
    let micros = i64::from_be_bytes(array(bytes)?);
    let days = i32::from_be_bytes(array(bytes.get(8..).unwrap_or_default())?);
    let months = i32::from_be_bytes(array(bytes.get(12..).unwrap_or_default())?);
    Ok(times::interval(months, days, micros))
}

/// An address with its prefix: family, bits, whether it is a network, length, bytes.
fn network(bytes: &[u8]) -> Result<String, Misread> {
    let [_, bits, is_network, length] = array::<4>(bytes)?;
    let rest = bytes.get(4..).unwrap_or_default();
    let (address, whole) = match length {
        4 => (Ipv4Addr::from(array::<4>(rest)?).to_string(), 32),
        _ => (Ipv6Addr::from(array::<16>(rest)?).to_string(), 128),
    };
    Ok(if bits == whole && is_network == 0 { address } else { format!("{address}/{bits}") })
}

fn money(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", cents.unsigned_abs() / 100, cents.unsigned_abs() % 100)
}

/// Dimensions, a flag, the element's type; each dimension's length and first index; then the elements.
fn list(element: &Reader, bytes: &[u8], cell: &mut Cell<'_>) -> Result<(), Misread> {
    let number = |at: usize| -> Result<i32, Misread> {
        Ok(i32::from_be_bytes(array(bytes.get(at..).unwrap_or_default())?))
    };
    let dimensions = usize::try_from(number(0)?).unwrap_or_default();
    let lengths: Vec<i32> = (0..dimensions).map(|index| number(12 + index * 8)).collect::<Result<_, _>>()?;
    let mut at = 12 + dimensions * 8;
    let mut next = |cell: &mut Cell<'_>| -> Result<(), Misread> {
        let length = number(at)?;
        at += 4;
        let Ok(length) = usize::try_from(length) else {
            cell.null();
            return Ok(());
        };
        let value = bytes.get(at..at + length).ok_or("a list is too short")?;
        at += length;
        element.write_bytes(value, cell)
    };
    write_dimension(&lengths, &mut next, cell)
}

fn write_dimension(
    lengths: &[i32],
    next: &mut dyn FnMut(&mut Cell<'_>) -> Result<(), Misread>,
    cell: &mut Cell<'_>,
) -> Result<(), Misread> {
    let Some((length, inner)) = lengths.split_first() else {
        cell.raw("[]");
        return Ok(());
    };
    cell.raw("[");
    for index in 0..*length {
        if index > 0 {
            cell.raw(",");
        }
        match inner {
            [] => next(cell)?,
            inner => write_dimension(inner, next, cell)?,
        }
    }
    cell.raw("]");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(weight: i16, sign: u16, scale: u16, digits: &[u16]) -> Vec<u8> {
        let head = [digits.len() as u16, weight as u16, sign, scale];
        head.iter().chain(digits).flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn reads_decimals_without_loss() {
        for (weight, sign, scale, digits, expected) in [
            (0, 0, 2, &[12, 3400][..], "12.34"),
            (1, 0x4000, 4, &[1, 2345, 6789], "-12345.6789"),
            (-1, 0, 2, &[100], "0.01"),
            (-2, 0, 8, &[1], "0.00000001"),
            (2, 0, 0, &[1], "100000000"),
            (0, 0, 0, &[], "0"),
            (0, 0xc000, 0, &[], "NaN"),
        ] {
            assert_eq!(numeric(&groups(weight, sign, scale, digits)).unwrap(), expected);
        }
        assert!(numeric(&[0]).is_err());
    }

    #[test]
    fn refuses_values_that_are_cut() {
        assert!(integer(&[1]).is_err() && float(&[]).is_err() && interval(&[0; 9]).is_err());
        assert_eq!(money(-105), "-1.05");
        assert_eq!(network(&[2, 24, 0, 4, 10, 0, 0, 1]).unwrap(), "10.0.0.1/24");
        assert_eq!(network(&[2, 32, 0, 4, 10, 0, 0, 1]).unwrap(), "10.0.0.1");
    }
}
