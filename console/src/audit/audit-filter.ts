import { dayOf, idOf, textOf } from '../components/search-params.ts';
import { type Action, isAction } from './audit-actions.ts';

/** The filter of the audit trail, as the address states it. `from` and `to` are days, both included. */
export type AuditFilter = {
  action?: Action | undefined;
  actor?: string | undefined;
  target?: string | undefined;
  client?: number | undefined;
  from?: string | undefined;
  to?: string | undefined;
};

export const auditFilter = ({
  action,
  actor,
  target,
  client,
  from,
  to,
}: Record<string, unknown>): AuditFilter => ({
  action: isAction(action) ? action : undefined,
  actor: textOf(actor),
  target: textOf(target),
  client: idOf(client),
  from: dayOf(from),
  to: dayOf(to),
});

/** The filter of the API: times instead of the user's days. */
export const withTimes = ({ from, to, ...filter }: AuditFilter) => ({
  ...filter,
  from: from === undefined ? undefined : new Date(`${from}T00:00:00`),
  to: to === undefined ? undefined : dayAfter(to),
});

const dayAfter = (day: string): Date => {
  const date = new Date(`${day}T00:00:00`);
  date.setDate(date.getDate() + 1);
  return date;
};
