import { z } from 'zod';
import { BLOCKER_CODES } from '../../src/services/gate/access-explanation.ts';
import { AnyObject, Instant, Output } from './outputs.ts';

const BlockerOutput = Output('AccessBlocker', {
  code: z.enum(BLOCKER_CODES),
  detail: z.string(),
  /** The change that would remove the blocker. */
  fix: z.string(),
  /** Who may make this change. */
  fixed_by: z.string(),
});

export const AccessExplanationOutput = Output('AccessExplanation', {
  allowed: z.boolean(),
  paths: z.array(
    Output('AccessPath', {
      kind: z.enum(['grant', 'group', 'role']),
      /** `superuser`, `staff` or `client-admin`; null for grants and groups. */
      role: z.string().nullable(),
      group: Output('AccessGroup', { id: z.int(), name: z.string() }).nullable(),
      since: Instant.nullable(),
      /** Email address of the administrator. */
      granted_by: z.string().nullable(),
      /** When it ends; null if it does not. */
      expires_at: Instant.nullable(),
      reason: z.string(),
    }),
  ),
  /** All of them must be fixed before the app opens. */
  blockers: z.array(BlockerOutput),
  /** What would keep the app closed if the client enforced data permissions. */
  warnings: z.array(BlockerOutput),
  /** The keys of the person's roles in the app. */
  app_roles: z.array(z.string()),
  /** What the app gets, sensitive values masked; null: none, or they are not shown to you. */
  data_permissions: AnyObject.nullable(),
});
