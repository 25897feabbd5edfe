import { TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { FilterBar } from '../components/filter-bar.tsx';
import { FilterChip } from '../components/filter-chip.tsx';
import { useFound } from '../layout/use-found.ts';
import { nameOf } from '../people/name-of.ts';
import { ViewsMenu } from '../views/views-menu.tsx';
import { ACTION_OPTIONS, labelOf } from './audit-actions.ts';
import { type AuditFilter, actionsOf, daysOf, OTHER_DAYS, PERIOD_LABELS, periodOf } from './audit-filter.ts';

type Props = { filter: AuditFilter; onChange: (changes: Partial<AuditFilter>) => void };

const PERIOD_CHOICES = PERIOD_LABELS.map((label) => ({ value: label, label }));

export const AuditFilters = ({ filter, onChange }: Props) => (
  <FilterBar views={<ViewsMenu list="audit" search={filter} />}>
    <SubjectChip label="Actor" isPerson value={filter.actor} onChange={(actor) => onChange({ actor })} />
    <ActionChip filter={filter} onChange={onChange} />
    <SubjectChip label="Target" value={filter.target} onChange={(target) => onChange({ target })} />
    <PeriodChip filter={filter} onChange={onChange} />
  </FilterBar>
);

/** Any number of actions. */
const ActionChip = ({ filter, onChange }: Props) => {
  const chosen = actionsOf(filter);
  const [first] = chosen;
  const toggle = (action: string): void => {
    const others = chosen.filter((one) => one !== action);
    const actions = others.length === chosen.length ? [...chosen, action] : others;
    onChange({ action: actions.join(',') || undefined });
  };
  return (
    <FilterChip
      label="Action"
      choices={ACTION_OPTIONS}
      value={first}
      text={chosen.length > 1 ? `${chosen.length} actions` : first && labelOf(first)}
      chosen={chosen}
      onChange={(action) => (action === undefined ? onChange({ action }) : toggle(action))}
    />
  );
};

/** A common period, or a first and a last day. */
const PeriodChip = ({ filter, onChange }: Props) => {
  const [isChoosing, setChoosing] = useState(false);
  const period = isChoosing ? OTHER_DAYS : periodOf(filter);
  return (
    <>
      <FilterChip
        label="Period"
        choices={PERIOD_CHOICES}
        value={period}
        onChange={(chosen) => {
          setChoosing(chosen === OTHER_DAYS);
          if (chosen !== OTHER_DAYS) onChange(daysOf(chosen) ?? { from: undefined, to: undefined });
        }}
      />
      {period === OTHER_DAYS && (
        <>
          <DayField label="From" value={filter.from} onChange={(from) => onChange({ from })} />
          <DayField label="To" value={filter.to} onChange={(to) => onChange({ to })} />
        </>
      )}
    </>
  );
};

type DayProps = { label: string; value: string | undefined; onChange: (day: string | undefined) => void };

const DayField = ({ label, value, onChange }: DayProps) => (
  <TextInput
    type="date"
    size="xs"
    radius="xl"
    aria-label={label}
    leftSection={label}
    leftSectionWidth={52}
    value={value ?? ''}
    onChange={({ currentTarget }) => onChange(currentTarget.value || undefined)}
  />
);

const TYPING_MS = 120;

type SubjectProps = {
  label: string;
  /** A name as in the audit trail: an address, the slug of an app, the name of a client. */
  value: string | undefined;
  /** Actors are people; targets may also be invitees, apps and clients. */
  isPerson?: boolean;
  onChange: (value: string | undefined) => void;
};

/** A filter by a subject that the service finds. Former names are found by their exact text. */
const SubjectChip = ({ label, value, isPerson = false, onChange }: SubjectProps) => {
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
