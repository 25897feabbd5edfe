import { randomBytes, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHANUMERIC = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** An app id: 8 characters of `[A-Za-z0-9]`, about 47 random bits. */
export const newAppId = (): string =>
  Array.from({ length: 8 }, () => ALPHANUMERIC.charAt(randomInt(ALPHANUMERIC.length))).join('');

/** Whether a text has the form of an app id. PostgreSQL cannot read all text. */
export const isAppId = (text: string): boolean => /^[A-Za-z0-9]{8}$/.test(text);

/** A stack id: 8 lower-case hexadecimal characters. */
export const newStackId = (): string => randomBytes(4).toString('hex');

/** An API token: 40 hexadecimal characters, 160 random bits. */
export const newToken = (): string => randomBytes(20).toString('hex');

const TOKEN_PREFIX = 'stw_';
const TOKEN_RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;

/** The CRC-32 of a text in base 62, of 6 characters. */
const checksumOf = (text: string): string => {
  let digits = '';
  for (let rest = crc32(text); digits.length < CHECKSUM_LENGTH; rest = Math.floor(rest / 62))
    digits = ALPHANUMERIC.charAt(rest % 62) + digits;
  return digits;
};

/** A named token: `stw_`, 30 letters and digits (178 random bits), and a checksum, by which scanners for leaked secrets recognise it. */
export const newNamedToken = (): string => {
  const random = Array.from({ length: TOKEN_RANDOM_LENGTH }, () => ALPHANUMERIC.charAt(randomInt(62))).join(
    '',
  );
  return TOKEN_PREFIX + random + checksumOf(random);
};

/** Whether a text has the form of a token. Other texts need no query. */
export const isToken = (text: string): boolean => {
  if (/^[0-9a-f]{40}$/.test(text)) return true;
  const [, random = '', checksum] = /^stw_([A-Za-z0-9]{30})([A-Za-z0-9]{6})$/.exec(text) ?? [];
  return checksum !== undefined && checksum === checksumOf(random);
};

/** A session cookie or a launch code: 43 URL-safe characters, 256 random bits. */
export const newSecret = (): string => randomBytes(32).toString('base64url');

/** Whether a text has the form of `newSecret`. Other texts need no query. */
export const isSecret = (text: string): boolean => /^[\w-]{43}$/.test(text);

const INVITATION_KEY_BYTES = 24;

/** Invitation keys: each has 32 URL-safe characters, 192 random bits. Generated together, because each call takes microseconds. */
export const newInvitationKeys = (count: number): string[] => {
  const bytes = randomBytes(count * INVITATION_KEY_BYTES);
  return Array.from({ length: count }, (_, index) =>
    bytes.toString('base64url', index * INVITATION_KEY_BYTES, (index + 1) * INVITATION_KEY_BYTES),
  );
};

/** The key of an access view: 32 hexadecimal characters, 128 random bits. */
export const newAccessViewKey = (): string => randomBytes(16).toString('hex');
