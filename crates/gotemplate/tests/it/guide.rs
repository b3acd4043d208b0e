//! Every example of the guide renders what the guide says.

use gotemplate::{Options, Template};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides/response-templates.md");

/// The content of the fenced blocks in one language.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
    let fence = format!("\n```{language}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("\n```\n").next().unwrap()).collect()
}

/// HT-3.2 HT-3.3 HT-3.4 HT-3.6
#[test]
fn every_example_of_the_guide_holds() {
    let page = std::fs::read_to_string(PATH).unwrap();
    let (templates, data, outputs) =
        (blocks(&page, "gotemplate"), blocks(&page, "json"), blocks(&page, "text"));
    assert!(templates.len() >= 20, "the guide has {} examples", templates.len());
    assert_eq!((templates.len(), templates.len()), (data.len(), outputs.len()));
    let mut differing = Vec::new();
    for ((template, data), output) in templates.iter().zip(&data).zip(&outputs) {
        let rendered = Template::compile("guide", template, &Options::default())
            .and_then(|template| template.render_json(data))
            .unwrap_or_else(|error| panic!("{}", error.report()));
        if rendered.trim_end() != output.trim_end() {
            differing.push(format!("{template}\n--- the guide says\n{output}\n--- it is\n{rendered}"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n=====\n"));
}
