//! The binary.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: allocator::MiMalloc = allocator::MiMalloc;

fn main() -> ExitCode {
    app::cli::main()
}
