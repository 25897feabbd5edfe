import { isProblem } from '@steward/client';
import { steward } from '../api.ts';

/**
 * The recovery codes of a new second factor. After a lost response, a repeat reports that the factor was added, but its codes are not
 * stored; so for a first factor, new codes are requested.
 */
export const codesOf = async (
  added: Promise<{ recovery_codes: string[] }>,
): Promise<{ recovery_codes: string[] }> => {
  try {
    return await added;
  } catch (error) {
    if (!isProblem(error, 'idempotency-key-reused')) throw error;
    const { factors } = await steward.api.mfa.list.query();
    return factors.length > 1 ? { recovery_codes: [] } : steward.api.mfa.renewRecoveryCodes.mutate();
  }
};
