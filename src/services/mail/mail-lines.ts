import { z } from 'zod';

const MAX_ADDRESS_LENGTH = 254;
const MAX_LINE_LENGTH = 255;

/** Controls, line ends of all kinds, and marks that turn the direction of what follows them. */
const LINE_FORBIDDEN = /[\s\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu;
const TEXT_FORBIDDEN = /[^\P{Cc}\n\t]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/**
 * One line for a header or a heading, out of whatever somebody wrote. It begins no encoded word (RFC 2047 §2), which
 * mail programs would turn into something else.
 */
export const oneLine = (text: string): string => {
  const line = text.toWellFormed().replace(LINE_FORBIDDEN, ' ').replaceAll('=?', '= ?').trim();
  return Array.from(line).slice(0, MAX_LINE_LENGTH).join('').trim();
};

/** Plain text with its line breaks, and no other controls. */
export const plainText = (text: string): string =>
  text.toWellFormed().replace(/\r\n?/g, '\n').replace(TEXT_FORBIDDEN, '').trim();

/**
 * One address that mail can go to: the form that HTML gives addresses has neither spaces nor commas, quotes,
 * brackets or line ends, so that nothing can be added to it.
 */
export const isMailAddress = (text: string): boolean =>
  text.length <= MAX_ADDRESS_LENGTH && z.regexes.html5Email.test(text);
