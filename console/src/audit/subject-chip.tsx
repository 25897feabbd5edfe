import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { FilterChip } from '../components/filter-chip.tsx';
import { useFound } from '../layout/use-found.ts';
import { nameOf } from '../people/name-of.ts';

const TYPING_MS = 120;

type Props = {
  label: string;
  /** A name as in the audit trail: an address, the slug of an app, the name of a client. */
  value: string | undefined;
  /** Actors are people; targets may also be invitees, apps and clients. */
  isPerson?: boolean;
  onChange: (value: string | undefined) => void;
};

/** A filter by a subject that the service finds. Former names are found by their exact text. */
export const SubjectChip = ({ label, value, isPerson = false, onChange }: Props) => {
  const [text, setText] = useState('');
  const typed = text.trim();
  const [search] = useDebouncedValue(typed, TYPING_MS);
  const { people, invitations, apps, clients, isSearching } = useFound(search);
  const names = new Map(people.map((person) => [person.email, `${nameOf(person)}, ${person.email}`]));
  if (!isPerson) {
    for (const { email } of invitations) if (!names.has(email)) names.set(email, `${email}, invited`);
    for (const app of apps) names.set(app.slug, `${app.label}, app`);
    for (const { name } of clients) if (!names.has(name)) names.set(name, `${name}, client`);
  }
  const exact = typed.includes('@') ? typed.toLowerCase() : typed;
  // Not while the service is searching: Enter must not choose this item instead of a person.
  if (search !== '' && search === typed && !isSearching && !names.has(exact))
    names.set(exact, `${names.size === 0 ? 'Nothing found. ' : ''}Entries of exactly “${exact}”`);
  return (
    <FilterChip
      label={label}
      choices={[...names].map(([found, name]) => ({ value: found, label: name }))}
      value={value}
      text={value}
      onChange={onChange}
      onSearch={setText}
      none={typed === '' ? 'Type a name or an email address.' : 'Searching…'}
    />
  );
};
