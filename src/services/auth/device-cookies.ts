import { createHmac, timingSafeEqual } from 'node:crypto';
import { newSessionSecret } from '../../lib/ids.ts';
import { deriveKey } from '../../lib/sealed-box.ts';

/** The account and password that a cookie is bound to. */
export type DeviceOwner = { id: number; lastPasswordSet: Date };

/** A random id and its signature. */
const FORMAT = /^([\w-]{43})\.([\w-]{43})$/;

/**
 * Signs the cookies of browsers that have logged in: OWASP's "device cookies". Such a cookie is no credential: it only gives the
 * browser a count of failed logins of its own. It is bound to the account and the password that was entered, so that an intruder
 * cannot collect cookies for guessing the next password.
 */
export const createDeviceCookies = (secretKey: string) => {
  const key = deriveKey(secretKey, 'device cookies');
  const sign = (device: string, { id, lastPasswordSet }: DeviceOwner): Buffer =>
    createHmac('sha256', key).update(`${device}\0${id}\0${lastPasswordSet.getTime()}`).digest();

  return {
    /** A new cookie for a browser in which the user has just entered or set this password. */
    issue: (owner: DeviceOwner): string => {
      const device = newSessionSecret();
      return `${device}.${sign(device, owner).toString('base64url')}`;
    },

    /** The id of the browser, or null if the cookie is not one of this account, or was issued for a former password. */
    deviceOf: (cookie: string, owner: DeviceOwner): string | null => {
      const [, device, signature] = FORMAT.exec(cookie) ?? [];
      if (device === undefined || signature === undefined) return null;
      const isSigned = timingSafeEqual(Buffer.from(signature, 'base64url'), sign(device, owner));
      return isSigned ? device : null;
    },
  };
};
