import { isIP } from 'node:net';

/** Whether browsers have passkeys for a service with this address: with https and a host name only, and for localhost. */
export const hasPasskeys = ({ protocol, hostname }: URL): boolean => {
  const isSecure = protocol === 'https:' || /(^|\.)localhost$/.test(hostname);
  return isSecure && !hostname.startsWith('[') && isIP(hostname) === 0;
};
