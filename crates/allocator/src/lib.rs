//! The allocator of the program, and how it gives back what nobody uses.

pub use mimalloc::MiMalloc;

/// Gives memory that nobody uses back to the machine. The allocator does so by itself only while others allocate: after one
/// large message, a server that has nothing to do would keep several times its size.
#[expect(unsafe_code, reason = "the binding has no function of its own for it")]
pub fn give_back() {
    // SAFETY: it takes no pointer, and may be called from any thread at any time.
    unsafe { libmimalloc_sys::mi_collect(true) }
}
