import { Select, TextInput } from '@mantine/core';
import { ClientSelect } from '../components/client-select.tsx';
import { DebouncedInput } from '../components/debounced-input.tsx';
import { ACTION_OPTIONS, isAction } from './audit-actions.ts';
import type { AuditFilter } from './audit-filter.ts';

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
    <DebouncedInput label="Actor" value={filter.actor} onChange={(actor) => onChange({ actor })} />
    <DebouncedInput label="Target" value={filter.target} onChange={(target) => onChange({ target })} />
    <ClientSelect value={filter.client} onChange={(client) => onChange({ client })} />
    <TextInput
      type="date"
      aria-label="From"
      leftSection="from"
      leftSectionWidth={48}
      value={filter.from ?? ''}
      onChange={({ currentTarget }) => onChange({ from: currentTarget.value || undefined })}
    />
    <TextInput
      type="date"
      aria-label="To"
      leftSection="to"
      value={filter.to ?? ''}
      onChange={({ currentTarget }) => onChange({ to: currentTarget.value || undefined })}
    />
  </>
);
