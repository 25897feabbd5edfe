import type { Outputs } from '../api.ts';
import type { Person } from './use-person-form.ts';

export type Membership = Outputs['memberships']['list'][number];

/** `suspended`: in all clients that the viewer sees. The person may log in, but cannot open apps of these clients. */
export type PersonState = 'active' | 'suspended' | 'inactive';

/**
 * Client admins see a person as inactive if the account is, or if the person is suspended in all of their clients.
 * @param seesAccount whether `is_active` of the person is the account's
 */
export const stateOf = (
  { is_active }: Person,
  memberships: readonly Membership[],
  seesAccount: boolean,
): PersonState => {
  const isSuspended = memberships.length > 0 && memberships.every((membership) => !membership.is_active);
  if (!is_active) return isSuspended && !seesAccount ? 'suspended' : 'inactive';
  return isSuspended ? 'suspended' : 'active';
};

const LIST = new Intl.ListFormat('en');

/** `Acme Analytics and Globex Data`. */
export const clientNames = (memberships: readonly Membership[]): string =>
  LIST.format(memberships.map(({ client_name }) => client_name));
