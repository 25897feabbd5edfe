import { Autocomplete, type AutocompleteProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { nameOf } from '../people/name-of.ts';

const SUGGESTIONS = 7;
const TYPING_MS = 120;
/** Matches that may be left out before suggestions are missed. */
const MAX_SKIPPED = 100;

type Props = Omit<AutocompleteProps, 'data'> & {
  /** Who is suggested: those who may open the app, by its slug, or the members of the client. */
  among: { app: string } | { client: number };
  /** Addresses that are not suggested. */
  without?: ReadonlySet<string>;
};

const NONE: ReadonlySet<string> = new Set();

/** The address of a person, found by name or address. */
export const PersonInput = ({ among, without = NONE, value = '', ...props }: Props) => {
  const [search] = useDebouncedValue(value.trim(), TYPING_MS);
  const people = useQuery(
    trpc.users.list.queryOptions(
      { search, ...among, is_active: true, limit: SUGGESTIONS + Math.min(without.size, MAX_SKIPPED) },
      { enabled: search !== '', placeholderData: keepPreviousData },
    ),
  );
  const found = search === '' ? [] : (people.data ?? []).filter(({ email }) => !without.has(email));
  const names = new Map(found.slice(0, SUGGESTIONS).map((person) => [person.email, nameOf(person)]));
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
