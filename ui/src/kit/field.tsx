// Labelled controls. Every one takes what the server says is wrong with it.
import { CircleAlert } from "lucide-react";
import { Switch as RadixSwitch } from "radix-ui";
import { type InputHTMLAttributes, type ReactNode, type TextareaHTMLAttributes, useId } from "react";
import css from "./control.module.css";
import { names } from "./css";
import { cut, Name, named, visible } from "./name";

export type FieldProps = { label: string; hint?: ReactNode; error?: string; required?: boolean; hideLabel?: boolean };
type Described = { id: string; "aria-describedby"?: string; "aria-invalid"?: true; "aria-required"?: true };

/** Label, control, hint and problem, tied together for everybody. */
export function Field({ children, ...of }: FieldProps & { children: (described: Described) => ReactNode }) {
  const id = useId();
  const described = [of.hint && `${id}-hint`, of.error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div className={css.field}>
      <label htmlFor={id} className={of.hideLabel ? "hidden" : css.label}>
        <Name>{of.label}</Name>
      </label>
      {children({
        id,
        "aria-describedby": described || undefined,
        "aria-invalid": of.error ? true : undefined,
        "aria-required": of.required ? true : undefined,
      })}
      {of.hint && (
        <span id={`${id}-hint`} className={css.hint}>
          {of.hint}
        </span>
      )}
      {of.error && <FieldError id={`${id}-error`}>{of.error}</FieldError>}
    </div>
  );
}

export function FieldError({ id, children }: { id?: string; children: string }) {
  return (
    <span id={id} className={css.error}>
      <CircleAlert size={14} aria-hidden />
      {children}
    </span>
  );
}

export function apart<T extends FieldProps>(props: T): [FieldProps, Omit<T, keyof FieldProps>] {
  const { label, hint, error, required, hideLabel, ...rest } = props;
  return [{ label, hint, error, required, hideLabel }, rest];
}

export type Value = { value: string; onValue: (value: string) => void };
type TextProps = FieldProps & Value & Omit<InputHTMLAttributes<HTMLInputElement>, "value" | "required">;

export function TextField(props: TextProps) {
  const [field, { onValue, ...rest }] = apart(props);
  return (
    <Field {...field}>
      {(described) => (
        <input
          autoComplete="off"
          spellCheck={false}
          {...rest}
          {...described}
          className={css.input}
          onChange={(event) => onValue(event.target.value)}
        />
      )}
    </Field>
  );
}

type AreaProps = FieldProps &
  Value & { code?: boolean } & Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, "value" | "required">;

export function AreaField(props: AreaProps) {
  const [field, { onValue, code, ...rest }] = apart(props);
  return (
    <Field {...field}>
      {(described) => (
        <textarea
          spellCheck={!code}
          {...rest}
          {...described}
          className={names(css.input, code && css.code)}
          onChange={(event) => onValue(event.target.value)}
        />
      )}
    </Field>
  );
}

export type Option = { value: string; label: string };
type SelectProps = FieldProps & Value & { options: Option[]; disabled?: boolean };

export function SelectField(props: SelectProps) {
  const [field, { value, onValue, options, disabled }] = apart(props);
  return (
    <Field {...field}>
      {(described) => (
        <select
          {...described}
          className={css.input}
          value={value}
          disabled={disabled}
          onChange={(event) => onValue(event.target.value)}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {visible(cut(option.label))}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

type CheckProps = {
  label: string;
  checked: boolean;
  onChecked: (checked: boolean) => void;
  disabled?: boolean;
  hideLabel?: boolean;
};

export function CheckField({ label, checked, onChecked, disabled, hideLabel }: CheckProps) {
  return (
    <label className={css.check}>
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChecked(event.target.checked)}
      />
      <span className={hideLabel ? "hidden" : undefined}>
        <Name>{label}</Name>
      </span>
    </label>
  );
}

export function SwitchField(props: CheckProps & { hint?: ReactNode; error?: string }) {
  const { label, checked, onChecked, disabled, hideLabel, hint, error } = props;
  const id = useId();
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  const control = (
    <span className={css.check}>
      <RadixSwitch.Root
        id={id}
        aria-label={label}
        aria-describedby={described || undefined}
        aria-invalid={error ? true : undefined}
        className={css.switch}
        checked={checked}
        disabled={disabled}
        onCheckedChange={onChecked}
      >
        <RadixSwitch.Thumb className={css.thumb} />
      </RadixSwitch.Root>
      {!hideLabel && <label htmlFor={id}>{label}</label>}
    </span>
  );
  if (!described) return control;
  return (
    <div className={css.field}>
      {control}
      {hint && (
        <span id={`${id}-hint`} className={css.hint}>
          {hint}
        </span>
      )}
      {error && <FieldError id={`${id}-error`}>{error}</FieldError>}
    </div>
  );
}

/** One of a few, all in sight. */
export function Choices(props: { label: string; value: string; options: Option[]; onValue: (value: string) => void }) {
  const name = useId();
  return (
    <fieldset>
      <legend className={css.legend}>{props.label}</legend>
      <div className={css.choices}>
        {props.options.map((option) => (
          <label key={option.value} className={css.choice}>
            <input
              type="radio"
              name={name}
              value={option.value}
              checked={option.value === props.value}
              onChange={() => props.onValue(option.value)}
            />
            {named(option.label)}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** Fields that belong together below a word. */
export function Group({ label, children, hint, error }: FieldProps & { children: ReactNode }) {
  const id = useId();
  return (
    <fieldset aria-invalid={error ? true : undefined} aria-describedby={error ? `${id}-error` : undefined}>
      <legend className={css.legend}>{label}</legend>
      <div className={css.group}>
        {hint && <span className={css.hint}>{hint}</span>}
        {error && <FieldError id={`${id}-error`}>{error}</FieldError>}
        {children}
      </div>
    </fieldset>
  );
}
