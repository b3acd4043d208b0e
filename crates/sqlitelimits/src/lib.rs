//! Limits of one SQLite connection: how large a text or blob may become, and what else a statement may take.
//!
//! sqlx lets others reach the connection's handle and has no functions for limits and memory, so that those of C must be called.

use libsqlite3_sys as ffi;
use sqlx::sqlite::LockedSqliteHandle;
use std::ffi::c_int;

/// Patterns of LIKE and GLOB that are longer take too long to compare.
const PATTERN_BYTES: c_int = 1000;

/// Lets no text, blob or row of the connection be larger than this, no pattern long, and no other file be attached. A
/// statement that makes a larger value fails with `SQLITE_TOOBIG`.
pub fn set(handle: &mut LockedSqliteHandle<'_>, value_bytes: usize) {
    let value_bytes = c_int::try_from(value_bytes).unwrap_or(c_int::MAX);
    let handle = handle.as_raw_handle();
    for (limit, most) in [
        (ffi::SQLITE_LIMIT_LENGTH, value_bytes),
        (ffi::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, PATTERN_BYTES),
        (ffi::SQLITE_LIMIT_ATTACHED, 0),
    ] {
        // SAFETY: the handle is open and locked for as long as `set` borrows it, and the function takes any numbers.
        #[expect(unsafe_code, reason = "a function of C, which sqlx does not offer")]
        unsafe {
            ffi::sqlite3_limit(handle.as_ptr(), limit, most);
        }
    }
}

/// What SQLite has allocated now, for all connections of this process together, in bytes.
#[must_use]
pub fn memory_used() -> i64 {
    // SAFETY: the function takes nothing, reads one number under a lock of its own, and may be called at any time.
    #[expect(unsafe_code, reason = "a function of C, which sqlx does not offer")]
    unsafe {
        ffi::sqlite3_memory_used()
    }
}
