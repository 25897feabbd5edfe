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

/** An invitation key: 32 URL-safe characters, 192 random bits. */
export const newInvitationKey = (): string => randomBytes(24).toString('base64url');

/** The key of an access view: 32 hexadecimal characters, 128 random bits. */
export const newAccessViewKey = (): string => randomBytes(16).toString('hex');
