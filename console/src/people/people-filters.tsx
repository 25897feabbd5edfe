import { Select, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { type PeopleFilter, peopleFilter, ROLES } from './people-filter.ts';

/** Short, because a list that is no longer wanted is aborted. */
const TYPING_MS = 25;

const LAST_LOGINS = {
  never: 'Never',
  30: 'Over 30 days ago',
  90: 'Over 90 days ago',
  365: 'Over a year ago',
};

const LAST_SEEN = {
  30: 'Not seen for 30 days',
  90: 'Not seen for 90 days',
  180: 'Not seen for 180 days',
  365: 'Not seen for a year',
};

type Props = { filter: PeopleFilter; onChange: (changes: Partial<PeopleFilter>) => void };

export const PeopleFilters = ({ filter, onChange }: Props) => {
  const apps = useQuery(trpc.apps.list.queryOptions({}));
  const clients = useQuery(trpc.clients.list.queryOptions({}));
  return (
    <>
      <SearchInput search={filter.search} onSearch={(search) => onChange({ search })} />
      <Choice
        label="State"
        placeholder="Any state"
        choices={{ true: 'Active', false: 'Inactive' }}
        value={filter.is_active}
        onChange={(value) => onChange({ is_active: value === undefined ? undefined : value === 'true' })}
      />
      <Choice
        label="App"
        placeholder="All apps"
        choices={Object.fromEntries((apps.data ?? []).map(({ slug, label }) => [slug, label]))}
        value={filter.app}
        onChange={(app) => onChange({ app })}
      />
      {clients.data && clients.data.length > 1 && (
        <Choice
          label="Client"
          placeholder="All clients"
          choices={Object.fromEntries(clients.data.map(({ id, name }) => [id, name]))}
          value={filter.client}
          onChange={(id) => onChange({ client: id === undefined ? undefined : Number(id) })}
        />
      )}
      <Choice
        label="Role"
        placeholder="All roles"
        choices={ROLES}
        value={filter.role}
        onChange={(role) => onChange(peopleFilter({ ...filter, role }))}
      />
      <Choice
        label="Last login"
        placeholder="Any last login"
        choices={LAST_LOGINS}
        value={filter.never_logged_in ? 'never' : filter.idle_days}
        onChange={(value) =>
          onChange({
            never_logged_in: value === 'never' ? true : undefined,
            idle_days: value === undefined || value === 'never' ? undefined : Number(value),
          })
        }
      />
      <Choice
        label="Last seen"
        placeholder="Seen any time"
        choices={LAST_SEEN}
        value={filter.unseen_days}
        onChange={(value) => onChange({ unseen_days: value === undefined ? undefined : Number(value) })}
      />
    </>
  );
};

type ChoiceProps = {
  label: string;
  placeholder: string;
  /** Value → what the user reads. */
  choices: Record<string, string>;
  value: string | number | boolean | undefined;
  onChange: (value: string | undefined) => void;
};

/** A filter that is off while nothing is selected. */
const Choice = ({ label, placeholder, choices, value, onChange }: ChoiceProps) => (
  <Select
    aria-label={label}
    placeholder={placeholder}
    clearable
    searchable
    flex="1 1 9rem"
    maw={240}
    data={Object.entries(choices).map(([key, text]) => ({ value: key, label: text }))}
    value={value === undefined ? null : String(value)}
    onChange={(selected) => onChange(selected ?? undefined)}
  />
);

type SearchProps = { search: string | undefined; onSearch: (search: string | undefined) => void };

const SearchInput = ({ search, onSearch }: SearchProps) => {
  const [text, setText] = useState(search ?? '');
  const report = useDebouncedCallback((value: string) => onSearch(value.trim() || undefined), TYPING_MS);
  return (
    <TextInput
      type="search"
      aria-label="Search people"
      placeholder="Name or email address"
      flex="2 1 11rem"
      value={text}
      onChange={({ currentTarget: { value } }) => {
        setText(value);
        report(value);
      }}
    />
  );
};
