import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { showsUsage } from '../apps/app-of.ts';
import { FilterBar } from '../components/filter-bar.tsx';
import { FilterChip } from '../components/filter-chip.tsx';
import { nameOf } from '../people/name-of.ts';
import type { UsageFilter } from './usage-filter.ts';

const TYPING_MS = 120;
const FOUND_PEOPLE = 20;

type Props = { filter: UsageFilter; onChange: (changes: Partial<UsageFilter>) => void };

/** A person and a stack exclude each other: the totals by stack contain no people. */
export const UsageFilters = ({ filter, onChange }: Props) => {
  const { client, app, stack, email } = filter;
  const apps = useQuery(trpc.apps.list.queryOptions({ client }));
  const stacks = useQuery(
    trpc.apps.stacks.queryOptions({ app_id: app ?? '' }, { enabled: app !== undefined }),
  );
  return (
    <FilterBar>
      <FilterChip
        label="App"
        choices={apps.data?.filter(showsUsage).map(({ id, label }) => ({ value: id, label }))}
        value={app}
        onChange={(chosen) => onChange({ app: chosen, stack: undefined })}
      />
      {app !== undefined && (
        <FilterChip
          label="Page group"
          choices={stacks.data?.map(({ id, label }) => ({ value: id, label }))}
          value={stack}
          onChange={(chosen) => onChange({ stack: chosen, email: undefined })}
        />
      )}
      <PersonChip email={email} onChange={(chosen) => onChange({ email: chosen, stack: undefined })} />
    </FilterBar>
  );
};

type PersonProps = { email: string | undefined; onChange: (email: string | undefined) => void };

/** The service searches, because there may be more people than a browser can hold. */
const PersonChip = ({ email, onChange }: PersonProps) => {
  const [isOpened, setOpened] = useState(false);
  const [text, setText] = useState('');
  const [search] = useDebouncedValue(text.trim(), TYPING_MS);
  const people = useQuery(
    trpc.users.list.queryOptions(
      { search, limit: FOUND_PEOPLE },
      { enabled: isOpened, placeholderData: keepPreviousData },
    ),
  );
  const chosen = useQuery(
    trpc.users.get.queryOptions({ email: email ?? '' }, { enabled: email !== undefined, retry: false }),
  );
  const choices = people.data?.map((person) => ({ value: person.email, label: nameOf(person) }));
  const isFound = email === undefined || choices?.some(({ value }) => value === email);
  const label = chosen.data?.email === email && chosen.data ? nameOf(chosen.data) : (email ?? '');
  return (
    <FilterChip
      label="Person"
      choices={choices}
      value={email}
      text={isFound ? undefined : label}
      onChange={onChange}
      onOpen={() => setOpened(true)}
      onSearch={setText}
      none="No one matches."
    />
  );
};
