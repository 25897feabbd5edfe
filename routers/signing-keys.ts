import { z } from 'zod';
import { routesOf } from './procedure-meta.ts';
import { NoInput } from './schemas/fields.ts';
import { Instant, Output } from './schemas/outputs.ts';
import { router, superuserProcedure } from './trpc.ts';

const route = routesOf('Signing keys');

const SigningKeyOutput = Output('SigningKey', {
  kid: z.string(),
  created_at: Instant,
  signs_from: Instant,
  state: z.enum(['pending', 'signing', 'retiring', 'retired', 'unreadable']),
});

const signingKeyOutput = <Key extends { id: string }>({ id: kid, ...key }: Key) => ({ kid, ...key });

export const signingKeysRouter = router({
  list: route(superuserProcedure, 'GET', '/jb/signing-keys/', {
    summary: 'List the keys that sign tickets',
    description: 'Newest first, without the private keys.',
  })
    .input(NoInput)
    .output(z.object({ keys: z.array(SigningKeyOutput) }))
    .query(async ({ ctx }) => ({ keys: (await ctx.services.keyRotation.list()).map(signingKeyOutput) })),

  rotate: route(superuserProcedure, 'POST', '/jb/signing-keys/rotate/', {
    summary: 'Replace the key that signs tickets',
    description:
      'The new key is published now and signs once every cache has it, after about six minutes. Until then, another call returns the same key.',
  })
    .input(NoInput)
    .output(SigningKeyOutput)
    .mutation(({ ctx }) => ctx.services.keyRotation.rotate(ctx.actor).then(signingKeyOutput)),
});
