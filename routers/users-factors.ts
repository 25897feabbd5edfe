import { z } from 'zod';
import { routesOf } from './procedure-meta.ts';
import { Reason } from './schemas/fields.ts';
import { EmailKey } from './schemas/keys.ts';
import { credentialProcedure } from './trpc.ts';

const route = routesOf('Second factors', { hasSecrets: true });

export const factorProcedures = {
  resetFactors: route(credentialProcedure, 'POST', '/jb/users/{email}/mfa/reset/', {
    summary: 'Reset the second factors of a user',
    description:
      'For users who have lost them: removes all second factors and recovery codes, ends all sessions, and informs the user by email. They log in with their password alone until they enrol again. For those who may change this user. The `reason` is recorded in the audit trail.',
    problems: ['shared-user', 'self-modification', 'reauthentication-required'],
    example: { reason: 'Lost the phone' },
  })
    .input(z.object({ email: EmailKey, reason: Reason.default('') }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.secondFactors.reset(ctx.actor, input.email, input.reason)),
};
