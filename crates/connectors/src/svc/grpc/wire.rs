//! The fields of a protobuf message as they stand on the wire.

/// A field: its number, and its bytes where it has a length.
#[derive(Debug)]
pub(super) struct Field<'a> {
    pub(super) number: u32,
    pub(super) content: Option<&'a [u8]>,
}

/// Fields one after the other; `None` for bytes that are none, which is also the end.
#[derive(Debug)]
pub(super) struct Wire<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Wire<'a> {
    type Item = Option<Field<'a>>;

    fn next(&mut self) -> Option<Option<Field<'a>>> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'a> Wire<'a> {
    fn field(&mut self) -> Option<Field<'a>> {
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).ok()?;
        let content = match key & 7 {
            0 => self.varint().map(|_| None)?,
            1 => self.bytes(8).map(|_| None)?,
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                Some(self.bytes(length)?)
            }
            5 => self.bytes(4).map(|_| None)?,
            // Groups are gone from descriptors since there are any.
            _ => return None,
        };
        Some(Field { number, content })
    }

    pub(super) fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.bytes(1)?.first().copied()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    pub(super) fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
}
