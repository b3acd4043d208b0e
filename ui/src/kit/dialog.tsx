// What lies over the page: dialogs, questions before something is deleted, menus.
import { Check, X } from "lucide-react";
import { AlertDialog, DropdownMenu, Dialog as RadixDialog } from "radix-ui";
import { type ReactNode, useRef, useState } from "react";
import { useWords } from "../words";
import { Button, IconButton } from "./button";
import { names } from "./css";
import { cut, Name, visible } from "./name";
import css from "./overlay.module.css";
import { useDialogKey } from "./submit-key";

type DialogProps = {
  title: string;
  open: boolean;
  onClose: () => void;
  children: ReactNode;
  wide?: boolean;
  /** What Enter does in a field of one line, and Ctrl or ⌘ Enter anywhere. */
  onSubmit?: () => void;
};

export function Dialog({ title, open, onClose, children, wide, onSubmit }: DialogProps) {
  const words = useWords();
  const onKeyDown = useDialogKey(onSubmit);
  const opener = useRef<Element | null>(null);
  const remember = () => {
    opener.current = document.activeElement;
  };
  // To where one came from; what is gone by then leaves the page itself.
  const giveBack = (event: Event) => {
    event.preventDefault();
    const from = opener.current?.isConnected ? opener.current : document.getElementById("content");
    (from as HTMLElement | null)?.focus();
  };
  return (
    <RadixDialog.Root open={open} onOpenChange={(isOpen) => !isOpen && onClose()}>
      <RadixDialog.Portal>
        <RadixDialog.Overlay className={css.veil} />
        <RadixDialog.Content
          className={names(css.dialog, wide && css.wide)}
          aria-describedby={undefined}
          onKeyDown={onKeyDown}
          onOpenAutoFocus={remember}
          onCloseAutoFocus={giveBack}
        >
          <RadixDialog.Title asChild>
            <h2>
              <Name>{title}</Name>
            </h2>
          </RadixDialog.Title>
          {children}
          <RadixDialog.Close asChild>
            <IconButton className={css.close} label={words.act.close} icon={<X size={16} />} />
          </RadixDialog.Close>
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  );
}

type DeleteProps = {
  what: string;
  onDelete: () => Promise<unknown> | unknown;
  detail?: string;
  label?: string;
  /** Another question than whether to delete it. */
  question?: string;
};

/** The button "Delete" and its question; nothing goes without a yes. */
export function DeleteButton({ what, onDelete, detail, label, question }: DeleteProps) {
  const words = useWords();
  const [open, setOpen] = useState(false);
  return (
    <AlertDialog.Root open={open} onOpenChange={setOpen}>
      <AlertDialog.Trigger asChild>
        <Button look="danger">{label ?? words.act.delete}</Button>
      </AlertDialog.Trigger>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className={css.veil} />
        <AlertDialog.Content className={css.dialog}>
          <AlertDialog.Title asChild>
            <h2>{question ?? words.ask.delete(visible(cut(what)))}</h2>
          </AlertDialog.Title>
          <AlertDialog.Description>{detail ?? words.ask.forEver}</AlertDialog.Description>
          <div style={{ display: "flex", gap: "inherit", justifyContent: "flex-end" }}>
            <AlertDialog.Cancel asChild>
              <Button>{words.act.cancel}</Button>
            </AlertDialog.Cancel>
            <AlertDialog.Action asChild>
              <Button look="danger" onClick={() => onDelete()}>
                {label ?? words.act.delete}
              </Button>
            </AlertDialog.Action>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}

type MenuProps = { label: string; icon: ReactNode; children: ReactNode };

export function Menu({ label, icon, children }: MenuProps) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>
        <IconButton label={label} icon={icon} />
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className={css.menu} align="end" sideOffset={4}>
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

type RadioProps = { value: string; options: { value: string; label: string }[]; onValue: (value: string) => void };

export function MenuRadio({ value, options, onValue }: RadioProps) {
  return (
    <DropdownMenu.RadioGroup value={value} onValueChange={onValue}>
      {options.map((option) => (
        <DropdownMenu.RadioItem key={option.value} value={option.value} className={css.item}>
          <span className={css.tick}>
            <DropdownMenu.ItemIndicator>
              <Check size={14} aria-hidden />
            </DropdownMenu.ItemIndicator>
          </span>
          {option.label}
        </DropdownMenu.RadioItem>
      ))}
    </DropdownMenu.RadioGroup>
  );
}

export function MenuItem({ children, onSelect }: { children: ReactNode; onSelect: () => void }) {
  return (
    <DropdownMenu.Item className={css.item} onSelect={onSelect}>
      {children}
    </DropdownMenu.Item>
  );
}

export function MenuNote({ children }: { children: ReactNode }) {
  return <DropdownMenu.Label className={css.note}>{children}</DropdownMenu.Label>;
}
