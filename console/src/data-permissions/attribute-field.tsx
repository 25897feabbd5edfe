import { JsonInput, MultiSelect, NumberInput, Select, TagsInput, TextInput } from '@mantine/core';
import { useState } from 'react';
import { parseJson } from '../../../src/lib/exact-json.ts';
import { type Attribute, foreignIn, misfitOf, textOf } from './declared.ts';

/** More choices are found by typing. */
const MAX_LISTED = 200;
/** With more choices, the field has a search. */
const MAX_WITHOUT_SEARCH = 10;

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
    description: [description, !isUnset || fallback === undefined ? '' : `If empty: ${textOf(fallback)}.`]
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
    return (
      <NumberInput
        {...field}
        allowDecimal={kind === 'number'}
        value={isUnset ? '' : String(value)}
        onChange={(number) => onChange(number === '' ? undefined : Number(number))}
      />
    );
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
    searchable: options.length > MAX_WITHOUT_SEARCH,
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

type JsonProps = FieldProps & Pick<Props, 'value' | 'onChange'>;

/** A value as JSON. Its form is not submitted until it is valid. */
const JsonField = ({ value, onChange, error, ...field }: JsonProps) => {
  const [text, setText] = useState(value === undefined ? '' : JSON.stringify(value));
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
        setText(typed);
        if (typed.trim() === '') onChange(undefined);
        else if (isJson(typed)) onChange(parseJson(typed));
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
