import { Select, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { trpc } from '../api.ts';
import type { PeopleFilter } from './people-filter.ts';

const TYPING_MS = 120;

type Props = { filter: PeopleFilter; onChange: (changes: Partial<PeopleFilter>) => void };

export const PeopleFilters = ({ filter, onChange }: Props) => {
  const apps = useQuery(trpc.apps.list.queryOptions({}));
  return (
    <>
      <SearchInput search={filter.search} onSearch={(search) => onChange({ search })} />
      <Select
        aria-label="State"
        placeholder="Active and inactive"
        clearable
        data={[
          { value: 'true', label: 'Active' },
          { value: 'false', label: 'Inactive' },
        ]}
        value={filter.is_active === undefined ? null : String(filter.is_active)}
        onChange={(value) => onChange({ is_active: value === null ? undefined : value === 'true' })}
      />
      <Select
        aria-label="App"
        placeholder="All apps"
        clearable
        searchable
        data={(apps.data ?? []).map(({ slug, label }) => ({ value: slug, label }))}
        value={filter.app ?? null}
        onChange={(value) => onChange({ app: value ?? undefined })}
      />
    </>
  );
};

type SearchProps = { search: string | undefined; onSearch: (search: string | undefined) => void };

const SearchInput = ({ search, onSearch }: SearchProps) => {
  const [text, setText] = useState(search ?? '');
  const report = useDebouncedCallback((value: string) => onSearch(value.trim() || undefined), TYPING_MS);
  return (
    <TextInput
      type="search"
      aria-label="Search people"
      placeholder="Name or email address"
      w={280}
      value={text}
      onChange={({ currentTarget: { value } }) => {
        setText(value);
        report(value);
      }}
    />
  );
};
