import { Button, CloseButton, Group, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { objectFault, objectText, parseObject } from './json-object.ts';
import { ObjectInput } from './object-input.tsx';

type Props = {
  label: string;
  description: string;
  /** The text of a JSON object. `objectFault` determines which texts are valid. */
  value: string;
  onChange: (value: string) => void;
  error?: ReactNode;
};

type Row = { id: number; key: string; value: unknown };

const rowsOf = (text: string): Row[] =>
  Object.entries(parseObject(text)).map(([key, value], id) => ({ id, key, value }));

/** Rows without a key or a value set nothing. */
const textOfRows = (rows: readonly Row[]): string =>
  objectText(
    Object.fromEntries(
      rows
        .filter(({ key, value }) => key.trim() !== '' && !(Array.isArray(value) && value.length === 0))
        .map(({ key, value }) => [key.trim(), value]),
    ),
  );

/** An object as rows of a key and its values, or as JSON. */
export const ObjectRows = ({ label, description, value, onChange, error }: Props) => {
  const [isJson, setJson] = useState(false);
  const [kept, setKept] = useState(() => ({ text: value, rows: objectFault(value) ? [] : rowsOf(value) }));
  // The text was replaced, so the rows are too.
  if (!isJson && kept.text !== value && objectFault(value) === null)
    setKept({ text: value, rows: rowsOf(value) });
  const { rows } = kept;
  const change = (next: Row[]): void => {
    const text = textOfRows(next);
    setKept({ text, rows: next });
    onChange(text);
  };
  const changeRow = (id: number, part: Partial<Row>): void =>
    change(rows.map((row) => (row.id === id ? { ...row, ...part } : row)));
  return (
    <Stack gap="xs" role="group" aria-label={label}>
      <div>
        <Group justify="space-between" gap="xs">
          <Text size="sm" fw={600}>
            {label}
          </Text>
          <Button
            variant="subtle"
            size="compact-xs"
            disabled={objectFault(value) !== null}
            onClick={() => setJson(!isJson)}
          >
            {isJson ? 'Edit as rows' : 'Edit as JSON'}
            <span className="visually-hidden">: {label}</span>
          </Button>
        </Group>
        <Text size="xs" c="dimmed">
          {description}
        </Text>
      </div>
      {isJson ? (
        <ObjectInput
          aria-label={`${label} as JSON`}
          value={value}
          error={error}
          onChange={(text) => onChange(text)}
        />
      ) : (
        <>
          {rows.map((row) => (
            <RowFields
              key={row.id}
              row={row}
              isRepeated={rows.some(
                ({ id, key }) => id < row.id && key.trim() === row.key.trim() && key !== '',
              )}
              onChange={(part) => changeRow(row.id, part)}
              onRemove={() => change(rows.filter(({ id }) => id !== row.id))}
            />
          ))}
          {error && (
            <Text size="xs" c="var(--mantine-color-error)" role="alert">
              {error}
            </Text>
          )}
          <Button
            variant="default"
            size="compact-sm"
            style={{ alignSelf: 'start' }}
            leftSection={<IconPlus size={14} aria-hidden />}
            aria-label={`Add to ${label.toLowerCase()}`}
            onClick={() => change([...rows, { id: (rows.at(-1)?.id ?? -1) + 1, key: '', value: [] }])}
          >
            Add
          </Button>
        </>
      )}
    </Stack>
  );
};

type RowProps = {
  row: Row;
  /** Whether an earlier row has the same key. */
  isRepeated: boolean;
  onChange: (part: Partial<Row>) => void;
  onRemove: () => void;
};

const RowFields = ({ row: { key, value }, isRepeated, onChange, onRemove }: RowProps) => {
  const name = key.trim() || 'the new row';
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start">
      <TextInput
        flex="1 1 30%"
        miw={0}
        aria-label={`Key of ${name}`}
        placeholder="Key, such as region"
        value={key}
        error={isRepeated && 'Each key only once'}
        onChange={({ currentTarget }) => onChange({ key: currentTarget.value })}
      />
      <Values name={name} value={value} onChange={(changed) => onChange({ value: changed })} />
      <CloseButton size="lg" aria-label={`Remove ${name}`} onClick={onRemove} />
    </Group>
  );
};

type ValuesProps = { name: string; value: unknown; onChange: (value: unknown) => void };

/** Texts are edited. A single text stays one while it is alone; other values are changed as JSON. */
const Values = ({ name, value, onChange }: ValuesProps) => {
  const [isSingle] = useState(typeof value === 'string');
  const texts = [value].flat();
  if (!texts.every((text) => typeof text === 'string'))
    return (
      <TextInput
        flex="1 1 60%"
        miw={0}
        readOnly
        aria-label={`Value of ${name}, changed as JSON`}
        value={JSON.stringify(value)}
      />
    );
  return (
    <TagsInput
      flex="1 1 60%"
      miw={0}
      aria-label={`Values of ${name}`}
      placeholder={texts.length === 0 ? 'Values, with Enter after each' : undefined}
      acceptValueOnBlur
      value={texts}
      onChange={(next) => onChange(isSingle && next.length === 1 ? next[0] : next)}
    />
  );
};
