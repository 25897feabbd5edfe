import fc from 'fast-check';

const FIRST_HALF = 0xd800;
const HALVES = 0x800;

/**
 * Any character but half of one: the unit `'binary'` of fast-check, which lists all 1.1 million of them, for a second or
 * more, when a string of it is first asked for.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat({ max: 0x10ffff - HALVES }).map(
  (index) => String.fromCodePoint(index < FIRST_HALF ? index : index + HALVES),
  (text) => {
    const code = typeof text === 'string' ? text.codePointAt(0) : undefined;
    if (code === undefined || text !== String.fromCodePoint(code))
      throw new Error('This is not one character.');
    if (code >= FIRST_HALF && code < FIRST_HALF + HALVES) throw new Error('This is half of one.');
    return code < FIRST_HALF ? code : code - HALVES;
  },
);
