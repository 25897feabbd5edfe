import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { detailText, fieldLabel } from './detail-words.ts';

type Details = Record<string, unknown>;

/** The labels of the apps, by app id. */
export const useAppLabels = (): ReadonlyMap<string, string> => {
  const apps = useQuery(trpc.apps.list.queryOptions({}));
  return new Map(apps.data?.map(({ id, label }) => [id, label]));
};

type Named = { details: Details; people: readonly { id: number; email: string; name?: string }[] };

/** Details with the known names of people instead of their ids. */
export const withNames = ({ details: { user, viewer, members, ...others }, people }: Named): Details => {
  const nameOf = (id: unknown) => {
    const person = people.find((one) => one.id === id);
    return person ? person.name || person.email : id;
  };
  const { added, removed } = Object(members) as { added?: unknown[]; removed?: unknown[] }; // as in the audit trail
  return {
    ...others,
    ...(user !== undefined && { user: nameOf(user) }),
    ...(viewer !== undefined && { viewer: nameOf(viewer) }),
    ...(members !== undefined && {
      members: { added: added?.map(nameOf) ?? [], removed: removed?.map(nameOf) ?? [] },
    }),
  };
};

/** For a change of several people: its id, and whether the entry undoes it. */
export const operationOf = ({ operation, is_undo, ...fields }: Details) => ({
  fields,
  operation: typeof operation === 'string' ? operation : null,
  isUndo: is_undo === true,
});

/** Formats the details of an entry: one line per field, without numbers and the operation, which only the opened entry shows. */
export const useLinesOf = (): ((details: Details, omitted?: readonly string[]) => string[]) => {
  const appLabels = useAppLabels();
  return (details, omitted = []) => {
    const { fields } = operationOf(details);
    return Object.entries(fields)
      .filter(([field, value]) => field !== 'id' && !omitted.includes(field) && !isEmptyList(value))
      .map(([field, value]) => `${fieldLabel(field)}: ${detailText(field, value, appLabels)}`);
  };
};

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** Old and new values, as the audit trail records them by field. */
export const Changes = ({ details, omitted }: { details: Details; omitted?: readonly string[] }) =>
  useLinesOf()(details, omitted).map((line) => (
    <Text key={line} size="sm" className="break-words">
      {line}
    </Text>
  ));
