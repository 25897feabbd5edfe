import { Button, Group, MultiSelect, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue, useDisclosure } from '@mantine/hooks';
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ExplainDialog } from '../access/explain-dialog.tsx';
import { type Outputs, trpc } from '../api.ts';
import { type App, useClientOfApp } from '../apps/app-of.ts';
import type { Column } from '../components/column.ts';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { EndBadge } from '../components/end-badge.tsx';
import { EndChoice, endOf, NO_END } from '../components/end-choice.tsx';
import { HeaderLink } from '../components/header-link.tsx';
import { nameOf } from '../components/name-of.ts';
import { PagedTable } from '../components/paged-table.tsx';
import { PersonInput } from '../components/person-input.tsx';
import { PersonCell } from '../components/person-link.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { BulkResults } from '../people/bulk-results.tsx';
import { useBulkUpdate } from '../people/use-bulk-update.ts';
import { GrantDialog } from '../person/grant-dialogs.tsx';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { peopleWithAccess } from '../views/views.ts';

const PAGE_SIZE = 100;
const SUGGESTIONS = 20;
const TYPING_MS = 120;
const MAX_REASON = 500;

type Asked = { email: string; name: string; isGranting?: boolean };

/** Who can open an app, how, and until when. Adds people, compares two, and checks a person who is not listed. */
export const PeopleTab = ({ app }: { app: App }) => {
  const { id } = app;
  const client = useClientOfApp(id);
  const { roles } = useSession();
  const [asked, setAsked] = useState<Asked | null>(null);
  const [isAdding, adding] = useDisclosure();
  const add = useBulkUpdate();
  const close = (): void => setAsked(null);
  const people = useInfiniteQuery(
    trpc.access.effective.infiniteQueryOptions(
      { app_id: id, limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.email) },
    ),
  );
  return (
    <>
      <Group mb="md" gap="xs" justify="space-between">
        <CheckPerson client={client} onCheck={(email) => setAsked({ email, name: email })} />
        <Group gap="xs">
          <HeaderLink to="/apps/$id/compare" params={{ id }} search={{}}>
            Compare two people
          </HeaderLink>
          <HeaderLink to="/people" search={peopleWithAccess(app)}>
            Open in People
          </HeaderLink>
          {mayDo(roles, 'manage-grants', client) && (
            <Button variant="light" loading={add.isPending} onClick={adding.open}>
              Add people
            </Button>
          )}
        </Group>
      </Group>
      <Text c="dimmed" size="sm" mb="xs">
        All who can open it: by a grant or a group, which makes a seat, or by a role that opens every app.
      </Text>
      <ProblemAlert error={add.error} />
      {add.data && (
        <BulkResults outcome={add.data} people={people.data?.pages.flat() ?? []} onClose={add.reset} />
      )}
      <PagedTable
        label="People who can open it"
        columns={accessColumns((person) => setAsked({ email: person.email, name: nameOf(person) }))}
        pages={people}
        keyOf={({ email }) => email}
        empty={<EmptyState title="No one has the app">Add people to let them open it.</EmptyState>}
      />
      <ExplainDialog
        question={asked && !asked.isGranting ? { ...asked, app: { ...app, client } } : null}
        onClose={close}
        onGrant={() => asked && setAsked({ ...asked, isGranting: true })}
      />
      {asked?.isGranting && (
        <GrantDialog
          email={asked.email}
          name={asked.name}
          granted={[]}
          app={{ id, client }}
          client={client}
          onGranted={close}
          onClose={close}
        />
      )}
      {isAdding && (
        <AddPeople
          app={app}
          client={client}
          onClose={adding.close}
          onAdd={({ emails, ...terms }) => {
            adding.close();
            add.mutate({
              selected: new Set(emails),
              filter: {},
              change: { action: 'grant-apps', apps: [id], ...terms },
            });
          }}
        />
      )}
    </>
  );
};

type AddProps = {
  app: App;
  client: number;
  onAdd: (added: { emails: string[]; expires_at: Date | null; reason: string }) => void;
  onClose: () => void;
};

