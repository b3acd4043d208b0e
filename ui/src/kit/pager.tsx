// Pages of a list that is too long to be asked for at once.
import { useWords } from "../words";
import { Button } from "./button";
import { Muted, Row } from "./layout";

type PagerProps = { page: number; total: number; limit: number; onPage: (page: number) => void };

export function Pager({ page, total, limit, onPage }: PagerProps) {
  const words = useWords();
  const pages = Math.max(1, Math.ceil(total / limit));
  if (pages === 1) return null;
  return (
    <Row>
      <Button disabled={page <= 1} onClick={() => onPage(page - 1)}>
        {words.act.previous}
      </Button>
      <Muted>{words.state.page(page, pages)}</Muted>
      <Button disabled={page >= pages} onClick={() => onPage(page + 1)}>
        {words.act.next}
      </Button>
    </Row>
  );
}
