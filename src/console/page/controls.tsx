/** Controls of forms, with labels: text, a choice, chips, a check box, a search field, a button to remove an entry. */

import type { ComponentChildren } from 'preact';
import { Field, type FieldProps } from './elements.tsx';
import { useWords } from './words/language.ts';

type Labelled = Omit<FieldProps, 'children'>;

export interface TextProps extends Labelled {
  readonly value: string | number;
  readonly type?: 'number';
  readonly inputMode?: 'numeric' | 'decimal' | 'url' | 'email';
  readonly name?: string;
  readonly placeholder?: string;
  readonly spellcheck?: boolean;
  readonly autocomplete?: 'off';
  readonly list?: string;
  readonly required?: boolean;
  readonly min?: string;
  readonly max?: number;
  readonly step?: string;
  onText(text: string): void;
}

/** `onText` is called after each typed character. */
export function TextField({ label, hint, violation, onText, ...input }: TextProps) {
  return (
    <Field label={label} hint={hint} violation={violation}>
      {(ids) => <input {...ids} type="text" onInput={({ currentTarget }) => onText(currentTarget.value)} {...input} />}
    </Field>
  );
}

export type Choices<Value extends string = string> = readonly (readonly [value: Value, text: string])[];

interface SelectProps {
  readonly value: string | undefined;
  readonly choices: Choices;
  readonly 'aria-label'?: string;
  onChoose(value: string): void;
}

export function Select({ choices, onChoose, ...select }: SelectProps) {
  return (
    <select {...select} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
      {choices.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}

export function SelectField({ label, hint, violation, ...select }: Labelled & SelectProps) {
  return (
    <Field label={label} hint={hint} violation={violation}>
      {(ids) => <Select {...ids} {...select} />}
    </Field>
  );
}

interface ChipsProps<Value extends string> {
  readonly label: string;
  readonly choices: readonly (readonly [value: Value, text: ComponentChildren])[];
  readonly chosen: readonly Value[];
  onPress(value: Value): void;
}

export function Chips<Value extends string>({ label, choices, chosen, onPress }: ChipsProps<Value>) {
  return (
    <div class="chips" role="group" aria-label={label}>
      {choices.map(([value, text]) => (
        <button
          key={value}
          type="button"
          class="chip"
          aria-pressed={chosen.includes(value)}
          onClick={() => onPress(value)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

/** Any number of the choices, in their order. */
export function ManyChips<Value extends string>({
  onChange,
  ...chips
}: Omit<ChipsProps<Value>, 'onPress'> & { onChange(chosen: readonly Value[]): void }) {
  const { choices, chosen } = chips;
  const toggle = (value: Value): void =>
    onChange(choices.flatMap(([one]) => (chosen.includes(one) === (one === value) ? [] : one)));
  return <Chips {...chips} onPress={toggle} />;
}

interface CheckProps {
  readonly checked: boolean;
  readonly role?: 'switch';
  readonly disabled?: boolean;
  readonly 'aria-label'?: string;
  readonly children?: ComponentChildren;
  onChange(isChecked: boolean): void;
}

export function Check({ children, onChange, ...input }: CheckProps) {
  return (
    <label class="check">
      <input type="checkbox" {...input} onChange={({ currentTarget }) => onChange(currentTarget.checked)} />
      {children}
    </label>
  );
}

interface SearchInputProps {
  readonly label: string;
  readonly name?: string;
  readonly value: string;
  onText(text: string): void;
}

export function SearchInput({ label, onText, ...input }: SearchInputProps) {
  const labels = { 'aria-label': label, placeholder: label };
  return <input type="search" {...labels} {...input} onInput={({ currentTarget }) => onText(currentTarget.value)} />;
}

export function RemoveButton({ what, onRemove }: { readonly what: string; onRemove(): void }) {
  const words = useWords();
  return (
    <button type="button" class="quiet" aria-label={words.removeOne(what)} onClick={onRemove}>
      ×
    </button>
  );
}
