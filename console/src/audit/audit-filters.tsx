import { TextInput } from '@mantine/core';
import { useState } from 'react';
import { FilterBar } from '../components/filter-bar.tsx';
import { FilterChip } from '../components/filter-chip.tsx';
import { ACTION_OPTIONS } from './audit-actions.ts';
import type { AuditFilter } from './audit-filter.ts';
import { daysOf, OTHER_DAYS, PERIOD_LABELS, periodOf } from './audit-periods.ts';
import { SubjectChip } from './subject-chip.tsx';

type Props = { filter: AuditFilter; onChange: (changes: Partial<AuditFilter>) => void };

const PERIOD_CHOICES = PERIOD_LABELS.map((label) => ({ value: label, label }));

export const AuditFilters = ({ filter, onChange }: Props) => (
  <FilterBar>
    <SubjectChip label="Actor" isPerson value={filter.actor} onChange={(actor) => onChange({ actor })} />
    <FilterChip
      label="Action"
      choices={ACTION_OPTIONS}
      value={filter.action}
      onChange={(action) => onChange({ action })}
    />
    <SubjectChip label="Target" value={filter.target} onChange={(target) => onChange({ target })} />
    <PeriodChip filter={filter} onChange={onChange} />
  </FilterBar>
);

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
