import { Alert } from '@mantine/core';
import type { ReactNode } from 'react';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { hasErrors, type InviteRow } from './invite-rows.ts';
import { hasFieldErrors, MAX_ROWS } from './use-invite-list.ts';

type Props = { rows: readonly InviteRow[]; hasUnchecked: boolean; error: unknown };

/** Whether the list can be sent. Always one line, so that the rows below do not move while someone types. */
export const ListStatus = ({ rows, hasUnchecked, error }: Props) => {
  const faulty = rows.filter(hasErrors).length;
  const surplus = rows.length - MAX_ROWS;
  if (surplus > 0)
    return <Line color="red">{`At most ${MAX_ROWS} people can be invited at once. Remove ${surplus}.`}</Line>;
  if (faulty > 0)
    return (
      <Line color="red">
        {faulty === 1 ? '1 row has errors and stays' : `${faulty} rows have errors and stay`} in the list when
        you send the others.
      </Line>
    );
  // Errors of fields are shown in the rows, and disappear with them.
  if (error && !hasFieldErrors(error)) return <ProblemAlert error={error} />;
  if (rows.length === 0) return null;
  return hasUnchecked ? (
    <Line color="gray">Checking the list…</Line>
  ) : (
    <Line color="green">All of them can be invited.</Line>
  );
};

const Line = ({ color, children }: { color: 'red' | 'gray' | 'green'; children: ReactNode }) => (
  <Alert color={color} variant="light" role={color === 'red' ? 'alert' : 'status'} mb="md">
    {children}
  </Alert>
);
