import dayjs from 'dayjs';
import { isAction } from './audit-actions.ts';
import type { AuditFilter, AuditKind } from './audit-search.ts';

/** The chosen actions, of those that this console knows. */
export const actionsOf = ({ action = '' }: AuditFilter) => action.split(',').filter(isAction);

/** Logins are most of the trail, so they are listed only if they are asked for, or belong to what a person did. */
export const kindOf = (filter: AuditFilter): AuditKind =>
  filter.kind ?? (filter.actor !== undefined || actionsOf(filter).length > 0 ? 'all' : 'changes');

type Days = Pick<AuditFilter, 'from' | 'to'>;

/** Periods that end today or yesterday: how many days ago their first and last days are. */
const PERIODS = [
  { label: 'Today', first: 0, last: 0 },
  { label: 'Yesterday', first: 1, last: 1 },
  { label: 'Last 7 days', first: 6, last: 0 },
  { label: 'Last 30 days', first: 29, last: 0 },
];

/** Shows the fields of the first and the last day. */
export const OTHER_DAYS = 'Other days';
export const PERIOD_LABELS = [...PERIODS.map(({ label }) => label), OTHER_DAYS];

const dayAgo = (days: number): string => dayjs().subtract(days, 'day').format('YYYY-MM-DD');

/** Undefined if the period has no fixed days. */
export const daysOf = (chosen: string | undefined): Days | undefined => {
  const period = PERIODS.find(({ label }) => label === chosen);
  return period && { from: dayAgo(period.first), to: dayAgo(period.last) };
};

/** The period with these days; undefined without days. */
export const periodOf = ({ from, to }: Days): string | undefined => {
  if (from === undefined && to === undefined) return undefined;
  const isThis = (label: string): boolean => {
    const days = daysOf(label);
    return days?.from === from && days?.to === to;
  };
  return PERIODS.find(({ label }) => isThis(label))?.label ?? OTHER_DAYS;
};

/** Converts to the filter of the API: times instead of days in the user's time zone, and only known actions. */
export const apiFilterOf = (filter: AuditFilter) => {
  const { from, to, actor, target, person, client } = filter;
  const [kind, actions] = [kindOf(filter), actionsOf(filter)];
  return {
    actor,
    target,
    person,
    client,
    kind: kind === 'all' ? undefined : kind,
    actions: actions.length > 0 ? actions.join(',') : undefined,
    from: from === undefined ? undefined : new Date(`${from}T00:00:00`),
    to: to === undefined ? undefined : dayAfter(to),
  };
};

const dayAfter = (day: string): Date => {
  const date = new Date(`${day}T00:00:00`);
  date.setDate(date.getDate() + 1);
  return date;
};
