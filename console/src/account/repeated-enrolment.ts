import { isProblem } from '@steward/client';
import { steward } from '../api.ts';

/**
 * The recovery codes of a new second factor. If the response was lost, a repeat says that the factor was added: the codes of then are not kept,
 * so the first factor gets new ones.
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
