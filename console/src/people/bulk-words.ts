import { dateOf } from '../components/date-text.tsx';
import type { BulkChange, BulkOutcome, BulkRow } from './use-bulk-update.ts';

/** What was done to these people. `given`: the apps or groups. */
const DONE: Record<BulkChange['action'], (people: string, given: string, until: string) => string> = {
  'grant-apps': (people, given, until) => `Granted ${given} to ${people}${until}`,
  'revoke-apps': (people, given) => `Revoked ${given} from ${people}`,
  'add-to-groups': (people, given) => `Added ${people} to ${given}`,
  deactivate: (people) => `Suspended ${people}`,
  reactivate: (people) => `Reactivated ${people}`,
  offboard: (people) => `Offboarded ${people}`,
  'set-attribute': (people) => `Set a data permission of ${people}`,
  'send-password-link': (people) => `Sent a password link to ${people}`,
};

/** Why a change has not changed a person, and several. */
const UNCHANGED: Record<BulkChange['action'], [one: string, many: string]> = {
  'grant-apps': ['had it already', 'had it already'],
  'revoke-apps': ['did not have it', 'did not have it'],
  'add-to-groups': ['was a member already', 'were members already'],
  deactivate: ['was suspended already', 'were suspended already'],
  reactivate: ['was active already', 'were active already'],
  offboard: ['had nothing left', 'had nothing left'],
  'set-attribute': ['had this value already', 'had this value already'],
  'send-password-link': ['got none', 'got none'],
};

const isClientAdmin = ({ problem }: BulkRow): boolean => problem?.code === 'client-admin-locked';

/** A person was changed, or needs no change: client admins open all apps without a grant. */
export const isHarmless = ({ action }: BulkChange, row: BulkRow): boolean =>
  row.status !== 'failed' || (action === 'grant-apps' && isClientAdmin(row));

/** Why a person was not changed. */
export const reasonOf = ({ action }: BulkChange, row: BulkRow): string => {
  if (row.status === 'unchanged') return UNCHANGED[action][0];
  if (!isClientAdmin(row)) return row.problem?.detail ?? '';
  return action === 'grant-apps'
    ? 'is a client admin and opens all apps without a grant'
    : 'is a client admin, whom only “People & roles” of the client changes';
};

/** The outcome in one line. The first sentence says what was done. */
export const sentencesOf = (
  { change, results }: BulkOutcome,
  given: readonly string[],
  names: ReadonlyMap<string, string>,
): [done: string, ...others: string[]] => {
  const { action, expires_at: end } = change;
  const changed = results.filter(({ status }) => status === 'ok');
  const until = end ? ` until ${dateOf(end)}` : '';
  const people = changed.length === 0 ? 'no one' : peopleOf(changed.length);
  const done = `${DONE[action](people, given.join(', '), until)}.`;
  const clauseOf = (rows: readonly BulkRow[], one: string, many: string): string[] => {
    const [first] = rows;
    if (!first) return [];
    if (rows.length > 1) return [`${rows.length.toLocaleString()} ${many}`];
    return [`${names.get(first.email) ?? first.email} ${one}`];
  };
  const unchanged = results.filter(({ status }) => status === 'unchanged');
  const failed = results.filter(({ status }) => status === 'failed');
  const needless = failed.filter((row) => isHarmless(change, row));
  const refused = failed.filter((row) => !isHarmless(change, row));
  const others = [
    ...clauseOf(unchanged, ...UNCHANGED[action]),
    ...clauseOf(needless, 'is a client admin and opens all apps', 'are client admins and open all apps'),
    ...clauseOf(refused, 'was refused', 'were refused'),
  ].join('; ');
  return others === '' ? [done] : [done, `${others}.`];
};

const peopleOf = (count: number): string => (count === 1 ? '1 person' : `${count.toLocaleString()} people`);
