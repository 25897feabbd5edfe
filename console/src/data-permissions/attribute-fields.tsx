import { Button, Group, Stack, Text } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { type ReactNode, useState } from 'react';
import { FactList } from '../components/fact-list.tsx';
import { NamedSwitch } from '../components/flag-field.tsx';
import { objectFault, objectText, parseObject } from '../components/json-object.ts';
import { ObjectInput } from '../components/object-input.tsx';
import { AttributeField } from './attribute-field.tsx';
import { type Attribute, isSame, nearestKey, textOf } from './declared.ts';

type Fault = { key: string; message: string };
type Values = Record<string, unknown>;

type Props = {
  attributes: readonly Attribute[];
  /** The text of a JSON object. `objectFault` determines which texts are valid. */
  value: string;
  onChange: (value: string) => void;
  label?: string;
  description?: string;
  /** What the service found wrong with the value. */
  faults?: readonly Fault[] | undefined;
  /** What is wrong with the whole. */
  error?: ReactNode;
  isReadOnly?: boolean;
};

const NO_FAULTS: readonly Fault[] = [];

/** Data permissions: a field for each declared attribute, or all of them as JSON. Without declared attributes only as JSON. */
export const AttributeFields = ({ attributes, faults = NO_FAULTS, ...props }: Props) => {
  const { value, onChange, label = 'Data permissions', description, error, isReadOnly = false } = props;
  const [isJson, setJson] = useState(false);
  const isFault = useFaults(faults, value);
  const text = { label, ...(description !== undefined && { description }) };
  if (isReadOnly) return <Shown label={label} attributes={attributes} value={value} />;
  const input = <ObjectInput {...text} value={value} error={error} onChange={onChange} />;
  if (attributes.length === 0) return input;
  const isShownAsJson = isJson || objectFault(value) !== null;
  return (
    <Stack gap="sm" role="group" aria-label={label}>
      <Group justify="space-between" gap="xs">
        <Text size="sm" fw={600}>
          {label}
        </Text>
        <NamedSwitch
          size="xs"
          label="As JSON"
          labelPosition="left"
          checked={isShownAsJson}
          disabled={objectFault(value) !== null}
          onChange={({ currentTarget: { checked } }) => setJson(checked)}
        />
      </Group>
      {isShownAsJson ? (
        <ObjectInput
          aria-label={`${label} as JSON`}
          {...(description !== undefined && { description })}
          value={value}
          error={error ?? faults.map(({ key, message }) => `${key} ${message}`).join('; ')}
          onChange={onChange}
        />
      ) : (
        <>
          {description !== undefined && (
            <Text size="xs" c="dimmed">
              {description}
            </Text>
          )}
          <Fields
            attributes={attributes}
            values={parseObject(value)}
            faultOf={(key, current) =>
              isFault(key, current) ? wordsOf(faults.filter((fault) => fault.key === key)) : undefined
            }
            onChange={(values) => onChange(objectText(values))}
          />
          {error && (
            <Text size="xs" c="var(--mantine-color-error)" role="alert">
              {error}
            </Text>
          )}
        </>
      )}
    </Stack>
  );
};

/** Two schemas may find the same. */
const wordsOf = (faults: readonly Fault[]): string | undefined =>
  [...new Set(faults.map(({ message }) => message))].join('; ') || undefined;

/** Whether a fault of an attribute still counts: its value is the one that the service has checked. */
const useFaults = (faults: readonly Fault[], value: string) => {
  const [checked, setChecked] = useState({ faults, value });
  if (checked.faults !== faults) setChecked({ faults, value });
  return (key: string, current: unknown): boolean =>
    objectFault(checked.value) === null && isSame(parseObject(checked.value)[key], current);
};

type FieldsProps = {
  attributes: readonly Attribute[];
  values: Values;
  faultOf: (key: string, value: unknown) => string | undefined;
  onChange: (values: Values) => void;
};

const Fields = ({ attributes, values, faultOf, onChange }: FieldsProps) => {
  const keys = attributes.map(({ key }) => key);
  const change = (key: string, value: unknown): void => {
    const { [key]: _old, ...others } = values;
    onChange(value === undefined ? others : { ...others, [key]: value });
  };
  return (
    <>
      {Object.keys(values)
        .filter((key) => !keys.includes(key))
        .map((key) => (
          <Unknown
            key={key}
            name={key}
            value={values[key]}
            meant={attributes.find((one) => one.key === nearestKey(key, keys) && !(one.key in values))}
            onRename={(to) => {
              const { [key]: value, ...others } = values;
              onChange({ ...others, [to]: value });
            }}
            onRemove={() => change(key, undefined)}
          />
        ))}
      {attributes.map((attribute) => (
        <AttributeField
          key={attribute.key}
          attribute={attribute}
          value={values[attribute.key]}
          fault={faultOf(attribute.key, values[attribute.key])}
          onChange={(value) => change(attribute.key, value)}
        />
      ))}
    </>
  );
};

type UnknownProps = {
  name: string;
  value: unknown;
  /** The attribute that was probably meant. */
  meant: Attribute | undefined;
  onRename: (key: string) => void;
  onRemove: () => void;
};

/** A key that no schema has, such as a mistyped one. */
const Unknown = ({ name, value, meant, onRename, onRemove }: UnknownProps) => (
  <Stack gap="xs">
    <Text size="sm" c="var(--mantine-color-error)" className="break-words">
      <strong>{name}</strong> is not an attribute here. Its value: {textOf(value)}
    </Text>
    <Group gap="xs">
      {meant && (
        <Button variant="default" size="xs" onClick={() => onRename(meant.key)}>
          Use it as {meant.title}
        </Button>
      )}
      <Button variant="default" size="xs" aria-label={`Remove ${name}`} onClick={onRemove}>
        Remove
      </Button>
    </Group>
  </Stack>
);

type ShownProps = { label: string; attributes: readonly Attribute[]; value: string };

const Shown = ({ label, attributes, value }: ShownProps) => {
  const titles = new Map(attributes.map(({ key, title }) => [key, title]));
  const values = Object.entries(parseObject(value));
  return (
    <Stack gap={4}>
      <Text size="sm" fw={600}>
        {label}
      </Text>
      {values.length === 0 ? (
        <Text size="sm" c="dimmed">
          None
        </Text>
      ) : (
        <FactList facts={values.map(([key, one]) => [titles.get(key) ?? key, textOf(one)])} />
      )}
    </Stack>
  );
};

/** The faults by attribute in a refusal of the service: `region must be array.` */
export const faultsIn = (error: unknown, field: string): Fault[] =>
  (fieldErrors(error)[field] ?? []).map((text) => {
    const [key = '', ...words] = text.replace(/\.$/, '').split(' ');
    return { key, message: words.join(' ') };
  });
