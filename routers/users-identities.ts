import { z } from 'zod';
import { routesOf } from './procedure-meta.ts';
import { ByEmail, EmailKey, IdKey } from './schemas/keys.ts';
import { Instant, Output } from './schemas/outputs.ts';
import { credentialProcedure } from './trpc.ts';

const route = routesOf('Single sign-on');

const IdentityOutput = Output('ExternalIdentity', {
  id: z.int(),
  connection: z.int(),
  connection_name: z.string(),
  /** Null: the installation. */
  client: z.int().nullable(),
  issuer: z.string(),
  subject: z.string(),
  /** The address that the provider stated last. */
  email: z.string(),
  created_at: Instant,
  last_login: Instant.nullable(),
});

export const identityProcedures = {
  identities: route(credentialProcedure, 'GET', '/jb/users/{email}/identities/', {
    summary: 'List the external identities of a user',
    description: 'At which identity providers they log in, of the clients that you administer.',
  })
    .input(ByEmail)
    .output(z.array(IdentityOutput))
    .query(({ ctx, input }) => ctx.services.identities.list(ctx.actor, input.email)),

  unlinkIdentity: route(credentialProcedure, 'DELETE', '/jb/users/{email}/identities/{identity_id}/', {
    summary: 'Unlink an external identity',
    description:
      'Of a client that you administer. Ends the sessions that began with it. The next login with the provider connects the account again.',
  })
    .input(z.object({ email: EmailKey, identity_id: IdKey }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.identities.unlink(ctx.actor, input.email, input.identity_id)),
};
