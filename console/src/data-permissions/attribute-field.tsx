import { JsonInput, MultiSelect, NumberInput, Select, TagsInput, TextInput } from '@mantine/core';
import { useState } from 'react';
import { parseJson } from '../../../src/lib/exact-json.ts';
import { type Attribute, foreignIn, isSame, misfitOf, textOf } from './declared.ts';

/** More choices are found by typing. */
const MAX_LISTED = 200;

type Props = {
  attribute: Attribute;
  /** Undefined: not set. */
  value: unknown;
  /** What the service says is wrong. */
  fault: string | undefined;
  onChange: (value: unknown) => void;
};

/** An input for the value of an attribute, by its type. An empty one sets no value. */
export const AttributeField = ({ attribute, value, fault, onChange }: Props) => {
  const { title, description, isRequired, kind, fallback } = attribute;
  const misfit = misfitOf(attribute, value);
  const foreign = foreignIn(attribute, value);
  const ownFault = foreign.length > 0 ? `is not among the choices: ${textOf(foreign)}` : misfit;
  const error = fault ?? ownFault;
  const isUnset = value === undefined;
  const field = {
    label: title,
    description: [description, !isUnset || fallback === undefined ? '' : `Default: ${textOf(fallback)}.`]
      .filter(Boolean)
      .join(' '),
    withAsterisk: isRequired && fallback === undefined,
    ...(error && { error: `${title} ${error}` }),
  };
  if (misfit !== null || kind === 'json') return <JsonField {...field} value={value} onChange={onChange} />;
  if (kind === 'choices' || kind === 'choice') return <Choices {...{ attribute, field, value, onChange }} />;
  if (kind === 'tags')
    return (
      <TagsInput
        {...field}
        value={isUnset ? [] : (value as string[]).map(String)}
        onChange={(items) => onChange(items.length === 0 ? undefined : items)}
      />
    );
  if (kind === 'flag')
    return (
      <Select
        {...field}
        allowDeselect={false}
        data={['Not set', 'Yes', 'No']}
        value={isUnset ? 'Not set' : value === true ? 'Yes' : 'No'}
        onChange={(choice) => onChange(choice === 'Not set' ? undefined : choice === 'Yes')}
      />
    );
  if (kind === 'number' || kind === 'integer')
    return <NumberField {...field} isInteger={kind === 'integer'} value={value} onChange={onChange} />;
  return (
    <TextInput
      {...field}
      {...(kind === 'date' && { type: 'date' })}
      value={isUnset ? '' : String(value)}
      onChange={({ currentTarget: { value: text } }) => onChange(text === '' ? undefined : text)}
    />
  );
};

type FieldProps = { label: string; description: string; withAsterisk: boolean; error?: string };
type ChoicesProps = Pick<Props, 'attribute' | 'value' | 'onChange'> & { field: FieldProps };

/** One or several of the listed values. A value that is no longer listed is shown, so that it can be removed. */
const Choices = ({ attribute, field, value, onChange }: ChoicesProps) => {
  const { kind, options } = attribute;
  const foreign = foreignIn(attribute, value);
  const data = [
    ...options.map((option) => ({ value: JSON.stringify(option), label: textOf(option) })),
    ...foreign.map((item) => ({ value: JSON.stringify(item), label: `${textOf(item)} (not allowed)` })),
  ];
  const props = {
    ...field,
    data,
    limit: MAX_LISTED,
    searchable: true,
    clearable: true,
    clearButtonProps: { 'aria-label': `Clear ${field.label}` },
  };
  if (kind === 'choice')
    return (
      <Select
        {...props}
        value={value === undefined ? null : JSON.stringify(value)}
        onChange={(chosen) => onChange(chosen === null ? undefined : parseJson(chosen))}
      />
    );
  const items = [value ?? []].flat().map((item) => JSON.stringify(item));
  return (
    <MultiSelect
      {...props}
      hidePickedOptions
      value={[...new Set(items)]}
      onChange={(chosen) => onChange(chosen.length === 0 ? undefined : chosen.map((text) => parseJson(text)))}
    />
  );
};

type TypedProps = FieldProps & Pick<Props, 'value' | 'onChange'>;

/** What is typed for a value: `-` stands for no number yet. */
const useTyped = (value: unknown) => {
  const [typed, setTyped] = useState<{ text: string; value: unknown }>({ text: '', value: undefined });
  const own = value === undefined ? '' : JSON.stringify(value);
  return [isSame(typed.value, value) ? typed.text : own, setTyped] as const;
};

const NumberField = ({ isInteger, value, onChange, ...field }: TypedProps & { isInteger: boolean }) => {
  const [text, setTyped] = useTyped(value);
  return (
    <NumberInput
      {...field}
      allowDecimal={!isInteger}
      value={text}
      onChange={(number) => {
        const isNumber = number !== '' && Number.isFinite(Number(number));
        setTyped({ text: String(number), value: isNumber ? Number(number) : undefined });
        onChange(isNumber ? Number(number) : undefined);
      }}
    />
  );
};

/** A value as JSON. Its form is not submitted until it is valid. */
const JsonField = ({ value, onChange, error, ...field }: TypedProps) => {
  const [text, setTyped] = useTyped(value);
  const isValid = text.trim() === '' || isJson(text);
  return (
    <JsonInput
      {...field}
      ref={(input) => input?.setCustomValidity(isValid ? '' : NO_JSON)}
      autosize
      maxRows={8}
      value={text}
      error={isValid ? error : NO_JSON}
      onChange={(typed) => {
        const isUnset = typed.trim() === '';
        const changed = isUnset || isJson(typed);
        const next = changed ? (isUnset ? undefined : parseJson(typed)) : value;
        setTyped({ text: typed, value: next });
        if (changed) onChange(next);
      }}
    />
  );
};

const NO_JSON = 'Must be JSON, such as "North" or ["North"].';

const isJson = (text: string): boolean => {
  try {
    parseJson(text);
    return true;
  } catch {
    return false;
  }
};
