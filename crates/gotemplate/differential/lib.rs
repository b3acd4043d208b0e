//! Holds only the test that compares this engine with another one.
