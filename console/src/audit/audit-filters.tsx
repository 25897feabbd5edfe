import { Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import { ClientSelect } from '../components/client-select.tsx';
import { ACTION_OPTIONS, isAction } from './audit-actions.ts';
import type { AuditFilter } from './audit-filter.ts';
import { daysOf, OTHER_DAYS, PERIOD_LABELS, periodOf } from './audit-periods.ts';
import { SubjectSelect } from './subject-select.tsx';

type Props = { filter: AuditFilter; onChange: (changes: Partial<AuditFilter>) => void };

export const AuditFilters = ({ filter, onChange }: Props) => (
  <>
    <Select
      aria-label="Action"
      placeholder="All actions"
      clearable
      flex="1 1 8rem"
      maw={320}
      searchable
      data={ACTION_OPTIONS}
      value={filter.action ?? null}
      onChange={(action) => onChange({ action: isAction(action) ? action : undefined })}
    />
    <SubjectSelect label="Actor" isPerson value={filter.actor} onChange={(actor) => onChange({ actor })} />
    <SubjectSelect label="Target" value={filter.target} onChange={(target) => onChange({ target })} />
    <ClientSelect value={filter.client} onChange={(client) => onChange({ client })} />
    <PeriodFilter filter={filter} onChange={onChange} />
  </>
);

/** Usual periods, or a first and a last day. */
const PeriodFilter = ({ filter, onChange }: Props) => {
  const [isChoosing, setChoosing] = useState(false);
  const period = isChoosing ? OTHER_DAYS : periodOf(filter);
  return (
    <>
      <Select
        aria-label="Period"
        placeholder="Any time"
        clearable
        flex="1 1 8rem"
        maw={200}
        data={PERIOD_LABELS}
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
    aria-label={label}
    leftSection={label}
    leftSectionWidth={56}
    value={value ?? ''}
    onChange={({ currentTarget }) => onChange(currentTarget.value || undefined)}
  />
);
