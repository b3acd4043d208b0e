// Buttons and links.
import { Link as RouterLink } from "@tanstack/react-router";
import type { ButtonHTMLAttributes, MouseEvent, ReactNode, Ref } from "react";
import css from "./control.module.css";
import { names } from "./css";
import { named } from "./name";

type Look = "plain" | "primary" | "danger" | "ghost";
type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  look?: Look;
  icon?: ReactNode;
  ref?: Ref<HTMLButtonElement>;
};

const looks: Record<Look, string | undefined> = {
  plain: "",
  primary: css.primary,
  danger: css.danger,
  ghost: css.ghost,
};

/** A button that waits keeps the focus: only `disabled` would lose it. */
function waiting({ disabled, onClick, ...rest }: ButtonHTMLAttributes<HTMLButtonElement>) {
  if (!disabled) return { ...rest, onClick };
  return { ...rest, "aria-disabled": true, onClick: (event: MouseEvent) => event.preventDefault() };
}

export function Button({ look = "plain", icon, children, className, ...rest }: ButtonProps) {
  return (
    <button type="button" {...waiting(rest)} className={names(css.button, looks[look], className)}>
      {icon}
      {children}
    </button>
  );
}

/** A button that is only a picture; its name is said and shown as a hint. */
export function IconButton({ label, icon, ...rest }: ButtonProps & { label: string }) {
  const className = names(css.button, css.ghost, css.icon, rest.className);
  return (
    <button type="button" aria-label={label} title={label} {...rest} className={className}>
      {icon}
    </button>
  );
}

type LinkProps = {
  to: string;
  search?: Record<string, unknown>;
  children: ReactNode;
  className?: string;
  "aria-label"?: string;
};

export function Link({ to, search, children, ...rest }: LinkProps) {
  return (
    <RouterLink to={to as string} search={(search ?? {}) as never} {...rest}>
      {named(children)}
    </RouterLink>
  );
}

/** A link that looks like a button, because it starts something on another page. */
export function LinkButton({ look = "plain", icon, children, ...rest }: LinkProps & { look?: Look; icon?: ReactNode }) {
  return (
    <Link {...rest} className={names(css.button, looks[look])}>
      {icon}
      {children}
    </Link>
  );
}
