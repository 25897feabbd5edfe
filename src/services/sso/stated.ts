import type { Assertion } from '../../adapters/identity-provider/identity-provider.ts';
import { NewEmail } from '../../lib/email-address.ts';
import { findJsonProblem, isReadableJson, isStorableText } from '../../lib/json-value.ts';
import { domainOf } from '../clients/connection-lookup.ts';
import type { ConnectionRow } from './connections.ts';

/** The data that a connection reads from the claims of its provider. */
export type Stated = {
  subject: string;
  /** Normalized; null if the claim is missing or is not an address. */
  email: string | null;
  isUnverified: boolean;
  /**
   * Whether the account at the provider belongs to the organization: it is neither a private account, nor one of another customer of the
   * provider.
   */
  isOfOrganization: boolean;
  firstName: string;
  lastName: string;
  /** Values of the groups claim. Null: the claims do not say which groups the person is in. */
  groups: string[] | null;
  /** Data permissions, as the connection maps claims to them. */
  attributes: Record<string, unknown>;
};

type Claims = Assertion['claims'];

/**
 * Serves all organizations, and private accounts with addresses of any domain. The claim `hd` names the organization to which an account
 * belongs.
 */
const GOOGLE = 'https://accounts.google.com/';

const MAX_NAME_LENGTH = 150;

/** Reads the claims as the connection maps them. */
export const statedBy = (connection: ConnectionRow, { subject, claims }: Assertion): Stated => {
  const stated = NewEmail.safeParse(onlyValueOf(claims[connection.email_claim]));
  const email = stated.success ? stated.data : null;
  return {
    subject,
    email,
    // Some providers omit the claim, or send text.
    isUnverified: ![undefined, true, 'true'].includes(claims.email_verified as boolean),
    isOfOrganization:
      hasRequired(connection, claims) &&
      (new URL(connection.issuer).href !== GOOGLE || claims.hd === domainOf(email ?? '')),
    ...namesIn(connection, claims),
    groups: groupsIn(connection, claims),
    attributes: attributesIn(connection, claims),
  };
};

/** Some providers send a list with one element. */
const onlyValueOf = (value: unknown): unknown =>
  Array.isArray(value) && value.length === 1 ? value[0] : value;

const hasRequired = ({ required_claim: name, required_value: needed }: ConnectionRow, claims: Claims) =>
  name === '' ||
  (Object.hasOwn(claims, name) &&
    [claims[name]].flat().some((value) => typeof value !== 'object' && String(value) === needed));

/** If there is only the claim `name`, its last word is the last name. */
const namesIn = (connection: ConnectionRow, claims: Claims) => {
  const [firstName, lastName] = [connection.first_name_claim, connection.last_name_claim].map((claim) =>
    nameIn(claims[claim]),
  );
  if (firstName || lastName) return { firstName: firstName ?? '', lastName: lastName ?? '' };
  const words = nameIn(claims.name).split(/\s+/);
  return words.length === 1
    ? { firstName: words.join(), lastName: '' }
    : { firstName: words.slice(0, -1).join(' '), lastName: words.slice(-1).join() };
};

/** Missing claims give no value. Claims that cannot be stored give null, which keeps apps closed that expect another value. */
const attributesIn = ({ attribute_claims: mapping }: ConnectionRow, claims: Claims) =>
  Object.fromEntries(
    Object.entries(mapping)
      .filter(([, claim]) => Object.hasOwn(claims, claim))
      .map(([key, claim]) => [key, isStorable(claims[claim]) ? claims[claim] : null]),
  );

const isStorable = (value: unknown): boolean => findJsonProblem({ value }) === null && isReadableJson(value);

const nameIn = (value: unknown): string =>
  typeof value === 'string' && isStorableText(value)
    ? value.trim().slice(0, MAX_NAME_LENGTH).toWellFormed()
    : '';

/**
 * Without the claim, the person is in no group, unless the provider says that the list is elsewhere (OpenID Connect Core §5.6.2). Some
 * providers send one text, in which semicolons separate the groups.
 */
const groupsIn = ({ groups_claim: name }: ConnectionRow, claims: Claims): string[] | null => {
  if (name === '') return null;
  const elsewhere = claims._claim_names;
  const isElsewhere = typeof elsewhere === 'object' && elsewhere !== null && name in elsewhere;
  const value = claims[name];
  if (value === undefined && isElsewhere) return null;
  if (typeof value === 'string') return value.split(';').map((group) => group.trim());
  return [value].flat().filter((group): group is string => typeof group === 'string');
};
