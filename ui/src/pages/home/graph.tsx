// The picture: three columns of boxes, and lines as thick as what flows along them.
import { useNavigate } from "@tanstack/react-router";
import { CircleCheck, CircleDashed, CircleX, type LucideIcon } from "lucide-react";
import type { Overview, TrafficNode } from "../../api/types";
import { serviceAddress } from "../../catalog/address";
import { healthOf } from "../../catalog/badges";
import { cut, visible } from "../../kit";
import css from "../../kit/show.module.css";
import { stateWord, useWords } from "../../words";
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

/** A picture, a word and a colour, none of them alone. */
const looks: Record<string, [LucideIcon, string | undefined]> = {
  ok: [CircleCheck, css.ok],
  failing: [CircleX, css.fail],
  disabled: [CircleDashed, css.idle],
};
const ICON = 14;
const INSET = 10;

function Box({ placed: { node, x, y }, to }: { placed: Placed; to: string }) {
  const words = useWords();
  const format = useFormat();
  const navigate = useNavigate();
  const health = healthOf(node.health);
  const [Icon, tone] = looks[health] ?? [];
  const go = (event: React.MouseEvent) => {
    event.preventDefault();
    navigate({ href: to });
  };
  const [calls, errors] = [format.number(node.calls), format.number(node.errors)];
  const label = words.home.node(visible(cut(node.name)), calls, errors);
  const figures = node.errors > 0 ? words.home.figuresFailed(calls, errors) : words.home.figures(calls);
  const begin = x + INSET;
  return (
    <a href={to} onClick={go} aria-description={label}>
      <rect x={x} y={y} width={BOX.width} height={BOX.height} rx={6} />
      <text x={begin} y={y + 19}>
        {cut(visible(node.name), 32)}
      </text>
      {Icon && <Icon className={tone} x={begin} y={y + 25} size={ICON} aria-hidden />}
      <text x={Icon ? begin + ICON + INSET / 2 : begin} y={y + 36} className={css.dim}>
        {Icon && <tspan className={tone}>{stateWord(words, health)}</tspan>}
        {Icon ? ` · ${figures}` : figures}
      </text>
    </a>
  );
}
