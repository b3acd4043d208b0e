// Events of the server as they come, read from an answer: an EventSource could not say whom its page was drawn for.
import { unreached } from "./client";
import { readJson } from "./json";

export type StreamEvent = { type: string; id?: string; data: Record<string, unknown> };

export async function* eventsOf(response: Response): AsyncGenerator<StreamEvent> {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read().catch(unreached);
    if (done) return;
    text += value;
    const blocks = text.split(/\r?\n\r?\n/);
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = parse(block);
      if (event) yield event;
    }
  }
}

/** One event of a stream, as the HTML standard describes them. */
export function parse(block: string): StreamEvent | null {
  const lines = block.split(/\r?\n/);
  const field = (name: string) =>
    lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).replace(/^ /, ""));
  const data = field("data").join("\n");
  if (!data) return null;
  return { type: field("event")[0] ?? "message", id: field("id")[0], data: readJson(data) as Record<string, unknown> };
}
