import { createHash } from 'node:crypto';

export type Random = ReturnType<typeof createRandom>;

const UINT32 = 2 ** 32;

/**
 * A reproducible random number generator: sfc32 from Chris Doty-Humphrey's PractRand. Each purpose has a separate
 * stream, so that more rows of one kind do not change the others.
 */
export const createRandom = (seed: number, purpose: string) => {
  const start = createHash('sha256').update(`${seed} ${purpose}`).digest();
  let a = start.readInt32LE(0);
  let b = start.readInt32LE(4);
  let c = start.readInt32LE(8);
  let counter = start.readInt32LE(12);

  const uint32 = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  /** From 0 (inclusive) to 1 (exclusive). */
  const fraction = (): number => uint32() / UINT32;
  /** An integer from 0 (inclusive) to `bound` (exclusive). */
  const below = (bound: number): number => Math.floor(fraction() * bound);

  return {
    fraction,
    below,
    chance: (probability: number): boolean => fraction() < probability,
    pick: <T>(items: readonly [T, ...T[]]): T => items[below(items.length)] ?? items[0],
    text: (alphabet: string, length: number): string =>
      Array.from({ length }, () => alphabet.charAt(below(alphabet.length))).join(''),
    /** 8 hexadecimal digits. */
    hex8: (): string => uint32().toString(16).padStart(8, '0'),
  };
};

/** Chooses random indexes by weight. */
export const createChoice = (weights: Iterable<number>) => {
  let total = 0;
  const ends = Float64Array.from(weights, (weight) => {
    total += weight;
    return total;
  });
  return {
    isEmpty: total === 0,
    choose: (random: Random): number => firstAbove(ends, random.fraction() * total),
  };
};

export type Choice = ReturnType<typeof createChoice>;

/** Binary search for the first number greater than `bound`. */
const firstAbove = (numbers: Float64Array, bound: number): number => {
  let low = 0;
  let high = numbers.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] ?? 0) > bound) high = middle;
    else low = middle + 1;
  }
  return low;
};

/** With non-ASCII letters, for which encoders take a slower path. */
export const FIRST_NAMES = [
  'Anna',
  'Bela',
  'Carlos',
  'Dagny',
  'Elif',
  'Farid',
  'Grete',
  'Hugo',
  'Inês',
  'Jörg',
  'Keiko',
  'Liam',
] as const;

export const LAST_NAMES = [
  'Smith',
  'Müller',
  'García',
  'Ivanova',
  'Tanaka',
  'Okafor',
  'Nguyen',
  'Kovács',
  'Rossi',
  'Jansen',
] as const;

export const DEPARTMENTS = ['Finance', 'Operations', 'Marketing', 'Research', 'Logistics'] as const;
export const LOCALES = ['en', 'de', 'fr', 'es'] as const;

const CHROME_VERSIONS = [138, 139, 140, 141, 142];
const SYSTEMS = ['Windows NT 10.0; Win64; x64', 'Macintosh; Intel Mac OS X 10_15_7', 'X11; Linux x86_64'];

/** Typical user agents, slightly shortened. */
export const USER_AGENTS = SYSTEMS.flatMap((system) =>
  CHROME_VERSIONS.map((version) => `Mozilla/5.0 (${system}) AppleWebKit/537.36 Chrome/${version}.0.0.0`),
);
