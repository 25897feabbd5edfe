import { z } from 'zod';
import type { ApiTokenRow } from '../../src/services/auth/api-tokens.ts';
import { Instant } from './fields.ts';

export const IssuedToken = z.object({ token: z.string() });

/** A token without its secret. */
export const TokenView = z.object({
  id: z.int(),
  /** Empty for tokens that a login created. */
  name: z.string(),
  created_at: Instant,
  last_used: Instant,
  last_address: z.string(),
  is_current: z.boolean(),
});

export const tokenView = (token: ApiTokenRow, currentId: number | undefined): z.input<typeof TokenView> => ({
  id: token.id,
  name: token.name,
  created_at: token.created_at,
  last_used: token.last_used,
  last_address: token.last_address,
  is_current: token.id === currentId,
});
