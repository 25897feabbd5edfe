import { Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { showsUsage } from '../apps/app-of.ts';
import { ClientSelect } from '../components/client-select.tsx';
import { nameOf } from '../people/name-of.ts';
import type { UsageFilter } from './usage-filter.ts';

const TYPING_MS = 120;
const FOUND_PEOPLE = 20;

type Props = { filter: UsageFilter; onChange: (changes: Partial<UsageFilter>) => void };

/** A person and a stack exclude each other: the totals have no people of a stack. */
export const UsageFilters = ({ filter, onChange }: Props) => {
  const { client, app, stack, email } = filter;
  const apps = useQuery(trpc.apps.list.queryOptions({ client }));
  const stacks = useQuery(
    trpc.apps.stacks.queryOptions({ app_id: app ?? '' }, { enabled: app !== undefined }),
  );
  return (
    <>
      <ClientSelect
        value={client}
        onChange={(selected) => onChange({ client: selected, app: undefined, stack: undefined })}
      />
      <Select
        aria-label="App"
        placeholder="All apps"
        clearable
        searchable
        flex="1 1 9rem"
        maw={320}
        data={(apps.data ?? []).filter(showsUsage).map(({ id, label }) => ({ value: id, label }))}
        value={app ?? null}
        onChange={(selected) => onChange({ app: selected ?? undefined, stack: undefined })}
      />
      {app !== undefined && (
        <Select
          aria-label="Stack"
          placeholder="All stacks"
          clearable
          searchable
          flex="1 1 9rem"
          maw={320}
          data={(stacks.data ?? []).map(({ id, label }) => ({ value: id, label }))}
          value={stack ?? null}
          onChange={(selected) => onChange({ stack: selected ?? undefined, email: undefined })}
        />
      )}
      <PersonSelect email={email} onSelect={(selected) => onChange({ email: selected, stack: undefined })} />
    </>
  );
};

type PersonProps = { email: string | undefined; onSelect: (email: string | undefined) => void };

/** The service searches, because there may be more people than a browser can hold. */
const PersonSelect = ({ email, onSelect }: PersonProps) => {
  const [text, setText] = useState('');
  const [search] = useDebouncedValue(text.trim(), TYPING_MS);
  const people = useQuery(
    trpc.users.list.queryOptions({ search, limit: FOUND_PEOPLE }, { placeholderData: keepPreviousData }),
  );
  const found = (people.data ?? []).map((person) => ({ value: person.email, label: nameOf(person) }));
  const isFound = email === undefined || found.some(({ value }) => value === email);
  return (
    <Select
      aria-label="Person"
      placeholder="All people"
      clearable
      searchable
      flex="1 1 9rem"
      maw={320}
      data={isFound ? found : [...found, { value: email, label: email }]}
      // The service has already filtered.
      filter={({ options }) => options}
      nothingFoundMessage="No one matches."
      searchValue={text}
      onSearchChange={setText}
      value={email ?? null}
      onChange={(selected) => onSelect(selected ?? undefined)}
    />
  );
};
