import { z } from 'zod';

const MAX_ADDRESS_LENGTH = 254;
const MAX_LINE_LENGTH = 255;

/** Control characters, line breaks and bidirectional controls. */
const LINE_FORBIDDEN = /[\s\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu;
const TEXT_FORBIDDEN = /[^\P{Cc}\n\t]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/**
 * Turns user input into one line for a header or a heading. The line contains no encoded word (RFC 2047 §2), which mail
 * programs would decode.
 */
export const oneLine = (text: string): string => {
  const line = text.toWellFormed().replace(LINE_FORBIDDEN, ' ').replaceAll('=?', '= ?').trim();
  return Array.from(line).slice(0, MAX_LINE_LENGTH).join('').trim();
};

/** Removes all control characters except line breaks and tabs. */
export const plainText = (text: string): string =>
  text.toWellFormed().replace(/\r\n?/g, '\n').replace(TEXT_FORBIDDEN, '').trim();

/**
 * Accepts the form that HTML defines for email fields. It has no spaces, commas, quotes, brackets or line breaks, so it
 * cannot inject recipients or headers.
 */
export const isMailAddress = (text: string): boolean =>
  text.length <= MAX_ADDRESS_LENGTH && z.regexes.html5Email.test(text);
