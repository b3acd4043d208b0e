// What somebody is to decide: a question in words, or the call that an agent wants to make.
import type { Approval } from "../../api/types";
import { pretty } from "../../catalog/answer";
import { Code, Mono, Stack, visible } from "../../kit";
import { useWords } from "../../words";

type Asked = { agent: string; tool: string; uri: string; arguments: unknown };

export function Question({ title }: { title: Approval["title"] }) {
  const words = useWords();
  if (typeof title === "string") return <p>{visible(title)}</p>;
  const call = callOf(title);
  // Whoever says yes must read what is really there.
  if (!call) return <Code>{visible(pretty(title))}</Code>;
  return (
    <Stack gap="tight">
      <p>
        <bdi>{visible(words.flows.agentWants(call.agent, call.tool))}</bdi>
      </p>
      <Mono>{call.uri}</Mono>
      <Code>{visible(pretty(call.arguments))}</Code>
    </Stack>
  );
}

/** A flow's own expression may give anything: only what has all parts of a call is one. */
function callOf(title: Record<string, unknown>): Asked | null {
  const isCall = [title.agent, title.tool, title.uri].every((part) => typeof part === "string");
  return isCall && "arguments" in title ? (title as Asked) : null;
}
