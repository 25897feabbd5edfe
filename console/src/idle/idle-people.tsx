import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Outputs, trpc } from '../api.ts';
import { DateText } from '../components/date-text.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import type { Column } from '../components/virtual-table.tsx';
import { nameOf } from '../people/name-of.ts';

type Person = Outputs['usage']['idleUsers'][number];
type Props = { days: number; client: number | undefined };

const PAGE_SIZE = 100;

const COLUMNS: Column<Person>[] = [
  {
    heading: 'Person',
    width: '2fr',
    cell: (person) => (
      <Link className="text-link" to="/people/$email" params={{ email: person.email }}>
        {nameOf(person)}
      </Link>
    ),
  },
  { heading: 'Email address', width: '2fr', onPhone: 'plain', cell: ({ email }) => email },
  { heading: 'Last login', width: '1fr', cell: ({ last_login }) => <DateText date={last_login} /> },
  {
    heading: 'Last use',
    width: '1fr',
    cell: ({ last_used_day }) => last_used_day ?? 'none on record',
  },
  { heading: 'Joined', width: '1fr', cell: ({ date_joined }) => <DateText date={date_joined} /> },
];

export const IdlePeople = ({ days, client }: Props) => {
  const people = useInfiniteQuery(
    trpc.usage.idleUsers.infiniteQueryOptions(
      { days, client, limit: PAGE_SIZE },
      {
        getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.email),
        placeholderData: keepPreviousData,
      },
    ),
  );
  return (
    <PagedTable
      label="Idle people"
      columns={COLUMNS}
      pages={people}
      keyOf={({ email }) => email}
      empty={<EmptyState title="No one is idle">Choose fewer days to see more people.</EmptyState>}
    />
  );
};

/** The same people, where they can be changed at once. */
export const PeopleLink = ({ days, client }: Props) => (
  <Link
    className="action-link"
    to="/people"
    search={{ is_active: true, unseen_days: days, client, sort: 'last_login' }}
  >
    Select and change them in People
  </Link>
);
