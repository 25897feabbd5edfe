import { createHash } from 'node:crypto';

export type Random = ReturnType<typeof createRandom>;

const UINT32 = 2 ** 32;

/**
 * Numbers that are the same for the same seed and purpose on every machine. The generator is sfc32 of Chris
 * Doty-Humphrey's PractRand; each purpose has a stream of its own, so that more of one thing changes no other.
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
  /** From 0 up to, and without, 1. */
  const fraction = (): number => uint32() / UINT32;
  /** A whole number from 0 up to, and without, `bound`. */
  const below = (bound: number): number => Math.floor(fraction() * bound);

  return {
    fraction,
    below,
    isOnce: (probability: number): boolean => fraction() < probability,
    pick: <T>(items: readonly [T, ...T[]]): T => items[below(items.length)] ?? items[0],
    text: (alphabet: string, length: number): string =>
      Array.from({ length }, () => alphabet.charAt(below(alphabet.length))).join(''),
    /** 8 hexadecimal digits. */
    hex8: (): string => uint32().toString(16).padStart(8, '0'),
  };
};

/** Chooses indexes as often as their weights say. */
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

/** The index of the first of these ascending numbers that is greater. */
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