/** Grants the app to people of its client, optionally until a date. */
const AddPeople = ({ app, client, onAdd, onClose }: AddProps) => {
  const [emails, setEmails] = useState<string[]>([]);
  const [typed, setTyped] = useState('');
  const [until, setUntil] = useState(NO_END);
  const [reason, setReason] = useState('');
  const [search] = useDebouncedValue(typed.trim(), TYPING_MS);
  const found = useQuery(
    trpc.users.list.queryOptions(
      { ...(search !== '' && { search }), client, is_active: true, limit: SUGGESTIONS },
      { placeholderData: keepPreviousData },
    ),
  );
  const people = new Map((found.data ?? []).map((person) => [person.email, person]));
  const [isOpen, opened] = useDisclosure();
  const end = endOf(until);
  return (
    <Dialog isOpen onClose={onClose} title={`Add people to ${app.label}`}>
      <form
        onSubmit={(event: FormEvent) => {
          event.preventDefault();
          if (end !== undefined) onAdd({ emails, expires_at: end, reason: reason.trim() });
        }}
      >
        <Stack>
          <MultiSelect
            label="People"
            placeholder="Name or email address"
            description="People of the client. Invite others first."
            data-autofocus
            searchable
            hidePickedOptions
            data={[...new Set([...emails, ...people.keys()])].map((value) => ({
              value,
              label: value,
              disabled: people.get(value)?.apps.includes(app.id) ?? false,
            }))}
            // The service has already filtered.
            filter={({ options }) => options}
            renderOption={({ option: { value, disabled } }) => {
              const person = people.get(value);
              return `${person ? nameOf(person) : ''}, ${value}${disabled ? ', has it already' : ''}`;
            }}
            nothingFoundMessage={found.isFetching ? 'Searching…' : 'No one in the client matches.'}
            searchValue={typed}
            onSearchChange={(text) => {
              setTyped(text);
              if (text !== '') opened.open();
            }}
            // Closed after each choice, because it covers the fields below.
            dropdownOpened={isOpen}
            onDropdownOpen={opened.open}
            onDropdownClose={opened.close}
            value={emails}
            onChange={(chosen) => {
              setEmails(chosen);
              setTyped('');
              opened.close();
            }}
          />
          <EndChoice label="Until" value={until} onChange={setUntil} />
          <TextInput
            label="Reason (optional)"
            maxLength={MAX_REASON}
            value={reason}
            onChange={({ currentTarget: { value } }) => setReason(value)}
          />
          <DialogButtons
            action={emails.length > 1 ? `Add ${emails.length} people` : 'Add'}
            isDisabled={emails.length === 0 || end === undefined}
            onClose={onClose}
          />
        </Stack>
      </form>
    </Dialog>
  );
};

type CheckProps = { client: number; onCheck: (email: string) => void };

/** Checks whether a person can open the app, even if they are not listed. */
const CheckPerson = ({ client, onCheck }: CheckProps) => {
  const [text, setText] = useState('');
  const check = (email: string): void => {
    setText('');
    onCheck(email);
  };
  return (
    <form
      aria-label="Check a person"
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        check(text.trim().toLowerCase());
      }}
    >
      <Group gap="xs">
        <PersonInput
          aria-label="Check a person"
          placeholder="Can this person open it?"
          flex="1 1 14rem"
          maw={400}
          among={{ client }}
          value={text}
          onChange={setText}
          onOptionSubmit={check}
        />
        <Button type="submit" variant="default" disabled={!text.includes('@')}>
          Check
        </Button>
      </Group>
    </form>
  );
};

type Person = Outputs['access']['effective'][number];

const ROLES: Record<string, string> = {
  superuser: 'Superuser',
  staff: 'Staff',
  'client-admin': 'Admin of the client',
};

/** Everything that gives the app: `Group Finance; granted by ada@acme.test: “Audit”`. */
const waysOf = ({ role, groups, is_granted, granted_by: by, reason }: Person): string => {
  const grant = `Granted${by === null ? '' : ` by ${by}`}${reason ? `: “${reason}”` : ''}`;
  return [
    ...(role === null ? [] : [ROLES[role] ?? role]),
    ...groups.map((name) => `Group ${name}`),
    ...(is_granted ? [grant] : []),
  ].join('; ');
};

const accessColumns = (onExplain: (person: Person) => void): Column<Person>[] => [
  {
    heading: 'Person',
    width: 'minmax(9rem, 3fr)',
    cell: (person) => <PersonCell person={person} />,
  },
  {
    heading: 'Through',
    width: 'minmax(12rem, 3fr)',
    onPhone: 'plain',
    cell: (person) => <span title={waysOf(person)}>{waysOf(person)}</span>,
  },
  {
    heading: 'Until',
    width: '9.5rem',
    cell: ({ ends_at }) =>
      ends_at ? (
        <EndBadge date={ends_at} />
      ) : (
        <Text span fz="inherit" c="dimmed">
          –
        </Text>
      ),
  },
  {
    id: 'why',
    heading: <span className="visually-hidden">Why?</span>,
    width: '5rem',
    onPhone: 'corner',
    cell: (person) => (
      <Button
        variant="default"
        size="compact-sm"
        aria-label={`Why? ${nameOf(person)}`}
        onClick={() => onExplain(person)}
      >
        Why?
      </Button>
    ),
  },
];
