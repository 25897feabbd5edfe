import { domainToASCII } from 'node:url';
import { z } from 'zod';
import { trimInvisible } from './typed-text.ts';

/** RFC 5321 §4.5.3.1.3: a path of 256 characters, including two angle brackets. */
export const MAX_EMAIL_LENGTH = 254;

const NOT_AN_EMAIL = 'Must be an email address.';
const LOCAL_PART_NOT_ASCII =
  'Must be an email address with only ASCII characters before the @: others need mail servers with SMTPUTF8.';

const ASCII_NOT_IN_DOMAINS = /[\0-,/:-@[-`{-\x7f]/;
const ASCII_ONLY = /^[\0-\x7f]*$/;

/**
 * The address with an internationalized domain in ASCII (UTS #46): `ada@bücher.example` becomes `ada@xn--bcher-kva.example`. Any other text
 * is returned unchanged.
 */
export const withAsciiDomain = (text: string): string => {
  const at = text.lastIndexOf('@');
  const domain = text.slice(at + 1);
  // domainToASCII reads the host of a URL: it would decode `%`, and stop at `/`, `?` and `#`.
  const isConvertible = at > 0 && !ASCII_ONLY.test(domain) && !ASCII_NOT_IN_DOMAINS.test(domain);
  // It returns an empty string for a domain that is not valid.
  const ascii = isConvertible ? domainToASCII(domain) : '';
  return ascii === '' ? text : `${text.slice(0, at)}@${ascii}`;
};

/** The form in which addresses of users are stored and compared. */
export const normalizeEmail = (text: string): string => withAsciiDomain(trimInvisible(text)).toLowerCase();

/** The text without email addresses, for logs. */
export const maskAddresses = (text: string): string =>
  text.replaceAll(/[^\s<>"'(),:;/]+/g, (word) => (word.includes('@') ? '…' : word));

const hasOtherLetters = (input: unknown): boolean =>
  typeof input === 'string' && /^[^@\s]+@[^@]+$/.test(input) && /^[^@]*[^\0-\x7f]/.test(input);

/** Without the pattern, which matches only the ASCII form. Most validators do not know `idn-email`. */
const EMAIL_JSON = { json: { type: 'string', format: 'email', maxLength: MAX_EMAIL_LENGTH } };

/** An address, with or without an internationalized domain. The parsed address has an ASCII domain, and keeps its case. */
export const EmailAddress = z
  .string()
  .overwrite((text) => withAsciiDomain(trimInvisible(text)))
  // HTML's definition of addresses, which allows `%` and hosts without a dot.
  .check(
    z.email({
      pattern: z.regexes.html5Email,
      error: ({ input }) => (hasOtherLetters(input) ? LOCAL_PART_NOT_ASCII : NOT_AN_EMAIL),
      abort: true,
    }),
    z.maxLength(MAX_EMAIL_LENGTH, `Must have at most ${MAX_EMAIL_LENGTH} characters.`),
  )
  .meta(EMAIL_JSON);

/** The address of a user; the parsed address is normalized. */
export const Email = EmailAddress.toLowerCase().meta(EMAIL_JSON);

/** The domain of the pseudonyms of erased people. Reserved for names that never resolve (RFC 2606). */
export const ERASED_DOMAIN = 'erased.invalid';

/** The domain of the addresses by which records name service accounts. */
export const SERVICE_DOMAIN = 'service-account.invalid';

export const isServiceAddress = (email: string): boolean => email.endsWith(`@${SERVICE_DOMAIN}`);

/** Whether this is the pseudonym of an erased person, who has no access permanently. */
export const isPseudonym = (email: string): boolean => email.endsWith(`@${ERASED_DOMAIN}`);

const RESERVED_DOMAINS = [ERASED_DOMAIN, SERVICE_DOMAIN];

/** The name and the address of `Acme Ops <ops@acme.test>` or `ops@acme.test`; null for other texts. */
export const readMailbox = (text: string): { name: string; address: string } | null => {
  const trimmed = text.trim();
  const start = trimmed.endsWith('>') ? trimmed.indexOf('<') : 0;
  const address = EmailAddress.safeParse(start > 0 ? trimmed.slice(start + 1, -1) : trimmed);
  const name = trimmed
    .slice(0, start)
    .trim()
    .replace(/^"(.*)"$/, '$1');
  return address.success ? { name, address: address.data } : null;
};

/** With the address in the form in which it is stored elsewhere, so that an erasure finds it; null for other texts. */
export const canonicalMailbox = (text: string): string | null => {
  const mailbox = readMailbox(text);
  const start = text.indexOf('<');
  if (mailbox === null) return null;
  return start <= 0 ? mailbox.address : `${text.slice(0, start).trim()} <${mailbox.address}>`;
};

/** The address of a new account or invitation. */
export const NewEmail = Email.refine((email) => !isPseudonym(email) && !isServiceAddress(email), {
  error: `Must not be an address at ${RESERVED_DOMAINS.join(' or ')}: these belong to erased people and service accounts.`,
}).meta(EMAIL_JSON);

const DOMAIN = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/;

/** A domain of email addresses, in ASCII. Must have a dot, and must not be an IP address. */
export const DomainName = z
  .string()
  .trim()
  .max(253)
  .transform((text) => domainToASCII(text.replace(/^@/, '').replace(/\.$/, '')).toLowerCase())
  .refine(
    (domain) => DOMAIN.test(domain) && !RESERVED_DOMAINS.includes(domain),
    'Must be a domain such as acme.com.',
  );
