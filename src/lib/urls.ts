import { isIP } from 'node:net';
import { z } from 'zod';

/** A host as sockets and resolvers accept it: an IPv6 address without the brackets of URLs. */
export const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

export const hostOf = ({ hostname }: Pick<URL, 'hostname'>): string => withoutBrackets(hostname);

/** Allows every site. */
export const ANY_ORIGIN = '*';

/** `URL` accepts further characters, such as a semicolon, which ends a directive of a `Content-Security-Policy`. */
const HOST = /^[\w.:[\]-]+$/;

/** The form of the `Origin` header: no path, lower case, no default port. Null for other texts. */
export const originOf = (text: string): string | null => {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || !HOST.test(url.host)) return null;
  return url.href === `${url.origin}/` ? url.origin : null;
};

/** A comma-separated list of origins, or `*`. */
export const originList = z.string().transform((list, context) => {
  const origins = list
    .split(',')
    .map((part) => part.trim())
    .map((part) => (part === ANY_ORIGIN ? part : originOf(part)));
  if (!origins.includes(null)) return origins.filter((origin) => origin !== null);
  context.addIssue({ code: 'custom', message: 'must be origins such as https://app.example.com, or *' });
  return z.NEVER;
});

/** Whether an app has no address and APP_URL is not set: then a link leads to its REST resource. */
export const leadsToApi = (link: string): boolean => link.startsWith('/api/');

/** Whether browsers support passkeys for a service with this address: with https and a host name, and for localhost. */
export const hasPasskeys = ({ protocol, hostname }: URL): boolean => {
  const isSecure = protocol === 'https:' || /(^|\.)localhost$/.test(hostname);
  return isSecure && !hostname.startsWith('[') && isIP(hostname) === 0;
};
