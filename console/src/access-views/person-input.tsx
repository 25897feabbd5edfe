import { Autocomplete, type AutocompleteProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { nameOf } from '../people/name-of.ts';

const SUGGESTIONS = 7;
const TYPING_MS = 120;

type Props = Omit<AutocompleteProps, 'data'> & { app: string };

/** The address of a person, found by name or address among those who may open the app. */
export const PersonInput = ({ app, value = '', ...props }: Props) => {
  const [search] = useDebouncedValue(value.trim(), TYPING_MS);
  const people = useQuery(
    trpc.users.list.queryOptions(
      { search, app, is_active: true, limit: SUGGESTIONS },
      { enabled: search !== '', placeholderData: keepPreviousData },
    ),
  );
  const found = search === '' ? [] : (people.data ?? []);
  const names = new Map(found.map((person) => [person.email, nameOf(person)]));
  return (
    <Autocomplete
      {...props}
      value={value}
      data-autofocus
      data={[...names.keys()]}
      // The service has already filtered.
      filter={({ options }) => options}
      renderOption={({ option }) => `${names.get(option.value)}, ${option.value}`}
    />
  );
};
