import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';

type Details = Record<string, unknown>;

/** Writes the details of an entry: one line for each field, with the labels of apps instead of their ids. */
export const useLinesOf = (): ((details: Details) => string[]) => {
  const apps = useQuery(trpc.apps.list.queryOptions({}));
  const labels = new Map(apps.data?.map(({ id, label }) => [id, label]));
  return (details) =>
    Object.entries(details)
      .filter(([, value]) => !(Array.isArray(value) && value.length === 0))
      .map(([field, value]) => `${field}: ${describe(value, labels)}`);
};

/** Old and new values, as the audit trail records them by field. */
export const Changes = ({ details }: { details: Details }) =>
  useLinesOf()(details).map((line) => (
    <Text key={line} size="sm" className="break-words">
      {line}
    </Text>
  ));

const describe = (value: unknown, labels: ReadonlyMap<string, string>): string => {
  if (isChange(value)) return `${JSON.stringify(value.from)} → ${JSON.stringify(value.to)}`;
  return isListOfNames(value)
    ? value.map((name) => labels.get(name) ?? name).join(', ')
    : JSON.stringify(value);
};

const isListOfNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

/** Whether a detail has an old and a new value; others have one. */
export const isChange = (value: unknown): value is { from: unknown; to: unknown } =>
  typeof value === 'object' && value !== null && 'from' in value && 'to' in value;
