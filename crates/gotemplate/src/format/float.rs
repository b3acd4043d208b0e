//! Floating-point numbers: the plain form, and Go's `%e %f %g %b %x`.

use crate::budget::Buffer;
use crate::error::Fault;

/// The shortest digits that mean this number, plain from 1e-6 up to below 1e21.
#[inline]
pub(crate) fn write_plain(buffer: &mut Buffer, float: f64) -> Result<(), Fault> {
    let magnitude = float.abs();
    if (1e-5..1e16).contains(&magnitude) {
        let mut digits = zmij::Buffer::new();
        let text = digits.format_finite(float);
        return buffer.push_str(text.strip_suffix(".0").unwrap_or(text));
    }
    if magnitude == 0.0 {
        return buffer.push_str(if float.is_sign_negative() { "-0" } else { "0" });
    }
    buffer.push_str(&plain(float))
}

/// [`write_plain`] as a string.
pub(crate) fn plain(float: f64) -> String {
    let exponent = if float == 0.0 { 0 } else { Digits::shortest(float).point - 1 };
    if float.is_finite() && !(-6..21).contains(&exponent) {
        // JSON writes the exponent without leading zeros.
        let (sign, digits) = (sign(float), Digits::shortest(float));
        let direction = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{}e{direction}{}", digits.scientific(), exponent.unsigned_abs());
    }
    fixed(float, None)
}

/// Decimal digits and how many of them stand before the point.
struct Digits {
    digits: String,
    point: i32,
}

impl Digits {
    fn shortest(float: f64) -> Self {
        Self::from_exponential(&format!("{:e}", float.abs()))
    }

    fn rounded(float: f64, significant: usize) -> Self {
        Self::from_exponential(&format!("{:.*e}", significant.max(1) - 1, float.abs()))
    }

    fn from_exponential(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let digits = mantissa.replace('.', "");
        Self { digits, point: exponent.parse::<i32>().unwrap_or(0) + 1 }
    }

    fn trimmed(mut self) -> Self {
        let kept = self.digits.trim_end_matches('0').len().max(1);
        self.digits.truncate(kept);
        self
    }

    fn scientific(&self) -> String {
        match self.digits.split_at(1) {
            (first, "") => first.to_owned(),
            (first, rest) => format!("{first}.{rest}"),
        }
    }
}

fn sign(float: f64) -> &'static str {
    if float.is_sign_negative() { "-" } else { "" }
}

/// `+Inf`, `-Inf` or `NaN`, if it is one of those.
pub(super) fn special(float: f64) -> Option<&'static str> {
    match float {
        _ if float.is_nan() => Some("NaN"),
        f64::INFINITY => Some("+Inf"),
        f64::NEG_INFINITY => Some("-Inf"),
        _ => None,
    }
}

/// `%f`; the shortest digits without a precision.
pub(super) fn fixed(float: f64, precision: Option<usize>) -> String {
    match (special(float), precision) {
        (Some(special), _) => special.to_owned(),
        (None, Some(precision)) => format!("{float:.precision$}"),
        (None, None) => format!("{float}"),
    }
}

/// `%e`; the shortest digits without a precision.
pub(super) fn exponential(float: f64, precision: Option<usize>) -> String {
    if let Some(special) = special(float) {
        return special.to_owned();
    }
    let digits = match precision {
        Some(precision) => Digits::rounded(float, precision + 1),
        None => Digits::shortest(float),
    };
    scientific(float, &digits)
}

fn scientific(float: f64, digits: &Digits) -> String {
    let exponent = if float == 0.0 { 0 } else { digits.point - 1 };
    let direction = if exponent < 0 { '-' } else { '+' };
    format!("{}{}e{direction}{:02}", sign(float), digits.scientific(), exponent.unsigned_abs())
}

/// `%g`; the shortest digits without a precision.
pub(super) fn general(float: f64, precision: Option<usize>) -> String {
    if let Some(special) = special(float) {
        return special.to_owned();
    }
    if float == 0.0 {
        return format!("{}0", sign(float));
    }
    let digits = match precision {
        None => Digits::shortest(float),
        Some(precision) => Digits::rounded(float, precision).trimmed(),
    };
    let count = i32::try_from(digits.digits.len()).unwrap_or(i32::MAX);
    let threshold = match precision {
        None => 6,
        Some(precision) => {
            let wanted = i32::try_from(precision.max(1)).unwrap_or(i32::MAX);
            // A precision beyond the digits there are does not push the threshold further.
            if wanted > count && count >= digits.point { count } else { wanted }
        }
    };
    let exponent = digits.point - 1;
    if exponent < -4 || exponent >= threshold {
        return scientific(float, &digits);
    }
    let decimals = usize::try_from(count - digits.point).unwrap_or(0);
    match precision {
        None => format!("{float}"),
        Some(_) => place(float, &digits, decimals),
    }
}

/// Digits written around the decimal point.
fn place(float: f64, digits: &Digits, decimals: usize) -> String {
    let mut text = String::from(sign(float));
    let before = usize::try_from(digits.point).unwrap_or(0);
    if before == 0 {
        text.push_str("0.");
        text.extend(std::iter::repeat_n('0', digits.point.unsigned_abs() as usize));
        text.push_str(&digits.digits);
        return text;
    }
    let whole = before.min(digits.digits.len());
    text.push_str(&digits.digits[..whole]);
    text.extend(std::iter::repeat_n('0', before - whole));
    if decimals > 0 {
        text.push('.');
        text.push_str(&digits.digits[whole..]);
    }
    text
}

/// `%b`: the mantissa and a power of two.
pub(super) fn binary(float: f64) -> String {
    if let Some(special) = special(float) {
        return special.to_owned();
    }
    let (mantissa, exponent) = parts(float);
    let direction = if exponent < 0 { "" } else { "+" };
    format!("{}{mantissa}p{direction}{exponent}", sign(float))
}

/// `%x`: hexadecimal with a power of two.
pub(super) fn hexadecimal(float: f64, precision: Option<usize>) -> String {
    if let Some(special) = special(float) {
        return special.to_owned();
    }
    let (mut mantissa, mut exponent) = parts(float);
    if mantissa == 0 {
        exponent = 0;
    } else {
        let shift = mantissa.leading_zeros() - 11;
        mantissa <<= shift;
        exponent += 52 - i32::try_from(shift).unwrap_or(0);
    }
    if let Some(precision) = precision.filter(|precision| *precision < 13) {
        let dropped = 52 - 4 * precision;
        let half = 1u64 << (dropped - 1);
        let (kept, tail) = (mantissa >> dropped, mantissa & ((1 << dropped) - 1));
        let up = tail > half || tail == half && kept & 1 == 1;
        mantissa = (kept + u64::from(up)) << dropped;
        if mantissa >> 53 == 1 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let digits = format!("{:013x}", mantissa & ((1 << 52) - 1));
    let digits = match precision {
        Some(precision) => format!("{digits:0<precision$.precision$}"),
        None => digits.trim_end_matches('0').to_owned(),
    };
    let point = if digits.is_empty() { "" } else { "." };
    let direction = if exponent < 0 { '-' } else { '+' };
    format!("{}0x{}{point}{digits}p{direction}{:02}", sign(float), mantissa >> 52, exponent.unsigned_abs())
}

/// The integer mantissa and the power of two that make up the number.
fn parts(float: f64) -> (u64, i32) {
    let bits = float.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    match i32::try_from(bits >> 52 & 0x7ff).unwrap_or(0) {
        0 => (fraction, -1074),
        exponent => (fraction | 1 << 52, exponent - 1075),
    }
}
