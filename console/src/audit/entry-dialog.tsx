import { Button, CopyButton, Group, Stack, Table, Text, UnstyledButton } from '@mantine/core';
import { IconArrowLeft } from '@tabler/icons-react';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { type Inputs, trpc } from '../api.ts';
import { operationOf, useAppLabels, useLinesOf, withNames } from '../components/changes.tsx';
import { useClientName } from '../components/client-select.tsx';
import { DateText } from '../components/date-text.tsx';
import { detailText, fieldLabel, fieldText, isChange, isUnrecorded } from '../components/detail-words.ts';
import { Dialog } from '../components/dialog.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { UndoOf } from '../people/undo.tsx';
import { serverNow } from '../server-clock.ts';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { labelOf } from './audit-actions.ts';
import {
  actorOf,
  changesOf,
  countText,
  type Entry,
  type Name,
  Sentence,
  targetOf,
} from './entry-sentence.tsx';

type Filter = Exclude<Inputs['audit']['listOperations'], void>;
type Props = { entry: Entry | null; filter: Filter; onClose: () => void };

/** An entry: who changed what, before and after, and by which request. An operation of several entries lists them, and opens each. */
export const EntryDialog = ({ entry, filter, onClose }: Props) => (
  <Dialog isOpen={entry !== null} onClose={onClose} size="lg" title={entry && <Sentence entry={entry} />}>
    {entry && <Content key={entry.id} entry={entry} filter={filter} />}
  </Dialog>
);

const Content = ({ entry, filter }: { entry: Entry; filter: Filter }) => {
  const [one, setOne] = useState<Entry | null>(null);
  if (!entry.summary) return <EntryDetails entry={entry} />;
  if (!one) return <Entries entry={entry} filter={filter} onOpen={setOne} />;
  return (
    <Stack>
      <Group>
        <Button
          variant="default"
          size="xs"
          data-autofocus
          leftSection={<IconArrowLeft size={14} aria-hidden />}
          onClick={() => setOne(null)}
        >
          All {countText(entry.summary.count)} entries
        </Button>
      </Group>
      <Text fw={600}>
        <Sentence entry={one} />
      </Text>
      <EntryDetails entry={one} isPart />
    </Stack>
  );
};

const PAGE_SIZE = 20;

type EntriesProps = { entry: Entry; filter: Filter; onOpen: (entry: Entry) => void };

