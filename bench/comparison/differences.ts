/**
 * Where two JSON values first differ, as a path with both values; null where they are the same. The order of keys is of
 * no account, that of elements is.
 */
export const differenceBetween = (a: unknown, b: unknown, path = ''): string | null => {
  if (Object.is(a, b)) return null;
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return told(path, a, b);
  const [keysOfA, keysOfB] = [Object.keys(a), Object.keys(b)];
  const stray = [...keysOfA, ...keysOfB].find((key) => !Object.hasOwn(a, key) || !Object.hasOwn(b, key));
  if (stray !== undefined) return told(`${path}/${stray}`, a[stray], b[stray]);
  for (const key of keysOfA) {
    const difference = differenceBetween(a[key], b[key], `${path}/${key}`);
    if (difference !== null) return difference;
  }
  return null;
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

const SHOWN = 120;

const told = (path: string, a: unknown, b: unknown): string => {
  const [one, other] = [a, b].map((value) => (JSON.stringify(value) ?? 'nothing').slice(0, SHOWN));
  return `${path || '/'}: ${one} and ${other}`;
};
