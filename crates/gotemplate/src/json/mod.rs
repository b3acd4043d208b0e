//! JSON text, read without losing big integers and written the way Go writes it.

mod read;
mod write;

pub(crate) use self::read::{read, read_copied};
pub(crate) use self::write::{Style, write};
