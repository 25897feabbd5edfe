import { randomBytes, randomInt } from 'node:crypto';

const ALPHANUMERIC = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** An app id: 8 characters of `[A-Za-z0-9]`, about 47 random bits. */
export const newAppId = (): string =>
  Array.from({ length: 8 }, () => ALPHANUMERIC.charAt(randomInt(ALPHANUMERIC.length))).join('');

/** A stack id: 8 lower-case hexadecimal characters. */
export const newStackId = (): string => randomBytes(4).toString('hex');

/** An API token: 40 hexadecimal characters, 160 random bits. */
export const newToken = (): string => randomBytes(20).toString('hex');

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
