import { z } from 'zod';
import { FACTOR_POLICIES } from '../src/services/policies/factor-policy.ts';
import { routesOf } from './procedure-meta.ts';
import { ById, IdKey } from './schemas/keys.ts';
import { PreviewLimit } from './schemas/lists.ts';
import { Instant, Output } from './schemas/outputs.ts';
import { personIdentity } from './schemas/users.ts';
import { settingsProcedure, viewerProcedure } from './trpc.ts';

const route = routesOf('Clients');

const FactorPolicyOutput = Output('FactorPolicy', {
  factor_policy: z.enum(FACTOR_POLICIES),
  /** Days that members have to set up a second factor. */
  factor_grace_days: z.int(),
  /** Whether members without a second factor are mailed about it. */
  factor_mails: z.boolean(),
  /** When the present requirement began; null if nothing is required. */
  factor_policy_since: Instant.nullable(),
});

const Policy = z.enum(FACTOR_POLICIES);
const GraceDays = z.int().min(0).max(365);

const FactorPolicyPreviewOutput = Output('FactorPolicyPreview', {
  members: z.int(),
  with_factor: z.int(),
  without_factor: z.int(),
  /** How many of the people without a factor also belong to other clients. They are asked for a factor when they log in there. */
  shared: z.int(),
  /** Access views that open an app as a person. */
  views: z.int(),
  /** For people who are members now; null if the policy requires nothing. */
  required_from: Instant.nullable(),
  users: z.array(
    z.object({
      ...personIdentity,
      is_shared: z.boolean(),
      required_from: Instant,
    }),
  ),
});

/** Part of the router of clients. */
export const factorPolicyProcedures = {
  factorPolicy: route(viewerProcedure, 'GET', '/jb/clients/{id}/factor-policy/', {
    summary: 'Get who needs a second factor for a client',
  })
    .input(ById)
    .output(FactorPolicyOutput)
    .query(({ ctx, input }) => ctx.services.clients.get(ctx.actor, input.id)),

  updateFactorPolicy: route(settingsProcedure, 'PATCH', '/jb/clients/{id}/factor-policy/', {
    summary: 'Change who needs a second factor for a client',
    description:
      '`off` demands nothing, `optional` recommends a second factor in the console, `required` demands one of every member: at each login after the days of grace, and for the apps of the client. `passkey` demands that it is a passkey. No session ends. Unless `factor_mails` is false, members without one are mailed, and reminded three days before the grace ends. Admins without a second factor cannot demand it at once.',
    problems: ['passkeys-unavailable'],
    resourceQuery: 'clients.factorPolicy',
    example: { factor_policy: 'required', factor_grace_days: 14 },
  })
    .input(
      z.object({
        id: IdKey,
        factor_policy: Policy.optional(),
        factor_grace_days: GraceDays.optional(),
        factor_mails: z.boolean().optional(),
      }),
    )
    .output(FactorPolicyOutput)
    .mutation(({ ctx, input: { id, ...changes } }) =>
      ctx.services.factorPolicies.update(ctx.actor, id, changes),
    ),

  previewFactorPolicy: route(settingsProcedure, 'GET', '/jb/clients/{id}/factor-policy/preview/', {
    summary: 'Preview whom a policy for second factors would concern',
    description:
      'How many active members have what the policy demands, and who has not. Those who have set up no second factor by the end of the grace do so at their next login: no one is locked out. For admins of single clients, people who also belong to other clients are listed whether they have one or not.',
  })
    .input(
      z.object({
        id: IdKey,
        policy: Policy.default('required'),
        grace_days: GraceDays.default(14),
        limit: PreviewLimit,
      }),
    )
    .output(FactorPolicyPreviewOutput)
    .query(({ ctx, input }) =>
      ctx.services.factorPolicies.preview(ctx.actor, input.id, input.policy, input.grace_days, input.limit),
    ),
};
