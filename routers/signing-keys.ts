import { z } from 'zod';
import { KEY_PURPOSES } from '../src/services/gate/signing-keys.ts';
import { routesOf } from './procedure-meta.ts';
import { NoInput } from './schemas/fields.ts';
import { Instant, Output } from './schemas/outputs.ts';
import { router, superuserProcedure } from './trpc.ts';

const route = routesOf('Signing keys');

const SigningKeyOutput = Output('SigningKey', {
  kid: z.string(),
  /** What it signs: tickets, or tokens of OpenID Connect with this algorithm. */
  purpose: z.enum(KEY_PURPOSES),
  created_at: Instant,
  signs_from: Instant,
  state: z.enum(['pending', 'signing', 'retiring', 'retired', 'unreadable']),
});

const signingKeyOutput = <Key extends { id: string }>({ id: kid, ...key }: Key) => ({ kid, ...key });

export const signingKeysRouter = router({
  list: route(superuserProcedure, 'GET', '/jb/signing-keys/', {
    summary: 'List the signing keys',
    description: 'By purpose, newest first, without the private keys.',
  })
    .input(NoInput)
    .output(z.object({ keys: z.array(SigningKeyOutput) }))
    .query(async ({ ctx }) => ({ keys: (await ctx.services.keyRotation.list()).map(signingKeyOutput) })),

  rotate: route(superuserProcedure, 'POST', '/jb/signing-keys/rotate/', {
    summary: 'Replace the signing keys',
    description:
      'New keys are published now and sign once every cache has them, after about six minutes. Until then, another call returns the same key, that of tickets.',
  })
    .input(NoInput)
    .output(SigningKeyOutput)
    .mutation(({ ctx }) => ctx.services.keyRotation.rotate(ctx.actor).then(signingKeyOutput)),
});
