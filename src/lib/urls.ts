import { isIP } from 'node:net';
import { z } from 'zod';

/** An address as sockets and resolvers take it: an IPv6 address without the brackets that it has in URLs. */
export const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

/** The host of a URL. */
export const hostOf = ({ hostname }: Pick<URL, 'hostname'>): string => withoutBrackets(hostname);

/** Allows every site. */
export const ANY_ORIGIN = '*';

/** `URL` accepts others, such as a semicolon, which ends a directive of a `Content-Security-Policy`. */
const HOST = /^[\w.:[\]-]+$/;

/** The form of the `Origin` header: no path, lower case, no default port. Null for anything else. */
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

/** Whether an app has no address and APP_URL is not set: a link would lead to its REST resource. */
export const leadsToApi = (link: string): boolean => link.startsWith('/api/');

/** Whether browsers have passkeys for a service with this address: with https and a host name only, and for localhost. */
export const hasPasskeys = ({ protocol, hostname }: URL): boolean => {
  const isSecure = protocol === 'https:' || /(^|\.)localhost$/.test(hostname);
  return isSecure && !hostname.startsWith('[') && isIP(hostname) === 0;
};
