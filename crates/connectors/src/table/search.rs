//! Searching: what the index finds, as it stands below the mount.

use super::{TableTools, mounted, output};
use document::Pointer;
use serde::Deserialize;
use serde_json::{Value, json};
use tool::{Context, Error, Hit, Output, Result, SearchRequest};

/// How much may be asked for.
const MAX_RESULTS: usize = 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchArguments {
    query: String,
    #[serde(default = "five")]
    top_k: usize,
}

fn five() -> usize {
    5
}

impl TableTools {
    pub(super) async fn search(
        &self,
        cx: &Context,
        mount: Pointer,
        arguments: SearchArguments,
    ) -> Result<Output> {
        let search =
            self.search.as_ref().ok_or_else(|| Error::unsupported("there is no search without a server"))?;
        let table = self.read(cx).await?;
        mounted(&table.document, &mount)?;
        let SearchArguments { query, top_k } = arguments;
        if !(1..=MAX_RESULTS).contains(&top_k) {
            let message = format!("'top_k' must be 1 to {MAX_RESULTS}");
            return Err(Error::invalid_input(message).of_parameter("top_k"));
        }
        let request = SearchRequest {
            table: self.table.clone(),
            document: table.document,
            mount: mount.clone(),
            query: query.clone(),
            limit: top_k,
        };
        let answer = search.search(&cx.tenant, request).await?;
        let results: Vec<Value> = answer.hits.iter().map(|hit| self.shown(hit, &mount)).collect();
        let mut shown = json!({ "query": query, "results": results });
        if let Some(remark) = answer.remark {
            shown["remark"] = remark.into();
        }
        output(&shown)
    }

    fn shown(&self, hit: &Hit, mount: &Pointer) -> Value {
        let pointer = hit.pointer.to_string();
        let mount = mount.to_string();
        json!({
            "score": hit.score,
            "json_path": pointer.strip_prefix(&mount).unwrap_or(&pointer),
            "chunk": {
                "table_id": self.table.as_str(),
                "json_pointer": pointer,
                "chunk_text": hit.text,
                "char_start": hit.char_start,
                "char_end": hit.char_end,
                "chunk_index": hit.chunk_index,
                "total_chunks": hit.total_chunks,
                "content_hash": hit.content_hash,
            },
        })
    }
}
