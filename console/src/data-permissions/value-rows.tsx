import { List } from '@mantine/core';
import { textOf } from './declared.ts';

/** Each key with its value, for values that no schema describes. */
export const ValueRows = ({ values }: { values: Readonly<Record<string, unknown>> }) => (
  <List listStyleType="none">
    {Object.entries(values).map(([key, value]) => (
      <List.Item key={key} className="break-words">
        {key}: <strong>{textOf(value)}</strong>
      </List.Item>
    ))}
  </List>
);
