import { NewEmail, normalizeEmail } from '../../lib/email-address.ts';
import { findJsonProblem, isReadableJson } from '../../lib/json-value.ts';
import { isObject, type Resource, USER_TYPE, valueAt } from '../../lib/scim/attributes.ts';
import { ScimProblem } from '../../lib/scim/scim-problem.ts';

const MAX_NAME = 150;
export const MAX_KEY = 255;

/** The columns that follow from a resource. */
export type PersonFacts = {
  user_name: string;
  external_id: string | null;
  email: string;
  addresses: string[];
  first_name: string;
  last_name: string;
  extra: Record<string, unknown>;
  is_active: boolean;
  resource: Resource;
};

/**
 * Reads what a resource says about a person.
 * @param attributes by key of `extra`, the path of the attribute
 * @throws ScimProblem `invalidValue`
 */
export const personFacts = (sent: Resource, attributes: Readonly<Record<string, string>>): PersonFacts => {
  const resource: Resource = { ...sent, active: sent.active ?? true };
  requireStorable(resource);
  return {
    user_name: keyOf(resource.userName, 'userName') ?? missing('userName'),
    external_id: keyOf(resource.externalId, 'externalId'),
    email: emailOf(resource),
    addresses: [...new Set(elementsOf(resource.emails).map(({ value }) => String(value).toLowerCase()))],
    ...namesOf(resource),
    extra: extraOf(resource, attributes),
    is_active: resource.active === true,
    resource,
  };
};

const missing = (name: string): never => {
  throw new ScimProblem('invalidValue', `${name} is required.`);
};

/** @throws ScimProblem `invalidValue` for a document that is too large, or that PostgreSQL cannot read */
export const requireStorable = (resource: Resource): void => {
  const problem = findJsonProblem(resource);
  if (problem !== null) throw new ScimProblem('invalidValue', `The resource is too large. ${problem}`);
  if (!isReadableJson(resource))
    throw new ScimProblem('invalidValue', 'The resource has characters that are not text.');
};

/** @throws ScimProblem `invalidValue` */
export const keyOf = (value: unknown, name: string, max = MAX_KEY): string | null => {
  if (typeof value !== 'string' || value.trim() === '') return null;
  if (value.length > max)
    throw new ScimProblem('invalidValue', `${name} must have at most ${max} characters.`);
  return value;
};

const elementsOf = (value: unknown): Resource[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** The primary address, else that of type work, else the first, else the name of the user. */
const emailOf = ({ emails, userName }: Resource): string => {
  const elements = elementsOf(emails).filter(({ value }) => typeof value === 'string' && value !== '');
  const chosen =
    elements.find(({ primary }) => primary === true) ??
    elements.find(({ type }) => String(type).toLowerCase() === 'work') ??
    elements[0];
  const email = NewEmail.safeParse(chosen?.value ?? userName);
  if (email.success) return normalizeEmail(email.data);
  const where = chosen ? 'emails' : 'userName';
  throw new ScimProblem(
    'invalidValue',
    `${where}: ${email.error.issues[0]?.message ?? 'Must be an email address.'}`,
  );
};

/** Of a person with one name for all, the last word is the last name. */
const namesOf = (resource: Resource) => {
  const [first, last] = ['name.givenName', 'name.familyName'].map((path) => nameAt(resource, path));
  if (first || last) return { first_name: first ?? '', last_name: last ?? '' };
  const whole = nameAt(resource, 'name.formatted') || nameAt(resource, 'displayName');
  const words = whole === '' ? [] : whole.split(/\s+/);
  if (words.length < 2) return { first_name: whole, last_name: '' };
  return { first_name: words.slice(0, -1).join(' '), last_name: words.at(-1) ?? '' };
};

const nameAt = (resource: Resource, path: string): string => {
  const value = valueAt(USER_TYPE, resource, path);
  return typeof value === 'string' ? value.trim().slice(0, MAX_NAME).toWellFormed() : '';
};

/** Attributes without a value give null, so that an old value does not stay. */
export const extraOf = (resource: Resource, attributes: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(attributes).map(([key, path]) => [key, valueAt(USER_TYPE, resource, path) ?? null]),
  );
