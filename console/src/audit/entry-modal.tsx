import { Stack, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { isChange } from '../components/changes.tsx';
import { useClientName } from '../components/client-select.tsx';
import { Dialog } from '../components/dialog.tsx';
import { useSession } from '../layout/use-session.ts';
import { UndoOf } from '../people/undo.tsx';
import { labelOf } from './audit-actions.ts';
import { ActorLink, type Entry, TargetLink } from './audit-links.tsx';

type Props = { entry: Entry | null; onClose: () => void };

/** All of one entry: who changed what, before and after, and by which request. */
export const EntryModal = ({ entry, onClose }: Props) => (
  <Dialog isOpen={entry !== null} onClose={onClose} size="lg" title={entry && labelOf(entry.action)}>
    {entry && <EntryDetails entry={entry} />}
  </Dialog>
);

const EntryDetails = ({ entry }: { entry: Entry }) => {
  const nameOfClient = useClientName();
  const operation = undoableBy(useSession().user.email, entry);
  const facts: [string, ReactNode][] = [
    ['Time', entry.timestamp.toLocaleString()],
    ['Actor', <ActorLink key="actor" entry={entry} />],
    ['Target', <TargetLink key="target" entry={entry} />],
    ['Action', entry.action],
    ['Clients', entry.clients.map(nameOfClient).join(', ') || 'None'],
    ['IP address', entry.address ?? 'Unknown'],
    ['Request', entry.request_id ?? 'None: the service or the command line'],
  ];
  return (
    <Stack>
      <Table layout="auto">
        <Table.Tbody>
          {facts.map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Th scope="row">{name}</Table.Th>
              <Table.Td className="break-words">{value}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Details details={entry.details} />
      {operation !== null && <UndoOf operation={operation} />}
    </Stack>
  );
};

/** As the service, which refuses a later undo. */
const UNDO_MS = 10 * 60_000;

/** The operation that the user may still undo; null without one. */
const undoableBy = (email: string, { actor, timestamp, details }: Entry): string | null => {
  const { operation, is_undo } = details;
  const isOwn = actor === email && is_undo !== true && Date.now() - timestamp.getTime() < UNDO_MS;
  return isOwn && typeof operation === 'string' ? operation : null;
};

const Details = ({ details }: { details: Record<string, unknown> }) => {
  const fields = Object.entries(details);
  if (fields.length === 0) return <Text c="dimmed">The entry has no further details.</Text>;
  return (
    <Table layout="auto" aria-label="Before and after">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Field</Table.Th>
          <Table.Th scope="col">Before</Table.Th>
          <Table.Th scope="col">After</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {fields.map(([field, value]) => {
          const change = isChange(value) ? value : { from: undefined, to: value };
          return (
            <Table.Tr key={field}>
              <Table.Th scope="row">{field}</Table.Th>
              <Table.Td className="break-words">{textOf(change.from)}</Table.Td>
              <Table.Td className="break-words">{textOf(change.to)}</Table.Td>
            </Table.Tr>
          );
        })}
      </Table.Tbody>
    </Table>
  );
};

const textOf = (value: unknown): string => {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
};
