import { isIP } from 'node:net';
import { z } from 'zod';
import { withAsciiDomain } from '../lib/email-address.ts';
import { withoutBrackets } from '../lib/urls.ts';
import { parseDatabaseUrl } from './database-url.ts';

/** Converts a text with `parse`. If that throws, calls `fail` and returns its result. */
export const parsedText = <T>(parse: (text: string, fail: (message: string) => never) => T) =>
  z.string().transform((text, context) =>
    parse(text, (message) => {
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    }),
  );

export const wholeNumber = (min: number, max: number, fallback: number) => {
  const error = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, error)
    .transform(Number)
    .pipe(z.number().min(min, error).max(max, error))
    .default(fallback);
};

const flagText = z
  .enum(['0', '1', 'false', 'true'], 'must be 1 or 0')
  .transform((text) => text === '1' || text === 'true');

export const flag = (fallback: boolean) => flagText.default(fallback);
export const optionalFlag = flagText.optional();

export const listenAddress = z.string().overwrite(withoutBrackets).default('127.0.0.1');

/** The number of trusted proxies in front, or their addresses (`10.0.0.0/8,127.0.0.1`). */
export const trustedProxies = z
  .string()
  .regex(/^(\d{1,2}|[\da-fA-F.:/, ]+)$/, 'must be a number of proxies, or their addresses')
  .transform((text) => (/^\d+$/.test(text) ? Number(text) : text.split(',').map((part) => part.trim())))
  .default(0);

/** `192.0.2.1`, `192.0.2.1:5353`, `[2001:db8::1]:5353`: the forms that Node accepts for name servers. */
export const nameServers = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .refine(
    (servers) =>
      servers.every(
        (server) => isIP(server.replace(/^\[?([^\]]*?)\]?(:\d{1,5})?$/, '$1')) !== 0 || isIP(server) !== 0,
      ),
    'must be IP addresses, separated by commas',
  )
  .default([]);

/** The URL or path of an app, with a placeholder for its slug or id. */
export const appUrl = z
  .string()
  .max(2048)
  .regex(/\{(slug|id)\}/, 'must contain {slug} or {id}')
  .refine((url) => /^(https?:\/\/[^/]|\/(?!\/))/.test(url), 'must be an http:// or https:// URL, or a path');

export const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' });

export const emailAddress = z
  .string()
  .overwrite(withAsciiDomain)
  .check(z.email({ pattern: z.regexes.html5Email, error: 'must be an email address' }));

/** Examples by protocol. `openMailer` has a mailer for each protocol. */
const MAIL_SERVERS = { smtp: 'smtp://user:password@host:port', smtps: 'smtps://…' };

/** User and password are percent-encoded in a URL. */
const hasReadableLogin = (url: string): boolean => {
  const { username = '', password = '' } = URL.parse(url) ?? {};
  try {
    for (const text of [username, password]) decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
};

export const mailServerUrl = z
  .url({
    protocol: new RegExp(`^(${Object.keys(MAIL_SERVERS).join('|')})$`),
    error: `must be ${Object.values(MAIL_SERVERS).join(' or ')}`,
    abort: true,
  })
  .refine((url) => URL.parse(url)?.hostname, 'must name a host')
  .refine(hasReadableLogin, 'must have `%25` for each `%` in the user and password')
  .meta({
    valueType: Object.values(MAIL_SERVERS)
      .map((example) => `\`${example}\``)
      .join(' or '),
  });

export const databaseUrl = parsedText((url, fail) => {
  try {
    return parseDatabaseUrl(url);
  } catch (cause) {
    return fail(cause instanceof Error ? cause.message : 'is not valid');
  }
});
