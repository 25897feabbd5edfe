/** Of a base with fewer numbers than this, each chunk begins with the first again: most bases have one. */
const WORTH_REMEMBERING = 64;
/** Each round asks for twice as many numbers of a base as the one before, up to this many for each user. */
const MAX_NUMBERS_EACH = 1024;

/** The users of one base. All numbers below `next` are taken. */
type Group = { base: string; next: number; waiting: number[] };

/**
 * Gives a handle to each of many bases: the base itself or, with the lowest number from 2 that is free, the base and
 * that number. What is given has to be in use before more is asked for, and nobody else may be given any meanwhile.
 * @param takenAmong which of these handles are in use
 */
export const createHandleAllocator = (takenAmong: (handles: string[]) => Promise<string[]>) => {
  const remembered = new Map<string, number>();

  return async (bases: readonly string[]): Promise<string[]> => {
    const groups = groupsOf(bases, remembered);
    const assigned = new Map<number, string>();
    // `@ada2` is the second of `@ada` and the first of its own.
    const used = new Set<string>();
    for (let each = 1; assigned.size < bases.length; each = Math.min(each * 2, MAX_NUMBERS_EACH)) {
      const asking = groups.filter(({ waiting }) => waiting.length > 0);
      const offers = asking.map((group) => ({ group, numbers: nextNumbers(group, each) }));
      const asked = offers.flatMap(({ group, numbers }) => numbers.map((n) => handleOf(group.base, n)));
      for (const handle of await takenAmong(asked)) used.add(handle);
      for (const { group, numbers } of offers) assignHandles(group, numbers, used, assigned);
    }
    for (const { base, next } of groups) if (next > WORTH_REMEMBERING) remembered.set(base, next);
    return bases.map((_base, index) => assigned.get(index) ?? '');
  };
};

const groupsOf = (bases: readonly string[], remembered: Map<string, number>): Group[] => {
  const groups = new Map<string, Group>();
  for (const [index, base] of bases.entries()) {
    const group = groups.get(base) ?? { base, next: remembered.get(base) ?? 1, waiting: [] };
    group.waiting.push(index);
    groups.set(base, group);
  }
  return [...groups.values()];
};

const nextNumbers = ({ next, waiting }: Group, each: number): number[] =>
  Array.from({ length: waiting.length * each }, (_, offset) => next + offset);

const handleOf = (base: string, n: number): string => (n === 1 ? base : `${base}${n}`);

const assignHandles = (
  group: Group,
  numbers: number[],
  used: Set<string>,
  given: Map<number, string>,
): void => {
  for (const n of numbers) {
    const [index] = group.waiting;
    if (index === undefined) return;
    group.next = n + 1;
    const handle = handleOf(group.base, n);
    if (used.has(handle)) continue;
    used.add(handle);
    given.set(index, handle);
    group.waiting.shift();
  }
};
