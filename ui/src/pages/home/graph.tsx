// The picture: three columns of boxes, and lines as thick as what flows along them.
import { useNavigate } from "@tanstack/react-router";
import type { Overview, TrafficNode } from "../../api/types";
import { serviceAddress } from "../../catalog/address";
import { healthOf } from "../../catalog/badges";
import { cut, visible } from "../../kit";
import css from "../../kit/show.module.css";
import { useWords } from "../../words";
import { useFormat } from "../../words/format";
import { BOX, layOut, type Placed } from "./layout";

export function Graph({ data }: { data: Overview }) {
  const words = useWords();
  const { columns, links, height, width } = layOut(data);
  const heads = [words.nav.doors, words.nav.tools, words.nav.services];
  return (
    // biome-ignore lint/a11y/useSemanticElements: a picture is no fieldset
    <svg className={css.graph} viewBox={`0 0 ${width} ${height}`} role="group" aria-label={words.home.graph}>
      {links.map((link) => (
        <path
          key={link.key}
          d={link.path}
          strokeWidth={link.width}
          strokeDasharray={link.isFailing ? "6 4" : undefined}
          className={link.isFailing ? css.failing : undefined}
        />
      ))}
      {columns.map((nodes, at) => (
        <g key={heads[at]}>
          <text x={nodes[0]?.x ?? BOX.left[at]} y={16} className={css.head}>
            {heads[at]}
          </text>
          {nodes.map((node) => (
            <Box key={node.node.id} placed={node} to={addressOf(at, node.node)} />
          ))}
        </g>
      ))}
    </svg>
  );
}

function addressOf(column: number, node: TrafficNode): string {
  const door = node.kind === "instance" ? `/ui/doors/${node.id}` : `/ui/calls?door=${encodeURIComponent(node.id)}`;
  return [door, `/ui/tools?q=${encodeURIComponent(node.name)}`, serviceOf(node)][column] ?? "/";
}

/** Of a service the id is its type and its id. */
function serviceOf({ id }: TrafficNode): string {
  const [type = "", ...rest] = id.split("/");
  return serviceAddress(type, rest.join("/"));
}

const marks: Record<string, string> = { ok: "✓", failing: "✕", disabled: "–" };

function Box({ placed: { node, x, y }, to }: { placed: Placed; to: string }) {
  const words = useWords();
  const format = useFormat();
  const navigate = useNavigate();
  const health = healthOf(node.health);
  const go = (event: React.MouseEvent) => {
    event.preventDefault();
    navigate({ href: to });
  };
  const label = words.home.node(visible(cut(node.name)), format.number(node.calls), format.number(node.errors));
  return (
    <a href={to} onClick={go} aria-description={label}>
      <rect x={x} y={y} width={BOX.width} height={BOX.height} rx={6} />
      <text x={x + 10} y={y + 20}>
        {marks[health] ? `${marks[health]} ` : ""}
        {cut(visible(node.name), 24)}
      </text>
      <text x={x + BOX.width - 10} y={y + 20} textAnchor="end" className={css.dim}>
        {format.number(node.calls)}
        {node.errors > 0 ? ` · ✕ ${format.number(node.errors)}` : ""}
      </text>
    </a>
  );
}
