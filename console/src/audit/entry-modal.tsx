import { Group, Stack, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { operationOf, useAppLabels, withNames } from '../components/changes.tsx';
import { useClientName } from '../components/client-select.tsx';
import { DateText } from '../components/date-text.tsx';
import { fieldLabel, fieldText, isChange, isUnrecorded, knownText } from '../components/detail-words.ts';
import { Dialog } from '../components/dialog.tsx';
import { useSession } from '../layout/use-session.ts';
import { UndoOf } from '../people/undo.tsx';
import { serverNow } from '../server-clock.ts';
import { labelOf } from './audit-actions.ts';
import { ActorLink, type Entry, TargetLink } from './audit-links.tsx';

type Props = { entry: Entry | null; onClose: () => void };

/** The details of an entry: who changed what, before and after, and by which request. */
export const EntryModal = ({ entry, onClose }: Props) => (
  <Dialog isOpen={entry !== null} onClose={onClose} size="lg" title={entry && labelOf(entry.action)}>
    {entry && <EntryDetails entry={entry} />}
  </Dialog>
);

const EntryDetails = ({ entry }: { entry: Entry }) => {
  const nameOfClient = useClientName();
  const bulkChange = operationOf(withNames(entry));
  const mayUndo = mayUndoAs(useSession().user.email, entry);
  const facts: (readonly [string, ReactNode])[] = [
    ['Time', <DateText key="time" date={entry.timestamp} />],
    ['Actor', <ActorLink key="actor" entry={entry} />],
    ['Target', <TargetLink key="target" entry={entry} />],
    [entry.clients.length === 1 ? 'Client' : 'Clients', entry.clients.map(nameOfClient).join(', ') || 'None'],
    ['IP address', entry.address ?? 'Unknown'],
    ...(bulkChange.operation === null
      ? []
      : [[bulkChange.isUndo ? 'Undo of a bulk change' : 'Bulk change', bulkChange.operation] as const]),
    ['Request', entry.request_id ?? 'None: the service or the command line'],
  ];
  return (
    <Stack>
      <Table layout="auto">
        <Table.Tbody>
          {facts.map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Th scope="row" c="dimmed" fw={400} w="9rem">
                {name}
              </Table.Th>
              <Table.Td className="break-words">{value}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Details details={bulkChange.fields} />
      {bulkChange.operation !== null && mayUndo && (
        <Group>
          <UndoOf operation={bulkChange.operation} />
        </Group>
      )}
    </Stack>
  );
};

/** As in the service, which refuses a later undo. */
const UNDO_MS = 10 * 60_000;

const mayUndoAs = (email: string, { actor, timestamp, details }: Entry): boolean =>
  actor === email && !operationOf(details).isUndo && serverNow() - timestamp.getTime() < UNDO_MS;

const Details = ({ details }: { details: Record<string, unknown> }) => {
  const fields = Object.entries(details);
  const appLabels = useAppLabels();
  const textOf = (field: string, value: unknown): string =>
    typeof value === 'string' && value !== ''
      ? (knownText(value, appLabels) ?? value)
      : fieldText(field, value, appLabels);
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
          const { from, to } = isChange(value) ? value : { from: undefined, to: value };
          const isHidden = isChange(value) && isUnrecorded(value);
          return (
            <Table.Tr key={field}>
              <Table.Th scope="row" c="dimmed" fw={400} w="9rem">
                {fieldLabel(field)}
              </Table.Th>
              <Table.Td className="break-words">
                {from === undefined || isHidden ? '' : textOf(field, from)}
              </Table.Td>
              <Table.Td className="break-words">{isHidden ? 'changed' : textOf(field, to)}</Table.Td>
            </Table.Tr>
          );
        })}
      </Table.Tbody>
    </Table>
  );
};
