//! Compiles and renders any text over any JSON: neither may panic, hang or print differently.

#![no_main]

use gotemplate::{Options, Template};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &str)| {
    let (source, data) = input;
    let options = Options::default();
    let Ok(template) = Template::compile("fuzz", source, &options) else { return };
    let rendered = template.render_json(data);
    let again = Template::compile("fuzz", &template.to_string(), &options).expect("what it prints compiles");
    if let (Ok(one), Ok(two)) = (&rendered, &again.render_json(data)) {
        assert_eq!(one, two);
    }
});
