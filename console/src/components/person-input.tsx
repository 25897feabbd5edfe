import { Autocomplete, type AutocompleteProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';
import { nameOf } from './name-of.ts';

const SUGGESTIONS = 7;
const TYPING_MS = 120;
/** Maximum number of matches that `without` may exclude before suggestions are missing. */
const MAX_SKIPPED = 100;

type Props = Omit<AutocompleteProps, 'data'> & {
  /** The people to suggest: those who may open the app (by slug), or the members of the client. */
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
