// "Copy": puts a text where others can take it from, and says so.
import { Copy } from "lucide-react";
import { useWords } from "../words";
import { Button } from "./button";
import { toast } from "./toast";

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const words = useWords();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      copyTheOldWay(text);
    }
    toast(words.done.copied);
  };
  return (
    <Button icon={<Copy size={14} aria-hidden />} onClick={copy}>
      {label ?? words.act.copy}
    </Button>
  );
}

/** Pages that did not come over HTTPS or from this machine have no clipboard of their own. */
function copyTheOldWay(text: string) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "hidden";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
