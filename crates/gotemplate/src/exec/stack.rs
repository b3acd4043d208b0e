//! A stack whose first entries need no allocation.

/// The first `N` entries live inside, the others in a vector.
pub(super) struct Stack<T, const N: usize> {
    inline: [T; N],
    spilled: Vec<T>,
    len: usize,
}

impl<T: Default, const N: usize> Stack<T, N> {
    pub(super) fn new() -> Self {
        Self { inline: std::array::from_fn(|_| T::default()), spilled: Vec::new(), len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Makes room for `more` default entries at the end.
    pub(super) fn extend(&mut self, more: usize) {
        self.len += more;
        if self.len > N {
            self.spilled.resize_with(self.len - N, T::default);
        }
    }

    /// Drops the entries from `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        for at in len..self.len.min(N) {
            self.inline[at] = T::default();
        }
        self.spilled.truncate(len.saturating_sub(N));
        self.len = len;
    }

    pub(super) fn push(&mut self, entry: T) {
        if self.len < N {
            self.inline[self.len] = entry;
        } else {
            self.spilled.push(entry);
        }
        self.len += 1;
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        if self.len < N { Some(std::mem::take(&mut self.inline[self.len])) } else { self.spilled.pop() }
    }

    #[inline]
    pub(super) fn last_mut(&mut self) -> Option<&mut T> {
        let at = self.len.checked_sub(1)?;
        self.get_mut(at)
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<&T> {
        if at < N { self.inline.get(at) } else { self.spilled.get(at - N) }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        if at < N { self.inline.get_mut(at) } else { self.spilled.get_mut(at - N) }
    }
}