/** The entries of an operation, as far as the filter of the list selects them. */
const Entries = ({ entry, filter, onOpen }: EntriesProps) => {
  const linesOf = useLinesOf();
  const entries = useInfiniteQuery(
    trpc.audit.listOperations.infiniteQueryOptions(
      { ...filter, entry: entry.id, limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id) },
    ),
  );
  return (
    <Stack>
      <ProblemAlert error={entries.error} />
      <Table layout="auto" aria-label="Entries of this operation">
        <Table.Tbody>
          {entries.data?.pages.flat().map((one) => (
            <Table.Tr key={one.id}>
              <Table.Td>
                <UnstyledButton display="block" w="100%" onClick={() => onOpen(one)}>
                  <Text span display="block" size="sm" className="break-words">
                    <Sentence entry={one} />
                  </Text>
                  <Text span display="block" size="sm" c="dimmed" className="break-words">
                    {linesOf(changesOf(one)).join(', ')}
                  </Text>
                </UnstyledButton>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Group>
        {entries.hasNextPage && (
          <Button
            variant="default"
            size="xs"
            loading={entries.isFetchingNextPage}
            onClick={() => void entries.fetchNextPage()}
          >
            Show more
          </Button>
        )}
        <UndoButton entry={entry} />
      </Group>
    </Stack>
  );
};

/** As in the service, which refuses a later undo. */
const UNDO_MS = 10 * 60_000;

/** For the person who made a change of several people, for ten minutes. */
const UndoButton = ({ entry: { actor, timestamp, details } }: { entry: Entry }) => {
  const { operation, isUndo } = operationOf(details);
  const isOwn = actor === useSession().user.email;
  if (operation === null || isUndo || !isOwn || serverNow() - timestamp.getTime() >= UNDO_MS) return null;
  return <UndoOf operation={operation} />;
};

/** @param isPart whether it belongs to an operation of several entries, which is undone as a whole */
const EntryDetails = ({ entry, isPart = false }: { entry: Entry; isPart?: boolean }) => {
  const nameOfClient = useClientName();
  const { fields, operation, isUndo } = operationOf(withNames(entry));
  const facts: (readonly [string, ReactNode])[] = [
    ['When', <DateText key="time" date={entry.timestamp} />],
    ['Action', labelOf(entry.action)],
    ['Actor', <NameLink key="actor" name={actorOf(entry)} />],
    ['Target', <TargetLink key="target" entry={entry} />],
    [entry.clients.length === 1 ? 'Client' : 'Clients', entry.clients.map(nameOfClient).join(', ') || 'None'],
    ['Network address', entry.address ?? 'Unknown'],
    ...(operation === null ? [] : [[isUndo ? 'Undo of operation' : 'Operation', operation] as const]),
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
      <Details details={fields} />
      <Group>
        <CopyButton value={JSON.stringify({ ...entry, summary: undefined }, null, 2)}>
          {({ copied, copy }) => (
            <Button variant="default" size="xs" onClick={copy}>
              {copied ? 'Copied' : 'Copy as JSON'}
            </Button>
          )}
        </CopyButton>
        {!isPart && <UndoButton entry={entry} />}
      </Group>
    </Stack>
  );
};

const Details = ({ details }: { details: Record<string, unknown> }) => {
  const fields = Object.entries(details);
  const appLabels = useAppLabels();
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
          const isKnown = isChange(value) && !isUnrecorded(value);
          return (
            <Table.Tr key={field}>
              <Table.Th scope="row" c="dimmed" fw={400} w="9rem">
                {fieldLabel(field)}
              </Table.Th>
              <Table.Td className="break-words">
                {isKnown ? fieldText(field, value.from, appLabels) : ''}
              </Table.Td>
              <Table.Td className="break-words">
                {isKnown ? fieldText(field, value.to, appLabels) : detailText(field, value, appLabels)}
              </Table.Td>
            </Table.Tr>
          );
        })}
      </Table.Tbody>
    </Table>
  );
};

/** A person with the address, or a service account, with a link to its screen. */
const NameLink = ({ name: { text, address, account } }: { name: Name }) => {
  const { roles } = useSession();
  if (account && account.kind !== 'person')
    return mayDo(roles, 'configure') ? (
      <Link className="text-link" to="/service-accounts/$id" params={{ id: String(account.id) }}>
        {text}
      </Link>
    ) : (
      text
    );
  const email = address ?? (text.includes('@') ? text : undefined);
  if (email === undefined) return text;
  return (
    <>
      <Link className="text-link" to="/people/$email" params={{ email }}>
        {text}
      </Link>
      {text !== email && ` · ${email}`}
    </>
  );
};

/** The changed object, with a link to its screen. */
const TargetLink = ({ entry }: { entry: Entry }) => {
  const { action, target, target_type: type, target_id: id, details } = entry;
  const { roles } = useSession();
  if (target === '') return 'None';
  if (type === 'invitation')
    return (
      <Link className="text-link" to="/invitations" search={{ search: target, status: 'all' }}>
        {target}
      </Link>
    );
  if (action.startsWith('mail.') && typeof details.id === 'number')
    return (
      <Link className="text-link" to="/mails/$id" params={{ id: String(details.id) }}>
        {target}
      </Link>
    );
  if (type === 'client' && id !== null)
    return (
      <Link className="text-link" to="/clients/$id" params={{ id }}>
        {target}
      </Link>
    );
  if (type === 'service-account' && id !== null && mayDo(roles, 'configure'))
    return (
      <Link className="text-link" to="/service-accounts/$id" params={{ id }}>
        {target}
      </Link>
    );
  if (type === 'app' && id !== null) return <AppLink id={id} slug={target} />;
  return type === 'user' ? <NameLink name={targetOf(entry)} /> : target;
};

/** Without a link for an app that is gone. */
const AppLink = ({ id, slug }: { id: string; slug: string }) => {
  const app = useQuery(trpc.apps.list.queryOptions({})).data?.find((one) => one.id === id);
  return app === undefined ? (
    slug
  ) : (
    <Link className="text-link" to="/apps/$id" params={{ id }}>
      {app.label}
    </Link>
  );
};
