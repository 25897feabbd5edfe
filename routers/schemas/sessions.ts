import { z } from 'zod';
import type { SessionRow } from '../../src/services/auth/sessions.ts';
import { Instant } from './fields.ts';

export const SessionView = z.object({
  id: z.int(),
  created_at: Instant,
  last_used: Instant,
  last_address: z.string(),
  user_agent: z.string(),
  is_current: z.boolean(),
});

export const sessionView = (
  session: SessionRow,
  currentId: number | undefined,
): z.input<typeof SessionView> => ({
  id: session.id,
  created_at: session.created_at,
  last_used: session.last_used,
  last_address: session.last_address,
  user_agent: session.user_agent,
  is_current: session.id === currentId,
});
