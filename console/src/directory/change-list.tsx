import { Stack, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { type Inputs, trpc } from '../api.ts';
import type { Column } from '../components/column.ts';
import { nameOf } from '../components/name-of.ts';
import { PagedTable } from '../components/paged-table.tsx';
import { GROUP_WORDS, PERSON_WORDS } from './change-words.ts';
import type { GroupChange, GroupRow, PersonChange, PersonRow } from './use-directory.ts';

const PAGE_SIZE = 50;

type Filter = NonNullable<Inputs['directory']['listPeople']['change']>;

/** People of a directory for whom this is to change, page by page. */
const useDirectoryPeople = (client: number, change: Filter) =>
  useInfiniteQuery(
    trpc.directory.listPeople.infiniteQueryOptions(
      { id: client, change, limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id) },
    ),
  );

const useDirectoryGroups = (client: number, change: GroupChange | 'problem') =>
  useInfiniteQuery(
    trpc.directory.listGroups.infiniteQueryOptions(
      { id: client, change, limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id) },
    ),
  );

const NONE = <Text c="dimmed">None by now.</Text>;
const keyOf = ({ id }: { id: string }): string => id;

/** People for whom this would change. */
export const PeopleList = ({ client, change }: { client: number; change: PersonChange }) => {
  const people = useDirectoryPeople(client, change);
  return <PagedTable label="People" columns={PEOPLE_COLUMNS} pages={people} keyOf={keyOf} empty={NONE} />;
};

/** Groups for which this would change. */
export const GroupList = ({ client, change }: { client: number; change: GroupChange }) => {
  const groups = useDirectoryGroups(client, change);
  return <PagedTable label="Groups" columns={GROUP_COLUMNS} pages={groups} keyOf={keyOf} empty={NONE} />;
};

/** What could not be applied, and why. */
export const ProblemList = ({ client }: { client: number }) => {
  const people = useDirectoryPeople(client, 'problem');
  const groups = useDirectoryGroups(client, 'problem');
  return (
    <Stack gap="xs">
      <PagedTable label="People" columns={PEOPLE_PROBLEMS} pages={people} keyOf={keyOf} empty={null} />
      <PagedTable label="Groups" columns={GROUP_PROBLEMS} pages={groups} keyOf={keyOf} empty={null} />
    </Stack>
  );
};

type Named = Pick<PersonRow, 'first_name' | 'last_name' | 'email'>;

/** The name and the address of a person of a directory. */
export const PERSON_COLUMNS: Column<Named>[] = [
  {
    heading: 'Person',
    width: 'minmax(9rem, 1.5fr)',
    cell: (person) => nameOf(person),
  },
  {
    heading: 'Email address',
    width: 'minmax(12rem, 2fr)',
    onPhone: 'plain',
    cell: ({ email }) => <span title={email}>{email}</span>,
  },
];

const personWords = ({ change }: PersonRow): string => (change ? PERSON_WORDS[change].does : '–');

const PEOPLE_COLUMNS: Column<PersonRow>[] = [
  ...PERSON_COLUMNS,
  {
    heading: 'What happens',
    width: 'minmax(12rem, 2fr)',
    onPhone: 'plain',
    cell: (person) => <span title={personWords(person)}>{personWords(person)}</span>,
  },
];

const PROBLEM = {
  heading: 'Why it failed',
  width: 'minmax(14rem, 3fr)',
  onPhone: 'plain',
  cell: ({ problem }: { problem: string | null }) => <span title={problem ?? ''}>{problem}</span>,
} as const;

const PEOPLE_PROBLEMS: Column<PersonRow>[] = [...PEOPLE_COLUMNS, PROBLEM];

const groupWords = ({ change }: GroupRow): string => (change ? GROUP_WORDS[change].does : '–');

const GROUP_COLUMNS: Column<GroupRow>[] = [
  {
    heading: 'Group',
    width: 'minmax(9rem, 1.5fr)',
    cell: ({ name }) => <span title={name}>{name}</span>,
  },
  {
    heading: 'What happens',
    width: 'minmax(12rem, 2fr)',
    onPhone: 'plain',
    cell: (group) => <span title={groupWords(group)}>{groupWords(group)}</span>,
  },
  {
    heading: 'Members',
    width: '7rem',
    cell: ({ added, removed }) => (
      <>
        +{added.toLocaleString()} −{removed.toLocaleString()}
      </>
    ),
  },
];

const GROUP_PROBLEMS: Column<GroupRow>[] = [...GROUP_COLUMNS, PROBLEM];
