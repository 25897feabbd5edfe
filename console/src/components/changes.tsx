import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { fieldLabel, fieldText, isChange, isUnrecorded } from './detail-words.ts';

type Details = Record<string, unknown>;

/** The labels of the apps, by app id. */
export const useAppLabels = (): ReadonlyMap<string, string> => {
  const apps = useQuery(trpc.apps.list.queryOptions({}));
  return new Map(apps.data?.map(({ id, label }) => [id, label]));
};

type Named = { details: Details; people: readonly { id: number; email: string }[] };

/** Details with the known addresses of people instead of their ids. */
export const withNames = ({ details: { user, members, ...others }, people }: Named): Details => {
  const nameOf = (id: unknown) => people.find((person) => person.id === id)?.email ?? id;
  const { added, removed } = Object(members) as { added?: unknown[]; removed?: unknown[] }; // as in the audit trail
  return {
    ...others,
    ...(user !== undefined && { user: nameOf(user) }),
    ...(members !== undefined && { members: { added: added?.map(nameOf), removed: removed?.map(nameOf) } }),
  };
};

/** For a change of several people: its id, and whether the entry undoes it. */
export const operationOf = ({ operation, is_undo, ...fields }: Details) => ({
  fields,
  operation: typeof operation === 'string' ? operation : null,
  isUndo: is_undo === true,
});

/** Formats the details of an entry: one line per field, without the id of the operation, which only the full entry shows. */
export const useLinesOf = (): ((details: Details) => string[]) => {
  const appLabels = useAppLabels();
  return (details) => {
    const { fields, operation, isUndo } = operationOf(details);
    const lines = Object.entries(fields)
      .filter(([field, value]) => field !== 'id' && !(Array.isArray(value) && value.length === 0))
      .map(([field, value]) => `${fieldLabel(field)}: ${describe(field, value, appLabels)}`);
    if (operation !== null) lines.push(isUndo ? 'Undo of a bulk change' : 'Part of a bulk change');
    return lines;
  };
};

/** Old and new values, as the audit trail records them by field. */
export const Changes = ({ details }: { details: Details }) =>
  useLinesOf()(details).map((line) => (
    <Text key={line} size="sm" className="break-words">
      {line}
    </Text>
  ));

const describe = (field: string, value: unknown, appLabels: ReadonlyMap<string, string>): string => {
  const textOf = (one: unknown): string => fieldText(field, one, appLabels);
  if (!isChange(value)) return textOf(value);
  return isUnrecorded(value) ? 'changed' : `${textOf(value.from)} → ${textOf(value.to)}`;
};
