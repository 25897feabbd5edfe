import { Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { useId } from 'react';
import { DateText } from './date-text.tsx';

/** `choice` is one of `ENDS`; `date` applies if the choice is `A date`, as `2026-11-22`. */
export type End = { choice: string; date: string };

const ENDS = ['No end', 'In 2 weeks', 'In a month', 'A date'] as const;

export const NO_END: End = { choice: 'No end', date: '' };

/** The choice for an existing end. */
export const endChoiceOf = (expires: Date | null): End =>
  expires ? { choice: 'A date', date: dayOf(expires) } : NO_END;

/** When access ends: late on its last day, in the time zone of the browser. Undefined until a date is entered. */
export const endOf = ({ choice, date }: End, now = new Date()): Date | null | undefined => {
  if (choice === 'No end') return null;
  if (choice === 'In 2 weeks') return lastMinuteOf(now.getFullYear(), now.getMonth(), now.getDate() + 14);
  if (choice === 'In a month') return inAMonth(now);
  const [year = 0, month = 0, day = 0] = date.split('-').map(Number);
  return date === '' ? undefined : lastMinuteOf(year, month - 1, day);
};

const lastMinuteOf = (year: number, month: number, day: number): Date => new Date(year, month, day, 23, 59);

/** The same day of the next month, or its last day. */
const inAMonth = (now: Date): Date => {
  const [year, month] = [now.getFullYear(), now.getMonth() + 1];
  const lastDay = new Date(year, month + 1, 0).getDate();
  return lastMinuteOf(year, month, Math.min(now.getDate(), lastDay));
};

const dayOf = (date: Date): string =>
  [date.getFullYear(), date.getMonth() + 1, date.getDate()]
    .map((part) => String(part).padStart(2, '0'))
    .join('-');

type Props = {
  label: string;
  value: End;
  onChange: (end: End) => void;
  /** The reason for which the service refuses the date. */
  error?: string | undefined;
};

/** Chooses how long something lasts. */
export const EndChoice = ({ label, value, onChange, error }: Props) => {
  const hintId = useId();
  const end = endOf(value);
  return (
    <Stack gap={4}>
      <Group grow align="flex-start" preventGrowOverflow={false} wrap="wrap">
        <Select
          miw="9rem"
          label={label}
          allowDeselect={false}
          data={ENDS}
          value={value.choice}
          aria-describedby={hintId}
          onChange={(choice) => onChange({ ...value, choice: choice ?? 'No end' })}
        />
        {value.choice === 'A date' && (
          <TextInput
            miw="9rem"
            type="date"
            label="Last day"
            required
            min={dayOf(new Date())}
            value={value.date}
            onChange={({ currentTarget: { value: date } }) => onChange({ ...value, date })}
          />
        )}
      </Group>
      <Text id={hintId} size="xs" c={error ? 'var(--mantine-color-error)' : 'dimmed'} aria-live="polite">
        {error ?? <Hint end={end} />}
      </Text>
    </Stack>
  );
};

const Hint = ({ end }: { end: Date | null | undefined }) => {
  if (end === undefined) return 'Choose the last day.';
  if (end === null) return 'Until someone ends it.';
  return (
    <>
      Until <DateText date={end} />, then it ends by itself.
    </>
  );
};
