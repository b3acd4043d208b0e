//! The MCP server on stdio that the tests of `connectors/mcp` start: see `testkit::mcp::stdio`.

fn main() {
    testkit::mcp::stdio::main();
}
