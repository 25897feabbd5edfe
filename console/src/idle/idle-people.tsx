import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Outputs, trpc } from '../api.ts';
import { DateText, dateOf, dayText, exactTimeOf } from '../components/date-text.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { HeaderLink } from '../components/header-link.tsx';
import { PagedTable } from '../components/paged-table.tsx';
import type { Column } from '../components/virtual-table.tsx';
import { nameOf } from '../people/name-of.ts';
import { hintFor } from './idle-filter.ts';

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
    cell: ({ last_used_day: day }) => (day ? dayText(day) : '–'),
  },
  {
    heading: 'Joined',
    width: '1fr',
    cell: ({ date_joined: date }) => <span title={exactTimeOf(date)}>{dateOf(date)}</span>,
  },
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
      empty={<EmptyState title="No one is inactive">{hintFor(days, 'people')}</EmptyState>}
    />
  );
};

/** Links to the same people in the list of people, where they can be changed. */
export const PeopleLink = ({ days, client }: Props) => (
  <HeaderLink to="/people" search={{ is_active: true, unseen_days: days, client, sort: 'last_login' }}>
    Open in People
  </HeaderLink>
);
