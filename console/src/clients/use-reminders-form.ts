import type { FormErrors } from '@mantine/form';
import { useQueryClient } from '@tanstack/react-query';
import { type Outputs, steward, trpc } from '../api.ts';
import { useRecordForm } from '../components/use-record-form.tsx';
import type { Client } from './use-client-form.ts';

export type RemindersOf = Outputs['reminders']['get'];

/** By field: the initial number of days when it is turned on, and the limits of the service. */
export const DAYS = {
  access_days: { usual: 7, min: 1, max: 90 },
  invitation_days: { usual: 3, min: 1, max: 90 },
  inactive_days: { usual: 180, min: 14, max: 3_650 },
  suspend_days: { usual: 30, min: 7, max: 365 },
} as const;

export type DaysField = keyof typeof DAYS;

const LABELS = [
  ['access_days', 'Days before access ends'],
  ['access_admins', 'Mail the admins about access that ends'],
  ['invitation_days', 'Days before an invitation expires'],
  ['inactive_days', 'Days without use before the warning'],
  ['suspend_days', 'Days from the warning to the suspension'],
  ['weekly_digest', 'Weekly digest'],
] as const;

/** 0: off. An empty input is no number. */
export const findWrongDays = (values: Record<DaysField, unknown>): FormErrors => {
  const errors: FormErrors = {};
  for (const field of Object.keys(DAYS) as DaysField[]) {
    const { min, max } = DAYS[field];
    const days = values[field];
    if (days !== 0 && !(Number.isInteger(days) && Number(days) >= min && Number(days) <= max))
      errors[field] = `Must be between ${min} and ${max.toLocaleString()}.`;
  }
  return errors;
};

export const useRemindersForm = (client: Client, reminders: RemindersOf) => {
  const queryClient = useQueryClient();
  const query = trpc.reminders.get.queryOptions({ id: client.id }, { staleTime: 0 });
  return useRecordForm({
    name: 'reminders',
    record: reminders,
    labels: LABELS,
    history: { action: 'client.change-reminders', target: client.name },
    read: () => queryClient.fetchQuery(query),
    save: (input) => steward.api.reminders.update.mutate({ id: client.id, ...input }),
    validate: findWrongDays,
    onSaved: (updated) => {
      queryClient.setQueryData(query.queryKey, updated);
      for (const filter of [trpc.reminders.preview, trpc.audit.list])
        void queryClient.invalidateQueries(filter.pathFilter());
    },
  });
};
