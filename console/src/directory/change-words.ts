import type { Directory, GroupChange, PersonChange } from './use-directory.ts';

type Words = {
  /** After `41 people would` or `41 people will`. */
  what: string;
  /** In the row of one. */
  does: string;
  /** Whether someone loses something by it. */
  isEnding?: true;
};

export const PERSON_WORDS: Record<PersonChange, Words> = {
  join: { what: 'join', does: 'Joins' },
  adopt: {
    what: 'stay members, and be kept up to date',
    does: 'Stays a member, kept up to date by the directory',
  },
  invite: { what: 'be invited', does: 'Gets an invitation' },
  update: { what: 'get another name or other data', does: 'Gets another name or other data' },
  reactivate: { what: 'be reactivated', does: 'Is reactivated' },
  suspend: { what: 'be suspended', does: 'Is suspended', isEnding: true },
  revoke: { what: 'lose their invitation', does: 'Loses the invitation', isEnding: true },
  remove: { what: 'be removed', does: 'Is removed', isEnding: true },
  forget: { what: 'be forgotten: they never joined', does: 'Is forgotten, and never joined' },
};

export const GROUP_WORDS: Record<GroupChange, Words> = {
  create: { what: 'be created', does: 'Is created' },
  adopt: {
    what: 'stay, and be kept up to date',
    does: 'Stays, kept up to date by the directory',
  },
  update: { what: 'get other members or another name', does: 'Gets other members or another name' },
  remove: { what: 'be removed', does: 'Is removed', isEnding: true },
  forget: { what: 'be forgotten: they never existed here', does: 'Is forgotten, and never existed here' },
};

/** `41 people` would `join`. */
export type ChangeCount = { who: string; what: string; isEnding: boolean } & (
  | { of: 'people'; change: PersonChange }
  | { of: 'groups'; change: GroupChange }
);

/** What is not as a directory states it. */
export const countsOf = ({ changes, group_changes }: Directory): ChangeCount[] => [
  ...keysOf(PERSON_WORDS).flatMap((change): ChangeCount[] => {
    const { what, isEnding = false } = PERSON_WORDS[change];
    const who = peopleText(changes[change] ?? 0);
    return changes[change] ? [{ of: 'people', change, who, what, isEnding }] : [];
  }),
  ...keysOf(GROUP_WORDS).flatMap((change): ChangeCount[] => {
    const { what, isEnding = false } = GROUP_WORDS[change];
    const who = groupsText(group_changes[change] ?? 0);
    return group_changes[change] ? [{ of: 'groups', change, who, what, isEnding }] : [];
  }),
];

const keysOf = <K extends string>(words: Record<K, Words>) => Object.keys(words) as K[]; // the keys of the record

export const peopleText = (count: number): string =>
  count === 1 ? '1 person' : `${count.toLocaleString()} people`;

export const groupsText = (count: number): string =>
  count === 1 ? '1 group' : `${count.toLocaleString()} groups`;
