/**
 * What a reader cannot see, or what changes the order in which the rest is seen: a file that is called
 * `invoice\u202Efdp.exe` must not read as a PDF. Joiners stay; they make letters and pictures of several parts.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const JOINERS = '\u200C\u200D';

/** The same text in which every such character is written as JSON and JavaScript may write it: `\u202e`. */
export const visible = (text: string): string =>
  text.replaceAll(UNSEEN, (character) =>
    JOINERS.includes(character) ? character : character.split('').map(escaped).join(''),
  );

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
