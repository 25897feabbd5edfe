import { Text } from '@mantine/core';

type Details = Record<string, unknown>;

/** Old and new values, as the audit trail records them by field. */
export const Changes = ({ details }: { details: Details }) =>
  linesOf(details).map((line) => (
    <Text key={line} size="sm" className="break-words">
      {line}
    </Text>
  ));

/** One line for each field. */
export const linesOf = (details: Details): string[] =>
  Object.entries(details).map(([field, value]) => `${field}: ${describe(value)}`);

const describe = (value: unknown): string =>
  isChange(value) ? `${JSON.stringify(value.from)} → ${JSON.stringify(value.to)}` : JSON.stringify(value);

/** Whether a detail has an old and a new value; others have one. */
export const isChange = (value: unknown): value is { from: unknown; to: unknown } =>
  typeof value === 'object' && value !== null && 'from' in value && 'to' in value;
