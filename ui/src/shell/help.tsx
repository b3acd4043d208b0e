// "?": the keys that do something.
import { Dialog, Facts } from "../kit";
import { useWords } from "../words";

export function Help({ open, onClose }: { open: boolean; onClose: () => void }) {
  const words = useWords();
  return (
    <Dialog title={words.shell.keyboard} open={open} onClose={onClose}>
      <Facts of={words.shell.keys.map(([key, does]) => [key, does] as [string, string])} />
    </Dialog>
  );
}
